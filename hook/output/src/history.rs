//! Tables of messages, sessions, operations and snapshots. [`super::show`] shows a single one.

use std::collections::HashMap;

use ckpt_schema::report::{
    LogReport, MessageReport, MessageRoot, MessageState, OperationEntry, OperationKind,
    OperationRoot, OperationsReport, Outcome, SessionReport, SessionsReport, SnapshotsReport,
    TimelineEntry,
};
use ckpt_store::model::instruction::Instruction;
use ckpt_store::model::number::{count, grouped};

use super::agent_names::AgentNames;
use super::diff::counts;
use super::paint::Paint;
use super::table::Table;
use super::text::{fit, safe, short, title, width};
use super::time::duration;
use super::workspace::WorkspaceNames;
use super::{NARROW_WIDTH, View};

/// Where the entries of a list may be from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogReach {
    /// One workspace, which need not be named.
    Workspace,
    /// Any, so each entry names its own.
    Everywhere,
}

impl LogReach {
    /// Returns that of a list for which `--everywhere` was asked, or was not.
    pub fn asked(everywhere: bool) -> Self {
        match everywhere {
            true => Self::Everywhere,
            false => Self::Workspace,
        }
    }
}

/// Returns one row per message, and their number.
pub fn log(report: &LogReport, reach: LogReach, view: &View) -> String {
    messages(&report.messages, reach, view) + &total(&report.messages, view)
}

/// Returns the line below a list of messages: their number, and the sum of their lines.
pub fn total(messages: &[MessageReport], view: &View) -> String {
    let sum = |number: fn(&MessageReport) -> u64| messages.iter().map(number).sum::<u64>();
    format!(
        "{}, {} {}\n",
        count(messages.len() as u64, "message"),
        view.paint
            .good(&format!("+{}", grouped(sum(|message| message.additions)))),
        view.paint
            .bad(&format!("-{}", grouped(sum(|message| message.deletions))))
    )
}

/// Returns one row per message, or two lines on a narrow terminal, with no line below them.
pub fn messages(messages: &[MessageReport], reach: LogReach, view: &View) -> String {
    let everywhere = reach == LogReach::Everywhere;
    let workspaces = everywhere.then(|| WorkspaceNames::of_messages(messages, view));
    let agents = AgentNames::of(messages);
    if view.is_narrow() {
        let two = |message| two_lines(message, (&agents, workspaces.as_ref()), view);
        return messages.iter().map(two).collect();
    }
    let is_told = ShownColumns {
        state: messages
            .iter()
            .any(|message| !state_unless_live(message, view.paint).is_empty()),
        unclear: messages.iter().any(|message| message.unclear > 0),
        workspace: everywhere,
    };
    let paint = view.paint;
    let names = ["message", "when", "agent", "took", "files", "+", "-"];
    let mut names = names.to_vec();
    // On a narrow terminal, columns are dropped in this order; the id stays. Of several agents, who asks has to see which
    // one it was.
    if agents.are_sessions() {
        names[AGENT] = "session";
    }
    let mut dropping = match (agents.is_one_agent(), agents.are_sessions()) {
        (true, false) => vec![3, AGENT, 5, 4, 1],
        (true, true) => vec![3, 5, AGENT, 4, 1],
        (false, _) => vec![3, 5, 4, 1, AGENT],
    };
    let extra = [
        (is_told.unclear, "unclear"),
        (is_told.state, "state"),
        (is_told.workspace, "workspace"),
    ];
    for (_, name) in extra.into_iter().filter(|(is_told, _)| *is_told) {
        // Who asks for every workspace has to see which one it is.
        if name == "unclear" {
            dropping.insert(2, names.len());
        }
        names.push(name);
    }
    names.push("prompt");
    let table = Table::new(&[3, 4, 5, 6]).dropping(&dropping);
    let mut table = table.together(&[5, 6]).leaving_half();
    table.heads(heads(paint, &names));
    for message in messages {
        table.row(message_row(
            message,
            is_told,
            (&agents, workspaces.as_ref()),
            view,
        ));
    }
    table.render(view)
}

