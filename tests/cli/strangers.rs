//! The page and those who have no business there: other users of the machine, and programs that know no key.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use testing::binary::{Run, Sandbox};
use testing::skip::{has_program, skip};

use crate::page::Page;
use crate::serve::played;

/// How long a page may take to end; it is generous, because machines that run tests are busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// Returns a shell of another user, who can open connections; nothing where nobody can become one.
fn another_user(script: &str) -> Option<Command> {
    if !rustix::process::geteuid().is_root() {
        skip("root alone can become somebody else");
        return None;
    }
    if !has_program("/bin/bash") {
        return None;
    }
    let mut command = Command::new("/bin/bash");
    command.args(["-c", script]).current_dir("/");
    command.uid(65534).gid(65534);
    Some(command)
}

/// Writes a program that notes its arguments, one a line, in a file.
fn noting(world: &Sandbox, name: &str) -> String {
    let program = world.path(name);
    let text = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > {}.args\nmv {0}.args {0}.said\n",
        program.display()
    );
    fs::write(&program, text).expect("writable");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
    program.to_str().expect("a plain path").to_owned()
}

/// Invariant `private/page`.
#[test]
fn no_argument_of_the_opener_holds_the_address() {
    let world = played();
    let temporary = world.path("temporary");
    fs::create_dir(&temporary).expect("writable");
    let browser = noting(&world, "xdg-open");
    for variable in ["", "%s", "'%s'", ":none"]
        .map(|end| format!("{browser} {end}"))
        .iter()
        .chain([&String::new()])
    {
        let said = world.path("xdg-open.said");
        let _ = fs::remove_file(&said);
        let path = format!("{}:/usr/bin:/bin", world.path("").display());
        let mut server = world
            .command(&["page"])
            .env("BROWSER", variable.replace(" :none", ":none"))
            .env("PATH", path)
            .env("TMPDIR", &temporary)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let mut stdout = BufReader::new(server.stdout.take().expect("it is piped"));
        stdout.read_line(&mut line).expect("it prints its address");
        let began = Instant::now();
        while !fs::exists(&said).expect("readable") {
            assert!(began.elapsed() < PATIENCE, "`{variable}` was started");
            std::thread::yield_now();
        }
        let said = fs::read_to_string(said).expect("readable");
        let file = said
            .trim()
            .strip_prefix("file://")
            .expect("a file")
            .to_owned();
        assert!(!said.contains("127.0.0.1"), "{said}");
        let mode = |path: &str| fs::metadata(path).expect("it is there").mode() & 0o777;
        assert_eq!(mode(&file), 0o600);
        assert_eq!(mode(file.rsplit_once('/').expect("a path").0), 0o700);
        let text = fs::read_to_string(&file).expect("ours");
        let ticket = text.split("/#").nth(1).expect("an address");
        let ticket = ticket.split('"').next().expect("an end");
        let (host, token) = line
            .trim()
            .trim_start_matches("http://")
            .split_once("/#")
            .expect("both");
        assert_ne!(ticket, token, "it is good for once");
        let enter = || {
            let request = format!(
                "POST /enter HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Type: application/json\r\n\
                 Authorization: Bearer {ticket}\r\nContent-Length: 2\r\n\r\n{{}}"
            );
            let mut stream = std::net::TcpStream::connect(host).expect("it listens");
            stream.write_all(request.as_bytes()).expect("it reads");
            let mut status = String::new();
            BufReader::new(stream)
                .read_line(&mut status)
                .expect("an answer");
            status
        };
        assert!(enter().contains("200"), "it is");
        assert!(enter().contains("401"), "and no more");
        let process = rustix::process::Pid::from_child(&server);
        rustix::process::kill_process(process, rustix::process::Signal::INT).expect("it runs");
        server.wait().expect("it ends");
        let left = fs::read_dir(&temporary).expect("readable").count();
        assert_eq!(left, 0, "the file went with the page");
    }
}

/// Another user is not answered even with the key.
///
/// Invariant `private/page`.
#[test]
fn another_user_with_the_key_is_not_answered() {
    let world = played();
    let page = Page::start(&world, &[]);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "status"}).to_string();
    let mut fields = page.own_fields();
    fields.push(("Content-Length", body.len().to_string()));
    let fields: String = fields
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let request = format!("POST /rpc HTTP/1.1\r\n{fields}\r\n{body}");
    let file = world.path("request");
    fs::write(&file, request).expect("writable");
    let port = page.host.trim_start_matches("127.0.0.1:");
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; cat <&0 >&3; cat <&3");
    let Some(mut stranger) = another_user(&script) else {
        return;
    };
    let run = Run::of(stranger.stdin(fs::File::open(&file).expect("ours")));
    assert_eq!(run.stdout, "", "{run}");
    let mut own = Command::new("/bin/bash");
    let run = Run::of(
        own.args(["-c", &script])
            .stdin(fs::File::open(&file).expect("ours")),
    );
    assert!(run.stdout.contains("200 OK"), "the same of its user: {run}");
}

/// Invariant `private/page`.
#[test]
fn silent_connections_shut_nobody_out() {
    let world = played();
    let page = Page::start(&world, &[]);
    let silent: Vec<_> = (0..200).map(|_| page.connect()).collect();
    page.call("status", &json!({}));
    let port = page.host.trim_start_matches("127.0.0.1:");
    let script = format!(
        "for i in {{1..200}}; do exec {{fd}}<>/dev/tcp/127.0.0.1/{port}; done; echo open; read"
    );
    let Some(mut stranger) = another_user(&script) else {
        return;
    };
    let stranger = stranger.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut stranger = stranger.spawn().expect("it starts");
    let mut said = String::new();
    let stdout = stranger.stdout.as_mut().expect("it is piped");
    BufReader::new(stdout)
        .read_line(&mut said)
        .expect("it runs");
    assert_eq!(said, "open\n");
    page.call("status", &json!({}));
    drop((stranger.stdin.take(), silent));
    stranger.wait().expect("it ends");
}

/// Invariant `private/page`.
#[test]
fn refused_requests_do_not_keep_the_page() {
    let world = played();
    let mut page = Page::start(&world, &["--idle", "2s"]);
    page.call("status", &json!({}));
    let began = Instant::now();
    while page.server.try_wait().expect("ours").is_none() {
        assert!(
            began.elapsed() < PATIENCE,
            "it ends although it is asked all the time"
        );
        let Ok(mut stream) = std::net::TcpStream::connect(&page.host) else {
            continue;
        };
        let request = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", page.host);
        let _ = stream.write_all(request.as_bytes());
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    }
}
