//! The counts of lines that changes have already, so that no plan counts them again. Pure.

use std::collections::HashMap;

use crate::model::entry::State;
use crate::sessions::ChangeRow;

/// The numbers of lines that changes add and remove, by the states before and after.
pub(crate) type Lines = HashMap<(State, State), (u64, u64)>;

/// Returns the counts that were recorded with changes, for both directions.
pub(crate) fn known_lines<'a>(rows: impl Iterator<Item = &'a ChangeRow>) -> Lines {
    let both_ways = |row: &ChangeRow| {
        let (old, new) = (row.change.old, row.change.new);
        row.lines
            .map(|(added, taken)| [((old, new), (added, taken)), ((new, old), (taken, added))])
    };
    rows.filter_map(both_ways).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::attribution::Attribution;
    use crate::model::entry::{Change, Entry, Mode, ObjectId};
    use crate::model::path::WorkspacePath;

    /// Lines are known forth and back where they were counted.
    #[test]
    fn counted_lines_are_known_both_ways() {
        let state = |byte| {
            Some(Entry {
                mode: Mode::file(0o644),
                blob: Some(ObjectId::new([byte; 20])),
            })
        };
        let row = |old, new, lines| ChangeRow {
            id: None,
            step_id: None,
            attribution: Attribution::Agent,
            reason: None,
            from_snapshot_id: None,
            to_snapshot_id: None,
            change: Change {
                path: WorkspacePath::new("a").expect("a name"),
                old,
                new,
            },
            lines,
        };
        let rows = [
            row(state(1), state(2), Some((5, 3))),
            row(None, state(1), Some((7, 0))),
            row(state(3), None, None),
        ];
        let known = known_lines(rows.iter());
        assert_eq!(known[&(state(1), state(2))], (5, 3));
        assert_eq!(known[&(state(2), state(1))], (3, 5), "the way back");
        assert_eq!(
            known[&(state(1), None)],
            (0, 7),
            "what was made is taken away"
        );
        assert_eq!(
            known.len(),
            4,
            "what has no lines is looked at when it is asked for"
        );
    }
}
