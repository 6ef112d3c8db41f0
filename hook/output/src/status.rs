//! The revert banner, and what else a user should know about the recording. Short if all is well.

use ckpt_schema::report::{
    DiagnosticReport, GapReport, MessageReport, SnapshotReport, StatusReport, UnclearReport,
};
use ckpt_store::Milliseconds;
use ckpt_store::model::number::count;

use super::View;
use super::conversation;
use super::files;
use super::operation;
use super::paint::Paint;
use super::table::Table;
use super::text::{path, safe, short, title, with_ids_shortened};

/// How many gaps are listed; the rest is counted.
const LISTED: usize = 10;

const PERMANENT: &str = "Your next message to the agent makes the revert permanent; `ckpt-hook log --operations` still leads back.\n";

/// Returns in a few words what is reverted, for a shell's prompt; nothing if nothing is.
pub fn in_short(report: &StatusReport) -> String {
    let mut words = Vec::new();
    if report.revert_point.is_some() {
        words.push(format!("{} hidden", report.messages_hidden.len()));
    } else if report.redo {
        words.push("reverted in part".to_owned());
    }
    if !report.also_reverted.is_empty() {
        words.push(format!(
            "{} reverted",
            count(report.also_reverted.len() as u64, "other session")
        ));
    }
    if !report.interrupted.is_empty() {
        words.push("interrupted".to_owned());
    }
    words.join(", ")
}

/// Returns the state of a workspace; `told` are the messages that it mentions, oldest first.
/// `nothing` says why nothing is recorded, if that is so.
pub fn render(report: &StatusReport, told: &[MessageReport], nothing: &str, view: &View) -> String {
    let paint = view.paint;
    let mut text = heading(report, paint);
    let problems = problems(report, view);
    match &report.revert_point {
        Some(point) => text.push_str(&banner(report, point, told, view)),
        None if report.session.is_none() => text.push_str(&format!("{nothing}\n")),
        None if report.redo => text.push_str(&part(report, told, view)),
        None if !report.also_reverted.is_empty() => {
            text.push_str("Nothing in this session is reverted.\n");
        }
        // An unfinished operation may already have changed something.
        None if !report.interrupted.is_empty() => {}
        None => {
            // It is no promise for what was recorded: parts of that are pruned, forgotten or were never captured.
            if problems.is_empty() {
                text.push_str(&paint.good("✓ "));
            }
            text.push_str("Nothing is reverted.\n");
        }
    }
    if let Some(history) = report.adoptable.first() {
        let described = super::workspace::history(history, view);
        text.push_str(&match history.path == report.workspace {
            true => format!(
                "Another directory used to be here. `ckpt-hook workspace adopt` takes its history over: {described}.\n"
            ),
            false => format!(
                "A directory like this one is gone. If this one was it, `ckpt-hook workspace adopt {}` takes its history over: {described}.\n",
                short(&history.id)
            ),
        });
    }
    if let Some(first) = report.left.first() {
        text.push_str(&format!(
            "{} {} no longer in the agent's conversation, and its work is still here: `{}` takes it back.\n",
            paint.warning("!"),
            match report.left.len() {
                1 => "A message is".to_owned(),
                number => format!("{number} messages are"),
            },
            paint.own(&format!("ckpt-hook revert {}", short(first)))
        ));
    }
    if let Some(pending) = report
        .conversation
        .as_ref()
        .filter(|it| !it.argv.is_empty())
    {
        let place = pending.directory.as_deref();
        text.push_str(&format!(
            "Until your next message, the conversation may go on in the old one, or in the new one that a revert made:\n{}\n",
            conversation::command(place, pending.argv.iter(), paint)
        ));
    }
    for line in operation::also_reverted(&report.also_reverted, paint) {
        text.push_str(&line);
        text.push('\n');
    }
    // Where nothing at all was recorded, that is said with it.
    for one in report
        .unrecorded
        .iter()
        .filter(|_| report.session.is_some())
    {
        text.push_str(&format!(
            "{} {} worked here at {}, and nothing was recorded: `ckpt-hook doctor` checks why.\n",
            paint.warning("!"),
            safe(&one.called),
            view.times.clock(one.time)
        ));
    }
    text + &problems
}

fn heading(report: &StatusReport, paint: Paint) -> String {
    let mut text = format!("Workspace  {}\n", paint.strong(&safe(&report.workspace)));
    if let Some(session) = &report.session {
        let agent = report
            .agent
            .as_deref()
            .map(|agent| format!(" ({})", safe(agent)))
            .unwrap_or_default();
        text.push_str(&format!(
            "Session    {}{agent}\n",
            paint.id(&short(session))
        ));
    }
    text + "\n"
}

fn banner(report: &StatusReport, point: &str, told: &[MessageReport], view: &View) -> String {
    let paint = view.paint;
    let number = count(report.messages_hidden.len() as u64, "message");
    let verb = if report.messages_hidden.len() == 1 {
        "is"
    } else {
        "are"
    };
    let prompt = told
        .iter()
        .find(|message| message.id == point)
        .and_then(|message| message.prompt.as_deref());
    let point = operation::message(point, prompt, paint);
    let mut text = format!(
        "{} to just before {point}: {number} {verb} hidden\n",
        paint.warning("Reverted")
    );
    let mut table = Table::new(&[]).indented(2);
    for message in told
        .iter()
        .filter(|message| report.messages_hidden.contains(&message.id))
    {
        table.row(vec![
            paint.id(&short(&message.id)),
            title(message.prompt.as_deref()),
        ]);
    }
    text.push_str(&table.render(view));
    text.push_str(&alone(report, told, view));
    let files = files::files(&report.files, view) + &files::in_roots(&report.roots, view);
    if !files.is_empty() {
        text.push_str(&format!("\nFiles that the revert changed:\n{files}"));
    }
    text.push('\n');
    if report.redo {
        let redo = paint.own("ckpt-hook redo");
        text.push_str(&match report.messages_hidden.len() {
            1 => format!("`{redo}` brings that message back.\n"),
            _ => format!(
                "`{redo}` brings back the first of these messages, `{}` all of them.\n",
                paint.own("ckpt-hook unrevert")
            ),
        });
    }
    text + PERMANENT
}

