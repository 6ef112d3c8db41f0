//! Moments at which a test has something else happen, in debug builds only: before each transaction and each lock, and
//! after. What one process sees of another changes at these and nowhere else.

use std::cell::{Cell, RefCell};

/// What happens at a moment, which is given by its name.
type MomentAction = Box<dyn FnMut(&'static str)>;

thread_local! {
    static MOST_FILES: Cell<Option<u64>> = const { Cell::new(None) };
    static IS_TIME_UP: Cell<bool> = const { Cell::new(false) };
    static DATED_AT_MOST: Cell<Option<u64>> = const { Cell::new(None) };
    static HAPPENING: RefCell<Option<MomentAction>> = const { RefCell::new(None) };
}

/// Has something happen at each such moment of this thread.
pub fn at_each_moment(happens: impl FnMut(&'static str) + 'static) {
    HAPPENING.set(Some(Box::new(happens)));
}

/// Has nothing happen any more.
pub fn at_no_moment() {
    HAPPENING.set(None);
}

/// Has the looks of this thread read no more than so many files, as if their time were up, or all of them.
pub fn read_no_more_than(files: Option<u64>) {
    MOST_FILES.set(files);
}

pub(crate) fn most_files() -> Option<u64> {
    MOST_FILES.get()
}

/// Has the looks of this thread be done in time, and no time be left to write down what changed, or has it again.
pub fn leave_no_time(is_up: bool) {
    IS_TIME_UP.set(is_up);
}

pub(crate) fn is_time_up() -> bool {
    IS_TIME_UP.get()
}

/// Has the looks of this thread find out the times of no more than so many changes, as if their time were up, or of all.
pub fn date_no_more_than(changes: Option<u64>) {
    DATED_AT_MOST.set(changes);
}

pub(crate) fn is_dated_enough() -> bool {
    let left = DATED_AT_MOST.get();
    DATED_AT_MOST.set(left.map(|left| left.saturating_sub(1)));
    left == Some(0)
}

/// Has happen what a test asked for. Not within itself: what happens may use the store, too.
pub(crate) fn moment(name: &'static str) {
    let happening = HAPPENING.with_borrow_mut(Option::take);
    if let Some(mut happens) = happening {
        happens(name);
        HAPPENING.set(Some(happens));
    }
}
