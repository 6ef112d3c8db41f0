//! opencode and Kilo: `POST /session/ID/fork` of their server, which is started for it on this machine alone.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ckpt_process::ProcessGroup;
use ckpt_schema::report::ConversationReason;
use ckpt_store::model::conversation::{
    AgentConversation, ForkFailure, ForkPlan, FoundMessage, NoFork, SoughtMessage,
};
use serde_json::Value;

use super::program::{self, PATIENCE};

/// The longest answer that is read, in bytes.
const LONGEST: usize = 1 << 20;

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

/// Has the agent's server make it.
pub fn fork(plan: &ForkPlan) -> Result<AgentConversation, ForkFailure> {
    let failed = ForkFailure::Failed;
    let end = Instant::now() + PATIENCE;
    let mut command = program::start(&plan.agent)
        .ok_or_else(|| failed(format!("`{}` is not on the PATH", plan.agent)))?;
    let password = uuid::Uuid::new_v4().simple().to_string();
    command
        .args(["serve", "--hostname", "127.0.0.1", "--port", "0"])
        .env("OPENCODE_SERVER_PASSWORD", &password)
        .env("KILO_SERVER_PASSWORD", &password)
        .current_dir(&plan.directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let server = ProcessGroup::start(&mut command);
    let mut server = server.map_err(|error| failed(error.to_string()))?;
    let address = address(&mut server.child, end)
        .map_err(|why| failed(format!("`{} serve` {why}", plan.agent)))?;
    let user = STANDARD.encode(format!("{}:{password}", plan.agent));
    let body = serde_json::json!({"messageID": plan.anchor}).to_string();
    let request = format!(
        "POST /session/{}/fork HTTP/1.1\r\nHost: {address}\r\nAuthorization: Basic {user}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        plan.from.session,
        body.len()
    );
    let answer = exchange(address, &request, end).map_err(|error| {
        ForkFailure::Unknown(match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                format!(
                    "the server gave no answer within {} seconds",
                    PATIENCE.as_secs()
                )
            }
            _ => error.to_string(),
        })
    })?;
    let answer = answer.map_err(|status| {
        let why = format!("the server answered `{status}`");
        // One that broke off may have begun.
        match status.contains(" 5") {
            true => ForkFailure::Unknown(why),
            false => failed(why),
        }
    })?;
    let session = answer["id"].as_str();
    Ok(AgentConversation {
        session: session.ok_or_else(program::unnamed)?.to_owned(),
        transcript: None,
    })
}

/// Returns where a server listens, once it says so. Before that it must not be asked: an early connection stops it.
fn address(server: &mut Child, end: Instant) -> Result<SocketAddr, String> {
    let stdout = server.stdout.take().ok_or("has no output")?;
    let (sender, lines) = channel();
    let reader = move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // Its output goes on being read, so that it never waits for a reader.
            let _ = sender.send(line);
        }
    };
    std::thread::Builder::new()
        .spawn(reader)
        .map_err(|error| error.to_string())?;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let line = lines.recv_timeout(left).map_err(|error| match error {
            RecvTimeoutError::Disconnected => "ended before it listened".to_owned(),
            RecvTimeoutError::Timeout => {
                format!("did not listen within {} seconds", PATIENCE.as_secs())
            }
        })?;
        if let Some((_, address)) = line.split_once("http://") {
            let address = address.trim().trim_end_matches('/');
            let is_here = |address: &SocketAddr| address.ip().is_loopback();
            let here = address.parse().ok().filter(is_here);
            return here
                .ok_or_else(|| format!("listens at `{address}`, not on this machine alone"));
        }
    }
}

/// Sends a request, and returns the object of the answer, or the status that refuses it. The server may leave the connection
/// open after its answer.
fn exchange(address: SocketAddr, request: &str, end: Instant) -> io::Result<Result<Value, String>> {
    let left = || match end.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::Error::from(ErrorKind::TimedOut)),
        left => Ok(left),
    };
    let mut stream = TcpStream::connect_timeout(&address, left()?)?;
    stream.write_all(request.as_bytes())?;
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    while answer.len() < LONGEST {
        stream.set_read_timeout(Some(left()?))?;
        let length = stream.read(&mut piece)?;
        answer.extend_from_slice(&piece[..length]);
        if let Some(whole) = whole(&String::from_utf8_lossy(&answer)) {
            return Ok(whole);
        }
        if length == 0 {
            break;
        }
    }
    Err(io::Error::other("the server's answer is not one"))
}

/// Reads an answer. `None` if it is not whole.
fn whole(answer: &str) -> Option<Result<Value, String>> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.lines().next().unwrap_or_default();
    if !status.contains(" 200 ") {
        return Some(Err(status.to_owned()));
    }
    // The body may come in chunks: the object is what lies between the outermost braces.
    let object = body.get(body.find('{')?..=body.rfind('}')?)?;
    serde_json::from_str(object).ok().map(Ok)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Asks a server that says something and leaves the connection open.
    fn asked(says: &'static str) -> io::Result<Result<Value, String>> {
        let server = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = server.local_addr().expect("it is bound");
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = server.accept().expect("it is asked");
            stream.write_all(says.as_bytes()).expect("it is read");
            stream
        });
        let end = Instant::now() + Duration::from_millis(300);
        let answer = exchange(address, "", end);
        drop(thread.join().expect("it answers"));
        answer
    }

    /// An answer is whole when its object is, though the server leaves the connection open.
    #[test]
    fn answer_is_whole_when_its_object_is() {
        let plain = "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"id\":{\"a\":1}}";
        let chunk =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"id\":1}\r\n0\r\n\r\n";
        for says in [plain, chunk] {
            let answer = asked(says).expect("an answer").expect("an object");
            assert!(answer.get("id").is_some(), "{answer}");
        }
    }

    /// A server without such a route is told from one that says nothing in time.
    #[test]
    fn refusal_is_told_from_silence() {
        let refused = asked("HTTP/1.1 404 Not Found\r\n\r\n").expect("an answer");
        assert_eq!(refused, Err("HTTP/1.1 404 Not Found".to_owned()));
        for says in [
            "",
            "nonsense",
            "HTTP/1.1 200 OK\r\n\r\n<html>",
            "HTTP/1.1 200 OK\r\n\r\n{\"id\"",
        ] {
            assert!(asked(says).is_err(), "{says}");
        }
    }
}
