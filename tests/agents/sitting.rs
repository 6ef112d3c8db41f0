//! A person who sits at a terminal with a real agent: what they type and press, and what must be in the workspace and the log
//! after it.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use testing::binary::Run;
use testing::machine::Machine;
use testing::terminal::Terminal;
use testing::tree::Tree;

use crate::model::Model;
use crate::program::{self, Agent, Rewind, SESSION, Screen};

/// Somebody at a terminal with an agent.
pub struct Sitting {
    /// The machine.
    pub world: Machine,
    /// The scripted model.
    pub model: Model,
    agent: &'static Agent,
    /// How the agent is used at a terminal.
    pub screen: &'static Screen,
    terminal: Option<Terminal>,
    /// What the agent's first start asked is asked once; older versions ask nothing.
    is_known: Cell<bool>,
}

impl Sitting {
    /// Begins one, with our hook put in by `ckpt-hook install`, and waits until the agent listens.
    pub fn begin(agent: &'static Agent) -> Self {
        Self::begin_with(agent, |_| ())
    }

    /// The same with what the agent's own rewind needs.
    pub fn begin_to_rewind(agent: &'static Agent, rewind: &Rewind) -> Self {
        Self::begin_with(agent, rewind.settle)
    }

    fn begin_with(agent: &'static Agent, more: impl Fn(&Machine)) -> Self {
        let screen = agent.screen();
        let world = Machine::new();
        let model = Model::start(&world);
        (agent.settle)(&world, &model.url());
        (screen.settle)(&world);
        more(&world);
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
        self.start_with(&[], program::ready(self.agent, self.screen));
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

    /// Starts the agent with the conversation that some arguments name.
    pub fn go_on(&mut self, words: &[String]) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.start_with(&words, self.screen.resumed);
    }

    /// Has the agent compact its conversation, and waits until it says that it did.
    pub fn compact(&mut self) {
        let (command, done) = self.screen.compact;
        self.terminal().say(command);
        self.terminal().wait_for_text(done);
    }

    fn start_with(&mut self, arguments: &[&str], ready: &str) {
        let url = &self.model.url();
        let mut terminal = self.agent.sit_down(&self.world, url, arguments);
        let questions = if self.is_known.replace(true) || program::is_older(self.agent.name) {
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
        self.send(prompt, answer);
        self.settle(before + 1);
    }

    /// Sends a line and waits until its answer shows.
    pub fn send(&mut self, line: &str, answer: &str) {
        self.terminal().say(line);
        self.press_until(answer, |screen| screen.contains(answer));
    }

    /// Runs a command of ours, and waits until its answer shows and the line is free again. Pi answers it by itself.
    pub fn command(&mut self, command: &str) {
        let is_answered = |screen: &str| {
            let after = screen.rsplit(command).next().unwrap_or_default();
            after.contains("It was run.") || after.contains("reverted")
        };
        self.terminal().say(command);
        self.press_until("the command's answer", is_answered);
    }

    /// Waits for something after a line that was typed. An agent that is not quite done with its last turn lets the key that
    /// sends it pass; on an empty line that does nothing.
    pub fn press_until(&mut self, what: &str, is_met: impl Fn(&str) -> bool) {
        for _ in 0..KEYS {
            if self.terminal().shows_soon(&is_met) {
                break;
            }
            self.terminal().press("\r");
        }
        self.terminal().wait(what, is_met);
    }

    /// Waits until the hook has heard of the end of the newest of so many messages.
    pub fn settle(&mut self, count: usize) {
        let Self {
            terminal,
            world,
            screen,
            ..
        } = self;
        let terminal = terminal.as_mut().expect("the agent was started");
        let question = screen.rewind.may_ask;
        let asks = |contents: &str| !question.is_empty() && contents.contains(question);
        let is_over = || {
            let messages = messages(world);
            let newest = messages.last().filter(|_| messages.len() == count);
            newest.is_some_and(|message| is_closed(world, message))
        };
        while !is_over() {
            terminal.wait("the end of the turn", |contents| {
                asks(contents) || is_over()
            });
            if !is_over() {
                terminal.press("\r");
                terminal.wait("the question's end", |contents| !asks(contents));
            }
        }
    }

    /// Sends a message whose first tool hangs, and waits until that tool has written its file.
    pub fn hang(&mut self) {
        self.terminal().say(HANGING);
        let file = self.world.workspace().join("stuck.txt");
        self.press_until("the tool", |_| file.exists());
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
    pub fn rewind(&mut self, rewind: &Rewind) {
        let Rewind { steps, is_done, .. } = rewind;
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
    pub fn revert_once_it_is_gone(&self, message: &str) -> Run {
        const BUSY: i32 = 5;
        let end = Instant::now() + PATIENCE;
        let mut run = self.world.hook(&["revert", "--message", message]);
        while run.code == Some(BUSY) && Instant::now() < end {
            std::thread::sleep(PAUSE);
            run = self.world.hook(&["revert", "--message", message]);
        }
        assert!(matches!(run.code, Some(0 | 3)), "it is done: {run:?}");
        run
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

    /// After a revert of the message whose tool hangs, what was written by hand is there, and the tool's file is not, unless it
    /// may be the user's.
    #[track_caller]
    pub fn expect_edit_stays(&self, before: &Tree, run: &Run) {
        let stays: &[&str] = match is_unclear(run) {
            true => &["notes.txt", "stuck.txt"],
            false => &["notes.txt"],
        };
        self.expect(before, stays, &format!("the tool's file went: {run:?}"));
    }

    /// The log has these messages, oldest first, and the agent's model was shown nothing of ours.
    #[track_caller]
    pub fn expect_log(&self, prompts: &[&str]) {
        let messages = messages(&self.world);
        if self.agent.tells_prompts {
            let told: Vec<&str> = messages
                .iter()
                .filter_map(|message| message["prompt"].as_str())
                // The key that sent it, where the agent took the first one for a part of a paste.
                .map(str::trim_end)
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
                terminal.wait("the question whether to interrupt", |contents| {
                    contents.contains(screen.asks) || (screen.interrupted)(contents)
                });
            }
            // Older versions do not ask.
            if !terminal.shows(screen.interrupted) {
                terminal.press(key);
            }
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
pub const HANGING: &str = "TURN-STUCK please";

/// The message whose first tool writes `started.txt`, waits for `go`, and writes `late.txt`.
pub const LONG: &str = "TURN-LONG please";

/// How often a message is sent again that an agent did not take.
const KEYS: usize = 12;

/// What comes so long after the last sign of life is not in one run with it: ten seconds, and some for the clock of files.
pub const LATER: Duration = Duration::from_secs(12);

/// How long an agent may take to end.
const PATIENCE: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(500);

/// How long a person takes from one key to the next.
const BETWEEN_KEYS: Duration = Duration::from_millis(300);

/// Returns whether a revert kept what the tool that hangs wrote, and says why: on a busy machine its shell begins so long after
/// the last event that the file may be the user's.
pub fn is_unclear(run: &Run) -> bool {
    run.stdout
        .contains("kept      stuck.txt (unclear whose: changed ")
}

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
