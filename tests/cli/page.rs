//! `page`: what its server answers, and each way in that it refuses. `tests/page` tries the page itself in a browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};
use testing::binary::Sandbox;

use crate::schema::check;
use crate::serve::played;

/// A running server, and what a browser knows of it.
pub struct Page {
    pub server: Child,
    /// Open for as long as it runs: it prints when it ends.
    _stdout: BufReader<ChildStdout>,
    pub host: String,
    pub token: String,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    head: String,
    pub body: Vec<u8>,
}

impl Page {
    pub fn start(world: &Sandbox, options: &[&str]) -> Self {
        let mut server = world
            .command(&[&["page", "--no-open"], options].concat())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let mut stdout = BufReader::new(server.stdout.take().expect("it is piped"));
        stdout.read_line(&mut line).expect("it prints its address");
        let address = line.trim().strip_prefix("http://").expect("an address");
        let (host, token) = address.split_once("/#").expect("a token");
        assert!(host.starts_with("127.0.0.1:"), "the loopback alone: {host}");
        assert_eq!(token.len(), 64, "256 bits: {token}");
        Self {
            host: host.to_owned(),
            token: token.to_owned(),
            _stdout: stdout,
            server,
        }
    }

    pub fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.host).expect("it listens")
    }

    /// Sends these bytes and returns what comes back.
    pub fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // It may have refused, and stopped reading, before all is sent.
        let _ = stream.write_all(bytes);
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        let end = all.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("an answer: {}", String::from_utf8_lossy(&all)));
        let head = String::from_utf8(all[..end].to_vec()).expect("a head is text");
        Answer {
            status: head[9..12].parse().expect("a status"),
            head,
            body: all[end + 4..].to_vec(),
        }
    }

    /// The fields that the page's own calls have.
    pub fn own_fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("Host", self.host.clone()),
            ("Origin", format!("http://{}", self.host)),
            ("Sec-Fetch-Site", "same-origin".to_owned()),
            ("Content-Type", "application/json".to_owned()),
            ("Authorization", format!("Bearer {}", self.token)),
        ]
    }

    pub fn request(&self, line: &str, fields: &[(&str, String)], body: &str) -> Answer {
        let mut text = format!("{line} HTTP/1.1\r\n");
        for (name, value) in fields {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        self.raw(text.as_bytes())
    }

    /// Sends a call of the page's own, but with one field changed, or without it.
    pub fn call_with(&self, name: &'static str, value: Option<&str>) -> Answer {
        let mut fields = self.own_fields();
        fields.retain(|(other, _)| *other != name);
        fields.extend(value.map(|value| (name, value.to_owned())));
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "status"});
        self.request("POST /rpc", &fields, &asked.to_string())
    }

    pub fn rpc(&self, method: &str, params: &Value) -> Value {
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = self.request("POST /rpc", &self.own_fields(), &asked.to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        serde_json::from_slice(&answer.body).expect("an answer is JSON")
    }

    pub fn call(&self, method: &str, params: &Value) -> Value {
        let answer = self.rpc(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer:#}");
        answer["result"].clone()
    }

    pub fn get(&self, path: &str) -> Answer {
        self.request(&format!("GET {path}"), &[("Host", self.host.clone())], "")
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Its calls are those of the server on standard streams.
#[test]
fn pages_calls_are_the_servers() {
    let world = played();
    let page = Page::start(&world, &[]);
    for (method, params, schema) in [
        ("initialize", json!({}), "result-initialize"),
        ("timeline", json!({"search": "change"}), "report-timeline"),
        ("messages", json!({}), "report-log"),
        ("show", json!({"id": "last"}), "report-show"),
        ("status", json!({}), "report-status"),
        (
            "blame",
            json!({"path": "changed", "contents": true}),
            "report-blame",
        ),
        ("patch", json!({"id": "last"}), "result-patch"),
    ] {
        check(&world, schema, &page.call(method, &params));
    }
    let planned = page.call("plan", &json!({"message": "m1"}));
    world.write("changed", "mine\n");
    let stale = page.rpc("apply", &json!({"plan": planned["plan"]}));
    assert_eq!(stale["error"]["data"]["kind"], "stale", "{stale:#}");
    assert_eq!(world.read("changed"), b"mine\n", "nothing moved");
    world.write("changed", "2\n");
    let planned = page.call("plan", &json!({"message": "m1"}));
    let done = page.call("apply", &json!({"plan": planned["plan"]}));
    assert_eq!(done["outcome"], "restored");
    assert_eq!(world.read("changed"), b"1\n");
    page.call("undo", &json!({}));
    assert_eq!(world.read("changed"), b"2\n");
}

/// It tells what another process does as it happens.
#[test]
fn page_tells_of_other_processes() {
    let world = played();
    let page = Page::start(&world, &[]);
    let seq = page.call("initialize", &json!({}))["seq"].clone();
    let mut fields = page.own_fields();
    let body = json!({"since": seq}).to_string();
    fields.push(("Content-Length", body.len().to_string()));
    let fields: String = fields
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let mut stream = page.connect();
    let request = format!("POST /events HTTP/1.1\r\n{fields}\r\n{body}");
    stream.write_all(request.as_bytes()).expect("it reads");
    world.play("m2", "more", |world| world.write("more", "1\n"));
    let told = BufReader::new(stream)
        .lines()
        .map(|line| line.expect("it goes on"))
        .filter_map(|line| serde_json::from_str::<Value>(&line).ok())
        .find(|told| told["type"] == "message")
        .expect("it is reported");
    check(&world, "notification", &told);
    assert_eq!(told["message"]["prompt"], "more");
}

/// Invariant `private/page`: The page is its user's alone.
#[test]
fn nobody_gets_in_without_the_token() {
    let world = played();
    let page = Page::start(&world, &[]);
    let of_another = "0".repeat(64);
    let half = page.token[..32].to_owned();
    for wrong in [
        None,
        Some(""),
        Some("Bearer "),
        Some(&*format!("Bearer {of_another}")),
        Some(&*format!("Bearer {half}")),
        Some(&*format!("Bearer {}x", page.token)),
        Some(&*format!("Basic {}", page.token)),
        Some(&*page.token),
    ] {
        let answer = page.call_with("Authorization", wrong);
        assert_eq!(answer.status, 401, "{wrong:?}: {answer:?}");
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(!text.contains("change"), "nothing is told: {text}");
    }
    let mut twice = page.own_fields();
    twice.push(("Authorization", format!("Bearer {}", page.token)));
    for path in ["/rpc", "/events", "/enter"] {
        let answer = page.request(&format!("POST {path}"), &twice, "{}");
        assert_eq!(answer.status, 401, "which of the two: {answer:?}");
    }
    let in_the_address = page.get(&format!("/rpc?token={}", page.token));
    assert_eq!(in_the_address.status, 404, "no address carries it");
    let entered = page.request("POST /enter", &page.own_fields(), "{}");
    assert_eq!(entered.status, 200, "{entered:?}");
}

/// A name that was made to resolve to this machine is refused.
#[test]
fn rebound_name_is_refused() {
    let world = played();
    let page = Page::start(&world, &[]);
    let port = page.host.trim_start_matches("127.0.0.1:").to_owned();
    for host in [
        None,
        Some("evil.example"),
        Some(&*format!("evil.example:{port}")),
        Some(&*format!("localhost.evil.example:{port}")),
        Some("0.0.0.0"),
        Some(&*format!("127.0.0.1:{port}.evil.example")),
        Some(&*format!("127.0.0.1:{port}@evil.example")),
    ] {
        assert_eq!(page.call_with("Host", host).status, 403, "{host:?}");
        let fields: Vec<_> = host
            .map(|host| ("Host", host.to_owned()))
            .into_iter()
            .collect();
        assert_eq!(page.request("GET /", &fields, "").status, 403, "{host:?}");
    }
    let mut twice = page.own_fields();
    twice.push(("Host", "evil.example".to_owned()));
    assert_eq!(page.request("POST /rpc", &twice, "{}").status, 403, "two");
}

/// The loopback is served under any name and port.
///
/// ssh and editors forward a port of another machine to this one, and people call the loopback by its name.
#[test]
fn loopback_is_served_under_any_name() {
    let world = played();
    let page = Page::start(&world, &[]);
    let port = page.host.trim_start_matches("127.0.0.1:").to_owned();
    for host in [
        format!("localhost:{port}"),
        "localhost:8080".to_owned(),
        "[::1]:9".to_owned(),
    ] {
        let fields = page
            .own_fields()
            .into_iter()
            .map(|(name, value)| match name {
                "Host" => (name, host.clone()),
                "Origin" => (name, format!("http://{host}")),
                _ => (name, value),
            });
        let fields: Vec<_> = fields.collect();
        let answer = page.request("POST /enter", &fields, "{}");
        assert_eq!(answer.status, 200, "{host}: {answer:?}");
        let others = page
            .own_fields()
            .into_iter()
            .map(|(name, value)| match name {
                "Host" => (name, host.clone()),
                _ => (name, value),
            });
        let others: Vec<_> = others.collect();
        let answer = page.request("POST /enter", &others, "{}");
        assert_eq!(answer.status, 403, "of another name: {answer:?}");
    }
}

#[test]
fn another_page_is_refused_even_with_the_token() {
    let world = played();
    let page = Page::start(&world, &[]);
    let port = page.host.trim_start_matches("127.0.0.1:").to_owned();
    for origin in [
        None,
        Some("null"),
        Some("https://evil.example"),
        Some("http://127.0.0.1"),
        Some("http://127.0.0.1:1"),
        Some(&*format!("http://localhost:{port}")),
        Some(&*format!("https://127.0.0.1:{port}")),
        Some(&*format!("http://127.0.0.1:{port}.evil.example")),
    ] {
        let answer = page.call_with("Origin", origin);
        assert_eq!(answer.status, 403, "{origin:?}: {answer:?}");
    }
    for site in ["cross-site", "same-site", "other"] {
        assert_eq!(page.call_with("Sec-Fetch-Site", Some(site)).status, 403);
    }
    for kind in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
        Some("multipart/form-data; boundary=x"),
    ] {
        let answer = page.call_with("Content-Type", kind);
        assert_eq!(answer.status, 415, "a form can send {kind:?}");
    }
    let host = ("Host", page.host.clone());
    let of_others = ("Sec-Fetch-Site", "cross-site".to_owned());
    for (path, dest, status) in [
        ("/", "document", 200),
        ("/", "iframe", 403),
        ("/page.js", "script", 403),
        ("/page.css", "style", 403),
    ] {
        let dest = ("Sec-Fetch-Dest", dest.to_owned());
        let fields = [host.clone(), of_others.clone(), dest];
        let answer = page.request(&format!("GET {path}"), &fields, "");
        assert_eq!(answer.status, status, "{path}: {answer:?}");
    }
    let asks_first = [
        host,
        ("Origin", "https://evil.example".to_owned()),
        ("Access-Control-Request-Method", "POST".to_owned()),
    ];
    let answer = page.request("OPTIONS /rpc", &asks_first, "");
    assert_eq!(answer.status, 403, "{answer:?}");
    for answer in [answer, page.get("/"), page.call_with("Host", None)] {
        let head = answer.head.to_lowercase();
        assert!(!head.contains("access-control-allow"), "no CORS: {head}");
    }
}

/// Every answer keeps scripts and frames of others out.
#[test]
fn every_answer_keeps_foreign_scripts_out() {
    let world = played();
    let page = Page::start(&world, &[]);
    for answer in [
        page.get("/"),
        page.get("/page.js"),
        page.get("/missing"),
        page.call_with("Authorization", None),
        page.call_with("Host", None),
    ] {
        for part in [
            "default-src 'none'; script-src 'self'; style-src 'self'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'; trusted-types 'none'",
            "X-Content-Type-Options: nosniff",
            "Referrer-Policy: no-referrer",
            "Cross-Origin-Resource-Policy: same-origin",
            "Cache-Control: no-store",
        ] {
            assert!(answer.head.contains(part), "{part}: {}", answer.head);
        }
        assert!(!answer.head.contains("unsafe"), "{}", answer.head);
        assert!(!answer.head.contains("Set-Cookie"), "{}", answer.head);
    }
}

/// No path leads to a file of the store or of the workspace or out of it.
#[test]
fn no_path_leads_to_a_file() {
    let world = played();
    let secret = world.path("secret");
    std::fs::write(&secret, "hidden words\n").expect("it is writable");
    std::os::unix::fs::symlink(&secret, world.workspace().join("link")).expect("it is writable");
    world.play("m2", "a link", |world| world.write("more", "1\n"));
    let page = Page::start(&world, &[]);
    for path in [
        "/changed",
        "/../changed",
        "/..%2fchanged",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/....//etc/passwd",
        "//etc/passwd",
        "/page.js/../../store/sessions.db",
        "/sessions.db",
        "/page.js%00",
        "/?/../../etc/passwd",
        "/vendor/../page.js",
        "http://evil.example/",
        "file:///etc/passwd",
    ] {
        let answer = page.get(path);
        assert_eq!(answer.status, 404, "{path}: {answer:?}");
    }
    let outside = secret.to_str().expect("a plain path");
    for path in [
        "../secret",
        "./../secret",
        "link",
        "link/x",
        outside,
        "/etc/passwd",
        "",
    ] {
        let answer = page.rpc("blame", &json!({"path": path}));
        assert!(answer.get("result").is_none(), "{path}: {answer:#}");
        assert!(!answer.to_string().contains("hidden words"), "{path}");
    }
    for blob in ["../secret", "../../etc/passwd", "HEAD", "", "sessions.db"] {
        let answer = page.rpc("contents", &json!({"blob": blob}));
        assert!(answer.get("result").is_none(), "{blob}: {answer:#}");
    }
    let before = world.json(&["log"]);
    for (method, params) in [
        ("messages", json!({"everywhere": true})),
        ("sessions", json!({"workspace": "/"})),
        ("status", json!({"workspace": "/etc"})),
        ("plan", json!({"message": "m1", "workspace": "/"})),
        ("record", json!({"event": {"event": "user_message"}})),
        ("subscribe", json!({})),
    ] {
        let answer = page.rpc(method, &params);
        assert!(answer.get("result").is_none(), "{method}: {answer:#}");
    }
    for only in ["../secret", outside] {
        let answer = page.rpc("plan", &json!({"message": "m1", "only": [only]}));
        assert!(answer["result"]["plan"].is_null(), "{only}: {answer:#}");
    }
    assert_eq!(world.json(&["log"]), before, "nothing was recorded");
}

#[test]
fn a_plan_of_another_workspace_is_not_applied() {
    let world = played();
    let other = world.path("other");
    std::fs::create_dir(&other).expect("it is writable");
    let at = other.to_str().expect("a plain path");
    let tell = |event: &str| {
        let event = json!({"event": event, "session_id": "o", "cwd": at, "message_id": "o1", "tool_use_id": "t1", "tool_name": "write"});
        world.event(event).ends_silently();
    };
    tell("user_message");
    tell("tool_start");
    std::fs::write(other.join("made"), "1\n").expect("it is writable");
    tell("tool_finish");
    tell("turn_end");
    let planned = world.json(&["--workspace", at, "revert", "o1", "--dry-run"]);
    let page = Page::start(&world, &[]);
    let refused = page.rpc("apply", &json!({"plan": planned["plan"]}));
    assert_eq!(refused["error"]["code"], -32602, "{refused:#}");
    assert!(other.join("made").exists(), "nothing moved");
    let own = page.call("plan", &json!({"message": "m1"}));
    let done = page.call("apply", &json!({"plan": own["plan"]}));
    assert_eq!(done["outcome"], "restored", "{done:#}");
}

#[test]
fn a_request_has_a_limit_in_size() {
    let world = played();
    let page = Page::start(&world, &[]);
    let host = &page.host;
    let long = "x".repeat(32 << 10);
    let many: String = (0..100).map(|n| format!("X-{n}: 1\r\n")).collect();
    for (bytes, status) in [
        (format!("GET /{long} HTTP/1.1\r\nHost: {host}\r\n\r\n"), 431),
        (
            format!("GET / HTTP/1.1\r\nHost: {host}\r\nX: {long}\r\n\r\n"),
            431,
        ),
        (format!("GET / HTTP/1.1\r\nHost: {host}\r\n{many}\r\n"), 431),
        (
            format!("POST /rpc HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1048577\r\n\r\n"),
            413,
        ),
        (
            format!(
                "POST /rpc HTTP/1.1\r\nHost: {host}\r\nContent-Length: 99999999999999999999\r\n\r\n"
            ),
            400,
        ),
        (
            format!("POST /rpc HTTP/1.1\r\nHost: {host}\r\nContent-Length: -1\r\n\r\n"),
            400,
        ),
        (
            format!(
                "POST /rpc HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{{}}"
            ),
            400,
        ),
        (
            format!(
                "POST /rpc HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            ),
            411,
        ),
        (
            format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\nGET / HTTP/1.1\r\nHost: {host}\r\n\r\n"),
            400,
        ),
        ("\u{0}\u{1}\u{2}\r\n\r\n".to_owned(), 400),
        (format!("TRACE / HTTP/1.1\r\nHost: {host}\r\n\r\n"), 405),
        (format!("DELETE /rpc HTTP/1.1\r\nHost: {host}\r\n\r\n"), 405),
    ] {
        let answer = page.raw(bytes.as_bytes());
        assert_eq!(answer.status, status, "{:.60}: {answer:?}", bytes);
    }
    for garbage in ["{", "[]", "null", "{\"jsonrpc\":\"2.0\"}"] {
        let answer = page.request("POST /rpc", &page.own_fields(), garbage);
        let answer: Value = serde_json::from_slice(&answer.body).expect("JSON");
        assert!(answer["error"]["code"].is_i64(), "{garbage}: {answer}");
    }
}

/// Who sends slowly or holds connections open holds up nobody.
#[test]
fn slow_connections_hold_up_nothing() {
    let world = played();
    let page = Page::start(&world, &[]);
    let mut slow = page.connect();
    slow.write_all(b"GET / HTTP/1.1\r\n").expect("it reads");
    let held: Vec<TcpStream> = (0..40).map(|_| page.connect()).collect();
    assert_eq!(page.get("/").status, 200, "others are answered");
    drop(held);
    let mut answer = String::new();
    slow.read_to_string(&mut answer).expect("it ends");
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[test]
fn it_ends_when_nobody_looks_at_it() {
    let world = played();
    let mut page = Page::start(&world, &["--idle", "1s"]);
    let status = page.server.wait().expect("it ends");
    assert!(status.success(), "that is no failure: {status}");
}

#[test]
fn a_program_reads_its_address_as_a_document() {
    let world = played();
    for option in ["--json", "--json-lines"] {
        let run = world
            .run(&["page", "--no-open", "--idle", "1s", option], b"")
            .exits(0);
        let document: Value = serde_json::from_str(&run.stdout).expect("a document, and no more");
        check(&world, "report-page", &document);
        let address = document["address"].as_str().expect("a text");
        let own = format!("http://127.0.0.1:{}/#", document["port"]);
        assert!(address.starts_with(&own), "{run}");
    }
}

/// A port in use is named, with a way to do without it.
#[test]
fn port_in_use_is_named() {
    let world = played();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = taken.local_addr().expect("it is bound").port().to_string();
    let run = world.run(&["page", "--no-open", "--port", &port], b"");
    let run = run.exits(1);
    assert!(
        run.stderr
            .contains(&format!("cannot listen on 127.0.0.1:{port}"))
            && run.stderr.contains("hint: without `--port`"),
        "{run}"
    );
}
