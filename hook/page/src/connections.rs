//! The open connections of the page: those that have shown the key, and those that wait for a request.

use std::net::{Shutdown, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ckpt_process::locks;

/// How many connections may wait at the same time: a page has some ten while it loads.
const MOST_WAITING: usize = 64;

/// How many that have shown the key are served at the same time.
const MOST_SHOWN: usize = 64;

/// All open connections.
#[derive(Default)]
pub struct Connections {
    waiting: Mutex<Vec<(u64, TcpStream)>>,
    shown: AtomicUsize,
    was_shown: AtomicBool,
}

impl Connections {
    /// Takes in a new one. If too many wait, the one that has waited longest is closed: a client that has the key does not wait.
    /// `None` if it cannot be served now; a browser tries again.
    pub fn take(&self, number: u64, stream: &TcpStream) -> Option<Connection<'_>> {
        if self.shown.load(Ordering::SeqCst) >= MOST_SHOWN {
            return None;
        }
        let stream = stream.try_clone().ok()?;
        let mut waiting = locks::lock(&self.waiting);
        if waiting.len() >= MOST_WAITING {
            let (_, longest) = waiting.remove(0);
            // Its thread then reads the end.
            let _ = longest.shutdown(Shutdown::Both);
        }
        waiting.push((number, stream));
        Some(Connection {
            all: self,
            number,
            is_shown: AtomicBool::new(false),
        })
    }

    /// Returns whether the page is shown, or was since this was asked last.
    pub fn is_shown(&self) -> bool {
        self.was_shown.swap(false, Ordering::SeqCst) || self.shown.load(Ordering::SeqCst) > 0
    }
}

/// An open connection, counted while it lives.
pub struct Connection<'a> {
    all: &'a Connections,
    number: u64,
    is_shown: AtomicBool,
}

impl Connection<'_> {
    /// Notes that it has shown the key.
    pub fn show(&self) {
        self.leave();
        if !self.is_shown.swap(true, Ordering::SeqCst) {
            self.all.shown.fetch_add(1, Ordering::SeqCst);
            self.all.was_shown.store(true, Ordering::SeqCst);
        }
    }

    fn leave(&self) {
        locks::lock(&self.all.waiting).retain(|(number, _)| *number != self.number);
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        self.leave();
        if self.is_shown.load(Ordering::SeqCst) {
            self.all.shown.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
