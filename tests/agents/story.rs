//! Stories of a person at a terminal with a real agent: what is interrupted, killed or closed, and what is done by hand then.
//!
//! A story is a few lines over a [`Sitting`]: what is typed and pressed, and what must be in the workspace and the log after it.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use testing::machine::Machine;
use testing::terminal::Terminal;
use testing::tree::Tree;

use crate::model::Model;
use crate::program::{Agent, Rewind, SESSION, Screen};

/// Somebody at a terminal with an agent.
pub struct Sitting {
    /// The machine.
    pub world: Machine,
    /// The scripted model.
    pub model: Model,
    agent: &'static Agent,
    screen: &'static Screen,
    terminal: Option<Terminal>,
    /// What the agent's first start asked is asked once.
    is_known: Cell<bool>,
}

impl Sitting {
    /// Begins one, with our hook put in by `ckpt-hook install`, and waits until the agent listens.
    pub fn begin(agent: &'static Agent) -> Self {
        let screen = agent.screen.as_ref().expect("it has one");
        let world = Machine::new();
        let model = Model::start(&world);
        (agent.settle)(&world, &model.url());
        (screen.settle)(&world);
        agent.install(&world);
        let mut sitting = Self {
            world,
            model,
            agent,
            screen,
            terminal: None,
            is_known: Cell::new(false),
        };
        sitting.start();
        sitting
    }

    /// Starts the agent, and waits until it listens.
    pub fn start(&mut self) {
        self.start_with(&[], self.screen.ready);
    }

    /// Starts the agent once more so that it goes on with the newest session.
    pub fn resume(&mut self) {
        let newest = messages(&self.world).pop().expect("there was a message");
        let session = newest["agent_session"].as_str().expect("an id");
        let arguments = self.screen.resume.iter();
        let arguments: Vec<&str> = arguments
            .map(|word| if *word == SESSION { session } else { word })
            .collect();
        self.start_with(&arguments, self.screen.resumed);
    }

    fn start_with(&mut self, arguments: &[&str], ready: &str) {
        let url = &self.model.url();
        let mut terminal = self.agent.sit_down(&self.world, url, arguments);
        let questions = if self.is_known.replace(true) {
            &[]
        } else {
            self.screen.questions
        };
        terminal.wait_until_ready(questions, ready);
        self.terminal = Some(terminal);
    }

    /// Returns the terminal.
    pub fn terminal(&mut self) -> &mut Terminal {
        self.terminal.as_mut().expect("the agent was started")
    }

    /// Has the agent begin a new session, and waits until what it said last is gone and it listens again: meanwhile Gemini CLI
    /// shows neither, and loses what is typed.
    pub fn begin_anew(&mut self, last: &str) {
        let Screen {
            anew,
            asks_anew,
            ready,
            ..
        } = self.screen;
        self.terminal().say(anew);
        for (question, keys) in *asks_anew {
            self.terminal().wait_for_text(question);
            self.terminal().press(keys);
        }
        self.terminal().wait("an empty screen", |contents| {
            !contents.contains(last) && contents.contains(ready)
        });
    }

    /// Sends a message and waits until its turn is over, for the agent and for the hook.
    pub fn say(&mut self, prompt: &str, answer: &str) {
        let before = messages(&self.world).len();
        self.terminal().say(prompt);
        // An agent that is not quite done with its last turn lets the key pass; on an empty line it does nothing.
        for _ in 0..KEYS {
            if self.terminal().shows_soon(|screen| screen.contains(answer)) {
                break;
            }
            self.terminal().press("\r");
        }
        self.terminal().wait_for_text(answer);
        self.settle(before + 1);
    }

    /// Waits until the hook has heard of the end of the newest of so many messages.
    pub fn settle(&mut self, count: usize) {
        let Self {
            terminal, world, ..
        } = self;
        let terminal = terminal.as_mut().expect("the agent was started");
        terminal.wait("the end of the turn", |_| {
            let messages = messages(world);
            let newest = messages.last().filter(|_| messages.len() == count);
            newest.is_some_and(|message| is_closed(world, message))
        });
    }

