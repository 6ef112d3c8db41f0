//! A session store of a build before the first release is set aside: its tables are others. This module does IO.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::ffi::SQLITE_READONLY_DBMOVED;
use rusqlite::{Connection, OpenFlags};

use super::database::{BUSY_TIMEOUT, with_suffix};
use super::journal::{is_busy, leave_log};
use super::migrate::{beside, check_application};
use crate::error::{Context, Error, Result};
use crate::fs::layout;
use crate::fs::names::{BACKUP, COPY, DATABASE, OLDER};

/// Marks the error about such a session store.
#[derive(Debug)]
struct Older;

impl std::fmt::Display for Older {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a build of ckpt-hook before the first release wrote it")
    }
}

impl std::error::Error for Older {}

/// Returns the error about such a session store.
pub(super) fn older(path: &Path) -> Error {
    Error::failed(format!("cannot read `{}`", path.display())).because(Older)
}

/// Returns whether an error is about such a session store, or one that another process has just set aside.
pub(super) fn is_older(error: &Error) -> bool {
    let failure = error
        .of_session_store()
        .and_then(|error| error.sqlite_error());
    failure.is_some_and(|failure| failure.extended_code == SQLITE_READONLY_DBMOVED)
        || std::error::Error::source(error).is_some_and(|source| source.is::<Older>())
}

/// Sets the session store aside, with its backups. Returns its new name, or `None` if another process did it first.
///
/// All of it is in one file by then, so that one rename does it. A killed process leaves the rest to the next.
pub(super) fn set_aside(directory: &Path) -> Result<Option<PathBuf>> {
    let _lock = layout::lock_store(directory, BUSY_TIMEOUT)?;
    let path = directory.join(DATABASE);
    let what = || format!("cannot set `{}` of an older build aside", path.display());
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match Connection::open_with_flags(&path, flags) {
        Err(_) if !path.exists() => return Ok(None),
        opened => opened.context(what)?,
    };
    connection.busy_timeout(BUSY_TIMEOUT).context(what)?;
    match check_application(&connection, &path) {
        Err(error) if is_older(&error) => {}
        checked => return checked.map(|()| None),
    }
    let end = Instant::now() + BUSY_TIMEOUT;
    while let Err(error) = leave_log(&connection, directory) {
        if !is_busy(&error) || Instant::now() > end {
            return Err(error).context(what).map_err(|error| {
                error.hint("end the programs of the older build that have it open")
            });
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut places = (1_u32..).map(|number| with_suffix(&path, &format!("{OLDER}{number}")));
    let place = places.find(|place| !place.exists());
    let place = place.ok_or_else(|| Error::failed(what()))?;
    for copy in beside(directory, &[BACKUP, COPY])? {
        let name = copy.to_string_lossy();
        let ending = name.rsplit_once(DATABASE).map_or("", |(_, ending)| ending);
        std::fs::rename(&copy, with_suffix(&place, ending)).context(what)?;
    }
    // The connection still holds its lock: no process writes to what is renamed.
    std::fs::rename(&path, &place).context(what)?;
    layout::sync(directory)?;
    Ok(Some(place))
}
