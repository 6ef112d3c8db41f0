//! Requests that wait for a thread, in the order in which they came.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::Shared;
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
    is_closed: bool,
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
        if state.unanswered.iter().any(|(id, _)| *id == job.id) {
            return Err(job.id);
        }
        let handle = (job.id.clone(), job.is_cancelled.clone());
        state.unanswered.push(handle);
        state.waiting.push_back(job);
        self.changed.notify_all();
        Ok(())
    }

    /// Returns the next request, or `None` after the last one.
    pub fn take(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.waiting.pop_front() {
                self.changed.notify_all();
                return Some(job);
            }
            if state.is_closed {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Notes that a request is answered.
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

    /// Returns whether it has ended.
    pub fn is_closed(&self) -> bool {
        self.state().is_closed
    }
}