/// The place of the column of agents.
const AGENT: usize = 2;

/// The columns that some message needs.
#[derive(Clone, Copy, Debug)]
struct ShownColumns {
    state: bool,
    unclear: bool,
    workspace: bool,
}

/// The prompt on the first line, and the details on the second.
fn two_lines(
    message: &MessageReport,
    (agents, workspaces): (&AgentNames<'_>, Option<&WorkspaceNames>),
    view: &View,
) -> String {
    let columns = view.width.unwrap_or(NARROW_WIDTH);
    let id = view.paint.id(&short(&message.id));
    let first = format!("{id}  {}", called(message, view.paint));
    let [additions, deletions] =
        counts(Some(message.additions), Some(message.deletions), view.paint);
    let unclear = (message.unclear > 0).then(|| format!("{} unclear", message.unclear));
    let parts = [
        named(workspaces, &message.workspace),
        state_unless_live(message, view.paint),
        view.paint.faint(&view.times.ago(message.time)),
        agents.name(message),
        count(message.files, "file"),
        unclear.unwrap_or_default(),
        additions,
        deletions,
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let second = format!("    {}", parts.join(" "));
    format!("{}\n{}\n", fit(&first, columns), fit(&second, columns))
}

/// Returns the name of a workspace, or nothing where all entries are of one.
fn named(workspaces: Option<&WorkspaceNames>, path: &str) -> String {
    workspaces.map(|names| names.name(path)).unwrap_or_default()
}

/// Returns a message as the line above its changes; as two on a narrow terminal.
pub fn message_line(message: &MessageReport, agents: &AgentNames<'_>, view: &View) -> String {
    let id = view.paint.id(&short(&message.id));
    let called =
        labels(message, view.paint) + &view.paint.strong(&title(message.prompt.as_deref()));
    let facts = [
        view.paint.faint(&view.times.ago(message.time)),
        agents.name(message),
        state_unless_live(message, view.paint),
    ];
    if view.is_narrow() {
        return line(&[id, called], view) + &line(&[format!("    {}", joined(&facts, " "))], view);
    }
    line(&[id, joined(&facts, "  "), called], view)
}

/// Returns an operation as the line above its changes.
pub fn operation_line(entry: &OperationEntry, view: &View) -> String {
    let id = view.paint.id(&short(&entry.id));
    let when = view.paint.faint(&view.times.ago(entry.time));
    let what = format!("{} {}", kind(entry, view.paint), outcome(entry, view.paint));
    line(&[id, when, what], view)
}

/// Joins these parts, as far as they are there, to one line that fits into the terminal.
fn line(parts: &[String], view: &View) -> String {
    let line = joined(parts, "  ");
    match view.width {
        Some(columns) => format!("{}\n", fit(&line, columns)),
        None => line + "\n",
    }
}

fn joined(parts: &[String], between: &str) -> String {
    let parts = parts.iter().map(String::as_str);
    let parts: Vec<&str> = parts.filter(|part| width(part) > 0).collect();
    parts.join(between)
}

fn heads(paint: Paint, names: &[&str]) -> Vec<String> {
    let (last, others) = names.split_last().expect("a table has columns");
    let others = others.iter().map(|name| paint.faint(name));
    // A path may be cut at its beginning, and colours would be lost.
    others.chain([(*last).to_owned()]).collect()
}

fn message_row(
    message: &MessageReport,
    told: ShownColumns,
    (agents, workspaces): (&AgentNames<'_>, Option<&WorkspaceNames>),
    view: &View,
) -> Vec<String> {
    let paint = view.paint;
    let [additions, deletions] = counts(Some(message.additions), Some(message.deletions), paint);
    let took = message
        .finished
        .map(|end| duration(end.saturating_sub(message.time)));
    let mut row = vec![
        paint.id(&short(&message.id)),
        view.times.ago(message.time),
        agents.cell(message),
        took.unwrap_or_default(),
        grouped(message.files),
        additions,
        deletions,
    ];
    if told.unclear {
        let unclear = (message.unclear > 0).then(|| grouped(message.unclear));
        row.push(paint.warning(&unclear.unwrap_or_default()));
    }
    if told.state {
        row.push(state_unless_live(message, paint));
    }
    if told.workspace {
        row.push(named(workspaces, &message.workspace));
    }
    row.push(called(message, paint));
    row
}

/// Returns the labels of a message, each in brackets, and the first line of its prompt.
pub fn called(message: &MessageReport, paint: Paint) -> String {
    labels(message, paint) + &title(message.prompt.as_deref()) + &in_roots(message, paint)
}

/// Returns the changes of a message in the other roots of its session, as the end of a line.
fn in_roots(message: &MessageReport, paint: Paint) -> String {
    let roots = message.roots.iter().filter(|root| root.files > 0);
    let root = |root: &MessageRoot| format!("{} in {}", count(root.files, "file"), name(root));
    let roots: Vec<String> = roots.map(root).collect();
    match roots.is_empty() {
        true => String::new(),
        false => paint.faint(&format!(" (+ {})", roots.join(", "))),
    }
}

/// Returns the name of a root: the end of its path.
fn name(root: &MessageRoot) -> String {
    let end = root.workspace.rsplit('/').next().unwrap_or_default();
    safe(end).into_owned()
}

fn labels(message: &MessageReport, paint: Paint) -> String {
    let label = |text: &String| format!("{} ", paint.good(&format!("[{}]", safe(text))));
    message.labels.iter().map(label).collect()
}

/// Returns the state unless it is the usual one.
pub fn state_unless_live(message: &MessageReport, paint: Paint) -> String {
    match message.state {
        MessageState::Live
            if message.unprotected.is_none() && !message.undone_alone && !message.left =>
        {
            match is_unfinished(message) {
                true => paint.warning(UNFINISHED),
                false => String::new(),
            }
        }
        _ => state(message, paint),
    }
}

const UNFINISHED: &str = "unfinished";

/// Returns whether a step of a message is open. Its changes are counted when it ends, so the numbers of files and lines
/// are too low until then.
pub fn is_unfinished(message: &MessageReport) -> bool {
    message.steps > 0 && message.finished.is_none()
}

/// Returns the word for what became of a message, in its colour.
pub fn state(message: &MessageReport, paint: Paint) -> String {
    match message.state {
        _ if message.unprotected.is_some() => paint.bad("unprotected"),
        MessageState::Live if message.undone_alone => paint.warning("undone"),
        MessageState::Live if message.left => paint.warning("left"),
        MessageState::Live => paint.good("live"),
        MessageState::Hidden => paint.warning("hidden"),
        MessageState::Discarded => paint.faint("discarded"),
    }
}

/// Returns a message as one line to choose from.
pub fn choice(message: &MessageReport, view: &View) -> String {
    let undone = if message.undone_alone { "  undone" } else { "" };
    format!(
        "{}  {}  {}{undone}  {}",
        short(&message.id),
        view.times.ago(message.time),
        count(message.files, "file"),
        called(message, Paint::PLAIN)
    )
}

/// Returns one row per operation.
pub fn operations(report: &OperationsReport, reach: LogReach, view: &View) -> String {
    let everywhere = reach == LogReach::Everywhere;
    let number = report.operations.len() as u64;
    let mut names = vec![
        "operation",
        "when",
        "kind",
        "message",
        "outcome",
        "files",
        "conflicts",
    ];
    if everywhere {
        names.push("workspace");
    }
    let mut table = Table::new(&[5, 6]).dropping(&[6, 5, 3, 1]);
    if everywhere {
        table = table.ending_with_path();
    }
    table.heads(heads(view.paint, &names));
    let folded = match view.verbose {
        true => report.operations.iter().map(|entry| (entry, 0)).collect(),
        false => with_undos(&report.operations),
    };
    let rows = folded.len() as u64;
    for (entry, undos) in folded {
        let mut row = operation_row(entry, undos, view);
        if everywhere {
            row.push(safe(&entry.workspace).into_owned());
        }
        table.row(row);
    }
    let sum = number_of_operations(rows, number - rows);
    format!("{}{sum}\n", table.render(view))
}

/// Returns how many operations have a row, and how many undos of them have none.
pub(super) fn number_of_operations(rows: u64, undos: u64) -> String {
    let of = if rows == 1 { "it" } else { "them" };
    let rows = count(rows, "operation");
    match undos {
        0 => rows,
        undos => format!(
            "{rows}, and {} of {of}{}",
            count(undos, "undo"),
            Instruction::ListAll
        ),
    }
}

/// Returns one row per snapshot.
pub fn snapshots(report: &SnapshotsReport, view: &View) -> String {
    let mut table = Table::new(&[2]).dropping(&[2, 3]);
    table.heads(heads(
        view.paint,
        &[
            "snapshot",
            "when",
            "not captured",
            "before message",
            "label",
        ],
    ));
    for entry in &report.snapshots {
        table.row(vec![
            view.paint.id(&short(&entry.snapshot)),
            view.times.ago(entry.time),
            if entry.gaps > 0 {
                count(entry.gaps, "path")
            } else {
                String::new()
            },
            messages_after(&entry.messages, view),
            entry
                .label
                .as_deref()
                .map(safe)
                .unwrap_or_default()
                .into_owned(),
        ]);
    }
    let number = report.snapshots.len() as u64;
    format!("{}{}\n", table.render(view), count(number, "snapshot"))
}

/// Returns the messages that begin with a snapshot: the newest ones, and how many more.
fn messages_after(ids: &[String], view: &View) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<String> = ids
        .iter()
        .take(SHOWN)
        .map(|id| view.paint.id(&short(id)))
        .collect();
    match ids.len().saturating_sub(SHOWN) {
        0 => shown.join(" "),
        more => format!("{} … {more} more", shown.join(" ")),
    }
}

/// Returns operations as lists show them, in their order: each once, with how often it was undone and done again, one
/// after the other. The undos have no row of their own, unless what they took back is not among these.
pub fn with_undos(operations: &[OperationEntry]) -> Vec<(&OperationEntry, usize)> {
    let by_id: HashMap<&str, &OperationEntry> = operations
        .iter()
        .map(|entry| (entry.id.as_str(), entry))
        .collect();
    let mut undos: HashMap<&str, usize> = HashMap::new();
    for entry in operations {
        let mut first = entry;
        while let Some(undone) = first.undoes.as_deref().and_then(|id| by_id.get(id)) {
            first = undone;
        }
        if first.id != entry.id {
            *undos.entry(&first.id).or_default() += 1;
        }
    }
    let is_first = |entry: &&OperationEntry| {
        let undone = entry.undoes.as_deref();
        !undone.is_some_and(|id| by_id.contains_key(id))
    };
    let number = |entry: &OperationEntry| undos.get(entry.id.as_str()).copied().unwrap_or(0);
    let rows = operations.iter().filter(is_first);
    rows.map(|entry| (entry, number(entry))).collect()
}

/// Takes the undos out of a timeline. Returns how often each operation was undone and done again, by its id.
pub fn fold_undos(entries: &mut Vec<TimelineEntry>) -> HashMap<String, usize> {
    let operation = |entry: &TimelineEntry| match entry {
        TimelineEntry::Operation(operation) => Some(operation.clone()),
        _ => None,
    };
    let operations: Vec<OperationEntry> = entries.iter().filter_map(operation).collect();
    let rows = with_undos(&operations).into_iter();
    let rows: HashMap<String, usize> = rows.map(|(of, undos)| (of.id.clone(), undos)).collect();
    entries.retain(|entry| match entry {
        TimelineEntry::Operation(operation) => rows.contains_key(&operation.id),
        _ => true,
    });
    rows
}

/// Returns the remark on an operation that was undone, once or more.
pub fn undone(undos: usize) -> &'static str {
    match undos {
        0 => "",
        odd if odd % 2 == 1 => ", undone",
        _ => ", undone and done again",
    }
}

fn operation_row(entry: &OperationEntry, undos: usize, view: &View) -> Vec<String> {
    let paint = view.paint;
    let in_all = |own: u64, of: fn(&OperationRoot) -> u64| {
        let others: u64 = entry.roots.iter().map(of).sum();
        own + others
    };
    vec![
        paint.id(&short(&entry.id)),
        view.times.ago(entry.time),
        match (&entry.alone, &entry.part) {
            (Some(_), _) => format!("{} alone{}", kind(entry, paint), undone(undos)),
            (None, Some(_)) => format!("{} of a part{}", kind(entry, paint), undone(undos)),
            (None, None) => kind(entry, paint) + undone(undos),
        },
        entry
            .subject()
            .map_or_else(|| paint.faint("-"), |message| paint.id(&short(message))),
        outcome(entry, paint),
        grouped(in_all(entry.files, |root| root.files)),
        grouped(in_all(entry.conflicts, |root| root.conflicts)),
    ]
}

/// Returns the kind of an operation; of an undo, what it took back.
pub fn kind(entry: &OperationEntry, paint: Paint) -> String {
    match &entry.undoes {
        Some(undone) => format!("undo of {}", paint.id(&short(undone))),
        None if is_of_conversation(entry) => "conversation".to_owned(),
        None => entry.kind.name().to_owned(),
    }
}

/// Returns the word for an operation.
pub fn operation_word(entry: &OperationEntry) -> &'static str {
    match entry.undoes {
        Some(_) => "undo",
        None if is_of_conversation(entry) => "move in the conversation",
        None => entry.kind.name(),
    }
}

