//! Worker threads that really run in parallel.
//!
//! Threads of a short-lived process tend to start on one processor and stay there for 10 to 20 ms, which is longer than
//! a whole snapshot. So each is moved to another processor as it starts, and then released.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{
    Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};

use super::system::Processors;

/// Returns how many threads to use: one for each processor that the process may run on, up to eight. It does not look
/// up a control group's share of time: that takes twenty system calls, and threads that wait for their turn cost
/// nothing.
pub(crate) fn count() -> usize {
    allowed().map_or(1, Processors::count).clamp(1, 8)
}

/// Returns the processors that the process was allowed to run on at the first call.
fn allowed() -> Option<&'static Processors> {
    static ALLOWED: OnceLock<Option<Processors>> = OnceLock::new();
    ALLOWED.get_or_init(Processors::allowed).as_ref()
}

/// Runs `work` on `threads` threads, including the caller's, and returns the result of each. If no thread can be
/// started, the caller's does the work alone.
pub(crate) fn run<G: Send>(threads: usize, work: impl Fn(usize) -> G + Sync) -> Vec<G> {
    let allowed = allowed().filter(|_| threads > 1);
    std::thread::scope(|scope| {
        let work = &work;
        let spawn = |number: usize| {
            let start = move || {
                if let Some(allowed) = allowed {
                    allowed.move_to(number);
                }
                work(number)
            };
            std::thread::Builder::new().spawn_scoped(scope, start).ok()
        };
        // A limit on processes (`ulimit -u`) is no reason to fail.
        let handles: Vec<_> = (1..threads).map_while(spawn).collect();
        if let Some(allowed) = allowed.filter(|_| !handles.is_empty()) {
            allowed.move_to(0);
        }
        let mut gathered = vec![work(0)];
        for handle in handles {
            match handle.join() {
                Ok(more) => gathered.push(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        gathered
    })
}

/// Locks what threads share. A thread that panicked while it held the lock has poisoned it, and what it shared is used
/// all the same: its panic is reported where it is caught, and another one here would only hide it.
pub(crate) fn lock<T: ?Sized>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks what threads share, to read it. See [`lock`].
pub(crate) fn read<T>(shared: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    shared.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks what threads share, to change it. See [`lock`].
pub(crate) fn write<T>(shared: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    shared.write().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the value that threads shared, once they are done. See [`lock`].
pub(crate) fn unlocked<T>(shared: Mutex<T>) -> T {
    shared.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// How many items a thread takes at a time.
const BATCH: usize = 16;

/// Returns the result of `work` for each item, in order. Works in parallel if there are many.
pub(crate) fn map<'i, T: Sync, R: Send>(
    items: &'i [T],
    work: impl Fn(&'i T) -> R + Sync,
) -> Vec<R> {
    let threads = if items.len() <= 4 * BATCH { 1 } else { count() };
    map_on(threads, BATCH, items, work)
}

/// Like [`map`], with a given number of threads, each of which takes `batch` items at a time. A batch of one is for
/// items that are much work.
pub(crate) fn map_on<'i, T: Sync, R: Send>(
    threads: usize,
    batch: usize,
    items: &'i [T],
    work: impl Fn(&'i T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = run(threads, |_| work_on_batches(&next, batch, items, &work));
    let mut done: Vec<WorkedBatch<R>> = done.into_iter().flatten().collect();
    done.sort_unstable_by_key(|(start, _)| *start);
    done.into_iter().flat_map(|(_, batch)| batch).collect()
}

/// Where a batch of items began, and the results for them.
type WorkedBatch<R> = (usize, Vec<R>);

/// Takes a batch after the other, until none is left. `next` is where the next one begins.
fn work_on_batches<'i, T, R>(
    next: &AtomicUsize,
    batch: usize,
    items: &'i [T],
    work: impl Fn(&'i T) -> R,
) -> Vec<WorkedBatch<R>> {
    let mut done = Vec::new();
    loop {
        let start = next.fetch_add(batch, Ordering::Relaxed);
        let end = items.len().min(start + batch);
        let Some(taken) = items.get(start..end).filter(|taken| !taken.is_empty()) else {
            return done;
        };
        done.push((start, taken.iter().map(&work).collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is done side by side comes in order.
    #[test]
    fn parallel_results_come_in_order() {
        for length in [0, 1, BATCH, 4 * BATCH + 1, 1000] {
            let items: Vec<usize> = (0..length).collect();
            let doubled: Vec<usize> = items.iter().map(|item| item * 2).collect();
            assert_eq!(map(&items, |item| item * 2), doubled, "{length} items");
            let one_by_one = map_on(3, 1, &items, |item| item * 2);
            assert_eq!(one_by_one, doubled, "{length} items, one at a time");
        }
    }
}
