//! More than one: two sessions of an agent at the same time, and the hook put in twice.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::conversation::{Conversation, PROMPTS};
use crate::model::Model;
use crate::program::{Agent, CLAUDE_CODE, COPILOT_CLI, GROK, Message};
use crate::rules;
use crate::sitting::messages;
use testing::binary::Run;
use testing::machine::Machine;
use testing::tree::Tree;

/// The message of the one whose tool goes on until `go` is there.
const LONG: &str = "TURN-LONG please";

/// The message of the other, which begins and ends in the meantime.
const SHORT: &str = "TURN-ONE please";

/// What the long message alone writes.
const OF_LONG: [&str; 2] = ["started.txt", "late.txt"];

/// What the short message's edit tools name, so that nobody can take it for the other one's.
const NAMED_BY_SHORT: &str = "hello.txt";

/// How long a start may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// Two at once in one workspace go back each by itself.
///
/// See its name: a shell of one runs while the other one does all of its work. What only shells wrote meanwhile may be either's.
pub fn two_in_one_workspace_go_back_separately(agent: &'static Agent) {
    let (world, model) = begin(agent);
    let before = world.tree();
    at_once(agent, &world, &model, &world.workspace(), SHORT);
    let newest = world.tree();
    let sessions = messages(&world);
    let [long, short] = sessions.as_slice() else {
        panic!("a message each: {sessions:?}")
    };
    assert_ne!(long["session"], short["session"], "they are two sessions");

    // Some agents give a shell up that takes long, and then it never gets to its second file.
    let of_long = OF_LONG.map(Path::new);
    let of_long: Vec<&Path> = of_long
        .into_iter()
        .filter(|name| newest.contains_key(*name))
        .collect();
    revert(&world, short);
    expect_files(&world, &of_long, true, "they are the other session's");
    if agent.tells_edits_before {
        expect_files(
            &world,
            &[NAMED_BY_SHORT.as_ref()],
            false,
            "its edit tool made it",
        );
    }
    world
        .hook(&["unrevert", "--session", id(short, "session")])
        .exits(0);
    world.expect_tree(&newest, "all of it comes again");

    let run = revert(&world, long);
    expect_files(
        &world,
        &[NAMED_BY_SHORT.as_ref()],
        true,
        "the other session made it",
    );
    // What a shell wrote that its agent had given up is nobody's, and named.
    let is_there = world.tree().contains_key(Path::new(OF_LONG[1]));
    assert!(
        !is_there || run.stdout.contains(OF_LONG[1]),
        "it goes back, or the user hears of it: {run:?}"
    );
    world
        .hook(&["unrevert", "--session", id(long, "session")])
        .exits(0);
    world.expect_tree(&newest, "all of it comes again");
    assert_ne!(newest, before, "there was something to take back");
}

/// Two at once in two work trees know nothing of each other.
///
/// See its name: each work tree has a history of its own, and nothing is shared.
pub fn two_in_two_work_trees_are_independent(agent: &'static Agent) {
    let (world, model) = begin(agent);
    let other = world.path("second");
    let place = other.to_str().expect("it is text");
    world.git(&["worktree", "add", "-q", place]);
    let before = (world.tree(), testing::tree::read(&other));
    at_once(agent, &world, &model, &other, "TURN-TWO please");
    let newest = (world.tree(), testing::tree::read(&other));
    assert!(newest.1.contains_key(Path::new("half.txt")), "it did work");

    let here = messages(&world);
    assert_eq!(here.len(), 1, "the other one's is not here: {here:?}");
    revert(&world, &here[0]);
    let trees = (world.tree(), testing::tree::read(&other));
    assert_eq!(trees, (before.0.clone(), newest.1.clone()), "only this one");
    let inside = |arguments: &[&str]| {
        let mut command = world.command(&world.binary());
        Run::of(command.args(arguments).current_dir(&other)).exits(0)
    };
    inside(&["revert", "--message", "last"]);
    let trees = (world.tree(), testing::tree::read(&other));
    assert_eq!(trees, before, "each goes back to where it was");
    inside(&["unrevert"]);
    world.hook(&["unrevert"]).exits(0);
    let trees = (world.tree(), testing::tree::read(&other));
    assert_eq!(trees, newest, "each comes again");
}

/// Our package and our installation together record everything once.
///
/// See its name: the user put in our package, and then ran `install`.
pub fn package_and_installation_record_everything_once(agent: &'static Agent) {
    let conversation = Conversation::with_package(agent);
    agent.install(&conversation.world);
    let conversation = conversation.hold(|_, _| {});
    conversation.expect_unchanged();
    rules::expect_log(agent, &conversation.world);
    assert_eq!(messages(&conversation.world).len(), PROMPTS.len());
    let doctor = conversation.world.hook(&["doctor"]);
    assert!(
        doctor.stdout.contains("twice"),
        "doctor says so: {doctor:?}"
    );
    rules::one_by_one(&conversation, &rules::messages(&conversation.world));
}

