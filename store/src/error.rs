//! The one error that leaves the library: what was tried and on what, with its cause as `source`.

use std::error::Error as StdError;
use std::fmt;

use ckpt_schema::report::{CandidateReport, Finding, FindingLevel};

/// What an error means for the caller. Each kind has an exit code on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// It failed, and nothing was changed (exit code 1).
    Failed,
    /// What was asked for makes no sense here, whatever is recorded (exit code 2).
    Usage,
    /// What was asked for no longer exists, or cannot be put back (exit code 4).
    Unavailable,
    /// An id means nothing here (exit code 4).
    Unknown,
    /// An id may mean several things, which the candidates list (exit code 4).
    Ambiguous,
    /// An agent works in the session (exit code 5).
    Busy,
    /// The workspace or its history is not the one that a plan was made for, and nothing was changed (exit code 1).
    Stale,
    /// It failed after something was changed: the notes say what (exit code 3).
    Unfinished,
    /// A snapshot takes longer than a hook may (exit code 1). It has to be finished without the hook.
    Late,
}

/// An error of the store.
#[derive(Debug)]
pub struct Error {
    /// What it means for the caller.
    pub kind: ErrorKind,
    what: String,
    hint: Option<String>,
    notes: Vec<String>,
    candidates: Vec<CandidateReport>,
    is_damage: bool,
    is_unrecorded: bool,
    is_refusal: bool,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// Why nothing can be written on a full disk.
pub(crate) const FULL_DISK: &str = "the disk is full, or your disk quota is used up";

/// What to do about a damaged session store.
const REPAIR: &str = "`ckpt-hook doctor --repair` puts all of it that can be read into a new one";

/// The result of most functions of the store.
pub type Result<T> = std::result::Result<T, Error>;

/// Returns the result, or `None` where a request names nothing. A store that fails or is damaged stays an error: it must not
/// pass for one that has nothing.
pub(crate) fn found<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error) if error.kind != ErrorKind::Failed && !error.is_damage => Ok(None),
        found => found.map(Some),
    }
}

