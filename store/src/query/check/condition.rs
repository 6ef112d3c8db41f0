//! Checks the condition of a store: its tables, references, room, age and clock, and the unprotected steps. Reads only.

use bytesize::ByteSize;
use ckpt_schema::report::Finding;

use crate::error::{Context, Result};
use crate::fs::system;
use crate::model::Milliseconds;
use crate::sessions;
use crate::sessions::read::all;
use crate::store::Store;
use crate::upkeep::gc::sizes::of_store;

/// How far the clock may be behind the newest row, in milliseconds.
const CLOCK_TOLERANCE: Milliseconds = 5 * 60 * 1000;

/// How long unprotected steps are reported, in milliseconds.
const WEEK: Milliseconds = 7 * 24 * 3600 * 1000;

/// A disk with less free space than this counts as full, in bytes.
const MIN_FREE_SPACE: u64 = 256 << 20;

/// Finds something wrong.
type Check = fn(&Store) -> Result<Option<Finding>>;

/// Each of them finds something wrong; the first also says what is right.
pub(super) const ALL: [Check; 8] = [
    schema,
    references,
    values,
    clock,
    unprotected,
    unused,
    room,
    served,
];

/// What `doctor` and `status` say of a store that another machine or process serves.
const SERVED: &str = "the store is on a network file system: it is only as reliable as the server's locks and syncs, and \
                      without a write-ahead log, hooks and readers wait for each other";

/// Returns the finding on a store on a network file system.
pub(in crate::query) fn served_by_another(store: &Store) -> Option<&'static str> {
    let directory = &store.surroundings.directory;
    (!store.is_missing && system::is_on_server(directory)).then_some(SERVED)
}

fn served(store: &Store) -> Result<Option<Finding>> {
    Ok(served_by_another(store).map(|text| Finding::warning("store", text).hint("a directory on a disk of this machine is better: set $CKPT_HOOK_HOME, for the agents, too")))
}

