//! What a client can ask for: each method does the work of a command, and returns the document that the command prints.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::SyncSender;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ckpt_agents::conversations;
use ckpt_command::changes::ChangesArguments;
use ckpt_command::changes::ChangesView;
use ckpt_command::invocation::Invocation;
use ckpt_output::{progress, show};
use ckpt_process::failure::{Failure, NOT_A_SESSION};
use ckpt_process::locks;
use ckpt_schema::protocol::{
    BlameParameters, ContentsParameters, ContentsResult, DoctorParameters, InitializeParameters,
    InitializeResult, InstallParameters, MessagesParameters, OperationName, PatchParameters,
    PatchResult, PathParameter, RecordParameters, ServerReport, SessionsParameters, ShowParameters,
    StatusParameters, SubscribeParameters, SubscribeResult, TimelineParameters,
    WorkspaceParameters,
};
use ckpt_schema::report::{
    Content, DoctorReport, Encoding, InstallReport, OperationReport, ShowReport, VERSION,
};
use ckpt_store::model::instruction::Surface;
use ckpt_store::query::{DiffRequest, LogFilter};
use ckpt_store::{Error, Store};
use serde_json::{Value, json};

use super::notify::Subscription;
use super::operations;
use super::parameters::parameters;
use super::protocol::{Job, RequestError};
use super::redaction::ShownFiles;

/// The document that answers a request.
pub type MethodResult = Result<Value, RequestError>;

/// The version of the protocol.
const PROTOCOL: u64 = 1;

/// The most of a file's content in one answer, in bytes.
const MOST_CONTENT: usize = 8 << 20;

/// The methods, in the order of the documentation.
const METHODS: [&str; 23] = [
    "initialize",
    "sessions",
    "messages",
    "operations",
    "timeline",
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
    "undo",
    "status",
    "doctor",
    "install",
    "record",
    "subscribe",
    "unsubscribe",
    "cancel",
];

/// The notifications, in the order of the documentation.
const NOTIFICATIONS: [&str; 13] = [
    "message",
    "step",
    "operation",
    "busy",
    "rewound",
    "gap",
    "failed",
    "reset",
    "progress",
    "initialized",
    "checkpoint",
    "restored",
    "error",
];

/// The parameters that lead out of the server's own workspace. A client that is confined to it may not give them.
pub const OUTWARD: [&str; 2] = ["workspace", "everywhere"];

/// What is needed to answer a request.
pub struct RequestContext<'a> {
    /// The settings and the surroundings.
    pub invocation: &'a Invocation,
    /// The notifications that the client wants.
    pub subscription: &'a Mutex<Subscription>,
    /// The lines to the client.
    pub lines: &'a SyncSender<String>,
    /// The id of the request.
    pub request: &'a Value,
    /// Where the answer is read.
    pub surface: Surface,
    /// Read when it is first asked for.
    pub shown: OnceCell<ShownFiles>,
    /// What is asked about the machine, if that may be asked here.
    pub machine: Option<MachineMethods>,
}

/// What the program itself answers, and not the store.
#[derive(Clone, Copy)]
pub struct MachineMethods {
    /// Checks store, settings and hooks, and repairs nothing but damaged objects.
    pub doctor: fn(&Invocation, &DoctorParameters) -> Result<DoctorReport, Failure>,
    /// Puts the hook into agents' settings.
    pub install: fn(&Invocation, &InstallParameters) -> Result<InstallReport, Failure>,
}

/// Returns the answer to a request.
pub fn answer(context: &RequestContext<'_>, job: &Job) -> Value {
    let is_cancelled = || *locks::lock(&job.is_cancelled);
    let outcome = if is_cancelled() {
        Err(RequestError::Cancelled)
    } else {
        call(context, job)
    };
    match outcome {
        // A request that changed something is answered even if it was cancelled.
        Ok(_) if is_cancelled() && !changes_something(&job.method) => {
            RequestError::Cancelled.response(&job.id)
        }
        Ok(result) => json!({"jsonrpc": "2.0", "id": job.id, "result": result}),
        Err(problem) => problem.response(&job.id),
    }
}

/// Returns whether a method changes files or the history.
pub fn changes_something(method: &str) -> bool {
    matches!(
        method,
        "apply" | "revert" | "redo" | "unrevert" | "restore" | "undo" | "record" | "install"
    )
}

