//! `-p`: shows what a plan would do hunk by hunk, and does only what the user accepts, as `git checkout -p` does.
//!
//! No lock is held while the user decides: if a file has changed by then, nothing is done. Lines are read from stdin,
//! so that answers can come from a pipe, as with git.

mod choice;

use std::io::{self, BufRead};
use std::path::Path;

use ckpt_command::changes::ChangesArguments;
use ckpt_command::changes::ChangesView;
use ckpt_command::invocation::Invocation;
use ckpt_command::operation::{AskedExtent, OperationRequest, OperationResult, Terms, carry_out};
use ckpt_command::outcome::{finish, watched};
use ckpt_command::part::is_text;
use ckpt_output::files;
use ckpt_output::hunk::{self, ChangeUnit, Edited};
use ckpt_output::lines::{DiffOptions, LineDifference, MovedLines, Style, difference};
use ckpt_output::paint::Paint;
use ckpt_output::patch::{self, FileSides};
use ckpt_output::text;
use ckpt_process::PrivateFolder;
use ckpt_process::failure::{DONE, Failure};
use ckpt_process::surroundings;
use ckpt_process::{git_value, programs};
use ckpt_schema::report::{FileReport, FileResult, OperationReport, RootFiles};
use ckpt_store::error::Context;
use ckpt_store::model::entry::Entry;
use ckpt_store::query::{BlobReader, Proposed};
use ckpt_store::{Chosen, ChosenContent, Error, Store};

use choice::{Direction, Unit, UnitAnswer, UnitChoice, UnitVerdict};

const HELP: &str = "\
y - apply this hunk to the workspace
n - do not apply this hunk
q - quit; apply neither this hunk nor any of the remaining ones
a - apply this hunk and all later hunks in the file
d - apply neither this hunk nor any of the later hunks in the file
j - go to the next undecided hunk
J - go to the next hunk
k - go to the previous undecided hunk
K - go to the previous hunk
g - select a hunk to go to
/ - search for a hunk with a text in it
s - split the current hunk into smaller hunks
e - edit the current hunk
p - print the current hunk again
? - print help
";

/// Asks about each hunk of a dry run's plan, and does what was chosen.
pub fn choose(
    invocation: &Invocation,
    store: &mut Store,
    plan: OperationReport,
    terms: Terms,
) -> Result<u8, Failure> {
    if invocation.output.is_json() {
        return Err(Failure::usage(
            "`--patch` asks about each hunk, and a program cannot answer",
            "use `--only PATH`, or `--dry-run --json` and `--plan TOKEN`",
        ));
    }
    // Do not ask about what would be refused afterwards.
    let token = plan
        .plan
        .as_deref()
        .filter(|_| !plan.busy || terms.force.goes_on());
    let Some(token) = token else {
        return finish(
            invocation,
            store,
            &OperationResult::of(plan, AskedExtent::Part),
        );
    };
    let proposal = store.proposal(token)?;
    if proposal.files.is_empty() {
        // Hunks are chosen of files, and no message is hidden for that.
        let plan = OperationReport {
            messages_hidden: Vec::new(),
            ..plan
        };
        return finish(
            invocation,
            store,
            &OperationResult::of(plan, AskedExtent::Part),
        );
    }
    tell_what_stays(invocation, &plan)?;
    let mut dialog = Dialog {
        invocation,
        is_over: false,
    };
    let mut chosen = Vec::new();
    'all: for of_root in proposal.files.chunk_by(|a, b| a.workspace == b.workspace) {
        let root = &of_root[0].workspace;
        let blobs = store.blobs(root)?;
        if *root != proposal.workspace {
            let name = root.to_string_lossy();
            let name = invocation.output.view().paint.strong(&text::safe(&name));
            invocation.output.text(&format!("{name}\n"))?;
        }
        for file in of_root {
            let sides = sides(invocation, &blobs, file)?;
            chosen.extend(dialog.file(file, &sides)?);
            if dialog.is_over {
                break 'all;
            }
        }
    }
    if chosen.is_empty() {
        invocation.output.text("Nothing was changed.\n")?;
        return Ok(DONE);
    }
    let operation = OperationRequest::Parts {
        workspace: proposal.workspace.clone(),
        chosen,
        origin: proposal.origin,
    };
    let directory = proposal.workspace.as_path();
    let done = watched(invocation, store, |store| {
        carry_out(store, directory, operation, terms)
    })?;
    finish(invocation, store, &done)
}

