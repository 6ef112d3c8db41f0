//! `log`: messages, operations, snapshots, or all of these in one timeline.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ckpt_command::changes::ChangesArguments;
use ckpt_command::changes::ChangesView;
use ckpt_command::invocation::Invocation;
use ckpt_command::pager::{Pages, paged};
use ckpt_output::agent_names::AgentNames;
use ckpt_output::history::LogReach;
use ckpt_output::text::safe;
use ckpt_output::{diff, graph, history, when, write_error};
use ckpt_process::failure::{DONE, Failure};
use ckpt_schema::report::{ChangeReport, MessageState};
use ckpt_store::model::shell::quoted;
use ckpt_store::query::{ChangeDetail, ListedKind, LogFilter};
use ckpt_store::{Milliseconds, Store};
use serde::Serialize;

use super::history::keep_usage;
use super::query::{self, QueriedView};
use super::{empty, meant};
use crate::cli::arguments::{Format, LogArguments, StateArgument};

/// Of how many entries the changes are read at once: few, so that the first page does not wait for all of them, and
/// many enough that opening the workspace costs little.
const BATCH: usize = 64;

/// Lists what is asked for.
pub fn run(invocation: &Invocation, arguments: &LogArguments) -> Result<u8, Failure> {
    if arguments.format == Format::Jsonl && shows_files(arguments) {
        return Err(Failure::usage(
            "`--format jsonl` prints entries, not the files below them",
            "`ckpt-hook show ID --json` has the files of one",
        ));
    }
    let mut list = List {
        invocation,
        arguments,
        filter: filter(invocation, arguments)?,
        directory: invocation.directory()?,
        store: invocation.open()?,
    };
    list.know_agent()?;
    keep_usage(&mut list.store);
    if arguments.sql {
        return list.query();
    }
    if arguments.graph {
        list.graph()
    } else if arguments.snapshots {
        list.snapshots()
    } else if arguments.operations {
        list.operations()
    } else {
        list.messages()
    }
}

/// An entry whose changes are shown.
struct ListedEntry<'a> {
    id: &'a str,
    /// The line above them.
    line: String,
    /// The other roots of its session, each with the id of its part there.
    roots: Vec<(&'a str, &'a str)>,
}

/// A list with what it is made of.
struct List<'a> {
    invocation: &'a Invocation,
    arguments: &'a LogArguments,
    filter: LogFilter,
    directory: PathBuf,
    store: Store,
}