    /// Sends a message whose first tool hangs, and waits until that tool has written its file.
    pub fn hang(&mut self) {
        self.terminal().say(HANGING);
        let file = self.world.workspace().join("stuck.txt");
        self.terminal().wait("the tool", |_| file.exists());
    }

    /// Sends a message whose first tool goes on until there is a file `go`, and another one once that tool runs.
    pub fn say_while_a_tool_runs(&mut self, prompt: &str) {
        self.terminal().say(LONG);
        let file = self.world.workspace().join("started.txt");
        self.terminal().wait("the tool", |_| file.exists());
        self.terminal().say(prompt);
    }

    /// Presses Esc, and waits until the agent says that it was interrupted.
    pub fn interrupt(&mut self) {
        interrupt(self.screen, self.terminal());
    }

    /// Has the agent rewind by its own means, and waits until the files are back.
    pub fn rewind(&mut self) {
        let Rewind { steps, is_done, .. } = &self.screen.rewind;
        for (number, (shown, keys)) in steps.iter().enumerate() {
            let terminal = self.terminal();
            terminal.wait_for_text(shown);
            let next = steps.get(number + 1).map_or("", |step| step.0);
            // A list that has just come up may let the key pass.
            for _ in 0..TRIES {
                for key in *keys {
                    // Nothing shows when two keys no longer count as another one.
                    std::thread::sleep(BETWEEN_KEYS);
                    terminal.press(key);
                }
                if terminal.shows_soon(|screen| screen.contains(next)) {
                    break;
                }
            }
        }
        let workspace = self.world.workspace();
        self.terminal()
            .wait("the rewind of the agent", |_| is_done(&workspace));
    }

    /// Ends the agent without a chance to say anything; the shell of its tool goes on.
    pub fn kill(&mut self) {
        self.world.kill_programs();
        self.terminal = None;
    }

    /// Closes the terminal's window.
    pub fn close(&mut self) {
        self.terminal = None;
    }

    /// Writes a file by hand; so long after the last thing that the agent did that nobody takes it for the agent's.
    pub fn write_by_hand(&self, name: &str, text: &str) {
        std::thread::sleep(LATER);
        let path = self.world.workspace().join(name);
        fs::write(path, text).expect("a writable workspace");
    }

    /// Takes a message back, while nobody is at work. What was done by hand may be named as unclear, or be known for nobody's.
    #[track_caller]
    pub fn revert(&self, message: &str) {
        let run = self.world.hook(&["revert", "--message", message]);
        assert!(matches!(run.code, Some(0 | 3)), "it is done: {run:?}");
    }

    /// The same of an agent that was told to end: it may take a while on a busy machine, and is at work as long.
    #[track_caller]
    fn revert_once_it_is_gone(&self, message: &str) {
        const BUSY: i32 = 5;
        let end = Instant::now() + PATIENCE;
        let mut run = self.world.hook(&["revert", "--message", message]);
        while run.code == Some(BUSY) && Instant::now() < end {
            std::thread::sleep(PAUSE);
            run = self.world.hook(&["revert", "--message", message]);
        }
        assert!(matches!(run.code, Some(0 | 3)), "it is done: {run:?}");
    }

    /// Compares the workspace with what it was, and with what was written by hand since.
    #[track_caller]
    pub fn expect(&self, before: &Tree, by_hand: &[&str], why: &str) {
        let now = self.world.tree();
        let kept = now
            .iter()
            .filter(|(path, _)| by_hand.iter().any(|name| path.as_os_str() == *name));
        let mut expected = before.clone();
        expected.extend(kept.map(|(path, entry)| (path.clone(), entry.clone())));
        if !self.agent.tells_edits_before {
            let ignored = now.iter().filter(|(path, _)| path.starts_with("ignored"));
            expected.extend(ignored.map(|(path, entry)| (path.clone(), entry.clone())));
        }
        self.world.expect_tree(&expected, why);
        for name in by_hand {
            let is_there = now.contains_key(Path::new(name));
            assert!(is_there, "`{name}` was written by hand, and stays: {why}");
        }
    }

