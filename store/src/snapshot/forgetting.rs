//! What is being forgotten, noted beside the repository until its objects are gone. This module does IO.
//!
//! ```text
//! gap LIST file PATH     a list of what trees will lack; `directory` for one that goes whole
//! tree OLD NEW LIST      a tree, what takes its place, and what that lacks; a list is named like the first tree with
//!                        it
//! record OLD NEW         rules or seen entries, and what takes their place
//! blob ID PATH           rows do not name these bytes any more
//! path PATH              command lines and diagnostics that quote it go
//! message ID             its prompt goes, and its command lines
//! session AGENT-ID       its diagnostics go
//! ```
//!
//! Rows name the trees without it at once; packs and what they note of snapshots have the former ones until they are
//! written anew. If `forget` is killed in between and the session store is lost or damaged then, this note
//! keeps what goes from being known again: neither what the repository notes nor a former session store brings it
//! back.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::rc::Rc;

use super::{ForgottenPath, Snapshots};
use crate::error::{Context, Result};
use crate::fs::layout::{open_private, sync};
use crate::fs::names::FORGETTING;
use crate::fs::presence;
use crate::model::entry::ObjectId;
use crate::model::gap::{Gap, GapReason};
use crate::model::noted::{NotedSnapshot, escaped, plain};
use crate::snapshot::Rewritten;

/// What is being forgotten in a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Forgetting {
    /// The trees that hold some of it, in the order in which they were replaced.
    pub trees: Vec<Rewritten>,
    /// Rules and seen entries, and what takes their place.
    pub records: Vec<(ObjectId, ObjectId)>,
    /// The bytes that rows name no more, by their paths.
    pub blobs: HashMap<Vec<u8>, HashSet<ObjectId>>,
    /// All paths that are concerned.
    pub paths: BTreeSet<Vec<u8>>,
    /// The messages of which the prompts go.
    pub messages: Vec<String>,
    /// The agents' ids of the sessions that go as a whole.
    pub agent_ids: Vec<String>,
}

impl Forgetting {
    /// Reads the note of a workspace's folder; without one nothing is being forgotten. A line that was not written to
    /// its end says nothing.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(FORGETTING);
        if presence::metadata(&path)?.is_none() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(&path)
            .context(|| format!("cannot read `{}`", path.display()))?;
        Ok(Self::decode(&text[..whole_lines(&text)]))
    }

    /// Notes, synced, what is about to be forgotten, after what was noted before. The caller holds the workspace's
    /// lock.
    pub(crate) fn note(&self, folder: &Path) -> Result<()> {
        let path = folder.join(FORGETTING);
        let what = || format!("cannot write `{}`", path.display());
        let mut file = open_private(&path)?;
        let mut before = String::new();
        file.read_to_string(&mut before).context(what)?;
        // A killed process may have begun a line.
        let end = whole_lines(&before) as u64;
        file.set_len(end).context(what)?;
        file.seek(SeekFrom::Start(end)).context(what)?;
        file.write_all(self.encode().as_bytes()).context(what)?;
        file.sync_all().context(what)?;
        sync(folder)
    }

    fn encode(&self) -> String {
        let mut text = String::new();
        let mut lists: HashMap<&[ForgottenPath], ObjectId> = HashMap::new();
        for Rewritten { old, new, gone } in &self.trees {
            let list = *lists.entry(gone).or_insert(*old);
            if list == *old {
                for gone in gone.iter() {
                    let kind = if gone.is_directory { DIRECTORY } else { FILE };
                    put(
                        &mut text,
                        &["gap", &list.to_string(), kind, &escaped(&gone.path)],
                    );
                }
            }
            let [old, new, list] = [old, new, &list].map(ToString::to_string);
            put(&mut text, &["tree", &old, &new, &list]);
        }
        for (old, new) in &self.records {
            put(&mut text, &["record", &old.to_string(), &new.to_string()]);
        }
        for (path, ids) in &self.blobs {
            let path = escaped(path);
            ids.iter()
                .for_each(|id| put(&mut text, &["blob", &id.to_string(), &path]));
        }
        let paths = self.paths.iter().map(|path| ("path", path.as_slice()));
        let messages = self.messages.iter().map(|id| ("message", id.as_bytes()));
        let sessions = self.agent_ids.iter().map(|id| ("session", id.as_bytes()));
        for (word, bytes) in paths.chain(messages).chain(sessions) {
            put(&mut text, &[word, &escaped(bytes)]);
        }
        text
    }

    fn decode(text: &str) -> Self {
        let mut noted = Self::default();
        let mut lists = HashMap::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            // What is not understood says nothing.
            let _ = noted.take_line(&words, &mut lists);
        }
        noted
    }

    fn take_line(
        &mut self,
        words: &[&str],
        lists: &mut HashMap<ObjectId, Rc<Vec<ForgottenPath>>>,
    ) -> Option<()> {
        let text = |word: &str| String::from_utf8(plain(word)?).ok();
        let id = ObjectId::from_hex;
        match *words {
            ["gap", list, kind, path] => {
                let list = lists.entry(id(list)?).or_default();
                Rc::make_mut(list).push(ForgottenPath {
                    path: plain(path)?,
                    is_directory: kind == DIRECTORY,
                });
            }
            ["tree", old, new, list] => self.trees.push(Rewritten {
                old: id(old)?,
                new: id(new)?,
                gone: lists.entry(id(list)?).or_default().clone(),
            }),
            ["record", old, new] => self.records.push((id(old)?, id(new)?)),
            ["blob", blob, path] => {
                let blob = id(blob)?;
                self.blobs.entry(plain(path)?).or_default().insert(blob);
            }
            ["path", path] => drop(self.paths.insert(plain(path)?)),
            ["message", message] => self.messages.push(text(message)?),
            ["session", session] => self.agent_ids.push(text(session)?),
            _ => return None,
        }
        Some(())
    }

    /// Puts what is forgotten out of a snapshot that was noted before. More may have been forgotten of what took its
    /// place.
    pub(super) fn apply(&self, snapshot: &mut NotedSnapshot) {
        for one in &self.trees {
            if snapshot.tree == one.old {
                snapshot.tree = one.new;
                snapshot.gaps.extend(one.gaps());
            }
        }
        for (old, new) in &self.records {
            for record in [&mut snapshot.rules, &mut snapshot.seen] {
                if *record == Some(*old) {
                    *record = Some(*new);
                }
            }
        }
    }
}

