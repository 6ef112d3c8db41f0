//! The real agents: a file each, with how it is set up, pointed at the scripted model, and spoken to.

mod claude_code;
mod cline;
mod codebuddy;
mod codex;
mod copilot_cli;
mod gemini_cli;
mod grok;
mod kimi_code;
mod opencode;
mod pi;
mod qwen_code;

use std::path::{Path, PathBuf};
use std::process::Command;

use testing::binary::Run;
use testing::machine::Machine;
use testing::terminal::Terminal;

pub use claude_code::CLAUDE_CODE;
pub use cline::CLINE;
pub use codebuddy::CODEBUDDY;
pub use codex::CODEX;
pub use copilot_cli::COPILOT_CLI;
pub use gemini_cli::GEMINI_CLI;
pub use grok::{GROK, GROK_BESIDE_CLAUDE_CODE};
pub use kimi_code::KIMI_CODE;
pub use opencode::{KILO, OPENCODE};
pub use pi::PI;
pub use qwen_code::QWEN_CODE;

/// An agent's program, and what a test must know of it.
pub struct Agent {
    /// The name that settings and the command line use.
    pub name: &'static str,
    /// What `install` is given beside the name.
    pub install: &'static [&'static str],
    /// Writes the user's settings, as they are before our hook comes; the text is the scripted model's address.
    pub settle: fn(&Machine, &str),
    /// Adds the variables and arguments with which one message is sent, and answered without a terminal.
    pub say: fn(&mut Command, &Message<'_>),
    /// Whether it tells its hooks what the user wrote.
    pub tells_prompts: bool,
    /// Whether a later message goes on with the session of an earlier one, where nobody sits at a terminal.
    pub goes_on: bool,
    /// Whether it tells its hooks which file an edit tool is about to touch; only then one that is ignored goes back, too.
    pub tells_edits_before: bool,
    /// Whether its model can send a shell to the background, and its hooks hear of that.
    pub tells_background: bool,
    /// Whether it has a documented way to be told after a revert which files went back.
    pub is_told: bool,
    /// What the user writes to take back the last message from inside it, where it runs commands of ours by itself.
    pub revert: Option<&'static str>,
    /// Whether that is the last message of its own session, whoever else is at work.
    pub knows_session: bool,
    /// Puts in our package by the agent's own means, where there is one.
    pub package: Option<fn(&Machine)>,
    /// Puts in `ckpt-hook mcp` by the agent's own means, where its model is given servers of tools.
    pub serve: Option<fn(&Machine, &[&str])>,
    /// Returns what of a line of its output is of account: neither chance nor its own word on what its hooks do.
    pub counts: fn(&str) -> Option<&str>,
    /// How it is used at a terminal, where the tests do that.
    pub screen: Option<Screen>,
}

/// An agent at a terminal.
pub struct Screen {
    /// Answers beforehand what it asks at its first start.
    pub settle: fn(&Machine),
    /// Adds the variables and arguments with which it is started.
    pub start: fn(&mut Command, &str),
    /// What it asks before it listens, and the keys that answer, in its order.
    pub questions: &'static [(&'static str, &'static str)],
    /// What is on the screen once it listens.
    pub ready: &'static str,
    /// What is on the screen once it has a message that was sent while a tool runs.
    pub taken: &'static str,
    /// The keys that send such a message without waiting for the end of the turn. None where it does so by itself, or cannot.
    pub at_once: &'static str,
    /// Returns whether a screen is one on which those keys were taken.
    pub sends_at_once: fn(&str) -> bool,
    /// The keys that interrupt it.
    pub interrupt: &'static [&'static str],
    /// What is on the screen after the first of several such keys.
    pub asks: &'static str,
    /// Returns whether a screen is one of an agent that was interrupted.
    pub interrupted: fn(&str) -> bool,
    /// The command inside it that begins a new session.
    pub anew: &'static str,
    /// The command inside it that compacts its conversation, and what it says then.
    pub compact: (&'static str, &'static str),
    /// What it asks then, and the keys that answer, in its order.
    pub asks_anew: &'static [(&'static str, &'static str)],
    /// The arguments that have it go on with the newest session.
    pub resume: &'static [&'static str],
    /// What is on the screen once it listens again, with that session.
    pub resumed: &'static str,
    /// Its own rewind.
    pub rewind: Rewind,
}

/// How an agent's own rewind of messages is asked for, and what it leaves.
pub struct Rewind {
    /// What it may ask at any time because of them, whose first answer is to go on.
    pub may_ask: &'static str,
    /// Sets what of the user's settings it needs and other stories go without.
    pub settle: fn(&Machine),
    /// What it shows, and the keys that answer, in its order; the last is its end.
    pub steps: &'static [(&'static str, &'static [&'static str])],
    /// Returns whether a workspace is one whose files are all back.
    pub is_done: fn(&Path) -> bool,
    /// The files that it leaves as nobody wrote them, so that a revert of ours keeps them.
    pub mixes: &'static [&'static str],
    /// The rewind of the conversation alone to before the last message; none where every rewind is, or none can be.
    pub alone: Option<&'static Rewind>,
}

