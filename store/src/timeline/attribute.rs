//! Whose a change is: the pure part of recording.
//!
//! The snapshots of a workspace stand in one line, whoever took them. What changed from one to the next belongs to the steps
//! that were open in between; to nobody ("outside") where none was. So every change is recorded once, however steps of
//! sub-agents and of other sessions overlap:
//!
//! ```text
//! snapshots   s1 ------ s2 ------ s3 ------ s4 ------ s5
//! steps       |---- A ----------- |
//!                       |------------- B ---|
//! belongs to      A      A and B       B     outside
//! ```

use crate::model::attribution::Attribution;
use crate::model::entry::Change;
use crate::model::path::WorkspacePath;
use crate::sessions::{ChangeRow, OpenStep};

/// Returns the rows for what changed since the last snapshot. `session` is whose event ended the interval; its step is
/// preferred among those of one conversation.
pub(crate) fn attribute(
    patch: Vec<Change>,
    open: &[OpenStep],
    session: Option<&str>,
    from: Option<i64>,
) -> Vec<ChangeRow> {
    let acting: Vec<&OpenStep> = open.iter().filter(|step| is_acting(step)).collect();
    patch
        .into_iter()
        .filter(|change| !open.iter().any(|step| is_hidden(step, &change.path)))
        .flat_map(|change| {
            let owners = owners(&acting, &change.path, session);
            let attribution = match owners.len() {
                0 => Attribution::Outside,
                1 => Attribution::Agent,
                _ => Attribution::Shared,
            };
            let steps: Vec<Option<String>> = if owners.is_empty() {
                vec![None]
            } else {
                owners
                    .iter()
                    .map(|step| Some(step.row.id.clone()))
                    .collect()
            };
            steps.into_iter().map(move |step_id| ChangeRow {
                id: 0,
                step_id,
                attribution,
                from_snapshot_id: from,
                to_snapshot_id: None,
                change: change.clone(),
                lines: None,
            })
        })
        .collect()
}

/// While the model only thinks, nothing that changes is the agent's; neither can a step whose start nobody saw own a change.
fn is_acting(step: &OpenStep) -> bool {
    step.row.unprotected.is_none() && (step.has_tools || !step.tool_events)
}

/// A file that an ignore rule hides is compared once, when the step that named it closes.
fn is_hidden(step: &OpenStep, path: &WorkspacePath) -> bool {
    step.paths
        .iter()
        .any(|named| named.hidden_before.is_some() && named.path == *path)
}

/// Returns one step a conversation; only one where the tools that named the file settle it.
fn owners<'a>(
    acting: &[&'a OpenStep],
    path: &WorkspacePath,
    session: Option<&str>,
) -> Vec<&'a OpenStep> {
    let naming: Vec<&OpenStep> = acting
        .iter()
        .copied()
        .filter(|step| names(step, path))
        .collect();
    let candidates = if naming.is_empty() { acting } else { &naming };
    let mut roots: Vec<&str> = candidates
        .iter()
        .map(|step| step.root_session_id.as_str())
        .collect();
    roots.sort_unstable();
    roots.dedup();
    roots
        .into_iter()
        .filter_map(|root| step_of_root(candidates, root, session))
        .collect()
}

fn step_of_root<'a>(
    steps: &[&'a OpenStep],
    root: &str,
    session: Option<&str>,
) -> Option<&'a OpenStep> {
    let mut of_root = steps
        .iter()
        .copied()
        .filter(|step| step.root_session_id == root);
    let own = of_root
        .clone()
        .find(|step| Some(step.row.session_id.as_str()) == session);
    own.or_else(|| of_root.next_back())
}

fn names(step: &OpenStep, path: &WorkspacePath) -> bool {
    step.paths.iter().any(|named| named.path == *path)
}

