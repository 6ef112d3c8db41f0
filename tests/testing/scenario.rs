//! A store and a workspace of a test's own, and what a user and an agent do in it, one line each.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use ckpt_schema::report::{
    DifferenceReason, EventReport, FileReport, FileResult, LogReport, OperationReport,
    SnapshotReport, StatusReport,
};
use ckpt_schema::{Event, EventKind};
use ckpt_store::model::request::OnConflict;
use ckpt_store::{
    Error, RedoRequest, RestoreRequest, RevertRequest, Settings, Store, Surroundings, Unclear,
    UndoRequest,
};
use tempfile::TempDir;

use crate::tree::{self, Tree};
use crate::{git, intact::Intact};

/// Something that happens while the store works.
type Happening = Box<dyn FnOnce()>;

thread_local! {
    /// Every look at the clock of a test is a millisecond later; nothing waits.
    static NOW: Cell<i64> = const { Cell::new(1_700_000_000_000) };
    /// The moments of a day that is played: when they really were, and when they are to be.
    static MOMENTS: RefCell<Vec<(i64, i64)>> = const { RefCell::new(Vec::new()) };
    /// How far the clock is from that of files, where a test wants the two to agree.
    static FROM_FILES: Cell<Option<i64>> = const { Cell::new(None) };
    /// How often the clock was looked at.
    static LOOKS: Cell<u32> = const { Cell::new(0) };
    /// What happens just before such a look.
    static BEFORE: RefCell<Option<(u32, Happening)>> = const { RefCell::new(None) };
}

/// Returns how often the store looked at the clock so far.
pub fn looks_at_the_clock() -> u32 {
    LOOKS.get()
}

/// Lets something happen while the store works: just before it looks at the clock for the `count`th time from now.
pub fn before_a_look_at_the_clock(count: u32, happens: impl FnOnce() + 'static) {
    BEFORE.set(Some((LOOKS.get() + count, Box::new(happens))));
}

fn clock() -> i64 {
    LOOKS.set(LOOKS.get() + 1);
    if let Some((_, happens)) =
        BEFORE.with_borrow_mut(|before| before.take_if(|(at, _)| *at == LOOKS.get()))
    {
        happens();
    }
    if let Some(distance) = FROM_FILES.get() {
        return file_time() + distance;
    }
    NOW.with(|now| {
        now.set(now.get() + 1);
        now.get()
    })
}

/// Returns the moment, by the clock of files, in milliseconds.
pub fn file_time() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}

/// Sets the clock so many milliseconds before or after that of files: what happens is stamped with it, what is written to the
/// workspace is not.
pub fn set_clock_from_files(milliseconds: i64) {
    FROM_FILES.set(Some(milliseconds));
}

/// Sets the clock to a moment of a day of its own: what is stamped, and what is written to the workspace, is of then. It waits
/// until the clock of files has passed everything that was written, so that times tell the moments apart: a kernel may give a
/// file a finer time than that of the last tick.
pub fn set_moment(milliseconds: i64) {
    let coarse = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    };
    let last = file_time();
    let mut now = coarse();
    while now <= last + 1 {
        std::thread::yield_now();
        now = coarse();
    }
    MOMENTS.with_borrow_mut(|moments| moments.push((now, milliseconds)));
    NOW.set(milliseconds);
}

/// What the time of a file is in the day that [`set_moment`] plays; as it is where none is played.
fn file_times(real: i64) -> i64 {
    MOMENTS.with_borrow(|moments| {
        let then = moments.partition_point(|(moment, _)| *moment <= real);
        then.checked_sub(1).map_or(real, |at| moments[at].1)
    })
}

/// Lets the clock go on.
pub fn wait_ms(milliseconds: i64) {
    NOW.with(|now| now.set(now.get() + milliseconds));
}

/// What tells that a file was not touched at all: inode, mtime and ctime in nanoseconds.
pub type InodeStamp = (u64, i128, i128);

/// Checks the receipt of an operation: every path that is not as it was then has a reason.
#[track_caller]
pub fn explained(report: OperationReport) -> OperationReport {
    let differences = report
        .receipt
        .iter()
        .flat_map(|receipt| &receipt.differences);
    let unexplained: Vec<&str> = differences
        .filter(|difference| difference.reason == DifferenceReason::Unexplained)
        .map(|difference| difference.path.path.as_str())
        .collect();
    assert!(
        unexplained.is_empty(),
        "a path that differs without a reason is a fault: {unexplained:?} of {report:#?}"
    );
    // So is one that an operation left that was finished on the way.
    let phrase = DifferenceReason::Unexplained.phrase();
    assert!(
        !report.notes.iter().any(|note| note.contains(phrase)),
        "a path that differs without a reason is a fault: {report:#?}"
    );
    report
}

