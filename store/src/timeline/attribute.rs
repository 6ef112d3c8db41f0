//! Attributes changes to steps. Pure.
//!
//! The snapshots of a workspace form one line, whichever session caused them. A change from one to the next belongs to the
//! steps that were open in between, as far as there is [`evidence`] for it, or to nobody ("outside") if none was open. So
//! every change is recorded once, even if the steps of sub-agents and other sessions overlap:
//!
//! ```text
//! snapshots   s1 ------ s2 ------ s3 ------ s4 ------ s5
//! steps       |---- A ----------- |
//!                       |------------- B ---|
//! belongs to      A      A and B       B     outside
//! ```

use ckpt_schema::ToolKind;

use super::around::{HasStarted, OuterAgent, OuterAgents};
use super::evidence::{self, Changed, Dated, Doubt, Evidence, Reach, Signs, StepStanding, Verdict};
use crate::model::Milliseconds;
use crate::model::attribution::Attribution;
use crate::model::entry::Change;
use crate::model::path::WorkspacePath;
use crate::sessions::{ChangeRow, OpenStep, ToolRow};

/// A step, with what is known about it besides its rows.
#[derive(Clone, Debug)]
pub(crate) struct Acting<'a> {
    pub step: &'a OpenStep,
    /// Whether it is open, and if not, how it ended.
    pub standing: StepStanding,
    /// The signs of its agent's life.
    pub signs: Signs,
    /// Whether it ended earlier and only a command of it still runs in the background.
    pub is_over: bool,
}

/// What changed since the last snapshot.
pub(crate) struct Patch<'a> {
    pub changes: Vec<Change>,
    /// The time of the last change of the changed path, if known.
    pub time: &'a dyn Fn(&Change) -> Option<Dated>,
    /// The tools of agents in workspaces around this one that named files in it, or may have changed any.
    pub outer: &'a [OuterAgent],
    /// Returns whether one agent's process started another's.
    pub has_started: &'a HasStarted<'a>,
    /// Returns whether a path is in a nested workspace in which another agent works.
    pub is_elsewhere: &'a dyn Fn(&WorkspacePath) -> bool,
    /// Whether the workspace's directory was replaced since the newest snapshot.
    pub is_replaced: bool,
    /// The newest snapshot before it.
    pub from: Option<i64>,
    /// The moment at which it was seen.
    pub now: Milliseconds,
}

