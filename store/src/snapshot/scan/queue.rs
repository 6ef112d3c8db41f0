//! A queue of tasks for a few threads, where tasks add tasks.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::fs::threads;

struct Tasks<T> {
    tasks: Vec<T>,
    at_work: usize,
    failure: Option<Error>,
}

/// Tasks, newest first, so that few wait at once.
pub(crate) struct TaskQueue<T> {
    state: Mutex<Tasks<T>>,
    changed: Condvar,
}

impl<T: Send> TaskQueue<T> {
    /// Does all tasks, and those that they add, on some threads. Returns the result of each thread. The first failure
    /// ends everything.
    pub fn run<G: Default + Send>(
        tasks: Vec<T>,
        threads: usize,
        work: impl Fn(T, &mut G, &Self) -> Result<()> + Sync,
    ) -> Result<Vec<G>> {
        let queue = Self {
            state: Mutex::new(Tasks {
                tasks,
                at_work: 0,
                failure: None,
            }),
            changed: Condvar::new(),
        };
        let gathered = threads::run(threads, |_| queue.work(&work));
        match threads::unlocked(queue.state).failure {
            Some(failure) => Err(failure),
            None => Ok(gathered),
        }
    }

    /// Adds tasks.
    pub fn push(&self, tasks: impl IntoIterator<Item = T>) {
        let mut state = threads::lock(&self.state);
        state.tasks.extend(tasks);
        self.changed.notify_all();
    }

    fn work<G: Default>(&self, work: &impl Fn(T, &mut G, &Self) -> Result<()>) -> G {
        let mut gathered = G::default();
        while let Some(task) = self.next() {
            let busy = Busy(self);
            if let Err(failure) = work(task, &mut gathered, self) {
                self.fail(failure);
            }
            drop(busy);
        }
        gathered
    }

    fn fail(&self, failure: Error) {
        let mut state = threads::lock(&self.state);
        // The first one is the cause; what other threads meet after it may only follow from it.
        state.failure.get_or_insert(failure);
        state.tasks.clear();
    }

    fn next(&self) -> Option<T> {
        let mut state = threads::lock(&self.state);
        loop {
            if state.failure.is_some() {
                return None;
            }
            if let Some(task) = state.tasks.pop() {
                state.at_work += 1;
                return Some(task);
            }
            // A thread at work may still add tasks, so an empty list alone is not the end.
            if state.at_work == 0 {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A thread at work. It counts as done even if it panics, so that no other waits for it.
struct Busy<'a, T: Send>(&'a TaskQueue<T>);

impl<T: Send> Drop for Busy<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0
                .fail(Error::failed("a thread of the snapshot panicked"));
        }
        let mut state = threads::lock(&self.0.state);
        state.at_work -= 1;
        if state.at_work == 0 && state.tasks.is_empty() {
            self.0.changed.notify_all();
        }
    }
}