impl List<'_> {
    fn graph(mut self) -> Result<u8, Failure> {
        let report = self.store.timeline(&self.directory, &self.filter)?;
        if self.are_lines(&report.entries)? {
            self.tell_of_loss(report.entries.is_empty())?;
            return Ok(DONE);
        }
        if self.is_for_people() && report.entries.is_empty() {
            return nothing(self.invocation, self.arguments);
        }
        paged(self.invocation, &report, |view| {
            graph::timeline(&report, view)
        })
    }

    fn snapshots(mut self) -> Result<u8, Failure> {
        let report = self.store.snapshots(&self.directory, &self.filter)?;
        if self.are_lines(&report.snapshots)? {
            self.tell_of_loss(report.snapshots.is_empty())?;
            return Ok(DONE);
        }
        if self.is_for_people() && report.snapshots.is_empty() {
            return no_snapshot(self.invocation, self.arguments);
        }
        paged(self.invocation, &report, |view| {
            history::snapshots(&report, view)
        })
    }

    /// Prints the query for the same list.
    fn query(&self) -> Result<u8, Failure> {
        let view = match self.arguments.operations {
            true => QueriedView::Operations,
            false => QueriedView::Messages,
        };
        let root = match self.arguments.everywhere {
            true => None,
            false => Some(self.store.root(&self.directory)?),
        };
        let text = query::of(view, root.as_deref(), &self.filter)?;
        self.invocation.output.text(&text)?;
        Ok(DONE)
    }

    /// Takes the beginning of a recorded agent's name for the name.
    fn know_agent(&mut self) -> Result<(), Failure> {
        let Some(word) = self.filter.agent.as_deref() else {
            return Ok(());
        };
        let place = (!self.arguments.everywhere).then_some(self.directory.as_path());
        let sessions = self.store.sessions(place)?.sessions;
        let names: BTreeSet<&str> = sessions.iter().map(|it| it.agent.as_str()).collect();
        if let Some(name) = meant::only_one(word, names) {
            self.filter.agent = Some(name.to_owned());
        }
        Ok(())
    }

    fn reach(&self) -> LogReach {
        LogReach::asked(self.arguments.everywhere)
    }

    fn operations(mut self) -> Result<u8, Failure> {
        let report = self.store.operations(&self.directory, &self.filter)?;
        if self.are_lines(&report.operations)? {
            return Ok(DONE);
        }
        if self.is_for_people() && report.operations.is_empty() {
            return no_operation(self.invocation, self.arguments);
        }
        if self.is_for_people() && shows_files(self.arguments) {
            let view = self.invocation.output.view();
            let entries = report.operations.iter().map(|entry| ListedEntry {
                id: &entry.id,
                line: history::operation_line(entry, view),
                roots: entry
                    .roots
                    .iter()
                    .map(|it| (&*it.workspace, &*it.operation))
                    .collect(),
            });
            return self.with_files(ListedKind::Operations, &entries.collect::<Vec<_>>());
        }
        paged(self.invocation, &report, |view| {
            history::operations(&report, self.reach(), view)
        })
    }

    fn messages(mut self) -> Result<u8, Failure> {
        let report = self.store.log(&self.directory, &self.filter)?;
        if self.are_lines(&report.messages)? {
            self.tell_of_loss(report.messages.is_empty())?;
            return Ok(DONE);
        }
        if self.is_for_people() && report.messages.is_empty() {
            return nothing(self.invocation, self.arguments);
        }
        if self.is_for_people() && shows_files(self.arguments) {
            let view = self.invocation.output.view();
            let agents = AgentNames::of(&report.messages);
            let entries = report.messages.iter().map(|message| ListedEntry {
                id: &message.id,
                line: history::message_line(message, &agents, view),
                roots: message
                    .roots
                    .iter()
                    .map(|it| (&*it.workspace, &*it.message))
                    .collect(),
            });
            return self.with_files(ListedKind::Messages, &entries.collect::<Vec<_>>());
        }
        paged(self.invocation, &report, |view| {
            history::log(&report, self.reach(), view)
        })
    }

    /// Shows each entry, by its id and the line above, with its changes below it.
    fn with_files(&mut self, kind: ListedKind, entries: &[ListedEntry<'_>]) -> Result<u8, Failure> {
        let (invocation, arguments) = (self.invocation, self.arguments);
        let shape = ChangesArguments {
            patch: arguments.patch,
            stat: arguments.stat,
            name_only: arguments.name_only,
            ..ChangesArguments::default()
        };
        let detail = match arguments.name_only {
            true => ChangeDetail::Names,
            false => ChangeDetail::Whole,
        };
        let mut pages = match arguments.patch {
            true => Pages::of_patch(invocation),
            false => Pages::new(invocation),
        };
        let blobs = self.store.blobs(&self.directory)?;
        let changes = ChangesView {
            invocation,
            blobs: &blobs,
            arguments: &shape,
        };
        // The blank line after an entry is written with the next one.
        let mut above = "";
        for batch in entries.chunks(BATCH) {
            let ids: Vec<&str> = batch.iter().map(|entry| entry.id).collect();
            let listed = (kind, &ids[..]);
            let all = self.store.changes_of(&self.directory, listed, detail)?;
            for (listed, files) in batch.iter().zip(&all) {
                if pages.is_over() {
                    return pages.end().map(|()| DONE);
                }
                pages.text(&format!("{above}{}", listed.line))?;
                above = "\n";
                entry(&changes, files, &mut pages)?;
                for (root, id) in &listed.roots {
                    let place = Path::new(root);
                    let all = self.store.changes_of(place, (kind, &[*id]), detail)?;
                    let Some(files) = all.first().filter(|files| !files.is_empty()) else {
                        continue;
                    };
                    pages.text(&format!("{}\n", safe(root)))?;
                    let blobs = &self.store.blobs(place)?;
                    entry(&ChangesView { blobs, ..changes }, files, &mut pages)?;
                }
            }
        }
        pages.text(above)?;
        pages.end()?;
        Ok(DONE)
    }

    /// Says on stderr why there are no lines: a line is an entry, and nothing else.
    fn tell_of_loss(&self, is_empty: bool) -> Result<(), Failure> {
        if !is_empty {
            return Ok(());
        }
        let lost = match empty::was_set_aside(&self.store)? {
            None => empty::out_of_sight(&self.store)?,
            lost => lost,
        };
        if let Some(lost) = lost {
            write_error(&format!("{lost}\n"));
        }
        Ok(())
    }

    fn is_for_people(&self) -> bool {
        !self.invocation.output.is_json()
    }

    /// Writes one object per line if `--json-lines` or an equivalent was given.
    fn are_lines<T: Serialize>(&self, entries: &[T]) -> Result<bool, Failure> {
        if self.arguments.format == Format::Text {
            return Ok(false);
        }
        for entry in entries {
            self.invocation.output.line(entry)?;
        }
        Ok(true)
    }
}

