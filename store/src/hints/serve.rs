//! The watcher: one process per store, which ends when no hook asks any more. This module does IO; it only reads
//! workspaces.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::WatchTree;
use super::peer::peer_user;
use super::protocol::{Answer, Question};
use super::watched_directory::{ReadSeen, SeenDirectories, WatchEnd, WatchedRoot};
use crate::error::{Context, Error, Result};
use crate::fs::layout;
use crate::fs::names::WATCH_SOCKET;
use crate::fs::ownership::{prepare, user};

/// How long to wait for a question, and for its sender to take the answer.
const CLIENT_TIMEOUT: Duration = Duration::from_millis(50);

/// A longer question is ignored, in bytes. A path has at most 4,096.
const LONGEST_QUESTION: u64 = 8 << 10;

/// How many workspaces that cannot be watched are remembered.
const MOST_REMEMBERED: usize = 64;

/// The limits of a watcher.
#[derive(Clone, Copy, Debug)]
pub struct WatchLimits {
    /// How long a workspace stays watched without a question about it. The watcher ends when none is left.
    pub idle: Duration,
    /// The most workspaces that are watched.
    pub workspaces: usize,
    /// The most directories of a workspace that are watched. A workspace with more gets no hints.
    pub directories: usize,
}

impl Default for WatchLimits {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(30 * 60),
            workspaces: 8,
            directories: 200_000,
        }
    }
}

/// Watches the workspaces of a store that it is asked about, until no hook asks any more or `end` becomes readable.
///
/// Fails if another process does this already.
pub fn serve(
    store: &Path,
    limits: WatchLimits,
    seen: ReadSeen,
    end: Option<BorrowedFd<'_>>,
) -> Result<()> {
    let store = prepare(store)?;
    let Some(_lock) = layout::lock_watcher(&store)? else {
        return Err(Error::failed(format!(
            "another watcher already serves the store `{}`",
            store.display()
        )));
    };
    let socket = store.join(WATCH_SOCKET);
    let what = || format!("cannot listen at `{}`", socket.display());
    // A killed watcher left it: no other process has the lock.
    match std::fs::remove_file(&socket) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error).context(what),
        _ => {}
    }
    let listener = UnixListener::bind(&socket).context(what)?;
    // A client may be gone between `poll` and `accept`, which would then wait for the next one.
    listener.set_nonblocking(true).context(what)?;
    let mut watcher = WatcherServer {
        store,
        listener,
        limits,
        mounts: Mounts::open()?,
        trees: Vec::new(),
        seen,
        wanted: Vec::new(),
        refused: Vec::new(),
        asked: Instant::now(),
    };
    let done = watcher.run(end).context(what);
    // A socket that stays answers no hook: one that connects to it is refused, and looks everywhere.
    let _ = std::fs::remove_file(&socket);
    done
}

struct WatcherServer {
    store: PathBuf,
    listener: UnixListener,
    limits: WatchLimits,
    mounts: Mounts,
    trees: Vec<(WatchTree, Instant)>,
    seen: ReadSeen,
    /// What was asked about and is not watched yet, with the folder of its snapshots. It is added later, so that no hook
    /// waits for it.
    wanted: Vec<(PathBuf, (u64, u64), PathBuf)>,
    /// What cannot be watched. Trying again at each question would cost as much as a look.
    refused: Vec<(PathBuf, (u64, u64))>,
    /// The time of the last question.
    asked: Instant,
}

