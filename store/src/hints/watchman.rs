//! Watches one directory with everything below it through [Watchman](https://facebook.github.io/watchman/), if the user
//! runs it and it watches that directory already. Then the kernel's watches of the directory are not taken twice. This
//! module does IO: it only reads, and asks Watchman.
//!
//! Each answer needs a query. Watchman writes a file, waits for the event of that, and removes it, so that all that
//! came before is in its answer ([query synchronization](https://facebook.github.io/watchman/docs/cookies)). That file
//! must not be in what is captured: it is in `.git` if the directory has one, or else Watchman is not asked.
//!
//! It is asked in lines of JSON, rather than through the `watchman_client` crate: that one would bring `tokio` into
//! the store, and its own socket is what a hook's question waits for. JSON has no bytes that are not UTF-8. For such a
//! name, Watchman 4.9 answers nothing, and the watch ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

use super::peer::{connected, peer_user};
use super::protocol::{Answer, WatchToken};
use super::watched::{Watch, WatchEnd, WatchedRoot, is_below_git};
use crate::fs::ownership::user;
use crate::model::path::parent;

/// How long to wait for what happened. A hook waits longer for the answer to its own question.
const PATIENCE: Duration = Duration::from_millis(70);

/// How long to wait before a watch begins, which no hook waits for. Watchman may just be reading the directory.
const PATIENCE_AT_FIRST: Duration = Duration::from_millis(500);

/// A longer answer is not read, in bytes. It would name more places than the watch remembers.
const LONGEST_ANSWER: u64 = 16 << 20;

/// Where Watchman's own settings are, for all directories. A directory's are in its `.watchmanconfig`.
const SETTINGS: &str = "/etc/watchman.json";

/// The settings with which Watchman leaves something out
/// ([configuration](https://facebook.github.io/watchman/docs/config)). By default, that is what is in `.git`, `.hg` and
/// `.svn`, which no snapshot holds.
const LEAVES_OUT: [&str; 2] = ["ignore_dirs", "ignore_vcs"];

/// Where Watchman writes the file that it waits for, if there is such a directory.
const OUT_OF_VIEW: [&str; 3] = [".hg", ".svn", ".git"];

/// The watch of a directory with everything below it.
pub(super) struct WatchmanTree {
    root: WatchedRoot,
    connection: BufReader<UnixStream>,
    place: WatchmanPlace,
    /// Watchman's moment up to which everything was taken in.
    clock: String,
}

/// A directory as Watchman has it: in one that it watches.
struct WatchmanPlace {
    watched: String,
    /// The directory's path below that one. Empty if they are the same.
    below: String,
}

impl WatchmanTree {
    /// Watches a directory and everything below it, up to `most` directories, if Watchman listens at `socket` and tells
    /// of everything that happens there.
    pub fn watch(root: WatchedRoot, most: usize, socket: &Path) -> Result<Self, WatchEnd> {
        let mut connection = BufReader::new(connect(socket)?);
        wait_for(&connection, PATIENCE_AT_FIRST)?;
        let place = find(&mut connection, &root)?;
        let settings = ask(&mut connection, &json!(["get-config", place.watched]))?;
        if leaves_out(&settings["config"]) || leaves_out(&settings_of_all()?) {
            return Err(WatchEnd);
        }
        // Before anything is read, or what happens in between would be missed.
        let now = json!({
            "expression": "false",
            "fields": ["name"],
            "sync_timeout": milliseconds(PATIENCE_AT_FIRST),
        });
        let now = ask(&mut connection, &json!(["query", place.watched, now]))?;
        let mut tree = Self {
            clock: clock(&now)?,
            root,
            connection,
            place,
        };
        wait_for(&tree.connection, PATIENCE)?;
        let read = tree.root.read_all(b"")?;
        (read <= most).then_some(tree).ok_or(WatchEnd)
    }

    /// Takes in what has happened since the last time.
    fn catch_up(&mut self) -> Result<(), WatchEnd> {
        let mut query = json!({
            "since": self.clock,
            "fields": ["name", "type", "exists", "new"],
            "sync_timeout": milliseconds(PATIENCE),
            "empty_on_fresh_instance": true,
        });
        if !self.place.below.is_empty() {
            query["relative_root"] = json!(self.place.below);
        }
        let query = json!(["query", self.place.watched, query]);
        let told = ask(&mut self.connection, &query)?;
        // Watchman was started again, events were lost, or what is gone was forgotten: nobody can say what happened.
        if told["is_fresh_instance"] != false {
            return Err(WatchEnd);
        }
        for file in told["files"].as_array().ok_or(WatchEnd)? {
            self.consider(file)?;
        }
        self.clock = clock(&told)?;
        Ok(())
    }

