//! The commands of the operations: the arguments become a request, and its terms.

use std::path::PathBuf;

use ckpt_command::invocation::Invocation;
use ckpt_command::operation::{OperationRequest, Terms, carry_out};
use ckpt_command::outcome::{finish, watched};
use ckpt_output::files;
use ckpt_process::failure::{DONE, Failure};
use ckpt_process::surroundings::is_read_by_no_person;
use ckpt_schema::report::{ConversationKind, FileReport, ReasonCode};
use ckpt_store::model::request::{ConversationChoice, Force, OnConflict, Unclear};
use ckpt_store::query::LogFilter;
use ckpt_store::{RedoRequest, RestoreRequest, RevertRequest};
use ckpt_ui::UiArguments;

use super::{ask, empty, parts, pick};
use crate::cli::arguments::{
    self, Forward, Planning, RestoreArguments, RevertArguments, UndoArguments, UnrevertArguments,
};

/// The flags that the commands of operations share.
#[derive(Clone, Copy)]
struct OperationFlags<'a> {
    planning: &'a Planning,
    /// Whether the hunks of the plan are chosen now.
    patch: bool,
}

impl<'a> OperationFlags<'a> {
    fn of(planning: &'a Planning, patch: bool) -> Self {
        Self { planning, patch }
    }

    fn terms(self, invocation: &Invocation) -> Result<Terms, Failure> {
        if self.planning.contents && !invocation.output.is_json() {
            return Err(Failure::usage(
                "`--contents` is for the document that --json prints",
                "add --json; `-p` shows the hunks on a terminal",
            ));
        }
        Ok(Terms {
            dry_run: self.planning.dry_run,
            contents: self.planning.contents,
            force: Force::asked(self.planning.force),
            key: None,
        })
    }

    /// Carries out an operation, or the plan of a dry run. With `--patch`, the user chooses hunks of its plan.
    fn run(self, invocation: &Invocation, operation: OperationRequest) -> Result<u8, Failure> {
        let terms = self.terms(invocation)?;
        let operation = match &self.planning.plan {
            Some(token) => OperationRequest::Apply(token.clone()),
            None => operation,
        };
        let mut store = invocation.open_to_operate(terms.dry_run)?;
        let directory = invocation.directory()?;
        let planned = Terms {
            dry_run: terms.dry_run || self.patch,
            ..terms
        };
        let done = watched(invocation, &mut store, |store| {
            carry_out(store, &directory, operation, planned)
        })?;
        match self.patch {
            true => parts::choose(invocation, &mut store, done.report, terms),
            false => finish(invocation, &mut store, &done),
        }
    }
}

/// `revert`: goes back to just before a message. Without one, a terminal shows the browser; with options, a list to choose
/// from.
pub fn revert(invocation: &Invocation, arguments: &RevertArguments) -> Result<u8, Failure> {
    let asked = OperationFlags::of(&arguments.planning, arguments.patch);
    let message = arguments.id.as_ref().or(arguments.message.as_ref());
    let request = RevertRequest {
        message: message.cloned().unwrap_or_default(),
        alone: arguments.alone,
        step: arguments.step.clone(),
        session: arguments.session.clone(),
        only: absolute(invocation, &arguments.only)?,
        on_conflict: on_conflict(arguments.on_conflict),
        unclear: arguments.unclear.map(unclear),
        git: arguments.git,
        conversation: arguments
            .conversation
            .map_or_else(ConversationChoice::default, conversation),
        ..RevertRequest::default()
    };
    if message.is_some() || request.step.is_some() || asked.planning.plan.is_some() {
        let Some(request) = with_conversation(invocation, arguments, request)? else {
            invocation.output.text("Nothing was changed.\n")?;
            return Ok(DONE);
        };
        return asked.run(invocation, OperationRequest::Revert(request));
    }
    let terms = asked.terms(invocation)?;
    let mut store = invocation.open_to_operate(terms.dry_run)?;
    if invocation.output.can_ask() && !is_read_by_no_person() && is_plain(arguments) {
        let newest = LogFilter {
            limit: Some(1),
            ..LogFilter::default()
        };
        let log = store.log(&invocation.directory()?, &newest)?;
        if !log.messages.is_empty() {
            return browse(invocation, &UiArguments::default());
        }
    }
    pick::revert(invocation, &mut store, request, terms, asked.patch)
}

