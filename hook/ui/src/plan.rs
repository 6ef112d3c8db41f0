//! What the browser plans and carries out: the plan of what is marked, what is chosen of it, and what was done.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ckpt_schema::report::{
    FileReport, KeptKind, KeptReport, MessageState, OperationKind, OperationReport, Outcome,
    PathText, RootOperation, TimelineEntry, WayOut,
};
use ckpt_store::query::Proposed;
use ckpt_store::{
    Chosen, Error, Force, OnConflict, PlanOrigin, RedoRequest, RestoreRequest, RevertRequest,
    Unclear,
};

use super::model::{Pane, Popup};
use super::plan_choice::{FileChoice, PlanKind, PlanScreen, PlanTerms, goes_back};
use super::{Browser, parts};
use ckpt_command::operation::{OperationRequest, OperationResult, Terms, carry_out};
use ckpt_command::outcome::around;
use ckpt_command::part::part;
use ckpt_output::hunk;
use ckpt_output::lines::{DiffOptions, difference};
use ckpt_output::operation::{self, Around, PlanKeys};
use ckpt_output::paint::Paint;
use ckpt_output::patch::FileSides;
use ckpt_output::{View, files, text};
use ckpt_process::failure::Failure;

/// The plan that is shown, as the store has it.
pub(super) struct Planned {
    /// What is planned. Its terms are those of the screen.
    base: OperationRequest,
    workspace: PathBuf,
    /// What would be done to each file.
    proposed: Vec<Proposed>,
    /// What it is of.
    origin: PlanOrigin,
}

impl Browser {
    /// Plans something of the selected entry.
    pub(super) fn plan(&mut self, kind: PlanKind) -> Result<(), Failure> {
        let planned = Planned {
            base: self.request(kind)?,
            workspace: self.root()?,
            proposed: Vec::new(),
            origin: PlanOrigin::default(),
        };
        self.plan_on(planned, kind, PlanTerms::default(), BTreeMap::new())?;
        if matches!(kind, PlanKind::Revert | PlanKind::Alone) && !self.model.hunks.is_empty() {
            self.choose_marked()?;
        }
        Ok(())
    }

    /// Plans the same again, on other terms. What was left of it stays left.
    pub(super) fn plan_again(&mut self) -> Result<(), Failure> {
        let (Some(planned), Some(Popup::Plan(plan))) = (self.planned.take(), &self.model.overlay)
        else {
            return Ok(());
        };
        let (kind, terms, choices) = (plan.kind, plan.terms.clone(), plan.choices.clone());
        let at = plan.chosen_file().map(|file| file.path.clone());
        self.plan_on(planned, kind, terms, choices)?;
        if let Some(Popup::Plan(plan)) = &mut self.model.overlay {
            let is_it = |file: &FileReport| Some(&file.path) == at.as_ref();
            plan.file = plan.files.iter().position(is_it).unwrap_or(0);
        }
        self.load_plan_patch()
    }

    fn request(&mut self, kind: PlanKind) -> Result<OperationRequest, Failure> {
        let entry = self.model.entry().cloned();
        let message = match &entry {
            Some(TimelineEntry::Message(message)) => Some(message),
            _ => None,
        };
        // Another session than the newest is meant where one of its messages is reverted.
        let hidden = message.filter(|message| message.state == MessageState::Hidden);
        Ok(match kind {
            PlanKind::Undo => OperationRequest::Undo,
            PlanKind::Forward | PlanKind::AllForward => OperationRequest::Redo(RedoRequest {
                session: hidden.map(|message| message.session.clone()),
                all: kind == PlanKind::AllForward,
                ..RedoRequest::default()
            }),
            PlanKind::Restore => OperationRequest::Restore(RestoreRequest {
                id: match &entry {
                    // An id of its own it has not: it ends with a snapshot.
                    Some(TimelineEntry::Outside { from, .. }) => from.clone().unwrap_or_default(),
                    _ => self.model.id().unwrap_or_default().to_owned(),
                },
                paths: self.chosen_paths()?,
                ..RestoreRequest::default()
            }),
            PlanKind::Revert | PlanKind::Alone => OperationRequest::Revert(RevertRequest {
                message: message
                    .map(|message| message.id.clone())
                    .unwrap_or_default(),
                session: message.map(|message| message.session.clone()),
                only: self.marked_paths()?,
                // Hunks belong to this message; later changes are not theirs.
                alone: kind == PlanKind::Alone || !self.model.hunks.is_empty(),
                ..RevertRequest::default()
            }),
        })
    }

