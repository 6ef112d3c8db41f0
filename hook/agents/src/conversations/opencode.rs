//! opencode and Kilo: `POST /session/ID/fork` of their server, which is started for it on this machine alone. What a
//! session has is in their database, which is read only.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ckpt_process::ProcessGroup;
use ckpt_process::surroundings::Environment;
use ckpt_schema::report::ConversationReason;
use ckpt_store::Milliseconds;
use ckpt_store::model::conversation::{
    AgentConversation, ForkFailure, ForkPlan, FoundMessage, NoFork, SoughtMessage,
};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use serde_json::Value;

use super::program::{self, PROGRAM_TIMEOUT};
use super::record;

/// The longest answer that is read, in bytes.
const LONGEST: usize = 1 << 20;

/// What an agent's database has of a session. The names of messages ascend.
#[derive(Default)]
struct KeptSession {
    messages: Vec<String>,
    /// The message to which its own undo went back, until the next one is sent, which removes what comes after.
    undone: Option<String>,
    /// The messages that stand for all before them.
    compactions: Vec<String>,
}

impl KeptSession {
    /// Reads a session. `None` if there is no database, or none that can be read now.
    fn read(message: &SoughtMessage) -> Result<Option<Self>, ConversationReason> {
        match database(&message.agent).filter(|path| path.exists()) {
            Some(path) => Self::of(&path, &message.conversation.session)
                .map(Some)
                .or_else(|error| unread(&error)),
            None => Ok(None),
        }
    }

    fn of(path: &Path, session: &str) -> rusqlite::Result<Self> {
        let database = open(path)?;
        let select = |sql: &str| -> rusqlite::Result<Vec<Option<String>>> {
            let mut statement = database.prepare(sql)?;
            statement.query_map([session], |row| row.get(0))?.collect()
        };
        let undone =
            select("SELECT json_extract(revert, '$.messageID') FROM session WHERE id = ?1")?;
        let undone = undone.into_iter().next();
        let parts = "SELECT message_id FROM part WHERE session_id = ?1 AND json_extract(data, '$.type') = 'compaction'";
        Ok(Self {
            messages: select("SELECT id FROM message WHERE session_id = ?1")?
                .into_iter()
                .flatten()
                .collect(),
            undone: undone.ok_or(rusqlite::Error::QueryReturnedNoRows)?,
            compactions: select(parts)?.into_iter().flatten().collect(),
        })
    }

    /// Returns whether the agent's own undo took a message out.
    fn has_left(&self, message: &str) -> bool {
        let is_undone = self
            .undone
            .as_deref()
            .is_some_and(|undone| undone <= message);
        // The newest may not be written yet.
        let is_newest = self.messages.iter().all(|id| id.as_str() < message);
        let is_there = self.messages.iter().any(|id| id == message);
        is_undone || !is_there && !is_newest
    }
}

/// Tells a database without the session, and one of another format, from one that cannot be read now.
fn unread<T>(error: &rusqlite::Error) -> Result<Option<T>, ConversationReason> {
    match (error, error.sqlite_error_code()) {
        (rusqlite::Error::QueryReturnedNoRows, _) => Err(ConversationReason::NotFound),
        (_, None | Some(ErrorCode::Unknown | ErrorCode::NotADatabase)) => {
            Err(ConversationReason::UnknownFormat)
        }
        _ => Ok(None),
    }
}

/// Returns the answers of a session's models and of its sub-agents', with their times, as the agent's database has them.
pub fn answers(agent: &str, session: &str) -> Option<Vec<(Milliseconds, Value)>> {
    let database = open(&database(agent)?).ok()?;
    let sql = "SELECT time_created, data FROM message
                WHERE session_id IN (SELECT id FROM session WHERE id = ?1 OR parent_id = ?1)
                ORDER BY time_created";
    let mut statement = database.prepare(sql).ok()?;
    let rows = statement.query_map([session], |row| Ok((row.get(0)?, row.get(1)?)));
    let answer = |(at, data): (Milliseconds, String)| {
        let answer: Value = serde_json::from_str(&data).ok()?;
        (answer["role"] == "assistant").then_some((at, answer))
    };
    Some(rows.ok()?.flatten().filter_map(answer).collect())
}

/// Returns an agent's database.
fn database(agent: &str) -> Option<PathBuf> {
    let environment = Environment::read();
    let share = || Some(environment.home?.join(".local/share"));
    let data = environment.data_home.or_else(share)?;
    Some(data.join(agent).join(format!("{agent}.db")))
}

/// Opens a database to read it. Without a log beside it no process is at work with it, and none is made.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let is_at_work = std::fs::metadata(log).is_ok_and(|log| log.len() > 0);
    let mode = if is_at_work { "mode=ro" } else { "immutable=1" };
    let name = path.to_string_lossy();
    let name = name
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(format!("file:{name}?{mode}"), flags)
}

/// Finds a message: the agent's own name for it is what its server takes.
pub fn find(message: &SoughtMessage) -> Result<FoundMessage, ConversationReason> {
    let entry = message
        .agent_id
        .clone()
        .ok_or(ConversationReason::NotFound)?;
    Ok(FoundMessage {
        is_left: KeptSession::read(message)?.is_some_and(|kept| kept.has_left(&entry)),
        entry: Some(entry),
        ..FoundMessage::default()
    })
}

/// Returns for each message of one conversation whether its agent has left it.
pub fn places(messages: &[SoughtMessage]) -> Option<Vec<Option<bool>>> {
    let kept = KeptSession::read(messages.first()?).ok()??;
    let place = |message: &SoughtMessage| Some(kept.has_left(message.agent_id.as_deref()?));
    Some(messages.iter().map(place).collect())
}

