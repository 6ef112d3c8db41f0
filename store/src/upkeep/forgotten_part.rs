//! The part of a workspace that `forget` takes out, and its states and rules without it. This module does IO.

use std::collections::{BTreeSet, HashSet};

use super::check;
use crate::error::{Error, Result};
use crate::model::entry::ObjectId;
use crate::model::gap::{RewrittenState, StateIds};
use crate::model::path::PathKind;
use crate::objects::repack::OnDamage;
use crate::sessions::forget::{self, Belongings};
use crate::snapshot::{PathPattern, Replacements};
use crate::store::Store;
use crate::timeline::Place;

/// A part of a workspace that is forgotten while the workspace stays.
pub(super) enum ForgetPart {
    Paths(PathPattern),
    Of(Belongings),
}

impl ForgetPart {
    pub(super) fn has_file(&self, path: &[u8], id: ObjectId) -> bool {
        match self {
            Self::Paths(pattern) => pattern.is_at_or_above(path),
            Self::Of(of) => of.written.contains(&(path.to_vec(), id)),
        }
    }

    /// Returns whether everything that was ever at a path goes, and, of a directory, all that is in it.
    pub(super) fn has_path(&self, path: &[u8], kind: PathKind) -> bool {
        match (self, kind) {
            (Self::Paths(pattern), PathKind::File) => pattern.is_at_or_above(path),
            (Self::Paths(pattern), PathKind::Directory) => pattern.is_at(path, kind),
            (Self::Of(of), PathKind::File) => of.written.iter().any(|(written, _)| written == path),
            (Self::Of(_), PathKind::Directory) => false,
        }
    }

    pub(super) fn has_entry(&self, path: &[u8], id: ObjectId, kind: PathKind) -> bool {
        match self {
            Self::Paths(pattern) => pattern.is_at(path, kind),
            Self::Of(of) => kind == PathKind::File && of.written.contains(&(path.to_vec(), id)),
        }
    }

    /// Refuses a pattern that was too complicated to decide. Only matching it shows that, so this is called afterwards.
    pub(super) fn refuse_undecided(&self) -> Result<()> {
        match self {
            Self::Paths(pattern) if pattern.is_undecided() => Err(Error::failed(
                "the pattern is too complicated to say which paths it matches",
            )),
            Self::Paths(_) | Self::Of(_) => Ok(()),
        }
    }

    /// Returns the rows that go with it.
    pub(super) fn belongings(&self) -> Belongings {
        match self {
            Self::Paths(_) => Belongings::default(),
            Self::Of(belongings) => belongings.clone(),
        }
    }
}

/// The states and rules of a workspace that hold what is to be forgotten, with their replacements.
#[derive(Default)]
pub(super) struct Without {
    pub states: Vec<RewrittenState>,
    pub rules: Vec<(ObjectId, ObjectId)>,
    /// What the replacements lack.
    pub paths: BTreeSet<Vec<u8>>,
    /// The states and rules that were looked at.
    known: (HashSet<StateIds>, HashSet<ObjectId>),
}

impl Without {
    /// Looks at the states and rules that rows have come to name since the last call. The replacements are stored, or
    /// only hashed.
    pub(super) fn add(
        &mut self,
        store: &Store,
        place: &Place,
        part: &ForgetPart,
        replacements: Replacements,
        on_damage: OnDamage,
    ) -> Result<()> {
        let (connection, workspace) = (store.database.connection(), place.row.id);
        let mut states = forget::states(connection, workspace)?;
        states.retain(|state| !self.known.0.contains(state));
        // An ignore file that ignores itself is in no tree, but in the rules beside it.
        let mut rules = forget::rules(connection, workspace)?;
        rules.retain(|id| !self.known.1.contains(id));
        if states.is_empty() && rules.is_empty() {
            return Ok(());
        }
        let snapshots = place.snapshots()?;
        let is_entry = |path: &[u8], id, kind| part.has_entry(path, id, kind);
        let is_path = |path: &[u8], kind| part.has_path(path, kind);
        let (rewritten, paths) =
            snapshots.states_without(&states, &is_entry, &is_path, replacements, on_damage)?;
        self.states.extend(rewritten);
        self.paths.extend(paths);
        let (rewritten, paths) =
            snapshots.rules_without(&rules, &is_path, replacements, on_damage)?;
        self.rules.extend(rewritten);
        self.paths.extend(paths);
        self.known.0.extend(states);
        self.known.1.extend(rules);
        Ok(())
    }
}

/// Adds what came since, for a caller that holds the lock. Heals what is damaged first. What is lost for good does not
/// keep anything from being forgotten: it cannot be read any more.
pub(super) fn add_damaged(
    store: &mut Store,
    place: &Place,
    part: &ForgetPart,
    replacements: Replacements,
    without: &mut Without,
) -> Result<()> {
    match without.add(store, place, part, replacements, OnDamage::Refuse) {
        Err(error) if error.is_damage() => {
            if replacements == Replacements::Stored {
                check::heal_under_lock(store, place)?;
            }
            *without = Without::default();
            without.add(store, place, part, replacements, OnDamage::GiveUp)
        }
        added => added,
    }
}