    fn plan_on(
        &mut self,
        mut planned: Planned,
        kind: PlanKind,
        terms: PlanTerms,
        choices: BTreeMap<PathText, FileChoice>,
    ) -> Result<(), Failure> {
        let directory = self.directory.clone();
        let done = self.dry_run(&directory, on_terms(&planned.base, &terms), Force::No)?;
        let around = around(&mut self.store, Some(&self.directory), &done);
        let mut report = done.report;
        planned.origin = PlanOrigin::of(&report);
        planned.proposed = self.proposed(&report, &planned.workspace)?;
        for kept in in_one_list(report.clone()).kept {
            let Some(request) = overwriting(&kept, &terms.overwritten, &planned.workspace) else {
                continue;
            };
            let is_forced = |way: &WayOut| way.parameters.force;
            let force = Force::asked(kept.way.as_ref().is_some_and(is_forced));
            let root = kept.way.and_then(|way| way.parameters.workspace);
            let directory = root.as_ref().map_or(directory.clone(), PathBuf::from);
            let these = self.dry_run(&directory, request, force)?.report;
            let proposed = self.proposed(&these, &planned.workspace)?;
            let mut others = report.roots.iter_mut();
            let files = match others.find(|other| root.as_ref() == Some(&other.workspace)) {
                Some(other) => &mut other.report.files,
                None => &mut report.files,
            };
            files.retain(|file| these.files.iter().all(|other| other.path != file.path));
            files.extend(these.files);
            planned.proposed.retain(|file| {
                let mut proposed = proposed.iter();
                proposed.all(|other| other.change.path != file.change.path)
            });
            planned.proposed.extend(proposed);
        }
        let screen = self.screen(kind, terms, choices, report, &around);
        self.planned = Some(planned);
        self.model.lay(Popup::Plan(Box::new(screen)));
        self.load_plan_patch()
    }

    fn dry_run(
        &mut self,
        directory: &Path,
        request: OperationRequest,
        force: Force,
    ) -> Result<OperationResult, Failure> {
        let terms = Terms {
            dry_run: true,
            force,
            ..Terms::default()
        };
        carry_out(&mut self.store, directory, request, terms)
    }

    /// Returns the planned action of each file. Those of other roots than `root` go by their full paths, as on the
    /// screen.
    fn proposed(
        &mut self,
        report: &OperationReport,
        root: &Path,
    ) -> Result<Vec<Proposed>, Failure> {
        let Some(token) = &report.plan else {
            return Ok(Vec::new());
        };
        let mut files = self.store.proposal(token)?.files;
        for file in files.iter_mut().filter(|file| file.workspace != root) {
            let root = file.workspace.to_string_lossy();
            file.change.path = file.change.path.below(&root);
        }
        Ok(files)
    }

