//! What becomes of the agent's conversation in an operation.

use ckpt_schema::report::{ConversationKind, ConversationReason, ConversationReport};

use super::paint::Paint;
use super::text::safe;

/// Says what becomes of the conversation: the command that goes on is a line to copy.
pub fn lines(report: &ConversationReport, is_plan: bool, paint: Paint) -> Vec<String> {
    let command = || {
        let words: Vec<String> = report.argv.iter().map(|word| quoted(word)).collect();
        let place = report.directory.as_deref().map(quoted).unwrap_or_default();
        format!(
            "  {}",
            paint.strong(&format!("cd {place} && {}", words.join(" ")))
        )
    };
    let interface = report.interface.as_deref().unwrap_or_default();
    let mut lines = match (report.kind, is_plan) {
        (ConversationKind::Forked, true) => vec![format!(
            "The conversation would go on in a new one that ends just before the message, by {interface}; the old one stays."
        )],
        (ConversationKind::Forked | ConversationKind::Cut, _) => vec![
            "The conversation goes on in a new one that ends just before the message; the old one stays as it is:".to_owned(),
            command(),
        ],
        (ConversationKind::Back, true) => vec!["The conversation would go on in the one before:".to_owned()],
        (ConversationKind::Back, false) => vec!["The conversation goes on in the one before:".to_owned(), command()],
        (ConversationKind::Manual, _) => vec!["The conversation stays: ckpt-hook cannot take this one back.".to_owned()],
        (ConversationKind::None, _) => match report.reason.and_then(why) {
            Some(why) => vec![format!("The conversation stays as it is: {why}.")],
            None => Vec::new(),
        },
    };
    lines.extend(
        report
            .note
            .as_deref()
            .map(|note| format!("{} {}", paint.warning("note:"), safe(note))),
    );
    lines
}

/// Returns why a conversation stays, where it was asked for.
fn why(reason: ConversationReason) -> Option<&'static str> {
    match reason {
        ConversationReason::NotAsked | ConversationReason::Part => None,
        ConversationReason::Unsupported => Some("the agent has no interface for it"),
        ConversationReason::NoTranscript => {
            Some("the agent's record of it is gone, or no event named it")
        }
        ConversationReason::UnknownFormat => {
            Some("the agent's record of it is of a form that is not known")
        }
        ConversationReason::NotFound => Some("the message is not in the agent's record of it"),
        ConversationReason::NoProgram => Some("the agent's program was not found"),
    }
}

/// Returns a word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./:=@%+,".contains(it);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", safe(word).replace('\'', "'\\''")),
    }
}