/// Returns the rows for what changed since the last snapshot. `session` is the one whose event ended the interval. Its newest
/// step is preferred among the steps of one conversation: a sub-agent's and its parent's are open at the same time, and the
/// one that just reported an event is the likeliest author. A revert to a message undoes both.
pub(crate) fn attribute(
    patch: Patch<'_>,
    acting: &[Acting<'_>],
    session: Option<&str>,
) -> Vec<ChangeRow> {
    let (time, is_elsewhere, from) = (patch.time, patch.is_elsewhere, patch.from);
    let (has_started, is_replaced, now) = (patch.has_started, patch.is_replaced, patch.now);
    let is_left = |change: &Change| !acting.iter().any(|one| is_hidden(one.step, &change.path));
    let changes: Vec<Change> = patch.changes.into_iter().filter(is_left).collect();
    // A step whose start nobody saw owns no change.
    let acting: Vec<&Acting<'_>> = acting
        .iter()
        .filter(|one| one.step.row.unprotected.is_none())
        .collect();
    let mut steps: Vec<evidence::Step> = acting.iter().map(|one| step_of(one)).collect();
    let around = OuterAgents::of(patch.outer);
    steps.extend(around.named.iter().cloned());
    let preferred = acting
        .iter()
        .rposition(|one| Some(one.step.row.session_id.as_str()) == session);
    let times: Vec<Option<Dated>> = changes
        .iter()
        .map(|change| if steps.is_empty() { None } else { time(change) })
        .collect();
    let seen: Vec<Changed<'_>> = changes.iter().zip(&times).map(changed).collect();
    let evidence = Evidence::new(&steps, &seen, now);
    let worker = |step: usize| (&steps[step], acting[step].step.life.caller.as_deref());
    changes
        .iter()
        .zip(&seen)
        .zip(&times)
        .flat_map(|((change, seen), time)| {
            let judged = match is_replaced {
                true => replaced(&evidence, acting.len(), preferred),
                false => evidence.judge(*seen, preferred),
            };
            let verdict = match judged {
                Verdict::Agent(step) if is_moved_between(&evidence, step, &change.path, *time) => {
                    Verdict::Unclear(vec![step], Doubt::Moved)
                }
                // If an edit tool of this step had reached there, it would have named the file. What else happens there
                // is the other agent's.
                Verdict::Agent(step)
                    if is_elsewhere(&change.path) && !steps[step].names(&change.path) =>
                {
                    Verdict::Unclear(vec![step], Doubt::Elsewhere)
                }
                Verdict::Agent(step)
                    if step < acting.len()
                        && !steps[step].names(&change.path)
                        && around.contests(worker(step), *seen, now, has_started) =>
                {
                    Verdict::Unclear(vec![step], Doubt::Around)
                }
                verdict => verdict,
            };
            rows_of(change, verdict, &acting, from)
        })
        .collect()
}

/// Returns whose a change is in a directory that took the place of another one. No time in it shows what was done to that
/// one.
fn replaced(evidence: &Evidence<'_>, own: usize, preferred: Option<usize>) -> Verdict {
    match evidence.one_a_root((0..own).collect(), preferred) {
        steps if steps.is_empty() => Verdict::Outside,
        steps => Verdict::Unclear(steps, Doubt::Replaced),
    }
}

/// Returns a change as evidence sees it.
fn changed<'a>((change, time): (&'a Change, &Option<Dated>)) -> Changed<'a> {
    Changed {
        path: &change.path,
        at: time.map(|time| time.at),
    }
}

/// Returns whether a path may have been moved during a pause between two tools of a step.
fn is_moved_between(
    evidence: &Evidence<'_>,
    step: usize,
    path: &WorkspacePath,
    time: Option<Dated>,
) -> bool {
    let span = time.and_then(|time| Some((time.since?, time.at)));
    span.is_some_and(|(since, at)| evidence.paused(step, path, since, at))
}

