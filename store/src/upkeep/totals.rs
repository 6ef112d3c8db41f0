//! Keeps what the steps of messages did with the messages, so that a list of a long history need not add it up.
//!
//! ```text
//! messages without sums ──► read rows and contents ──► write, if no process has written since
//!      some at a time          no lock: hooks go on      a short transaction
//! ```

use std::time::Duration;

use ckpt_schema::report::Finding;

use crate::error::Result;
use crate::fs::layout;
use crate::model::number::count;
use crate::sessions::{self, KeptTotals, Unsummed};
use crate::store::Store;

/// How many messages are written in one transaction.
const AT_A_TIME: u32 = 100;

/// How often the same messages are read before they are left to the next run: an agent is at work.
const TRIES: usize = 3;

/// Keeps the sums of all messages that have none. `sum` works them out. Does nothing while another process keeps the
/// store: contents that it removes must not be counted.
pub(crate) fn keep(
    store: &mut Store,
    sum: impl Fn(&Store, &[Unsummed]) -> Result<Vec<KeptTotals>>,
) -> Result<()> {
    if store.is_missing {
        return Ok(());
    }
    let Ok(_lock) = layout::lock_upkeep(&store.surroundings.directory, Duration::ZERO) else {
        return Ok(());
    };
    let (mut after, mut tries) = (0, 0);
    loop {
        // Before the rows are read, so that a write in between is noticed when the sums are kept.
        let seen = store.database.data_version()?;
        let messages = sessions::unsummed(store.database.connection(), after, AT_A_TIME)?;
        let Some(last) = messages.last() else {
            return Ok(());
        };
        let sums = sum(store, &messages)?;
        let is_kept = store
            .database
            .write(|connection| sessions::keep_totals(connection, &sums, seen))?;
        tries += 1;
        if is_kept || tries == TRIES {
            (after, tries) = (last.seq, 0);
        }
    }
}

/// Takes away sums that are not what rows and contents give, as `wrong` finds them. A list adds them up until they are
/// kept anew.
pub(crate) fn check(
    store: &mut Store,
    wrong: impl Fn(&Store) -> Result<Vec<String>>,
) -> Result<Option<Finding>> {
    let messages = wrong(store)?;
    if messages.is_empty() {
        return Ok(None);
    }
    let forget = |connection: &_| sessions::forget_totals(connection, &messages);
    store.database.write(forget)?;
    let text = format!(
        "the stored totals of {} did not match the changes, and will be added up again",
        count(messages.len() as u64, "message")
    );
    Ok(Some(Finding::repaired("database", text)))
}
