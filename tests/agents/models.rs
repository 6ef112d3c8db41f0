//! Our tools for models, inside a real agent.

use serde_json::Value;

use crate::conversation::{Conversation, PROMPTS};
use crate::program::Agent;

/// What the user asks of the model.
const PROMPT: &str = "TURN-HISTORY please";

/// See its name; what the model looked at is no change of its own.
pub fn the_model_reads_the_history_through_our_server(agent: &'static Agent) {
    let mut conversation = Conversation::with_hook(agent);
    let serve = agent.serve.expect("it can be given servers of tools");
    serve(&conversation.world, &[]);
    conversation.say(PROMPTS[0]);
    conversation.say(PROMPT);
    for (tool, told) in [
        ("list", r#"\"revertable\":true"#),
        ("show", r#"\"path\":\"deep/er/raw.bin\""#),
    ] {
        let is_told = conversation.model_was_shown(told);
        assert!(
            is_told,
            "`{tool}` answered: {:?}",
            conversation.seen.answers
        );
    }
    let log = conversation.world.json(&["log"]);
    let files: Vec<&Value> = log["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|message| &message["files"])
        .collect();
    assert_eq!(files, [0, 5], "reading changes nothing: {log}");
}

/// The model takes a message back through our server.
///
/// The user asks the model to take the message before back, and allowed the server to do it: a plan and its token.
pub fn model_takes_a_message_back(agent: &'static Agent) {
    let mut conversation = Conversation::with_hook(agent);
    let serve = agent.serve.expect("it can be given servers of tools");
    serve(&conversation.world, &["--allow-revert"]);
    let before = conversation.world.tree();
    conversation.say(PROMPTS[0]);
    assert_ne!(
        conversation.world.tree(),
        before,
        "there is something to take back"
    );
    conversation.say("TURN-TAKE-BACK please");
    assert!(
        conversation.model_was_shown(r#"\"outcome\":\"restored\""#),
        "`apply` answered: {:?}",
        conversation.seen.answers
    );
    assert_eq!(conversation.world.tree(), before);
    conversation.world.hook(&["undo"]);
    assert_ne!(conversation.world.tree(), before, "and it has a way back");
}
