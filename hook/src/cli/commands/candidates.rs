//! `candidates`: completions for a shell, one a line: the word, a tab, and its description.

use std::collections::BTreeSet;
use std::path::Path;

use ckpt_command::invocation::Invocation;
use ckpt_output::history::kind;
use ckpt_output::paint::Paint;
use ckpt_output::text::{fit, safe, short, title};
use ckpt_process::failure::{DONE, Failure};
use ckpt_schema::report::MessageReport;
use ckpt_store::Store;
use ckpt_store::model::number::count;
use ckpt_store::query::LogFilter;

use crate::cli::arguments::Candidates;

/// The most completions of a kind.
const CANDIDATES_LIMIT: usize = 50;

/// How many columns of a prompt are shown. zsh would break a line that is longer than the terminal.
const TITLE: usize = 60;

/// Lists them. If something cannot be read, it offers nothing: a shell would print the reason into the command line.
pub fn run(invocation: &Invocation, kind: Candidates) -> Result<u8, Failure> {
    let lines = match kind {
        Candidates::Ids => [
            messages(invocation),
            labels(invocation),
            operations(invocation),
        ]
        .concat(),
        Candidates::Messages => [messages(invocation), labels(invocation)].concat(),
        Candidates::Sessions => sessions(invocation),
        Candidates::Agents => agents(invocation),
        Candidates::Labels => labels(invocation),
    };
    let text: String = lines
        .iter()
        .map(|(word, what)| format!("{}\t{}\n", safe(word), what.replace('\t', " ")))
        .collect();
    invocation.output.bytes(text.as_bytes())?;
    Ok(DONE)
}

/// A word and its description.
type Completion = (String, String);

/// Asks the store about the present directory. While a command line is completed, a failure only means that there is
/// nothing to propose.
fn asked<T>(
    invocation: &Invocation,
    question: impl FnOnce(&mut Store, &Path) -> ckpt_store::Result<T>,
) -> Option<T> {
    let directory = invocation.directory().ok()?;
    question(&mut invocation.open().ok()?, &directory).ok()
}

fn recent(invocation: &Invocation) -> Vec<MessageReport> {
    let filter = LogFilter {
        limit: Some(CANDIDATES_LIMIT),
        ..LogFilter::default()
    };
    asked(invocation, |store, directory| store.log(directory, &filter))
        .map(|report| report.messages)
        .unwrap_or_default()
}

fn messages(invocation: &Invocation) -> Vec<Completion> {
    let view = invocation.output.view();
    let what = |message: &MessageReport| {
        let prompt = title(message.prompt.as_deref());
        format!("{}, {}", fit(&prompt, TITLE), view.times.ago(message.time))
    };
    let messages = recent(invocation);
    let last = messages.first().map(|last| ("last".to_owned(), what(last)));
    let all = messages.iter();
    let all = all.map(|message| (short(&message.id), what(message)));
    last.into_iter().chain(all).collect()
}

fn operations(invocation: &Invocation) -> Vec<Completion> {
    let filter = LogFilter {
        limit: Some(CANDIDATES_LIMIT),
        ..LogFilter::default()
    };
    let report = asked(invocation, |store, directory| {
        store.operations(directory, &filter)
    });
    let operations = report.map(|report| report.operations).unwrap_or_default();
    let view = invocation.output.view();
    operations
        .iter()
        .map(|entry| {
            let what = format!(
                "{}, {}",
                kind(entry, Paint::PLAIN),
                view.times.ago(entry.time)
            );
            (short(&entry.id), what)
        })
        .collect()
}

fn labels(invocation: &Invocation) -> Vec<Completion> {
    let report = asked(invocation, |store, directory| store.labels(directory, None));
    let labels = report.map(|report| report.labels).unwrap_or_default();
    labels
        .into_iter()
        .map(|entry| (entry.label, format!("label of {}", short(&entry.id))))
        .collect()
}

fn sessions(invocation: &Invocation) -> Vec<Completion> {
    let report = asked(invocation, |store, directory| {
        store.sessions(Some(directory))
    });
    let sessions = report.map(|report| report.sessions).unwrap_or_default();
    let view = invocation.output.view();
    sessions
        .iter()
        .map(|session| {
            let what = format!(
                "{}, {}, {}",
                safe(&session.agent),
                count(session.messages, "message"),
                view.times.ago(session.last_event)
            );
            (short(&session.id), what)
        })
        .collect()
}

fn agents(invocation: &Invocation) -> Vec<Completion> {
    let report = asked(invocation, |store, directory| {
        store.sessions(Some(directory))
    });
    let sessions = report.map(|report| report.sessions).unwrap_or_default();
    let names: BTreeSet<String> = sessions.into_iter().map(|session| session.agent).collect();
    names
        .into_iter()
        .map(|name| (name, "agent".to_owned()))
        .collect()
}