/// `ui`: shows the browser, or why there is nothing to browse.
pub fn browse(invocation: &Invocation, arguments: &UiArguments) -> Result<u8, Failure> {
    match ckpt_ui::run(invocation, arguments)? {
        true => Ok(DONE),
        false => empty::say(invocation, empty::NO_MESSAGES),
    }
}

/// Adds what becomes of the conversation where the command line does not say it: what the settings say, or what a user
/// at a terminal answers, if the agent's conversation can be forked there. Returns `None` if they leave the question.
fn with_conversation(
    invocation: &Invocation,
    arguments: &RevertArguments,
    request: RevertRequest,
) -> Result<Option<RevertRequest>, Failure> {
    let is_open = arguments.conversation.is_none()
        && arguments.planning.plan.is_none()
        && !arguments.patch
        && !request.is_part();
    if !is_open {
        return Ok(Some(request));
    }
    let directory = invocation.directory()?;
    let settings = invocation.config.settings.for_directory(&directory);
    if let Some(conversation) = settings.conversation {
        return Ok(Some(RevertRequest {
            conversation,
            ..request
        }));
    }
    if !invocation.output.can_ask() || is_read_by_no_person() || arguments.planning.dry_run {
        return Ok(Some(request));
    }
    let mut store = invocation.open_to_operate(true)?;
    let status = store.status(&directory, request.session.as_deref());
    if !status.is_ok_and(|status| status.conversation.is_some_and(|can| can.fork)) {
        return Ok(Some(request));
    }
    let forked = RevertRequest {
        conversation: ConversationChoice::Fork,
        ..request.clone()
    };
    let plan = RevertRequest {
        dry_run: true,
        ..forked.clone()
    };
    // What keeps the revert itself from being planned is told by the revert.
    let plan = store.revert(&directory, &plan).ok();
    let conversation = plan.and_then(|plan| plan.conversation);
    if conversation.is_none_or(|it| it.kind != ConversationKind::Forked) {
        return Ok(Some(request));
    }
    let question = "Go back in the conversation, too, in a new one that ends just before the message? [y/n, or o: in it only]";
    let answer = ask::key(question, &['y', 'n', 'o']).map_err(ask::unanswered)?;
    Ok(answer.map(|answer| match answer {
        'y' => forked,
        'o' => RevertRequest {
            conversation: ConversationChoice::Only,
            ..request
        },
        _ => request,
    }))
}

/// Returns whether the browser has a key for everything that is asked for.
fn is_plain(arguments: &RevertArguments) -> bool {
    arguments.session.is_none()
        && arguments.only.is_empty()
        && arguments.on_conflict == arguments::OnConflictArgument::default()
        && arguments.unclear.is_none()
        && !arguments.alone
        && !arguments.patch
        && !arguments.planning.dry_run
        && !arguments.planning.force
        && !arguments.git
        && arguments.conversation.is_none()
}

/// `redo` and `unrevert`: goes forward.
pub fn redo(
    invocation: &Invocation,
    arguments: &UnrevertArguments,
    how_far: Forward,
) -> Result<u8, Failure> {
    let request = RedoRequest {
        session: arguments.session.clone(),
        all: how_far == Forward::AllTheWay,
        on_conflict: arguments.on_conflict.map(on_conflict),
        git: arguments.git,
        ..RedoRequest::default()
    };
    let asked = OperationFlags::of(&arguments.planning, arguments.patch);
    asked.run(invocation, OperationRequest::Redo(request))
}