/// What cannot be undone is not asked about.
fn tell_what_stays(invocation: &Invocation, plan: &OperationReport) -> Result<(), Failure> {
    let stays = |files: &[FileReport]| -> Vec<FileReport> {
        let listed = files.iter();
        let listed = listed.filter(|file| file.result != FileResult::Planned);
        listed.cloned().collect()
    };
    let output = &invocation.output;
    output.text(&files::files(&stays(&plan.files), output.view()))?;
    let others = plan.roots.iter().map(|root| RootFiles {
        workspace: root.workspace.clone(),
        files: stays(&root.report.files),
    });
    let others: Vec<RootFiles> = others.filter(|root| !root.files.is_empty()).collect();
    output.text(&files::in_roots(&others, output.view()))
}

fn sides(
    invocation: &Invocation,
    blobs: &BlobReader,
    file: &Proposed,
) -> Result<FileSides, Failure> {
    let changes = ChangesView {
        invocation,
        blobs,
        arguments: &ChangesArguments::default(),
    };
    changes.sides(&file.change)
}

/// How the questions go on.
struct Dialog<'a> {
    invocation: &'a Invocation,
    /// Whether the user has answered for everything that is left.
    is_over: bool,
}

impl Dialog<'_> {
    /// Asks about one file, and returns what was chosen of it.
    fn file(&mut self, file: &Proposed, sides: &FileSides) -> Result<Option<Chosen>, Failure> {
        let (old, new): (&[u8], &[u8]) = match sides {
            FileSides::Text { old, new } if is_text(file) => (old, new),
            _ => (b"", b""),
        };
        let difference = difference(old, new, &DiffOptions::default());
        let mut choice = UnitChoice::new(units(file, &difference));
        let head = self.head(file, sides);
        self.invocation.output.bytes(&head)?;
        self.ask(&mut choice, &difference.old)?;
        Ok(chosen(file, &choice, &difference.old))
    }

    /// Returns the head of a file's patch, or all of it if it has no hunks.
    fn head(&self, file: &Proposed, sides: &FileSides) -> Vec<u8> {
        let moved = MovedLines::default();
        let style = patch::style(
            self.invocation.output.view(),
            DiffOptions::default(),
            &moved,
        );
        match sides {
            FileSides::Text { .. } if is_text(file) => patch::head(&file.change, &style),
            _ => patch::file(&file.change, sides, &style),
        }
    }

    /// Asks until everything of the file is decided.
    fn ask(&mut self, choice: &mut UnitChoice, old: &[&[u8]]) -> Result<(), Failure> {
        let mut is_shown = false;
        while let Some(unit) = choice.current() {
            if !std::mem::replace(&mut is_shown, true) {
                self.show(unit, old)?;
            }
            let (number, all) = choice.place();
            let question = format!("({number}/{all}) {} [{}]? ", unit.question(), choice.keys());
            // Answers from a pipe may just end. That is `q`, as in git: what was accepted before is done.
            let Some(line) = self.line(&question)? else {
                self.is_over = true;
                choice.leave_rest();
                return Ok(());
            };
            let before = choice.place();
            let answer = UnitAnswer::read(&line);
            is_shown = answer != UnitAnswer::Print;
            self.answer(choice, old, answer)?;
            is_shown &= choice.place() == before;
        }
        Ok(())
    }

    /// Does what an answer asks for.
    fn answer(
        &mut self,
        choice: &mut UnitChoice,
        old: &[&[u8]],
        answer: UnitAnswer,
    ) -> Result<(), Failure> {
        let done = match answer {
            UnitAnswer::Yes => {
                choice.decide(UnitVerdict::Take);
                Ok(())
            }
            UnitAnswer::No => {
                choice.decide(UnitVerdict::Leave);
                Ok(())
            }
            UnitAnswer::All => {
                choice.decide_rest(UnitVerdict::Take);
                Ok(())
            }
            UnitAnswer::Done => {
                choice.decide_rest(UnitVerdict::Leave);
                Ok(())
            }
            UnitAnswer::Quit => {
                self.is_over = true;
                choice.leave_rest();
                Ok(())
            }
            UnitAnswer::Next { undecided } => choice.step(Direction::Forward, undecided),
            UnitAnswer::Previous { undecided } => choice.step(Direction::Back, undecided),
            UnitAnswer::Go(number) => self.go(choice, old, number)?,
            UnitAnswer::Search(text) => self.search(choice, old, text)?,
            UnitAnswer::Split => match choice.split() {
                Some(number) => {
                    self.say(&format!("Split into {number} hunks."))?;
                    Ok(())
                }
                None => Err("This hunk cannot be split"),
            },
            UnitAnswer::Edit => self.edit(choice, old)?,
            UnitAnswer::Print => Ok(()),
            UnitAnswer::Help => {
                self.invocation.output.text(HELP)?;
                Ok(())
            }
        };
        match done {
            Ok(()) => Ok(()),
            Err(why) => self.say(why),
        }
    }

    fn go(
        &mut self,
        choice: &mut UnitChoice,
        old: &[&[u8]],
        number: Option<usize>,
    ) -> Result<Result<(), &'static str>, Failure> {
        let number = match number {
            Some(number) => Some(number),
            None => {
                let listed: Vec<String> = choice
                    .listed()
                    .enumerate()
                    .map(|(at, (sign, unit))| {
                        let what = match unit {
                            Unit::Hunk(hunk) => hunk.header(old),
                            Unit::Whole(what) => (*what).to_owned(),
                            Unit::Mode => "mode change".to_owned(),
                        };
                        format!("{sign}{:>3}: {what}\n", at + 1)
                    })
                    .collect();
                self.invocation.output.text(&listed.concat())?;
                let line = self.line("go to which hunk? ")?;
                line.and_then(|line| line.trim().parse().ok())
            }
        };
        Ok(match number {
            Some(number) => choice.go(number),
            None => Err("That is not a number"),
        })
    }

    fn search(
        &mut self,
        choice: &mut UnitChoice,
        old: &[&[u8]],
        text: String,
    ) -> Result<Result<(), &'static str>, Failure> {
        let text = match text.is_empty() {
            true => self.line("search for which text? ")?.unwrap_or_default(),
            false => text,
        };
        Ok(match text.trim() {
            "" => Ok(()),
            text => choice.search(old, text),
        })
    }

    /// Lets the user edit the hunk in their editor.
    fn edit(
        &mut self,
        choice: &mut UnitChoice,
        old: &[&[u8]],
    ) -> Result<Result<(), &'static str>, Failure> {
        let Some(Unit::Hunk(hunk)) = choice.current().cloned() else {
            return Ok(Err("Only lines can be edited"));
        };
        Ok(match hunk.edited(old, &edited(&hunk, old)?) {
            Edited::Hunk(hunk) => {
                choice.replace(hunk);
                Ok(())
            }
            Edited::Nothing => Err("Nothing is left of the hunk: it is as it was before"),
            Edited::DoesNotApply => Err(
                "The edited hunk does not apply: lines with a blank or `-` must be the file's own",
            ),
        })
    }

    fn show(&self, unit: &Unit, old: &[&[u8]]) -> Result<(), Failure> {
        let Unit::Hunk(hunk) = unit else {
            return Ok(());
        };
        let moved = MovedLines::default();
        let style = Style {
            is_for_people: true,
            ..patch::style(
                self.invocation.output.view(),
                DiffOptions::default(),
                &moved,
            )
        };
        self.invocation.output.bytes(&hunk.render(old, &style))
    }

    fn say(&self, text: &str) -> Result<(), Failure> {
        self.invocation.output.text(&format!("{text}\n"))
    }

    /// Asks for a line; `None` at the end of the input.
    fn line(&self, question: &str) -> Result<Option<String>, Failure> {
        let output = &self.invocation.output;
        let wrapped = output.wrapped(question);
        output.bytes(output.view().paint.strong(&wrapped).as_bytes())?;
        let mut line = Vec::new();
        // `read_line` would fail on an answer that is not UTF-8, and take nothing of what was accepted before.
        let read = io::stdin().lock().read_until(b'\n', &mut line);
        if read.context(|| "cannot read the answers")? == 0 {
            output.text("\n")?;
            return Ok(None);
        }
        Ok(Some(String::from_utf8_lossy(&line).into_owned()))
    }
}

