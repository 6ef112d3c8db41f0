//! A world for plans: blobs in memory, states by short words, and a history of one path.

use std::cell::RefCell;
use std::collections::BTreeMap;

use ckpt_store::error::{Error, Result};
use ckpt_store::model::entry::{Change, Entry, Mode, ObjectId, State};
use ckpt_store::model::item::Item;
use ckpt_store::model::path::WorkspacePath;
use ckpt_store::model::request::OnConflict;
use ckpt_store::revert::goal::merge::{MergeBlobs, blob_id};
use ckpt_store::revert::goal::target::{Target, target};
use ckpt_store::revert::plan::{Plan, StateMove, plan};
use ckpt_store::revert::request::history::{
    Author, Claim, History, PastChange, SessionRelation, Source,
};

pub type States = BTreeMap<WorkspacePath, State>;

pub fn path(text: &str) -> WorkspacePath {
    WorkspacePath::new(text).expect("a legal path")
}

/// Bytes by their ids.
#[derive(Default)]
pub struct Blobs(RefCell<BTreeMap<ObjectId, Vec<u8>>>);

impl Blobs {
    pub fn put(&self, bytes: &[u8]) -> ObjectId {
        let id = blob_id(bytes);
        self.0.borrow_mut().insert(id, bytes.to_vec());
        id
    }

    pub fn get(&self, blob: ObjectId) -> Option<Vec<u8>> {
        self.0.borrow().get(&blob).cloned()
    }

    pub fn read(&self, blob: ObjectId, _limit: u64) -> Result<Option<Vec<u8>>> {
        self.get(blob)
            .map(Some)
            .ok_or_else(|| Error::failed(format!("no blob `{blob}`")))
    }

    /// Text as a file of mode 644.
    pub fn file(&self, text: &str) -> State {
        self.file_of_mode(text, 0o644)
    }

    pub fn file_of_mode(&self, text: &str, permissions: u32) -> State {
        Some(Entry::stored(
            Mode::file(permissions),
            self.put(text.as_bytes()),
        ))
    }

    pub fn link(&self, to: &str) -> State {
        Some(Entry::stored(Mode::SYMLINK, self.put(to.as_bytes())))
    }

    pub fn text(&self, state: State) -> Option<String> {
        let bytes = self.get(state?.blob?)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

pub fn directory() -> State {
    Some(Entry::directory(0o755))
}

/// A file that was there and whose bytes are not stored.
pub fn gap() -> State {
    Some(Entry {
        mode: Mode::file(0o644),
        blob: None,
    })
}

/// A step of another agent.
pub fn codex() -> Author {
    Author::Agent(Source {
        step: "t9".into(),
        session: "s2".into(),
        message: "m9".into(),
        agent: "codex".into(),
        relation: SessionRelation::Other,
    })
}

fn claude() -> Author {
    let ours = |text: &str| text.to_owned();
    Author::Agent(Source {
        step: ours("t1"),
        session: ours("s1"),
        message: ours("m1"),
        agent: ours("claude-code"),
        relation: SessionRelation::Other,
    })
}

/// What happened to paths before a revert, what is there, and what to do about conflicts.
#[derive(Default)]
pub struct Story {
    pub blobs: Blobs,
    /// Oldest first.
    pub changes: Vec<PastChange>,
    pub base: States,
    pub on_conflict: OnConflict,
}

impl Story {
    /// The agent changes a path; the change is to be undone.
    pub fn agent(&mut self, at: &str, old: State, new: State) {
        self.happens(at, old, new, claude(), Claim::Undo);
    }

    /// Somebody else changes it.
    pub fn other(&mut self, at: &str, old: State, new: State, author: Author) {
        self.happens(at, old, new, author, Claim::Keep);
    }

    pub fn happens(&mut self, at: &str, old: State, new: State, author: Author, claim: Claim) {
        let change = Change {
            path: path(at),
            old,
            new,
        };
        self.base.insert(path(at), new);
        self.changes.push(PastChange {
            change,
            author,
            claim,
        });
    }

    /// What is there when it comes to the revert, whoever put it there.
    pub fn now(&mut self, at: &str, state: State) {
        self.base.insert(path(at), state);
    }

    /// Plans the first revert: what is on disk is what was there before it.
    pub fn plan(&self) -> Plan {
        self.plan_from(&States::new(), &self.base)
    }

    /// Plans a move from goals that were reached before, over what is on disk now.
    pub fn plan_from(&self, goals: &States, current: &States) -> Plan {
        let newest_first: Vec<_> = self.changes.iter().rev().cloned().collect();
        let history = History::new(&newest_first);
        let read = |blob, limit| self.blobs.read(blob, limit);
        let mut contents = MergeBlobs::new(&read);
        let targets = target(&self.base, &history, &mut contents, self.on_conflict)
            .expect("every blob is there");
        let step = StateMove {
            goals,
            targets: &targets,
            current,
            history: &history,
        };
        let plan = plan(step, &mut contents, self.on_conflict).expect("every blob is there");
        for bytes in plan.blobs.values() {
            self.blobs.put(bytes);
        }
        plan
    }

    /// Plans a move to targets of any origin.
    pub fn plan_to(
        &self,
        targets: &BTreeMap<WorkspacePath, Target>,
        goals: &States,
        current: &States,
    ) -> Plan {
        let read = |blob, limit| self.blobs.read(blob, limit);
        let step = StateMove {
            goals,
            targets,
            current,
            history: &History::default(),
        };
        plan(step, &mut MergeBlobs::new(&read), self.on_conflict).expect("every blob is there")
    }

    /// The plan's item of a path.
    pub fn item(&self, at: &str) -> Option<Item> {
        self.plan()
            .items
            .into_iter()
            .find(|item| item.path == path(at))
    }
}
