//! Requests that wait for a thread, in the order in which they came.
//!
//! Requests that change something are carried out one after the other: an event that overtook another would be
//! recorded in its place. So are `subscribe` and `unsubscribe`, because the last one counts. Whatever only reads may
//! overtake them.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};

use ckpt_process::locks;
use serde_json::Value;

use super::Shared;
use super::methods::changes_something;
use super::protocol::Job;

/// How many requests may wait: a client that sends more waits until there is room.
const WAITING_LIMIT: usize = 256;

/// The requests of a client.
pub struct RequestQueue {
    state: Mutex<Jobs>,
    changed: Condvar,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    /// The ids of those that are not answered yet, with what cancels them.
    unanswered: Vec<(Value, Shared<bool>)>,
    /// Of each line, whether one of its requests was taken and is not done.
    is_busy: [bool; LINES],
    is_closed: bool,
    /// Whether the client is gone.
    is_abandoned: bool,
}

impl Jobs {
    /// Returns the first request that may begin.
    fn next(&mut self) -> Option<Job> {
        let may_begin =
            |job: &Job| line_of(&job.method).is_none_or(|line| !self.is_busy[line as usize]);
        let at = self.waiting.iter().position(may_begin)?;
        let job = self.waiting.remove(at)?;
        if let Some(line) = line_of(&job.method) {
            // Taken here and given back by the `Turn`, not for as long as the request is worked on: a thread that
            // has taken it may not have begun yet when the next one asks.
            self.is_busy[line as usize] = true;
        }
        Some(job)
    }
}

/// A line of requests, each of which waits for the one before it.
#[derive(Clone, Copy)]
enum Line {
    Changes,
    Subscriptions,
}

/// How many lines there are.
const LINES: usize = 2;

/// Returns the line in which a request waits, or `None` if it may overtake every other.
fn line_of(method: &str) -> Option<Line> {
    match method {
        "subscribe" | "unsubscribe" => Some(Line::Subscriptions),
        method => changes_something(method).then_some(Line::Changes),
    }
}

impl RequestQueue {
    /// Returns an empty queue, to which requests may come.
    pub fn new() -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, Jobs> {
        locks::lock(&self.state)
    }

    /// Adds a request; returns its id if another request with that id is not answered yet.
    pub fn put(&self, job: Job) -> Result<(), Value> {
        let mut state = self.state();
        while state.waiting.len() >= WAITING_LIMIT && !state.is_closed {
            state = locks::wait(&self.changed, state);
        }
        if state.is_abandoned && !tells_what_happened(&job) {
            return Ok(());
        }
        // An answer says by its id alone what it answers.
        if state.unanswered.iter().any(|(id, _)| *id == job.id) {
            return Err(job.id);
        }
        let handle = (job.id.clone(), job.is_cancelled.clone());
        state.unanswered.push(handle);
        state.waiting.push_back(job);
        self.changed.notify_all();
        Ok(())
    }

    /// Returns the next request, or `None` after the last one. The thread that takes one holds its `turn`.
    pub fn take(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.next() {
                // There is room now for one that waits in `put`.
                self.changed.notify_all();
                return Some(job);
            }
            if state.is_closed && state.waiting.is_empty() {
                return None;
            }
            state = locks::wait(&self.changed, state);
        }
    }

    /// Notes that a request is done once the turn is dropped, even if its thread panics.
    pub fn turn(&self, job: &Job) -> Turn<'_> {
        Turn {
            of: line_of(&job.method).map(|line| (self, line)),
        }
    }

    /// Notes that a request is answered: its id may be used again.
    pub fn answered(&self, id: &Value) {
        self.state().unanswered.retain(|(other, _)| other != id);
    }

    /// Cancels a request. Returns whether it had not begun: then it never does, and the caller answers.
    pub fn cancel(&self, id: &Value) -> bool {
        let mut state = self.state();
        if let Some(at) = state.waiting.iter().position(|job| job.id == *id) {
            state.waiting.remove(at);
            state.unanswered.retain(|(other, _)| other != id);
            self.changed.notify_all();
            return true;
        }
        // It has begun. It sees the flag where it can still stop, and otherwise ends as usual.
        for (_, flag) in state.unanswered.iter().filter(|(other, _)| other == id) {
            *locks::lock(flag) = true;
        }
        false
    }

    /// Ends the queue: waiting requests are still answered, but no more are accepted.
    pub fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    /// Notes that the client is gone: of the requests that wait or come, only events are recorded. A client may send
    /// them and leave, and what they tell has happened all the same.
    pub fn abandon(&self) {
        let mut state = self.state();
        state.is_abandoned = true;
        state.waiting.retain(tells_what_happened);
        drop(state);
        self.changed.notify_all();
    }

    /// Returns whether it has ended, or the client is gone.
    pub fn is_over(&self) -> bool {
        let state = self.state();
        state.is_closed || state.is_abandoned
    }
}

