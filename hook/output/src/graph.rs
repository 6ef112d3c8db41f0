//! Everything that happened in a workspace as one timeline: what is in effect is on the main line, and what was
//! reverted beside it.

use std::collections::HashMap;

use ckpt_schema::report::{
    MessageReport, MessageState, OperationEntry, TimelineEntry, TimelineReport,
};
use ckpt_store::model::number::count;

use super::View;
use super::agent_names::AgentNames;
use super::history;
use super::text::{fit, short};

/// The symbol at the left of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Here,
    Live,
    Aside,
    Joins,
    Operation,
    Outside,
}

impl Mark {
    fn text(self) -> &'static str {
        match self {
            Self::Here => "@  ",
            Self::Live => "●  ",
            Self::Aside => "│ ○",
            Self::Joins => "├─╯",
            Self::Operation => "◆  ",
            Self::Outside => "~  ",
        }
    }
}

/// How a narrow row names its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowNames {
    /// By its id, which is typed.
    Ids,
    /// By its time and agent: it is chosen with a cursor.
    Times,
}

/// Returns the timeline, newest first, with the present position of the workspace at its top.
pub fn timeline(report: &TimelineReport, view: &View) -> String {
    let mut entries = report.entries.clone();
    let all = entries.len();
    let undos = match view.verbose {
        true => HashMap::new(),
        false => history::fold_undos(&mut entries),
    };
    let rows = rows(&entries, &undos, RowNames::Ids, view).into_iter();
    let text: String = rows.map(|row| row.words + "\n").collect();
    text + &total(&entries, all - entries.len())
}

/// A row of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineRow {
    /// Its text with colours, no wider than the view.
    pub words: String,
    /// The index of the row's entry, or `None` for a row that only draws lines.
    pub entry: Option<usize>,
}

/// Returns the rows of the timeline, newest first, with the present position of the workspace at its top.
/// `undos` tells how often each operation was undone.
pub fn rows(
    entries: &[TimelineEntry],
    undos: &HashMap<String, usize>,
    names: RowNames,
    view: &View,
) -> Vec<TimelineRow> {
    let drawn = |words: String| TimelineRow { words, entry: None };
    let joins = || drawn(view.paint.faint(Mark::Joins.text()));
    let mut rows = vec![drawn(line(
        Mark::Here,
        &view.paint.strong("you are here"),
        view,
    ))];
    let mut is_aside = false;
    let messages = entries.iter().filter_map(|entry| match entry {
        TimelineEntry::Message(message) => Some(message),
        TimelineEntry::Operation(_) | TimelineEntry::Outside { .. } => None,
    });
    let agents = AgentNames::of(messages);
    for (place, entry) in entries.iter().enumerate() {
        let (mark, mut words) = row(entry, names, &agents, view);
        if let TimelineEntry::Operation(operation) = entry {
            words.push_str(history::undone(
                undos.get(&operation.id).copied().unwrap_or(0),
            ));
        }
        if is_aside && mark != Mark::Aside {
            rows.push(joins());
        }
        is_aside = mark == Mark::Aside;
        rows.push(TimelineRow {
            words: line(mark, &words, view),
            entry: Some(place),
        });
    }
    if is_aside {
        rows.push(joins());
    }
    rows
}

fn line(mark: Mark, words: &str, view: &View) -> String {
    let shown = match mark {
        Mark::Here => view.paint.warning(mark.text()),
        Mark::Live => view.paint.good(mark.text()),
        Mark::Operation => view.paint.id(mark.text()),
        Mark::Aside | Mark::Joins | Mark::Outside => view.paint.faint(mark.text()),
    };
    let room = view.width.map(|width| width.saturating_sub(4));
    let words = match room {
        Some(room) => fit(words, room),
        None => words.into(),
    };
    format!("{shown} {words}")
}

fn row(
    entry: &TimelineEntry,
    names: RowNames,
    agents: &AgentNames<'_>,
    view: &View,
) -> (Mark, String) {
    let is_brief = names == RowNames::Times && view.is_narrow();
    match entry {
        TimelineEntry::Message(message) => {
            let mark = match message.state {
                MessageState::Live => Mark::Live,
                MessageState::Hidden | MessageState::Discarded => Mark::Aside,
            };
            (mark, of_message(message, is_brief, agents, view))
        }
        TimelineEntry::Operation(operation) => {
            (Mark::Operation, of_operation(operation, is_brief, view))
        }
        TimelineEntry::Outside {
            time,
            files,
            additions,
            deletions,
            ..
        } => {
            let lines = super::diff::sum_of(*files, *additions, *deletions, view.paint);
            (
                Mark::Outside,
                format!("{}  changed outside: {lines}", when(*time, is_brief, view)),
            )
        }
    }
}

/// How many columns the time, and the agent, have in a row that has little room.
const BRIEF: (usize, usize) = (3, 8);

fn when(time: i64, is_brief: bool, view: &View) -> String {
    view.paint.faint(&match is_brief {
        true => format!("{:>1$}", view.times.brief(time), BRIEF.0),
        false => view.times.ago(time),
    })
}

fn of_message(
    message: &MessageReport,
    is_brief: bool,
    agents: &AgentNames<'_>,
    view: &View,
) -> String {
    let state = history::state_unless_live(message, view.paint);
    if is_brief {
        let parts = [
            when(message.time, true, view),
            agents.brief(message, BRIEF.1),
            state,
            history::called(message, view.paint),
        ];
        return joined(&parts);
    }
    if view.is_narrow() {
        let parts = [
            view.paint.id(&short(&message.id)),
            state,
            history::called(message, view.paint),
        ];
        return joined(&parts);
    }
    let parts = [
        view.paint.id(&short(&message.id)),
        view.paint.faint(&view.times.ago(message.time)),
        agents.name(message),
        state,
        history::called(message, view.paint),
    ];
    joined(&parts)
}

fn joined(parts: &[String]) -> String {
    let parts = parts.iter().map(String::as_str);
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("  ")
}

fn of_operation(operation: &OperationEntry, is_brief: bool, view: &View) -> String {
    if is_brief {
        let files = count(operation.files, "file");
        let kind = history::kind(operation, view.paint);
        return joined(&[when(operation.time, true, view), format!("{kind}, {files}")]);
    }
    let id = |message: &str| view.paint.id(&short(message));
    let to = match (&operation.alone, &operation.part, &operation.message) {
        (Some(alone), ..) => Some(format!(" of {} alone", id(alone))),
        (None, Some(part), _) => Some(format!(" of a part, since {}", id(part))),
        (None, None, Some(message)) => Some(format!(" to just before {}", id(message))),
        (None, None, None) => None,
    };
    format!(
        "{}  {}  {}{}, {}",
        view.paint.id(&short(&operation.id)),
        view.paint.faint(&view.times.ago(operation.time)),
        history::kind(operation, view.paint),
        to.unwrap_or_default(),
        count(operation.files, "file")
    )
}

fn total(entries: &[TimelineEntry], undos: usize) -> String {
    let number = |is_it: fn(&TimelineEntry) -> bool| {
        entries.iter().filter(|entry| is_it(entry)).count() as u64
    };
    let messages = number(|entry| matches!(entry, TimelineEntry::Message(_)));
    let operations = number(|entry| matches!(entry, TimelineEntry::Operation(_)));
    format!(
        "{}, {}\n",
        count(messages, "message"),
        history::number_of_operations(operations, undos as u64)
    )
}