impl WatcherServer {
    fn run(&mut self, end: Option<BorrowedFd<'_>>) -> std::io::Result<()> {
        while self.asked.elapsed() < self.limits.idle {
            if self.wait(end)? {
                return Ok(());
            }
            loop {
                match self.listener.accept() {
                    Ok((stream, _)) => self.answer(&stream),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            // Events are taken in between questions, too: the kernel's queue is limited, and an overflow ends the
            // watch.
            let limit = self.limits.idle;
            self.trees
                .retain_mut(|(tree, asked)| tree.keep_up().is_ok() && asked.elapsed() < limit);
            // Only after the answers: reading a large tree takes longer than a hook waits.
            for (root, identity, folder) in std::mem::take(&mut self.wanted) {
                // Before the first look has ended, it is not known what is in view.
                if (self.seen)(&folder).is_some() {
                    self.watch(&root, identity, folder);
                }
            }
        }
        Ok(())
    }

    /// Waits for a question or an event, and returns whether the watcher is to end.
    fn wait(&self, end: Option<BorrowedFd<'_>>) -> std::io::Result<bool> {
        let left = self.limits.idle.saturating_sub(self.asked.elapsed());
        let timeout = Timespec::try_from(left).ok();
        let queues = self.trees.iter().map(|(tree, _)| tree.queue());
        let of_interest: Vec<_> = end
            .into_iter()
            .chain([self.listener.as_fd()])
            .chain(queues)
            .collect();
        let mut polled: Vec<_> = of_interest
            .iter()
            .map(|descriptor| PollFd::new(descriptor, PollFlags::IN))
            .collect();
        match poll(&mut polled, timeout.as_ref()) {
            // A signal is no reason to end. The caller asks for what is ready in any case.
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(end.is_some() && !polled[0].revents().is_empty())
    }

    /// Answers one question. A client that asks anything else, is too slow, or belongs to another user gets no answer.
    fn answer(&mut self, stream: &UnixStream) {
        let is_own = peer_user(stream) == Some(user());
        let is_ready = stream.set_nonblocking(false).is_ok()
            && stream.set_read_timeout(Some(CLIENT_TIMEOUT)).is_ok()
            && stream.set_write_timeout(Some(CLIENT_TIMEOUT)).is_ok();
        if !is_own || !is_ready {
            return;
        }
        let Some(bytes) = listen(stream) else { return };
        let Some(question) = Question::decode(&bytes) else {
            return;
        };
        // Nonsense does not count, or a stray client would keep the watcher alive.
        self.asked = Instant::now();
        let answer = self.answer_to(&question).encode();
        let mut stream = stream;
        // A client that went away needs no answer.
        let _ = stream.write_all(&answer);
        let _ = stream.shutdown(Shutdown::Both);
    }

    fn answer_to(&mut self, question: &Question<'_>) -> Answer {
        if self.mounts.have_changed() {
            // All watches begin anew. A directory may be another one now, and one that was mounted may be gone.
            self.trees.clear();
            // What could not be watched may be on another file system by now.
            self.refused.clear();
        }
        let path = |bytes| PathBuf::from(std::ffi::OsStr::from_bytes(bytes));
        let root = path(question.root);
        let known = self
            .trees
            .iter()
            .position(|(tree, _)| tree.root().is_of(&root, question.identity));
        let Some(known) = known else {
            let asked_for = (root, question.identity);
            let is_wanted = |(root, identity, _): &(PathBuf, _, _)| {
                (root, identity) == (&asked_for.0, &asked_for.1)
            };
            if !self.wanted.iter().any(is_wanted) && !self.refused.contains(&asked_for) {
                let (root, identity) = asked_for;
                self.wanted.push((root, identity, path(question.folder)));
            }
            return Answer::default();
        };
        let (tree, asked) = &mut self.trees[known];
        *asked = Instant::now();
        tree.answer(question.token.as_ref()).unwrap_or_else(|_| {
            self.trees.swap_remove(known);
            Answer::default()
        })
    }

    /// Begins to watch a workspace. If there are too many, it replaces the one whose last question is the oldest.
    fn watch(&mut self, root: &Path, identity: (u64, u64), folder: PathBuf) {
        // Drop the watch of what was at this path before.
        self.trees.retain(|(tree, _)| !tree.root().is_at(root));
        if self.trees.len() >= self.limits.workspaces {
            // The kernel grants a user a limited number of watches, which other programs need as well.
            let oldest = (0..self.trees.len()).min_by_key(|place| self.trees[*place].1);
            oldest.map(|place| self.trees.swap_remove(place));
        }
        match self.begin(root, identity, folder) {
            Ok(tree) => self.trees.push((tree, Instant::now())),
            Err(_) => {
                // The newest first, in bounded memory.
                self.refused.truncate(MOST_REMEMBERED - 1);
                self.refused.insert(0, (root.to_owned(), identity));
            }
        }
    }

    fn begin(
        &self,
        path: &Path,
        identity: (u64, u64),
        folder: PathBuf,
    ) -> std::result::Result<WatchTree, WatchEnd> {
        let root = WatchedRoot::new(path, identity)?;
        let read = self.seen;
        let seen = SeenDirectories { folder, read };
        WatchTree::watch(root, self.limits.directories, &self.store, seen)
    }
}

/// The list of mounts. A mount that hides a watched directory, or an unmount that uncovers it, is no event of that
/// directory.
#[cfg(target_os = "linux")]
struct Mounts(std::fs::File);

#[cfg(target_os = "linux")]
impl Mounts {
    fn open() -> Result<Self> {
        const LIST: &str = "/proc/self/mountinfo";
        let list = std::fs::File::open(LIST).context(|| format!("cannot open `{LIST}`"))?;
        Ok(Self(list))
    }

    /// Returns whether anything was mounted, moved or unmounted since the last call (see `proc_pid_mounts(5)`).
    fn have_changed(&self) -> bool {
        let mut polled = [PollFd::new(&self.0, PollFlags::PRI)];
        let at_once = Timespec::default();
        // What cannot be told may have changed.
        poll(&mut polled, Some(&at_once)) != Ok(0)
    }
}

/// On macOS, a mount in a watched directory is an event, which ends the watch.
#[cfg(not(target_os = "linux"))]
struct Mounts;

#[cfg(not(target_os = "linux"))]
impl Mounts {
    fn open() -> Result<Self> {
        Ok(Self)
    }

    /// Returns `false`.
    fn have_changed(&self) -> bool {
        false
    }
}

/// Reads a whole question.
fn listen(stream: &UnixStream) -> Option<Vec<u8>> {
    let end = Instant::now() + CLIENT_TIMEOUT;
    let (mut bytes, mut piece) = (Vec::new(), [0; 1 << 10]);
    let mut stream = stream;
    loop {
        match stream.read(&mut piece).ok()? {
            0 => return Some(bytes),
            length => bytes.extend_from_slice(&piece[..length]),
        }
        // A time for the whole question: a client that sends a byte now and then would keep all others waiting.
        if bytes.len() as u64 > LONGEST_QUESTION || Instant::now() > end {
            return None;
        }
    }
}