fn filter(invocation: &Invocation, arguments: &LogArguments) -> Result<LogFilter, Failure> {
    let directory = invocation.directory()?;
    // A number alone is the `seq` of a message, which programs know from an earlier document.
    let after = arguments
        .since
        .as_deref()
        .and_then(|text| text.parse().ok())
        .filter(|seq| *seq >= 0);
    let since = match after {
        Some(seq) if arguments.graph || arguments.snapshots || arguments.operations => {
            return Err(seq_of_no_message(seq));
        }
        Some(_) => None,
        None => moment(invocation, "--since", arguments.since.as_deref())?,
    };
    let until = moment(invocation, "--until", arguments.until.as_deref())?;
    if since.zip(until).is_some_and(|(since, until)| since > until) {
        return Err(Failure::usage(
            "`--since` is later than `--until`",
            "no time lies between them: swap the two",
        ));
    }
    Ok(LogFilter {
        session: arguments.session.clone(),
        limit: arguments.limit,
        everywhere: arguments.everywhere,
        after,
        since,
        until,
        agent: arguments.agent.clone(),
        state: arguments.state.map(|state| match state {
            StateArgument::Live => MessageState::Live,
            StateArgument::Hidden => MessageState::Hidden,
            StateArgument::Discarded => MessageState::Discarded,
        }),
        grep: arguments.grep.clone(),
        search: None,
        found: BTreeSet::new(),
        text: arguments.text.clone(),
        paths: arguments
            .paths
            .iter()
            .map(|path| directory.join(path))
            .collect(),
    })
}

/// Refuses a `seq` for a list of what has none.
fn seq_of_no_message(seq: i64) -> Failure {
    Failure::usage(
        format!("`--since {seq}` is the `seq` of a message, and this list is not one of messages"),
        "give a time, such as `2 days ago` or `2026-03-01`",
    )
}

fn moment(
    invocation: &Invocation,
    option: &str,
    text: Option<&str>,
) -> Result<Option<Milliseconds>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let moment = when::moment(text, &invocation.output.view().times);
    moment.map(Some).ok_or_else(|| {
        Failure::usage(
            format!(
                "`{option} {}` is not a time in the past",
                text.escape_debug()
            ),
            "write `2 days ago`, `yesterday`, `09:30`, `2026-03-01` or `2026-03-01 12:00`",
        )
    })
}

