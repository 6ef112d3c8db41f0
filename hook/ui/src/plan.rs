//! What the browser reverts: the plan of what is marked, and what was done.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use ckpt_command::operation::{Done, OperationRequest, Terms, carry_out};
use ckpt_command::outcome::{around, around_plan, moves_point};
use ckpt_output::operation;
use ckpt_output::paint::Paint;
use ckpt_output::patch::FileSides;
use ckpt_output::{View, text};
use ckpt_process::failure::Failure;
use ckpt_schema::report::{FileReport, FileResult, OperationReport, Outcome, TimelineEntry};
use ckpt_store::{Chosen, ChosenContent, RevertRequest, Unclear};

use super::model::{LaterMessages, Pane, Popup};
use super::{Browser, parts};

impl Browser {
    pub(super) fn plan(
        &mut self,
        unclear: Option<Unclear>,
        later: LaterMessages,
    ) -> Result<(), Failure> {
        let Some(TimelineEntry::Message(message)) = self.model.entry().cloned() else {
            return Ok(());
        };
        self.chosen = None;
        let only = self.marked_paths()?;
        let are_hunks = !self.model.hunks.is_empty();
        let request = RevertRequest {
            message: message.id.clone(),
            session: Some(message.session.clone()),
            only,
            // Hunks belong to this message; later changes are not theirs.
            alone: later == LaterMessages::Stay || are_hunks,
            unclear,
            ..RevertRequest::default()
        };
        let planned = Terms {
            dry_run: true,
            ..Terms::default()
        };
        let whole = OperationRequest::Revert(request);
        let done = carry_out(&mut self.store, &self.directory, whole, planned)?;
        let (mut report, extent) = (done.report, done.extent);
        let has_unclear =
            unclear != Some(Unclear::Take) && report.files.iter().any(|file| file.unclear);
        let mut token = token(&report);
        if let (true, Ok(whole)) = (are_hunks, &token) {
            let (workspace, chosen) = self.marked_parts(whole)?;
            if chosen.is_empty() {
                token = Err(why_nothing(&report).to_owned());
            } else {
                let parts = OperationRequest::Parts {
                    workspace,
                    chosen,
                    undoes: None,
                };
                let done = carry_out(&mut self.store, &self.directory, parts.clone(), planned)?;
                report = done.report;
                self.chosen = Some(parts);
            }
        }
        let moves_point = moves_point(&mut self.store, &self.directory, &report);
        let around = around_plan(message.prompt.clone(), extent, moves_point);
        self.model.lay(Popup::Plan {
            text: operation::render(&report, &around, &self.fitting()),
            token,
            has_unclear,
            later,
        });
        Ok(())
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

    /// Returns the marked part of a plan: whole files, and hunks of others.
    fn marked_parts(&mut self, token: &str) -> Result<(PathBuf, Vec<Chosen>), Failure> {
        let proposal = self.store.proposal(token)?;
        let mut all = Vec::new();
        for file in &proposal.files {
            let whole = Chosen {
                path: file.path.clone(),
                seen: file.now,
                content: ChosenContent::State(file.then),
            };
            let hunks = self.model.hunks.get(&file.change.path).cloned();
            let shown = self.model.files.iter();
            let shown = shown.clone().find(|shown| shown.path == file.change.path);
            let (Some(hunks), Some(shown), Some(now), Some(_)) =
                (hunks, shown.cloned(), file.now, file.then)
            else {
                all.push(whole);
                continue;
            };
            let (message, undo) = (self.sides(&shown)?, self.sides(&file.change)?);
            let (Some(message), Some(undo)) = (texts(&message), texts(&undo)) else {
                all.push(whole);
                continue;
            };
            if let Some(bytes) = parts::undone(message, undo, &hunks) {
                let mode = now.mode;
                all.push(Chosen {
                    content: ChosenContent::Text { mode, bytes },
                    ..whole
                });
            }
        }
        Ok((proposal.workspace, all))
    }

    /// Shows what was done: in one line if all went well, else with every file.
    pub(super) fn done(&mut self, done: &Done) -> Result<(), Failure> {
        self.due.list = true;
        self.model.pane = Pane::List;
        self.model.unmark();
        let around = around(&mut self.store, Some(&self.directory), done);
        let report = &done.report;
        let is_well = report.outcome == Outcome::Restored && report.notes.is_empty();
        if is_well && !report.busy {
            let plain = View {
                paint: Paint::PLAIN,
                ..self.fitting()
            };
            let text = operation::render(report, &around, &plain);
            let first = text.lines().next().unwrap_or_default();
            self.model.notice = Some(format!("{first}; u undoes it"));
        } else {
            self.model.lay(Popup::Text {
                title: "What was done".to_owned(),
                text: operation::render(report, &around, &self.fitting()),
            });
        }
        Ok(())
    }
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

/// The token that applies a plan, or the reason that it cannot be applied.
fn token(report: &OperationReport) -> Result<String, String> {
    match (&report.plan, report.busy) {
        (_, true) => Err("an agent is at work: wait for it, or stop it".to_owned()),
        (Some(token), false) => Ok(token.clone()),
        (None, false) => Err("there is nothing to do".to_owned()),
    }
}

/// The reason that nothing is left of the marked files.
fn why_nothing(report: &OperationReport) -> &'static str {
    let is_planned = |file: &FileReport| file.result == FileResult::Planned;
    match report.files.iter().all(is_planned) {
        true => "what you marked is no longer there",
        false => "nothing of what you marked can be undone, for the reason above",
    }
}
