//! A plan on the screen: its files, what is taken of each, and what a key does to that. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ckpt_schema::report::{
    FileReport, FileResult, KeptKind, KeptReport, PathText, PlanChoice, ReasonCode,
};

use super::keys::{UiKey, step};
use super::model::{UiAction, heads};
use ckpt_output::files;
use ckpt_output::operation::PlanKeys;
use ckpt_store::model::request::ConversationChoice;

/// What the plan is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanKind {
    /// A revert to just before the chosen message.
    Revert,
    /// A revert of the chosen message alone.
    Alone,
    /// One message forward.
    Forward,
    /// Forward, as far as it goes.
    AllForward,
    /// The chosen files, or all of them, as they were.
    Restore,
    /// The undo of the last operation.
    Undo,
}

impl PlanKind {
    /// Returns the keys that take what stays in such a plan.
    pub fn keys(self) -> PlanKeys {
        let (kept, unclear) = match self {
            Self::Revert | Self::Alone => ("o", "t"),
            Self::Forward | Self::AllForward => ("O", "O"),
            Self::Restore | Self::Undo => ("o", "o"),
        };
        PlanKeys { kept, unclear }
    }
}

/// How it is planned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanTerms {
    /// Whether unclear changes go back as well.
    pub unclear: bool,
    /// Whether all files go back that were changed since.
    pub overwrite: bool,
    /// Single files that go back whatever they hold.
    pub overwritten: BTreeSet<PathText>,
    /// Whether git's own state moves.
    pub git: bool,
    /// What becomes of the agent's conversation.
    pub conversation: ConversationChoice,
    /// Whether an agent at work does not matter.
    pub force: bool,
}

/// What is taken of a file that would go back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChoice {
    /// Nothing: it stays.
    Nothing,
    /// The changes within these lines of the file as it is now.
    Lines(Vec<Range<usize>>),
}

/// A plan that is shown, and what the user chose of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanScreen {
    /// What it is about.
    pub kind: PlanKind,
    /// How it was planned.
    pub terms: PlanTerms,
    /// What all of it would do, without the files, with colours.
    pub head: String,
    /// What else there is to know, with colours.
    pub notes: String,
    /// All of it, as the command prints it, with colours.
    pub text: String,
    /// Whether `text` is shown.
    pub is_text: bool,
    /// How many lines of the text are scrolled away.
    pub scrolled: usize,
    /// The files of which there is something to say.
    pub files: Vec<FileReport>,
    /// What stays, and the way out of it.
    pub kept: Vec<KeptReport>,
    /// What is taken of files of which not everything is.
    pub choices: BTreeMap<PathText, FileChoice>,
    /// The chosen file.
    pub file: usize,
    /// The patch of the chosen file, with colours.
    pub patch: Vec<String>,
    /// The lines of the file as it is now that each hunk of the patch is shown with.
    pub hunks: Vec<Range<usize>>,
    /// The chosen line of the patch.
    pub line: usize,
    /// Whether the cursor is in the patch.
    pub is_in_patch: bool,
    /// The token of the plan, or why it cannot be carried out.
    pub token: Result<String, String>,
    /// Whether an agent is at work.
    pub is_busy: bool,
}

impl PlanScreen {
    /// Returns the chosen file.
    pub fn chosen_file(&self) -> Option<&FileReport> {
        self.files.get(self.file)
    }

    /// Returns whether all of it is carried out, as it was planned.
    pub fn is_whole(&self) -> bool {
        self.choices.is_empty() && self.terms.overwritten.is_empty()
    }

    /// Returns how many files go back.
    pub fn taken(&self) -> usize {
        let is_taken = |file: &&FileReport| {
            goes_back(file) && self.choices.get(&file.path) != Some(&FileChoice::Nothing)
        };
        self.files.iter().filter(is_taken).count()
    }

    /// Returns whether something can be left of the chosen file.
    pub fn can_mark(&self) -> bool {
        self.chosen_file().is_some_and(goes_back)
    }

    /// Returns whether the chosen file is left.
    pub fn is_left(&self) -> bool {
        let choice = self.chosen_file().map(|file| self.choices.get(&file.path));
        choice.flatten() == Some(&FileChoice::Nothing)
    }

    /// Returns whether the key that takes what stays says something of the chosen file.
    pub fn can_overwrite_file(&self) -> bool {
        let is_taken =
            |file: &FileReport| self.terms.overwrite || self.terms.overwritten.contains(&file.path);
        let can_be = |file: &FileReport| stays(file) && (self.is_forward() || can_be_taken(file));
        self.chosen_file()
            .is_some_and(|file| is_taken(file) || can_be(file))
    }

    /// Returns whether a hunk of the chosen file is taken.
    pub fn takes_hunk(&self, hunk: usize) -> bool {
        let choice = self
            .chosen_file()
            .and_then(|file| self.choices.get(&file.path));
        match (choice, self.hunks.get(hunk)) {
            (None, _) => self.chosen_file().is_some_and(goes_back),
            (Some(FileChoice::Lines(lines)), Some(span)) => {
                lines.iter().any(|taken| meet(taken, span))
            }
            _ => false,
        }
    }