fn call(context: &RequestContext<'_>, job: &Job) -> MethodResult {
    match (job.method.as_str(), context.machine) {
        ("doctor", Some(of)) => document(&(of.doctor)(context.invocation, &parameters(job)?)?),
        ("install", Some(of)) => document(&(of.install)(context.invocation, &parameters(job)?)?),
        (method, _) => of_workspace(context, job, method),
    }
}

/// Calls a method that is about a workspace.
fn of_workspace(context: &RequestContext<'_>, job: &Job, method: &str) -> MethodResult {
    match method {
        "initialize" => initialize(context, parameters(job)?),
        "sessions" => sessions(context, parameters(job)?),
        "messages" => messages(context, parameters(job)?),
        "operations" => operations(context, &parameters(job)?),
        "timeline" => timeline(context, parameters(job)?),
        "show" => show(context, &parameters(job)?),
        "patch" => patch(context, parameters(job)?),
        "contents" => contents(context, &parameters(job)?),
        "blame" => blame(context, &parameters(job)?),
        "plan" => operations::plan(context, parameters(job)?),
        "apply" => operations::apply(context, &parameters(job)?),
        "revert" => operations::operate(context, OperationName::Revert, parameters(job)?),
        "redo" => operations::operate(context, OperationName::Redo, parameters(job)?),
        "unrevert" => operations::operate(context, OperationName::Unrevert, parameters(job)?),
        "restore" => operations::operate(context, OperationName::Restore, parameters(job)?),
        "undo" => operations::operate(context, OperationName::Undo, parameters(job)?),
        "status" => status(context, parameters(job)?),
        "record" => record(context, parameters(job)?),
        "subscribe" => subscribe(context, parameters(job)?),
        "unsubscribe" => unsubscribe(context, &parameters(job)?),
        other => Err(RequestError::method(other)),
    }
}

impl RequestContext<'_> {
    /// Returns the files whose contents may be in an answer about the server's own workspace.
    pub fn shown(&self) -> &ShownFiles {
        self.shown.get_or_init(|| {
            if self.surface != Surface::Model {
                return ShownFiles::All;
            }
            let withheld = || Ok::<_, RequestError>(self.open()?.withheld(&self.directory(None)?)?);
            withheld().map_or(ShownFiles::Nothing, |withheld| {
                ShownFiles::Except(Box::new(withheld))
            })
        })
    }

    /// Opens the store, for one request.
    pub fn open(&self) -> Result<Store, RequestError> {
        Ok(self.invocation.open()?)
    }

    /// Returns the directory that a request names, else the server's own.
    pub fn directory(&self, workspace: Option<&Path>) -> Result<PathBuf, RequestError> {
        match workspace {
            Some(path) => Ok(self.invocation.surroundings.directory(Some(path))?),
            None => Ok(self.invocation.directory()?),
        }
    }

    fn subscribed<T>(&self, change: impl FnOnce(&mut Subscription) -> T) -> T {
        let mut subscription = locks::lock(self.subscription);
        subscription.number += 1;
        change(&mut subscription)
    }

    /// Does something that may take long, and sends progress.
    pub fn watched<E: Into<Failure>>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<OperationReport, E>,
    ) -> Result<OperationReport, RequestError> {
        let mut store = self.open()?;
        let (lines, id) = (self.lines.clone(), self.request.clone());
        store.watch(Some(Box::new(move |progress| {
            let told = json!({"id": id});
            let told = with_fields(told, &progress::document(progress));
            // Never wait for a client while the workspace is locked.
            let _ = lines.try_send(super::notification("progress", &told));
        })));
        work(&mut store).map_err(RequestError::from)
    }
}

