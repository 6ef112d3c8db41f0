//! What is being forgotten, noted beside the repository until its objects are gone. This module does IO.
//!
//! ```text
//! state TREE SEEN TREE SEEN GAPS     a tree and its seen entries, those in their place, and how many of the latter
//!                                    reports list
//! rules OLD NEW                      rules, and those in their place
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

use super::Snapshots;
use crate::error::{Context, Result};
use crate::fs::layout::{open_private, sync};
use crate::fs::names::FORGETTING;
use crate::fs::presence;
use crate::model::entry::ObjectId;
use crate::model::gap::RewrittenState;
use crate::model::repository_note::{NotedSnapshot, escaped, optional, plain, value};

/// What is being forgotten in a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Forgetting {
    /// The trees and seen entries that hold some of it, in the order in which they were replaced.
    pub states: Vec<RewrittenState>,
    /// Rules, and those in their place.
    pub rules: Vec<(ObjectId, ObjectId)>,
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

    /// Returns the states of which the tree holds some of it.
    pub(crate) fn in_trees(&self) -> impl Iterator<Item = &RewrittenState> {
        let states = self.states.iter();
        states.filter(|state| state.old.0 != state.new.0)
    }

    /// Returns the objects that hold some of it.
    pub(crate) fn objects(&self) -> impl Iterator<Item = ObjectId> {
        let trees = self.in_trees().map(|state| state.old.0);
        let seen = self.states.iter().filter_map(|state| state.old.1);
        trees
            .chain(seen)
            .chain(self.rules.iter().map(|(old, _)| *old))
    }

    fn encode(&self) -> String {
        let mut text = String::new();
        for RewrittenState { old, new, gaps } in &self.states {
            let [old_tree, new_tree] = [old.0, new.0].map(|id| id.to_string());
            let [old_seen, new_seen] = [old.1, new.1].map(optional);
            let words = [
                "state",
                &old_tree,
                &old_seen,
                &new_tree,
                &new_seen,
                &gaps.to_string(),
            ];
            put(&mut text, &words);
        }
        for (old, new) in &self.rules {
            put(&mut text, &["rules", &old.to_string(), &new.to_string()]);
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
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            // What is not understood says nothing.
            let _ = noted.take_line(&words);
        }
        noted
    }

    fn take_line(&mut self, words: &[&str]) -> Option<()> {
        let text = |word: &str| String::from_utf8(plain(word)?).ok();
        let id = ObjectId::from_hex;
        match *words {
            ["state", old_tree, old_seen, new_tree, new_seen, gaps] => {
                self.states.push(RewrittenState {
                    old: (id(old_tree)?, value(old_seen, id)?),
                    new: (id(new_tree)?, value(new_seen, id)?),
                    gaps: gaps.parse().ok()?,
                });
            }
            ["rules", old, new] => self.rules.push((id(old)?, id(new)?)),
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
    pub(super) fn apply(&self, note: &mut NotedSnapshot) {
        let snapshot = &mut note.snapshot;
        for one in &self.states {
            if (snapshot.tree, snapshot.seen) == one.old {
                (snapshot.tree, snapshot.seen) = one.new;
                note.gaps = one.gaps;
                note.has_forgotten = true;
            }
        }
        for (old, new) in &self.rules {
            if snapshot.rules == Some(*old) {
                snapshot.rules = Some(*new);
            }
        }
    }
}

fn put(text: &mut String, words: &[&str]) {
    text.push_str(&words.join(" "));
    text.push('\n');
}

/// Returns the length of the lines that were written to their ends.
fn whole_lines(text: &str) -> usize {
    text.rfind('\n').map_or(0, |end| end + 1)
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
        let state = |old, new| RewrittenState {
            old: (id(old), None),
            new: (id(new), Some(id(9))),
            gaps: 2,
        };
        Forgetting {
            states: vec![state(1, 2), state(3, 4)],
            rules: vec![(id(5), id(6))],
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