/// `restore`: puts paths back to a captured state.
pub fn restore(invocation: &Invocation, arguments: &RestoreArguments) -> Result<u8, Failure> {
    let mut id = arguments.id.clone().unwrap_or_default();
    if invocation.common.machine.is_some() {
        id = invocation.open()?.bring(&invocation.directory()?, &id)?;
        let _ = invocation.brought.set(());
    }
    let overwrite = arguments.on_conflict == Some(arguments::MineArgument::Overwrite);
    let request = RestoreRequest {
        id,
        paths: absolute(invocation, &arguments.paths)?,
        // Each hunk is asked about, so nothing goes without a word.
        overwrite_mine: overwrite || arguments.patch,
        git: arguments.git,
        ..RestoreRequest::default()
    };
    let asked = OperationFlags::of(&arguments.planning, arguments.patch);
    let is_open = arguments.on_conflict.is_none() && !request.overwrite_mine;
    let can_ask = invocation.output.can_ask() && !is_read_by_no_person();
    if is_open && can_ask && !arguments.planning.dry_run && arguments.planning.plan.is_none() {
        return restore_asking(invocation, asked, request);
    }
    asked.run(invocation, OperationRequest::Restore(request))
}

/// Shows which files of a restore are the user's, and asks whether they go back as well. What they agree to is what they
/// saw.
fn restore_asking(
    invocation: &Invocation,
    asked: OperationFlags<'_>,
    request: RestoreRequest,
) -> Result<u8, Failure> {
    let plan = Terms {
        dry_run: true,
        ..asked.terms(invocation)?
    };
    let all = RestoreRequest {
        overwrite_mine: true,
        ..request.clone()
    };
    let mut store = invocation.open_to_operate(false)?;
    let directory = invocation.directory()?;
    let planned = watched(invocation, &mut store, |store| {
        carry_out(store, &directory, OperationRequest::Restore(all), plan)
    })?;
    drop(store);
    let is_yours = |file: &&FileReport| file.reason_code == Some(ReasonCode::Yours);
    let yours: Vec<FileReport> = planned
        .report
        .files
        .iter()
        .filter(is_yours)
        .cloned()
        .collect();
    let token = planned.report.plan;
    if yours.is_empty() || planned.report.busy {
        return asked.run(invocation, OperationRequest::Restore(request));
    }
    let output = &invocation.output;
    output.text(&files::files(&yours, output.view()))?;
    let question = match yours.len() {
        1 => "You changed this file since. Put the earlier version there as well?".to_owned(),
        many => {
            format!("You changed these {many} files since. Put the earlier versions there as well?")
        }
    };
    let keys = "y: yes, n: keep yours and restore the rest, q: change nothing";
    let answer = ask::key(&format!("{question} ({keys})"), &['y', 'n']).map_err(ask::unanswered)?;
    let operation = match (answer, token) {
        (Some('y'), Some(token)) => OperationRequest::Apply(token),
        (Some('n'), _) => OperationRequest::Restore(request),
        _ => {
            output.text("Nothing was changed.\n")?;
            return Ok(DONE);
        }
    };
    asked.run(invocation, operation)
}

/// `undo`: takes back the last operation.
pub fn undo(invocation: &Invocation, arguments: &UndoArguments) -> Result<u8, Failure> {
    let asked = OperationFlags::of(&arguments.planning, arguments.patch);
    asked.run(invocation, OperationRequest::Undo)
}

/// Paths are relative to the current directory, even if `--workspace` points elsewhere.
fn absolute(invocation: &Invocation, paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let base = invocation.directory()?;
    Ok(paths.iter().map(|path| base.join(path)).collect())
}

fn conversation(word: arguments::ConversationArgument) -> ConversationChoice {
    match word {
        arguments::ConversationArgument::Fork => ConversationChoice::Fork,
        arguments::ConversationArgument::Only => ConversationChoice::Only,
        arguments::ConversationArgument::Cut => ConversationChoice::Cut,
        arguments::ConversationArgument::No => ConversationChoice::No,
    }
}

fn unclear(word: arguments::UnclearArgument) -> Unclear {
    match word {
        arguments::UnclearArgument::Keep => Unclear::Keep,
        arguments::UnclearArgument::Take => Unclear::Take,
    }
}

fn on_conflict(word: arguments::OnConflictArgument) -> OnConflict {
    match word {
        arguments::OnConflictArgument::Merge => OnConflict::Merge,
        arguments::OnConflictArgument::Keep => OnConflict::Keep,
        arguments::OnConflictArgument::Overwrite => OnConflict::Overwrite,
    }
}
