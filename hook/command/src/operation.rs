//! The front door of the operations: every surface says here which one it wants, and on what terms.

use std::path::{Path, PathBuf};

use ckpt_output::operation::OperationUndone;
use ckpt_process::failure::Failure;
use ckpt_schema::report::{OperationEntry, OperationReport};
use ckpt_store::model::instruction::Instruction;
use ckpt_store::model::request::Force;
use ckpt_store::query::LogFilter;
use ckpt_store::revert::RequestKey;
use ckpt_store::{
    Chosen, DryRun, Error, PlanOrigin, RedoRequest, RestoreRequest, RevertRequest, Store,
    UndoRequest,
};

/// How much of the history was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedExtent {
    /// Everything from a point on: the revert point moves.
    Whole,
    /// Some files, or a single message or step: the revert point stays.
    Part,
}

impl AskedExtent {
    /// Returns that of something that is about a part, or is not.
    pub fn of(is_part: bool) -> Self {
        match is_part {
            true => Self::Part,
            false => Self::Whole,
        }
    }

    /// Returns whether only a part was asked for.
    pub fn is_part(self) -> bool {
        self == Self::Part
    }
}

/// An operation. The terms of its request do not count.
#[derive(Clone, Debug)]
pub enum OperationRequest {
    /// The plan of a dry run, by its token.
    Apply(String),
    /// Goes back to just before a message.
    Revert(RevertRequest),
    /// Goes forward.
    Redo(RedoRequest),
    /// Puts paths back to a captured state.
    Restore(RestoreRequest),
    /// Puts chosen files, or parts of them, into a workspace.
    Parts {
        /// The workspace.
        workspace: PathBuf,
        /// The files, with their contents.
        chosen: Vec<Chosen>,
        /// What the plan was of.
        origin: PlanOrigin,
    },
    /// Takes back the last operation.
    Undo,
}

/// The terms of an operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    /// Whether to plan only.
    pub dry_run: bool,
    /// Whether a plan reports what the files hold before and after.
    pub contents: bool,
    /// What to ignore.
    pub force: Force,
    /// What a caller names it by who may ask again; only plans that are applied have one.
    pub key: Option<RequestKey>,
}

/// What an operation did.
pub struct OperationResult {
    /// Its report.
    pub report: OperationReport,
    /// How much it was about.
    pub extent: AskedExtent,
    /// The operation that it took back, if it is an undo.
    pub undoes: Option<OperationUndone>,
}

impl OperationResult {
    /// What an operation did that takes none back.
    pub fn of(report: OperationReport, extent: AskedExtent) -> Self {
        Self {
            report,
            extent,
            undoes: None,
        }
    }
}

/// Carries out an operation, or plans it.
pub fn carry_out(
    store: &mut Store,
    directory: &Path,
    operation: OperationRequest,
    terms: Terms,
) -> Result<OperationResult, Failure> {
    let Terms {
        dry_run,
        contents,
        force,
        key,
    } = terms;
    let mut extent = AskedExtent::Whole;
    let report = match operation {
        OperationRequest::Undo => {
            let (of, all) = last_of_all(store, directory)?;
            let request = UndoRequest {
                operation: of.id.clone(),
                dry_run,
                contents,
                force,
            };
            let report = store.undo(directory, &request)?;
            let is_part = store.before(&of.id)?.is_part;
            return Ok(OperationResult {
                undoes: Some(OperationUndone::of(of, &all)),
                ..OperationResult::of(
                    with_moves(store, directory, report),
                    AskedExtent::of(is_part),
                )
            });
        }
        OperationRequest::Apply(token) => store.apply_once(&token, force, key)?,
        OperationRequest::Parts {
            workspace,
            chosen,
            origin,
        } => {
            extent = AskedExtent::Part;
            let dry_run = DryRun::asked(dry_run);
            store.apply_parts(&workspace, &chosen, &origin, dry_run, force, key)?
        }
        OperationRequest::Revert(request) => {
            extent = AskedExtent::of(request.is_part());
            let request = RevertRequest {
                dry_run,
                contents,
                force,
                ..request
            };
            store.revert(directory, &request)?
        }
        OperationRequest::Redo(request) => {
            let request = RedoRequest {
                dry_run,
                contents,
                force,
                ..request
            };
            store.redo(directory, &request)?
        }
        OperationRequest::Restore(request) => {
            let request = RestoreRequest {
                dry_run,
                contents,
                force,
                ..request
            };
            store.restore(directory, &request)?
        }
    };
    Ok(OperationResult::of(
        with_moves(store, directory, report),
        extent,
    ))
}

/// Adds where the files come from that are moved. The operation is done, so nothing fails because that is unknown.
fn with_moves(store: &mut Store, directory: &Path, mut report: OperationReport) -> OperationReport {
    if let Ok(blobs) = store.blobs(directory) {
        blobs.find_moves(&mut report.files);
    }
    report
}

/// The newest operation of a workspace that was carried out.
pub fn last(store: &mut Store, directory: &Path) -> Result<OperationEntry, Failure> {
    last_of_all(store, directory).map(|(last, _)| last)
}

/// Returns the operation that an undo takes back, and all of them.
fn last_of_all(
    store: &mut Store,
    directory: &Path,
) -> Result<(OperationEntry, Vec<OperationEntry>), Failure> {
    if store.recorded_above(directory)?.is_some() {
        // The refusal names that directory.
        store.root(directory)?;
    }
    let all = store.operations(directory, &LogFilter::default())?;
    let all = all.operations;
    let is_done = |entry: &&OperationEntry| entry.state == "done" || entry.state == "open";
    let last = all.iter().find(is_done).cloned().ok_or_else(|| {
        Error::unavailable("there is nothing to undo: nothing was reverted or restored here").hint(
            format!("{} takes back what an agent did", Instruction::Revert),
        )
    })?;
    Ok((last, all))
}