fn rows_of(
    change: &Change,
    verdict: Verdict,
    acting: &[&Acting<'_>],
    from: Option<i64>,
) -> Vec<ChangeRow> {
    let row = |step: Option<usize>, attribution, reason: Option<String>| ChangeRow {
        id: None,
        step_id: step.map(|step| acting[step].step.row.id.clone()),
        attribution,
        reason,
        from_snapshot_id: from,
        to_snapshot_id: None,
        change: change.clone(),
        lines: None,
    };
    match in_this_workspace(verdict, acting.len()) {
        Verdict::Outside => vec![row(None, Attribution::Outside, None)],
        Verdict::Agent(step) => vec![row(Some(step), Attribution::Agent, None)],
        Verdict::Shared(steps) => steps
            .into_iter()
            .map(|step| row(Some(step), Attribution::Shared, None))
            .collect(),
        Verdict::Unclear(steps, doubt) => steps
            .into_iter()
            .map(|step| row(Some(step), Attribution::Unclear, Some(doubt.to_string())))
            .collect(),
    }
}

/// Returns what a verdict says about the workspace that the first `own` steps belong to. A change by a step in another
/// workspace is reported there; here it is nobody's.
fn in_this_workspace(verdict: Verdict, own: usize) -> Verdict {
    let only_own = |mut steps: Vec<usize>| {
        steps.retain(|step| *step < own);
        steps
    };
    match verdict {
        Verdict::Agent(step) if step >= own => Verdict::Outside,
        Verdict::Shared(steps) => Verdict::Shared(only_own(steps)),
        Verdict::Unclear(steps, doubt) => match only_own(steps) {
            steps if steps.is_empty() => Verdict::Outside,
            steps => Verdict::Unclear(steps, doubt),
        },
        Verdict::Agent(_) | Verdict::Outside => verdict,
    }
}

/// Returns a step as the evidence weighs it.
pub(super) fn step_of(acting: &Acting<'_>) -> evidence::Step {
    let step = acting.step;
    let in_background = step.tools.iter().filter(|tool| tool.is_in_background);
    evidence::Step {
        root: step.root_session_id.clone(),
        started_at: step.started_at,
        tells_of_tools: step.tool_events,
        tools: step.tools.iter().map(tool_of).collect(),
        standing: acting.standing,
        signs: acting.signs,
        background_since: in_background.map(|tool| tool.started_at).min(),
        died_at: acting.signs.is_dead.then_some(acting.signs.last),
        is_over: acting.is_over,
    }
}

/// Returns a tool as evidence sees it. An edit tool without a known file in the workspace may have changed any.
pub(super) fn tool_of(tool: &ToolRow) -> evidence::Tool {
    let reach = match tool.kind {
        Some(ToolKind::Read) => Reach::Nothing,
        _ if !tool.paths.is_empty() => Reach::Files(tool.paths.clone()),
        Some(ToolKind::Edit) | None => Reach::Anything,
    };
    evidence::Tool {
        reach,
        announced_at: tool.started_at,
        ended_at: tool.finished_at,
        ran_for: tool.ran_for,
        waited_at: tool.waited_at,
    }
}

/// Returns whether a step named a file that an ignore rule hides. Such a file comes into view because a tool names it,
/// and goes out of view again, so the difference between two snapshots may look like a creation or a deletion. Instead,
/// its state is noted when the tool names it, and compared once, when the step closes.
fn is_hidden(step: &OpenStep, path: &WorkspacePath) -> bool {
    step.paths
        .iter()
        .any(|named| named.hidden_before.is_some() && named.path == *path)
}

/// Joins the changes of one step, oldest first, that continue each other; returns the rows to remove and the rows to add.
///
/// A file that was changed and changed back counts as unchanged.
pub(crate) fn consolidate(rows: &[ChangeRow]) -> (Vec<i64>, Vec<ChangeRow>) {
    /// The rows that were joined, and the change that they make together.
    type Joined = (Vec<Option<i64>>, ChangeRow);
    let mut chains: std::collections::BTreeMap<&WorkspacePath, Vec<Joined>> =
        std::collections::BTreeMap::new();
    for row in rows {
        let chain = chains.entry(&row.change.path).or_default();
        match chain.last_mut() {
            Some((ids, last))
                // Otherwise somebody else's change lies in between, and undoing the two as one would undo that, too.
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
        let stays = ids.len() == 1 && row.id.is_some();
        if stays {
            continue;
        }
        removed.extend(ids.into_iter().flatten());
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
    use crate::sessions::{OuterTool, StepPath, StepRow};

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

    /// A step of a separate session, with a tool at work.
    fn step(id: &str, root: &str) -> OpenStep {
        OpenStep {
            row: StepRow {
                id: id.to_owned(),
                session_id: format!("session of {id}"),
                message_id: "m".to_owned(),
                start_snapshot_id: Some(1),
                ..StepRow::default()
            },
            root_session_id: root.to_owned(),
            tool_events: true,
            has_tools: true,
            has_running: true,
            tools: vec![ToolRow::default()],
            ..OpenStep::default()
        }
    }

    fn naming(mut step: OpenStep, name: &str, hidden_before: Option<State>) -> OpenStep {
        step.tools[0].paths.push(path(name));
        step.paths.push(StepPath {
            path: path(name),
            hidden_before,
        });
        step
    }

    #[test]
    fn a_change_by_a_step_of_another_workspace_is_nobodys_here() {
        let here = |verdict| in_this_workspace(verdict, 2);
        assert_eq!(here(Verdict::Agent(1)), Verdict::Agent(1));
        assert_eq!(here(Verdict::Agent(2)), Verdict::Outside);
        assert_eq!(here(Verdict::Shared(vec![0, 2])), Verdict::Shared(vec![0]));
        let doubt = Doubt::Elsewhere;
        let unclear = |steps: &[usize]| Verdict::Unclear(steps.to_vec(), doubt);
        assert_eq!(here(unclear(&[2, 1])), unclear(&[1]));
        assert_eq!(here(unclear(&[2, 3])), Verdict::Outside);
    }

    fn rows_with(open: &[OpenStep], is_elsewhere: bool) -> Vec<ChangeRow> {
        let acting: Vec<_> = open
            .iter()
            .map(|step| Acting {
                step,
                standing: StepStanding::Open,
                signs: Signs::default(),
                is_over: false,
            })
            .collect();
        let patch = Patch {
            changes: vec![change("f", state(1), state(2))],
            time: &|_| Some(Dated { at: 5, since: None }),
            outer: &[],
            has_started: &|_, _| None,
            is_elsewhere: &|_| is_elsewhere,
            is_replaced: false,
            from: Some(1),
            now: 10,
        };
        attribute(patch, &acting, None)
    }

    #[test]
    fn in_a_directory_that_was_replaced_everything_is_unclear_whatever_its_time() {
        let own = [step("a", "r"), step("b", "r"), step("c", "other")];
        for at in [Some(0), Some(5), Some(9), None] {
            let acting: Vec<_> = own.iter().map(cut).collect();
            let patch = Patch {
                changes: vec![change("f", state(1), state(2))],
                time: &|_| at.map(|at| Dated { at, since: None }),
                outer: &[],
                has_started: &|_, _| None,
                is_elsewhere: &|_| false,
                is_replaced: true,
                from: Some(1),
                now: 10,
            };
            let rows = attribute(patch, &acting, None);
            let steps: Vec<_> = rows.iter().map(|row| row.step_id.as_deref()).collect();
            assert_eq!(steps, [Some("b"), Some("c")], "one for each conversation");
            assert!(
                rows.iter()
                    .all(|row| row.attribution == Attribution::Unclear),
                "{at:?}"
            );
        }
    }

    fn cut(step: &OpenStep) -> Acting<'_> {
        Acting {
            step,
            standing: StepStanding::Cut,
            signs: Signs::default(),
            is_over: false,
        }
    }

    #[test]
    fn what_a_tool_of_an_agent_around_the_workspace_named_is_not_taken_by_a_shell_in_it() {
        let inner = step("a", "r");
        let acting = [Acting {
            step: &inner,
            standing: StepStanding::Open,
            signs: Signs::default(),
            is_over: false,
        }];
        let outer = OuterTool {
            session_id: "outer".to_owned(),
            tool: ToolRow {
                paths: vec![path("f")],
                ..ToolRow::default()
            },
            ..OuterTool::default()
        };
        let patch = Patch {
            changes: vec![
                change("f", state(1), state(2)),
                change("g", state(1), state(2)),
            ],
            time: &|_| Some(Dated { at: 5, since: None }),
            outer: &[(outer, Signs::default())],
            has_started: &|_, _| None,
            is_elsewhere: &|_| false,
            is_replaced: false,
            from: Some(1),
            now: 10,
        };
        let rows = attribute(patch, &acting, None);
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.attribution, row.step_id.as_deref()))
            .collect();
        assert_eq!(
            told,
            [
                (Attribution::Outside, None),
                (Attribution::Agent, Some("a"))
            ],
            "the outer one named `f` alone"
        );
    }

    fn owners_of(open: &[OpenStep]) -> Vec<(Option<String>, Attribution)> {
        rows_with(open, false)
            .into_iter()
            .map(|row| (row.step_id, row.attribution))
            .collect()
    }

    #[test]
    fn in_a_workspace_of_its_own_only_a_tool_that_names_the_file_takes_it_from_the_agent_there() {
        let rows = rows_with(&[step("a", "r")], true);
        assert_eq!(
            rows[0].attribution,
            Attribution::Unclear,
            "a shell of the outer one"
        );
        assert!(rows[0].reason.is_some(), "and it says why");
        let rows = rows_with(&[naming(step("a", "r"), "f", None)], true);
        assert_eq!(rows[0].attribution, Attribution::Agent, "it names it");
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
            tools: Vec::new(),
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
            id: (id != 0).then_some(id),
            step_id: Some("a".into()),
            attribution: Attribution::Agent,
            reason: None,
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
