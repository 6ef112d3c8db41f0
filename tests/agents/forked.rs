//! The conversation goes back with the files, in the real program.

use std::fs;

use serde_json::Value;
use testing::binary::Run;
use testing::machine::Machine;
use testing::rows;

use crate::conversation::{Conversation, PROMPTS};
use crate::program::{Agent, CLEAR};
use crate::sitting::{Sitting, messages};

/// What is sent in the conversation that goes on.
const AGAIN: &str = "TURN-AGAIN please";

/// A message whose answer changes no file.
const NEXT: &str = "TURN-NEXT please";

/// A red picture.
const RED: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x10\x00\x00\x00\x10\x08\x02\x00\x00\x00\x90\
    \x91h6\x00\x00\x00\x16IDATx\xdac\xf8\xcf\xc0@\x12b\x18\xd50\xaaa\xf8j\x00\x00\x90\xf9\xff\x01\xf2\
    \xee\xe8W\x00\x00\x00\x00IEND\xaeB`\x82";

/// The conversation goes back with the files and both come again.
///
/// Three messages; back to just before the second; then on, by the command that the revert names. The model is asked with
/// the first message and the new one, and with nothing of what was taken back.
pub fn conversation_goes_back_with_the_files(agent: &'static Agent) {
    let mut conversation = Conversation::with_hook(agent).hold(|_, _| {});
    let shown = conversation.world.json(&["show", "last~1"]);
    let record = |world: &Machine| record(agent, world, &shown["conversation"]);
    let before = record(&conversation.world);
    assert!(!before.is_empty(), "the agent has it on record");
    let asked = conversation.asked();
    let report = fork(agent, &conversation.world, "last~1");
    assert_eq!(
        conversation.world.tree(),
        conversation.reverted(&conversation.seen.before[1])
    );
    assert_eq!(conversation.asked(), asked, "no model is called");
    let asked = conversation.go_on(&report, AGAIN);
    expect_asked(&asked, &[PROMPTS[0], AGAIN], &["TURN-TWO", "TURN-SUB"]);
    let after = record(&conversation.world);
    assert_eq!(after, before, "the old conversation is as it was");
    assert_eq!(
        states(&conversation.world),
        ["live", "discarded", "discarded", "live"],
        "one history"
    );
    // Once more, and back again before anything is sent.
    let tree = conversation.world.tree();
    fork(agent, &conversation.world, "last");
    let back = ask(agent, &conversation.world, &["undo"]);
    assert_eq!(back["conversation"]["kind"], "back", "{back:#}");
    assert_eq!(conversation.world.tree(), tree);
    let asked = conversation.go_on(&back, NEXT);
    expect_asked(&asked, &[PROMPTS[0], AGAIN, NEXT], &["TURN-TWO"]);
}

/// A fork of what was forked goes back to before the first message.
///
/// Nothing is sent in the first fork. What goes on has nothing of the conversation.
pub fn second_fork_goes_back_to_the_first(agent: &'static Agent) {
    let mut conversation = Conversation::with_hook(agent).hold(|_, _| {});
    fork(agent, &conversation.world, "last~1");
    let report = fork(agent, &conversation.world, "last~2");
    assert_eq!(
        conversation.world.tree(),
        conversation.reverted(&conversation.seen.before[0])
    );
    let asked = conversation.go_on(&report, NEXT);
    let taken_back = PROMPTS.map(|prompt| prompt.split(' ').next().expect("a word"));
    expect_asked(&asked, &[NEXT], &taken_back);
    assert_eq!(
        states(&conversation.world),
        ["discarded", "discarded", "discarded", "live"],
        "one history"
    );
}

/// A conversation that was held in a folder goes back there.
///
/// What it goes back to has the work of a sub-agent.
pub fn conversation_goes_back_in_a_folder(agent: &'static Agent) {
    let mut conversation = Conversation::with_hook(agent).move_to("deep/er/still");
    for prompt in [PROMPTS[0], PROMPTS[2], PROMPTS[1]] {
        conversation.say(prompt);
    }
    let report = fork(agent, &conversation.world, "last");
    let asked = conversation.go_on(&report, AGAIN);
    expect_asked(&asked, &[PROMPTS[0], PROMPTS[2], AGAIN], &["TURN-TWO"]);
    assert_eq!(
        states(&conversation.world),
        ["live", "live", "discarded", "live"],
        "one history"
    );
}

/// Of two conversations in one workspace one goes back.
///
/// The other one keeps its messages, and the model is asked with none of them.
pub fn one_of_two_conversations_goes_back(agent: &'static Agent) {
    let mut conversation = Conversation::with_hook(agent).hold(|_, _| {});
    conversation.say_anew(NEXT);
    let all = messages(&conversation.world);
    assert_ne!(all[0]["session"], all[3]["session"], "they are two");
    let second = all[1]["id"].as_str().expect("an id");
    let report = fork(agent, &conversation.world, second);
    let asked = conversation.go_on(&report, AGAIN);
    expect_asked(
        &asked,
        &[PROMPTS[0], AGAIN],
        &["TURN-TWO", "TURN-SUB", "TURN-NEXT"],
    );
    assert_eq!(
        states(&conversation.world),
        ["live", "discarded", "discarded", "live", "live"],
        "only one of them"
    );
}

/// A message with a picture goes back and so does what follows one.
pub fn message_with_a_picture_goes_back(agent: &'static Agent) {
    let mut conversation = Conversation::with_hook(agent);
    let path = conversation.world.workspace().join("picture.png");
    fs::write(path, RED).expect("a writable workspace");
    for prompt in [
        "@picture.png TURN-ONE please",
        "@picture.png TURN-TWO please",
    ] {
        conversation.say(prompt);
    }
    for message in messages(&conversation.world) {
        let told = message["prompt"].as_str().unwrap_or_default();
        assert!(told.ends_with(" please"), "as it was typed: {told}");
    }
    // As it is, or as Qwen Code writes it anew.
    let forms = ["iVBORw0KGgo", "image/jpeg;base64,"];
    let mut shown = forms
        .iter()
        .filter(|form| conversation.model_was_shown(form));
    let shown = shown.next().expect("the picture was in the prompt");
    let report = fork(agent, &conversation.world, "last");
    let asked = conversation.go_on(&report, AGAIN);
    expect_asked(&asked, &[PROMPTS[0], AGAIN, shown], &["TURN-TWO"]);
}

/// What went on after a compaction goes back to just after it.
///
/// Before it there are two messages. The model is asked with what stands for them.
pub fn conversation_goes_back_after_a_compaction(agent: &'static Agent) {
    let mut sitting = Sitting::begin(agent);
    sitting.say(PROMPTS[0], "Turn one is finished.");
    sitting.compact();
    sitting.say(AGAIN, "Turn again is finished.");
    sitting.say(PROMPTS[1], "Turn two is finished.");
    sitting.close();
    let report = fork(agent, &sitting.world, "last");
    go_on(&mut sitting, &report);
    sitting.say(PROMPTS[2], "Turn with a subagent is finished.");
    let asked = sitting.model.bodies();
    expect_asked(&asked, &[AGAIN, PROMPTS[2]], &["TURN-TWO"]);
}

/// What went on after a compaction without a terminal goes back to just after it.
///
/// The plan says that the conversation opens there.
pub fn compacted_conversation_goes_back(agent: &'static Agent) {
    let mut conversation = Conversation::with_hook(agent);
    conversation.say(PROMPTS[0]);
    conversation.command("/compact");
    conversation.say(AGAIN);
    conversation.say(PROMPTS[1]);
    let report = fork(agent, &conversation.world, "last");
    let note = report["conversation"]["note"].to_string();
    assert!(note.contains("opens it at the compaction"), "{report:#}");
    let asked = conversation.go_on(&report, NEXT);
    let summary = "The user asked for some files.";
    expect_asked(&asked, &[summary, AGAIN, NEXT], &["TURN-ONE", "TURN-TWO"]);
}

/// The conversation goes on at a terminal with the message in the input.
///
/// The message is there where the agent takes one for its input.
pub fn conversation_goes_on_at_a_terminal(agent: &'static Agent) {
    let mut sitting = Sitting::begin(agent);
    sitting.say(PROMPTS[0], "Turn one is finished.");
    let before = sitting.world.tree();
    sitting.say(PROMPTS[1], "Turn two is finished.");
    sitting.close();
    let report = fork(agent, &sitting.world, "last");
    sitting.expect(&before, &[], "the files went back");
    go_on(&mut sitting, &report);
    sitting.say(AGAIN, "Turn again is finished.");
    expect_asked(&sitting.model.bodies(), &[PROMPTS[0], AGAIN], &["TURN-TWO"]);
    assert_eq!(states(&sitting.world), ["live", "discarded", "live"]);
}

/// After the agent's own rewind the conversation goes back without what that left.
pub fn conversation_goes_back_after_its_own_rewind(agent: &'static Agent) {
    let own = &agent.screen().rewind;
    let (rewind, words) = match own.alone {
        Some(alone) => (alone, ["two", "one", "again"]),
        None => (own, ["one", "again", "two"]),
    };
    let [first, left, last] = words.map(|word| format!("TURN-{} please", word.to_uppercase()));
    let answers = words.map(|word| format!("Turn {word} is finished."));
    let mut sitting = Sitting::begin_to_rewind(agent, rewind);
    sitting.say(&first, &answers[0]);
    sitting.say(&left, &answers[1]);
    sitting.rewind(rewind);
    let before = sitting.world.tree();
    sitting.say(&last, &answers[2]);
    sitting.close();
    let report = fork(agent, &sitting.world, "last");
    sitting.expect(&before, &[], "the files went back to what the rewind left");
    go_on(&mut sitting, &report);
    sitting.say(PROMPTS[2], "Turn with a subagent is finished.");
    let asked = sitting.model.bodies();
    expect_asked(&asked, &[&first, PROMPTS[2]], &[&left, &last]);
}

/// The conversation is shortened itself and the whole of it is kept.
pub fn conversation_is_cut_and_kept(agent: &'static Agent) {
    let mut conversation = Conversation::with_hook(agent).hold(|_, _| {});
    let tree = conversation.world.tree();
    let cut = ["revert", "last~1", "--conversation", "cut"];
    let report = ask(agent, &conversation.world, &cut);
    assert_eq!(report["conversation"]["kind"], "cut", "{report:#}");
    // All of it is there again.
    let back = ask(agent, &conversation.world, &["unrevert"]);
    assert_eq!(conversation.world.tree(), tree);
    let asked = conversation.go_on(&back, AGAIN);
    expect_asked(&asked, &["TURN-ONE", "TURN-TWO"], &[]);
    // And the one that was cut goes on without the end.
    let asked = conversation.go_on(&report, AGAIN);
    expect_asked(&asked, &["TURN-ONE"], &["TURN-TWO"]);
}

/// Returns what an agent has on record of a conversation: its files with what stands for their bytes, or the rows of its
/// database.
fn record(agent: &Agent, world: &Machine, conversation: &Value) -> Vec<String> {
    let text = |name: &str| conversation[name].as_str().unwrap_or("none");
    let (session, home) = (text("session"), world.home());
    let database = home.join(format!(".local/share/{0}/{0}.db", agent.name));
    if database.exists() {
        let all = ["message", "part"]
            .map(|table| format!("SELECT id || data FROM {table} WHERE session_id = '{session}'"));
        return rows::texts(
            &database,
            &format!("{} ORDER BY 1", all.join(" UNION ALL ")),
        );
    }
    let of_session = format!("*{session}*");
    let paths = [
        "(",
        "-path",
        &of_session,
        "-o",
        "-path",
        text("transcript"),
        ")",
    ];
    let mut find = world.command("find".as_ref());
    find.arg(home).args(paths);
    find.args(["-name", "*.jsonl", "-exec", "sha256sum", "{}", "+"]);
    let found = Run::of(&mut find).exits(0);
    let mut lines: Vec<String> = found.stdout.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

/// Goes back to before a message, with the conversation.
fn fork(agent: &'static Agent, world: &Machine, message: &str) -> Value {
    let words = ["revert", message, "--conversation", "fork", "--force"];
    let report = ask(agent, world, &words);
    assert_eq!(report["conversation"]["kind"], "forked", "{report:#}");
    report
}

fn ask(agent: &'static Agent, world: &Machine, words: &[&str]) -> Value {
    let run = agent.try_hook(world, &[&["--json"], words].concat());
    // What a revert could not know of stays, and it says so.
    let codes: &[i32] = if agent.tells_edits_before {
        &[0]
    } else {
        &[0, 3]
    };
    assert!(run.code.is_some_and(|code| codes.contains(&code)), "{run}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("a report: {run}"))
}

/// Goes on at a terminal; the message that was taken back is in the input where the agent takes one for it.
fn go_on(sitting: &mut Sitting, report: &Value) {
    sitting.go_on(&words(report));
    let prefill = report["conversation"]["prefill"].as_array();
    if prefill.is_some_and(|words| !words.is_empty()) {
        let prompt = report["conversation"]["prompt"].as_str();
        let prompt = prompt.expect("the message that was taken back");
        sitting.terminal().wait_for_text(prompt);
        sitting.terminal().press(CLEAR);
        let is_clear = |screen: &str| !screen.contains(prompt);
        sitting.terminal().wait("an empty input", is_clear);
    }
    sitting.model.forget();
}

/// The arguments of the command that goes on at a terminal.
fn words(report: &Value) -> Vec<String> {
    let conversation = &report["conversation"];
    let lists = [&conversation["argv"], &conversation["prefill"]];
    let words = lists
        .iter()
        .flat_map(|list| list.as_array().expect("a list"));
    let texts = words.skip(1).filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

#[track_caller]
fn expect_asked(asked: &str, with: &[&str], without: &[&str]) {
    for text in with {
        assert!(asked.contains(text), "with {text}: {asked}");
    }
    for text in without {
        assert!(!asked.contains(text), "{text} was taken back: {asked}");
    }
}

/// The states of all messages, oldest first.
fn states(world: &Machine) -> Vec<String> {
    let state = |message: &Value| message["state"].as_str().map(str::to_owned);
    messages(world).iter().filter_map(state).collect()
}
