//! One message, step, session, operation or snapshot: everything that is known about it.

use ckpt_schema::report::{
    ChangeReport, GapReport, MessageReport, OperationEntry, RootChanges, SessionReport, ShowReport,
    StepReport,
};
use ckpt_store::model::instruction::Instruction;
use ckpt_store::model::number::count;

use super::View;
use super::conversation;
use super::diff;
use super::files::{self, moved};
use super::history::{self, LogReach, is_unfinished, messages, outcome, state, total};
use super::paint::Paint;
use super::text::{path, safe, short, wrap};
use super::time::duration;

/// How much is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShownParts {
    /// Its steps one by one, not their sum.
    pub steps: bool,
    /// No list of its files: they follow in another form.
    pub no_files: bool,
}

/// Returns the changed files by path, or `None` for a session, which has no sum.
pub fn changes_of(report: &ShowReport) -> Option<&[ChangeReport]> {
    match report {
        ShowReport::Message { changes, .. }
        | ShowReport::Step { changes, .. }
        | ShowReport::Operation { changes, .. }
        | ShowReport::Snapshot { changes, .. } => Some(changes),
        ShowReport::Session { .. } => None,
    }
}

/// Returns a short title for a page, and the facts below it.
pub fn caption(report: &ShowReport, view: &View) -> (String, Vec<String>) {
    let title = |kind: &str, id: &str| format!("{kind} {}", short(id));
    match report {
        ShowReport::Message { message, .. } => (
            message
                .prompt
                .clone()
                .unwrap_or_else(|| title("Message", &message.id)),
            vec![
                title("message", &message.id),
                message.agent.clone(),
                view.times.exact(message.time),
            ],
        ),
        ShowReport::Step { step, .. } => (
            title("Step", &step.id),
            vec![
                title("of message", &step.message),
                view.times.exact(step.started),
            ],
        ),
        ShowReport::Session { session, .. } => (title("Session", &session.id), Vec::new()),
        ShowReport::Operation { operation, .. } => (
            title("Operation", &operation.id),
            vec![
                history::kind(operation, Paint::PLAIN),
                view.times.exact(operation.time),
            ],
        ),
        ShowReport::Snapshot { snapshot, time, .. } => {
            (title("Snapshot", snapshot), vec![view.times.exact(*time)])
        }
    }
}

/// Returns a table with an empty line above it.
fn below(table: &str) -> String {
    match table {
        "" => String::new(),
        _ => format!("\n{table}"),
    }
}

/// Returns the changed files, with the sum below.
fn in_all(changes: &[ChangeReport], parts: ShownParts, view: &View) -> String {
    if changes.is_empty() || parts.no_files {
        return String::new();
    }
    format!("\n{}", diff::stat(changes, view))
}

/// The facts about a snapshot.
struct SnapshotShown<'a> {
    id: &'a str,
    repository: &'a str,
    time: i64,
    label: Option<&'a str>,
    previous: Option<&'a str>,
    gaps: &'a [GapReport],
}

/// Returns everything about one entry.
pub fn show(report: &ShowReport, parts: ShownParts, view: &View) -> String {
    match report {
        ShowReport::Message {
            message,
            snapshot,
            steps,
            changes,
            roots,
            ..
        } => {
            let head = show_message(message, snapshot.as_deref(), steps, view);
            let one_by_one = parts.steps || view.verbose;
            head + &match one_by_one {
                true => show_steps(steps, view),
                false if changes.is_empty() && !is_unfinished(message) => {
                    "\nIt changed no file.\n".to_owned()
                }
                false => in_all(changes, parts, view),
            } + &in_roots(roots, parts, view)
        }
        ShowReport::Step { step, changes, .. } => {
            let files = Vec::new();
            let head = StepReport {
                files,
                ..step.clone()
            };
            show_step(&head, view) + &in_all(changes, parts, view)
        }
        ShowReport::Session {
            session, messages, ..
        } => show_session(session, messages, view),
        ShowReport::Operation {
            operation: entry,
            files,
            git,
            notes,
            roots,
            conversation,
            ..
        } => {
            let told = conversation.iter();
            let told = told.flat_map(|it| conversation::lines(it, false, view.paint));
            let told: String = told.map(|line| line + "\n").collect();
            let note = |note: &String| format!("note: {}\n", safe(note));
            let notes: String = notes.iter().map(note).collect();
            let files = moved(files, git, view) + &files::in_roots(roots, view);
            show_operation(entry, view) + &below(&files) + &notes + &told
        }
        ShowReport::Snapshot {
            snapshot,
            repository,
            time,
            label,
            gaps,
            previous,
            changes,
            ..
        } => {
            let shown = SnapshotShown {
                id: snapshot,
                repository,
                time: *time,
                label: label.as_deref(),
                previous: previous.as_deref(),
                gaps,
            };
            show_snapshot(&shown, view) + &in_all(changes, parts, view)
        }
    }
}

