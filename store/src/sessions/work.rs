//! When the agents of a session worked.

use rusqlite::{Connection, params};

use super::read;
use crate::error::Result;
use crate::model::{Milliseconds, TICK};

/// The times of the work since a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorkTimes {
    /// When the message was sent.
    pub sent_at: Milliseconds,
    /// The spans in which a step was open or had a command in the background, by the times of files, in order and apart
    /// from each other; the end is `None` if one is or has still.
    pub steps: Vec<(Milliseconds, Option<Milliseconds>)>,
}

impl WorkTimes {
    /// Whether a step was open when a file got this time.
    pub fn holds(&self, at: Milliseconds) -> bool {
        let begun = self.steps.partition_point(|(began, _)| *began <= at);
        let span = begun.checked_sub(1).map(|last| self.steps[last].1);
        span.is_some_and(|ended| ended.is_none_or(|ended| at <= ended))
    }
}

/// Returns when a session worked, from the message with a `seq` on.
pub(crate) fn work_since(
    connection: &Connection,
    root_session: &str,
    from_seq: i64,
) -> Result<WorkTimes> {
    work_where(connection, root_session, from_seq, "1")
}

/// Returns when a session worked in steps that may have changed any file: with a shell, or without a report of their
/// tools.
pub(crate) fn free_work_since(
    connection: &Connection,
    root_session: &str,
    from_seq: i64,
) -> Result<WorkTimes> {
    let is_free = "NOT EXISTS (SELECT 1 FROM tools WHERE step_id = steps.id)
            OR EXISTS (SELECT 1 FROM tools WHERE step_id = steps.id AND kind IS NOT 'read' AND paths = '[]')";
    work_where(connection, root_session, from_seq, is_free)
}

/// Joins the spans that overlap.
fn joined(
    mut spans: Vec<(Milliseconds, Option<Milliseconds>)>,
) -> Vec<(Milliseconds, Option<Milliseconds>)> {
    spans.sort_unstable();
    let mut joined: Vec<(Milliseconds, Option<Milliseconds>)> = Vec::new();
    for (began, ended) in spans {
        match joined.last_mut() {
            Some((_, last)) if last.is_none_or(|last| began <= last) => {
                *last = last.zip(ended).map(|(last, ended)| last.max(ended));
            }
            _ => joined.push((began, ended)),
        }
    }
    joined
}

fn work_where(
    connection: &Connection,
    root_session: &str,
    from_seq: i64,
    condition: &str,
) -> Result<WorkTimes> {
    let what = "cannot read when a message was sent";
    let sql = "SELECT created_at FROM messages WHERE seq = ?1";
    let sent_at = read::value_or_none(connection, what, sql, [from_seq])?;
    // `forget` may have removed it just now. Then nothing was there before it.
    let Some(sent_at) = sent_at else {
        return Ok(WorkTimes::default());
    };
    // A file that a step wrote at once may be a tick older than the step, but not older than the message.
    let sql = format!(
        "SELECT min(steps.started_at, max(steps.started_at - {TICK}, messages.created_at)) AS began,
                      iif(EXISTS (SELECT 1 FROM tools WHERE step_id = steps.id AND background = 1 AND released_at IS NULL),
                          NULL, max(steps.finished_at, ifnull((SELECT max(released_at) FROM tools
                                                                WHERE step_id = steps.id AND background = 1), 0))) AS ended
                 FROM messages JOIN steps ON steps.message_id = messages.id
                WHERE messages.session_id = ?1 AND messages.seq >= ?2 AND messages.state <> 'discarded' AND ({condition})
                ORDER BY steps.seq"
    );
    let steps = read::all(connection, &sql, params![root_session, from_seq], |row| {
        Ok((row.get("began")?, row.get("ended")?))
    })?;
    Ok(WorkTimes {
        sent_at,
        steps: joined(steps),
    })
}

#[cfg(test)]
mod tests {
    use super::WorkTimes;

    #[test]
    fn times_of_steps_are_held() {
        let work = WorkTimes {
            sent_at: 0,
            steps: vec![(10, Some(12)), (40, None)],
        };
        let held = [9, 10, 12, 13, 39, 40, 50].map(|at| work.holds(at));
        assert_eq!(held, [false, true, true, false, false, true, true]);
    }
}
