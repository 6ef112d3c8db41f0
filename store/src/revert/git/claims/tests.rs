//! Whose each move of git's state is, case by case.

use super::*;
use crate::timeline::evidence::{Reach, Signs, Step, StepStanding, Tool};

/// A second of the tests.
const S: Milliseconds = 1000;

fn seen(snapshot_id: i64, commit: &str, taken_at: Milliseconds) -> SeenGit {
    let state = GitStateRow {
        head: Some(commit.to_owned()),
        branch: Some("refs/heads/main".to_owned()),
        ..GitStateRow::default()
    };
    SeenGit {
        snapshot_id: Some(snapshot_id),
        taken_at,
        state: Some(state),
    }
}

/// A step from one snapshot to another with a tool that runs from 10 to 20; `standing` says how the step ended.
fn worker(session: &str, message_seq: i64, start: i64, finish: Option<i64>) -> Worker {
    let tool = Tool {
        reach: Reach::Anything,
        announced_at: 10 * S,
        ended_at: None,
        ran_for: None,
        waited_at: None,
        is_unheard: false,
    };
    Worker {
        span: StepSpan {
            step_id: format!("{session}{start}"),
            session_id: session.to_owned(),
            agent: "pi".to_owned(),
            message_seq,
            start,
            finish,
            started_at: 10 * S,
            finished_at: finish.map(|_| 20 * S),
            is_undone: false,
        },
        step: Step {
            root: session.to_owned(),
            started_at: 10 * S,
            tells_of_tools: true,
            tools: vec![tool],
            standing: StepStanding::Finished,
            signs: Signs::default(),
            background_since: None,
            died_at: None,
            is_over: false,
        },
    }
}

/// A worker that was cut off, and last heard of at 11.
fn cut(mut worker: Worker) -> Worker {
    worker.step.standing = StepStanding::Cut;
    worker.step.signs.last = 11 * S;
    worker.span.finished_at = Some(4000 * S);
    worker
}

fn moved(old: &str, new: &str, at: Milliseconds) -> RefMove {
    let moment = Moment {
        earliest: at,
        latest: at,
    };
    RefMove {
        old: Some(old.to_owned()),
        new: Some(new.to_owned()),
        moment,
        what: "commit: x".to_owned(),
    }
}

fn since(is_unrecorded: &dyn Fn(Option<i64>, Option<i64>) -> bool) -> UndoneMessages<'_> {
    UndoneMessages {
        session: "s",
        message_seq: 5,
        unclear: Unclear::Keep,
        now: 5000 * S,
        is_unrecorded,
    }
}

fn claims(workers: &[Worker]) -> Vec<GitClaim> {
    let line = [
        seen(1, "a", 10 * S),
        seen(2, "b", 20 * S),
        seen(3, "b", 30 * S),
        seen(4, "c", 40 * S),
    ];
    let is_unrecorded = |from, _| from == Some(1) && workers.is_empty();
    changes(&line, workers, &[], since(&is_unrecorded))
        .into_iter()
        .map(|change| change.claim)
        .collect()
}

fn user() -> GitClaim {
    GitClaim::Keep("the user or another program".to_owned())
}

#[test]
fn a_change_belongs_to_the_step_that_was_open_in_between() {
    let unsure = GitClaim::Keep("the user, or in a step that was not recorded".to_owned());
    assert_eq!(
        claims(&[]),
        [user(), unsure],
        "b to c and a to b, when one was at work; nothing from b to b"
    );
    assert_eq!(
        claims(&[worker("s", 5, 1, Some(2))]),
        [user(), GitClaim::Undo],
        "a to b is the step's"
    );
    assert_eq!(
        claims(&[worker("s", 5, 3, None)]),
        [GitClaim::Undo, user()],
        "an open step goes on up to now"
    );
}

#[test]
fn a_move_without_a_time_is_weighed_as_it_stood_when_it_was_seen() {
    assert_eq!(
        claims(&[cut(worker("s", 5, 1, Some(2)))]),
        [user(), GitClaim::Undo],
        "it was seen nine seconds after the last sign of life; that the revert comes an hour later changes nothing"
    );
}

#[test]
fn what_two_sessions_saw_and_what_came_before_the_point_is_not_undone() {
    let other = "pi (session `t`)".to_owned();
    let both = [worker("s", 5, 1, Some(4)), worker("t", 6, 3, Some(4))];
    assert_eq!(
        claims(&both),
        [GitClaim::Shared(other), GitClaim::Undo],
        "only where both were open"
    );
    let own = GitClaim::Keep("pi (session `s`)".to_owned());
    assert_eq!(
        claims(&[worker("s", 4, 1, Some(4))]),
        [own.clone(), own],
        "of an earlier message"
    );
}