/// Returns whether an operation moved the agent's conversation alone, and left every file.
fn is_of_conversation(entry: &OperationEntry) -> bool {
    entry.conversation && entry.kind == OperationKind::Restore
}

/// Returns the word for what an operation came to, in its colour.
pub fn outcome(entry: &OperationEntry, paint: Paint) -> String {
    match entry.outcome {
        Some(Outcome::Restored) => paint.good("restored"),
        Some(Outcome::Partial) => paint.warning("partial"),
        Some(Outcome::Nothing) => paint.faint("nothing"),
        Some(Outcome::Unavailable) => paint.bad("unavailable"),
        None => paint.warning(&safe(&entry.state)),
    }
}

/// Returns one row per session.
pub fn sessions(report: &SessionsReport, view: &View) -> String {
    if report.sessions.is_empty() {
        return "No sessions were recorded here.\n".to_owned();
    }
    let first = &report.sessions[0].workspace;
    let is_one_workspace = report
        .sessions
        .iter()
        .all(|session| session.workspace == *first);
    // The command line already says that all are of one workspace.
    let dropping: &[usize] = match is_one_workspace {
        true => &[7, 5, 6, 4, 2, 1],
        false => &[5, 6, 4, 2, 1],
    };
    let mut table = Table::new(&[4, 5, 6]).dropping(dropping).ending_with_path();
    table.heads(heads(
        view.paint,
        &[
            "session",
            "last active",
            "agent",
            "state",
            "messages",
            "steps",
            "files",
            "workspace",
        ],
    ));
    for session in &report.sessions {
        table.row(session_row(session, view));
    }
    let number = report.sessions.len() as u64;
    format!("{}{}\n", table.render(view), count(number, "session"))
}

fn session_row(session: &SessionReport, view: &View) -> Vec<String> {
    let paint = view.paint;
    let state = match (&session.revert_point, session.ended) {
        (Some(_), _) => paint.warning("reverted"),
        (None, true) => paint.faint("ended"),
        (None, false) => paint.good("open"),
    };
    vec![
        paint.id(&short(&session.id)),
        view.times.ago(session.last_event),
        safe(&session.agent).into_owned(),
        state,
        grouped(session.messages),
        grouped(session.steps),
        grouped(session.files),
        safe(&session.workspace).into_owned(),
    ]
}
