//! `mcp`: the history as tools of the Model Context Protocol, on the standard streams.
//!
//! The official SDK speaks the protocol and needs a runtime; the runtime has one thread, and runs in this command
//! alone. `serve` does the work: a tool is one of its methods, with the same parameters and the same document. `tools`
//! lists them.

mod tools;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};

use ckpt_command::invocation::Invocation;
use ckpt_output::data;
use ckpt_process::failure::{DONE, Failure};
use ckpt_process::starter::{POLL_INTERVAL, Starter};
use ckpt_store::Error;
use ckpt_store::model::instruction::Surface;
use clap::Args;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ElicitRequestParams,
    ElicitationAction, ErrorData, Implementation, JsonObject, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, ServiceExt};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use self::tools::McpTool;
use crate::methods::{self, RequestContext as ServeContext};
use crate::protocol::Job;
use crate::start;

/// `mcp`.
#[derive(Clone, Debug, Args)]
#[command(after_help = MCP_EXAMPLE)]
pub struct McpArguments {
    /// Let the model carry out what it planned; without it, it can only look
    #[arg(long)]
    pub allow_revert: bool,
}

const MCP_EXAMPLE: &str = r#"Example, in the settings of a client:
  {"mcpServers": {"ckpt-hook": {"command": "ckpt-hook", "args": ["mcp"]}}}

The server speaks on its standard streams, about the workspace in which it starts."#;

const INSTRUCTIONS: &str = "\
The history of this workspace: what the user asked agents for, what each step changed, and how to go back to just before any \
message. Plan before you apply: `plan` changes nothing and returns a token, `apply` carries out exactly that plan or fails with \
`stale`. Files that the user changed since stay as they are unless the user wants otherwise. While your turn goes on, you are at work in \
the workspace yourself: `apply` needs `force` then. Never apply what the user did not ask for.";

/// Answers until stdin ends, or the process that started this one.
pub fn run(invocation: &Invocation, arguments: &McpArguments) -> Result<u8, Failure> {
    Surface::Model.take();
    let (asks, asked) = channel();
    let server = Server {
        asks,
        may_apply: arguments.allow_revert,
    };
    std::thread::scope(|scope| {
        start(scope, || work(invocation, asked))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::failed("cannot start a runtime").because(error))?;
        let starter = Starter::now();
        let spoken = runtime.block_on(async {
            tokio::select! {
                spoken = speak(server) => spoken,
                () = gone(&starter) => Ok(()),
            }
        });
        // A read of stdin may still wait for a client that is gone.
        runtime.shutdown_background();
        spoken.map_err(|error| {
            Error::failed("cannot speak the Model Context Protocol").because(error)
        })?;
        Ok(DONE)
    })
}

async fn speak(server: Server) -> Result<(), std::io::Error> {
    let running = server
        .serve(rmcp::transport::stdio())
        .await
        .map_err(std::io::Error::other)?;
    running.waiting().await.map_err(std::io::Error::other)?;
    Ok(())
}