/// What a message did in the other roots of its session, each below the name of the root.
fn in_roots(roots: &[RootChanges], parts: ShownParts, view: &View) -> String {
    let changed = roots.iter().filter(|root| !root.changes.is_empty());
    let root = |root: &RootChanges| {
        let name = view.paint.strong(&safe(&root.workspace));
        format!("\n{name}\n{}", in_all(&root.changes, parts, view))
    };
    changed.map(root).collect()
}

fn show_snapshot(shown: &SnapshotShown<'_>, view: &View) -> String {
    let mut fields = vec![
        ("repository", safe(shown.repository).into_owned()),
        ("taken", view.times.exact(shown.time)),
    ];
    let label = shown.label.map(|label| ("label", safe(label).into_owned()));
    fields.extend(label);
    let previous = shown.previous.map(|id| ("after", field_id(id, view)));
    fields.extend(previous);
    heading("Snapshot", shown.id, view) + &list(fields, view) + &gap_lines(shown.gaps)
}

fn heading(thing: &str, id: &str, view: &View) -> String {
    let id = whole(id, thing.len() + 1, view);
    format!("{} {id}\n", view.paint.strong(thing))
}

/// Returns an id, or its beginning if the line has no room for more; a prefix is accepted wherever an id is.
fn whole(id: &str, used: usize, view: &View) -> String {
    let fits = view.width.is_none_or(|columns| used + id.len() <= columns);
    let id = if fits {
        safe(id).into_owned()
    } else {
        short(id)
    };
    view.paint.id(&id)
}

/// Returns an id as the value of a field.
fn field_id(id: &str, view: &View) -> String {
    whole(id, NAMES + 2, view)
}

/// The width of the column of names.
const NAMES: usize = 12;

fn list(fields: Vec<(&str, String)>, view: &View) -> String {
    let fields = fields.into_iter();
    fields
        .map(|(name, value)| field(name, &value, view))
        .collect()
}

fn field(name: &str, value: &str, view: &View) -> String {
    let name = view.paint.faint(&format!("{name:NAMES$}"));
    let line = format!("  {name}{value}\n");
    match view.width {
        Some(columns) => wrap(&line, columns, NAMES),
        None => line,
    }
}

fn show_message(
    message: &MessageReport,
    snapshot: Option<&str>,
    steps: &[StepReport],
    view: &View,
) -> String {
    let paint = view.paint;
    let mut fields = vec![
        ("agent", safe(&message.agent).into_owned()),
        ("session", field_id(&message.session, view)),
        ("sent", view.times.exact(message.time)),
        ("state", state(message, paint)),
        (
            "before it",
            snapshot.map_or_else(|| "no snapshot".to_owned(), |tree| field_id(tree, view)),
        ),
    ];
    fields.extend(
        message
            .agent_id
            .as_deref()
            .map(|id| ("agent's id", safe(id).into_owned())),
    );
    fields.extend(
        message
            .unprotected
            .as_deref()
            .map(|why| ("unprotected", paint.bad(&safe(why)))),
    );
    if !message.labels.is_empty() {
        fields.push(("labels", safe(&message.labels.join(", ")).into_owned()));
    }
    let prompt = message.prompt.as_deref().unwrap_or("");
    let prompt: String = prompt
        .lines()
        .map(|line| format!("{}\n", paint.strong(&safe(line))))
        .collect();
    if let Some(took) = took(message.time, steps) {
        fields.insert(
            3,
            (
                "took",
                format!("{took}, {}", count(steps.len() as u64, "step")),
            ),
        );
    }
    if is_unfinished(message) {
        fields.push((
            "unfinished",
            format!(
                "what its open step changes is recorded when the step ends; {} looks now",
                Instruction::DryRun
            ),
        ));
    }
    let gap = if prompt.is_empty() { "" } else { "\n" };
    prompt + gap + &heading("Message", &message.id, view) + &list(fields, view)
}

