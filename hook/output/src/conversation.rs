//! What becomes of the agent's conversation in an operation.

use ckpt_schema::report::{ConversationKind, ConversationReason, ConversationReport};

use ckpt_store::model::shell::quoted;

use super::paint::Paint;
use super::text::safe;

/// The longest prompt that a line to copy puts back into the input box, in bytes.
const LONGEST: usize = 200;

/// Says what becomes of the conversation: the command that goes on is a line to copy.
pub fn lines(report: &ConversationReport, is_plan: bool, paint: Paint) -> Vec<String> {
    let command = || {
        // A long prompt is found in the old conversation.
        let is_short = |word: &String| word.len() <= LONGEST && !word.contains('\n');
        let fits = report.prefill.iter().all(is_short);
        let prefill = report.prefill.iter().filter(|_| fits);
        let words = report.argv.iter().chain(prefill);
        command(report.directory.as_deref(), words, paint)
    };
    let interface = report.interface.as_deref().unwrap_or_default();
    let mut lines = match (report.kind, is_plan) {
        (ConversationKind::Forked, true) => vec![format!(
            "The conversation would go on in a new one that ends just before the message, by {interface}; the old one stays."
        )],
        (ConversationKind::Cut, true) => vec![format!(
            "The conversation itself would end just before the message, by {interface}; a copy of all of it is kept."
        )],
        (ConversationKind::Cut, false) => vec![
            "The conversation itself ends just before the message now; `undo` names the copy of all of it:".to_owned(),
            command(),
        ],
        (ConversationKind::Forked, false) => vec![
            "The conversation goes on in a new one that ends just before the message; the old one stays as it is:".to_owned(),
            command(),
        ],
        (ConversationKind::Back, true) => vec!["The conversation would go on in the one before.".to_owned()],
        (ConversationKind::Back, false) => vec!["The conversation goes on in the one before:".to_owned(), command()],
        (ConversationKind::Manual, _) => vec!["The conversation stays: ckpt-hook cannot take this one back.".to_owned()],
        (ConversationKind::None, _) => {
            // No more was asked for.
            let is_told = |reason: &ConversationReason| {
                !matches!(reason, ConversationReason::NotAsked | ConversationReason::Part)
            };
            // A note says more exactly why.
            let why = |reason: ConversationReason| report.note.as_deref().unwrap_or(reason.in_words());
            let why = report.reason.filter(is_told).map(why);
            let told = |why| format!("The conversation stays as it is: {}.", safe(why));
            return why.map(told).into_iter().collect();
        }
    };
    lines.extend(
        report
            .note
            .as_deref()
            .map(|note| format!("{} {}", paint.warning("note:"), safe(note))),
    );
    lines
}

/// Returns a command as a line to copy.
pub fn command<'a>(
    directory: Option<&str>,
    words: impl Iterator<Item = &'a String>,
    paint: Paint,
) -> String {
    let word = |word: &str| quoted(&safe(word));
    let place = directory.map(word).unwrap_or_default();
    let words: Vec<String> = words.map(|it| word(it)).collect();
    let line = format!("cd {place} && {}", words.join(" "));
    format!("  {}", paint.command(&line))
}
