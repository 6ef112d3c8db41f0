//! The material of a search for changes that no row holds.

use rusqlite::Connection;

use crate::model::Milliseconds;
use crate::revert::request::scope::RevertScope;
use crate::sessions::{ChainOperation, LiveChange};
use crate::snapshot::Snapshots;
use crate::timeline::{Look, Place};

/// What a search for changes that no row holds needs.
pub(crate) struct UnseenSearch<'a> {
    pub connection: &'a Connection,
    pub place: &'a Place,
    pub snapshots: &'a Snapshots,
    pub seen: &'a Look,
    /// The session and its agent.
    pub session: (&'a str, &'a str),
    pub scopes: &'a [RevertScope],
    /// The snapshot before the first revert of the chain, if there is one.
    pub base: Option<i64>,
    pub chain: &'a [ChainOperation],
    /// The changes that rows hold, newest first.
    pub live: &'a [LiveChange],
    /// The time of the look at the workspace.
    pub now: Milliseconds,
    /// Returns the time of a day for the time of a file.
    pub file_times: fn(Milliseconds) -> Milliseconds,
}