    /// Returns why it cannot be carried out now.
    pub fn why_not(&self) -> Option<String> {
        match &self.token {
            Err(why) => Some(why.clone()),
            Ok(_) if self.is_busy && !self.terms.force => Some(
                "an agent is at work: wait until it is done; ! goes ahead all the same".to_owned(),
            ),
            Ok(_) if !self.is_whole() && self.taken() == 0 => Some("nothing is taken".to_owned()),
            Ok(_) => None,
        }
    }

    /// Returns the plan for the chosen file with its reason, and the key that changes it.
    pub fn about_file(&self) -> Option<String> {
        let file = self.chosen_file()?;
        let reason = file.reason.clone();
        let way = match goes_back(file) && !file.unclear {
            true => return reason,
            false => self.way_out(file),
        };
        Some(format!(
            "{}; {way}",
            reason.unwrap_or_else(|| "it stays".to_owned())
        ))
    }

    /// Returns the way out for a file that stays, or that there is none.
    fn way_out(&self, file: &FileReport) -> String {
        let way = self.kept(file).and_then(|kept| kept.way.as_ref());
        let way = match file.choices.first() {
            Some(PlanChoice::Again) => match way.and_then(|way| way.first.as_ref()) {
                Some(first) => return format!("{first}, and plan again"),
                None => "plan again",
            },
            _ if self.is_tried(file) => "it stays all the same",
            Some(_) if self.is_forward() => {
                "O takes all that stay along, and u then brings back what is there now"
            }
            Some(_) => "o takes it back all the same, and u then brings back what is there now",
            None if file.result == FileResult::Failed => "the next operation tries again",
            None => "there is no way back for it",
        };
        way.to_owned()
    }

    /// Returns the plan's words on a file that stays.
    fn kept(&self, file: &FileReport) -> Option<&KeptReport> {
        self.kept
            .iter()
            .find(|kept| kept.paths.contains(&file.path))
    }

    /// Returns whether a file goes back only by a way of its own, and not by the terms of the whole plan.
    fn is_by_itself(&self, file: &FileReport) -> bool {
        let way = self.kept(file).and_then(|kept| kept.way.as_ref());
        file.reason_code == Some(ReasonCode::Shared) || way.is_some_and(|way| way.parameters.force)
    }

    /// Returns whether a file was to go back whatever it holds.
    fn is_tried(&self, file: &FileReport) -> bool {
        self.terms.overwrite && !self.is_by_itself(file)
            || self.terms.overwritten.contains(&file.path)
    }

    /// Returns whether it goes forward: then all that stays goes along, or nothing of it.
    fn is_forward(&self) -> bool {
        matches!(self.kind, PlanKind::Forward | PlanKind::AllForward)
    }

    /// Returns whether the terms of the whole plan take what is unclear and what was changed since.
    fn can_overwrite(&self) -> bool {
        matches!(
            self.kind,
            PlanKind::Revert | PlanKind::Alone | PlanKind::Restore
        )
    }

    /// Returns whether a key closes it.
    pub fn closes(&self, key: UiKey) -> bool {
        let is_back = matches!(key, UiKey::Escape | UiKey::Char('q' | 'n'));
        is_back && !self.is_text && !self.is_in_patch
    }

    /// Does what a key asks for; the error is the reason that it does nothing.
    pub fn update(&mut self, key: UiKey, page: usize) -> Result<UiAction, String> {
        match key {
            UiKey::Char('i') => {
                self.is_text = !self.is_text;
                self.scrolled = 0;
            }
            UiKey::Char('y') => return self.why_not().map_or(Ok(UiAction::Apply), Err),
            UiKey::Escape | UiKey::Char('q') if self.is_text => self.is_text = false,
            _ if self.is_text && key.moves() => {
                self.scrolled = step(key, self.scrolled, usize::MAX, page);
            }
            _ if self.is_text => return Err(key.idle("i leads back to the plan and its keys")),
            UiKey::Escape | UiKey::Left | UiKey::Char('q') if self.is_in_patch => {
                self.is_in_patch = false;
            }
            UiKey::Enter | UiKey::Right if !self.is_in_patch => self.is_in_patch = true,
            UiKey::Tab | UiKey::Char(' ') => return self.mark(page),
            UiKey::Char('o') => return self.overwrite(),
            UiKey::Char('O') => {
                if self.kind == PlanKind::Undo {
                    return Err("nothing is overwritten here".to_owned());
                }
                self.terms.overwrite = !self.terms.overwrite;
                self.terms.unclear = self.terms.overwrite;
                return Ok(UiAction::PlanAgain);
            }
            UiKey::Char('t') => {
                let is_unclear = self.files.iter().any(|file| file.unclear);
                if !is_unclear || !self.can_overwrite() {
                    return Err("nothing is unclear".to_owned());
                }
                self.terms.unclear = true;
                return Ok(UiAction::PlanAgain);
            }
            UiKey::Char('g') => {
                if self.kind == PlanKind::Undo {
                    return Err("an undo leaves no choice about git".to_owned());
                }
                self.terms.git = !self.terms.git;
                return Ok(UiAction::PlanAgain);
            }
            UiKey::Char('c') => {
                if self.kind != PlanKind::Revert {
                    return Err("only a whole revert can take the conversation back".to_owned());
                }
                self.terms.conversation = match self.terms.conversation {
                    ConversationChoice::No => ConversationChoice::Fork,
                    ConversationChoice::Fork => ConversationChoice::Only,
                    ConversationChoice::Only | ConversationChoice::Cut => ConversationChoice::No,
                };
                return Ok(UiAction::PlanAgain);
            }
            UiKey::Char('!') if self.is_busy => self.terms.force = true,
            UiKey::Char('!') => return Err("no agent is at work".to_owned()),
            _ if key.moves() => return Ok(self.moved(key, page)),
            _ => return Err(key.idle("Esc leaves the plan, and ? then lists the keys")),
        }
        Ok(UiAction::Nothing)
    }