/// Returns the units of a file.
fn units(file: &Proposed, difference: &LineDifference<'_>) -> Vec<Unit> {
    let whole = |what| vec![Unit::Whole(what)];
    let (Some(now), Some(then)) = (file.now, file.then) else {
        return whole(match file.now {
            None => "addition",
            Some(_) => "deletion",
        });
    };
    let hunks = hunk::hunks(difference);
    if !is_text(file) || (hunks.is_empty() && now.blob != then.blob) {
        return whole("change");
    }
    let mode = (now.mode != then.mode).then_some(Unit::Mode);
    mode.into_iter()
        .chain(hunks.into_iter().map(Unit::Hunk))
        .collect()
}

/// Returns the chosen content of a file; `None` if nothing of it was taken.
fn chosen(file: &Proposed, choice: &UnitChoice, old: &[&[u8]]) -> Option<Chosen> {
    if !choice.takes_any() {
        return None;
    }
    let content = match (file.now, file.then) {
        (Some(now), Some(then)) if is_text(file) && !choice.is_of_whole() => {
            let mode = if choice.takes_whole() {
                then.mode
            } else {
                now.mode
            };
            match now.blob == then.blob {
                true => ChosenContent::State(Some(Entry { mode, ..then })),
                false => ChosenContent::Text {
                    mode,
                    bytes: choice.contents(old),
                },
            }
        }
        _ => ChosenContent::State(file.then),
    };
    Some(Chosen {
        workspace: file.workspace.clone(),
        path: file.path.clone(),
        seen: file.now,
        content,
    })
}

