//! Forks that a user made in the agent itself: another session of ours, which goes on with the messages before the fork.
//! The agent's own record names where it came from. It is read where a person asks, and never while an agent waits.

use std::path::Path;

use super::conversation::sought;
use super::request::chain::make_permanent;
use crate::error::Result;
use crate::model::conversation::SoughtMessage;
use crate::sessions::{self, SessionRow};
use crate::store::Store;
use crate::timeline::Place;

/// How many messages of a parent are looked for in a fork, the newest.
const MOST_INHERITED: i64 = 200;

/// Returns the session from whose conversation the one of another session was forked. `None` if it was not, or if nothing
/// was recorded of that conversation.
pub(crate) fn forked_from(store: &Store, session: &str) -> Result<Option<SessionRow>> {
    let connection = store.database.connection();
    let Some(session) = sessions::session(connection, session)? else {
        return Ok(None);
    };
    let present = sessions::conversations(connection, &session.id)?.present;
    let agents = store.surroundings.conversations;
    let Some(origin) = agents.origin(&session.agent, &present) else {
        return Ok(None);
    };
    let parent = sessions::find_session(connection, &session.agent, &origin, session.workspace_id)?;
    Ok(parent.filter(|parent| parent.id != session.id))
}

/// Returns the messages of the parent that a forked conversation begins with, oldest first.
pub(crate) fn inherited(store: &Store, session: &str) -> Result<Vec<String>> {
    let connection = store.database.connection();
    let Some(parent) = forked_from(store, session)? else {
        return Ok(Vec::new());
    };
    let present = sessions::conversations(connection, session)?.present;
    let ids = sessions::messages_before(connection, &parent.id, session, MOST_INHERITED)?;
    let mut all = Vec::new();
    for id in &ids {
        if let Some(message) = sessions::message(connection, id)? {
            all.push(SoughtMessage {
                conversation: present.clone(),
                ..sought(store, &parent, &message)?
            });
        }
    }
    let places = store.surroundings.conversations.places(&all);
    let messages = ids.into_iter().zip(places);
    Ok(messages
        .filter_map(|(id, left)| (left == Some(false)).then_some(id))
        .collect())
}

/// Resolves the forks of the workspace that holds `cwd`, if there is one.
pub(crate) fn resolve_forks_at(store: &mut Store, cwd: &Path) -> Result<()> {
    match Place::find(store, cwd)? {
        Some(place) => resolve_forks(store, &place),
        None => Ok(()),
    }
}

/// Makes the reverts permanent after which a fork of their session went on, as a message of the session itself would.
pub(super) fn resolve_forks(store: &mut Store, place: &Place) -> Result<()> {
    let connection = store.database.connection();
    let after = sessions::sessions_after_reverts(connection, place.row.id)?;
    for (reverted, other) in after {
        let parent = forked_from(store, &other)?;
        if let Some(parent) = parent.filter(|parent| parent.id == reverted) {
            store
                .database
                .write(|connection| make_permanent(connection, &parent))?;
        }
    }
    Ok(())
}