/// Names the messages that are undone while later ones stay.
fn alone(report: &StatusReport, told: &[MessageReport], view: &View) -> String {
    let prompt = |id: &String| {
        let message = told.iter().find(|message| message.id == *id)?;
        message.prompt.as_deref()
    };
    let names = report.undone_alone.iter();
    let names = names.map(|id| operation::message(id, prompt(id), view.paint));
    names
        .map(|name| format!("Undone alone: {name}\n"))
        .collect()
}

/// Without a revert point, only single files, steps or messages were undone.
fn part(report: &StatusReport, told: &[MessageReport], view: &View) -> String {
    let head = view.paint.warning("Undone in part");
    let files = files::files(&report.files, view) + &files::in_roots(&report.roots, view);
    format!(
        "{head}: no message is hidden\n{}{files}\n`{}` brings that back.\n{PERMANENT}",
        alone(report, told, view),
        view.paint.own("ckpt-hook unrevert")
    )
}

fn problems(report: &StatusReport, view: &View) -> String {
    let paint = view.paint;
    let mut text = String::new();
    if report.first_snapshot_goes_on {
        let note = "the first snapshot is still being taken; steps are protected once it is done";
        text.push_str(&line(paint.warning("capturing:"), note));
    }
    for operation in &report.interrupted {
        text.push_str(&line(paint.warning("unfinished:"), &safe(operation)));
    }
    for agent in &report.agents_at_work {
        text.push_str(&line(
            paint.id("at work:"),
            &safe(&with_ids_shortened(agent)),
        ));
    }
    if report.open_steps > 0 {
        let steps = count(report.open_steps, "step");
        text.push_str(&line(
            paint.id("open:"),
            &format!("{steps} not finished; the next revert closes those whose agent is gone"),
        ));
    }
    for step in &report.unprotected {
        text.push_str(&line(paint.warning("unprotected:"), &safe(step)));
    }
    text.push_str(&unclear(&report.unclear, paint));
    text.push_str(&gaps(&report.gaps, paint));
    text + &diagnostics(report, view)
}

fn unclear(files: &[UnclearReport], paint: Paint) -> String {
    let label = || paint.warning("unclear:");
    let mut text: String = files
        .iter()
        .take(LISTED)
        .map(|file| {
            let what = format!(
                "{} ({}, message {})",
                path(&file.path),
                safe(&file.reason),
                short(&file.message)
            );
            line(label(), &what)
        })
        .collect();
    if files.len() > LISTED {
        let more = count((files.len() - LISTED) as u64, "more file");
        text.push_str(&line(label(), &format!("{more}; `--json` lists all")));
    }
    text
}

fn line(label: String, text: &str) -> String {
    format!("{label} {text}\n")
}

fn gaps(gaps: &[GapReport], paint: Paint) -> String {
    let mut text: String = gaps
        .iter()
        .take(LISTED)
        .map(|gap| {
            line(
                paint.warning("not captured:"),
                &format!("{} ({})", path(&gap.path), safe(&gap.reason)),
            )
        })
        .collect();
    if gaps.len() > LISTED {
        let more = count((gaps.len() - LISTED) as u64, "more path");
        text.push_str(&line(
            paint.warning("not captured:"),
            &format!("{more}; `--json` lists all"),
        ));
    }
    text
}

/// `doctor` reports older problems.
const RECENT_PROBLEM_AGE: Milliseconds = 24 * 3600 * 1000;

fn diagnostics(report: &StatusReport, view: &View) -> String {
    let is_recent = |diagnostic: &&DiagnosticReport| {
        view.times.now.saturating_sub(diagnostic.time) < RECENT_PROBLEM_AGE
    };
    let recent: Vec<&DiagnosticReport> =
        report.latest_diagnostics.iter().filter(is_recent).collect();
    if recent.is_empty() {
        return String::new();
    }
    let (told, wrong): (Vec<_>, Vec<_>) = recent
        .into_iter()
        .partition(|diagnostic| diagnostic.level == "info");
    let mut text: String = told
        .iter()
        .map(|told| line(view.paint.id("note:"), &safe(&told.message)))
        .collect();
    if wrong.is_empty() {
        return text;
    }
    text.push_str(&line(
        view.paint.warning("hooks:"),
        "something went wrong today; `ckpt-hook doctor` says more",
    ));
    for diagnostic in wrong {
        let detail = diagnostic
            .detail
            .as_deref()
            .map(|detail| format!(": {}", safe(detail)))
            .unwrap_or_default();
        let when = view.paint.faint(&view.times.ago(diagnostic.time));
        text.push_str(&format!(
            "  {when}  {}{detail}\n",
            safe(&diagnostic.message)
        ));
    }
    text
}

/// Returns the id of a snapshot, alone on the first line, and what it does not contain.
pub fn snapshot(report: &SnapshotReport, view: &View) -> String {
    let notes: String = report
        .notes
        .iter()
        .map(|note| line(view.paint.id("note:"), &safe(note)))
        .collect();
    format!(
        "{}\n{}{notes}",
        safe(&report.snapshot),
        gaps(&report.gaps, view.paint)
    )
}