/// Returns the time from the message to the end of its last step, or `None` while a step is open.
pub fn took(sent: i64, steps: &[StepReport]) -> Option<String> {
    let ends: Option<Vec<i64>> = steps.iter().map(|step| step.finished).collect();
    let last = ends?.into_iter().max()?;
    Some(duration(last.saturating_sub(sent)))
}

fn show_step(step: &StepReport, view: &View) -> String {
    let paint = view.paint;
    let mut fields = vec![("started", view.times.exact(step.started))];
    fields.push((
        "finished",
        step.finished
            .map_or_else(|| "not yet".to_owned(), |time| view.times.exact(time)),
    ));
    fields.push(("snapshots", trees(step, paint)));
    if step.recovered {
        fields.push((
            "recovered",
            "its end was never reported; it was closed by what came next".to_owned(),
        ));
    }
    if !step.tools.is_empty() {
        let tools: Vec<_> = step.tools.iter().map(|tool| safe(tool)).collect();
        fields.push(("tools", tools.join(", ")));
    }
    fields.extend(
        step.unprotected
            .as_deref()
            .map(|why| ("unprotected", paint.bad(&safe(why)))),
    );
    let files = match step.files.is_empty() {
        true => String::new(),
        false => diff::stat(&step.files, view),
    };
    heading("Step", &step.id, view) + &list(fields, view) + &files
}

fn show_steps(steps: &[StepReport], view: &View) -> String {
    let one = |step| format!("\n{}", show_step(step, view));
    steps.iter().map(one).collect()
}

fn trees(step: &StepReport, paint: Paint) -> String {
    let tree = |tree: &Option<String>| {
        tree.as_deref()
            .map_or_else(|| "none".to_owned(), |tree| paint.id(&short(tree)))
    };
    format!("{} → {}", tree(&step.start), tree(&step.finish))
}

fn show_session(session: &SessionReport, all: &[MessageReport], view: &View) -> String {
    let mut fields = vec![
        ("agent", safe(&session.agent).into_owned()),
        ("agent's id", safe(&session.agent_id).into_owned()),
        ("workspace", safe(&session.workspace).into_owned()),
        ("started", view.times.exact(session.started)),
        ("last event", view.times.exact(session.last_event)),
    ];
    fields.extend(
        session
            .parent
            .as_deref()
            .map(|parent| ("parent", field_id(parent, view))),
    );
    fields.extend(
        session
            .revert_point
            .as_deref()
            .map(|point| ("reverted to", field_id(point, view))),
    );
    let table = if all.is_empty() {
        String::new()
    } else {
        format!(
            "\n{}{}",
            messages(all, LogReach::Workspace, view),
            total(all, view)
        )
    };
    heading("Session", &session.id, view) + &list(fields, view) + &table
}

fn show_operation(entry: &OperationEntry, view: &View) -> String {
    let paint = view.paint;
    let mut fields = vec![
        ("kind", history::kind(entry, paint)),
        ("when", view.times.exact(entry.time)),
        ("state", safe(&entry.state).into_owned()),
        ("outcome", outcome(entry, paint)),
    ];
    let named = [
        ("session", &entry.session),
        ("undid alone", &entry.alone),
        ("a part since", &entry.part),
        ("to message", &entry.message),
        ("before it", &entry.before),
        ("after it", &entry.after),
    ];
    fields.extend(
        named
            .into_iter()
            .filter_map(|(name, id)| Some((name, field_id(id.as_deref()?, view)))),
    );
    heading("Operation", &entry.id, view) + &list(fields, view)
}

fn gap_lines(gaps: &[GapReport]) -> String {
    gaps.iter()
        .map(|gap| {
            format!(
                "  not captured: {} ({})\n",
                path(&gap.path),
                safe(&gap.reason)
            )
        })
        .collect()
}
