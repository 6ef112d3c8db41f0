//! What the steps of messages did: what is kept, and the rest from rows and contents.

use std::collections::HashMap;
use std::path::PathBuf;

use rusqlite::Connection;

use super::files;
use super::history::ReadMessage;
use crate::error::Result;
use crate::fs::names;
use crate::sessions::{self, Contents, KeptTotals, Totals, Unsummed};
use crate::snapshot::Snapshots;
use crate::store::Store;

/// Returns the totals of messages that were read, in their order.
pub(super) fn complete(
    store: &Store,
    connection: &Connection,
    rows: &mut [ReadMessage],
) -> Result<Vec<Totals>> {
    let without = rows.iter().filter(|row| row.totals.is_none());
    let ids: Vec<&str> = without.map(|row| row.report.id.as_str()).collect();
    let mut summed = sessions::totals(connection, &ids)?.into_iter();
    let kept = rows.iter_mut().map(|row| row.totals.take());
    let mut all: Vec<Totals> = kept
        .map(|kept| kept.or_else(|| summed.next()).unwrap_or_default())
        .collect();
    let mut contents = ContentsOfWorkspaces::of(store);
    for (row, totals) in rows.iter().zip(&mut all) {
        contents.count(connection, &row.workspace_key, &row.report.id, totals)?;
    }
    Ok(all)
}

/// Returns the totals, as they are to be kept, of messages that have none. Contents that are about to go, or
/// that cannot be read now, are left to the reader.
pub(crate) fn of_unsummed(store: &Store, messages: &[Unsummed]) -> Result<Vec<KeptTotals>> {
    store.database.read(|connection| {
        let ids: Vec<&str> = messages.iter().map(|message| message.id.as_str()).collect();
        let sums = sessions::totals(connection, &ids)?;
        let mut contents = ContentsOfWorkspaces::of(store);
        let mut all = Vec::new();
        for (message, mut totals) in messages.iter().zip(sums) {
            let (id, key) = (&message.id, &message.workspace_key);
            if !message.is_pruned {
                contents.count(connection, key, id, &mut totals)?;
            }
            let steps = match totals.contents {
                Contents::Counted => contents.of_steps(connection, key, id)?,
                Contents::Irrelevant | Contents::Needed => Vec::new(),
            };
            all.push(KeptTotals {
                message: id.clone(),
                totals: Some(totals),
                steps,
            });
        }
        Ok(all)
    })
}

/// Returns the messages whose kept sums are not what rows and contents give, of those that are read as long as
/// `goes_on` returns true. There are none unless another program wrote to the tables, or contents were damaged or
/// healed.
pub(crate) fn wrong(store: &Store, goes_on: &dyn Fn() -> bool) -> Result<Vec<String>> {
    let connection = store.database.connection();
    let kept = sessions::kept_totals(connection)?;
    let mut wrong = Vec::new();
    // The newest first, as they are read first elsewhere.
    for some in kept.rchunks(AT_A_TIME) {
        if !goes_on() {
            break;
        }
        let (messages, kept): (Vec<Unsummed>, Vec<Option<Totals>>) = some.iter().cloned().unzip();
        let summed = of_unsummed(store, &messages)?;
        for (totals, summed) in kept.into_iter().zip(summed) {
            let steps = match summed.steps.is_empty() {
                true => Vec::new(),
                false => sessions::files_of_steps(connection, &summed.message)?,
            };
            if (&totals, &steps) != (&summed.totals, &summed.steps) {
                wrong.push(summed.message);
            }
        }
    }
    Ok(wrong)
}

/// How many messages are added up before the clock is checked again.
const AT_A_TIME: usize = 100;

/// The contents of workspaces, which are opened when they are needed.
struct ContentsOfWorkspaces {
    folder: PathBuf,
    opened: HashMap<String, Option<Snapshots>>,
}

impl ContentsOfWorkspaces {
    fn of(store: &Store) -> Self {
        Self {
            folder: names::snapshots(&store.surroundings.directory),
            opened: HashMap::new(),
        }
    }

    /// Counts the files of a message again if rows alone do not tell how many there are.
    fn count(
        &mut self,
        connection: &Connection,
        key: &str,
        message: &str,
        totals: &mut Totals,
    ) -> Result<()> {
        if totals.contents != Contents::Needed {
            return Ok(());
        }
        if !self.opened.contains_key(key) {
            let snapshots = files::snapshots(&self.folder.join(key));
            self.opened.insert(key.to_owned(), snapshots);
        }
        if let Some(Some(snapshots)) = self.opened.get(key) {
            files::count(connection, snapshots, message, totals.steps)?.correct(totals);
        }
        Ok(())
    }

    /// Counts the files of each step of a message whose contents could be read.
    fn of_steps(
        &mut self,
        connection: &Connection,
        key: &str,
        message: &str,
    ) -> Result<Vec<(String, Option<u64>)>> {
        let Some(Some(snapshots)) = self.opened.get(key) else {
            return Ok(Vec::new());
        };
        let mut steps = sessions::files_of_steps(connection, message)?;
        for (step, files) in &mut steps {
            *files = Some(files::of_step(connection, snapshots, step)?.files);
        }
        Ok(steps)
    }
}
