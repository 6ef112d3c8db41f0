//! The browser in tmux, a terminal that people use: what it shows there, at the size that it has, and what is left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use testing::binary::{Sandbox, binary};
use testing::skip::{has_program, skip};

/// How long anything may take; machines that run tests are busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// A session of a server of its own, which ends with this.
struct Tmux<'a> {
    world: &'a Sandbox,
    /// Its own: a server that ends still has its socket for a moment.
    socket: PathBuf,
}

impl<'a> Tmux<'a> {
    fn open(world: &'a Sandbox, columns: u16, rows: u16) -> Option<Self> {
        if !has_program("tmux") {
            return None;
        }
        let socket = world.path("").join(format!("tmux-{columns}"));
        let tmux = Self { world, socket };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let shell = "PS1='READY ' exec /bin/sh";
        let run = tmux.run(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
            shell,
        ]);
        assert!(run.status.success(), "tmux starts: {run:?}");
        tmux.wait_for("READY");
        Some(tmux)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new("tmux")
            .arg("-S")
            .arg(&self.socket)
            .args(arguments)
            .env_clear()
            .env("HOME", self.world.home())
            .env("CKPT_HOOK_HOME", self.world.store())
            .env("PATH", "/usr/bin:/bin")
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
            // Not the one of the user database, which may let nobody in.
            .env("SHELL", "/bin/sh")
            .current_dir(self.world.workspace())
            .output()
            .expect("tmux is there")
    }

    fn keys(&self, keys: &[&str]) {
        let run = self.run(&[&["send-keys"], keys].concat());
        assert!(run.status.success(), "it takes keys: {run:?}");
    }

    fn contents(&self) -> String {
        String::from_utf8_lossy(&self.run(&["capture-pane", "-p"]).stdout).into_owned()
    }

    fn wait_for(&self, text: &str) {
        self.wait_until(text, |contents| contents.contains(text));
    }

    fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let begin = Instant::now();
        while !is_so(&self.contents()) {
            assert!(
                begin.elapsed() < PATIENCE,
                "`{what}` was waited for:\n{}",
                self.contents()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

/// The browser works in tmux at any size and gives the pane back.
#[test]
fn browser_gives_the_tmux_pane_back() {
    let world = Sandbox::new();
    world.play("m1", "first", |world| world.write("one", "eins\n"));
    world.play("m2", "second", |world| world.write("two", "zwei\n"));
    for (columns, rows) in [(40, 12), (100, 30), (250, 80)] {
        let Some(tmux) = Tmux::open(&world, columns, rows) else {
            return;
        };
        let line = format!(
            "{} ui; stty -a | grep -o ' icanon'; echo ended-$?",
            binary()
        );
        tmux.keys(&[&line, "Enter"]);
        tmux.wait_for("▸ Timeline");
        tmux.keys(&["/", "E", "I", "N"]);
        tmux.wait_until("what wrote `eins`", |contents| {
            contents.contains("first") && !contents.contains("second")
        });
        tmux.keys(&["Escape"]);
        tmux.wait_for("second");
        tmux.keys(&["j", "r"]);
        tmux.wait_for("Would go back");
        assert_eq!(world.tree().len(), 2, "nothing is done yet");
        tmux.keys(&["y"]);
        tmux.wait_for("Went back");
        assert!(world.tree().is_empty(), "now it is");
        tmux.keys(&["u"]);
        tmux.wait_for("nothing is changed yet");
        tmux.keys(&["y"]);
        tmux.wait_for("Went all the way forward");
        assert_eq!(world.tree().len(), 2, "and back");
        tmux.keys(&["q"]);
        tmux.wait_for("ended-0");
        let contents = tmux.contents();
        assert!(
            contents.contains(" icanon") && !contents.contains("Timeline"),
            "the shell's own screen, and its keys: {contents}"
        );
    }
}

/// A pane that grew while the browser had it is given back without its rows.
#[test]
fn grown_pane_is_given_back() {
    let world = Sandbox::new();
    for number in 0..8 {
        let id = format!("m{number}");
        world.play(&id, &id, |world| world.write(&id, "1\n"));
    }
    let Some(tmux) = Tmux::open(&world, 120, 20) else {
        return;
    };
    tmux.run(&["resize-window", "-x", "40", "-y", "12"]);
    tmux.keys(&["clear", "Enter"]);
    tmux.keys(&[&format!("{} ui; echo ended-$?", binary()), "Enter"]);
    tmux.wait_for("▸ Timeline");
    tmux.run(&["resize-window", "-x", "120", "-y", "20"]);
    tmux.wait_for("│");
    tmux.keys(&["q"]);
    tmux.wait_for("ended-0");
    let contents = tmux.contents();
    assert!(
        !contents.contains("│"),
        "only the shell's screen: {contents}"
    );
}

/// The lines that a task of the table looks at.
fn lines(five: &str, thirty: &str) -> String {
    let line = |number: usize| match number {
        5 => format!("{five}\n"),
        30 => format!("{thirty}\n"),
        _ => format!("{number}\n"),
    };
    (1..=40).map(line).collect()
}

/// Three messages: `long` at both ends, then `one`, then `two` and `three`.
fn three_messages() -> Sandbox {
    let world = Sandbox::new();
    world.write("long", lines("5", "30"));
    world.play("m1", "both ends", |world| {
        world.write("long", lines("five", "thirty"));
    });
    world.play("m2", "first of two", |world| world.write("one", "eins\n"));
    world.play("m3", "second of two", |world| {
        world.write("two", "zwei\n");
        world.write("three", "drei\n");
    });
    world
}

/// What is there once a task of the table is done.
fn is_task_done(task: &str, world: &Sandbox, contents: &str) -> bool {
    let is_there = |name: &str| world.workspace().join(name).exists();
    match task {
        "take back the last message" => !is_there("two") && !is_there("three") && is_there("one"),
        "take back one file of it" => is_there("two") && !is_there("three"),
        "take back one hunk of an older message" => {
            world.read("long") == lines("five", "30").into_bytes() && is_there("two")
        }
        "take back an older message alone" => !is_there("one") && is_there("two"),
        "go back three messages" => {
            world.read("long") == lines("5", "30").into_bytes() && !is_there("one")
        }
        "undo that" => {
            is_there("two") && is_there("three") && contents.contains("all the way forward")
        }
        "one message forward again" => {
            world.read("long") == lines("five", "thirty").into_bytes() && !is_there("one")
        }
        "see what a message changed" => contents.contains("+eins"),
        "find the message that wrote a word" => {
            contents.contains("first of two") && !contents.contains("second of two")
        }
        "see who wrote each line of a file" => contents.contains("Who wrote"),
        "label a message" => contents.contains("[good]"),
        "overwrite a file that I changed since" => !is_there("three") && !is_there("two"),
        other => panic!("the table has a task that is not played: {other}"),
    }
}

/// The keys of the table of everyday tasks do what it says.
#[test]
fn documented_keystrokes_do_their_task() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/history.md");
    let page = fs::read_to_string(root).expect("the page");
    let table = page.split("| task |").nth(1).expect("the table");
    let rows: Vec<(&str, &str)> = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let mut cells = line.split('|').map(str::trim).skip(1);
            (cells.next().expect("a task"), cells.next().expect("keys"))
        })
        .collect();
    assert!(rows.len() >= 10, "{rows:?}");
    for (number, (task, keys)) in rows.into_iter().enumerate() {
        let world = three_messages();
        match task {
            "undo that" => world.run(&["revert", "last"], b"").exits(0),
            "one message forward again" => world.run(&["revert", "last~2"], b"").exits(0),
            _ => world.run(&["status"], b"").exits(0),
        };
        if task.starts_with("overwrite") {
            world.write("three", "mine\n");
        }
        let (columns, lines) = [(80, 24), (200, 50), (100, 30)][number % 3];
        let Some(tmux) = Tmux::open(&world, columns, lines) else {
            return;
        };
        tmux.keys(&[&format!("{} ui", binary()), "Enter"]);
        tmux.wait_for("▸ Timeline");
        tmux.wait_for("q back");
        for key in keys.split('`').skip(1).step_by(2) {
            tmux.keys(&[key]);
            // A plan is carried out once it is there.
            if ["r", "a", "u", "f", "o"].contains(&key)
                && task != "label a message"
                && !task.starts_with("find")
            {
                tmux.wait_for("nothing is changed yet");
            }
        }
        tmux.wait_until(task, |contents| is_task_done(task, &world, contents));
    }
}

