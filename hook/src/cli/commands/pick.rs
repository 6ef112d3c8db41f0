//! `revert` without a message: choose one, see the plan, say yes or no. Only on a terminal.

use std::io;
use std::path::Path;

use ckpt_command::invocation::Invocation;
use ckpt_command::operation::{OperationRequest, Terms, carry_out};
use ckpt_command::outcome::{around_plan, finish, moves_point, watched};
use ckpt_output::operation;
use ckpt_output::{View, history};
use ckpt_process::failure::{DONE, Failure};
use ckpt_schema::report::{MessageReport, MessageState, OperationReport, Outcome};
use ckpt_store::query::LogFilter;
use ckpt_store::{Error, RevertRequest, Store, Unclear};

use super::ask;
use super::parts;

/// Lets the user choose, and reverts if they say yes. With `patch`, they choose hunk by hunk.
pub fn revert(
    invocation: &Invocation,
    store: &mut Store,
    request: RevertRequest,
    terms: Terms,
    patch: bool,
) -> Result<u8, Failure> {
    if !invocation.output.can_ask() {
        return Err(Failure::usage(
            "`revert` needs a message to go back to",
            "use `--message ID` (`ckpt-hook log` lists them, `last` is the newest), or run it on a terminal",
        ));
    }
    let directory = invocation.directory()?;
    let Some(message) = chosen(invocation, store, &directory, &request)? else {
        return Ok(DONE);
    };
    let request = RevertRequest {
        message: message.id.clone(),
        session: Some(message.session.clone()),
        ..request
    };
    let run = |store: &mut Store, request: &RevertRequest, terms| {
        let operation = OperationRequest::Revert(request.clone());
        watched(invocation, store, |store| {
            carry_out(store, &directory, operation, terms)
        })
    };
    let planned = Terms {
        dry_run: true,
        ..terms
    };
    let planned = run(store, &request, planned)?;
    if patch {
        return parts::choose(invocation, store, planned.report, terms);
    }
    let plan = &planned.report;
    let moves_point = moves_point(store, &directory, plan);
    let is_over = terms.dry_run
        || plan.busy
        || plan.outcome == Outcome::Unavailable
        || plan.outcome == Outcome::Nothing && !moves_point;
    if is_over {
        return finish(invocation, store, &planned);
    }
    let around = around_plan(message.prompt.clone(), planned.extent, moves_point);
    invocation
        .output
        .text(&operation::render(plan, &around, invocation.output.view()))?;
    let request = match answer(plan)? {
        PlanAnswer::Yes => request,
        PlanAnswer::TakeUnclear => RevertRequest {
            unclear: Some(Unclear::Take),
            ..request
        },
        PlanAnswer::No => {
            invocation.output.text("Nothing was changed.\n")?;
            return Ok(DONE);
        }
    };
    let done = run(store, &request, terms)?;
    finish(invocation, store, &done)
}

/// Lets the user choose among the messages that the request may mean; `None` if they leave.
fn chosen(
    invocation: &Invocation,
    store: &mut Store,
    directory: &Path,
    request: &RevertRequest,
) -> Result<Option<MessageReport>, Failure> {
    let filter = LogFilter {
        session: request.session.clone(),
        ..LogFilter::default()
    };
    let messages = store.log(directory, &filter)?.messages;
    let prompt = if request.alone {
        "Undo this message alone (Esc to leave):"
    } else {
        "Go back to just before (Esc to leave):"
    };
    Ok(choose(&messages, prompt, invocation.output.view())?.cloned())
}

fn choose<'a>(
    messages: &'a [MessageReport],
    prompt: &str,
    view: &View,
) -> Result<Option<&'a MessageReport>, Failure> {
    let live: Vec<&MessageReport> = messages
        .iter()
        .filter(|message| message.state == MessageState::Live)
        .collect();
    if live.is_empty() {
        return Err(Error::unavailable("there is no message to go back to")
            .hint("messages are recorded once the hook is installed: `ckpt-hook install --all`")
            .into());
    }
    let lines: Vec<String> = live
        .iter()
        .map(|message| history::choice(message, view))
        .collect();
    let chosen = ask::choose(prompt, &lines).map_err(unanswered)?;
    Ok(chosen.map(|index| live[index]))
}

/// The answer to a plan.
enum PlanAnswer {
    Yes,
    /// Yes, and what is unclear as well.
    TakeUnclear,
    No,
}

/// Asks whether to do what was planned; with one more key if something in it is unclear.
fn answer(plan: &OperationReport) -> Result<PlanAnswer, Failure> {
    let (question, keys): (_, &[char]) = if plan.files.iter().any(|file| file.unclear) {
        (
            "Do this? [y: yes, u: yes, and take what is unclear, n: no]",
            &['y', 'u', 'n'],
        )
    } else {
        ("Do this? [y/n]", &['y', 'n'])
    };
    Ok(match ask::key(question, keys).map_err(unanswered)? {
        Some('y') => PlanAnswer::Yes,
        Some('u') => PlanAnswer::TakeUnclear,
        _ => PlanAnswer::No,
    })
}

fn unanswered(error: io::Error) -> Failure {
    ask::unanswered(error).hint("use `--message ID`").into()
}
