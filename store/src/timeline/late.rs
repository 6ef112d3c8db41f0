//! What a look had no time to read. The next look reads it, and knows its time; but what it was when its step ended, no
//! look saw.

use std::collections::HashSet;

use super::evidence::Doubt;
use crate::model::Milliseconds;
use crate::model::attribution::Attribution;
use crate::model::gap::{Gap, GapReason};
use crate::sessions::{ChangeRow, OpenStep};

/// Returns the paths among the gaps of a look that it did not read in time.
pub(super) fn paths<'a>(gaps: impl Iterator<Item = &'a Gap>) -> HashSet<Vec<u8>> {
    let late = gaps.filter(|gap| gap.reason == GapReason::Late);
    late.map(|gap| gap.path.clone()).collect()
}

/// Makes the changes unclear that are, by their times, of steps that had ended when they were read at last.
pub(super) fn doubt(
    rows: &mut [ChangeRow],
    late: &HashSet<Vec<u8>>,
    ended: &[(OpenStep, Milliseconds)],
) {
    let ended: HashSet<&str> = ended.iter().map(|(step, _)| &step.row.id[..]).collect();
    for row in rows {
        if late.contains(row.change.path.as_bytes())
            && row.attribution == Attribution::Agent
            && row
                .step_id
                .as_deref()
                .is_some_and(|step| ended.contains(step))
        {
            row.attribution = Attribution::Unclear;
            row.reason = Some(Doubt::Late.to_string());
        }
    }
}