impl Error {
    /// Returns an error that says what failed: lower case, names in backticks, no final period.
    pub fn failed(what: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Failed,
            what: what.into(),
            hint: None,
            notes: Vec::new(),
            candidates: Vec::new(),
            is_damage: false,
            is_unrecorded: false,
            is_refusal: false,
            source: None,
        }
    }

    /// Returns an error about something that cannot be asked for here, whatever is recorded.
    pub fn usage(what: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Usage,
            ..Self::failed(what)
        }
    }

    /// Returns an error that says which object of the store is missing or damaged.
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self {
            is_damage: true,
            ..Self::unavailable(what)
        }
        .hint("`ckpt-hook doctor` says what is lost, and heals what it can")
    }

    /// Returns an error that says what no longer exists, or cannot be put back.
    pub fn unavailable(what: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Unavailable,
            ..Self::failed(what)
        }
    }

    /// Returns an error that says where nothing was ever recorded.
    pub(crate) fn unrecorded(what: impl Into<String>) -> Self {
        Self {
            is_unrecorded: true,
            ..Self::unavailable(what)
        }
        .hint("`ckpt-hook install --all` puts the hook into the settings of your agents")
    }

    /// Returns whether nothing was ever recorded there, so that what to do next depends on what is installed.
    pub fn is_unrecorded(&self) -> bool {
        self.is_unrecorded
    }

    /// Turns it into one about a place in which nothing is recorded, by rule: it is no fault of the store's.
    pub(crate) fn refusal(self) -> Self {
        Self {
            is_refusal: true,
            ..self
        }
    }

    /// Returns whether nothing is recorded in that place, by rule.
    pub fn is_refusal(&self) -> bool {
        self.is_refusal
    }

    /// Returns an error for an id that means nothing here.
    pub(crate) fn unknown(what: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Unknown,
            ..Self::failed(what)
        }
    }

    /// Returns an error for an id that may mean several things.
    pub fn ambiguous(what: impl Into<String>, candidates: Vec<CandidateReport>) -> Self {
        Self {
            kind: ErrorKind::Ambiguous,
            candidates,
            ..Self::failed(what)
        }
    }

    /// Returns an error that says what has changed since a plan was made.
    pub(crate) fn stale(what: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Stale,
            ..Self::failed(what)
        }
        .hint("make the plan again, and check what it would do now")
    }

    /// Returns an error that says who is busy.
    pub fn busy(what: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Busy,
            ..Self::failed(what)
        }
    }

    /// Returns the error of a snapshot that was not done in time. A process in the background then takes it, without a
    /// deadline: the next events would otherwise begin the same work again and not get further.
    pub(crate) fn late(what: &str) -> Self {
        Self {
            kind: ErrorKind::Late,
            ..Self::failed(what)
        }
        .hint("raise `hook_deadline` in the settings")
    }

    /// Adds what was done before the failure, if anything. Then the error no longer means that nothing changed.
    pub fn after(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        let before = self.notes.len();
        self.notes.extend(notes);
        if self.notes.len() > before && matches!(self.kind, ErrorKind::Failed | ErrorKind::Stale) {
            self.kind = ErrorKind::Unfinished;
        }
        self
    }

    /// Adds another reason why it cannot be done.
    pub(crate) fn and(mut self, what: &str) -> Self {
        self.what = format!("{}; besides, {what}", self.what);
        self
    }

    /// Adds the cause.
    pub fn because(self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            source: Some(source.into()),
            ..self
        }
    }

    /// Adds what the user can do.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// Returns whether an object of the store is missing or damaged, so that healing it may help.
    pub fn is_damage(&self) -> bool {
        let source = self.source.as_deref();
        let inner = source.and_then(|source| source.downcast_ref::<Self>());
        self.is_damage || inner.is_some_and(Self::is_damage)
    }

    /// Returns the hint to the user.
    pub fn hint_text(&self) -> Option<&str> {
        let of_damage = self.is_of_damaged_store();
        self.hint.as_deref().or(of_damage.then_some(REPAIR))
    }

    /// Returns whether SQLite says that the file is damaged or no database, or cannot run a statement on it: it has no
    /// number of its own for a table or a column that is missing, or for an unknown format. A file that cannot be read,
    /// or is another program's, gives other errors.
    pub(crate) fn is_of_damaged_store(&self) -> bool {
        use rusqlite::Error::{InvalidColumnName, SqlInputError};
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
        self.of_session_store().is_some_and(|error| {
            matches!(error, InvalidColumnName(_) | SqlInputError { .. })
                || matches!(
                    error.sqlite_error_code(),
                    Some(DatabaseCorrupt | NotADatabase | Unknown)
                )
        })
    }

    /// Returns the work that was done before the failure.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the items that an ambiguous id may name.
    pub fn candidates(&self) -> &[CandidateReport] {
        &self.candidates
    }

    /// Returns the causes, outermost first, without those that only repeat one. Those of SQLite are in our words: its own
    /// are about statements and tables.
    pub fn causes(&self) -> Vec<String> {
        let mut causes: Vec<String> = Vec::new();
        let mut next = self.source();
        while let Some(cause) = next {
            if let Some(error) = cause.downcast_ref::<rusqlite::Error>() {
                causes.push(of_database(error));
                break;
            }
            let text = cause.to_string();
            if causes.last().is_none_or(|last| !text.ends_with(last)) {
                causes.push(text);
            }
            next = cause.source();
        }
        causes
    }

    /// Returns whether the system says that there is no room.
    pub(crate) fn is_of_full_disk(&self) -> bool {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        let mut next = self.source();
        while let Some(cause) = next {
            if let Some(error) = cause.downcast_ref::<std::io::Error>() {
                return matches!(error.kind(), StorageFull | QuotaExceeded);
            }
            if let Some(error) = cause.downcast_ref::<rusqlite::Error>() {
                return error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull);
            }
            next = cause.source();
        }
        false
    }

    /// Returns the error of the session store that caused it.
    pub(crate) fn of_session_store(&self) -> Option<&rusqlite::Error> {
        let mut next = self.source();
        while let Some(cause) = next {
            if let Some(error) = cause.downcast_ref() {
                return Some(error);
            }
            next = cause.source();
        }
        None
    }

    /// Returns the failure and its causes in one line: the text and each cause, separated by colons.
    pub fn with_causes(&self) -> String {
        let mut texts = vec![self.to_string()];
        texts.extend(self.causes());
        texts.join(": ")
    }

    /// Returns the finding of `doctor` about it.
    pub(crate) fn finding(&self, level: FindingLevel, subject: &str) -> Finding {
        Finding {
            hint: self.hint_text().map(str::to_owned),
            ..Finding::new(level, subject, self.with_causes())
        }
    }
}