/// The changes of a step that was cut off at 11 and closed at 4000, with HEAD's reflog.
fn of_a_cut_step(log: &[RefMove], unclear: Unclear) -> Vec<(String, String, GitClaim)> {
    let last = log.last().and_then(|line| line.new.clone());
    let line = [
        seen(1, "a", 10 * S),
        seen(2, &last.unwrap_or_default(), 4000 * S),
    ];
    let since = UndoneMessages {
        unclear,
        ..since(&|_, _| false)
    };
    let workers = [cut(worker("s", 5, 1, Some(2)))];
    let changes = changes(&line, &workers, log, since);
    let head = |state: GitStateRow| state.head.unwrap_or_default();
    changes
        .into_iter()
        .map(|change| (head(change.old), head(change.new), change.claim))
        .collect()
}

#[test]
fn a_commit_long_after_the_last_sign_of_life_is_unclear_and_the_agents_own_before_it_is_not() {
    let after = "changed 58 minutes after the agent's last sign of life";
    let unclear = GitClaim::Unclear(after.to_owned());
    let log = [moved("a", "b", 12 * S), moved("b", "u", 3500 * S)];
    let of = |old: &str, new: &str, claim| (old.to_owned(), new.to_owned(), claim);
    assert_eq!(
        of_a_cut_step(&log, Unclear::Keep),
        [of("b", "u", unclear), of("a", "b", GitClaim::Undo)],
        "each for itself, newest first"
    );
    assert_eq!(
        of_a_cut_step(&log, Unclear::Take),
        [of("a", "u", GitClaim::Undo)],
        "`--unclear take`"
    );
}

#[test]
fn a_commit_before_the_tool_began_is_the_users() {
    let workers = [worker("s", 5, 1, Some(2))];
    let at = |at| Moment {
        earliest: at,
        latest: at,
    };
    let since = since(&|_, _| false);
    assert_eq!(claim_at(&workers, at(9 * S), since), user());
    assert_eq!(claim_at(&workers, at(15 * S), since), GitClaim::Undo);
    assert_eq!(claim_at(&workers, at(21 * S), since), user(), "it is over");
    let second = Moment {
        earliest: 9 * S + 500,
        latest: 10 * S + 499,
    };
    assert_eq!(
        claim_at(&workers, second, since),
        GitClaim::Undo,
        "it began in that second, and nothing says that it was somebody else"
    );
}

#[test]
fn a_tool_of_less_than_a_second_has_the_second_in_which_it_ran() {
    let mut short = worker("s", 5, 1, Some(2));
    short.span.started_at = 10_300;
    short.step.tools[0].announced_at = 10_300;
    short.step.tools[0].ended_at = Some(10_310);
    short.span.finished_at = Some(10_320);
    let second = Moment {
        earliest: 10 * S,
        latest: 10_999,
    };
    let alone = [short.clone()];
    let since = since(&|_, _| false);
    assert_eq!(claim_at(&alone, second, since), GitClaim::Undo);
    let mut later = second;
    later.earliest = 10_400;
    assert_eq!(claim_at(&alone, later, since), user(), "it was seen before");
    let mut earlier = second;
    earlier.latest = 10_200;
    assert_eq!(claim_at(&alone, earlier, since), user(), "it was there");
    let mut other = short.clone();
    other.span.session_id = "t".to_owned();
    other.step.root = "t".to_owned();
    for one in [
        &mut other.span.started_at,
        &mut other.step.tools[0].announced_at,
    ] {
        *one = 10_600;
    }
    other.step.tools[0].ended_at = Some(10_610);
    other.span.finished_at = Some(10_620);
    for workers in [[short.clone(), other.clone()], [other, short]] {
        assert!(
            matches!(claim_at(&workers, second, since), GitClaim::Unclear(_)),
            "another agent was at work in that second, too"
        );
    }
}

#[test]
fn the_second_of_a_line_is_narrowed_by_what_the_step_found_and_left() {
    let state = |commit: &str| GitStateRow {
        head: Some(commit.to_owned()),
        branch: Some("refs/heads/main".to_owned()),
        ..GitStateRow::default()
    };
    let change = GitChange {
        old: state("a"),
        new: state("c"),
        claim: GitClaim::Undo,
        span: Some((10_500, Some(20_500))),
    };
    let second = |old: &str, new: &str, from| {
        let mut line = moved(old, new, from);
        line.moment.latest = from + 999;
        line
    };
    let narrow = |line: RefMove| {
        narrowed(
            "refs/heads/main",
            &line,
            std::slice::from_ref(&change),
            &|one, other| one <= other,
        )
    };
    assert_eq!(
        narrow(second("a", "b", 10_000)).earliest,
        10_500,
        "it found `a`"
    );
    assert_eq!(narrow(second("x", "b", 10_000)).earliest, 10_000);
    assert_eq!(
        narrow(second("b", "c", 20_000)).latest,
        20_500,
        "it left `c`"
    );
    assert_eq!(narrow(second("b", "d", 20_000)).latest, 20_999);
}