pub struct World {
    pub directory: TempDir,
    pub store: Store,
    pub root: PathBuf,
    /// The directory that the agent and the user are in.
    pub cwd: PathBuf,
    /// The packs of the store, in the order in which they came: their times may be those of one tick.
    packs: RefCell<Vec<PathBuf>>,
}

impl World {
    /// A workspace that is no git repository, with an empty store beside it.
    pub fn new() -> Self {
        Self::with(Settings::default())
    }

    pub fn with(settings: Settings) -> Self {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let base = directory.path().canonicalize().expect("it is there");
        let root = base.join("code");
        fs::create_dir_all(&root).expect("it is writable");
        fs::create_dir_all(base.join("home")).expect("it is writable");
        let store = open(&base, settings);
        Self {
            directory,
            store,
            cwd: root.clone(),
            root,
            packs: RefCell::default(),
        }
    }

    /// A workspace that is a git repository with one commit of what `files` says.
    pub fn git(files: &[(&str, &str)]) -> Self {
        let world = Self::new();
        for (path, text) in files {
            world.write(path, text);
        }
        world.run_git(&["init", "-q", "-b", "main"]);
        world.run_git(&["add", "-A"]);
        world.run_git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        world
    }

    pub fn base(&self) -> PathBuf {
        self.directory.path().canonicalize().expect("it is there")
    }

    /// The repository of the only workspace.
    pub fn repository(&self) -> PathBuf {
        let mut workspaces = fs::read_dir(self.base().join("store/snapshots")).expect("there");
        let workspace = workspaces.next().expect("one workspace");
        workspace.expect("readable").path().join("repository.git")
    }

    /// The packs of the only workspace, the oldest first.
    pub fn packs(&self) -> Vec<PathBuf> {
        let mut packs = self.packs.borrow_mut();
        let found = fs::read_dir(self.repository().join("objects/pack"));
        let found = found.into_iter().flatten();
        let mut found: BTreeSet<PathBuf> =
            found.map(|entry| entry.expect("readable").path()).collect();
        found.retain(|path| path.extension().is_some_and(|ending| ending == "pack"));
        // A pack that is known is taken out of those that were found: what is left is new.
        packs.retain(|pack| found.remove(pack));
        packs.extend(found);
        packs.clone()
    }

    /// Opens the store anew, as another process does.
    pub fn reopen(&mut self, settings: Settings) {
        self.try_reopen(settings).expect("a store of our own");
    }

    /// The same, where the store may be damaged.
    pub fn try_reopen(&mut self, settings: Settings) -> Result<(), Error> {
        self.store = try_open(&self.base(), settings)?;
        Ok(())
    }

    /// Returns git in the workspace, not yet started.
    pub fn git_command(&self, arguments: &[&str]) -> Command {
        let mut command = git::command(&self.root, &self.base().join("home"));
        command.args(arguments);
        command
    }

    #[track_caller]
    pub fn run_git(&self, arguments: &[&str]) -> String {
        git::text(&mut self.git_command(arguments))
    }