    /// The log has these messages, oldest first, and the agent's model was shown nothing of ours.
    #[track_caller]
    pub fn expect_log(&self, prompts: &[&str]) {
        let messages = messages(&self.world);
        if self.agent.tells_prompts {
            let told: Vec<&str> = messages
                .iter()
                .filter_map(|message| message["prompt"].as_str())
                .collect();
            assert_eq!(told, prompts, "each line that was typed is a message");
        }
        assert_eq!(messages.len(), prompts.len(), "nothing else is one");
        assert!(
            !self.model.was_shown("ckpt-hook"),
            "nothing of the hook reaches the model"
        );
    }
}

/// Presses the keys that interrupt an agent, each once the one before it shows, and waits until the agent says that it was
/// interrupted. Keys that a busy terminal reads at once are another key: Alt-Esc. An agent that asks for a second key
/// soon forgets that it did, and is asked once more.
pub fn interrupt(screen: &Screen, terminal: &mut Terminal) {
    for _ in 0..TRIES {
        for (number, key) in screen.interrupt.iter().enumerate() {
            if number > 0 {
                terminal.wait_for_text(screen.asks);
            }
            terminal.press(key);
        }
        if screen.asks.is_empty() || terminal.shows_soon(screen.interrupted) {
            break;
        }
    }
    terminal.wait("the word that it was interrupted", screen.interrupted);
}

/// How often a person presses the keys.
const TRIES: usize = 3;

/// The message whose first tool writes `stuck.txt` and hangs.
const HANGING: &str = "TURN-STUCK please";

/// The message whose first tool writes `started.txt`, waits for `go`, and writes `late.txt`.
const LONG: &str = "TURN-LONG please";

/// How often a message is sent again that an agent did not take.
const KEYS: usize = 12;

/// What comes so long after the last sign of life is not in one run with it: ten seconds, and some for the clock of files.
const LATER: Duration = Duration::from_secs(12);

/// How long an agent may take to end.
const PATIENCE: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(500);

/// How long a person takes from one key to the next.
const BETWEEN_KEYS: Duration = Duration::from_millis(300);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns the messages in the log, oldest first.
pub fn messages(world: &Machine) -> Vec<Value> {
    let log = world.json(&["log"]);
    let newest_first = log["messages"].as_array().expect("a list of messages");
    newest_first.iter().rev().cloned().collect()
}

/// Returns whether every step of a message has ended.
pub fn is_closed(world: &Machine, message: &Value) -> bool {
    let shown = world.json(&["show", message["id"].as_str().expect("an id")]);
    let steps = shown["steps"].as_array().expect("a list of steps");
    !steps.is_empty() && steps.iter().all(|step| !step["finished"].is_null())
}

/// See its name; the next message comes first, so that the hook hears of the agent again.
pub fn esc_in_a_shell_then_an_edit_by_hand_then_a_message_then_a_revert_keeps_the_edit(
    agent: &'static Agent,
) {
    let mut sitting = Sitting::begin(agent);
    sitting.say("TURN-ONE please", "Turn one is finished.");
    let before = sitting.world.tree();
    sitting.hang();
    sitting.interrupt();
    sitting.write_by_hand("notes.txt", "an hour of work\n");
    sitting.say("TURN-AGAIN please", "Turn again is finished.");
    sitting.expect_log(&["TURN-ONE please", HANGING, "TURN-AGAIN please"]);
    let newest = sitting.world.tree();
    sitting.revert("last~1");
    sitting.expect(&before, &["notes.txt"], "both messages went back");
    sitting.world.hook(&["unrevert"]).exits(0);
    sitting.expect(&newest, &[], "all of it comes again");
}

