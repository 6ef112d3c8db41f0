//! The conversation goes back with the files, in the real program.

use std::fs;

use serde_json::Value;

use crate::conversation::Conversation;
use crate::program::Agent;

/// The conversation goes back with the files and both come again.
///
/// Three messages; back to just before the second; then on, by the command that the revert names. The model is asked with
/// the first message and the new one, and with nothing of what was taken back.
pub fn conversation_goes_back_with_the_files(agent: &'static Agent) {
    let mut conversation = Conversation::with_hook(agent).hold(|_, _| {});
    let shown = conversation.world.json(&["show", "last~1"]);
    let transcript = shown["conversation"]["transcript"]
        .as_str()
        .map(str::to_owned);
    let record = || {
        transcript
            .as_ref()
            .map(|path| fs::read(path).expect("it is there"))
    };
    let before = record();
    let fork = ["revert", "last~1", "--conversation", "fork"];
    let report = agent.ask_hook(&conversation.world, &[&["--json"], &fork[..]].concat());
    let report: Value = serde_json::from_str(&report.stdout).expect("a report");
    assert_eq!(report["conversation"]["kind"], "forked", "{report:#}");
    assert_eq!(
        conversation.world.tree(),
        conversation.reverted(&conversation.seen.before[1])
    );
    let words = goes_on(&report);
    let asked = conversation.go_on(&words, "TURN-AGAIN please");
    assert!(
        asked.contains("TURN-ONE please") && asked.contains("TURN-AGAIN please"),
        "{asked}"
    );
    assert!(
        !asked.contains("TURN-TWO") && !asked.contains("TURN-SUB"),
        "it was taken back: {asked}"
    );
    assert_eq!(record(), before, "the old conversation is as it was");
    let log = conversation.world.json(&["log"]);
    let states: Vec<&str> = log["messages"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["state"].as_str())
        .collect();
    assert_eq!(
        states,
        ["live", "discarded", "discarded", "live"],
        "one history: {log:#}"
    );
    // Once more, and back again before anything is sent.
    let tree = conversation.world.tree();
    agent
        .ask_hook(
            &conversation.world,
            &["revert", "last", "--conversation", "fork"],
        )
        .exits(0);
    let back = agent.ask_hook(&conversation.world, &["--json", "undo"]);
    let back: Value = serde_json::from_str(&back.stdout).expect("a report");
    assert_eq!(back["conversation"]["kind"], "back", "{back:#}");
    assert_eq!(conversation.world.tree(), tree);
}

/// Returns the arguments of the command that goes on.
fn goes_on(report: &Value) -> Vec<String> {
    let words = report["conversation"]["argv"].as_array();
    let words = words.unwrap_or_else(|| panic!("a command: {report:#}"));
    let texts = words.iter().skip(1).filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// The conversation is shortened itself and the whole of it is kept.
pub fn conversation_is_cut_and_kept(agent: &'static Agent) {
    let mut conversation = Conversation::with_hook(agent).hold(|_, _| {});
    let ask = |conversation: &Conversation, words: &[&str]| -> Value {
        let run = agent.ask_hook(&conversation.world, &[&["--json"], words].concat());
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("a report: {run}"))
    };
    let tree = conversation.world.tree();
    let cut = ["revert", "last~1", "--conversation", "cut"];
    let report = ask(&conversation, &cut);
    assert_eq!(report["conversation"]["kind"], "cut", "{report:#}");
    // All of it is there again.
    let back = ask(&conversation, &["unrevert"]);
    assert_eq!(conversation.world.tree(), tree);
    let asked = conversation.go_on(&goes_on(&back), "TURN-AGAIN please");
    assert!(
        asked.contains("TURN-ONE") && asked.contains("TURN-TWO"),
        "{asked}"
    );
    // And the one that was cut goes on without the end.
    let asked = conversation.go_on(&goes_on(&report), "TURN-AGAIN please");
    assert!(asked.contains("TURN-ONE"), "{asked}");
    assert!(!asked.contains("TURN-TWO"), "it was cut: {asked}");
}