/// A server for `ssh` that knows one key, and no port: each connection starts it.
struct Ssh {
    /// What connects, without what is run there.
    line: String,
}

impl Ssh {
    /// Returns it if it lets this user in; says that the test is skipped where it does not.
    fn open(world: &Sandbox) -> Option<Self> {
        let found = ["/usr/sbin/sshd", "/usr/bin/sshd", "/usr/local/sbin/sshd"];
        let Some(sshd) = found.into_iter().find(|path| Path::new(path).exists()) else {
            skip("`sshd` is not there");
            return None;
        };
        let folder = world.path("");
        let make = |name: &str| {
            let key = folder.join(name);
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(&key)
                .status();
            assert!(made.is_ok_and(|made| made.success()), "a key of our own");
            key.display().to_string()
        };
        let (host, user) = (make("host"), make("user"));
        let config = folder.join("sshd_config");
        let settings = format!(
            "HostKey {host}\nAuthorizedKeysFile {user}.pub\nPidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n"
        );
        fs::write(&config, settings).expect("ours");
        let line = format!(
            "ssh -F none -i {user} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o BatchMode=yes \
             -o 'ProxyCommand={sshd} -i -f {}' \"$(id -un)@here\"",
            config.display()
        );
        let tried = Command::new("sh")
            .arg("-c")
            .arg(format!("{line} echo in </dev/null"))
            .output()
            .expect("a shell");
        if String::from_utf8_lossy(&tried.stdout) != "in\n" {
            let why = String::from_utf8_lossy(&tried.stderr);
            skip(&format!("`sshd` lets nobody in here: {}", why.trim()));
            return None;
        }
        Some(Self { line })
    }
}