/// See its name; at once, as one presses Esc because of what it sees.
pub fn esc_in_a_shell_and_a_revert_at_once_takes_what_it_did(agent: &'static Agent) {
    let mut sitting = Sitting::begin(agent);
    let before = sitting.world.tree();
    sitting.hang();
    sitting.interrupt();
    sitting
        .world
        .hook(&["revert", "--message", "last", "--force"])
        .exits(0);
    sitting.expect(&before, &[], "that is what the key is for");
}

/// See its name: the agent is killed with all that it started, and says nothing.
pub fn a_killed_agent_holds_nothing_and_an_edit_by_hand_stays(agent: &'static Agent) {
    gone(agent, Sitting::kill);
}

/// See its name.
pub fn a_closed_terminal_holds_nothing_and_an_edit_by_hand_stays(agent: &'static Agent) {
    gone(agent, Sitting::close);
}

fn gone(agent: &'static Agent, go: impl Fn(&mut Sitting)) {
    let mut sitting = Sitting::begin(agent);
    sitting.say("TURN-ONE please", "Turn one is finished.");
    let before = sitting.world.tree();
    sitting.hang();
    go(&mut sitting);
    sitting.write_by_hand("notes.txt", "an hour of work\n");
    sitting.revert_once_it_is_gone("last");
    sitting.expect(&before, &["notes.txt"], "the tool's file went");
}

/// See its name: the agent's own command begins a new session, and closing and going on later takes it up again.
pub fn a_new_session_and_one_that_is_resumed_go_back_message_by_message(agent: &'static Agent) {
    let mut sitting = Sitting::begin(agent);
    let begin = sitting.world.tree();
    sitting.say("TURN-ONE please", "Turn one is finished.");
    let after_one = sitting.world.tree();
    sitting.begin_anew("Turn one is finished.");
    sitting.say("TURN-TWO please", "Turn two is finished.");
    let after_two = sitting.world.tree();
    sitting.close();
    sitting.resume();
    sitting.say("TURN-AGAIN please", "Turn again is finished.");
    let newest = sitting.world.tree();
    sitting.expect_log(&["TURN-ONE please", "TURN-TWO please", "TURN-AGAIN please"]);

    let sessions = messages(&sitting.world);
    let [one, two, again] = sessions.as_slice() else {
        panic!("a message each: {sessions:?}")
    };
    assert_ne!(
        one["session"], two["session"],
        "a new session: {sessions:?}"
    );
    assert_eq!(two["session"], again["session"], "resumed: {sessions:?}");
    let id = |message: &Value| message["id"].as_str().expect("an id").to_owned();
    for (message, before) in [(again, &after_two), (two, &after_one)] {
        sitting.revert(&id(message));
        sitting.expect(before, &[], "back to just before this message");
    }
    sitting.revert(&id(one));
    sitting.expect(&begin, &[], "the earlier session goes back, too");
    for _ in 0..2 {
        sitting.world.hook(&["unrevert"]).exits(0);
    }
    sitting.expect(&newest, &[], "all of it comes again");
}

/// See its name: the agent was closed overnight, and so was the editor of what was written by hand in the evening.
pub fn a_session_that_is_resumed_on_the_next_day_goes_back_message_by_message(
    agent: &'static Agent,
) {
    let mut sitting = Sitting::begin(agent);
    let begin = sitting.world.tree();
    sitting.say("TURN-ONE please", "Turn one is finished.");
    sitting.close();
    sitting.write_by_hand("notes.txt", "an hour of work\n");
    let evening = sitting.world.tree();
    sitting.world.age(DAY);
    sitting.resume();
    sitting.say("TURN-AGAIN please", "Turn again is finished.");
    let newest = sitting.world.tree();
    sitting.expect_log(&["TURN-ONE please", "TURN-AGAIN please"]);
    let messages = messages(&sitting.world);
    assert_eq!(
        messages[0]["session"], messages[1]["session"],
        "it goes on: {messages:?}"
    );
    sitting.revert("last");
    sitting.expect(&evening, &[], "back to the morning");
    sitting.revert("last~1");
    sitting.expect(&begin, &["notes.txt"], "yesterday's goes back, too");
    sitting.world.hook(&["unrevert"]).exits(0);
    sitting.expect(&newest, &[], "all of it comes again");
}

