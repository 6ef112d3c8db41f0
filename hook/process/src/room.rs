//! Room on the stack, where the limit on it (`ulimit -s`) leaves the main thread too little.

use std::panic::resume_unwind;
use std::thread;

use rustix::process::{Resource, getrlimit};

/// The stack below which the work is done elsewhere, in bytes. Commands need less than an eighth of it.
const LEAST_STACK: u64 = 1 << 20;

/// The stack of the thread that does it then. Only what is used of it takes memory.
const THREAD_STACK: usize = 8 << 20;

/// Runs the work of a command: on a thread of its own if the main thread's stack is small and a thread can be started.
pub fn with_room<T: Send>(work: impl Fn() -> T + Sync) -> T {
    let limit = getrlimit(Resource::Stack).current;
    if limit.is_none_or(|limit| limit >= LEAST_STACK) {
        return work();
    }
    let done = thread::scope(|scope| {
        let roomy = thread::Builder::new().stack_size(THREAD_STACK);
        let started = roomy.spawn_scoped(scope, &work).ok();
        started.map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    done.unwrap_or_else(work)
}
