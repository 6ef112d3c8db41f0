//! What several steps did in total: rows that continue each other become one. Pure.

use std::collections::BTreeMap;

use crate::model::attribution::Attribution;
use crate::model::path::WorkspacePath;
use crate::sessions::ChangeRow;

/// Returns the total changes of a message with so many steps from the rows of all of them.
pub(super) fn of_message(rows: Vec<ChangeRow>, steps: u64) -> Vec<ChangeRow> {
    match steps {
        // Nothing continues a step that is alone, and its rows keep their counts of lines.
        1 => rows,
        _ => in_all(rows),
    }
}

/// Returns the total changes of some steps, by path.
///
/// If another author changed a path between two of the steps, the rows before and after stay separate: what came in
/// between is not theirs. A file that was created and removed again is no change.
fn in_all(mut rows: Vec<ChangeRow>) -> Vec<ChangeRow> {
    rows.sort_by_key(|row| row.id);
    let mut by_path: BTreeMap<WorkspacePath, Vec<ChangeRow>> = BTreeMap::new();
    for row in rows {
        let parts = by_path.entry(row.change.path.clone()).or_default();
        match parts.last_mut() {
            Some(last) if last.change.new == row.change.old => join(last, row),
            _ => parts.push(row),
        }
    }
    let parts = by_path.into_values().flatten();
    parts
        .filter(|row| row.change.old != row.change.new)
        .collect()
}

/// Joins two rows. The counts of lines do not add up, so they go; the attribution is the less certain of the two.
fn join(first: &mut ChangeRow, next: ChangeRow) {
    if doubt(next.attribution) > doubt(first.attribution) {
        first.attribution = next.attribution;
        first.reason = next.reason;
    }
    first.change.new = next.change.new;
    first.to_snapshot_id = next.to_snapshot_id;
    first.lines = None;
}

fn doubt(attribution: Attribution) -> u8 {
    match attribution {
        Attribution::Agent => 0,
        Attribution::Shared => 1,
        Attribution::Outside => 2,
        Attribution::Unclear => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::entry::{Change, Entry, Mode, ObjectId, State};

    fn state(content: u8) -> State {
        let blob = ObjectId::new([content; 20]);
        (content > 0).then(|| Entry::stored(Mode::file(0o644), blob))
    }

    /// A row that makes a content of another; 0 stands for nothing.
    fn row(id: i64, path: &str, old: u8, new: u8, attribution: Attribution) -> ChangeRow {
        ChangeRow {
            id: Some(id),
            step_id: Some("s".to_owned()),
            attribution,
            reason: None,
            from_snapshot_id: None,
            to_snapshot_id: None,
            change: Change {
                path: WorkspacePath::new(path).expect("a path"),
                old: state(old),
                new: state(new),
            },
            lines: Some((1, 1)),
        }
    }

    fn shown(rows: Vec<ChangeRow>) -> Vec<(State, State, Attribution)> {
        let rows = in_all(rows).into_iter();
        rows.map(|row| (row.change.old, row.change.new, row.attribution))
            .collect()
    }

    #[test]
    fn what_follows_on_each_other_is_one_change() {
        let rows = vec![
            row(2, "a", 2, 3, Attribution::Unclear),
            row(1, "a", 1, 2, Attribution::Agent),
        ];
        let whole = (state(1), state(3), Attribution::Unclear);
        assert_eq!(shown(rows), [whole], "from the first to the last");
    }

    /// Other authors' changes in between are left out.
    #[test]
    fn changes_by_others_in_between_are_left_out() {
        let agent = Attribution::Agent;
        let rows = vec![row(1, "a", 1, 2, agent), row(5, "a", 3, 4, agent)];
        let parts = [(state(1), state(2), agent), (state(3), state(4), agent)];
        assert_eq!(shown(rows), parts, "2 became 3 by another hand");
    }

    /// What was made and taken away again is no change.
    #[test]
    fn made_and_taken_away_is_no_change() {
        let agent = Attribution::Agent;
        let rows = vec![row(1, "a", 0, 2, agent), row(2, "a", 2, 0, agent)];
        assert_eq!(shown(rows), [], "nothing is left of it");
    }
}
