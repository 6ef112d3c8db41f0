//! Whose changes are recorded as, and how the changes of a step are joined.

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

fn dated(at: Milliseconds) -> Dated {
    Dated {
        at,
        since: None,
        is_stale: false,
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

/// A change by a step of another workspace is nobodys here.
#[test]
fn change_by_another_workspaces_step_is_outside() {
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
        .map(|step| StepActivity {
            step,
            standing: StepStanding::Open,
            signs: Signs::default(),
            is_over: false,
        })
        .collect();
    let patch = Patch {
        changes: vec![change("f", state(1), state(2))],
        time: &|_| Some(dated(5)),
        outer: &[],
        has_started: &|_, _| None,
        is_elsewhere: &|_, _| is_elsewhere,
        is_replaced: false,
        from: Some(1),
        ended: &[],
        looked_at: None,
        now: 10,
    };
    attribute(patch, &acting, None)
}

/// In a directory that was replaced everything is unclear whatever its time.
#[test]
fn replaced_directory_makes_everything_unclear() {
    let own = [step("a", "r"), step("b", "r"), step("c", "other")];
    for at in [Some(0), Some(5), Some(9), None] {
        let acting: Vec<_> = own.iter().map(cut).collect();
        let patch = Patch {
            changes: vec![change("f", state(1), state(2))],
            time: &|_| at.map(dated),
            outer: &[],
            has_started: &|_, _| None,
            is_elsewhere: &|_, _| false,
            is_replaced: true,
            from: Some(1),
            ended: &[],
            looked_at: None,
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

fn cut(step: &OpenStep) -> StepActivity<'_> {
    StepActivity {
        step,
        standing: StepStanding::Cut,
        signs: Signs::default(),
        is_over: false,
    }
}

/// What a tool of an agent around the workspace named is not taken by a shell in it.
#[test]
fn outer_tool_that_names_a_file_has_it() {
    let inner = step("a", "r");
    let acting = [StepActivity {
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
            change("g", state(1), state(3)),
        ],
        time: &|_| Some(dated(5)),
        outer: &[(outer, Signs::default())],
        has_started: &|_, _| None,
        is_elsewhere: &|_, _| false,
        is_replaced: false,
        from: Some(1),
        ended: &[],
        looked_at: None,
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

/// In a workspace of its own only a tool that names the file takes it from the agent there.
#[test]
fn inner_agents_file_needs_a_tools_name() {
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

/// What changes while no step is open is outside.
#[test]
fn change_without_an_open_step_is_outside() {
    assert_eq!(
        owners_of(&[]),
        [(None, Attribution::Outside)],
        "kept in the history, and nobody's"
    );
}

/// What changes while the model only thinks is outside.
#[test]
fn change_while_the_model_thinks_is_outside() {
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

/// Steps of one conversation do not share but the newest has it.
#[test]
fn newest_step_of_one_conversation_has_the_change() {
    let open = [step("parent", "r"), step("child", "r")];
    assert_eq!(
        owners_of(&open),
        [(Some("child".into()), Attribution::Agent)],
        "one row, so one undoing"
    );
}

/// A change that two sessions saw is shared unless a tool named it.
#[test]
fn change_seen_by_two_sessions_is_shared() {
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

/// A file that an ignore rule hides is left to the end of the step that named it.
#[test]
fn hidden_named_file_waits_for_its_steps_end() {
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

/// A file changed and changed back within a step gives no change.
#[test]
fn round_trip_in_a_step_is_no_change() {
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