/// Joins the changes of one step, oldest first, that continue each other; returns the rows to remove and the rows to add.
///
/// A file that was changed and changed back is no change.
pub(crate) fn consolidate(rows: &[ChangeRow]) -> (Vec<i64>, Vec<ChangeRow>) {
    let mut chains: std::collections::BTreeMap<&WorkspacePath, Vec<(Vec<i64>, ChangeRow)>> =
        std::collections::BTreeMap::new();
    for row in rows {
        let chain = chains.entry(&row.change.path).or_default();
        match chain.last_mut() {
            Some((ids, last))
                if last.change.new == row.change.old && last.attribution == row.attribution =>
            {
                ids.push(row.id);
                last.change.new = row.change.new;
                last.to_snapshot_id = row.to_snapshot_id;
                last.lines = None;
            }
            _ => chain.push((vec![row.id], row.clone())),
        }
    }
    let mut removed = Vec::new();
    let mut added = Vec::new();
    for (ids, row) in chains.into_values().flatten() {
        let stays = ids.len() == 1 && row.id != 0;
        if stays {
            continue;
        }
        removed.extend(ids.into_iter().filter(|id| *id != 0));
        if row.change.old != row.change.new {
            added.push(row);
        }
    }
    (removed, added)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::entry::{Entry, Mode, ObjectId, State};
    use crate::sessions::{StepPath, StepRow};

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::new(text).expect("legal")
    }

    fn state(byte: u8) -> State {
        Some(Entry::stored(Mode::file(0o644), ObjectId::new([byte; 20])))
    }

    fn change(name: &str, old: State, new: State) -> Change {
        Change {
            path: path(name),
            old,
            new,
        }
    }

    /// A step of its own session, with a tool at work.
    fn step(id: &str, root: &str) -> OpenStep {
        OpenStep {
            row: StepRow {
                seq: 0,
                id: id.to_owned(),
                session_id: format!("session of {id}"),
                message_id: "m".to_owned(),
                agent_id: None,
                recovered: false,
                unprotected: None,
                start_snapshot_id: Some(1),
                finish_snapshot_id: None,
            },
            root_session_id: root.to_owned(),
            tool_events: true,
            last_event_at: 0,
            has_tools: true,
            has_running: true,
            paths: Vec::new(),
        }
    }

    fn naming(mut step: OpenStep, name: &str, hidden_before: Option<State>) -> OpenStep {
        step.paths.push(StepPath {
            path: path(name),
            hidden_before,
        });
        step
    }

    fn owners_of(open: &[OpenStep]) -> Vec<(Option<String>, Attribution)> {
        let rows = attribute(vec![change("f", state(1), state(2))], open, None, Some(1));
        rows.into_iter()
            .map(|row| (row.step_id, row.attribution))
            .collect()
    }

    #[test]
    fn what_changes_while_no_step_is_open_is_outside() {
        assert_eq!(
            owners_of(&[]),
            [(None, Attribution::Outside)],
            "kept in the history, and nobody's"
        );
    }

    #[test]
    fn what_changes_while_the_model_only_thinks_is_outside() {
        let thinking = OpenStep {
            has_tools: false,
            has_running: false,
            ..step("a", "r")
        };
        assert_eq!(
            owners_of(std::slice::from_ref(&thinking)),
            [(None, Attribution::Outside)],
            "no tool has started"
        );
        let without_tool_events = OpenStep {
            tool_events: false,
            ..thinking
        };
        assert_eq!(
            owners_of(&[without_tool_events]),
            [(Some("a".into()), Attribution::Agent)],
            "its agent never says"
        );
    }

    #[test]
    fn steps_of_one_conversation_do_not_share_but_the_newest_has_it() {
        let open = [step("parent", "r"), step("child", "r")];
        assert_eq!(
            owners_of(&open),
            [(Some("child".into()), Attribution::Agent)],
            "one row, so one undoing"
        );
    }

    #[test]
    fn a_change_that_two_sessions_saw_is_shared_unless_a_tool_named_it() {
        let open = [step("a", "r1"), step("b", "r2")];
        let both = [
            (Some("a".into()), Attribution::Shared),
            (Some("b".into()), Attribution::Shared),
        ];
        assert_eq!(owners_of(&open), both, "nobody can tell");
        let open = [step("a", "r1"), naming(step("b", "r2"), "f", None)];
        assert_eq!(
            owners_of(&open),
            [(Some("b".into()), Attribution::Agent)],
            "an edit tool of b named it"
        );
    }

    #[test]
    fn a_step_whose_start_nobody_saw_owns_nothing() {
        let mut unprotected = step("a", "r");
        unprotected.row.unprotected = Some("disk full".into());
        assert_eq!(
            owners_of(&[unprotected]),
            [(None, Attribution::Outside)],
            "it could as well be the user's"
        );
    }

    #[test]
    fn a_file_that_an_ignore_rule_hides_is_left_to_the_end_of_the_step_that_named_it() {
        assert_eq!(
            owners_of(&[naming(step("a", "r"), "f", Some(None))]),
            [],
            "it is compared once, with what it was"
        );
    }

    fn row(id: i64, name: &str, old: State, new: State) -> ChangeRow {
        ChangeRow {
            id,
            step_id: Some("a".into()),
            attribution: Attribution::Agent,
            from_snapshot_id: None,
            to_snapshot_id: None,
            change: change(name, old, new),
            lines: None,
        }
    }

    #[test]
    fn a_file_changed_and_changed_back_within_a_step_gives_no_change() {
        let rows = [
            row(1, "f", state(1), state(2)),
            row(0, "f", state(2), state(1)),
        ];
        assert_eq!(
            consolidate(&rows),
            (vec![1], vec![]),
            "the stored half goes, and nothing comes"
        );
    }

    #[test]
    fn changes_that_follow_on_each_other_become_one() {
        let rows = [
            row(1, "f", None, state(1)),
            row(2, "g", None, state(1)),
            row(0, "f", state(1), state(2)),
        ];
        let (removed, added) = consolidate(&rows);
        assert_eq!(removed, [1], "g has nothing to be joined with");
        assert_eq!(
            added
                .iter()
                .map(|row| row.change.clone())
                .collect::<Vec<_>>(),
            [change("f", None, state(2))],
            "start to finish"
        );
    }

    #[test]
    fn changes_with_somebody_elses_in_between_stay_apart() {
        let rows = [
            row(1, "f", state(1), state(2)),
            row(0, "f", state(3), state(4)),
        ];
        let (removed, added) = consolidate(&rows);
        assert!(
            removed.is_empty(),
            "the stored one still says what happened"
        );
        assert_eq!(added.len(), 1, "and the new one is added");
    }
}