/// Checks that the tables, views and indexes are those of this version.
fn schema(store: &Store) -> Result<Option<Finding>> {
    let names = sessions::wrong_objects(store.database.connection())?;
    if names.is_empty() {
        return Ok(None);
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    Ok(Some(
        Finding::error(
            "database",
            format!(
                "these tables, views or indexes are not as ckpt-hook makes them: {}",
                names.join(", ")
            ),
        )
        .hint("`ckpt-hook doctor --repair` rebuilds what is missing, and removes foreign triggers"),
    ))
}

/// Checks that every row that another row refers to exists.
fn references(store: &Store) -> Result<Option<Finding>> {
    let sql = "SELECT DISTINCT \"table\" FROM pragma_foreign_key_check";
    let tables: Vec<String> = all(store.database.connection(), sql, [], |row| row.get(0))?;
    Ok((!tables.is_empty()).then(|| {
        Finding::error(
            "database",
            format!(
                "rows of these tables refer to missing rows: {}",
                tables.join(", ")
            ),
        )
    }))
}

/// The columns that hold a mode, and those that hold the id of an object, by table.
const ENTRIES: [(&str, &[&str], &[&str]); 5] = [
    (
        "changes",
        &["old_mode", "new_mode"],
        &["old_blob", "new_blob"],
    ),
    ("git_states", &[], &["index_blob"]),
    (
        "operation_files",
        &["expected_mode", "target_mode", "goal_mode"],
        &["expected_blob", "target_blob", "goal_blob"],
    ),
    (
        "snapshots",
        &[],
        &["tree", "attributes_blob", "rules_blob", "seen_blob"],
    ),
    ("step_paths", &["mode"], &["blob"]),
];

/// Checks that rows hold only modes and ids of objects that are ever written. SQLite does not notice a flipped bit in a
/// row.
fn values(store: &Store) -> Result<Option<Finding>> {
    let wrong_mode = |column: &&str| {
        format!("({column} NOT GLOB '[01][024]0[0-7][0-7][0-7]' AND {column} IS NOT NULL)")
    };
    let wrong_id = |column: &&str| {
        format!(
            "({column} GLOB '*[^0-9a-f]*' OR (length({column}) <> 40 AND {column} IS NOT NULL))"
        )
    };
    let mut damaged = Vec::new();
    for (table, modes, ids) in ENTRIES {
        let wrong: Vec<String> = modes
            .iter()
            .map(wrong_mode)
            .chain(ids.iter().map(wrong_id))
            .collect();
        let sql = format!("SELECT count(*) FROM {table} WHERE {}", wrong.join(" OR "));
        let number: u32 = store
            .database
            .connection()
            .query_row(&sql, [], |row| row.get(0))
            .context(|| "cannot read the session store")?;
        if number > 0 {
            damaged.push(format!("{number} of `{table}`"));
        }
    }
    Ok((!damaged.is_empty()).then(|| {
        Finding::error(
            "database",
            format!(
                "rows hold modes or ids of objects that ckpt-hook never writes: {}",
                damaged.join(", ")
            ),
        )
        .hint("anything that needs them fails, and nothing is guessed")
    }))
}

/// Checks that no row is from the future. That would mean that the clock was set back, and attribution depends on
/// times.
fn clock(store: &Store) -> Result<Option<Finding>> {
    let (newest, date): (Option<Milliseconds>, Option<String>) = store
        .database
        .connection()
        .query_row(
            "SELECT newest, strftime('%Y-%m-%dT%H:%M:%SZ', newest / 1000, 'unixepoch') FROM
               (SELECT max((SELECT max(last_event_at) FROM sessions), (SELECT max(taken_at) FROM snapshots)) AS newest)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .context(|| "cannot read the session store")?;
    let is_ahead = newest.is_some_and(|newest| newest - store.now() > CLOCK_TOLERANCE);
    Ok(is_ahead.then(|| {
        Finding::warning(
            "clock",
            format!(
                "the newest event is of {}, which is in the future: the clock was set back",
                date.as_deref().unwrap_or("a time beyond all years")
            ),
        )
        .hint("set the clock, or wait: until then, times do not reliably show whose a change is")
    }))
}

/// Counts the steps of the last week whose changes no look saw.
fn unprotected(store: &Store) -> Result<Option<Finding>> {
    let (number, reason): (u32, Option<String>) = store
        .database
        .connection()
        .query_row(
            "SELECT count(*), (SELECT unprotected FROM steps WHERE unprotected IS NOT NULL ORDER BY seq DESC LIMIT 1)
               FROM steps WHERE unprotected IS NOT NULL AND started_at > ?1",
            [store.now() - WEEK],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .context(|| "cannot read the session store")?;
    Ok((number > 0).then(|| {
        Finding::warning(
            "steps",
            format!(
                "{number} of the last seven days are unprotected; the newest because: {}",
                reason.unwrap_or_default()
            ),
        )
        .hint("a revert past them says what it cannot undo")
    }))
}

/// Counts the closed sessions that are older than the setting `keep` allows.
fn unused(store: &Store) -> Result<Option<Finding>> {
    let keep = &store.surroundings.settings.keep;
    let keep = Milliseconds::try_from(keep.as_millis()).unwrap_or(Milliseconds::MAX);
    let before = store.now().saturating_sub(keep);
    let number: u32 = store
        .database
        .connection()
        .query_row(
            "SELECT count(*) FROM sessions WHERE ended_at IS NOT NULL AND last_event_at < ?1",
            [before],
            |row| row.get(0),
        )
        .context(|| "cannot read the session store")?;
    Ok((number > 0).then(|| {
        Finding::note(
            "sessions",
            format!("{number} have been unused for longer than the setting `keep` allows"),
        )
    }))
}

/// Reports what the store takes, and how much room the disk has left.
fn room(store: &Store) -> Result<Option<Finding>> {
    let directory = &store.surroundings.directory;
    let taken = of_store(store)?.limited();
    let most = store.surroundings.settings.max_store_size;
    let left = rustix::fs::statvfs(directory)
        // Not `f_bfree`: a part of that is kept for root.
        .map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize))
        .map_err(std::io::Error::from)
        .context(|| {
            format!(
                "cannot find out the free space below `{}`",
                directory.display()
            )
        })?;
    let text = format!(
        "it takes {} of at most {}, and its disk has {} left",
        ByteSize(taken),
        ByteSize(most),
        ByteSize(left)
    );
    Ok(Some(if left < MIN_FREE_SPACE {
        Finding::warning("store", text)
            .hint("free some space: what cannot be stored is not protected")
    } else if taken > most {
        Finding::warning("store", text)
    } else {
        Finding::ok("store", text)
    }))
}
