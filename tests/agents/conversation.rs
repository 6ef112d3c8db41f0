//! Three messages and what they left: the copies that the tests compare with are made here, not by what is tested.

use std::sync::OnceLock;

use crate::claude_code::ClaudeCode;
use crate::model::Model;
use crate::world::{Run, Tree, World};

/// The user's messages: edits and two shells; removals and a failing command; a sub-agent.
pub const PROMPTS: [&str; 3] = ["TURN-ONE please", "TURN-TWO please", "TURN-SUB please"];

/// What was seen from outside, a row a message.
pub struct Conversation {
    /// What the agent said.
    pub answers: Vec<Run>,
    /// The work tree just before each message.
    pub before: Vec<Tree>,
    /// And when it was answered.
    pub after: Vec<Tree>,
    /// The steps of the script that the model was asked for.
    pub steps: Vec<String>,
}

/// Has the conversation. `between` is what the user does after each message; its number counts from 1.
pub fn hold(world: &World, between: impl Fn(&World, usize)) -> Conversation {
    let model = Model::start(world);
    let mut conversation =
        Conversation { answers: Vec::new(), before: Vec::new(), after: Vec::new(), steps: Vec::new() };
    for (turn, prompt) in PROMPTS.iter().enumerate() {
        conversation.before.push(world.tree());
        conversation.answers.push(ClaudeCode.say(world, &model, turn == 0, prompt));
        between(world, turn + 1);
        conversation.after.push(world.tree());
    }
    conversation.steps = model.steps();
    assert!(!model.was_shown("ckpt-hook"), "nothing of the hook reaches the model");
    assert!(conversation.answers.iter().all(|answer| answer.code == Some(0)), "it answers: {:?}", conversation.answers);
    conversation
}

/// Sends one more message of a conversation; returns the answer and the work tree after it.
pub fn go_on(world: &World, so_far: &Conversation, prompt: &str) -> (Run, Tree) {
    let model = Model::start(world);
    let answer = ClaudeCode.say(world, &model, so_far.answers.is_empty(), prompt);
    assert_eq!(answer.code, Some(0), "it answers: {answer:?}");
    (answer, world.tree())
}

/// Returns the conversation as it goes without any hook; it is had once.
pub fn without_hook() -> &'static Conversation {
    static CONVERSATION: OnceLock<Conversation> = OnceLock::new();
    CONVERSATION.get_or_init(|| {
        let world = World::new();
        ClaudeCode.settle(&world);
        hold(&world, |_, _| {})
    })
}

impl Conversation {
    /// Compares what the agent said, did and asked for with another conversation.
    #[track_caller]
    pub fn expect_same(&self, other: &Self) {
        assert_eq!(self.answers, other.answers, "the agent's output is the same");
        assert_eq!(self.steps, other.steps, "the model was asked for the same");
        assert_eq!(self.after, other.after, "the files are the same");
    }
}
