//! Moves HEAD, branches and the index as the plan says: all locks first, what stands there checked under them, a line in the
//! reflogs, then one rename each. This module does IO, and nothing else writes below `.git`.
//!
//! Called again after a crash it takes its own locks away and goes on where it was.

use ckpt_schema::report::{FileResult, GitPart};

use super::indexes::Indexes;
use super::item::GitItem;
use super::place::{NewFile, Place, Trouble};
use super::plan;
use super::reflog::{self, Line, Signature};
use super::repository::Repository;
use crate::Milliseconds;
use crate::entry::ObjectId;

/// What the hand needs besides the plan.
pub(crate) struct Work<'a> {
    pub repository: &'a Repository,
    /// The operation's id: names of our own are made of it.
    pub operation: &'a str,
    /// What the operation is called.
    pub kind: &'static str,
    pub indexes: Indexes<'a>,
    pub now: Milliseconds,
}

/// Carries the plan for git out, or finishes what a crash left of it; each part says how it went.
pub(crate) fn carry_out(work: &Work<'_>, items: &mut [GitItem]) {
    let planned: Vec<usize> = (0..items.len()).filter(|index| items[*index].is_planned()).collect();
    if planned.is_empty() {
        return;
    }
    let mut places = Vec::new();
    for index in planned {
        let place = Place::open(work.repository, &items[index], work.operation, index)
            .and_then(|place| place.settle().map(|()| place));
        match place {
            Ok(place) => places.push((index, place)),
            Err(trouble) => return leave(items, &trouble),
        }
    }
    places.retain(|(index, _)| {
        let is_done = work.is(&items[*index], &items[*index].target);
        if is_done {
            items[*index].result = FileResult::Done;
        }
        !is_done
    });
    match work.lock_all(items, &places) {
        Ok(()) => work.move_all(items, &places),
        Err(trouble) => leave(items, &trouble),
    }
}

fn leave(items: &mut [GitItem], trouble: &Trouble) {
    for item in items.iter_mut().filter(|item| item.is_planned()) {
        *item = item.clone().left(trouble.result, trouble.reason.clone());
    }
}

impl Work<'_> {
    /// All locks, or none of them.
    fn lock_all(&self, items: &[GitItem], places: &[(usize, Place)]) -> Result<(), Trouble> {
        let mut held: Vec<&Place> = Vec::new();
        let locked = places.iter().try_for_each(|(index, place)| {
            place.lock(&self.contents(&items[*index])?)?;
            held.push(place);
            Ok(())
        });
        let ready = locked.and_then(|()| self.check_all(items, places)).and_then(|()| self.log_all(items, places));
        if ready.is_err() {
            held.iter().for_each(|place| place.give_up());
        }
        ready
    }

    fn check_all(&self, items: &[GitItem], places: &[(usize, Place)]) -> Result<(), Trouble> {
        let conflict = |reason: String| Trouble { result: FileResult::Conflict, reason };
        for (index, _) in places {
            let item = &items[*index];
            if !self.is(item, &item.expected) {
                return Err(conflict(format!("`{}` was changed in the meantime", item.name)));
            }
        }
        let moves_heads = places.iter().any(|(index, _)| items[*index].part != GitPart::Index);
        match self.repository.doing().filter(|_| moves_heads) {
            Some(doing) => Err(conflict(format!("a {doing} has begun in the meantime"))),
            None => Ok(()),
        }
    }

    fn move_all(&self, items: &mut [GitItem], places: &[(usize, Place)]) {
        for (at, (index, place)) in places.iter().enumerate() {
            let moved = if items[*index].target.is_some() { place.put_in() } else { place.take_out() };
            match moved {
                Ok(()) => items[*index].result = FileResult::Done,
                Err(trouble) => {
                    places[at..].iter().for_each(|(_, place)| place.give_up());
                    return leave(items, &trouble);
                }
            }
        }
    }

    /// Returns whether a part is something now.
    fn is(&self, item: &GitItem, wanted: &Option<String>) -> bool {
        match item.part {
            GitPart::Branch => self.repository.value_of(&item.name) == *wanted,
            GitPart::Head => self.repository.head().as_deref().map(normal) == wanted.as_deref().map(normal),
            GitPart::Index => self.indexes.is_now(wanted.as_deref().and_then(ObjectId::from_hex)),
        }
    }

    /// Returns the file that takes the place; an empty one where nothing does, for the lock.
    fn contents(&self, item: &GitItem) -> Result<NewFile, Trouble> {
        match (item.part, &item.target) {
            (_, None) => Ok(NewFile::default()),
            (GitPart::Branch | GitPart::Head, Some(text)) => {
                Ok(NewFile { bytes: format!("{text}\n").into_bytes(), time: None })
            }
            (GitPart::Index, Some(blob)) => self.indexes.contents(blob, self.now).ok_or_else(|| Trouble {
                result: FileResult::Failed,
                reason: "what the store holds of the index is damaged".to_owned(),
            }),
        }
    }

    fn log_all(&self, items: &[GitItem], places: &[(usize, Place)]) -> Result<(), Trouble> {
        let moved: Vec<&GitItem> = places.iter().map(|(index, _)| &items[*index]).collect();
        let location = &self.repository.location;
        let from = self.repository.head().unwrap_or_default();
        let head = moved.iter().find(|item| item.part == GitPart::Head);
        let to = head.and_then(|item| item.target.clone()).unwrap_or_else(|| from.clone());
        let way = if from == to { String::new() } else { format!(": {}", plan::way(&from, &to)) };
        let message = format!("ckpt-hook {} {}{way}", self.kind, super::short(self.operation));
        let signature = Signature { time: self.now, message: &message, id_length: self.repository.id_length };
        let branches: Vec<&&GitItem> = moved.iter().filter(|item| item.part == GitPart::Branch).collect();
        let line =
            |item: &GitItem| Line { name: item.name.clone(), old: item.expected.clone(), new: item.target.clone() };
        let mut lines: Vec<_> = branches.iter().map(|item| (&location.common, line(item))).collect();
        let old = self.stands_for(&from, |_| None);
        let new =
            self.stands_for(&to, |name| branches.iter().find(|item| item.name == name).map(|item| item.target.clone()));
        if from != to || old != new {
            lines.push((&location.directory, Line { name: "HEAD".to_owned(), old, new }));
        }
        lines.iter().try_for_each(|(folder, line)| {
            reflog::add(folder, line, signature)
                .map_err(|error| Trouble::failed(&format!("the reflog of `{}` cannot be written", line.name), error))
        })
    }

    /// The commit that HEAD stands for with a text in it, with what is about to become of branches.
    fn stands_for(&self, head: &str, moved: impl Fn(&str) -> Option<Option<String>>) -> Option<String> {
        match normal(head) {
            (true, branch) => moved(branch).unwrap_or_else(|| self.repository.value_of(branch)),
            (false, commit) => Some(commit.to_owned()).filter(|commit| !commit.is_empty()),
        }
    }
}

/// Returns whether HEAD names a branch, and what it names.
fn normal(text: &str) -> (bool, &str) {
    match text.strip_prefix("ref:") {
        Some(branch) => (true, branch.trim()),
        None => (false, text.trim()),
    }
}
