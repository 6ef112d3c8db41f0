//! A session as Markdown: each prompt, and what was changed for it.

use ckpt_schema::report::{ChangeReport, Encoding, ExportReport, ExportedMessage};
use ckpt_store::model::number::count;

use super::View;
use super::diff;
use super::history;
use super::lines::with_tabs;
use super::paint::Paint;
use super::text::{path, safe, short, title};
use super::time::duration;

/// Returns the whole session.
pub fn markdown(report: &ExportReport, view: &View) -> String {
    let session = &report.session;
    let mut text = format!("# Session of {}\n\n", escaped(&session.agent));
    for (name, value) in [
        ("session", code(&session.id)),
        ("workspace", code(&session.workspace)),
        ("started", view.times.exact(session.started)),
        ("last event", view.times.exact(session.last_event)),
    ] {
        text.push_str(&format!("- {name}: {value}\n"));
    }
    let messages = report.messages.iter();
    text.extend(messages.map(|of| message(of, view)));
    text
}

fn message(of: &ExportedMessage, view: &View) -> String {
    let message = &of.message;
    let prompt = message.prompt.as_deref().unwrap_or_default();
    let head = match title(Some(prompt)) {
        none if none.is_empty() => "A message without a prompt".to_owned(),
        title => escaped(&title),
    };
    let took = message
        .finished
        .map(|end| duration(end.saturating_sub(message.time)));
    let facts = [
        Some(code(&short(&message.id))),
        Some(view.times.exact(message.time)),
        took.map(|took| format!("took {took}")),
        Some(history::state(message, Paint::PLAIN)),
        Some(count(message.files, "file")),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    let mut text = format!("\n## {head}\n\n{}\n", facts.join(", "));
    if prompt.lines().nth(1).is_some() {
        text.push_str(&format!("\n{}", block("text", prompt.as_bytes())));
    }
    let files = diff::shown(&of.changes);
    let rows: String = files.map(row).collect();
    if !rows.is_empty() {
        text.push_str(&format!("\n{rows}"));
    }
    let patch = of.patch.text.as_ref();
    match patch.filter(|_| of.patch.encoding == Encoding::Utf8) {
        Some(patch) if !patch.is_empty() => {
            text.push_str(&format!("\n{}", block("diff", patch.as_bytes())));
        }
        None if !rows.is_empty() => {
            let id = short(&message.id);
            text.push_str(&format!(
                "\nThe patch is not all text, or too long: `ckpt-hook show {id} -p` prints it.\n"
            ));
        }
        _ => {}
    }
    text
}

/// Returns a file as an item of a list.
fn row(change: &ChangeReport) -> String {
    let lines = |sign: char, number: Option<u64>| match number.filter(|number| *number > 0) {
        Some(number) => format!(" {sign}{number}"),
        None => String::new(),
    };
    let name = match &change.renamed_from {
        Some(rename) => format!(
            "{} → {}",
            code(&path(&rename.path)),
            code(&path(&change.path))
        ),
        None => code(&path(&change.path)),
    };
    let edited = change.renamed_from.as_ref();
    let (additions, deletions) = edited.map_or((change.additions, change.deletions), |rename| {
        (rename.additions, rename.deletions)
    });
    format!(
        "- {} {name}{}{}\n",
        diff::kind(change, Paint::PLAIN),
        lines('+', additions),
        lines('-', deletions)
    )
}

/// What has a meaning within a line of Markdown: <https://spec.commonmark.org/0.31.2/#inlines>, with GitHub's tables,
/// strikethrough and formulas.
const SPECIAL: &str = r"\`*_[]<>#!|~&$";

/// Returns text that stands for itself in a heading.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in safe(text).chars() {
        if SPECIAL.contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// Returns a name as code.
fn code(text: &str) -> String {
    let text = safe(text);
    let mark = "`".repeat(longest_run(&text) + 1);
    match mark.len() {
        1 => format!("`{text}`"),
        _ => format!("{mark} {text} {mark}"),
    }
}

/// Returns lines as a block that none of them ends.
fn block(language: &str, bytes: &[u8]) -> String {
    let lines = bytes.split(|byte| *byte == b'\n');
    let lines: Vec<String> = lines.map(with_tabs).collect();
    let text = lines.join("\n");
    let mark = "`".repeat(longest_run(&text).max(2) + 1);
    format!(
        "{mark}{language}\n{}\n{mark}\n",
        text.trim_end_matches('\n')
    )
}

/// Returns how many backticks stand together at most.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|letter| letter != '`').map(str::len);
    runs.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No name and no line is taken for Markdown.
    #[test]
    fn nothing_recorded_is_taken_for_markdown() {
        assert_eq!(escaped("# *a* <b> [c](d)"), r"\# \*a\* \<b\> \[c\](d)");
        assert_eq!(escaped("claude-code: 1 + 1 = 2"), "claude-code: 1 + 1 = 2");
        assert_eq!(code("a`b"), "`` a`b ``");
        assert_eq!(block("text", b"```\nx\n"), "````text\n```\nx\n````\n");
    }
}