    fn screen(
        &self,
        kind: PlanKind,
        terms: PlanTerms,
        mut choices: BTreeMap<PathText, FileChoice>,
        report: OperationReport,
        around: &Around,
    ) -> PlanScreen {
        let view = self.fitting();
        let is_something = !matches!(report.outcome, Outcome::Nothing | Outcome::Unavailable)
            || around.moves_point;
        let (head, notes) = operation::head(&report, around, &view);
        let keyed = Around {
            keys: Some(kind.keys()),
            ..around.clone()
        };
        let text = operation::render(&report, &keyed, &view);
        let report = in_one_list(report);
        let away = files::moved_away(&report.files);
        let is_row = |file: &&FileReport| files::says_something(file) && !away.contains(&file.path);
        let mut shown: Vec<FileReport> = report.files.iter().filter(is_row).cloned().collect();
        // What stays comes first: it waits for a decision. What is in other roots comes last.
        shown.sort_by_key(|file| {
            let is_elsewhere = file.path.path.starts_with('/');
            (goes_back(file), is_elsewhere, file.path.clone())
        });
        choices.retain(|path, _| {
            shown
                .iter()
                .any(|file| file.path == *path && goes_back(file))
        });
        PlanScreen {
            kind,
            terms,
            head,
            notes,
            text,
            is_text: false,
            scrolled: 0,
            files: shown,
            kept: report.kept,
            choices,
            file: 0,
            patch: Vec::new(),
            hunks: Vec::new(),
            line: 0,
            is_in_patch: false,
            token: report
                .plan
                .filter(|_| is_something)
                .ok_or_else(|| "there is nothing to do".to_owned()),
            is_busy: report.busy,
        }
    }

    /// Chooses of the plan what was marked in the patches of the message.
    fn choose_marked(&mut self) -> Result<(), Failure> {
        let mut choices = BTreeMap::new();
        for (path, marked) in self.model.hunks.clone() {
            let shown = self
                .model
                .files
                .iter()
                .find(|file| file.path == path)
                .cloned();
            let undo = self.planned_file(&path);
            let (Some(shown), Some(undo)) = (shown, undo) else {
                continue;
            };
            let (message, undo) = (self.sides(&shown)?, self.sides(&undo.change)?);
            let (Some(message), FileSides::Text { old, new }) = (texts(&message), &undo) else {
                continue;
            };
            let places = parts::places(message, old, &marked);
            let undo = difference(old, new, &DiffOptions::default());
            choices.insert(
                path,
                match hunk::within(&undo, &places) {
                    Some(_) => FileChoice::Lines(places),
                    None => FileChoice::Nothing,
                },
            );
        }
        if let Some(Popup::Plan(plan)) = &mut self.model.overlay {
            plan.choices = choices;
            if plan.token.is_ok() && plan.taken() == 0 {
                plan.token = Err("what you marked is no longer there".to_owned());
            }
        }
        Ok(())
    }

    /// Returns the effect of the plan on a file.
    fn planned_file(&self, path: &PathText) -> Option<Proposed> {
        let planned = self.planned.as_ref()?;
        let mut proposed = planned.proposed.iter();
        proposed.find(|file| file.change.path == *path).cloned()
    }

    /// Reads what the plan would do to its chosen file.
    pub(super) fn load_plan_patch(&mut self) -> Result<(), Failure> {
        let Some(Popup::Plan(plan)) = &self.model.overlay else {
            return Ok(());
        };
        let chosen = plan.chosen_file().cloned();
        let (mut patch, mut hunks) = (Vec::new(), Vec::new());
        let planned = chosen.as_ref().and_then(|it| self.planned_file(&it.path));
        if let Some(mut file) = planned {
            let moved_from = chosen.and_then(|chosen| chosen.moved_from);
            let origin = moved_from
                .as_ref()
                .and_then(|it| self.planned_file(&it.path));
            if let Some(origin) = &origin {
                file.change.renamed_from = moved_from;
                file.change.old_mode = origin.change.old_mode.clone();
                file.change.old_blob = origin.change.old_blob.clone();
            }
            let sides = self.sides_in(&file.workspace, &file.change)?;
            // A file moves as a whole.
            if let (FileSides::Text { old, new }, None) = (&sides, &origin) {
                hunks = hunk::spans(&difference(old, new, &DiffOptions::default()));
            }
            patch = self.patch_lines(&file.change, &sides);
        }
        if let Some(Popup::Plan(plan)) = &mut self.model.overlay {
            (plan.patch, plan.hunks) = (patch, hunks);
        }
        Ok(())
    }

