//! A reference model of a day: a person and one to three agents at work on the same files, with everything that goes
//! wrong in between. What really happened is known here, and what the evidence makes of it is held against that.

mod model;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use self::model::{Count, Model};
use crate::model::Milliseconds;

const MORNING: Milliseconds = 1_700_000_000_000;
const SECOND: Milliseconds = 1_000;
const MINUTE: Milliseconds = 60 * SECOND;
const FILES: usize = 6;

/// What an agent reports.
#[derive(Clone, Copy, Debug)]
struct Habits {
    tells_of_tools: bool,
    tells_durations: bool,
    tells_waits: bool,
    /// Whether Esc leaves a mark in its transcript.
    marks: bool,
}

/// The end of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Well,
    /// It ends, and the event of it is lost.
    Lost,
    /// The user presses Esc in the middle of it.
    Esc,
    /// The user denies it; it never runs.
    Denied,
    /// The agent's process dies.
    Dies,
    /// It leaves a command in the background that writes for so long.
    Background(Milliseconds),
}

#[derive(Clone, Debug)]
struct ToolPlan {
    /// The files that it names; empty for a shell.
    names: Vec<usize>,
    /// The files that it writes, and when, in thousandths of its run.
    writes: Vec<(usize, i64)>,
    waits: Option<Milliseconds>,
    runs: Milliseconds,
    end: End,
    /// The delay of the hook that reports the end.
    late: Milliseconds,
}

/// What happens in a day, one after the other, of one agent.
#[derive(Clone, Debug)]
enum Act {
    /// The agent is idle or thinks.
    Pause(Milliseconds),
    Message,
    Step(Vec<ToolPlan>),
    TurnEnd,
}

#[derive(Clone, Debug)]
struct Day {
    agents: Vec<(Habits, Vec<Act>)>,
    /// When the person saves which file.
    edits: Vec<(Milliseconds, usize)>,
}

fn habits() -> impl Strategy<Value = Habits> {
    (
        prop::bool::weighted(0.75),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(
            |(tells_of_tools, tells_durations, tells_waits, marks)| Habits {
                tells_of_tools,
                tells_durations,
                tells_waits,
                marks,
            },
        )
}

/// How the tools of a day end.
#[derive(Clone, Copy, Debug)]
enum Luck {
    /// Every third in some other way than well.
    Bad,
    /// As they do: now and then somebody presses Esc or says no, an event is lost once a day.
    Ordinary,
}

fn tool_plan(luck: Luck) -> impl Strategy<Value = ToolPlan> {
    let [well, lost, esc, denied, dies, background] = match luck {
        Luck::Bad => [10, 1, 2, 1, 1, 1],
        Luck::Ordinary => [940, 5, 30, 20, 5, 0],
    };
    let mut ends = vec![
        (well, Just(End::Well).boxed()),
        (lost, Just(End::Lost).boxed()),
        (esc, Just(End::Esc).boxed()),
        (denied, Just(End::Denied).boxed()),
        (dies, Just(End::Dies).boxed()),
    ];
    if background > 0 {
        let lasts = (MINUTE..30 * MINUTE).prop_map(End::Background);
        ends.push((background, lasts.boxed()));
    }
    let end = prop::strategy::Union::new_weighted(ends);
    let names = prop_oneof![Just(Vec::new()), prop::collection::vec(0..FILES, 1..3),];
    let waits = match luck {
        Luck::Bad => prop::option::weighted(0.3, SECOND..60 * MINUTE),
        Luck::Ordinary => prop::option::weighted(0.1, SECOND..5 * MINUTE),
    };
    let runs = prop_oneof![3 => 10..5 * SECOND, 1 => SECOND..20 * MINUTE];
    let writes = prop::collection::vec((0..FILES, 0..1000i64), 0..4);
    (names, writes, waits, runs, end, 0..400i64).prop_map(
        |(names, mut writes, waits, runs, end, late)| {
            if !names.is_empty() {
                writes.retain(|(file, _)| names.contains(file));
            }
            ToolPlan {
                names,
                writes,
                waits,
                runs,
                end,
                late,
            }
        },
    )
}

fn day(luck: Luck) -> impl Strategy<Value = Day> {
    let act = prop_oneof![
        3 => (10..90 * MINUTE).prop_map(Act::Pause),
        3 => (10..10 * SECOND).prop_map(Act::Pause),
        2 => Just(Act::Message),
        4 => prop::collection::vec(tool_plan(luck), 1..3).prop_map(Act::Step),
        2 => Just(Act::TurnEnd),
    ];
    let agent = (habits(), prop::collection::vec(act, 1..14));
    let edits = prop::collection::vec((0..8 * 60 * MINUTE, 0..FILES), 0..40);
    (prop::collection::vec(agent, 1..4), edits).prop_map(|(agents, edits)| Day { agents, edits })
}

/// In a day no edit of the person's is taken without a tool that could have made it and nothing
/// of an agent's is untold.
#[test]
fn in_a_day_every_change_finds_its_owner() {
    let mut runner = TestRunner::new(Config {
        cases: 2_000,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    });
    let days = runner.run(&day(Luck::Bad), |day| Model::play(&day).map(|_| ()));
    if let Err(error) = days {
        panic!("{error}");
    }
}

/// Unclear is rare where agents tell of their tools.
#[test]
fn unclear_is_rare_if_tools_are_reported() {
    let mut runner = TestRunner::deterministic();
    let mut counts = [Count::default(), Count::default()];
    for _ in 0..2_000 {
        let mut day = day(Luck::Ordinary)
            .new_tree(&mut runner)
            .expect("a day")
            .current();
        for (at, tells) in [true, false].into_iter().enumerate() {
            for (habits, _) in &mut day.agents {
                *habits = Habits {
                    tells_of_tools: tells,
                    tells_durations: tells,
                    tells_waits: tells,
                    marks: tells,
                };
            }
            let count = Model::play(&day).expect("the laws hold");
            counts[at].add(count);
        }
    }
    let share = |count: &Count| count.unclear * 1000 / count.all;
    let [telling, silent] = counts.each_ref().map(share);
    assert!(
        telling < 60 && telling < silent,
        "of a thousand changes {telling} and {silent}: {counts:?}"
    );
    let is_mostly_the_persons = |count: &Count| count.persons * 4 > count.unclear * 3;
    assert!(counts.iter().all(is_mostly_the_persons), "{counts:?}");
}
