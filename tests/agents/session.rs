//! A session at a terminal: a message while a tool runs, and Esc.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::model::Model;
use crate::program::{Agent, Screen};
use crate::sitting::{interrupt, is_closed, messages};
use testing::machine::Machine;
use testing::terminal::Terminal;
use testing::tree::{Node, Tree};

/// What the user types. The third one is sent while a tool of the second one runs, the fourth one is interrupted.
const PROMPTS: [&str; 5] = [
    "TURN-ONE please",
    "TURN-LONG please",
    "TURN-TWO please",
    "TURN-STUCK please",
    "TURN-AGAIN please",
];

/// Every message of a terminal session goes back and comes again.
///
/// See its name; a message that is sent while a tool runs is one of its own, and what was interrupted is closed.
pub fn terminal_sessions_messages_go_back_and_forth(agent: &'static Agent) {
    let screen = agent.screen.as_ref().expect("it has one");
    let world = Machine::new();
    let model = Model::start(&world);
    (agent.settle)(&world, &model.url());
    (screen.settle)(&world);
    agent.install(&world);

    let (before, newest) = converse(agent, screen, &world, &model);
    assert!(
        !model.was_shown("ckpt-hook"),
        "nothing of the hook reaches the model"
    );
    expect_messages(agent, &world);
    let messages: Vec<String> = (0..PROMPTS.len())
        .rev()
        .map(|n| format!("last~{n}"))
        .collect();
    for (message, before) in messages.iter().zip(&before) {
        world.hook(&["revert", "--message", message]).exits(0);
        world.expect_tree(before, "straight back to just before this message");
        world.hook(&["unrevert"]).exits(0);
        world.expect_tree(&newest, "and all the way forward");
    }
}

/// Has the session, and returns the work tree before each message, and at the end.
fn converse(agent: &Agent, screen: &Screen, world: &Machine, model: &Model) -> (Vec<Tree>, Tree) {
    let mut terminal = agent.sit_down(world, &model.url(), &[]);
    let begin = world.tree();
    terminal.wait_until_ready(screen.questions, screen.ready);
    terminal.say(PROMPTS[0]);
    terminal.wait_for_text("Turn one is finished.");
    settled(&mut terminal, world);
    let before_long = world.tree();

    terminal.say(PROMPTS[1]);
    let started = world.workspace().join("started.txt");
    terminal.wait("the tool", |_| started.exists());
    terminal.say(PROMPTS[2]);
    terminal.wait("the message to be taken", |contents| {
        contents.contains(screen.taken) || messages(world).len() == 3
    });
    fs::write(world.path("go"), "").expect("a writable folder");
    terminal.wait_for_text("Turn two is finished.");
    settled(&mut terminal, world);
    let before_two = with(
        &before_long,
        &[("started.txt", "started\n"), ("late.txt", "late\n")],
    );

    let before_stuck = world.tree();
    terminal.say(PROMPTS[3]);
    let stuck = world.workspace().join("stuck.txt");
    terminal.wait("the tool", |_| stuck.exists());
    interrupt(screen, &mut terminal);
    let before_again = world.tree();
    terminal.say(PROMPTS[4]);
    terminal.wait_for_text("Turn again is finished.");
    settled(&mut terminal, world);
    (
        vec![begin, before_long, before_two, before_stuck, before_again],
        world.tree(),
    )
}

/// Waits until the hook has heard of the turn's end.
fn settled(terminal: &mut Terminal, world: &Machine) {
    terminal.wait("the end of the turn", |_| {
        messages(world)
            .last()
            .is_some_and(|message| is_closed(world, message))
    });
}

/// The log has what the user typed and nothing else, all of it in one session, and no step is left open.
fn expect_messages(agent: &Agent, world: &Machine) {
    let messages = messages(world);
    let prompts: Vec<&Value> = messages.iter().map(|message| &message["prompt"]).collect();
    if agent.tells_prompts {
        assert_eq!(prompts, PROMPTS, "each line that was typed is a message");
    }
    assert_eq!(messages.len(), PROMPTS.len(), "nothing else is one");
    for message in &messages {
        assert_eq!(
            message["session"], messages[0]["session"],
            "one session: {message}"
        );
        assert!(
            is_closed(world, message),
            "the next start closes what was interrupted: {message}"
        );
    }
}

/// Returns a work tree with a few files more, as a shell makes them.
fn with(tree: &Tree, files: &[(&str, &str)]) -> Tree {
    let mut tree = tree.clone();
    for (name, text) in files {
        let file = Node::File(text.as_bytes().to_vec(), 0o644);
        tree.insert(Path::new(name).to_owned(), file);
    }
    tree
}