    /// Notes where something changed, according to an entry of an answer.
    fn consider(&mut self, file: &Value) -> Result<(), WatchEnd> {
        let path = file["name"].as_str().ok_or(WatchEnd)?;
        if is_below_git(Path::new(path)) {
            return Ok(());
        }
        let path = path.as_bytes();
        let directory = parent(path).ok_or(WatchEnd)?;
        self.root.changes.in_directory(directory);
        let is_there = file["exists"] == true;
        if file["type"] != "d" {
            return match is_there {
                true => self.root.note_file(directory, path),
                false => Ok(()),
            };
        }
        // All that is in a new directory is told as well.
        if is_there && file["new"] == false {
            self.root.changes.in_directory(path);
        } else {
            self.root.changes.in_tree(path);
        }
        Ok(())
    }
}

impl Watch for WatchmanTree {
    fn queue(&self) -> BorrowedFd<'_> {
        self.connection.get_ref().as_fd()
    }

    fn root(&self) -> &WatchedRoot {
        &self.root
    }

    fn answer(&mut self, token: Option<&WatchToken>) -> Result<Answer, WatchEnd> {
        self.catch_up()?;
        self.root.check()?;
        Ok(self.root.answer(token))
    }

    /// Fails if Watchman has gone. It keeps what happens until it is asked.
    fn take_in(&mut self) -> Result<(), WatchEnd> {
        let queue = self.queue();
        let mut polled = [PollFd::new(&queue, PollFlags::IN)];
        // Nothing was asked, so there is nothing to read but the end.
        match poll(&mut polled, Some(&Timespec::default())) {
            Ok(0) => Ok(()),
            _ => Err(WatchEnd),
        }
    }
}

/// Connects to Watchman. One of another user could call everything unchanged.
fn connect(socket: &Path) -> Result<UnixStream, WatchEnd> {
    let metadata = socket.symlink_metadata().map_err(|_| WatchEnd)?;
    let stream = connected(socket).ok_or(WatchEnd)?;
    let is_own = metadata.uid() == user() && peer_user(&stream) == Some(user());
    let is_ready = stream.set_write_timeout(Some(PATIENCE)).is_ok();
    (is_own && is_ready).then_some(stream).ok_or(WatchEnd)
}

/// Sets how long to wait for each answer.
fn wait_for(connection: &BufReader<UnixStream>, patience: Duration) -> Result<(), WatchEnd> {
    let set = connection.get_ref().set_read_timeout(Some(patience));
    set.map_err(|_| WatchEnd)
}

fn milliseconds(patience: Duration) -> u64 {
    u64::try_from(patience.as_millis()).unwrap_or(u64::MAX)
}

/// Asks for one thing, and returns the answer. Fails also if the answer is an error, or is late: then it could be taken
/// for the answer to the next question.
fn ask(connection: &mut BufReader<UnixStream>, question: &Value) -> Result<Value, WatchEnd> {
    let mut line = question.to_string().into_bytes();
    line.push(b'\n');
    let told = connection.get_mut().write_all(&line);
    told.map_err(|_| WatchEnd)?;
    let mut line = Vec::new();
    let read = connection.take(LONGEST_ANSWER).read_until(b'\n', &mut line);
    read.map_err(|_| WatchEnd)?;
    let answer: Value = serde_json::from_slice(&line).map_err(|_| WatchEnd)?;
    let is_whole = line.ends_with(b"\n") && answer["error"].is_null();
    is_whole.then_some(answer).ok_or(WatchEnd)
}

/// Finds a directory in what Watchman watches. Nothing is added to that: it would stay after the watcher has ended.
fn find(
    connection: &mut BufReader<UnixStream>,
    root: &WatchedRoot,
) -> Result<WatchmanPlace, WatchEnd> {
    let real = root.at(b"").canonicalize().map_err(|_| WatchEnd)?;
    let listed = ask(connection, &json!(["watch-list"]))?;
    let roots = listed["roots"].as_array().ok_or(WatchEnd)?;
    let above = roots
        .iter()
        .filter_map(Value::as_str)
        .filter_map(|watched| Some((watched, real.strip_prefix(watched).ok()?)));
    // The nearest one: what is around it may be another file system.
    let (watched, below) = above
        .max_by_key(|(watched, _)| watched.len())
        .ok_or(WatchEnd)?;
    let below = below.to_str().ok_or(WatchEnd)?.to_owned();
    (!below.is_empty() || hides_its_file(&real))
        .then(|| WatchmanPlace {
            watched: watched.to_owned(),
            below,
        })
        .ok_or(WatchEnd)
}

/// Returns whether the file that Watchman writes into a directory is where no snapshot looks.
fn hides_its_file(directory: &Path) -> bool {
    OUT_OF_VIEW.iter().any(|name| {
        let metadata = directory.join(name).symlink_metadata();
        metadata.is_ok_and(|metadata| metadata.is_dir())
    })
}

/// Returns Watchman's settings for all directories, or `Null` if there are none.
fn settings_of_all() -> Result<Value, WatchEnd> {
    match std::fs::read(SETTINGS) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|_| WatchEnd),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Value::Null),
        Err(_) => Err(WatchEnd),
    }
}

fn leaves_out(settings: &Value) -> bool {
    LEAVES_OUT.iter().any(|name| !settings[*name].is_null())
}

fn clock(answer: &Value) -> Result<String, WatchEnd> {
    answer["clock"].as_str().map(str::to_owned).ok_or(WatchEnd)
}