/// The browser works over ssh and ends with the connection.
#[test]
fn browser_works_over_ssh() {
    let world = Sandbox::new();
    world.play("m1", "first", |world| world.write("one", "eins\n"));
    world.play("m2", "second", |world| world.write("two", "zwei\n"));
    let Some(ssh) = Ssh::open(&world) else {
        return;
    };
    let pid = world.path("pid");
    // What `ssh` starts has nothing of this environment.
    let script = format!(
        "cd {}; export HOME={} CKPT_HOOK_HOME={} LC_ALL=C.UTF-8; sh -c 'echo $$ >{}; exec {} ui'; echo ended-$?; stty -a | grep -o ' icanon'\n",
        world.workspace().display(),
        world.home().display(),
        world.store().display(),
        pid.display(),
        binary()
    );
    let there = world.path("there.sh");
    fs::write(&there, script).expect("ours");
    let line = format!("clear; {} -t sh {}", ssh.line, there.display());
    for (columns, rows) in [(40, 12), (250, 80)] {
        let Some(tmux) = Tmux::open(&world, columns, rows) else {
            return;
        };
        tmux.keys(&[&line, "Enter"]);
        tmux.wait_for("▸ Timeline");
        tmux.keys(&["/", "E", "I", "N"]);
        tmux.wait_until("what wrote `eins`", |contents| {
            contents.contains("first") && !contents.contains("second")
        });
        tmux.keys(&["Escape"]);
        tmux.wait_for("second");
        tmux.keys(&["j", "r"]);
        tmux.wait_for("Would go back");
        tmux.keys(&["y"]);
        tmux.wait_for("Went back");
        assert!(world.tree().is_empty(), "it is done there");
        tmux.run(&["resize-window", "-x", "100", "-y", "30"]);
        tmux.wait_for("│");
        tmux.keys(&["u"]);
        tmux.wait_for("nothing is changed yet");
        tmux.keys(&["y"]);
        tmux.wait_for("Went all the way forward");
        tmux.keys(&["q"]);
        tmux.wait_for("ended-0");
        tmux.wait_for(" icanon");
        // What is typed before `ssh` has ended is its own.
        tmux.wait_until("the shell here", |contents| {
            contents.trim_end().ends_with("READY")
        });
        tmux.keys(&[&line, "Enter"]);
        tmux.wait_for("▸ Timeline");
        let process = fs::read_to_string(&pid).expect("it says which it is");
        let there = Path::new("/proc").join(process.trim());
        // `ssh` goes with its terminal, and the line with it.
        drop(tmux);
        let begin = Instant::now();
        while there.exists() {
            assert!(begin.elapsed() < PATIENCE, "it ends with its connection");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