/// See its name: the answer comes long before the shell ends, and nobody can tell then who wrote what.
pub fn what_a_shell_in_the_background_writes_later_is_offered_and_not_taken(agent: &'static Agent) {
    let mut sitting = Sitting::begin(agent);
    sitting.say("TURN-ONE please", "Turn one is finished.");
    let before = sitting.world.tree();
    let said = "It goes on in the background.";
    sitting.terminal().say("TURN-BACKGROUND please");
    sitting.terminal().wait_for_text(said);
    std::thread::sleep(LATER);
    fs::write(sitting.world.path("go"), "").expect("a folder of our own");
    let late = sitting.world.workspace().join("late.txt");
    sitting
        .terminal()
        .wait("the end of the shell", |_| late.exists());

    let last = messages(&sitting.world).len() - 1;
    let message = messages(&sitting.world)[last]["id"].to_string();
    let revert = ["revert", "--message", message.trim_matches('"'), "--force"];
    let run = sitting.world.hook(&revert);
    let names_it = run.stdout.contains("late.txt");
    assert!(names_it, "what stays is told: {run:?}");
    sitting.expect(&before, &["late.txt"], "it may be the user's");
    if !agent.tells_background {
        run.exits(0);
        return;
    }
    let says_why = run.stdout.contains("background");
    assert!(says_why, "with what is known: {run:?}");
    run.exits(3);
    sitting.world.hook(&["unrevert"]).exits(0);
    let all = [&revert[..], &["--unclear", "take"]].concat();
    sitting.world.hook(&all).exits(0);
    sitting.expect(&before, &[], "asked for, it goes as well");
}

/// See its name: an agent's own rewind puts back the files of its edit tools, and leaves what its shells did.
pub fn after_its_own_rewind_a_revert_takes_back_what_that_left(agent: &'static Agent) {
    let mut sitting = Sitting::begin(agent);
    let before = sitting.world.tree();
    sitting.say("TURN-ONE please", "Turn one is finished.");
    sitting.say("TURN-AGAIN please", "Turn again is finished.");
    sitting.rewind();
    let rewound = sitting.world.tree();
    assert_ne!(rewound, before, "what its shells made is still there");
    sitting.revert("last~1");
    // The rewind left this folder empty, and an ignore rule hides it: no snapshot tells whether it was there before.
    let hidden = [&["ignored"], sitting.screen.rewind.mixes].concat();
    sitting.expect(&before, &hidden, "all that it did is gone");
    sitting.world.hook(&["unrevert"]).exits(0);
    sitting.expect(&rewound, &[], "as it was before the revert");
}

/// See its name: some agents' own undo puts back every file that changed, and Codex's puts back none.
pub fn a_message_after_its_own_undo_goes_back_to_what_that_left(agent: &'static Agent) {
    let mut sitting = Sitting::begin(agent);
    let before = sitting.world.tree();
    sitting.say("TURN-ONE please", "Turn one is finished.");
    sitting.say("TURN-AGAIN please", "Turn again is finished.");
    sitting.rewind();
    let undone = sitting.world.tree();
    sitting.say("TURN-TWO please", "Turn two is finished.");
    let newest = sitting.world.tree();
    sitting.expect_log(&["TURN-ONE please", "TURN-AGAIN please", "TURN-TWO please"]);
    let sent = messages(&sitting.world);
    let id = |number: usize| sent[number]["id"].as_str().expect("an id");
    sitting.revert(id(2));
    sitting.expect(&undone, &[], "back to what the undo left");
    sitting.revert(id(0));
    sitting.expect(&before, &[], "and to where all began");
    // Cline goes on in another session then, and each session comes again by itself.
    let is_one = sent[0]["session"] == sent[2]["session"];
    for _ in 0..if is_one { 1 } else { 2 } {
        sitting.world.hook(&["unrevert"]).exits(0);
    }
    sitting.expect(&newest, &[], "all of it comes again");
}

