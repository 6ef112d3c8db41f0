//! A process that dies in the middle of an operation: it unwinds from there, and another one opens the store. The kills at
//! every system call are tests of their own (`tests/crash`); here they meet random histories.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use ckpt_store::Settings;
use ckpt_store::model::progress::OperationProgress;

use crate::script::Script;
use testing::scenario::World;

/// Why it unwinds.
struct Killed;

/// Does something that is killed when so many pieces of work are done, if it comes to that.
pub fn killed_after(
    pieces: usize,
    world: &mut World,
    script: &Script,
    run: impl FnOnce(&mut World),
) {
    let count = AtomicUsize::new(0);
    world
        .store
        .watch(Some(Box::new(move |progress| match progress {
            OperationProgress::Applying { .. }
                if count.fetch_add(1, Ordering::Relaxed) == pieces =>
            {
                // Nobody is told, unlike by a panic.
                resume_unwind(Box::new(Killed));
            }
            OperationProgress::Applying { .. } | OperationProgress::Looking(_) => {}
        })));
    script.line(format_args!(
        "# The next command was killed after {pieces} pieces of its work, as in:"
    ));
    script.line("# strace -f -o /dev/null -e inject=renameat2:signal=KILL:when=N ckpt-hook …");
    let end = catch_unwind(AssertUnwindSafe(|| run(world)));
    world.reopen(Settings::default());
    if let Err(reason) = end
        && !reason.is::<Killed>()
        && reason.downcast_ref::<&str>() != Some(&"a scoped thread panicked")
    {
        resume_unwind(reason);
    }
}
