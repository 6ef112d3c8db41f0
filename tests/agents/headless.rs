//! A run without a terminal that ends before its time.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::model::Model;
use crate::program::{Agent, Message};
use crate::sitting::{HANGING, LATER, is_unclear, messages};
use testing::machine::Machine;
use testing::tree::Tree;

/// How long a start or an end may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

const PAUSE: Duration = Duration::from_millis(50);

/// What the tool that hangs has written.
const STUCK: &str = "stuck.txt";

/// A headless run that is killed holds nothing and an edit by hand stays.
///
/// See its name: the shell of its tool goes on.
pub fn killed_headless_run_holds_nothing(agent: &'static Agent) {
    stopped(agent, Machine::kill_programs);
}

/// A headless run whose time is up holds nothing and an edit by hand stays.
///
/// See its name: `timeout` ends it, as in a script or in CI, and all that it started.
pub fn timed_out_headless_run_holds_nothing(agent: &'static Agent) {
    stopped(agent, |world| world.terminate("timeout"));
}

/// What a shell that a killed agent left behind writes later stays.
///
/// See its name: nobody is at work any more, so that it may be the user's.
pub fn killed_agents_shells_late_work_stays(agent: &'static Agent) {
    let world = Machine::new();
    let before = begin_and_stop(agent, &world, Machine::kill_programs);
    thread::sleep(LATER);
    fs::write(world.path("never"), "").expect("a folder of our own");
    let late = Path::new("never.txt");
    wait("the shell goes on", || {
        world.workspace().join(late).exists()
    });
    expect_back(&world, before, late);
}

fn stopped(agent: &'static Agent, stop: impl Fn(&Machine)) {
    let world = Machine::new();
    let before = begin_and_stop(agent, &world, stop);
    let notes = Path::new("notes.txt");
    thread::sleep(LATER);
    fs::write(world.workspace().join(notes), "an hour of work\n").expect("a writable workspace");
    expect_back(&world, before, notes);
}

/// Sends a message whose tool hangs, stops the agent, and returns the work tree as it was before.
fn begin_and_stop(agent: &'static Agent, world: &Machine, stop: impl Fn(&Machine)) -> Tree {
    let model = Model::start(world);
    (agent.settle)(world, &model.url());
    agent.install(world);
    let before = world.tree();
    let message = Message {
        url: &model.url(),
        is_first: true,
        by_package: false,
        prompt: HANGING,
        conversation: &[],
    };
    thread::scope(|scope| {
        let run = scope.spawn(|| agent.say(world, &message));
        wait("its tool starts", || {
            assert!(!run.is_finished(), "it goes on until it is stopped");
            world.workspace().join(STUCK).exists()
        });
        stop(world);
        let ended = run.join().expect("it ends");
        let is_done = ended.stdout.contains("Turn stuck is finished.");
        assert!(!is_done, "it was stopped: {ended:?}");
    });
    before
}

/// Takes the message back: what it did is gone, and what came later stays.
#[track_caller]
fn expect_back(world: &Machine, before: Tree, later: &Path) {
    let messages = messages(world);
    assert_eq!(
        messages.len(),
        1,
        "what was sent is in the log: {messages:?}"
    );
    let revert = || world.hook(&["revert", "--message", "last"]);
    let mut run = revert();
    wait("it is known to be gone", || {
        const BUSY: i32 = 5;
        if run.code == Some(BUSY) {
            run = revert();
        }
        run.code != Some(BUSY)
    });
    assert!(matches!(run.code, Some(0 | 3)), "it is done: {run:?}");
    let mut expected = before;
    let newest = world.tree();
    let stays = newest.get(later).expect("what came later stays");
    expected.insert(later.to_owned(), stays.clone());
    let stuck = newest.get(Path::new(STUCK));
    if let Some(stays) = stuck.filter(|_| is_unclear(&run)) {
        expected.insert(STUCK.into(), stays.clone());
    }
    world.expect_tree(&expected, &format!("the tool's file went: {run:?}"));
}

#[track_caller]
fn wait(what: &str, mut is_met: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_met() {
        assert!(Instant::now() < end, "{what}: waited for in vain");
        thread::sleep(PAUSE);
    }
}