const FILE: &str = "file";
const DIRECTORY: &str = "directory";

fn put(text: &mut String, words: &[&str]) {
    text.push_str(&words.join(" "));
    text.push('\n');
}

/// Returns the length of the lines that were written to their ends.
fn whole_lines(text: &str) -> usize {
    text.rfind('\n').map_or(0, |end| end + 1)
}

impl Rewritten {
    /// Returns the paths that snapshots with the new tree lack.
    pub(crate) fn gaps(&self) -> impl Iterator<Item = Gap> {
        self.gone.iter().map(|gone| Gap {
            path: gone.path.clone(),
            reason: match gone.is_directory {
                true => GapReason::ForgottenDirectory,
                false => GapReason::Forgotten,
            },
            size: None,
            is_directory: gone.is_directory,
        })
    }
}

impl Snapshots {
    /// Returns whether something is being forgotten, as far as is noted.
    pub(crate) fn is_forgetting(&self) -> Result<bool> {
        Ok(presence::metadata(&self.directory.join(FORGETTING))?.is_some())
    }
}

/// Removes the note of a workspace's folder: nothing of what it names is stored any more. The caller holds the
/// workspace's lock.
pub(crate) fn end_forgetting(folder: &Path) -> Result<()> {
    presence::remove_file(&folder.join(FORGETTING))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forgetting() -> Forgetting {
        let id = |number: u8| ObjectId::new([number; 20]);
        let gone = |path: &[u8], is_directory| ForgottenPath {
            path: path.to_vec(),
            is_directory,
        };
        let gone = vec![gone(b"a b\n\xff%", false), gone(b"keys", true)];
        let tree = |old, new| Rewritten {
            old: id(old),
            new: id(new),
            gone: Rc::new(gone.clone()),
        };
        Forgetting {
            trees: vec![tree(1, 2), tree(3, 4)],
            records: vec![(id(5), id(6))],
            blobs: HashMap::from([(b"a b\n\xff%".to_vec(), HashSet::from([id(7), id(8)]))]),
            paths: BTreeSet::from([b"a b\n\xff%".to_vec(), b"keys".to_vec()]),
            messages: vec!["m 1".to_owned()],
            agent_ids: vec!["s".to_owned()],
        }
    }

    /// What is being forgotten is read again whatever the names are.
    #[test]
    fn names_being_forgotten_are_read_again() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let noted = forgetting();
        noted.note(directory.path()).expect("writable");
        assert_eq!(Forgetting::read(directory.path()).expect("ours"), noted);
        let text = std::fs::read_to_string(directory.path().join(FORGETTING)).expect("ours");
        assert_eq!(text.matches("gap ").count(), 2, "a list is there once");
    }

    /// A line that a killed process began says nothing and the next note takes its place.
    #[test]
    fn half_written_line_says_nothing() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let path = directory.path().join(FORGETTING);
        std::fs::write(&path, "message m1\npath /ho").expect("writable");
        let noted = Forgetting::read(directory.path()).expect("ours");
        assert_eq!(
            (noted.messages, noted.paths.len()),
            (vec!["m1".to_owned()], 0)
        );
        forgetting().note(directory.path()).expect("writable");
        let noted = Forgetting::read(directory.path()).expect("ours");
        assert_eq!(noted.messages, ["m1", "m 1"]);
        assert_eq!(noted.paths, forgetting().paths);
    }
}
