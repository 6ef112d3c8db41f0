//! What a client can ask for: each method is a command's own work, and its result the document that the command prints.

use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ckpt_schema::Event;
use ckpt_schema::report::{OperationReport, ShowReport, VERSION};
use ckpt_store::model::progress::OperationProgress;
use ckpt_store::query::{DiffRequest, LogFilter};
use ckpt_store::{Error, Store};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::notify::Subscription;
use super::operations::{self, Operation};
use super::protocol::{Job, Problem};
use crate::cli::arguments::ChangesArguments;
use crate::cli::commands::changes::Changes;
use crate::cli::invocation::Invocation;
use crate::output::show;

/// The version of the protocol.
const PROTOCOL: u32 = 1;

/// No more of a file's content than this is given at once, in bytes.
const MOST_CONTENT: usize = 8 << 20;

/// The methods, in the order of the documentation.
const METHODS: [&str; 19] = [
    "initialize",
    "sessions",
    "messages",
    "operations",
    "show",
    "patch",
    "contents",
    "blame",
    "plan",
    "apply",
    "revert",
    "redo",
    "unrevert",
    "restore",
    "status",
    "record",
    "subscribe",
    "unsubscribe",
    "cancel",
];

/// What a request is answered with.
pub struct Context<'a> {
    pub invocation: &'a Invocation,
    pub subscription: &'a Mutex<Subscription>,
    pub lines: &'a SyncSender<String>,
    /// The id of the request.
    pub request: &'a Value,
}

/// Returns the answer to a request.
pub fn answer(context: &Context<'_>, job: &Job) -> Value {
    let is_cancelled = || {
        *job.is_cancelled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    };
    let outcome = if is_cancelled() {
        Err(Problem::Cancelled)
    } else {
        call(context, job)
    };
    match outcome {
        // What was changed is told all the same.
        Ok(_) if is_cancelled() && !changes_something(&job.method) => {
            Problem::Cancelled.response(&job.id)
        }
        Ok(result) => json!({"jsonrpc": "2.0", "id": job.id, "result": result}),
        Err(problem) => problem.response(&job.id),
    }
}

fn changes_something(method: &str) -> bool {
    matches!(
        method,
        "apply" | "revert" | "redo" | "unrevert" | "restore" | "record"
    )
}

fn call(context: &Context<'_>, job: &Job) -> Result<Value, Problem> {
    match job.method.as_str() {
        "initialize" => initialize(context, parameters(job)?),
        "sessions" => sessions(context, parameters(job)?),
        "messages" => messages(context, parameters(job)?),
        "operations" => operations(context, &parameters(job)?),
        "show" => show(context, &parameters(job)?),
        "patch" => patch(context, parameters(job)?),
        "contents" => contents(context, &parameters(job)?),
        "blame" => blame(context, &parameters(job)?),
        "plan" => operations::plan(context, parameters(job)?),
        "apply" => operations::apply(context, &parameters(job)?),
        "revert" => operations::operate(context, Operation::Revert, parameters(job)?),
        "redo" => operations::operate(context, Operation::Redo, parameters(job)?),
        "unrevert" => operations::operate(context, Operation::Unrevert, parameters(job)?),
        "restore" => operations::operate(context, Operation::Restore, parameters(job)?),
        "status" => status(context, parameters(job)?),
        "record" => record(context, parameters(job)?),
        "subscribe" => subscribe(context, parameters(job)?),
        "unsubscribe" => unsubscribe(context, &parameters(job)?),
        other => Err(Problem::method(other)),
    }
}

impl Context<'_> {
    pub fn open(&self) -> Result<Store, Problem> {
        Ok(self.invocation.open()?)
    }

    /// Returns the directory that a request names, else the server's own.
    pub fn directory(&self, workspace: Option<&Path>) -> Result<PathBuf, Problem> {
        match workspace {
            Some(path) => Ok(self.invocation.surroundings.directory(Some(path))?),
            None => Ok(self.invocation.directory()?),
        }
    }

    fn subscribed<T>(&self, change: impl FnOnce(&mut Subscription) -> T) -> T {
        let mut subscription = self
            .subscription
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        subscription.number += 1;
        change(&mut subscription)
    }

    /// Does something that may take long, and tells how far it is.
    pub fn watched(
        &self,
        work: impl FnOnce(&mut Store) -> ckpt_store::error::Result<OperationReport>,
    ) -> Result<Value, Problem> {
        let mut store = self.open()?;
        let (lines, id) = (self.lines.clone(), self.request.clone());
        store.watch(Some(Box::new(move |progress| {
            let told = match progress {
                OperationProgress::Looking(looking) => {
                    json!({"id": id, "phase": "looking", "files": looking.files, "bytes": looking.bytes})
                }
                OperationProgress::Applying { done, of } => {
                    json!({"id": id, "phase": "applying", "done": done, "of": of})
                }
            };
            // Nothing waits for a client while the workspace is locked.
            let _ = lines.try_send(super::notification("progress", &told));
        })));
        document(&work(&mut store)?)
    }
}