/// See its name: Cline's undo of a message goes back to the last commit, and removes what git does not know of earlier ones, too.
pub fn what_its_own_undo_removed_of_earlier_messages_is_recovered(agent: &'static Agent) {
    let mut sitting = Sitting::begin(agent);
    sitting.say("TURN-ONE please", "Turn one is finished.");
    let after_one = sitting.world.tree();
    sitting.say("TURN-AGAIN please", "Turn again is finished.");
    sitting.rewind();
    let raw = Path::new("deep/er/raw.bin");
    assert!(after_one.contains_key(raw), "the first message made it");
    let is_gone = !sitting.world.tree().contains_key(raw);
    assert!(is_gone, "the undo of the second one removed it");
    sitting.world.hook(&["recover", "deep/er/raw.bin"]).exits(0);
    let now = sitting.world.tree();
    assert_eq!(now.get(raw), after_one.get(raw), "byte for byte");
}

/// See its name: the agent queues what is typed, and a key sends it to the turn that goes on.
pub fn a_queued_message_that_is_sent_at_once_counts_from_the_end_of_the_running_step(
    agent: &'static Agent,
) {
    let mut sitting = Sitting::begin(agent);
    let begin = sitting.world.tree();
    let screen = sitting.screen;
    sitting.say_while_a_tool_runs("TURN-AGAIN please");
    sitting.terminal().wait_for_text(screen.taken);
    sitting.terminal().press(screen.at_once);
    sitting
        .terminal()
        .wait("the queued message to be sent", screen.sends_at_once);
    fs::write(sitting.world.path("go"), "").expect("a folder of our own");
    sitting.terminal().wait_for_text("Turn again is finished.");
    sitting.settle(2);
    let newest = sitting.world.tree();
    let sent = messages(&sitting.world);
    assert_eq!(
        sent[1]["prompt"], "TURN-AGAIN please",
        "its words: {sent:?}"
    );
    assert_eq!(sent[0]["session"], sent[1]["session"], "one session");

    sitting.revert("last");
    let between = sitting.world.tree();
    for (name, is_there) in [
        ("started.txt", true),
        ("late.txt", true),
        ("again.txt", false),
    ] {
        assert_eq!(
            between.contains_key(Path::new(name)),
            is_there,
            "`{name}`: what the running tool did is the first message's: {between:?}"
        );
    }
    sitting.revert("last~1");
    sitting.expect(&begin, &[], "back to just before the first message");
    sitting.world.hook(&["unrevert"]).exits(0);
    sitting.expect(&newest, &[], "all of it comes again");
}

/// See its name: the agent reports nothing of it to its hooks, and sends its tool to the background.
pub fn a_message_while_a_tool_runs_that_no_hook_is_told_of_counts_from_the_end_of_that_step(
    agent: &'static Agent,
) {
    let mut sitting = Sitting::begin(agent);
    sitting.say("TURN-ONE please", "Turn one is finished.");
    let before = sitting.world.tree();
    sitting.say_while_a_tool_runs("TURN-TWO please");
    sitting.terminal().wait_for_text("Turn two is finished.");
    sitting.settle(3);
    sitting.expect_log(&["TURN-ONE please", LONG, "TURN-TWO please"]);
    let newest = sitting.world.tree();
    let revert = |message: &str| {
        // The tool goes on in the background.
        let arguments = ["revert", "--message", message, "--force"];
        let run = sitting.world.hook(&arguments);
        assert!(matches!(run.code, Some(0 | 3)), "it is done: {run:?}");
    };
    revert("last");
    let started = Path::new("started.txt");
    let mut until_then = before.clone();
    until_then.extend(
        newest
            .get(started)
            .map(|entry| (started.to_owned(), entry.clone())),
    );
    sitting.expect(&until_then, &[], "what the tool did by then is not its");
    revert("last~1");
    sitting.expect(&before, &[], "both went back, byte for byte");
    sitting.world.hook(&["unrevert"]).exits(0);
    sitting.expect(&newest, &[], "all of it comes again");
}
