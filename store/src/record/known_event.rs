//! An event with what is known about it and decided, as of a commit. Whether another process has committed something
//! since is asked in the transaction that writes.

use ckpt_schema::EventKind;
use ckpt_schema::event::Event;
use rusqlite::Connection;

use super::decide::{self, Decision};
use super::look::LookScope;
use super::view::{EventContext, dead_at};
use crate::error::{Error, Result};
use crate::model::Milliseconds;
use crate::sessions::{self, Whole};
use crate::store::Store;
use crate::timeline::{LookOptions, Place};

/// An event, its place, and what follows from what is known.
pub(super) struct KnownEvent<'a> {
    pub event: &'a Event,
    pub place: Place,
    pub view: EventContext,
    pub decision: Decision,
    /// What its rows are parts of, in a further root of its session.
    pub whole: Option<&'a Whole>,
    /// The session of its parent, if that works in another root.
    pub parent_elsewhere: Option<String>,
    /// Whether a killed operation is to be finished.
    has_open_operation: bool,
    /// The version of the database that this is read from; `None` once it is outdated.
    version: Option<i64>,
    /// Whether the decision takes into account which agents are gone.
    has_asked_for_dead: bool,
}

impl<'a> KnownEvent<'a> {
    /// Reads it, in one transaction if the session is known: otherwise each statement would take SQLite's locks anew.
    pub fn of_event(store: &mut Store, event: &'a Event) -> Result<Self> {
        let now = store.now();
        let known = store.database.read(|connection| {
            let place = Place::of_session(store, event)?;
            place
                .map(|place| Self::read(connection, place, event, now))
                .transpose()
        })?;
        match known {
            Some(known) => {
                known.place.note_birth(store)?;
                Ok(known)
            }
            None => {
                let place = Place::of_new_session(store, event)?;
                store.database.read(|connection| {
                    check_remembered(connection, &place)?;
                    Self::read(connection, place, event, now)
                })
            }
        }
    }

    /// Reads what is known of an event in a further root of its session.
    pub fn in_root(
        store: &Store,
        event: &'a Event,
        place: Place,
        whole: &'a Whole,
    ) -> Result<Self> {
        let now = store.now();
        store.database.read(|connection| {
            check_remembered(connection, &place)?;
            let known = Self::read(connection, place, event, now)?;
            Ok(Self {
                whole: Some(whole),
                ..known
            })
        })
    }

    fn read(
        connection: &Connection,
        place: Place,
        event: &'a Event,
        now: Milliseconds,
    ) -> Result<Self> {
        let mut known = Self {
            event,
            place,
            view: EventContext::default(),
            decision: Decision::default(),
            whole: None,
            parent_elsewhere: None,
            has_open_operation: false,
            version: None,
            has_asked_for_dead: false,
        };
        known.refresh(connection, now)?;
        Ok(known)
    }

    /// Reads and decides again, unless no other process has committed anything since. Call this in the transaction that
    /// writes: SQLite's write lock keeps it true until the commit. Returns the decision that no longer holds, if so.
    pub fn refresh(
        &mut self,
        connection: &Connection,
        now: Milliseconds,
    ) -> Result<Option<Decision>> {
        let version = Some(sessions::data_version(connection)?);
        if version == self.version {
            return Ok(None);
        }
        if self.version.is_some() {
            check_remembered(connection, &self.place)?;
        }
        self.view = EventContext::read(connection, &self.place, self.event, now)?;
        self.has_open_operation = sessions::has_open_operation(connection, self.place.row.id)?;
        let decision = self.decided();
        let before = std::mem::replace(&mut self.decision, decision);
        self.version = version;
        self.has_asked_for_dead = false;
        Ok(Some(before))
    }

    /// Goes on with the event as it is seen from its place, and decides anew.
    pub fn see(&mut self, store: &Store, event: &'a Event) -> Result<()> {
        self.event = event;
        self.outdate();
        let now = store.now();
        let read = |connection: &Connection| self.refresh(connection, now).map(drop);
        store.database.read(read)
    }

    /// Has it read again: this process has committed itself.
    pub fn outdate(&mut self) {
        self.version = None;
    }

    /// Decides what to do. While a command runs in the background, every boundary looks everywhere, because the command
    /// may change any file. So does the event that says the command ended: later, nothing would show that a change
    /// was made before that.
    fn decided(&self) -> Decision {
        let mut decision = decide::decide(self.event, &self.view);
        if self.view.is_in_background && (decision.is_boundary() || ends_background(self.event)) {
            decision.look = LookScope::Everywhere;
        }
        decision
    }

    /// Returns whether the workspace has to be locked. An event without a look still reads what a tool is about to
    /// change, so a killed operation has to be finished first.
    pub fn needs_lock(&self) -> bool {
        self.has_open_operation || self.decision.takes_snapshot()
    }

    /// Ends the steps of other conversations whose agent is gone. Here, not in `decide`: whether a process lives is read
    /// from the system, and only an event that looks anyway pays for it.
    pub fn close_dead(&mut self, now: Milliseconds) {
        if !std::mem::replace(&mut self.has_asked_for_dead, true) {
            self.decision.close_dead(&self.view, dead_at(now));
        }
    }

    /// Does something with what a look has to know about the steps.
    pub fn looking<T>(&self, work: impl FnOnce(LookOptions<'_>) -> T) -> T {
        let open = self.view.open_with(&self.decision, &self.place);
        let closing = self.decision.closing.iter().filter_map(|closing| {
            let step = open.iter().find(|step| step.row.id == closing.step)?;
            Some((step, closing.standing))
        });
        let closing: Vec<_> = closing.collect();
        let session = self.view.session.as_ref();
        work(LookOptions {
            session: session.map(|session| session.id.as_str()),
            open: &open,
            overtaken: self.view.overtaken.as_slice(),
            closing: &closing,
            ..LookOptions::default()
        })
    }
}

/// Fails if a `forget` of everything has taken the row of a workspace as well since it was read.
fn check_remembered(connection: &Connection, place: &Place) -> Result<()> {
    match sessions::has_workspace(connection, place.row.id)? {
        true => Ok(()),
        false => Err(Error::stale("the workspace was forgotten meanwhile")),
    }
}

/// Returns whether the event says that no command of its session runs in the background any more.
pub(super) fn ends_background(event: &Event) -> bool {
    match event.event {
        EventKind::TurnEnd => event.background == Some(false),
        kind => kind == EventKind::SessionEnd,
    }
}