/// Plans a fork before a message.
pub fn plan(message: &SoughtMessage) -> Result<ForkPlan, NoFork> {
    program::require(&message.agent)?;
    let anchor = find(message)
        .map_err(NoFork::because)?
        .entry
        .unwrap_or_default();
    let kept = KeptSession::read(message).map_err(NoFork::because)?;
    let kept = kept.unwrap_or_default();
    let is_compacted = kept.compactions.iter().any(|id| *id < anchor);
    let interface = format!("`POST /session/…/fork` of `{} serve`", message.agent);
    let called = if message.agent == "kilo" {
        "Kilo"
    } else {
        "opencode"
    };
    let mut plan = program::planned(message, anchor, &interface);
    plan.note = is_compacted.then(|| record::opens_at_compaction(called));
    plan.seen = kept.messages.into_iter().max().unwrap_or_default();
    Ok(plan)
}

/// Has the agent's server make it.
pub fn fork(plan: &ForkPlan) -> Result<AgentConversation, ForkFailure> {
    let command = program::start(&plan.agent)
        .ok_or_else(|| ForkFailure::Failed(format!("`{}` is not on the PATH", plan.agent)))?;
    fork_by(command, plan, PROGRAM_TIMEOUT)
}

fn fork_by(
    mut command: Command,
    plan: &ForkPlan,
    timeout: Duration,
) -> Result<AgentConversation, ForkFailure> {
    let failed = ForkFailure::Failed;
    let end = Instant::now() + timeout;
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
    let answer = exchange(address, &request, end).map_err(|error| unanswered(&error))?;
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

fn unanswered(error: &io::Error) -> ForkFailure {
    ForkFailure::Unknown(match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            "the server gave no answer in time".to_owned()
        }
        _ => error.to_string(),
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
        let line = match left {
            // One that never stops printing is not waited for longer.
            Duration::ZERO => Err(RecvTimeoutError::Timeout),
            left => lines.recv_timeout(left),
        };
        let line = line.map_err(|error| match error {
            RecvTimeoutError::Disconnected => "ended before it listened",
            RecvTimeoutError::Timeout => "did not listen in time",
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
        let length = match stream.read(&mut piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            length => length?,
        };
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

    /// A server that never listens, or never answers, is not waited for longer than for one that does.
    ///
    /// What was not asked for is not made, and what was may be.
    #[test]
    fn server_that_hangs_is_left() {
        let plan = ForkPlan {
            agent: "opencode".to_owned(),
            from: AgentConversation {
                session: "s".to_owned(),
                transcript: None,
            },
            to: None,
            anchor: "m".to_owned(),
            directory: "/".into(),
            interface: String::new(),
            note: None,
            seen: String::new(),
            is_cut: false,
        };
        for script in ["exec sleep 1000", "exec yes noise"] {
            let mut server = Command::new("/bin/sh");
            server.args(["-c", script]);
            let failure = fork_by(server, &plan, Duration::from_millis(50));
            let said = ForkFailure::Failed("`opencode serve` did not listen in time".to_owned());
            assert_eq!(failure, Err(said), "{script}");
        }
        let silent = asked("").expect_err("nothing is said");
        let said = ForkFailure::Unknown("the server gave no answer in time".to_owned());
        assert_eq!(unanswered(&silent), said);
    }

    /// What its own undo took out is left: while it is pending, and once the next message has removed it.
    #[test]
    fn what_its_own_undo_took_out_is_left() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let path = scratch.path().join("100%?#.db");
        let kept = |of: &str, sql: &str| {
            let database = Connection::open(&path).expect("writable");
            let made = "PRAGMA journal_mode = wal;
                CREATE TABLE IF NOT EXISTS session (id, revert);
                CREATE TABLE IF NOT EXISTS message (id, session_id);
                CREATE TABLE IF NOT EXISTS part (message_id, session_id, data);";
            database
                .execute_batch(&format!("{made}{sql}"))
                .expect("it is valid");
            KeptSession::of(&path, of)
        };
        let sql = "INSERT INTO session VALUES ('s', NULL);
            INSERT INTO message VALUES ('m1', 's'), ('m2', 's'), ('m3', 's');
            INSERT INTO part VALUES ('m2', 's', '{\"type\":\"compaction\"}');";
        let all = kept("s", sql).expect("it is there");
        assert!(
            !["m1", "m2", "m3", "m4"].iter().any(|id| all.has_left(id)),
            "m4 is being sent"
        );
        assert_eq!(all.compactions, ["m2"]);
        let other = unread::<()>(&kept("other", "").err().expect("it is not there"));
        assert_eq!(other, Err(ConversationReason::NotFound));
        let pending = kept("s", "UPDATE session SET revert = '{\"messageID\":\"m2\"}';");
        let pending = pending.expect("it is there");
        assert_eq!(
            ["m1", "m2", "m3"].map(|id| pending.has_left(id)),
            [false, true, true]
        );
        let sql = "UPDATE session SET revert = NULL; DELETE FROM message WHERE id > 'm1';
            INSERT INTO message VALUES ('m4', 's');";
        let sent = kept("s", sql).expect("it is there");
        assert_eq!(
            ["m1", "m2", "m3", "m4"].map(|id| sent.has_left(id)),
            [false, true, true, false]
        );
        // Now that no process is at work with it, reading leaves nothing beside it.
        let closed = KeptSession::of(&path, "s").expect("it is there");
        assert_eq!(closed.messages, sent.messages);
        let beside = std::fs::read_dir(scratch.path()).expect("it is there");
        assert_eq!(beside.count(), 1);
        // Another version may keep its messages elsewhere.
        let differs = unread::<()>(&kept("s", "DROP TABLE part;").err().expect("it differs"));
        assert_eq!(differs, Err(ConversationReason::UnknownFormat));
    }
}