/// Stands for the session in the arguments of an agent that has to be told which one.
pub const SESSION: &str = "{session}";

/// The keys.
const UP: &str = "\x1b[A";
const DOWN: &str = "\x1b[B";
/// Empties the line.
pub const CLEAR: &str = "\x15";

/// The key.
pub const ESC: &str = "\x1b";

/// One message of the user's.
pub struct Message<'a> {
    /// The scripted model's address.
    pub url: &'a str,
    /// Whether it begins a session.
    pub is_first: bool,
    /// Whether our hook is in by our package.
    pub by_package: bool,
    /// What the user writes.
    pub prompt: &'a str,
    /// The arguments that go on with a conversation by name, instead of with the newest.
    pub conversation: &'a [String],
}

impl Message<'_> {
    /// Tells the picture in a message from its text, for an agent that has an option for what others read from it.
    pub fn picture(&self) -> (Option<&str>, &str) {
        let named = self.prompt.strip_prefix('@');
        match named.and_then(|named| named.split_once(' ')) {
            Some((picture, prompt)) => (Some(picture), prompt),
            None => (None, self.prompt),
        }
    }

    /// Returns the arguments that go on: with a conversation by name, with the newest one, or with none.
    pub fn goes_on<'m>(&'m self, newest: &'m [&'m str]) -> Vec<&'m str> {
        match (self.conversation, self.is_first) {
            ([], true) => Vec::new(),
            ([], false) => newest.to_vec(),
            (named, _) => named.iter().map(String::as_str).collect(),
        }
    }
}

/// Ten minutes are enough for any of them on any machine, however busy; then it is ended, and said to have failed.
const PATIENCE: [&str; 2] = ["--kill-after=5", "600"];

impl Agent {
    /// Sends one message and waits for the answer.
    pub fn say(&self, world: &Machine, message: &Message<'_>) -> Run {
        self.say_in(world, &world.workspace(), message)
    }

    /// The same in a directory.
    pub fn say_in(&self, world: &Machine, directory: &Path, message: &Message<'_>) -> Run {
        let mut command = world.command("timeout".as_ref());
        command.current_dir(directory);
        command.args(PATIENCE).arg(self.program()).env(
            "PATH",
            if message.by_package {
                bare_path()
            } else {
                path(world)
            },
        );
        (self.say)(&mut command, message);
        world.without_chance(Run::of(&mut command))
    }

    /// Has it do something without a message, as its user does with its settings.
    pub fn manage(&self, world: &Machine, arguments: &[&str]) {
        let mut command = world.command("timeout".as_ref());
        Run::of(
            command
                .args(PATIENCE)
                .arg(self.program())
                .env("PATH", bare_path())
                .args(arguments),
        )
        .exits(0);
    }

    /// Has our hook put into its settings, as its user does who has the program on the PATH.
    pub fn install(&self, world: &Machine) -> Run {
        let arguments = [&["install", self.name], self.install].concat();
        self.ask_hook(world, &arguments)
    }

    /// Asks our binary, with the program on the PATH.
    pub fn ask_hook(&self, world: &Machine, arguments: &[&str]) -> Run {
        self.try_hook(world, arguments).exits(0)
    }

    /// The same, whatever comes of it.
    pub fn try_hook(&self, world: &Machine, arguments: &[&str]) -> Run {
        let folder = self.program();
        let folder = folder.parent().expect("it is in a folder");
        let path = format!("{}:{}", folder.display(), path(world));
        Run::of(
            world
                .command(&world.binary())
                .args(arguments)
                .env("PATH", path),
        )
    }

    /// Returns how it is used at a terminal.
    pub fn screen(&self) -> &Screen {
        self.screen.as_ref().expect("it has a screen")
    }

    /// Starts it in a terminal.
    pub fn sit_down(&self, world: &Machine, url: &str, arguments: &[&str]) -> Terminal {
        let mut command = Command::new(self.program());
        command.args(arguments);
        command.env("PATH", path(world));
        (self.screen().start)(&mut command, url);
        Terminal::open(world, &command)
    }

    /// Returns where the program is.
    pub fn program(&self) -> PathBuf {
        let (version, program) = package(self.name);
        folder()
            .join(format!("{}-{version}", self.name))
            .join("node_modules/.bin")
            .join(program)
    }
}