/// Explains an error of SQLite, with its number for a report.
fn of_database(error: &rusqlite::Error) -> String {
    use rusqlite::ErrorCode as Code;
    let what = match error.sqlite_error_code() {
        None => return of_row(error),
        Some(Code::DatabaseBusy | Code::DatabaseLocked | Code::FileLockingProtocolFailed) => {
            "the database is locked by another process"
        }
        Some(Code::DiskFull) => FULL_DISK,
        Some(Code::SystemIoFailure) => "the disk failed",
        Some(Code::CannotOpen) => "it cannot be opened",
        Some(Code::ReadOnly | Code::PermissionDenied) => "the session store is read-only",
        Some(Code::OutOfMemory) => "there is not enough memory",
        Some(Code::DatabaseCorrupt | Code::NotADatabase) => "the session store is damaged",
        Some(Code::TooBig) => "it is too large for the session store",
        Some(Code::ConstraintViolation) => "it contradicts what the session store holds",
        Some(Code::OperationInterrupted | Code::OperationAborted) => "it was interrupted",
        Some(_) => "the session store is not as this version of ckpt-hook makes it",
    };
    let number = error.sqlite_error().map_or(0, |error| error.extended_code);
    format!("{what} (SQLite's error {number})")
}

/// Describes a damaged row, by an error of the library that reads it.
fn of_row(error: &rusqlite::Error) -> String {
    match error {
        // Ours: it names the row.
        rusqlite::Error::FromSqlConversionFailure(_, _, problem) => problem.to_string(),
        rusqlite::Error::QueryReturnedNoRows => "a row of the session store is missing".to_owned(),
        _ => "a row of the session store is not as ckpt-hook writes it".to_owned(),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}

/// Turns a foreign error into ours, and names what was tried.
pub trait Context<T> {
    /// Names what failed, with the foreign error as its cause.
    fn context<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T>;
}

impl<T, E: Into<Box<dyn StdError + Send + Sync>>> Context<T> for std::result::Result<T, E> {
    fn context<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T> {
        self.map_err(|error| Error::failed(what()).because(error))
    }
}

/// Returns the result of `work`, or `None` if it panics. This is for input from others and for hints: a panic then
/// costs the file or the hint, not the step. The process's panic hook logs the panic itself.
pub(crate) fn contained<T>(work: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store that fails does not pass for one that has nothing.
    #[test]
    fn failed_search_is_no_empty_answer() {
        assert_eq!(found(Ok(1)).expect("it is there"), Some(1));
        for absent in [Error::usage("no"), Error::unavailable("it went")] {
            let absent: Result<()> = Err(absent);
            assert_eq!(found(absent).expect("no failure"), None);
        }
        for failure in [Error::failed("no memory"), Error::damaged("a page")] {
            let failure: Result<()> = Err(failure);
            found(failure).expect_err("what is there is not known");
        }
    }

    #[test]
    fn an_error_and_its_causes_are_one_line() {
        let alone = Error::failed("cannot read `a`").hint("look at it");
        assert_eq!(alone.with_causes(), "cannot read `a`", "a hint is no cause");
        let inner = Error::failed("the disk is full").because(Error::failed("no room"));
        assert_eq!(
            Error::failed("cannot write `a`")
                .because(inner)
                .with_causes(),
            "cannot write `a`: the disk is full: no room",
            "outermost first"
        );
    }

    /// Invariant `truth/lost-event`.
    #[test]
    fn errors_of_sqlite_are_told_in_our_words() {
        let connection = rusqlite::Connection::open_in_memory().expect("there is memory");
        let scripts = [
            "SELECT * FROM missing",
            "CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1), (1)",
            "ATTACH '/missing/file' AS x",
        ];
        for script in scripts {
            let error = connection.execute_batch(script).expect_err("it is wrong");
            let raw = error.to_string();
            let told = Error::failed("cannot do it").because(error);
            assert!(told.of_session_store().is_some());
            let told = Error::failed("outer").because(told).with_causes();
            let words = ["missing", "UNIQUE", "table", "unable", "t.a"];
            assert!(!words.iter().any(|word| told.contains(word)), "{told}");
            assert!(
                !told.contains(&raw) && told.contains("SQLite's error "),
                "{told}"
            );
        }
    }

    /// A cause that repeats the one before is told once.
    #[test]
    fn repeated_cause_is_told_once() {
        let inner =
            Error::failed("it is locked").because(Error::failed("Error code 5: it is locked"));
        assert_eq!(
            Error::failed("cannot write").because(inner).with_causes(),
            "cannot write: it is locked"
        );
    }
}