/// Waits until the client is gone: the SDK waits for the end of stdin alone, which another
/// process may hold open.
async fn gone(starter: &Starter) {
    while !starter.is_gone() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// A call of a method of `serve`, and where its answer goes.
struct Ask {
    job: Job,
    answer: oneshot::Sender<Value>,
}

/// Answers calls one after the other, on a thread of its own: the runtime's thread must not wait for the store.
fn work(invocation: &Invocation, asked: Receiver<Ask>) {
    for ask in asked {
        // The protocol has no progress, so it is dropped.
        let (lines, _) = sync_channel(1);
        let context = ServeContext {
            invocation,
            subscription: &Mutex::default(),
            lines: &lines,
            request: &ask.job.id,
            surface: Surface::Model,
            shown: OnceCell::new(),
            machine: None,
        };
        // The client may be gone.
        let _ = ask.answer.send(answer(&context, &ask.job));
    }
}

/// Returns an answer for a model: without the contents that it does not get, and with names that are data.
fn answer(context: &ServeContext<'_>, job: &Job) -> Value {
    let mut answer = methods::answer(context, job);
    if let Some(result) = answer.get_mut("result") {
        context.shown().withhold(result);
    }
    data::guard(&mut answer);
    answer
}

/// What the SDK calls.
struct Server {
    asks: Sender<Ask>,
    /// Whether the model may change files.
    may_apply: bool,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("ckpt-hook", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    /// Later versions of the protocol ask a person by other means than a request to the client.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = tools::all(self.may_apply).map(McpTool::describe).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.as_ref();
        let Some(tool) = tools::all(self.may_apply).find(|tool| tool.name == name) else {
            let why = match name {
                "apply" => "this server is read-only: `ckpt-hook mcp --allow-revert` may apply",
                _ => "there is no such tool",
            };
            return Err(ErrorData::invalid_params(why, None));
        };
        let parameters = request.arguments.unwrap_or_default();
        let mut outcome = self.ask(tool, parameters.clone()).await?;
        if tool.name == "plan"
            && let Ok(result) = &outcome
            && let Some(wish) = wish(&context, &parameters, result).await
        {
            let mut parameters = parameters;
            parameters.insert("on_conflict".to_owned(), json!(wish));
            outcome = self.ask(tool, parameters).await?;
        }
        Ok(match outcome {
            Ok(result) => CallToolResult::structured(result),
            Err(error) => CallToolResult::structured_error(error),
        }
        .into())
    }
}

impl Server {
    /// Calls the method of a tool; the model reads its error.
    async fn ask(
        &self,
        tool: &McpTool,
        parameters: JsonObject,
    ) -> Result<Result<Value, Value>, ErrorData> {
        let gone = || ErrorData::internal_error("the server is shutting down", None);
        if let Some(name) = methods::OUTWARD
            .iter()
            .find(|name| parameters.contains_key(**name))
        {
            let why = format!("`{name}` is not accepted here: the server is for one workspace");
            return Err(ErrorData::invalid_params(why, None));
        }
        let (answer, answered) = oneshot::channel();
        let job = Job {
            id: json!(1),
            method: tool.method.to_owned(),
            parameters: parameters.into_iter().collect::<Map<_, _>>(),
            is_cancelled: Default::default(),
        };
        self.asks.send(Ask { job, answer }).map_err(|_| gone())?;
        let mut answer = answered.await.map_err(|_| gone())?;
        Ok(match answer.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => Err(answer["error"].take()),
        })
    }
}

/// Asks the person what to do with files that were changed since, if the plan has any and the client can ask. Returns
/// the `on_conflict` to plan again with.
async fn wish(
    context: &RequestContext<RoleServer>,
    parameters: &JsonObject,
    result: &Value,
) -> Option<&'static str> {
    if parameters.contains_key("on_conflict")
        || context.client_capabilities()?.elicitation.is_none()
    {
        return None;
    }
    let files = result["report"]["files"].as_array()?;
    let names: Vec<_> = files
        .iter()
        .filter(|file| file["result"] == "conflict")
        .filter_map(|file| file["path"].as_str())
        .map(|path| (path, ""))
        .collect();
    if names.is_empty() {
        return None;
    }
    let question = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: format!(
            "Changed since the agent did: {}. Keep these files as they are, or take the earlier version?",
            data::listed(names)
        ),
        requested_schema: serde_json::from_value(json!({
            "type": "object",
            "properties": {"files": {
                "type": "string",
                "title": "These files",
                "enum": ["keep", "overwrite"],
                "enumNames": ["Keep them as they are", "Take the earlier version"],
            }},
            "required": ["files"],
        }))
        .ok()?,
    };
    let answer = context.peer.create_elicitation(question).await.ok()?;
    let is_wished = answer.action == ElicitationAction::Accept
        && answer
            .content
            .is_some_and(|content| content["files"] == "overwrite");
    is_wished.then_some("overwrite")
}
