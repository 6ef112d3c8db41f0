//! Messages to a real agent and what they left: the copies that the tests compare with are made here, not by what is tested.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Value;

use crate::model::Model;
use crate::program::{Agent, Message};
use testing::binary::Run;
use testing::machine::Machine;
use testing::tree::Tree;

/// The user's messages: edits and two shells; removals and a failing command; a sub-agent.
pub const PROMPTS: [&str; 3] = ["TURN-ONE please", "TURN-TWO please", "TURN-SUB please"];

/// How the names of the user's notes begin.
const NOTES: &str = "notes-";

/// A user at work with an agent, on a machine of their own.
pub struct Conversation {
    /// The machine.
    pub world: Machine,
    /// What came of it so far.
    pub seen: Seen,
    agent: &'static Agent,
    model: Model,
    by_package: bool,
    /// Where the agent is started.
    folder: PathBuf,
}

/// What was seen from outside, a row a message.
#[derive(Clone, Default)]
pub struct Seen {
    /// What the agent said.
    pub answers: Vec<Run>,
    /// The work tree just before each message.
    pub before: Vec<Tree>,
    /// And when it was answered.
    pub after: Vec<Tree>,
    /// The steps of the script that the model was asked for.
    pub steps: Vec<String>,
}

impl Conversation {
    /// Begins one without our hook.
    pub fn without_hook(agent: &'static Agent) -> Self {
        let world = Machine::new();
        let model = Model::start(&world);
        (agent.settle)(&world, &model.url());
        Self {
            folder: world.workspace(),
            world,
            seen: Seen::default(),
            agent,
            model,
            by_package: false,
        }
    }

    /// Begins one with our hook, put in by `ckpt-hook install`.
    pub fn with_hook(agent: &'static Agent) -> Self {
        let conversation = Self::without_hook(agent);
        agent.install(&conversation.world);
        conversation
    }

    /// Begins one whose hook is changed after it was installed: the agent runs it all the same.
    pub fn with_changed_hook(agent: &'static Agent) -> Self {
        // Only Codex asks whether it may, and does not where it runs a package.
        let by_package = true;
        Self {
            by_package,
            ..Self::with_hook(agent)
        }
    }

    /// Begins one with our package, put in by the agent's own means.
    pub fn with_package(agent: &'static Agent) -> Self {
        let conversation = Self::without_hook(agent);
        agent.package.expect("there is one for this agent")(&conversation.world);
        Self {
            by_package: true,
            ..conversation
        }
    }

    /// Has the agent be started in a folder of the workspace.
    pub fn move_to(self, name: &str) -> Self {
        let folder = self.world.workspace().join(name);
        std::fs::create_dir_all(&folder).expect("a writable workspace");
        Self { folder, ..self }
    }

    /// Sends the first message of another session.
    pub fn say_anew(&self, prompt: &str) {
        self.send(prompt, true, &[]).exits(0);
    }

    /// Sends a message and waits for the answer.
    pub fn say(&mut self, prompt: &str) {
        self.seen.before.push(self.world.tree());
        let answer = self.command(prompt);
        self.seen.answers.push(answer);
        self.seen.after.push(self.world.tree());
        self.seen.steps = self.model.steps();
    }

    /// Writes something that is no message, and returns the answer.
    pub fn command(&self, prompt: &str) -> Run {
        let answer = self.try_to_say(prompt);
        assert_eq!(
            answer.code,
            Some(0),
            "{} answers: {answer:?}",
            self.agent.name
        );
        answer
    }

    /// Goes on by the command that a report names, and returns what the model was asked with since.
    pub fn go_on(&mut self, report: &Value, prompt: &str) -> String {
        self.model.forget();
        let conversation = &report["conversation"];
        let words = conversation["argv"].as_array();
        let words = words.unwrap_or_else(|| panic!("a command: {report:#}"));
        let texts = words.iter().skip(1).filter_map(Value::as_str);
        let words: Vec<String> = texts.map(str::to_owned).collect();
        self.folder = conversation["directory"].as_str().expect("a folder").into();
        self.send(prompt, false, &words).exits(0);
        self.model.bodies()
    }

    /// Writes something, and returns what came of it.
    pub fn try_to_say(&self, prompt: &str) -> Run {
        self.send(prompt, self.seen.answers.is_empty(), &[])
    }