/// The hunk as the user left it in their editor.
fn edited(hunk: &ChangeUnit, old: &[&[u8]]) -> Result<Vec<u8>, Failure> {
    const REMARKS: &str = "\
# To leave a `-` line in the file, make its `-` a blank; to leave a `+` line out, delete it.
# Lines that begin with # are remarks. An empty file leaves the hunk as it was.
";
    let moved = MovedLines::default();
    let style = Style {
        look: DiffOptions::default(),
        is_for_people: false,
        paint: Paint::PLAIN,
        moved: &moved,
    };
    let folder = PrivateFolder::new().context(|| "cannot create a temporary directory")?;
    let mut content = hunk.render(old, &style);
    content.extend(REMARKS.as_bytes());
    let file = folder
        .write(Path::new("hunk.diff"), &content)
        .context(|| "cannot write a temporary file")?;
    let editor = surroundings::variable("GIT_EDITOR")
        .or_else(|| git_value("core.editor"))
        .or_else(|| surroundings::variable("VISUAL"))
        .or_else(|| surroundings::variable("EDITOR"))
        .unwrap_or_else(|| "vi".into());
    let ended = folder
        .run(Path::new(""), &mut programs::line(&editor, [&file]))
        .context(|| "cannot start the editor")?;
    if !ended.success() {
        let editor = text::safe_bytes(editor.as_encoded_bytes());
        return Err(Error::failed(format!("the editor `{editor}` failed")).into());
    }
    Ok(std::fs::read(&file).context(|| "cannot read what was edited")?)
}