    // What anybody does to files.

    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("it is writable");
        fs::write(path, text).expect("it is writable");
    }

    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let bytes = fs::read(self.path(&path))
            .unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    pub fn remove(&self, path: impl AsRef<Path>) {
        fs::remove_file(self.path(path)).expect("it is there");
    }

    pub fn remove_directory(&self, path: impl AsRef<Path>) {
        fs::remove_dir(self.path(path)).expect("it is there, and empty");
    }

    /// Removes a directory with all that is in it, as a shell's `rm -r` does.
    #[expect(
        clippy::disallowed_methods,
        reason = "the agent of a test does what the product never does"
    )]
    pub fn remove_tree(&self, path: impl AsRef<Path>) {
        fs::remove_dir_all(self.path(path)).expect("it is there");
    }

    pub fn make_directory(&self, path: impl AsRef<Path>) {
        fs::create_dir_all(self.path(path)).expect("it is writable");
    }

    pub fn link(&self, path: impl AsRef<Path>, target: impl AsRef<Path>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("it is writable");
        symlink(target, path).expect("it is writable");
    }

    pub fn chmod(&self, path: impl AsRef<Path>, mode: u32) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).expect("it is ours");
    }

    pub fn mode(&self, path: impl AsRef<Path>) -> u32 {
        self.path(path)
            .symlink_metadata()
            .expect("it is there")
            .mode()
            & 0o7777
    }

    pub fn stamp(&self, path: impl AsRef<Path>) -> InodeStamp {
        let metadata = self.path(path).symlink_metadata().expect("it is there");
        let nanoseconds =
            |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        (
            metadata.ino(),
            nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        )
    }

    pub fn tree(&self) -> Tree {
        tree::read(&self.root)
    }

    // What an agent's hooks send.

    pub fn event(&self, kind: EventKind, session: &str) -> Event {
        Event {
            cwd: Some(self.cwd.clone()),
            ..Event::new(kind, "generic", session)
        }
    }

    pub fn send(&mut self, event: &Event) -> EventReport {
        let report = self
            .store
            .record(event)
            .unwrap_or_else(|error| panic!("{event:?}: {error}: {:?}", error.causes()));
        if report.snapshot.is_some() {
            self.packs();
        }
        report
    }

    pub fn message_in(&mut self, session: &str, message: &str) -> EventReport {
        let event = Event {
            message_id: Some(message.to_owned()),
            prompt: Some(format!("please do {message}")),
            ..self.event(EventKind::UserMessage, session)
        };
        self.send(&event)
    }

    pub fn message(&mut self, message: &str) -> EventReport {
        self.message_in("s1", message)
    }

    /// A session begins in a process that has ended by now, with a message.
    pub fn message_of_a_dead_agent(&mut self, message: &str) {
        for kind in [EventKind::SessionStart, EventKind::UserMessage] {
            let event = Event {
                process: Some(ended_process()),
                message_id: Some(message.to_owned()),
                ..self.event(kind, "s1")
            };
            self.send(&event);
        }
    }

    pub fn start_in(&mut self, session: &str) -> EventReport {
        let event = self.event(EventKind::StepStart, session);
        self.send(&event)
    }

    pub fn finish_in(&mut self, session: &str) -> EventReport {
        let event = self.event(EventKind::StepFinish, session);
        self.send(&event)
    }

    pub fn start(&mut self) -> EventReport {
        self.start_in("s1")
    }

    pub fn finish(&mut self) -> EventReport {
        self.finish_in("s1")
    }

    /// A tool of a session begins; the paths are those that an edit tool names.
    pub fn tool_start_in(&mut self, session: &str, id: &str, paths: &[&str]) -> EventReport {
        let event = Event {
            tool_use_id: Some(id.to_owned()),
            tool_name: Some("Tool".to_owned()),
            paths: paths.iter().map(PathBuf::from).collect(),
            ..self.event(EventKind::ToolStart, session)
        };
        self.send(&event)
    }

    pub fn tool_finish_in(&mut self, session: &str, id: &str) -> EventReport {
        let event = Event {
            tool_use_id: Some(id.to_owned()),
            ..self.event(EventKind::ToolFinish, session)
        };
        self.send(&event)
    }

    /// An event of a shell of the session `s1`.
    pub fn shell(&self, kind: EventKind) -> Event {
        Event {
            tool_use_id: Some("t".to_owned()),
            tool_name: Some("Bash".to_owned()),
            ..self.event(kind, "s1")
        }
    }

    /// A shell begins.
    pub fn start_shell(&mut self) -> EventReport {
        self.send(&self.shell(EventKind::ToolStart))
    }

    /// A step in which the agent does something.
    pub fn step(&mut self, work: impl FnOnce(&Self)) -> EventReport {
        self.start();
        work(self);
        self.finish()
    }

    /// A message with one step in which the agent does something.
    pub fn turn(&mut self, message: &str, work: impl FnOnce(&Self)) -> EventReport {
        self.message(message);
        self.step(work)
    }

    /// The same in a session.
    pub fn turn_in(&mut self, session: &str, message: &str, work: impl FnOnce(&Self)) {
        self.message_in(session, message);
        self.start_in(session);
        work(self);
        self.finish_in(session);
    }

    // What the user asks for.

    /// Lets the store do something to the workspace; repositories and databases there stay whole.
    fn operate(
        &mut self,
        act: impl FnOnce(&mut Store, &Path) -> Result<OperationReport, Error>,
    ) -> Result<OperationReport, Error> {
        let intact = Intact::of(&self.root);
        let report = act(&mut self.store, &self.cwd).map(explained);
        // What an error or an earlier operation left is not known.
        let moves_git = report.as_ref().map_or(true, |report| {
            !report.dry_run && !report.git.is_empty() || !report.finished.is_empty()
        });
        intact.assert_still(moves_git);
        report
    }

    pub fn try_revert(&mut self, request: &RevertRequest) -> Result<OperationReport, Error> {
        self.operate(|store, cwd| store.revert(cwd, request))
    }

    pub fn revert(&mut self, message: &str) -> OperationReport {
        self.try_revert(&to(message))
            .unwrap_or_else(|error| panic!("revert {message}: {error}: {:?}", error.causes()))
    }

    /// What the process in the background does after the first snapshot.
    pub fn settle(&mut self) {
        let cwd = self.cwd.clone();
        self.store.adopt_packs(&cwd).expect("there is room for it");
    }

    pub fn redo(&mut self) -> OperationReport {
        self.operate(|store, cwd| store.redo(cwd, &RedoRequest::default()))
            .expect("it can be redone")
    }

    pub fn unrevert(&mut self) -> OperationReport {
        let request = RedoRequest {
            all: true,
            ..RedoRequest::default()
        };
        self.operate(|store, cwd| store.redo(cwd, &request))
            .expect("it can be unreverted")
    }

    pub fn undo(&mut self, operation: &str) -> OperationReport {
        let request = UndoRequest {
            operation: operation.to_owned(),
            ..UndoRequest::default()
        };
        self.operate(|store, cwd| store.undo(cwd, &request))
            .expect("it can be taken back")
    }

    /// Restores beside any step that is open, and agrees to what of the user's own goes with it.
    pub fn restore(&mut self, id: &str, paths: &[&str]) -> OperationReport {
        let request = RestoreRequest {
            id: id.to_owned(),
            paths: paths.iter().map(PathBuf::from).collect(),
            overwrite_mine: true,
            force: ckpt_store::Force::Yes,
            ..RestoreRequest::default()
        };
        self.operate(|store, cwd| store.restore(cwd, &request))
            .expect("restorable")
    }

    pub fn snapshot(&mut self) -> String {
        self.capture().snapshot
    }

    pub fn capture(&mut self) -> SnapshotReport {
        let cwd = self.cwd.clone();
        self.store
            .snapshot(&cwd, None, None)
            .expect("the workspace can be captured")
    }

    pub fn status(&mut self) -> StatusReport {
        let cwd = self.cwd.clone();
        self.store.status(&cwd, None).expect("a readable store")
    }

    pub fn log(&mut self) -> LogReport {
        let cwd = self.cwd.clone();
        self.store
            .log(&cwd, &ckpt_store::query::LogFilter::default())
            .expect("a readable store")
    }

    /// What is kept with messages is what their changes give. Afterwards it is kept of all messages.
    #[track_caller]
    pub fn assert_totals(&mut self) {
        let kept = self.log();
        let database = self.base().join("store/sessions.db");
        crate::rows::execute(&database, "UPDATE messages SET totals = NULL");
        assert_eq!(kept, self.log(), "what was kept is what is added up");
        // What another test starts may hold our lock until it has become another program.
        let left = || crate::rows::texts(&database, "SELECT id FROM messages WHERE totals IS NULL");
        for _ in 0..1000 {
            self.settle();
            if left().is_empty() {
                break;
            }
            std::thread::yield_now();
        }
        assert_eq!(left(), Vec::<String>::new(), "they are kept from now on");
        assert_eq!(kept, self.log(), "a list says the same as before");
    }
}

