//! Moves HEAD, branches and the index as planned: takes all locks, checks the present state under them, writes the
//! reflogs, then renames each file once. This module does IO, and is the only one that writes below `.git`.
//!
//! Called again after a crash, it removes its own locks and continues.

mod log;
mod place;

use ckpt_schema::report::{FileResult, GitPart};

use self::log::{ReflogEntry, Signature};
pub(super) use self::place::own_locks;
use self::place::{GitFailure, GitFile};
use super::indexes::{Indexes, NewFile};
use super::plan;
use super::repository::{Repository, leave, normal};
use crate::git::state;
use crate::model::Milliseconds;
use crate::model::entry::ObjectId;
use crate::model::git_item::GitItem;

/// What carrying out a plan for git needs besides the plan.
pub(crate) struct GitWork<'a> {
    pub repository: &'a Repository,
    /// The operation's id, from which our own names are derived.
    pub operation: &'a str,
    /// What the operation is called.
    pub kind: &'static str,
    pub indexes: Indexes<'a>,
    pub now: Milliseconds,
}

/// Carries out the plan for git, or finishes what a crash left of it. Each part gets its result.
pub(crate) fn carry_out(work: &GitWork<'_>, items: &mut [GitItem]) {
    let planned: Vec<usize> = (0..items.len())
        .filter(|index| items[*index].is_planned())
        .collect();
    if planned.is_empty() {
        return;
    }
    let mut moves = Vec::new();
    for index in planned {
        match work.open(&items[index], index) {
            Ok(opened) => moves.extend(opened),
            Err(failure) => return leave(items, failure.result, &failure.reason),
        }
    }
    moves.retain(|FileMove { index, .. }| {
        let is_done = work.is(&items[*index], &items[*index].target);
        // A crashed try came that far. It must not be logged, or refused, a second time.
        if is_done {
            items[*index].result = FileResult::Done;
        }
        !is_done
    });
    match work.lock_all(items, &moves) {
        Ok(()) => move_all(items, &moves),
        Err(failure) => leave(items, failure.result, &failure.reason),
    }
}

/// A file that has to be moved for a part.
struct FileMove {
    /// The item's index.
    index: usize,
    place: GitFile,
    way: MoveKind,
}

enum MoveKind {
    PutIn,
    TakeOut,
    /// Replaces the packed refs, which were these, by what is left of them.
    Repack(Vec<u8>),
}