    /// Carries out what is chosen of the plan.
    pub(super) fn apply(&mut self) -> Result<(), Failure> {
        let (Some(planned), Some(Popup::Plan(plan))) =
            (self.planned.take(), self.model.overlay.take())
        else {
            return Ok(());
        };
        let operation = match (&plan.token, plan.is_whole()) {
            (Ok(token), true) => OperationRequest::Apply(token.clone()),
            _ => self.chosen_parts(planned, &plan)?,
        };
        let terms = Terms {
            force: Force::asked(plan.terms.force),
            ..Terms::default()
        };
        let done = carry_out(&mut self.store, &self.directory, operation, terms)?;
        self.done(&done, plan.kind.keys())
    }

    fn chosen_parts(
        &mut self,
        planned: Planned,
        plan: &PlanScreen,
    ) -> Result<OperationRequest, Failure> {
        let mut chosen: Vec<Chosen> = Vec::new();
        let moved = plan.files.iter();
        let moved = moved.filter_map(|file| Some((&file.moved_from.as_ref()?.path, &file.path)));
        let moved: BTreeMap<&PathText, &PathText> = moved.collect();
        for file in &planned.proposed {
            let path = &file.change.path;
            // A file goes where it comes, or not at all.
            let path = moved.get(path).copied().unwrap_or(path);
            let lines: Option<&[Range<usize>]> = match plan.choices.get(path) {
                Some(FileChoice::Nothing) => continue,
                Some(FileChoice::Lines(lines)) => Some(lines),
                None => None,
            };
            let sides = self.sides_in(&file.workspace, &file.change)?;
            chosen.extend(part(file, &sides, lines));
        }
        if chosen.is_empty() {
            return Err(Error::unavailable("nothing is left of what was chosen").into());
        }
        Ok(OperationRequest::Parts {
            workspace: planned.workspace,
            chosen,
            origin: planned.origin,
        })
    }

    /// Returns the files that a restore is about: those that are marked, else the chosen one, and none in the timeline.
    fn chosen_paths(&mut self) -> Result<Vec<PathBuf>, Failure> {
        let root = self.root()?;
        match (self.model.pane, self.model.chosen_file()) {
            (Pane::Files | Pane::Patch, Some(file)) if !self.model.has_marks() => {
                Ok(vec![root.join(OsStr::from_bytes(&text::bytes(&file.path)))])
            }
            _ => self.marked_paths(),
        }
    }

    /// Returns the files that are marked, or have marked hunks.
    fn marked_paths(&mut self) -> Result<Vec<PathBuf>, Failure> {
        if !self.model.has_marks() {
            return Ok(Vec::new());
        }
        let root = self.root()?;
        let marked = self.model.marked.iter().chain(self.model.hunks.keys());
        Ok(marked
            .map(|path| root.join(OsStr::from_bytes(&text::bytes(path))))
            .collect())
    }

    /// Shows what was done: in one line if all went well, else with every file.
    fn done(&mut self, done: &OperationResult, keys: PlanKeys) -> Result<(), Failure> {
        self.due.list = true;
        self.model.pane = Pane::List;
        self.model.unmark();
        let around = Around {
            keys: Some(keys),
            ..around(&mut self.store, Some(&self.directory), done)
        };
        let report = &done.report;
        // A command to copy is no notice that goes away.
        let has_command = report
            .conversation
            .as_ref()
            .is_some_and(|it| !it.argv.is_empty());
        let is_well =
            report.outcome == Outcome::Restored && report.notes.is_empty() && !has_command;
        if is_well && !report.busy {
            let plain = View {
                paint: Paint::PLAIN,
                ..self.fitting()
            };
            let text = operation::render(report, &around, &plain);
            let first = text.lines().next().unwrap_or_default();
            self.model.notice = Some(format!("{first}; u plans to undo it"));
        } else {
            self.model.lay(Popup::Text {
                title: "What was done".to_owned(),
                text: operation::render(report, &around, &self.fitting()),
            });
        }
        Ok(())
    }
}