/// Returns the folders of programs, with the node that agents are run by in front, and the user's own.
pub fn path(world: &Machine) -> String {
    let binary = world.binary();
    let own = binary.parent().expect("it is in a folder");
    let (node, others) = programs();
    format!("{node}:{}:{others}", own.display())
}

/// The same without our program: what a package calls has to come along with it.
fn bare_path() -> String {
    let (node, others) = programs();
    format!("{node}:{others}")
}

fn programs() -> (String, &'static str) {
    let node = folder()
        .join(format!("node-{}", package("node").0))
        .join("node_modules/node/bin");
    let folders = [Some(node.display().to_string()), needed()];
    let folders: Vec<_> = folders.into_iter().flatten().collect();
    (folders.join(":"), "/usr/local/bin:/usr/bin:/bin")
}

/// Returns the folder of a program that the version that is tried does not work without.
#[expect(
    clippy::disallowed_methods,
    reason = "`tests/agents/run --versions` tells it the tests"
)]
fn needed() -> Option<String> {
    let folder = std::env::var("CKPT_REAL_AGENT_NEEDS").ok();
    folder.filter(|folder| !folder.is_empty())
}

/// Returns where a copy of one of our packages is, with our program in it as `packaging/release` puts it there. (A copy, also
/// because Qwen Code leaves a folder of its own beside what it installs.)
fn our_package(world: &Machine, name: &str, place: &str) -> String {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("packages")
        .join(name);
    let copy = world.path(name);
    if !copy.exists() {
        Run::of(
            world
                .command("cp".as_ref())
                .arg("-r")
                .args([&packages, &copy]),
        )
        .exits(0);
        let program = copy.join(place.replace("PLATFORM", platform()));
        std::fs::create_dir_all(program.parent().expect("it is in a folder")).expect("writable");
        std::fs::copy(world.binary(), program).expect("writable");
    }
    copy.display().to_string()
}

/// Where the program is in a package whose hooks are lines for a shell.
const PLATFORMS: &str = "platforms/PLATFORM/ckpt-hook";

/// The same below the folder of a marketplace.
const PLUGIN: &str = "ckpt-hook/platforms/PLATFORM/ckpt-hook";

/// Returns npm's name for this machine.
fn platform() -> &'static str {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("macos", "aarch64") => "darwin-arm64",
        ("macos", _) => "darwin-x64",
        (_, "aarch64") => "linux-arm64",
        _ => "linux-x64",
    }
}

/// Returns the version and the program of a package in the list of them; the agent's version is another one where
/// `tests/agents/run --versions` says so.
fn package(name: &str) -> (String, &'static str) {
    let (listed, program) = listed(name);
    let version = older_version().filter(|_| name != "node");
    (version.unwrap_or_else(|| listed.to_owned()), program)
}

fn listed(name: &str) -> (&'static str, &'static str) {
    let mut rows = include_str!("../packages")
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows
        .find(|row| row[0] == name)
        .expect("every agent is in the list");
    (row[2], row[3])
}

/// Returns the version that is tried instead of the one in the list.
#[expect(
    clippy::disallowed_methods,
    reason = "`tests/agents/run --versions` tells it the tests"
)]
fn older_version() -> Option<String> {
    std::env::var("CKPT_REAL_AGENT_VERSION").ok()
}

/// Returns whether the version that is tried is not the one in the list of packages.
pub fn is_older(name: &str) -> bool {
    package(name).0 != listed(name).0
}

/// Returns what is on the screen of the version that is tried once it listens.
pub fn ready(agent: &Agent, screen: &Screen) -> &'static str {
    if agent.name == "codex" && is_older(agent.name) {
        codex::OLDER_READY
    } else {
        screen.ready
    }
}

/// Returns whether the version that is tried is this one or a newer one.
fn is_at_least(name: &str, version: [u32; 3]) -> bool {
    let tried = package(name).0;
    let numbers = tried.split('.').map(|number| number.parse::<u32>());
    numbers.map(|number| number.expect("it is one")).ge(version)
}

/// Returns what the hook records of the version that is tried, in the words of the list of versions.
pub fn records(name: &str) -> &'static str {
    let version = package(name).0;
    let rows = include_str!("../versions").lines();
    let mut rows = rows.map(|row| row.split_whitespace().collect::<Vec<_>>());
    let row = rows.find(|row| row.starts_with(&[name, &version]));
    row.map_or("messages", |row| row[2])
}

/// Returns the folder that the agents are installed below.
#[expect(
    clippy::disallowed_methods,
    reason = "the one thing that tests/agents/run tells the tests"
)]
pub fn folder() -> PathBuf {
    std::env::var_os("CKPT_REAL_AGENTS")
        .expect("`tests/agents/run` (`just agents`) says where they are")
        .into()
}

/// Every line of an agent's output is of account.
fn all(line: &str) -> Option<&str> {
    Some(line)
}
