//! Two threads that share a list of tasks.
//!
//! More do not help: they would wait for each other in the directories that they change (measured:
//! `bench/targets.md`).

use std::sync::Mutex;
use std::thread;

use crate::fs::threads;

/// Does every task, and returns the results in no particular order. With `helped`, a second thread shares the work.
pub(super) fn share<T: Send, R: Send>(
    helped: bool,
    tasks: Vec<T>,
    act: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    if !helped || tasks.len() < 2 {
        return tasks.into_iter().map(act).collect();
    }
    // One queue and not two halves: a chunk with one large file would leave the other thread idle.
    let queue = Mutex::new(tasks.into_iter());
    let results = Mutex::new(Vec::new());
    let work = || {
        while let Some(task) = next(&queue) {
            let result = act(task);
            threads::lock(&results).push(result);
        }
    };
    thread::scope(|scope| {
        // If no thread can be started, this one does all the work.
        let _ = thread::Builder::new()
            .name("apply".to_owned())
            .spawn_scoped(scope, work);
        work();
    });
    threads::unlocked(results)
}

/// Does two things at once. The first one waits for the disk, in a thread of its own.
pub(super) fn alongside<A: Send, B>(
    waiting: impl Fn() -> A + Sync,
    other: impl FnOnce() -> B,
) -> (A, B) {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("sync".to_owned())
            .spawn_scoped(scope, &waiting);
        let other = other();
        match thread.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(waited)) => (waited, other),
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            // No thread could be started.
            Err(_) => (waiting(), other),
        }
    })
}

fn next<T>(queue: &Mutex<std::vec::IntoIter<T>>) -> Option<T> {
    threads::lock(queue).next()
}