fn initialize(context: &RequestContext<'_>, asked: InitializeParameters) -> MethodResult {
    if asked.protocol.is_some_and(|protocol| protocol < PROTOCOL) {
        return Err(RequestError::parameters("the lowest protocol is 1"));
    }
    // A store that cannot be opened is no reason not to begin: the client needs the connection to ask what is
    // wrong.
    let seq = context
        .open()
        .and_then(|mut store| Ok(store.newest_in_feed()?));
    let _ = context.lines.try_send(super::notification(
        "initialized",
        &json!({"protocol": PROTOCOL}),
    ));
    document(&InitializeResult {
        protocol: PROTOCOL,
        documents: u64::from(VERSION),
        server: ServerReport {
            name: "ckpt-hook".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        methods: METHODS.map(str::to_owned).to_vec(),
        notifications: NOTIFICATIONS.map(str::to_owned).to_vec(),
        conversation: conversations::abilities(),
        // `status` says why it is unknown.
        seq: seq.ok(),
    })
}

fn sessions(context: &RequestContext<'_>, asked: SessionsParameters) -> MethodResult {
    let directory = match asked.everywhere {
        true => None,
        false => Some(context.directory(asked.workspace.as_deref())?),
    };
    document(&context.open()?.sessions(directory.as_deref())?)
}

fn messages(context: &RequestContext<'_>, asked: MessagesParameters) -> MethodResult {
    let directory = context.directory(asked.workspace.as_deref())?;
    let mut store = context.open()?;
    if asked.exact {
        check_exact(&mut store, &directory, &[&asked.session])?;
    }
    let filter = LogFilter {
        session: asked.session,
        limit: asked.limit,
        after: asked.since,
        everywhere: asked.everywhere,
        ..LogFilter::default()
    };
    document(&store.log(&directory, &filter)?)
}

/// Refuses ids that are not full ones. `current` is no id: it is the workspace as it is now.
pub fn check_exact(
    store: &mut Store,
    directory: &Path,
    ids: &[&Option<String>],
) -> Result<(), RequestError> {
    let ids = ids.iter().filter_map(|id| id.as_deref());
    for id in ids.filter(|id| *id != "current") {
        store.check_exact(directory, id)?;
    }
    Ok(())
}

fn operations(context: &RequestContext<'_>, asked: &WorkspaceParameters) -> MethodResult {
    let directory = context.directory(asked.workspace.as_deref())?;
    let filter = LogFilter::default();
    document(&context.open()?.operations(&directory, &filter)?)
}

/// Returns messages, operations and changes from outside in one list.
fn timeline(context: &RequestContext<'_>, asked: TimelineParameters) -> MethodResult {
    let directory = context.directory(asked.workspace.as_deref())?;
    let is_given = |text: &String| !text.is_empty();
    let filter = LogFilter {
        limit: asked.limit,
        search: asked.search.filter(is_given),
        text: asked.text.filter(is_given),
        ..LogFilter::default()
    };
    document(&context.open()?.timeline(&directory, &filter)?)
}

fn show(context: &RequestContext<'_>, asked: &ShowParameters) -> MethodResult {
    let directory = context.directory(asked.workspace.as_deref())?;
    let mut store = context.open()?;
    if asked.exact {
        store.check_exact(&directory, &asked.id)?;
    }
    document(&store.show(&directory, &asked.id)?)
}

fn blame(context: &RequestContext<'_>, asked: &BlameParameters) -> MethodResult {
    let directory = context.directory(asked.workspace.as_deref())?;
    let mut blamed = context.open()?.blame(&directory, &path(&asked.path))?;
    if asked.contents {
        blamed.report.contents = Some(content(&blamed.bytes));
    }
    document(&blamed.report)
}

/// Returns a patch that `git apply` accepts; in base64 if it is not UTF-8.
fn patch(context: &RequestContext<'_>, asked: PatchParameters) -> MethodResult {
    let compares = asked.from.is_some() || asked.to.is_some() || !asked.paths.is_empty();
    if asked.id.is_some() && compares {
        let why = "`from`, `to` and `paths` compare two states; with an `id`, give none of them";
        return Err(RequestError::parameters(why));
    }
    let directory = context.directory(asked.workspace.as_deref())?;
    let mut store = context.open()?;
    if asked.exact {
        check_exact(&mut store, &directory, &[&asked.id, &asked.from, &asked.to])?;
    }
    let files = match &asked.id {
        Some(id) => {
            let report: ShowReport = store.show(&directory, id)?;
            let files = show::changes_of(&report);
            files
                .ok_or_else(|| RequestError::parameters(NOT_A_SESSION))?
                .to_vec()
        }
        None => {
            let request = DiffRequest {
                from: asked.from,
                to: asked.to,
                paths: paths(&directory, &asked.paths),
            };
            store.diff(&directory, &request)?.files
        }
    };
    if asked.names {
        let patch = Content {
            encoding: Encoding::Utf8,
            text: None,
            bytes: 0,
        };
        return document(&PatchResult {
            version: VERSION,
            files,
            patch,
        });
    }
    let arguments = ChangesArguments::default();
    let blobs = store.blobs(&directory)?;
    let changes = ChangesView {
        invocation: context.invocation,
        blobs: &blobs,
        arguments: &arguments,
    };
    let shown = context.shown();
    let mut patched = files.clone();
    patched.retain(|change| shown.hold_change(change));
    let bytes = changes.plain_patch(&patched, MOST_CONTENT)?;
    let bytes = bytes.ok_or_else(|| {
        Error::failed(format!("the patch is larger than {MOST_CONTENT} bytes"))
            .hint("ask for some of its paths")
    })?;
    document(&PatchResult {
        version: VERSION,
        files,
        patch: content(&bytes),
    })
}

/// Returns a path that a client gave.
fn path(given: &PathParameter) -> PathBuf {
    OsString::from_vec(given.bytes()).into()
}

/// Returns paths that a client gave, below a directory.
pub fn paths(directory: &Path, given: &[PathParameter]) -> Vec<PathBuf> {
    let paths = given.iter().map(|given| directory.join(path(given)));
    paths.collect()
}

/// Returns bytes in the form that documents have.
pub fn content(bytes: &[u8]) -> Content {
    let (encoding, text) = match std::str::from_utf8(bytes) {
        Ok(text) => (Encoding::Utf8, text.to_owned()),
        Err(_) => (Encoding::Base64, STANDARD.encode(bytes)),
    };
    Content {
        encoding,
        text: Some(text),
        bytes: bytes.len() as u64,
    }
}

/// Returns the bytes of a blob, or of a file in a state, as many as fit into an answer, and the offset to continue at.
fn contents(context: &RequestContext<'_>, asked: &ContentsParameters) -> MethodResult {
    let directory = context.directory(asked.workspace.as_deref())?;
    let mut store = context.open()?;
    if asked.exact {
        check_exact(&mut store, &directory, &[&asked.id])?;
    }
    let (blob, bytes) = match (&asked.blob, &asked.path, &asked.id) {
        (Some(blob), None, None) => (blob.clone(), store.blob(&directory, blob)?),
        (None, Some(file), Some(id)) => {
            let found = store.cat(&directory, id, &directory.join(path(file)))?;
            (found.report.blob, found.bytes)
        }
        _ => {
            let why = "give a `blob`, or a `path` with the `id` of a state";
            return Err(RequestError::parameters(why));
        }
    };
    let size = bytes.len() as u64;
    let offset = usize::try_from(asked.offset).unwrap_or(usize::MAX);
    let rest = bytes.get(offset..).unwrap_or_default();
    let part = &rest[..rest.len().min(MOST_CONTENT)];
    let next = asked.offset.saturating_add(part.len() as u64);
    document(&ContentsResult {
        version: VERSION,
        blob,
        size,
        offset: asked.offset,
        content: content(part),
        next_offset: (next < size).then_some(next),
    })
}

fn status(context: &RequestContext<'_>, asked: StatusParameters) -> MethodResult {
    let directory = context.directory(asked.workspace.as_deref())?;
    let mut store = context.open()?;
    if asked.exact {
        check_exact(&mut store, &directory, &[&asked.session])?;
    }
    document(&store.status(&directory, asked.session.as_deref())?)
}

/// Records an event of the generic kind: `event` on the command line.
fn record(context: &RequestContext<'_>, asked: RecordParameters) -> MethodResult {
    let mut event = asked.event;
    if event.cwd.is_none() {
        event.cwd = Some(context.invocation.directory()?);
    }
    let mut store = context.invocation.open_to_record()?;
    document(&store.record(&event)?)
}

fn subscribe(context: &RequestContext<'_>, asked: SubscribeParameters) -> MethodResult {
    let workspace = match asked.everywhere {
        true => None,
        false => Some(context.directory(asked.workspace.as_deref())?),
    };
    // The position is fixed now, not when the other thread comes to it: what happens in between is told, too.
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
    document(&SubscribeResult { seq: since })
}

fn unsubscribe(context: &RequestContext<'_>, _: &WorkspaceParameters) -> MethodResult {
    context.subscribed(|subscription| subscription.is_active = false);
    Ok(json!({}))
}

fn with_fields(mut value: Value, more: &impl serde::Serialize) -> Value {
    if let (Value::Object(fields), Ok(Value::Object(more))) =
        (&mut value, serde_json::to_value(more))
    {
        fields.extend(more);
    }
    value
}

/// Returns a result in the form of an answer.
pub fn document(report: &impl serde::Serialize) -> MethodResult {
    serde_json::to_value(report).map_err(|error| {
        Error::failed("cannot write the answer")
            .because(error)
            .into()
    })
}
