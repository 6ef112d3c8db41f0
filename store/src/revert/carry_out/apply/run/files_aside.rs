//! Checks again the files that were moved aside while it was unclear whether a program writes to them, and only then
//! removes them. This module does IO.

use std::thread::sleep;
use std::time::Duration;

use super::{Attempt, Descent, ItemChange, ItemFailure, ItemResult, Results};
use crate::fs::threads;
use crate::revert::carry_out::apply::writer::AsideLook;

/// How much later to check. A program that writes now and then, such as to a log, mostly does so in this time, and
/// a command can wait for it.
const RECHECK_DELAY: Duration = Duration::from_millis(200);

impl Attempt<'_> {
    /// Notes what was done to an item, and returns whether it was changed.
    pub(super) fn note(&self, index: usize, change: ItemChange) -> bool {
        if change == ItemChange::Aside {
            let mut aside = threads::lock(&self.aside);
            aside.push(index);
        }
        change != ItemChange::Nothing
    }

    /// Checks again, after a while, everything that is aside. What was written to since is put back or kept; the rest
    /// goes.
    pub(super) fn look_again(&self) -> Results {
        let mut aside = threads::lock(&self.aside);
        let aside = std::mem::take(&mut *aside);
        if aside.is_empty() {
            return Results::new();
        }
        sleep(RECHECK_DELAY);
        let look = |index: usize| (index, self.look_again_at(index));
        aside.into_iter().map(look).collect()
    }

    fn look_again_at(&self, index: usize) -> ItemResult<bool> {
        let item = self.item(index);
        let descent = self.root.descend(item.path.parent().as_ref());
        let own = super::own_name(self.work.operation, item.path.name());
        let failed = |error| ItemFailure::not_entered(error).kept_in(&own);
        let Descent::Directory(directory, _) = descent.map_err(failed)? else {
            return Err(ItemFailure::elsewhere().kept_in(&own));
        };
        let place = self.place(&directory, &item.path);
        self.writer
            .discard_replaced(&place, item.expected, item.target, AsideLook::Later)
            .map(|_| true)
    }
}
