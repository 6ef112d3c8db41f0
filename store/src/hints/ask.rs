//! Asks the watcher. This module does IO: it only reads, and never waits for long.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use super::peer::{connected, peer_user};
use super::protocol::{Answer, Question};
use crate::fs::names::WATCH_SOCKET;
use crate::fs::ownership::user;

/// How long to wait for an answer. Without one, everything is looked at.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(100);

/// A longer answer is ignored, in bytes.
const LONGEST_ANSWER: usize = 1 << 20;

/// A connection to a watcher, for one question.
pub(crate) struct WatcherClient(UnixStream);

impl WatcherClient {
    /// Returns the watcher of a store, or `None` if none is running. This takes one system call.
    pub fn find(store: &Path) -> Option<Self> {
        let socket = store.join(WATCH_SOCKET);
        let metadata = socket.symlink_metadata().ok()?;
        // A watcher of another user could call every directory unchanged.
        if !metadata.file_type().is_socket() || metadata.uid() != user() {
            return None;
        }
        let stream = connected(&socket)?;
        stream.set_write_timeout(Some(ANSWER_TIMEOUT)).ok()?;
        (peer_user(&stream) == Some(user())).then_some(Self(stream))
    }

    /// Returns its answer, or `None` if no valid answer comes in time.
    pub fn ask(self, question: &Question<'_>) -> Option<Answer> {
        let Self(mut stream) = self;
        let end = Instant::now() + ANSWER_TIMEOUT;
        stream.write_all(&question.encode()).ok()?;
        // Its end is what ends the question.
        stream.shutdown(Shutdown::Write).ok()?;
        let (mut bytes, mut piece) = (Vec::new(), [0; 16 << 10]);
        loop {
            let left = end.checked_duration_since(Instant::now())?;
            // A timeout of zero would mean none at all.
            let timeout = left.max(Duration::from_millis(1));
            stream.set_read_timeout(Some(timeout)).ok()?;
            match stream.read(&mut piece).ok()? {
                0 => return Answer::decode(&bytes),
                length => bytes.extend_from_slice(&piece[..length]),
            }
            if bytes.len() > LONGEST_ANSWER {
                return None;
            }
        }
    }
}