/// Where something is asked about.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkspaceParameters {
    /// A directory of the workspace; the current one of the server without it.
    #[serde(default)]
    workspace: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Initialize {
    /// The highest version of the protocol that the client speaks.
    #[serde(default)]
    protocol: Option<u32>,
}

fn initialize(context: &Context<'_>, asked: Initialize) -> Result<Value, Problem> {
    if asked.protocol.is_some_and(|protocol| protocol < PROTOCOL) {
        return Err(Problem::parameters("the lowest protocol is 1"));
    }
    let seq = context
        .open()
        .and_then(|mut store| Ok(store.newest_in_feed()?));
    let _ = context.lines.try_send(super::notification(
        "initialized",
        &json!({"protocol": PROTOCOL}),
    ));
    Ok(json!({
        "protocol": PROTOCOL,
        "documents": VERSION,
        "server": {"name": "ckpt-hook", "version": env!("CARGO_PKG_VERSION")},
        "methods": METHODS,
        "notifications": ["message", "step", "operation", "busy", "gap", "failed", "reset", "progress",
                          "initialized", "checkpoint", "restored", "error"],
        // Nothing where there is no store that can be read; `status` says why.
        "seq": seq.ok(),
    }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sessions {
    #[serde(default)]
    workspace: Option<PathBuf>,
    /// Those of every workspace.
    #[serde(default)]
    everywhere: bool,
}

fn sessions(context: &Context<'_>, asked: Sessions) -> Result<Value, Problem> {
    let directory = match asked.everywhere {
        true => None,
        false => Some(context.directory(asked.workspace.as_deref())?),
    };
    document(&context.open()?.sessions(directory.as_deref())?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Messages {
    #[serde(default)]
    workspace: Option<PathBuf>,
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
    /// Only those after this place in the order of messages, their `seq`.
    #[serde(default)]
    since: Option<i64>,
    /// Those of every workspace.
    #[serde(default)]
    everywhere: bool,
}

fn messages(context: &Context<'_>, asked: Messages) -> Result<Value, Problem> {
    let directory = context.directory(asked.workspace.as_deref())?;
    let filter = LogFilter {
        session: asked.session,
        limit: asked.limit,
        after: asked.since,
        everywhere: asked.everywhere,
        ..LogFilter::default()
    };
    document(&context.open()?.log(&directory, &filter)?)
}

fn operations(context: &Context<'_>, asked: &WorkspaceParameters) -> Result<Value, Problem> {
    let directory = context.directory(asked.workspace.as_deref())?;
    let filter = LogFilter::default();
    document(&context.open()?.operations(&directory, &filter)?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Show {
    #[serde(default)]
    workspace: Option<PathBuf>,
    /// Any id.
    id: String,
}

fn show(context: &Context<'_>, asked: &Show) -> Result<Value, Problem> {
    let directory = context.directory(asked.workspace.as_deref())?;
    document(&context.open()?.show(&directory, &asked.id)?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Blame {
    #[serde(default)]
    workspace: Option<PathBuf>,
    path: PathBuf,
}

fn blame(context: &Context<'_>, asked: &Blame) -> Result<Value, Problem> {
    let directory = context.directory(asked.workspace.as_deref())?;
    document(&context.open()?.blame(&directory, &asked.path)?.report)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Patch {
    #[serde(default)]
    workspace: Option<PathBuf>,
    /// What did it: a message, a step, an operation. Else two states.
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    from: Option<String>,
    #[serde(default)]
    to: Option<String>,
    #[serde(default)]
    paths: Vec<PathBuf>,
}

/// Returns a patch as `git apply` takes it; in base64 where it is not UTF-8.
fn patch(context: &Context<'_>, asked: Patch) -> Result<Value, Problem> {
    let directory = context.directory(asked.workspace.as_deref())?;
    let mut store = context.open()?;
    let files = match &asked.id {
        Some(id) => {
            let report: ShowReport = store.show(&directory, id)?;
            let files = show::changes_of(&report);
            files
                .ok_or_else(|| Problem::parameters("a session is shown by its messages"))?
                .to_vec()
        }
        None => {
            let request = DiffRequest {
                from: asked.from,
                to: asked.to,
                paths: asked
                    .paths
                    .iter()
                    .map(|path| directory.join(path))
                    .collect(),
            };
            store.diff(&directory, &request)?.files
        }
    };
    let arguments = ChangesArguments {
        context: 3,
        ..ChangesArguments::default()
    };
    let mut changes = Changes {
        invocation: context.invocation,
        store: &mut store,
        directory: &directory,
        arguments: &arguments,
    };
    let bytes = changes.plain_patch(&files, MOST_CONTENT)?;
    let bytes = bytes.ok_or_else(|| {
        Error::failed(format!("the patch is larger than {MOST_CONTENT} bytes"))
            .hint("ask for some of its paths")
    })?;
    Ok(json!({"version": VERSION, "files": files, "patch": content(&bytes)}))
}

/// Returns bytes as text where they are, else in base64.
fn content(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!({"encoding": "utf-8", "text": text, "bytes": bytes.len()}),
        Err(_) => {
            json!({"encoding": "base64", "text": STANDARD.encode(bytes), "bytes": bytes.len()})
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    #[serde(default)]
    workspace: Option<PathBuf>,
    /// The blob, as the documents name it.
    blob: String,
    /// From which byte on.
    #[serde(default)]
    offset: usize,
}

/// Returns a blob's bytes, as many as go into an answer, and where to go on.
fn contents(context: &Context<'_>, asked: &Contents) -> Result<Value, Problem> {
    let bytes = context
        .open()?
        .blob(&context.directory(asked.workspace.as_deref())?, &asked.blob)?;
    let rest = bytes.get(asked.offset..).unwrap_or_default();
    let part = &rest[..rest.len().min(MOST_CONTENT)];
    let next = asked.offset + part.len();
    Ok(json!({
        "version": VERSION, "blob": asked.blob, "size": bytes.len(), "offset": asked.offset,
        "content": content(part), "next_offset": (next < bytes.len()).then_some(next),
    }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Status {
    #[serde(default)]
    workspace: Option<PathBuf>,
    #[serde(default)]
    session: Option<String>,
}

fn status(context: &Context<'_>, asked: Status) -> Result<Value, Problem> {
    let directory = context.directory(asked.workspace.as_deref())?;
    let report = context
        .open()?
        .status(&directory, asked.session.as_deref())?;
    document(&report)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    event: Event,
}

/// Records an event of the generic kind: `event` on the command line.
fn record(context: &Context<'_>, asked: Record) -> Result<Value, Problem> {
    let mut event = asked.event;
    if event.cwd.is_none() {
        event.cwd = Some(context.invocation.directory()?);
    }
    let mut store = context.invocation.open_to_record()?;
    document(&store.record(&event)?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Subscribe {
    #[serde(default)]
    workspace: Option<PathBuf>,
    /// Those of every workspace.
    #[serde(default)]
    everywhere: bool,
    /// The last place that the client has handled; from now on without it.
    #[serde(default)]
    since: Option<i64>,
    /// The names of the notifications.
    #[serde(default)]
    events: Option<Vec<String>>,
}

fn subscribe(context: &Context<'_>, asked: Subscribe) -> Result<Value, Problem> {
    let workspace = match asked.everywhere {
        true => None,
        false => Some(context.directory(asked.workspace.as_deref())?),
    };
    let since = match asked.since {
        Some(since) => since,
        None => context.open()?.newest_in_feed()?,
    };
    context.subscribed(|subscription| {
        *subscription = Subscription {
            is_active: true,
            since: Some(since),
            workspace,
            events: asked.events,
            number: subscription.number,
        };
    });
    Ok(json!({"seq": since}))
}

fn unsubscribe(context: &Context<'_>, _: &WorkspaceParameters) -> Result<Value, Problem> {
    context.subscribed(|subscription| subscription.is_active = false);
    Ok(json!({}))
}

fn parameters<T: DeserializeOwned>(job: &Job) -> Result<T, Problem> {
    serde_json::from_value(Value::Object(job.parameters.clone()))
        .map_err(|error| Problem::parameters(&error.to_string()))
}

fn document(report: &impl serde::Serialize) -> Result<Value, Problem> {
    serde_json::to_value(report).map_err(|error| {
        Error::failed("cannot write the answer")
            .because(error)
            .into()
    })
}
