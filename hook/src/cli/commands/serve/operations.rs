//! The methods that change files: an operation is planned, carried out, or applied as planned.

use std::path::PathBuf;

use ckpt_store::{OnConflict, RedoRequest, RestoreRequest, RevertRequest, Unclear};
use serde::Deserialize;
use serde_json::{Value, json};

use super::methods::Context;
use super::protocol::Problem;

/// An operation that a client can ask for.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    #[default]
    Revert,
    Redo,
    Unrevert,
    Restore,
}

/// The parameters of all operations; those that an operation has no use for are refused.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationParameters {
    #[serde(default)]
    operation: Operation,
    #[serde(default)]
    workspace: Option<PathBuf>,
    #[serde(default)]
    message: Option<String>,
    /// Of a revert: that message alone, while later ones stay.
    #[serde(default)]
    alone: bool,
    #[serde(default)]
    step: Option<String>,
    #[serde(default)]
    session: Option<String>,
    /// Of a restore: the state.
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    only: Vec<PathBuf>,
    #[serde(default)]
    on_conflict: Option<String>,
    #[serde(default)]
    unclear: Option<String>,
    #[serde(default)]
    git: bool,
    #[serde(default)]
    force: bool,
}

impl OperationParameters {
    /// Refuses the first parameter that the operation has no use for.
    fn refuse_useless(&self) -> Result<(), Problem> {
        let is_revert = matches!(self.operation, Operation::Revert);
        let is_restore = matches!(self.operation, Operation::Restore);
        let wrong = [
            ("message", self.message.is_some() && !is_revert),
            ("alone", self.alone && (!is_revert || self.step.is_some())),
            ("step", self.step.is_some() && !is_revert),
            ("session", self.session.is_some() && is_restore),
            ("id", self.id.is_some() && !is_restore),
            ("only", !self.only.is_empty() && !is_revert && !is_restore),
            ("on_conflict", self.on_conflict.is_some() && is_restore),
            ("unclear", self.unclear.is_some() && !is_revert),
        ];
        match wrong.iter().find(|(_, is_wrong)| *is_wrong) {
            Some((name, _)) => Err(Problem::parameters(&format!(
                "`{name}` is not a parameter of this operation"
            ))),
            None if is_revert && self.message.is_none() == self.step.is_none() => Err(
                Problem::parameters("a revert needs a `message` or a `step`"),
            ),
            None if is_restore && self.id.is_none() => {
                Err(Problem::parameters("a restore needs an `id`"))
            }
            None => Ok(()),
        }
    }

    fn on_conflict(&self) -> Result<Option<OnConflict>, Problem> {
        let Some(name) = &self.on_conflict else {
            return Ok(None);
        };
        let known = OnConflict::from_name(name).ok_or_else(|| {
            Problem::parameters("`on_conflict` is `merge`, `keep` or `overwrite`")
        })?;
        Ok(Some(known))
    }

    fn unclear(&self) -> Result<Option<Unclear>, Problem> {
        let Some(name) = &self.unclear else {
            return Ok(None);
        };
        let known = Unclear::from_name(name)
            .ok_or_else(|| Problem::parameters("`unclear` is `keep` or `take`"))?;
        Ok(Some(known))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Apply {
    /// The token of the plan.
    plan: String,
    #[serde(default)]
    force: bool,
}

/// Plans an operation, and returns the plan's token beside its report.
pub fn plan(context: &Context<'_>, asked: OperationParameters) -> Result<Value, Problem> {
    let report = run(context, asked, true)?;
    Ok(json!({"plan": report["plan"], "report": report}))
}

/// Applies a plan, if it still holds.
pub fn apply(context: &Context<'_>, asked: &Apply) -> Result<Value, Problem> {
    context.watched(|store| store.apply(&asked.plan, asked.force))
}

/// Plans and carries out the operation that the method names, whatever operation its parameters name.
pub fn operate(
    context: &Context<'_>,
    operation: Operation,
    asked: OperationParameters,
) -> Result<Value, Problem> {
    run(context, OperationParameters { operation, ..asked }, false)
}

fn run(context: &Context<'_>, asked: OperationParameters, dry_run: bool) -> Result<Value, Problem> {
    asked.refuse_useless()?;
    let (on_conflict, unclear) = (asked.on_conflict()?, asked.unclear()?);
    let directory = context.directory(asked.workspace.as_deref())?;
    let only: Vec<PathBuf> = asked.only.iter().map(|path| directory.join(path)).collect();
    let (force, git, session) = (asked.force, asked.git, asked.session);
    context.watched(|store| match asked.operation {
        Operation::Revert => {
            let request = RevertRequest {
                message: asked.message.unwrap_or_default(),
                alone: asked.alone,
                step: asked.step,
                session,
                only,
                on_conflict: on_conflict.unwrap_or_default(),
                unclear,
                dry_run,
                force,
                git,
            };
            store.revert(&directory, &request)
        }
        Operation::Redo | Operation::Unrevert => {
            let request = RedoRequest {
                session,
                all: matches!(asked.operation, Operation::Unrevert),
                on_conflict,
                dry_run,
                force,
                git,
            };
            store.redo(&directory, &request)
        }
        Operation::Restore => {
            let request = RestoreRequest {
                id: asked.id.unwrap_or_default(),
                paths: only,
                dry_run,
                force,
                git,
            };
            store.restore(&directory, &request)
        }
    })
}
