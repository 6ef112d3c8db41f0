//! What may happen on a day, at random.

use proptest::prelude::*;

use crate::day::{MINUTE, SECOND};

/// How many files there are.
pub const FILES: usize = 4;

/// What happens, one thing after the other.
#[derive(Clone, Debug)]
pub enum Act {
    Wait(i64),
    /// The person saves a file.
    Edit(usize),
    Message(usize),
    /// A step of the agent, or of a sub-agent of it; its start is lost where that is said.
    StepStart {
        agent: usize,
        is_sub: bool,
        is_lost: bool,
    },
    /// A tool begins: a shell, or one that names a file; it waits for permission where that is said.
    ToolStart {
        agent: usize,
        names: Option<usize>,
        waits: bool,
    },
    /// The tool that runs writes a file.
    Write(usize, usize),
    ToolEnd(usize, End),
    /// A command that the agent left in the background writes a file.
    WriteBehind(usize, usize),
    /// Such commands of the agent end; it says so with its turn.
    BehindEnds(usize),
    StepFinish {
        agent: usize,
        is_lost: bool,
    },
    TurnEnd(usize),
    /// A sub-agent of the agent works in another directory.
    Elsewhere(usize),
    /// The person types a command of ours.
    Command(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Well,
    Lost,
    Esc,
    Denied,
    Dies,
    /// It leaves a command in the background, and says so.
    Behind,
}

fn act() -> impl Strategy<Value = Act> {
    let agent = || 0..3usize;
    let end = prop_oneof![
        8 => Just(End::Well),
        1 => Just(End::Lost),
        1 => Just(End::Esc),
        1 => Just(End::Denied),
        1 => Just(End::Dies),
        1 => Just(End::Behind),
    ];
    prop_oneof![
        3 => (10..5 * SECOND).prop_map(Act::Wait),
        1 => (SECOND..60 * MINUTE).prop_map(Act::Wait),
        4 => (0..FILES).prop_map(Act::Edit),
        1 => agent().prop_map(Act::Message),
        3 => (agent(), prop::bool::weighted(0.2), prop::bool::weighted(0.1))
            .prop_map(|(agent, is_sub, is_lost)| Act::StepStart { agent, is_sub, is_lost }),
        6 => (agent(), prop::option::of(0..FILES), prop::bool::weighted(0.15))
            .prop_map(|(agent, names, waits)| Act::ToolStart { agent, names, waits }),
        8 => (agent(), 0..FILES).prop_map(|(agent, file)| Act::Write(agent, file)),
        1 => (agent(), 0..FILES).prop_map(|(agent, file)| Act::WriteBehind(agent, file)),
        1 => agent().prop_map(Act::BehindEnds),
        5 => (agent(), end).prop_map(|(agent, end)| Act::ToolEnd(agent, end)),
        2 => (agent(), prop::bool::weighted(0.1))
            .prop_map(|(agent, is_lost)| Act::StepFinish { agent, is_lost }),
        1 => agent().prop_map(Act::TurnEnd),
        1 => agent().prop_map(Act::Elsewhere),
        1 => agent().prop_map(Act::Command),
    ]
}

#[derive(Clone, Debug)]
pub struct Day {
    /// Of each agent, whether it tells of its tools.
    pub tells: Vec<bool>,
    pub acts: Vec<Act>,
}

pub fn day() -> impl Strategy<Value = Day> {
    let tells = prop::collection::vec(prop::bool::weighted(0.75), 1..4);
    (tells, prop::collection::vec(act(), 4..60)).prop_map(|(tells, acts)| Day { tells, acts })
}
