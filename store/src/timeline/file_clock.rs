//! Whose a change is where the clock of files is another one than that of events, so that no time of a file shows it.
//! Pure.
//!
//! Then only looks bound a change. It is a step's if tools of the step ran all the time since the last look. If
//! they paused, a person may have used the pause.

use super::evidence::{Changed, Dated, Doubt, Evidence, Verdict};
use crate::model::Milliseconds;

/// Judges a change by its time, or without it if it cannot be that of the change.
pub(super) fn judge(
    evidence: &Evidence<'_>,
    change: Changed<'_>,
    dated: Option<Dated>,
    looked_at: Option<Milliseconds>,
    preferred: Option<usize>,
) -> Verdict {
    let judged = evidence.judge(change, preferred);
    let is_stale = dated.is_some_and(|dated| dated.is_stale);
    let undated = Changed { at: None, ..change };
    let judged = match judged {
        // The change came after the last look, whatever its time says.
        // The time says that no tool was running, and it is wrong: the last look did not see this change. Judged
        // without it, the change belongs to whom the events leave.
        Verdict::Outside if is_stale => evidence.judge(undated, preferred),
        judged if evidence.is_dated(change) => return judged,
        judged => judged,
    };
    match judged {
        Verdict::Agent(step) if evidence.may_be_of_a_pause(step, change.path, looked_at) => {
            Verdict::Unclear(vec![step], Doubt::Paused)
        }
        judged => judged,
    }
}
