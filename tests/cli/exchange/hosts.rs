//! Servers of the programs that people use, and three hosts with a network of their own.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use testing::binary::{Run, Sandbox, finish};
use testing::git;

use super::{fetch, in_server, machine, only, push, server};

/// A port that is free.
pub(super) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("it has one").port()
}

/// A server, until it is dropped.
pub(super) struct Served(Child);

impl Served {
    /// Starts a server, and waits until it listens on a port. `None` if it is not there, or ends.
    pub fn start(command: &mut Command, port: u16) -> Option<Self> {
        Self::started(command, || TcpStream::connect(("127.0.0.1", port)).is_ok())
    }

    fn started(command: &mut Command, is_there: impl Fn() -> bool) -> Option<Self> {
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut served = Self(quiet.spawn().ok()?);
        while !is_there() {
            if served.0.try_wait().ok()?.is_some() {
                return None;
            }
            std::thread::yield_now();
        }
        Some(served)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A password in an address is used, and shown nowhere: lighttpd asks for it, before `git http-backend`.
#[test]
fn web_server_with_a_password_takes_a_history() {
    let (one, other) = (machine(), Sandbox::new());
    let folder = server(&one);
    in_server(&one, &folder, &["config", "http.receivepack", "true"]);
    let (port, users) = (free_port(), one.path("users"));
    std::fs::write(&users, "ada:pass word\n").expect("writable");
    let backend = one.run_git(&["--exec-path"]);
    let root = one.path(".").canonicalize().expect("it is there");
    let text = format!(
        r#"server.document-root = "{0}"
server.bind = "127.0.0.1"
server.port = {port}
server.modules = ("mod_auth", "mod_authn_file", "mod_alias", "mod_setenv", "mod_cgi")
auth.backend = "plain"
auth.backend.plain.userfile = "{1}"
auth.require = ("/" => ("method" => "basic", "realm" => "git", "require" => "valid-user"))
alias.url = ("/" => "{2}/git-http-backend/")
cgi.assign = ("" => "")
setenv.set-environment = (
  "GIT_PROJECT_ROOT" => "{0}", "GIT_HTTP_EXPORT_ALL" => "1", "HOME" => "{0}",
  "GIT_CONFIG_COUNT" => "1", "GIT_CONFIG_KEY_0" => "safe.directory", "GIT_CONFIG_VALUE_0" => "*"
)
"#,
        root.display(),
        users.display(),
        backend.trim()
    );
    let settings = one.path("lighttpd.conf");
    std::fs::write(&settings, text).expect("writable");
    let mut lighttpd = Command::new("lighttpd");
    lighttpd.arg("-D").arg("-f").arg(settings);
    let Some(_web) = Served::start(&mut lighttpd, port) else {
        return testing::skip::skip("`lighttpd` is not there");
    };
    let address = |secret: &str| format!("http://ada:{secret}@127.0.0.1:{port}/server.git");
    let refused = one
        .run(&["push", &address("wrong-one"), "--yes"], b"")
        .exits(1);
    assert!(!refused.stderr.contains("wrong-one"), "{refused}");
    let right = address("pass%20word");
    let report = push(&one, &right);
    assert_eq!(report["pushed"], true, "{report}");
    assert!(!report.to_string().contains("pass%20word"), "{report}");
    one.play("m3", "go on", |world| world.write("a", "3\n"));
    let run = one.run(&["push"], b"").exits(0);
    assert!(!run.stdout.contains("pass%20word"), "{run}");
    let report = fetch(&other, &right);
    assert!(!report.to_string().contains("pass%20word"), "{report}");
    let log = other.json(&["--machine", &only(&report), "log"]);
    assert_eq!(log["messages"].as_array().map(Vec::len), Some(3), "{log}");
}

/// OpenSSH's own server and client, with a key that only the user's settings of git name.
#[test]
fn ssh_server_takes_a_history() {
    if !rustix::process::geteuid().is_root() {
        return testing::skip::skip("the user of the tests may not log in");
    }
    let (one, other) = (machine(), Sandbox::new());
    let folder = server(&one);
    let (port, key) = (free_port(), one.path("key"));
    let mut make = Command::new("ssh-keygen");
    make.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key);
    let is_made = make.status().is_ok_and(|status| status.success());
    // It does not start by another name than its full path.
    let program = Path::new("/usr/sbin/sshd");
    if !is_made || !program.exists() {
        return testing::skip::skip("`sshd` is not there");
    }
    let mut sshd = Command::new(program);
    sshd.args(["-D", "-f", "/dev/null", "-h"]).arg(&key);
    for option in [
        format!("Port={port}"),
        "ListenAddress=127.0.0.1".to_owned(),
        format!("AuthorizedKeysFile={}.pub", key.display()),
        "PidFile=none".to_owned(),
        "StrictModes=no".to_owned(),
        "PermitRootLogin=yes".to_owned(),
    ] {
        sshd.arg("-o").arg(option);
    }
    let Some(_sshd) = Served::start(&mut sshd, port) else {
        return testing::skip::skip("`sshd` does not start here");
    };
    let user = Command::new("id").arg("-un").output().expect("it is there");
    let user = String::from_utf8(user.stdout).expect("text");
    let address = format!("ssh://{}@127.0.0.1:{port}{folder}", user.trim());
    let ssh = format!(
        "ssh -F none -i {} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null",
        key.display()
    );
    let run = |world: &Sandbox, words: &[&str]| -> Run {
        let mut command = world.command(words);
        command.env("GIT_SSH_COMMAND", &ssh);
        finish(&mut command, b"").exits(0)
    };
    run(&one, &["push", &address, "--yes"]);
    one.play("m3", "go on", |world| world.write("a", "3\n"));
    run(&one, &["push"]);
    let text = run(&other, &["--json", "fetch", &address]).stdout;
    let report = serde_json::from_str(&text).expect("a document");
    let log = other.json(&["--machine", &only(&report), "log"]);
    assert_eq!(log["messages"].as_array().map(Vec::len), Some(3), "{log}");
}

/// By its full path: the worlds have no folder of the system's own tools.
const IP: &str = "/sbin/ip";

/// Hosts with a network of their own, joined by a bridge. `ip` takes them away.
struct Hosts(Vec<String>);

impl Hosts {
    fn new(count: u8) -> Option<Self> {
        let own = std::process::id();
        let bridge = format!("ck{own}");
        let mut hosts = Self(vec![bridge.clone()]);
        // The bridge is on a host of its own: nothing of this machine's network changes.
        ip(&["netns", "add", &bridge])?;
        ip(&["-n", &bridge, "link", "add", "b", "type", "bridge"])?;
        ip(&["-n", &bridge, "link", "set", "b", "up"])?;
        for number in 1..=count {
            let (name, port) = (format!("{bridge}-{number}"), format!("p{number}"));
            hosts.0.push(name.clone());
            ip(&["netns", "add", &name])?;
            let address = format!("10.9.8.{number}/24");
            for words in [
                &[
                    "-n", &name, "link", "add", "e", "type", "veth", "peer", "name", &port,
                    "netns", &bridge,
                ][..],
                &["-n", &bridge, "link", "set", &port, "master", "b", "up"],
                &["-n", &name, "address", "add", &address, "dev", "e"],
                &["-n", &name, "link", "set", "e", "up"],
            ] {
                ip(words)?;
            }
        }
        Some(hosts)
    }

