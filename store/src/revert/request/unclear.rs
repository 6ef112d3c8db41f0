//! Which unclear changes a movement undoes. `--unclear take` covers only the paths and messages of that command. This module
//! does IO; it reads.

use ckpt_schema::report::OperationKind;
use rusqlite::Connection;

use super::chain::reverts_that_hold;
use super::chain::scope_of_part;
use super::movement::Movement;
use super::scope::RevertScope;
use crate::error::Result;
use crate::model::request::{OnConflict, Unclear};
use crate::sessions::{self, ChainOperation};

/// Which of the unclear changes that a movement is about it undoes.
#[derive(Clone, Debug)]
pub(crate) struct UnclearPolicy {
    /// What the operation's row says.
    pub policy: Unclear,
    /// Where unclear changes are undone as well.
    pub scopes: Vec<RevertScope>,
}

impl UnclearPolicy {
    /// Returns the policy: the request's, else the chain's, else the setting's.
    pub fn of(
        connection: &Connection,
        movement: &Movement,
        chain: &[ChainOperation],
        scopes: &[RevertScope],
        setting: Unclear,
    ) -> Result<Self> {
        if let Some(asked) = movement.unclear {
            return Ok(Self::asked(asked, scopes));
        }
        let earlier = Earlier::of(connection, chain)?;
        let policy = earlier.policy(movement, setting);
        let mut taken = earlier.scopes();
        if policy == Unclear::Take && movement.kind == OperationKind::Revert {
            taken.extend(match &movement.part {
                Some(part) => vec![RevertScope::of_part(part)],
                None => movement.whole(),
            });
        }
        Ok(Self {
            policy,
            scopes: taken,
        })
    }

    /// Returns the policy of an operation that is finished later: its row has the request's or the setting's.
    pub fn of_row(
        connection: &Connection,
        movement: &Movement,
        chain: &[ChainOperation],
        scopes: &[RevertScope],
        policy: Unclear,
    ) -> Result<Self> {
        match policy {
            Unclear::Take => Ok(Self::asked(policy, scopes)),
            Unclear::Keep => Self::of(connection, movement, chain, scopes, policy),
        }
    }

    fn asked(policy: Unclear, scopes: &[RevertScope]) -> Self {
        let scopes = match policy {
            Unclear::Take => scopes.to_vec(),
            Unclear::Keep => Vec::new(),
        };
        Self { policy, scopes }
    }
}

/// What the reverts of a chain had done with what was unclear.
struct Earlier {
    /// The place in the order of the message that the last whole revert went to, and what was to become of unclear
    /// changes.
    newest: Option<(i64, Unclear)>,
    /// From which message on unclear changes are undone.
    taken_from: Option<i64>,
    parts: Vec<RevertScope>,
}

impl Earlier {
    fn of(connection: &Connection, chain: &[ChainOperation]) -> Result<Self> {
        let mut earlier = Self {
            newest: None,
            taken_from: None,
            parts: Vec::new(),
        };
        for operation in reverts_that_hold(chain) {
            let row = &operation.row;
            if row.part_message_id.is_some() || row.step_id.is_some() {
                let part = scope_of_part(connection, operation)?;
                earlier
                    .parts
                    .extend(part.filter(|_| row.unclear == Unclear::Take));
                continue;
            }
            let Some(to) = row.message_id.as_deref() else {
                continue;
            };
            let Some(to) = sessions::message(connection, to)?.map(|to| to.seq) else {
                continue;
            };
            earlier.newest = Some((to, row.unclear));
            earlier.taken_from = match (row.unclear, earlier.taken_from) {
                (Unclear::Take, from) => Some(from.map_or(to, |from| from.min(to))),
                // Where it was taken before, it was said to be kept. One that went further back said nothing of what
                // was taken.
                (Unclear::Keep, from) => from.filter(|from| to < *from),
            };
        }
        Ok(earlier)
    }

    fn policy(&self, movement: &Movement, setting: Unclear) -> Unclear {
        if let Some(part) = &movement.part {
            let names_paths = !RevertScope::of_part(part).only().is_empty();
            // What is named and is to be overwritten goes, whichever author changed it since.
            return match movement.on_conflict {
                Some(OnConflict::Overwrite) if names_paths => Unclear::Take,
                _ => setting,
            };
        }
        let is_revert = movement.kind == OperationKind::Revert;
        let to = movement.to.as_ref().map(|to| to.seq);
        match (self.newest, self.taken_from) {
            (_, Some(from)) if !is_revert || to.is_some_and(|to| to >= from) => Unclear::Take,
            (Some((_, Unclear::Keep)), _) => Unclear::Keep,
            (Some(_) | None, _) => setting,
        }
    }

    fn scopes(&self) -> Vec<RevertScope> {
        let whole = self.taken_from.map(RevertScope::from);
        whole.into_iter().chain(self.parts.clone()).collect()
    }
}