    fn send(&self, prompt: &str, is_first: bool, conversation: &[String]) -> Run {
        let message = Message {
            url: &self.model.url(),
            is_first,
            by_package: self.by_package,
            prompt,
            conversation,
        };
        self.agent.say_in(&self.world, &self.folder, &message)
    }

    /// Returns what the model was asked with.
    pub fn asked(&self) -> String {
        self.model.bodies()
    }

    /// Returns whether the model was ever shown a text.
    pub fn model_was_shown(&self, text: &str) -> bool {
        self.model.was_shown(text)
    }

    /// Sends the three messages; the user writes a note after each. `prepare` is what happens before a message; its number
    /// counts from 1.
    pub fn hold(mut self, prepare: impl Fn(&mut Machine, usize)) -> Self {
        for (turn, prompt) in (1..).zip(PROMPTS) {
            prepare(&mut self.world, turn);
            self.say(prompt);
            let note = self.world.workspace().join(format!("{NOTES}{turn}.txt"));
            std::fs::write(note, "the user's own\n").expect("a writable workspace");
            self.seen.after[turn - 1] = self.world.tree();
        }
        assert!(
            !self.model.was_shown("ckpt-hook"),
            "nothing of the hook reaches the model"
        );
        self
    }

    /// Compares what the agent said, did and asked for with what it does without a hook.
    #[track_caller]
    pub fn expect_unchanged(&self) {
        let expected = without_hook(self.agent);
        for (answer, expected) in self.seen.answers.iter().zip(&expected.answers) {
            assert_eq!(
                self.lines(&answer.stdout),
                self.lines(&expected.stdout),
                "the agent's answer is the same"
            );
            assert_eq!(
                self.lines(&answer.stderr),
                self.lines(&expected.stderr),
                "so is what it says beside it"
            );
        }
        self.expect_same_work();
    }

    /// Compares what the agent did and asked for with what it does without a hook; older versions tell of their hooks, too.
    #[track_caller]
    pub fn expect_same_work(&self) {
        let expected = without_hook(self.agent);
        assert_eq!(
            self.seen.steps, expected.steps,
            "the model was asked for the same"
        );
        assert_eq!(self.seen.after, expected.after, "the files are the same");
    }

    /// Returns the lines that do not differ by chance; tools that run beside each other end in any order.
    fn lines<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let mut lines: Vec<_> = text.lines().filter_map(self.agent.counts).collect();
        lines.sort_unstable();
        lines
    }
}

impl Conversation {
    /// Takes a message back. What a revert could not know of stays, and it says so.
    #[track_caller]
    pub fn revert(&self, message: &str, before: &Tree) {
        let stays = |path: &PathBuf| path.starts_with("ignored") && !before.contains_key(path);
        let is_whole = !self.reverted(before).keys().any(stays);
        let run = self.world.hook(&["revert", "--message", message]);
        run.exits(if is_whole { 0 } else { 3 });
    }

    /// Returns what a revert makes of a work tree: all of the user's notes stay, and what it could not know of.
    pub fn reverted(&self, tree: &Tree) -> Tree {
        let newest = self.seen.after.last().expect("a message");
        let is_unknown =
            |path: &Path| path.starts_with("ignored") && !self.agent.tells_edits_before;
        let stays = |path: &Path| path.to_string_lossy().starts_with(NOTES) || is_unknown(path);
        let notes = newest.iter().filter(|(path, _)| stays(path));
        tree.clone()
            .into_iter()
            .chain(notes.map(|(path, entry)| (path.clone(), entry.clone())))
            .collect()
    }
}

/// Returns the conversation as it goes without any hook; it is had once an agent, and no other agent waits for it.
pub fn without_hook(agent: &'static Agent) -> Arc<Seen> {
    static SEEN: Mutex<BTreeMap<&str, Arc<OnceLock<Arc<Seen>>>>> = Mutex::new(BTreeMap::new());
    let seen = Arc::clone(
        SEEN.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(agent.name)
            .or_default(),
    );
    let hold = || Arc::new(Conversation::without_hook(agent).hold(|_, _| {}).seen);
    Arc::clone(seen.get_or_init(hold))
}
