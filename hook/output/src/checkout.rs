//! Recorded states laid out elsewhere, as text.

use std::fmt::Write;

use ckpt_schema::report::{BisectReport, BranchReport, GapReport};
use ckpt_store::checkout::Tested;
use ckpt_store::model::number::count;
use ckpt_store::model::shell::quoted;

use super::View;
use super::operation::message;
use super::text::{path, safe, short};

/// How many of the paths that are missing are named.
const NAMED: usize = 5;

/// Returns where a state is now.
pub fn branch(report: &BranchReport, view: &View) -> String {
    let mut text = format!(
        "{} in {}.\n",
        count(report.files, "file"),
        view.paint.strong(&safe(&report.directory))
    );
    if let (Some(branch), Some(commit)) = (&report.branch, &report.commit) {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(
            text,
            "It is a git work tree on the new branch {}, which begins at {}.",
            view.paint.strong(&safe(branch)),
            view.paint.id(&short(commit))
        );
    }
    if let Some(conversation) = &report.conversation {
        let command: Vec<String> = conversation.argv.iter().map(|word| quoted(word)).collect();
        let _ = match (&conversation.note, command.is_empty()) {
            (Some(note), true) => writeln!(text, "Its conversation is not there: {}", safe(note)),
            (None, true) => Ok(()),
            (_, false) => writeln!(
                text,
                "Its conversation, up to there: cd {} && {}",
                safe(&quoted(&report.directory)),
                safe(&command.join(" "))
            ),
        };
    }
    if !report.gaps.is_empty() {
        let missing = count(report.gaps.len() as u64, "path");
        let _ = writeln!(text, "Not there, because no snapshot holds it: {missing}");
        for GapReport { path: gap, reason } in report.gaps.iter().take(NAMED) {
            let _ = writeln!(text, "  {}: {}", path(gap), safe(reason));
        }
    }
    text
}

/// Returns a line on a state that was tested.
pub fn tested(what: &str, verdict: Tested) -> String {
    let verdict = match verdict {
        Tested::Succeeds => "succeeds",
        Tested::Fails => "fails",
        Tested::Unknown => "cannot be tested",
    };
    format!("ckpt-hook: {what}: {verdict}\n")
}

/// Returns where a command began to fail.
pub fn bisect(report: &BisectReport, view: &View) -> String {
    let mut text = String::new();
    match &report.steps[..] {
        [] => text.push_str("It began to fail with what no recorded step changed.\n"),
        steps => {
            for step in steps {
                let _ = writeln!(
                    text,
                    "It began to fail with {}, in step {}.",
                    message(&step.message, step.prompt.as_deref(), view.paint),
                    view.paint.id(&short(&step.step))
                );
            }
        }
    }
    for file in &report.files {
        let by = match &file.step {
            None => view.paint.faint("  by no recorded step"),
            Some(step) if report.steps.len() > 1 => {
                view.paint.faint(&format!("  step {}", short(step)))
            }
            Some(_) => String::new(),
        };
        let _ = writeln!(text, "  {:8}  {}{by}", file.kind.name(), path(&file.path));
    }
    if report.untested > 0 {
        let states = count(report.untested, "state");
        let _ = writeln!(
            text,
            "It is one of these: {states} in between could not be tested."
        );
    } else if report.changed > report.files.len() as u64 {
        let others = count(report.changed - report.files.len() as u64, "other change");
        let _ = writeln!(text, "It fails without the {others} as well.");
    }
    text
}