    fn moved(&mut self, key: UiKey, page: usize) -> UiAction {
        if self.is_in_patch {
            self.line = step(key, self.line, self.patch.len(), page);
            return UiAction::Nothing;
        }
        let before = self.file;
        self.file = step(key, before, self.files.len(), page);
        match before == self.file {
            true => UiAction::Nothing,
            false => {
                self.line = 0;
                UiAction::PlanPatch
            }
        }
    }

    /// Takes the file, or the hunk, or leaves it.
    fn mark(&mut self, page: usize) -> Result<UiAction, String> {
        let Some(file) = self.files.get(self.file) else {
            return Err("there is no file here".to_owned());
        };
        if !goes_back(file) {
            return Err(self.about_file().unwrap_or_default());
        }
        let path = file.path.clone();
        if self.is_in_patch && !self.hunks.is_empty() {
            self.mark_hunk(path);
            return Ok(UiAction::Nothing);
        }
        if self.choices.remove(&path).is_none() {
            self.choices.insert(path, FileChoice::Nothing);
        }
        Ok(self.moved(UiKey::Down, page))
    }

    fn mark_hunk(&mut self, path: PathText) {
        let heads = heads(&self.patch);
        let hunk = heads
            .iter()
            .rposition(|head| *head <= self.line)
            .unwrap_or(0);
        let taken: Vec<usize> = (0..self.hunks.len())
            .filter(|other| self.takes_hunk(*other) != (*other == hunk))
            .collect();
        let choice = match taken.len() {
            0 => Some(FileChoice::Nothing),
            all if all == self.hunks.len() => None,
            _ => Some(FileChoice::Lines(
                taken.iter().map(|hunk| self.hunks[*hunk].clone()).collect(),
            )),
        };
        match choice {
            Some(choice) => drop(self.choices.insert(path, choice)),
            None => drop(self.choices.remove(&path)),
        }
        // The next one, as in the list of files.
        self.line = heads.get(hunk + 1).copied().unwrap_or(self.line);
    }

    /// Takes back a file that stays, or lets it stay again.
    fn overwrite(&mut self) -> Result<UiAction, String> {
        let Some(file) = self.files.get(self.file) else {
            return Err("there is no file here".to_owned());
        };
        if self.terms.overwritten.remove(&file.path) {
            return Ok(UiAction::PlanAgain);
        }
        if self.terms.overwrite {
            (self.terms.overwrite, self.terms.unclear) = (false, false);
            return Ok(UiAction::PlanAgain);
        }
        if !stays(file) {
            return Err("it goes back already".to_owned());
        }
        if !can_be_taken(file) || self.is_forward() {
            return Err(self.about_file().unwrap_or_default());
        }
        // A database goes as a whole.
        let set = self
            .kept(file)
            .filter(|kept| kept.kind == KeptKind::Database);
        let paths = set.map_or_else(|| vec![file.path.clone()], |kept| kept.paths.clone());
        self.terms.overwritten.extend(paths);
        let mut rest = self.files.iter().filter(|file| stays(file));
        let is_taken = |file: &FileReport| {
            !self.is_by_itself(file) && self.terms.overwritten.contains(&file.path)
        };
        if self.can_overwrite() && rest.all(is_taken) {
            // Then it is no part of the plan any more.
            self.terms.overwritten.clear();
            (self.terms.overwrite, self.terms.unclear) = (true, true);
        }
        Ok(UiAction::PlanAgain)
    }
}

/// Returns whether a file stays, wholly or in part.
fn stays(file: &FileReport) -> bool {
    !goes_back(file) || file.unclear
}

/// Returns whether a file that stays can be taken by itself.
fn can_be_taken(file: &FileReport) -> bool {
    let takes = [PlanChoice::Take, PlanChoice::Overwrite];
    takes.iter().any(|choice| file.choices.contains(choice))
}

/// Returns whether something is done to a file.
pub fn goes_back(file: &FileReport) -> bool {
    file.result == FileResult::Planned && files::changes_something(file)
}

fn meet(one: &Range<usize>, other: &Range<usize>) -> bool {
    one == other || one.start.max(other.start) < one.end.min(other.end)
}
