//! The front door of the operations: every surface says here which one it wants, and on what terms.

use std::path::{Path, PathBuf};

use ckpt_process::failure::Failure;
use ckpt_process::surroundings::is_read_by_no_person;
use ckpt_schema::report::{OperationEntry, OperationReport};
use ckpt_store::model::request::{Force, OnConflict, Unclear};
use ckpt_store::query::LogFilter;
use ckpt_store::{
    Chosen, DryRun, Error, RedoRequest, RestoreRequest, RevertRequest, Store, UndoRequest,
};

use super::outcome::{AskedExtent, finish, watched};
use super::parts;
use super::{pick, ui};
use crate::cli::arguments::{
    self, Forward, Planning, RestoreArguments, RevertArguments, UiArguments, UndoArguments,
    UnrevertArguments,
};
use crate::cli::invocation::Invocation;

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
        /// The operation that they take back.
        undoes: Option<String>,
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
}

/// What an operation did.
pub struct Done {
    /// Its report.
    pub report: OperationReport,
    /// How much it was about.
    pub extent: AskedExtent,
    /// The operation that it took back, if it is an undo.
    pub undoes: Option<OperationEntry>,
}

impl Done {
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
) -> Result<Done, Failure> {
    let Terms {
        dry_run,
        contents,
        force,
    } = terms;
    let mut extent = AskedExtent::Whole;
    let report = match operation {
        OperationRequest::Undo => {
            let of = last(store, directory)?;
            let request = UndoRequest {
                operation: of.id.clone(),
                dry_run,
                contents,
                force,
            };
            let report = store.undo(directory, &request)?;
            let is_part = store.before(&of.id)?.is_part;
            return Ok(Done {
                undoes: Some(of),
                ..Done::of(report, AskedExtent::of(is_part))
            });
        }
        OperationRequest::Apply(token) => store.apply(&token, force)?,
        OperationRequest::Parts {
            workspace,
            chosen,
            undoes,
        } => {
            extent = AskedExtent::Part;
            let dry_run = DryRun::asked(dry_run);
            store.apply_parts(&workspace, &chosen, undoes.as_deref(), dry_run, force)?
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
    Ok(Done::of(report, extent))
}

/// The newest operation of a workspace that was carried out.
pub fn last(store: &mut Store, directory: &Path) -> Result<OperationEntry, Failure> {
    let all = store.operations(directory, &LogFilter::default())?;
    let mut operations = all.operations.into_iter();
    let is_done = |entry: &OperationEntry| entry.state == "done" || entry.state == "open";
    operations.find(is_done).ok_or_else(|| {
        Error::unavailable("there is nothing to undo: nothing was reverted or restored here")
            .hint("`ckpt-hook revert` takes back what an agent did")
            .into()
    })
}

/// The flags that the commands of operations share.
#[derive(Clone, Copy)]
struct OperationFlags<'a> {
    planning: &'a Planning,
    /// Whether the hunks of the plan are chosen now.
    patch: bool,
    force: Force,
}

impl OperationFlags<'_> {
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
            force: self.force,
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
    let asked = OperationFlags {
        planning: &arguments.planning,
        patch: arguments.patch,
        force: Force::asked(arguments.force),
    };
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
        ..RevertRequest::default()
    };
    if message.is_some() || request.step.is_some() || asked.planning.plan.is_some() {
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
            return ui::run(invocation, &UiArguments::default());
        }
    }
    pick::revert(invocation, &mut store, request, terms, asked.patch)
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
        && !arguments.force
        && !arguments.git
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
    let asked = OperationFlags {
        planning: &arguments.planning,
        patch: arguments.patch,
        force: Force::asked(arguments.force),
    };
    asked.run(invocation, OperationRequest::Redo(request))
}

/// `restore`: puts paths back to a captured state.
pub fn restore(invocation: &Invocation, arguments: &RestoreArguments) -> Result<u8, Failure> {
    let request = RestoreRequest {
        id: arguments.id.clone().unwrap_or_default(),
        paths: absolute(invocation, &arguments.paths)?,
        git: arguments.git,
        ..RestoreRequest::default()
    };
    let asked = OperationFlags {
        planning: &arguments.planning,
        patch: arguments.patch,
        force: Force::asked(arguments.force),
    };
    asked.run(invocation, OperationRequest::Restore(request))
}

/// `undo`: takes back the last operation.
pub fn undo(invocation: &Invocation, arguments: &UndoArguments) -> Result<u8, Failure> {
    let asked = OperationFlags {
        planning: &arguments.planning,
        patch: arguments.patch,
        force: Force::asked(arguments.force),
    };
    asked.run(invocation, OperationRequest::Undo)
}

/// Paths are relative to the current directory, even if `--workspace` points elsewhere.
fn absolute(invocation: &Invocation, paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let base = invocation.directory()?;
    Ok(paths.iter().map(|path| base.join(path)).collect())
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
