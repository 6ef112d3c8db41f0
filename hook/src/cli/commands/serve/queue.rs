//! Requests that wait for a thread, in the order in which they came.
//!
//! Requests that change something are carried out one after the other: an event that overtook another would be recorded
//! in its place. Whatever only reads may overtake them.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::Shared;
use super::methods::changes_something;
use super::protocol::Job;

/// How many requests may wait: a client that sends more waits until there is room.
const MOST: usize = 256;

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
    /// Whether one of those that change something was taken and is not done.
    is_changing: bool,
    is_closed: bool,
    /// Whether nobody reads answers any more.
    is_abandoned: bool,
}

impl Jobs {
    /// Returns the first request that may begin.
    fn next(&mut self) -> Option<Job> {
        let may_begin = |job: &Job| !self.is_changing || !changes_something(&job.method);
        let at = self.waiting.iter().position(may_begin)?;
        let job = self.waiting.remove(at)?;
        self.is_changing |= changes_something(&job.method);
        Some(job)
    }
}

impl RequestQueue {
    pub fn new() -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, Jobs> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request; returns its id if another request with that id is not answered yet.
    pub fn put(&self, job: Job) -> Result<(), Value> {
        let mut state = self.state();
        while state.waiting.len() >= MOST && !state.is_closed {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_abandoned && !tells_what_happened(&job) {
            return Ok(());
        }
        if state.unanswered.iter().any(|(id, _)| *id == job.id) {
            return Err(job.id);
        }
        let handle = (job.id.clone(), job.is_cancelled.clone());
        state.unanswered.push(handle);
        state.waiting.push_back(job);
        self.changed.notify_all();
        Ok(())
    }

    /// Returns the next request, or `None` after the last one. Whoever takes one holds its `turn`.
    pub fn take(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.next() {
                self.changed.notify_all();
                return Some(job);
            }
            if state.is_closed && state.waiting.is_empty() {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Notes that a request is done once the turn is dropped, even if its thread panics.
    pub fn turn(&self, job: &Job) -> Turn<'_> {
        Turn {
            queue: changes_something(&job.method).then_some(self),
        }
    }

    /// Notes that a request is answered: its id may be used again.
    pub fn answered(&self, id: &Value) {
        self.state().unanswered.retain(|(other, _)| other != id);
    }

    /// Notes that a request is cancelled.
    pub fn cancel(&self, id: &Value) {
        let state = self.state();
        for (_, flag) in state.unanswered.iter().filter(|(other, _)| other == id) {
            *flag.lock().unwrap_or_else(PoisonError::into_inner) = true;
        }
    }

    /// Ends the queue: waiting requests are still answered, but no more are accepted.
    pub fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    /// Notes that nobody reads answers any more: of what waits, or comes, only events are recorded. A client may send
    /// them and leave, and what they tell has happened all the same.
    pub fn abandon(&self) {
        let mut state = self.state();
        state.is_abandoned = true;
        state.waiting.retain(tells_what_happened);
        drop(state);
        self.changed.notify_all();
    }

    /// Returns whether it has ended, or nobody listens any more.
    pub fn is_over(&self) -> bool {
        let state = self.state();
        state.is_closed || state.is_abandoned
    }
}

fn tells_what_happened(job: &Job) -> bool {
    job.method == "record"
}

/// The turn of a request; the next one that changes something waits for its end.
pub struct Turn<'a> {
    queue: Option<&'a RequestQueue>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(queue) = self.queue {
            queue.state().is_changing = false;
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

    #[test]
    fn what_changes_something_waits_for_what_did_so_before_and_reads_wait_for_nobody() {
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

    #[test]
    fn where_nobody_reads_the_answers_only_events_are_recorded() {
        let queue = queue(&["status", "apply", "record"]);
        let asked = queue.take().expect("there is one");
        queue.abandon();
        assert!(queue.put(asked).is_ok(), "it is passed over");
        let event = queue.take().expect("what happened is still told");
        assert_eq!(event.id, 2, "and nothing that waited before it is begun");
        queue.close();
        assert!(queue.take().is_none(), "that was all");
    }
}