fn open(base: &Path, settings: Settings) -> Store {
    try_open(base, settings).expect("a store of our own")
}

pub fn try_open(base: &Path, settings: Settings) -> Result<Store, Error> {
    let surroundings = Surroundings {
        directory: base.join("store"),
        settings,
        home: Some(base.join("home")),
        config_home: None,
        clock,
        file_clock: ckpt_store::file_clock,
        file_times,
        agent_process: || None,
        conversations: &ckpt_store::model::conversation::NoConversations,
    };
    Store::open(surroundings)
}

/// The name of a process that has ended, as a hook gives it: this one's number, and a time at which it did not start.
pub fn ended_process() -> String {
    process_started("1")
}

/// The name of a process with this one's number, by the time at which it started.
pub fn process_started(at: &str) -> String {
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {at} {}", std::process::id(), namespace.display())
}

/// A request to go back to before a message.
pub fn to(message: &str) -> RevertRequest {
    RevertRequest {
        message: message.to_owned(),
        ..RevertRequest::default()
    }
}

/// The request for a revert that takes what is unclear.
pub fn taking(message: &str) -> RevertRequest {
    RevertRequest {
        unclear: Some(Unclear::Take),
        ..to(message)
    }
}

/// The same, with what to do about conflicts.
pub fn to_with(message: &str, on_conflict: OnConflict) -> RevertRequest {
    RevertRequest {
        on_conflict,
        ..to(message)
    }
}

/// The files of an outcome with a result.
pub fn with_result(report: &OperationReport, result: FileResult) -> Vec<&FileReport> {
    let files = report.files.iter();
    files.filter(|file| file.result == result).collect()
}

/// The paths of an outcome with a result.
pub fn paths_with(report: &OperationReport, result: FileResult) -> Vec<&str> {
    with_result(report, result)
        .into_iter()
        .map(|file| file.path.path.as_str())
        .collect()
}