    /// Returns a command on one of them.
    fn on(&self, number: usize, program: &Command) -> Command {
        let mut command = Command::new(IP);
        command.args(["netns", "exec", &self.0[number]]);
        command.arg(program.get_program()).args(program.get_args());
        let variables = program.get_envs();
        let variables = variables.filter_map(|(name, value)| Some((name, value?)));
        command.env_clear().envs(variables);
        if let Some(directory) = program.get_current_dir() {
            command.current_dir(directory);
        }
        command
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.0 {
            ip(&["netns", "delete", name]);
        }
    }
}

fn ip(words: &[&str]) -> Option<()> {
    let done = Command::new(IP).args(words).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success()).then_some(())
}

/// Three hosts with a network of their own: one serves, two push and fetch. One whose cable is out is told so, and goes on
/// once it is in.
#[test]
fn three_hosts_share_a_history() {
    let (one, other) = (machine(), Sandbox::new());
    server(&one);
    let Some(hosts) = Hosts::new(3) else {
        return testing::skip::skip("no host can be made with `ip netns`");
    };
    let mut daemon = git::command(&one.path("."), &one.home());
    daemon.args(["daemon", "--export-all", "--reuseaddr"]);
    daemon.arg(format!("--base-path={}", one.path(".").display()));
    let asks = |number: usize| {
        let mut git = git::command(&one.path("."), &one.home());
        git.args(["ls-remote", "git://10.9.8.1/server.git"]);
        let mut git = hosts.on(number, &git);
        let quiet = git.stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    };
    let daemon = Served::started(&mut hosts.on(1, &daemon), || asks(2));
    let Some(_daemon) = daemon else {
        return testing::skip::skip("`git daemon` is not there");
    };
    let run = |world: &Sandbox, number: usize, words: &[&str]| {
        let mut command = world.command(words);
        command.env("CKPT_HOOK_TEST_PATIENCE", "1000");
        finish(&mut hosts.on(number, &command), b"")
    };
    let address = "git://10.9.8.1/server.git";
    let cable = |what: &str| ip(&["-n", &hosts.0[2], "link", "set", "e", what]).expect("ours");
    cable("down");
    let cut = run(&one, 2, &["push", address, "--yes"]).exits(1);
    assert!(cut.stderr.contains("git cannot"), "{cut}");
    cable("up");
    run(&one, 2, &["push", address, "--yes"]).exits(0);
    let text = run(&other, 3, &["--json", "fetch", address])
        .exits(0)
        .stdout;
    let report = serde_json::from_str(&text).expect("a document");
    let log = other.json(&["--machine", &only(&report), "log"]);
    assert_eq!(log["messages"].as_array().map(Vec::len), Some(2), "{log}");
    let away = run(&other, 0, &["fetch", address]).exits(1);
    assert!(away.stderr.contains("git cannot"), "{away}");
}