/// The filter may be the reason that nothing is found.
fn nothing(invocation: &Invocation, arguments: &LogArguments) -> Result<u8, Failure> {
    if !is_filtered(arguments) {
        return empty::say(invocation, empty::NO_MESSAGES);
    }
    let text = unmatched(invocation, arguments, "message", "ckpt-hook log")?;
    invocation.output.text(&format!("{text}\n"))?;
    Ok(DONE)
}

/// Returns why a filter finds nothing.
fn unmatched(
    invocation: &Invocation,
    arguments: &LogArguments,
    what: &str,
    all: &str,
) -> Result<String, Failure> {
    if arguments.limit == Some(0) {
        return Ok(format!("`--limit 0` lists no {what}."));
    }
    let directory = invocation.directory()?;
    let is_unknown = |path: &&PathBuf| directory.join(path).symlink_metadata().is_err();
    Ok(match &arguments.paths[..] {
        [path] if is_unknown(&path) => {
            let word = quoted(&safe(&path.to_string_lossy()));
            format!(
                "No {what} changed {word}. If that is an id, `ckpt-hook show {word}` shows it; `{all}` lists every {what}."
            )
        }
        _ => format!("No {what} matches. `{all}` lists all of them."),
    })
}

fn no_snapshot(invocation: &Invocation, arguments: &LogArguments) -> Result<u8, Failure> {
    if !is_filtered(arguments) {
        return empty::say(invocation, "No snapshots were taken here.");
    }
    let text = unmatched(
        invocation,
        arguments,
        "snapshot",
        "ckpt-hook log --snapshots",
    )?;
    invocation.output.text(&format!("{text}\n"))?;
    Ok(DONE)
}

/// Says why no operation is listed.
fn no_operation(invocation: &Invocation, arguments: &LogArguments) -> Result<u8, Failure> {
    if !is_filtered(arguments) && is_unrecorded(invocation)? {
        return empty::say(invocation, "Nothing was recorded here.");
    }
    let text = if is_filtered(arguments) {
        unmatched(
            invocation,
            arguments,
            "operation",
            "ckpt-hook log --operations",
        )?
    } else if arguments.everywhere {
        "Nothing was reverted or restored yet.".to_owned()
    } else {
        "Nothing was reverted or restored here.".to_owned()
    };
    let lost = empty::out_of_sight(&invocation.open()?)?;
    let lost = lost.map(|lost| format!("{lost}\n")).unwrap_or_default();
    invocation.output.text(&format!("{text}\n{lost}"))?;
    Ok(DONE)
}

/// Returns whether there is no message either.
fn is_unrecorded(invocation: &Invocation) -> Result<bool, Failure> {
    let newest = LogFilter {
        limit: Some(1),
        ..LogFilter::default()
    };
    let directory = invocation.directory()?;
    let report = invocation.open()?.log(&directory, &newest)?;
    Ok(report.messages.is_empty())
}

/// Returns whether only some entries are asked for.
fn is_filtered(arguments: &LogArguments) -> bool {
    arguments.session.is_some()
        || arguments.limit == Some(0)
        || arguments.since.is_some()
        || arguments.until.is_some()
        || arguments.agent.is_some()
        || arguments.state.is_some()
        || arguments.grep.is_some()
        || arguments.text.is_some()
        || !arguments.paths.is_empty()
}

fn shows_files(arguments: &LogArguments) -> bool {
    arguments.patch || arguments.stat || arguments.name_only
}

/// Shows what one entry of a list changed.
fn entry(
    changes: &ChangesView<'_>,
    files: &[ChangeReport],
    pages: &mut Pages<'_>,
) -> Result<(), Failure> {
    if changes.arguments.stat && !files.is_empty() {
        pages.text(&diff::stat(files, changes.invocation.output.view()))?;
    }
    if changes.arguments.name_only {
        changes.names(files, pages)?;
    }
    if changes.arguments.patch {
        changes.patch(files, pages)?;
    }
    Ok(())
}