impl GitWork<'_> {
    /// Opens the files of a part, and cleans up after an interrupted attempt. A branch that is to be deleted is first
    /// removed from the packed refs, like git does: otherwise it would come back from there.
    fn open(&self, item: &GitItem, index: usize) -> Result<Vec<FileMove>, GitFailure> {
        let place = GitFile::open(self.repository, item, self.operation, index)?;
        place.clean_leftover()?;
        if item.target.is_some() {
            return Ok(vec![FileMove {
                index,
                place,
                way: MoveKind::PutIn,
            }]);
        }
        let mut moves = vec![FileMove {
            index,
            place,
            way: MoveKind::TakeOut,
        }];
        if item.part == GitPart::Branch {
            let place = GitFile::packed_refs(self.repository, self.operation, index)?;
            place.clean_leftover()?;
            let location = &self.repository.location;
            if let Some(refs) =
                state::packed(location, &item.name).and_then(|_| state::packed_refs(location))
            {
                moves.insert(
                    0,
                    FileMove {
                        index,
                        place,
                        way: MoveKind::Repack(refs),
                    },
                );
            }
        }
        Ok(moves)
    }

    /// Takes all locks, or none of them.
    fn lock_all(&self, items: &[GitItem], moves: &[FileMove]) -> Result<(), GitFailure> {
        let mut held: Vec<&GitFile> = Vec::new();
        // All of them before the first move: a lock that another program holds must not be met halfway, with HEAD on
        // a branch that did not move.
        let locked = moves.iter().try_for_each(|FileMove { index, place, way }| {
            place.lock(&self.contents(&items[*index], way)?)?;
            held.push(place);
            Ok(())
        });
        let ready = locked
            // Under the locks, since git moves a ref only while it holds that ref's lock.
            .and_then(|()| self.check_all(items, moves))
            // Before the renames: a commit that no branch names any more has to be in a reflog already, or `git gc`
            // may take it.
            .and_then(|()| self.log_all(items, moves));
        if ready.is_err() {
            held.iter().for_each(|place| place.give_up());
        }
        ready
    }

    fn check_all(&self, items: &[GitItem], moves: &[FileMove]) -> Result<(), GitFailure> {
        let conflict = |reason: String| GitFailure {
            result: FileResult::Conflict,
            reason,
        };
        for FileMove { index, way, .. } in moves {
            let item = &items[*index];
            let is_packed_anew = match way {
                MoveKind::Repack(refs) => {
                    state::packed_refs(&self.repository.location).as_ref() != Some(refs)
                }
                MoveKind::PutIn | MoveKind::TakeOut => false,
            };
            if is_packed_anew || !self.is(item, &item.expected) {
                return Err(conflict(format!(
                    "`{}` was changed in the meantime",
                    item.name
                )));
            }
        }
        // An index alone may go back in the middle of a merge. HEAD and branches may not: git would finish the merge
        // on the wrong commit.
        let moves_heads = moves
            .iter()
            .any(|FileMove { index, .. }| items[*index].part != GitPart::Index);
        match self.repository.doing().filter(|_| moves_heads) {
            Some(doing) => Err(conflict(format!("a {doing} has begun in the meantime"))),
            None => Ok(()),
        }
    }

    /// Returns whether a part has a value now.
    fn is(&self, item: &GitItem, wanted: &Option<String>) -> bool {
        match item.part {
            GitPart::Branch => self.repository.value_of(&item.name) == *wanted,
            GitPart::Head => {
                self.repository.head().as_deref().map(normal) == wanted.as_deref().map(normal)
            }
            GitPart::Index => self
                .indexes
                .is_now(wanted.as_deref().and_then(ObjectId::from_hex)),
        }
    }

    /// Returns the new content of the file. It is empty for a removal, because the lock needs a file.
    fn contents(&self, item: &GitItem, way: &MoveKind) -> Result<NewFile, GitFailure> {
        if let MoveKind::Repack(refs) = way {
            return Ok(NewFile {
                bytes: state::packed_without(refs, &item.name),
                time: None,
            });
        }
        match (item.part, &item.target) {
            (_, None) => Ok(NewFile::default()),
            (GitPart::Branch | GitPart::Head, Some(text)) => Ok(NewFile {
                bytes: format!("{text}\n").into_bytes(),
                time: None,
            }),
            (GitPart::Index, Some(blob)) => {
                self.indexes
                    .contents(blob, self.now)
                    .ok_or_else(|| GitFailure {
                        result: FileResult::Failed,
                        reason: "the stored content of the index is damaged".to_owned(),
                    })
            }
        }
    }

    fn log_all(&self, items: &[GitItem], moves: &[FileMove]) -> Result<(), GitFailure> {
        let own = moves
            .iter()
            .filter(|FileMove { way, .. }| !matches!(way, MoveKind::Repack(_)));
        let moved: Vec<&GitItem> = own.map(|FileMove { index, .. }| &items[*index]).collect();
        let location = &self.repository.location;
        let from = self.repository.head().unwrap_or_default();
        let head = moved.iter().find(|item| item.part == GitPart::Head);
        let to = head
            .and_then(|item| item.target.clone())
            .unwrap_or_else(|| from.clone());
        let message = self.log_message(&from, &to);
        let signature = Signature {
            time: self.now,
            message: &message,
            id_length: self.repository.id_length,
        };
        let branches = moved.iter().filter(|item| item.part == GitPart::Branch);
        let line = |item: &GitItem| ReflogEntry {
            name: item.name.clone(),
            old: item.expected.clone(),
            new: item.target.clone(),
        };
        let mut lines: Vec<_> = branches
            .map(|item| (&location.common, line(item)))
            .collect();
        let old = self.repository.stands_for(&from, &[]);
        let new = self.repository.stands_for(&to, &moved);
        // HEAD's log also tells of a move of the branch that HEAD is on, as it does after a commit. `HEAD@{1}`
        // would be wrong otherwise.
        if from != to || old != new {
            lines.push((
                &location.directory,
                ReflogEntry {
                    name: "HEAD".to_owned(),
                    old,
                    new,
                },
            ));
        }
        lines.iter().try_for_each(|(folder, line)| {
            log::add(folder, line, signature).map_err(|error| {
                GitFailure::failed(
                    &format!("the reflog of `{}` cannot be written", line.name),
                    error,
                )
            })
        })
    }

    /// Returns the reflog's message: the operation, and where HEAD went.
    fn log_message(&self, from: &str, to: &str) -> String {
        let way = if from == to {
            String::new()
        } else {
            format!(": {}", plan::way(from, to))
        };
        let id = crate::model::id::short(self.operation);
        format!("ckpt-hook {} {id}{way}", self.kind)
    }
}

fn move_all(items: &mut [GitItem], moves: &[FileMove]) {
    for (at, FileMove { index, place, way }) in moves.iter().enumerate() {
        let moved = match way {
            MoveKind::PutIn | MoveKind::Repack(_) => place.put_in(),
            MoveKind::TakeOut => place.take_out(),
        };
        match (moved, way) {
            // The branch is still there as a file; the next move takes that.
            (Ok(()), MoveKind::Repack(_)) => {}
            (Ok(()), MoveKind::PutIn | MoveKind::TakeOut) => {
                items[*index].result = FileResult::Done
            }
            // What follows depends on it: HEAD on a branch that did not move would be at the wrong commit.
            (Err(failure), _) => {
                moves[at..]
                    .iter()
                    .for_each(|FileMove { place, .. }| place.give_up());
                return leave(items, failure.result, &failure.reason);
            }
        }
    }
}