/// Beside the hook in a project's settings of Claude Code each message and step is recorded once.
///
/// The agent runs those hooks, too, and tells of no ids of tools.
pub fn settings_of_claude_code_record_nothing_twice(agent: &'static Agent) {
    let counted = |is_beside: bool| {
        let mut conversation = Conversation::with_hook(agent);
        if is_beside {
            let install = ["install", CLAUDE_CODE.name, "--project"];
            agent.ask_hook(&conversation.world, &install);
        }
        conversation.say(PROMPTS[0]);
        conversation.say(PROMPTS[1]);
        let sent = messages(&conversation.world);
        let told = |field: &str| -> Vec<&Value> { sent.iter().map(|it| &it[field]).collect() };
        assert_eq!(told("agent"), [agent.name; 2], "under its own name");
        assert_eq!(told("prompt"), [PROMPTS[0], PROMPTS[1]], "once");
        for (message, before) in sent.iter().zip(&conversation.seen.before).rev() {
            revert(&conversation.world, message);
            let reverted = conversation.reverted(before);
            conversation.world.expect_tree(&reverted, "to before it");
        }
        sent.iter()
            .filter_map(|it| it["steps"].as_u64())
            .sum::<u64>()
    };
    let (alone, beside) = (counted(false), counted(true));
    // Two tools that end in the same moment are one step.
    assert!(beside * 2 < alone * 3, "{beside} steps instead of {alone}");
}

/// An agent in a shell of another one is told apart from it.
///
/// Each has its message, once, under its own name. Both go back, and what stays is named.
#[test]
#[ignore = "needs the real agents: `just agents claude-code copilot-cli grok`"]
fn agent_in_anothers_shell_is_told_apart() {
    in_shell(&CLAUDE_CODE, &GROK);
    in_shell(&GROK, &CLAUDE_CODE);
    in_shell(&CLAUDE_CODE, &COPILOT_CLI);
}

/// Has an agent run another one in a shell.
fn in_shell(agent: &Agent, inner: &Agent) {
    let (world, model) = begin(agent);
    (inner.settle)(&world, &model.url());
    inner.install(&world);
    let message = |prompt: &'static str| Message {
        url: "",
        is_first: true,
        by_package: false,
        prompt,
        conversation: &[],
    };
    let url = &model.url();
    let mut command = Command::new(inner.program());
    (inner.say)(
        &mut command,
        &Message {
            url,
            ..message(PROMPTS[0])
        },
    );
    fs::write(world.path("nested"), script(&command)).expect("a folder of our own");
    let before = world.tree();
    let outer = Message {
        url,
        ..message(NESTED)
    };
    agent.say(&world, &outer).exits(0);

    let sent = messages(&world);
    let told = |field: &str| -> Vec<&Value> { sent.iter().map(|it| &it[field]).collect() };
    assert_eq!(told("prompt"), [NESTED, PROMPTS[0]], "each once");
    assert_eq!(told("agent"), [agent.name, inner.name], "under its name");
    let said: String = sent
        .iter()
        .rev()
        .map(|it| revert(&world, it).stdout)
        .collect();
    for path in world
        .tree()
        .keys()
        .filter(|path| !before.contains_key(*path))
    {
        // An ignored folder is named for what came into it.
        let folder = path.parent().filter(|it| *it == Path::new("ignored"));
        let name = folder.unwrap_or(path).display().to_string();
        assert!(said.contains(&name), "{name} stays and is named: {said}");
    }
}

/// The message whose shell runs another agent.
const NESTED: &str = "TURN-NESTED please";

/// Returns the script that runs a command.
fn script(command: &Command) -> String {
    let quoted = |text: &OsStr| format!("'{}'", text.to_string_lossy());
    let variables = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={}", name.to_string_lossy(), quoted(value?))));
    let words = [command.get_program()]
        .into_iter()
        .chain(command.get_args());
    let words: Vec<String> = variables.chain(words.map(quoted)).collect();
    words.join(" ")
}

fn begin(agent: &Agent) -> (Machine, Model) {
    let world = Machine::new();
    let model = Model::start(&world);
    (agent.settle)(&world, &model.url());
    agent.install(&world);
    (world, model)
}

/// Sends the long message in the workspace, and while its tool runs another one in a directory.
fn at_once(agent: &Agent, world: &Machine, model: &Model, directory: &Path, prompt: &str) {
    let url = &model.url();
    let say = |directory: &Path, prompt: &str| {
        let message = Message {
            url,
            is_first: true,
            by_package: false,
            prompt,
            conversation: &[],
        };
        agent.say_in(world, directory, &message).exits(0)
    };
    thread::scope(|scope| {
        let long = scope.spawn(|| say(&world.workspace(), LONG));
        let patience = Instant::now() + PATIENCE;
        while !world.workspace().join(OF_LONG[0]).exists() {
            let goes_on = !long.is_finished() && Instant::now() < patience;
            assert!(goes_on, "its tool did not start");
            thread::sleep(Duration::from_millis(50));
        }
        say(directory, prompt);
        fs::write(world.path("go"), "").expect("a writable folder");
        long.join().expect("it answers");
    });
}

/// Takes a message back; changes that may be either session's stay and are named.
#[track_caller]
fn revert(world: &Machine, message: &Value) -> Run {
    let run = world.hook(&["revert", "--message", id(message, "id")]);
    assert!(matches!(run.code, Some(0 | 3)), "it is done: {run:?}");
    run
}

#[track_caller]
fn expect_files(world: &Machine, names: &[&Path], are_there: bool, why: &str) {
    let tree: Tree = world.tree();
    for name in names {
        let is_there = tree.contains_key(*name);
        assert_eq!(is_there, are_there, "`{}`: {why}", name.display());
    }
}

fn id<'a>(message: &'a Value, field: &str) -> &'a str {
    message[field].as_str().expect("an id")
}