/// Returns a report with what is in its other roots in the lists of its own: by full paths.
fn in_one_list(mut report: OperationReport) -> OperationReport {
    for RootOperation {
        workspace,
        report: there,
    } in std::mem::take(&mut report.roots)
    {
        let full = |path: &mut PathText| *path = path.below(&workspace);
        let (mut files, mut kept) = (there.files, there.kept);
        let names = files.iter_mut().flat_map(|file| {
            let origin = file.moved_from.as_mut().map(|origin| &mut origin.path);
            std::iter::once(&mut file.path).chain(origin)
        });
        names.for_each(full);
        kept.iter_mut()
            .flat_map(|kept| &mut kept.paths)
            .for_each(full);
        report.files.extend(files);
        report.kept.extend(kept);
    }
    report
}

/// Returns both sides of a change that has lines.
fn texts(sides: &FileSides) -> Option<parts::Texts<'_>> {
    match sides {
        FileSides::Text { old, new } => Some(parts::Texts {
            before: old,
            after: new,
        }),
        FileSides::Bytes { .. } | FileSides::Equal | FileSides::Missing => None,
    }
}

/// Returns a request for those files of a kind that go back whatever they hold; `None` if there are none.
fn overwriting(
    kept: &KeptReport,
    overwritten: &BTreeSet<PathText>,
    root: &Path,
) -> Option<OperationRequest> {
    // A database goes as a whole.
    let is_whole = kept.kind == KeptKind::Database;
    let is_any = kept.paths.iter().any(|path| overwritten.contains(path));
    let paths = kept.paths.iter();
    let paths = paths.filter(|path| is_any && (is_whole || overwritten.contains(path)));
    let paths = paths.map(|path| root.join(OsStr::from_bytes(&text::bytes(path))));
    let paths: Vec<PathBuf> = paths.collect();
    let is_of_plan = kept.kind != KeptKind::OtherMessage && !paths.is_empty();
    let way = kept.way.as_ref().filter(|_| is_of_plan)?;
    let way = way.parameters.clone();
    Some(match way.operation {
        OperationKind::Revert => OperationRequest::Revert(RevertRequest {
            message: way.message.unwrap_or_default(),
            alone: way.alone,
            step: way.step,
            only: paths,
            on_conflict: OnConflict::Overwrite,
            unclear: Some(Unclear::Take),
            ..RevertRequest::default()
        }),
        OperationKind::Redo | OperationKind::Unrevert | OperationKind::Restore => {
            OperationRequest::Restore(RestoreRequest {
                id: way.id.unwrap_or_default(),
                paths,
                overwrite_mine: true,
                ..RestoreRequest::default()
            })
        }
    })
}

/// Returns a request on the terms of a plan.
fn on_terms(base: &OperationRequest, terms: &PlanTerms) -> OperationRequest {
    match base.clone() {
        OperationRequest::Revert(request) => OperationRequest::Revert(RevertRequest {
            on_conflict: match terms.overwrite {
                true => OnConflict::Overwrite,
                false => OnConflict::default(),
            },
            unclear: terms.unclear.then_some(Unclear::Take),
            git: terms.git,
            conversation: terms.conversation,
            ..request
        }),
        OperationRequest::Redo(request) => OperationRequest::Redo(RedoRequest {
            on_conflict: terms.overwrite.then_some(OnConflict::Overwrite),
            git: terms.git,
            ..request
        }),
        OperationRequest::Restore(request) => OperationRequest::Restore(RestoreRequest {
            overwrite_mine: terms.overwrite,
            git: terms.git,
            ..request
        }),
        other @ (OperationRequest::Apply(_)
        | OperationRequest::Parts { .. }
        | OperationRequest::Undo) => other,
    }
}