fn tells_what_happened(job: &Job) -> bool {
    job.method == "record"
}

/// The turn of a request; the next one of its line waits for its end.
pub struct Turn<'a> {
    of: Option<(&'a RequestQueue, Line)>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some((queue, line)) = self.of {
            queue.state().is_busy[line as usize] = false;
            queue.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn queue(methods: &[&str]) -> RequestQueue {
        let queue = RequestQueue::new();
        for (id, method) in methods.iter().enumerate() {
            let job = Job {
                id: json!(id),
                method: (*method).to_owned(),
                parameters: serde_json::Map::new(),
                is_cancelled: Shared::default(),
            };
            assert!(queue.put(job).is_ok(), "each has an id of its own");
        }
        queue
    }

    /// What changes something waits for what did so before and reads wait for no other request.
    ///
    /// Invariant `truth/events-pipelined`.
    #[test]
    fn changes_wait_for_changes_and_reads_for_nothing() {
        let queue = queue(&["record", "record", "show", "apply", "status"]);
        let taken = || queue.take().expect("there is one");
        let first = taken();
        let turn = queue.turn(&first);
        assert_eq!(first.id, 0);
        assert_eq!((taken().id, taken().id), (json!(2), json!(4)), "they read");
        drop(turn);
        let second = taken();
        let turn = queue.turn(&second);
        assert_eq!(second.id, 1, "in the order in which they came");
        queue.close();
        drop(turn);
        let third = taken();
        assert_eq!(third.id, 3, "what waits is still done");
        assert!(queue.take().is_none(), "that was the last one");
    }

    /// Where no front end reads the answers only events are recorded.
    ///
    /// Invariant `truth/events-pipelined`.
    #[test]
    fn without_a_reader_only_events_are_recorded() {
        let queue = queue(&["status", "apply", "record"]);
        let asked = queue.take().expect("there is one");
        queue.abandon();
        assert!(queue.put(asked).is_ok(), "it is passed over");
        let event = queue.take().expect("what happened is still told");
        assert_eq!(event.id, 2, "and nothing that waited before it is begun");
        queue.close();
        assert!(queue.take().is_none(), "that was all");
    }

    /// A subscription waits for the one before it and for no change.
    #[test]
    fn subscription_waits_for_the_one_before() {
        let queue = queue(&["apply", "subscribe", "unsubscribe", "subscribe"]);
        let taken = || queue.take().expect("there is one");
        let change = taken();
        let _turn = queue.turn(&change);
        let first = taken();
        let turn = queue.turn(&first);
        assert_eq!(first.id, 1, "the change is none of its business");
        queue.close();
        std::thread::scope(|scope| {
            let next = scope.spawn(taken);
            drop(turn);
            assert_eq!(next.join().expect("it is taken").id, 2, "in their order");
        });
    }

    /// A request that waits and is cancelled never begins.
    #[test]
    fn cancelled_waiting_request_never_begins() {
        let queue = queue(&["apply", "undo", "record"]);
        let running = queue.take().expect("there is one");
        let turn = queue.turn(&running);
        assert!(queue.cancel(&json!(1)), "it waits, and is answered at once");
        assert!(!queue.cancel(&json!(1)), "once");
        assert!(!queue.cancel(&json!(0)), "this one has begun");
        let flag = running.is_cancelled.lock().expect("nobody panicked");
        assert!(*flag, "and is told");
        drop(turn);
        assert_eq!(queue.take().expect("there is one").id, 2, "not the other");
    }
}
