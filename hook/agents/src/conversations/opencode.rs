//! opencode and Kilo: `POST /session/ID/fork` of their server, which is started for it on this machine alone.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ckpt_schema::report::ConversationReason;
use ckpt_store::model::conversation::{
    AgentConversation, ForkFailure, ForkPlan, FoundMessage, NoFork, SoughtMessage,
};
use serde_json::Value;

use super::program;

/// How long the server may take to listen, and to answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// The longest answer that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// Finds a message: the agent's own name for it is what its server takes.
pub fn find(message: &SoughtMessage) -> Result<FoundMessage, ConversationReason> {
    let entry = message
        .agent_id
        .clone()
        .ok_or(ConversationReason::NotFound)?;
    Ok(FoundMessage {
        entry: Some(entry),
        ..FoundMessage::default()
    })
}

/// Plans a fork before a message.
pub fn plan(message: &SoughtMessage) -> Result<ForkPlan, NoFork> {
    program::require(&message.agent)?;
    let anchor = find(message)
        .map_err(NoFork::because)?
        .entry
        .unwrap_or_default();
    Ok(ForkPlan {
        agent: message.agent.clone(),
        from: message.conversation.clone(),
        to: None,
        anchor,
        directory: message.directory.clone(),
        interface: format!("`POST /session/…/fork` of `{} serve`", message.agent),
        note: None,
        seen: String::new(),
        is_cut: false,
    })
}

/// A server that ends with this value.
struct OpencodeServer(Child);

impl Drop for OpencodeServer {
    fn drop(&mut self) {
        // Both fail only if it has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Has the agent's server make it.
pub fn fork(plan: &ForkPlan) -> Result<AgentConversation, ForkFailure> {
    let failed = |why: String| ForkFailure::Failed(why);
    let mut command = program::start(&plan.agent)
        .ok_or_else(|| failed(format!("`{}` is not on the PATH", plan.agent)))?;
    let password = uuid::Uuid::new_v4().simple().to_string();
    let started = command
        .args(["serve", "--hostname", "127.0.0.1", "--port", "0"])
        .env("OPENCODE_SERVER_PASSWORD", &password)
        .env("KILO_SERVER_PASSWORD", &password)
        .current_dir(&plan.directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut server = OpencodeServer(started.map_err(|error| failed(error.to_string()))?);
    let address = address(&mut server.0).ok_or_else(|| {
        failed(format!(
            "`{} serve` did not say where it listens",
            plan.agent
        ))
    })?;
    let user = STANDARD.encode(format!("{}:{password}", plan.agent));
    let body = serde_json::json!({"messageID": plan.anchor}).to_string();
    let request = format!(
        "POST /session/{}/fork HTTP/1.1\r\nHost: {address}\r\nAuthorization: Basic {user}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        plan.from.session,
        body.len()
    );
    let unknown = |error: std::io::Error| ForkFailure::Unknown(error.to_string());
    let answer = exchange(&address, &request).map_err(unknown)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let status = head.lines().next().unwrap_or_default();
    if !status.contains(" 200 ") {
        return Err(failed(format!("the server answered `{status}`")));
    }
    // The body may come in chunks: the object is what lies between the outermost braces.
    let object = body
        .find('{')
        .zip(body.rfind('}'))
        .and_then(|(from, to)| body.get(from..=to));
    let answer: Option<Value> = object.and_then(|text| serde_json::from_str(text).ok());
    let session = answer.as_ref().and_then(|answer| answer["id"].as_str());
    let session = session
        .ok_or_else(|| ForkFailure::Unknown("the server's answer names no session".to_owned()))?;
    Ok(AgentConversation {
        session: session.to_owned(),
        transcript: None,
    })
}

/// Returns where a server listens, once it says so. Before that it must not be asked: an early connection stops it.
fn address(server: &mut Child) -> Option<String> {
    let stdout = server.stdout.take()?;
    let (sender, lines) = channel();
    std::thread::Builder::new()
        .spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // Its output goes on being read, so that it never waits for a reader.
                let _ = sender.send(line);
            }
        })
        .ok()?;
    loop {
        let line = lines.recv_timeout(PATIENCE).ok()?;
        if let Some((_, address)) = line.split_once("http://") {
            return Some(address.trim().trim_end_matches('/').to_owned());
        }
    }
}

fn exchange(address: &str, request: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(LONGEST).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
