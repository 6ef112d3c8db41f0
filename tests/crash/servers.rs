//! The servers of front ends, killed while they carry out a plan: `serve`, `mcp` and `page`. The next start ends what was begun, or
//! it never began, and `status` of whoever looks first says so.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use testing::skip::has_strace;
use testing::strace::{Point, at_each, killed_at, points_of, sample};

use super::{REVERT, Sandbox, Tree, assert_sound, assert_whole, leftovers, played};

/// A server that is asked to carry out a plan, in the words of its protocol.
struct Front {
    arguments: &'static [&'static str],
    /// Asks for a method, or a tool, with its parameters, and returns the answer; nothing if the server was killed before.
    ask: fn(&mut Child, &str, Value) -> Option<Value>,
}

const FRONTS: [Front; 3] = [
    Front {
        arguments: &["serve", "--stdio"],
        ask: by_lines,
    },
    Front {
        arguments: &["mcp", "--allow-revert"],
        ask: by_tools,
    },
    Front {
        // It ends by itself, because nobody could end it below `strace`.
        arguments: &["page", "--no-open", "--idle", "1s"],
        ask: by_requests,
    },
];

/// Writes lines and reads until the answer to a request.
fn answered(server: &mut Child, lines: &[Value], id: u64) -> Option<Value> {
    let stdin = server.stdin.as_mut().expect("it is piped");
    for line in lines {
        // It may have been killed.
        let _ = writeln!(stdin, "{line}").and_then(|()| stdin.flush());
    }
    let stdout = BufReader::new(server.stdout.as_mut().expect("it is piped"));
    let answers = stdout.lines().map_while(Result::ok);
    answers
        .filter_map(|line| serde_json::from_str::<Value>(&line).ok())
        .find(|answer| answer["id"] == id)
}

fn by_lines(server: &mut Child, method: &str, params: Value) -> Option<Value> {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    Some(answered(server, &[request], 1)?["result"].take())
}

fn by_tools(server: &mut Child, tool: &str, arguments: Value) -> Option<Value> {
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}),
    ];
    Some(answered(server, &lines, 2)?["result"]["structuredContent"].take())
}

fn by_requests(server: &mut Child, method: &str, params: Value) -> Option<Value> {
    let mut line = String::new();
    let mut stdout = BufReader::new(server.stdout.as_mut().expect("it is piped"));
    stdout.read_line(&mut line).ok()?;
    let (host, token) = line.trim().strip_prefix("http://")?.split_once("/#")?;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let head = format!(
        "POST /rpc HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nSec-Fetch-Site: same-origin\r\n\
         Content-Type: application/json\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(host).ok()?;
    stream.write_all((head + &body).as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (_, document) = answer.split_once("\r\n\r\n")?;
    let mut document: Value = serde_json::from_str(document).ok()?;
    Some(document["result"].take())
}

impl Front {
    /// Starts a server, asks it once, and lets it end.
    fn asked(&self, command: &mut Command, method: &str, params: Value) -> Option<Value> {
        let mut server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let answer = (self.ask)(&mut server, method, params);
        drop(server.stdin.take());
        server.wait().expect("it ends");
        answer
    }

    /// Starts a server that is not killed, and asks it.
    #[track_caller]
    fn asks(&self, world: &Sandbox, method: &str, params: Value) -> Value {
        let mut command = world.command(self.arguments);
        let answer = self.asked(&mut command, method, params);
        answer.unwrap_or_else(|| panic!("`{method}` is answered"))
    }

    /// The calls of a server that carries out the plan of a revert, once each.
    fn points(&self) -> Vec<Point> {
        let world = played();
        let plan = plan(&world);
        points_of(&world, self.arguments, |command| {
            let report = self.asked(command, "apply", plan);
            let report = report.expect("it is answered");
            assert_eq!(report["outcome"], "restored", "{report:#}");
        })
    }
}

/// The parameters of `apply`: the plan of a revert.
fn plan(world: &Sandbox) -> Value {
    let planned = world.json(&["revert", "m1", "--dry-run"]);
    json!({"plan": planned["plan"]})
}

/// Kills a server at each of some points of an apply, and looks at what `end` makes of it; at one point at least it has begun and is
/// not done.
fn each_killed_apply(
    front: &Front,
    quick: usize,
    end: impl Fn(&Sandbox, &Tree, &Tree, &str) + Sync,
) {
    let before = played().tree();
    let after = {
        let world = played();
        world.run(&REVERT, b"").exits(0);
        world.tree()
    };
    let all = front.points();
    // The moves of files, and everything else at even distances.
    let (moves, others): (Vec<Point>, Vec<Point>) = all
        .into_iter()
        .partition(|(name, _)| ["renameat2", "unlinkat", "symlinkat"].contains(&name.as_str()));
    let torn = std::sync::atomic::AtomicUsize::new(0);
    at_each([sample(others, quick), moves].concat(), |point| {
        let world = played();
        let plan = plan(&world);
        front.asked(
            &mut killed_at(&world, &point, front.arguments),
            "apply",
            plan,
        );
        let what = format!("{} killed at {point:?}", front.arguments[0]);
        assert_whole(&world, &before, &after, &what);
        let killed = world.tree();
        if killed != before && killed != after {
            torn.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let status = front.asks(&world, "status", json!({}));
            let said = status["interrupted"].as_array().map_or(0, Vec::len);
            assert_eq!(said, 1, "{what}: the next start says so: {status:#}");
            assert_eq!(world.tree(), killed, "{what}: and only looks");
        }
        end(&world, &before, &after, &what);
        assert_eq!(
            leftovers(&world),
            Vec::<std::path::PathBuf>::new(),
            "{what}: nothing is left beside"
        );
        assert_sound(&world, &what);
    });
    let torn = torn.into_inner();
    assert!(torn > 0, "{}: some were half done", front.arguments[0]);
}

/// An apply that died with its server is ended by the next one and can be undone.
#[test]
fn dead_servers_apply_is_ended_by_the_next() {
    if !has_strace() {
        return;
    }
    let [serve, ..] = &FRONTS;
    each_killed_apply(serve, 30, |world, before, after, what| {
        let report = serve.asks(world, "revert", json!({"message": "m1"}));
        assert!(report["outcome"].is_string(), "{what}: {report:#}");
        assert_eq!(&world.tree(), after, "{what}: just before the message");
        serve.asks(world, "unrevert", json!({}));
        assert_eq!(&world.tree(), before, "{what}: and back to the byte");
    });
}

/// An apply that died with its server is ended by a command and can be undone.
#[test]
fn dead_servers_apply_is_ended_by_a_command() {
    if !has_strace() {
        return;
    }
    for front in &FRONTS {
        each_killed_apply(front, 12, |world, before, after, what| {
            world.run(&["snapshot"], b"").exits(0);
            let ended = world.tree();
            assert!(
                ended == *before || ended == *after,
                "{what}: nothing between: {ended:?}"
            );
            if ended == *after {
                world.run(&["undo"], b"").exits(0);
                assert_eq!(&world.tree(), before, "{what}: and back to the byte");
            }
            world.run(&REVERT, b"").exits(0);
            assert_eq!(&world.tree(), after, "{what}: it can be done again");
        });
    }
}
