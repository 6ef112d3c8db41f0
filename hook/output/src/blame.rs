//! A file with the author of each line, and the prompts behind them.

use std::collections::BTreeMap;

use ckpt_schema::report::{BlameHunk, BlameReport, BlameStep, LineAuthor};

use super::View;
use super::table::Table;
use super::text::{fit, path, safe, safe_bytes, short, title};

/// How many columns of an agent's name are shown beside the lines.
const AGENT: usize = 14;

/// How wide a tab is shown.
const TAB: usize = 4;

/// Returns the lines of a report, each behind its author, and a list of the prompts that wrote them.
pub fn render(report: &BlameReport, bytes: &[u8], view: &View) -> String {
    if report.hunks.is_empty() {
        return format!("`{}` has no lines.\n", path(&report.path));
    }
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let last = report
        .hunks
        .last()
        .map_or(0, |hunk| hunk.start + hunk.lines - 1);
    let digits = last.to_string().len();
    let widest = report
        .hunks
        .iter()
        .map(|hunk| super::text::width(&author(hunk)))
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for hunk in &report.hunks {
        let who = author(hunk);
        let padding = " ".repeat(widest - super::text::width(&who));
        let who = match hunk.by {
            LineAuthor::Agent | LineAuthor::Shared => view.paint.id(&who),
            LineAuthor::Unclear => view.paint.warning(&who),
            LineAuthor::Outside
            | LineAuthor::Operation
            | LineAuthor::Unrecorded
            | LineAuthor::Unknown
            | LineAuthor::Uncaptured => view.paint.faint(&who),
        };
        for number in hunk.start..hunk.start + hunk.lines {
            let line = usize::try_from(number - 1)
                .ok()
                .and_then(|index| lines.get(index));
            let line = format!(
                "{who}{padding} {} {}",
                view.paint.faint(&format!("{number:digits$}")),
                content(line.copied().unwrap_or_default())
            );
            match view.width {
                Some(columns) => text.push_str(&fit(&line, columns)),
                None => text.push_str(&line),
            }
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
        }
    }
    text + &prompts(&report.hunks, view)
}

/// Returns whose lines are: the message with its agent, or `you`.
fn author(hunk: &BlameHunk) -> String {
    let step = |step: &BlameStep| {
        let agent = safe(&step.agent);
        format!("{} {}", short(&step.message), fit(&agent, AGENT))
    };
    match (hunk.by, hunk.steps.first()) {
        (LineAuthor::Agent, Some(first)) => step(first),
        (LineAuthor::Shared, Some(first)) => format!("{}, shared", step(first)),
        (LineAuthor::Unclear, Some(first)) => format!("{}?", step(first)),
        (LineAuthor::Operation, _) => {
            let operation = hunk.operation.as_deref().map(short).unwrap_or_default();
            format!("{operation} merged")
        }
        (LineAuthor::Unrecorded, _) => "before".to_owned(),
        (LineAuthor::Unknown, _) => "unknown".to_owned(),
        (LineAuthor::Uncaptured, _) => "you, just now".to_owned(),
        (LineAuthor::Outside | LineAuthor::Agent | LineAuthor::Shared | LineAuthor::Unclear, _) => {
            "you".to_owned()
        }
    }
}

/// Returns a line without terminal control characters, and with its tabs as spaces, so that it can be cut.
fn content(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let pieces: Vec<String> = line.split(|byte| *byte == b'\t').map(safe_bytes).collect();
    pieces.join(&" ".repeat(TAB))
}

/// Returns one line per message: its id, when its lines were seen, and its prompt.
fn prompts(hunks: &[BlameHunk], view: &View) -> String {
    let mut messages: BTreeMap<(i64, &str), (&BlameStep, &BlameHunk)> = BTreeMap::new();
    for hunk in hunks {
        for step in &hunk.steps {
            let time = hunk.time.unwrap_or_default();
            let known = messages.keys().find(|(_, id)| *id == step.message).copied();
            if known.is_none_or(|(first, _)| time < first) {
                known.map(|key| messages.remove(&key));
                messages.insert((time, &step.message), (step, hunk));
            }
        }
    }
    if messages.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[]).dropping(&[1]);
    for ((time, id), (step, hunk)) in &messages {
        let from = hunk
            .renamed_from
            .as_ref()
            .map(|from| format!(" (as {})", path(from)))
            .unwrap_or_default();
        table.row(vec![
            view.paint.id(&short(id)),
            view.paint.faint(&view.times.ago(*time)),
            format!("{}{from}", title(step.prompt.as_deref())),
        ]);
    }
    format!("\n{}{}", table.render(view), legend(hunks, view))
}

/// Explains what is not certain about the authors.
fn legend(hunks: &[BlameHunk], view: &View) -> String {
    let has = |by: LineAuthor| hunks.iter().any(|hunk| hunk.by == by);
    let mut text = String::new();
    if has(LineAuthor::Shared) {
        text.push_str(
            "shared: two sessions were at work, and nothing shows whose lines these are\n",
        );
    }
    if let Some(unclear) = hunks.iter().find(|hunk| hunk.by == LineAuthor::Unclear) {
        let reason = unclear
            .reason
            .as_deref()
            .unwrap_or("no record says for certain");
        text.push_str(&format!(
            "{}: it may be the step's or yours: {}\n",
            view.paint.warning("?"),
            safe(reason)
        ));
    }
    text
}
