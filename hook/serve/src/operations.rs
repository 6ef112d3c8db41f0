//! The methods that change files: an operation is planned, carried out, or applied as planned.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use ckpt_command::changes::{ChangesArguments, ChangesView};
use ckpt_command::operation::{OperationRequest, Terms, carry_out};
use ckpt_command::part::part;
use ckpt_process::failure::Failure;
use ckpt_schema::Word;
use ckpt_schema::protocol::{
    ApplyParameters, OperationName, OperationParameters, PartParameter, PlanResult,
};
use ckpt_schema::report::OperationReport;
use ckpt_store::model::instruction::Surface;
use ckpt_store::model::request::ConversationChoice;
use ckpt_store::revert::RequestKey;
use ckpt_store::{Chosen, DryRun, Force, OnConflict, RedoRequest, RestoreRequest, RevertRequest};

use super::methods::{self, MethodResult, RequestContext, document};
use super::protocol::RequestError;

/// Refuses a parameter that the operation does not have.
fn refuse_useless(asked: &OperationParameters, dry_run: DryRun) -> Result<(), RequestError> {
    let is_revert = matches!(asked.operation, OperationName::Revert);
    let is_undo = asked.operation == OperationName::Undo;
    let is_restore = matches!(asked.operation, OperationName::Restore);
    // A parameter that is passed over in silence would be believed in: a client that limits a `redo` with `only`
    // must not get all of it.
    let wrong = [
        ("message", asked.message.is_some() && !is_revert),
        ("alone", asked.alone && (!is_revert || asked.step.is_some())),
        ("step", asked.step.is_some() && !is_revert),
        (
            "session",
            asked.session.is_some() && (is_restore || is_undo),
        ),
        ("id", asked.id.is_some() && !is_restore),
        ("only", !asked.only.is_empty() && !is_revert && !is_restore),
        ("on_conflict", asked.on_conflict.is_some() && is_undo),
        ("git", asked.git && is_undo),
        ("contents", asked.contents && dry_run == DryRun::No),
        ("unclear", asked.unclear.is_some() && !is_revert),
        (
            "conversation",
            asked.conversation.is_some()
                && (!is_revert || asked.alone || asked.step.is_some() || !asked.only.is_empty()),
        ),
    ];
    match wrong.iter().find(|(_, is_wrong)| *is_wrong) {
        Some((name, _)) => Err(RequestError::parameters(&format!(
            "`{name}` is not a parameter of this operation"
        ))),
        None if is_revert && asked.message.is_some() && asked.step.is_some() => Err(
            RequestError::parameters("a revert takes a `message` or a `step`, not both"),
        ),
        None if is_revert && asked.message.is_none() && asked.step.is_none() => Err(
            RequestError::parameters("a revert needs a `message` or a `step`"),
        ),
        None if is_restore && asked.id.is_none() => {
            Err(RequestError::parameters("a restore needs an `id`"))
        }
        None => Ok(()),
    }
}

/// Returns the value of a parameter that is one of some words.
fn word<T: Word>(asked: Option<&String>, refusal: &str) -> Result<Option<T>, RequestError> {
    let known = |name: &String| T::from_name(name).ok_or_else(|| RequestError::parameters(refusal));
    asked.map(known).transpose()
}

/// Plans an operation, and returns the plan's token beside its report.
pub fn plan(context: &RequestContext<'_>, asked: OperationParameters) -> MethodResult {
    let report = run(context, asked, DryRun::Yes)?;
    document(&PlanResult {
        plan: report.plan.clone(),
        report,
    })
}

/// Applies a plan, if it still holds.
pub fn apply(context: &RequestContext<'_>, asked: &ApplyParameters) -> MethodResult {
    check_workspace(context, &asked.plan)?;
    let force = Force::asked(asked.force);
    let name = asked.key.as_deref();
    let key = name.map(|name| RequestKey::of(name, &asked.plan));
    let is_begun = match key {
        Some(key) => context.open()?.is_begun(key),
        None => false,
    };
    let operation = match &asked.parts {
        Some(parts) if !is_begun => chosen(context, &asked.plan, parts)?,
        // What was done for the key is reported again, whatever its plans would do by now.
        _ => OperationRequest::Apply(asked.plan.clone()),
    };
    let terms = Terms {
        force,
        key,
        ..Terms::default()
    };
    // The plan says itself where it belongs.
    let directory = context.directory(None).unwrap_or_default();
    document(&carry_out_watched(context, &directory, operation, terms)?)
}

/// Refuses a plan of another workspace to who is confined to one: its token would lead out of it.
fn check_workspace(context: &RequestContext<'_>, plan: &str) -> Result<(), RequestError> {
    if context.surface != Surface::FrontEnd {
        let directory = context.directory(None)?;
        if !context.open()?.is_plan_of(plan, &directory)? {
            return Err(RequestError::parameters(
                "this plan is for another workspace",
            ));
        }
    }
    Ok(())
}

