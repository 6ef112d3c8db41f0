//! What an outcome or a plan ends with: what was left alone, what else is reverted, and the way back.

use ckpt_schema::report::{FileResult, OperationKind, OperationReport, Outcome, RevertedSession};

use ckpt_store::model::instruction::Instruction;
use ckpt_store::model::number::count;

use super::conversation;
use super::files::git_ways;
use super::kept::reasons_to_keep;
use super::operation::Around;
use super::paint::Paint;
use super::text::{safe, short};

/// What was left alone, and the way back.
pub(super) fn closing(report: &OperationReport, around: &Around, paint: Paint) -> String {
    let mut lines: Vec<String> = around.leave(paint).into_iter().collect();
    lines.extend(reasons_to_keep(report, around, paint));
    if report.git.iter().any(|item| item.unclear) {
        lines.push(format!(
            "Git's own state stays where it is unclear who moved it; {} moves it as well.",
            paint.strong(&Instruction::TakeUnclear.to_string())
        ));
    }
    lines.extend(git_ways(&report.git).lines().map(str::to_owned));
    let failed = match report.dry_run {
        true => "would stay as before, because the file system lets nothing replace it",
        false => RETRY_NOTE,
    };
    lines.extend(left(report, FileResult::Failed, failed));
    if !report.messages_hidden.is_empty() {
        lines.push(hidden(report, around));
    }
    lines.extend(also_reverted(&report.also_reverted, paint));
    let mut text: String = lines.drain(..).map(|line| line + "\n").collect();
    text.push_str(&conversation(report, paint));
    lines.extend(way_back(report, around, paint));
    if report.busy {
        lines.push(format!(
            "{} an agent is at work, and this would be refused: wait until it is done, or use {}.",
            paint.warning("busy:"),
            Instruction::Force
        ));
    }
    text.extend(lines.into_iter().map(|line| line + "\n"));
    text
}

/// What becomes of the conversation.
pub(super) fn conversation(report: &OperationReport, paint: Paint) -> String {
    let told = report.conversation.iter();
    told.flat_map(|it| conversation::lines(it, report.dry_run, paint))
        .map(|line| line + "\n")
        .collect()
}

pub(super) fn hidden(report: &OperationReport, around: &Around) -> String {
    let hidden = count(report.messages_hidden.len() as u64, "message");
    let is_old =
        report.outcome == Outcome::Nothing && report.operation.is_none() && !around.moves_point;
    let verb = match report.messages_hidden.len() {
        1 if is_old => "is already",
        _ if is_old => "are already",
        _ if report.dry_run => "would be",
        1 => "is",
        _ => "are",
    };
    format!("{hidden} {verb} hidden until you redo, or send a new one.")
}

/// Returns a sentence for each other session that is reverted.
pub fn also_reverted(sessions: &[RevertedSession], paint: Paint) -> impl Iterator<Item = String> {
    sessions.iter().map(move |session| {
        let id = short(&session.session);
        let what = match session.messages_hidden {
            0 => "in part".to_owned(),
            number => format!("with {} hidden", count(number, "message")),
        };
        format!(
            "Session {} ({}) is reverted, too, {what}: {}",
            paint.id(&id),
            safe(&session.agent),
            paint.instruction(Instruction::UnrevertSession(&id))
        )
    })
}

fn left(report: &OperationReport, result: FileResult, why: &str) -> Option<String> {
    let number = report
        .files
        .iter()
        .filter(|file| file.result == result)
        .count();
    (number > 0).then(|| format!("{} {why}.", count(number as u64, "file")))
}

fn way_back(report: &OperationReport, around: &Around, paint: Paint) -> Option<String> {
    if report.dry_run {
        return Some("This is a plan; nothing was changed.".to_owned());
    }
    // Where no file had to change, the revert point moved all the same.
    report.operation.as_ref()?;
    let undo = paint.instruction(Instruction::Undo);
    if around.undoes.as_ref().is_some_and(|it| !it.is_done_again) {
        return Some(format!(
            "To do it again: {undo}; what else can be taken back: {}",
            paint.instruction(Instruction::Operations)
        ));
    }
    let before = &around.before;
    let is_whole = report.kind == OperationKind::Revert && before.is_unreverted && !before.is_part;
    if is_whole && report.messages_hidden.len() > 1 {
        let redo = paint.instruction(Instruction::Redo);
        return Some(format!(
            "To undo this: {undo}, or one message at a time: {redo}"
        ));
    }
    Some(format!("To undo this: {undo}"))
}

/// What becomes of a file that could not be written.
const RETRY_NOTE: &str = "could not be written and stayed as before: the next command or message tries again, and `ckpt-hook snapshot` does so right away";
