//! The clock that snapshots, and file systems, go by.

use rustix::time::{ClockId, clock_gettime};

/// Returns when that clock is past all that was done so far: what was made within its tick is looked at again by the next
/// snapshot, which notes then that it has not to be any more.
pub fn await_tick() {
    let now = clock_gettime(ClockId::Realtime);
    loop {
        // A file system's times can be as fine as the other clock, and so be ahead of this one.
        let clock = clock_gettime(ClockId::RealtimeCoarse);
        if (clock.tv_sec, clock.tv_nsec) > (now.tv_sec, now.tv_nsec) {
            break;
        }
        std::thread::yield_now();
    }
}

/// Returns in a later second than all that was done so far: git's reflogs keep whole seconds, and what stands in the second of a message
/// may have been before it or after.
pub fn await_second() {
    let second = || clock_gettime(ClockId::Realtime).tv_sec;
    let now = second();
    while second() == now {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