/// Returns the chosen parts of plans.
fn chosen(
    context: &RequestContext<'_>,
    plan: &str,
    parts: &[PartParameter],
) -> Result<OperationRequest, RequestError> {
    let mut store = context.open()?;
    let mut proposals = BTreeMap::from([(plan, store.proposal(plan)?)]);
    let mut chosen: Vec<Chosen> = Vec::new();
    for asked in parts {
        let plan = asked.plan.as_deref().unwrap_or(plan);
        if let Entry::Vacant(vacant) = proposals.entry(plan) {
            check_workspace(context, plan)?;
            vacant.insert(store.proposal(plan)?);
        }
        let proposal = &proposals[plan];
        let root = asked.workspace.as_ref().unwrap_or(&proposal.workspace);
        let path = asked.path.bytes();
        let mut files = proposal.files.iter();
        let file = files.find(|file| file.workspace == *root && file.path.as_bytes() == path);
        let file = file.ok_or_else(|| RequestError::parameters("the plan changes no such file"))?;
        let blobs = store.blobs(root)?;
        let changes = ChangesView {
            invocation: context.invocation,
            blobs: &blobs,
            arguments: &ChangesArguments::default(),
        };
        let lines = asked.hunks.as_ref();
        let lines = lines.map(|hunks| hunks.iter().map(|hunk| hunk.lines()).collect::<Vec<_>>());
        let part = part(file, &changes.sides(&file.change)?, lines.as_deref());
        let part = part.ok_or_else(|| RequestError::parameters("the file has no such hunk"))?;
        let is_same = |other: &Chosen| (&other.workspace, &other.path) == (root, &part.path);
        if chosen.iter().any(is_same) {
            return Err(RequestError::parameters("`parts` names a file twice"));
        }
        chosen.push(part);
    }
    if chosen.is_empty() {
        return Err(RequestError::parameters("`parts` names no file"));
    }
    let proposal = &proposals[plan];
    Ok(OperationRequest::Parts {
        workspace: proposal.workspace.clone(),
        chosen,
        origin: proposal.origin.clone(),
    })
}

fn carry_out_watched(
    context: &RequestContext<'_>,
    directory: &Path,
    operation: OperationRequest,
    terms: Terms,
) -> Result<OperationReport, RequestError> {
    context.watched(|store| Ok::<_, Failure>(carry_out(store, directory, operation, terms)?.report))
}

/// Plans and carries out the operation that the method names, whatever operation its parameters name.
pub fn operate(
    context: &RequestContext<'_>,
    operation: OperationName,
    asked: OperationParameters,
) -> MethodResult {
    let asked = OperationParameters { operation, ..asked };
    document(&run(context, asked, DryRun::No)?)
}

/// Refuses ids that are not full ones, if that is asked for.
fn check_exact(
    context: &RequestContext<'_>,
    directory: &Path,
    asked: &OperationParameters,
) -> Result<(), RequestError> {
    if !asked.exact {
        return Ok(());
    }
    let ids = [&asked.message, &asked.step, &asked.session, &asked.id];
    methods::check_exact(&mut context.open()?, directory, &ids)
}

fn run(
    context: &RequestContext<'_>,
    asked: OperationParameters,
    dry_run: DryRun,
) -> Result<OperationReport, RequestError> {
    refuse_useless(&asked, dry_run)?;
    let on_conflict = word(
        asked.on_conflict.as_ref(),
        "`on_conflict` must be `merge`, `keep` or `overwrite`",
    )?;
    let unclear = word(asked.unclear.as_ref(), "`unclear` must be `keep` or `take`")?;
    let conversation = word(
        asked.conversation.as_ref(),
        "`conversation` must be `fork`, `only`, `cut` or `no`",
    )?;
    let directory = context.directory(asked.workspace.as_deref())?;
    check_exact(context, &directory, &asked)?;
    let only = methods::paths(&directory, &asked.only);
    let terms = Terms {
        dry_run: dry_run.is_dry(),
        contents: asked.contents,
        force: Force::asked(asked.force),
        key: None,
    };
    let operation = match asked.operation {
        OperationName::Revert => OperationRequest::Revert(RevertRequest {
            message: asked.message.unwrap_or_default(),
            alone: asked.alone,
            step: asked.step,
            session: asked.session,
            only,
            on_conflict: on_conflict.unwrap_or_default(),
            unclear,
            conversation: conversation.unwrap_or(ConversationChoice::No),
            git: asked.git,
            ..RevertRequest::default()
        }),
        OperationName::Redo | OperationName::Unrevert => OperationRequest::Redo(RedoRequest {
            session: asked.session,
            all: asked.operation == OperationName::Unrevert,
            on_conflict,
            git: asked.git,
            ..RedoRequest::default()
        }),
        OperationName::Restore => OperationRequest::Restore(RestoreRequest {
            id: asked.id.unwrap_or_default(),
            paths: only,
            overwrite_mine: match on_conflict {
                None | Some(OnConflict::Keep) => false,
                Some(OnConflict::Overwrite) => true,
                Some(OnConflict::Merge) => {
                    return Err(RequestError::parameters(
                        "`on_conflict` of a restore must be `keep` or `overwrite`",
                    ));
                }
            },
            git: asked.git,
            ..RestoreRequest::default()
        }),
        OperationName::Undo => OperationRequest::Undo,
    };
    carry_out_watched(context, &directory, operation, terms)
}
