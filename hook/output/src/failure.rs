//! A failure: `error: what`, `caused by: why`, `note: what was done before`, `hint: what to do`, or one JSON document.

use ckpt_process::failure::Failure;
use ckpt_schema::report::{ErrorReport, FailureReport, VERSION};
use ckpt_store::model::address;
use ckpt_store::sessions::Notices;

use super::data;
use super::paint::Paint;
use super::text::{fit, safe, with_ids_shortened};

/// How many columns of a prompt are shown beside an id that may be meant.
const TITLE: usize = 40;

/// Returns the lines for a failure; clap's messages about arguments are used as they are.
pub fn render(failure: &Failure, paint: Paint) -> String {
    if let Failure::Arguments(error) = failure {
        return arguments(error, paint);
    }
    let mut text = format!("{} {}\n", paint.alarm("error:"), said(&failure.message()));
    for cause in failure.causes() {
        text.push_str(&format!(
            "{} {}\n",
            paint.warning("caused by:"),
            said(&cause)
        ));
    }
    for note in failure.notes() {
        text.push_str(&format!("{} {}\n", paint.warning("note:"), said(note)));
    }
    if let Some(hint) = failure.hint() {
        text.push_str(&format!("{} {}\n", paint.id("hint:"), said(&hint)));
    }
    for candidate in failure.candidates() {
        if let Some(title) = &candidate.title {
            let title = said(title);
            let title = fit(&title, TITLE);
            text.push_str(&format!("  {}  {title}\n", paint.id(&candidate.id)));
        }
    }
    text
}

/// Returns a sentence, safe for a terminal. For a model, one with a name in it is a JSON string: our sentences have names
/// between backticks, and a name may have some as well.
fn said(sentence: &str) -> String {
    let sentence = safe(&with_ids_shortened(sentence)).into_owned();
    match data::is_read_by_model() && sentence.contains('`') {
        true => serde_json::Value::from(sentence).to_string(),
        false => sentence,
    }
}

/// Returns the lines for what went wrong in hooks since the last command.
pub fn notices(notices: &Notices, paint: Paint) -> String {
    let mut sentences = notices.sentences.clone();
    if notices.more > 0 {
        sentences.push(format!("and {} more", notices.more));
    }
    let hint = "what the agent did then may be missing here; `ckpt-hook doctor` checks the store";
    warning(&sentences, hint, paint)
}

/// Returns the lines of warnings, and of what to do.
pub fn warning(sentences: &[String], hint: &str, paint: Paint) -> String {
    let warnings = sentences.iter();
    let text: String = warnings
        .map(|sentence| format!("{} {}\n", paint.warning("warning:"), said(sentence)))
        .collect();
    text + &format!("{} {hint}\n", paint.id("hint:"))
}

/// Returns the document of a failure.
pub fn document(failure: &Failure) -> ErrorReport {
    ErrorReport {
        version: VERSION,
        error: FailureReport {
            code: failure.code(),
            kind: failure.kind(),
            message: failure.message(),
            causes: failure.causes(),
            hint: failure.hint(),
            notes: failure.notes().to_vec(),
            candidates: failure.candidates().to_vec(),
        },
    }
}

/// clap quotes what was typed, so every line is made safe unless clap's own colours are its only control sequences.
fn arguments(error: &clap::Error, paint: Paint) -> String {
    let typed = error.render().to_string();
    let plain = address::hidden_in(&typed);
    let is_safe = plain == typed && plain.lines().all(|line| safe(line) == line);
    if is_safe && paint.is_on() {
        return error.render().ansi().to_string();
    }
    plain
        .lines()
        .map(|line| format!("{}\n", safe(line)))
        .collect()
}
