//! Stories of a person at a terminal with a real agent: what is interrupted, killed or closed, and what is done by hand then.
//!
//! A story is a few lines over a [`Sitting`]: what is typed and pressed, and what must be in the workspace and the log after it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::program::{Agent, CLEAR};
use crate::sitting::{HANGING, LATER, LONG, Sitting, messages};
use testing::executable;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Esc in a shell then an edit by hand then a message then a revert keeps the edit.
///
/// See its name; the next message comes first, so that the hook hears of the agent again.
pub fn esc_edit_message_and_revert_keep_the_edit(agent: &'static Agent) {
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

/// Esc in a shell and a revert at once takes what it did.
///
/// See its name; at once, as one presses Esc because of what it sees.
pub fn esc_in_a_shell_and_revert_takes_all(agent: &'static Agent) {
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

/// A killed agent holds nothing and an edit by hand stays.
///
/// See its name: the agent is killed with all that it started, and says nothing.
pub fn killed_agent_holds_nothing(agent: &'static Agent) {
    gone(agent, Sitting::kill);
}

/// A closed terminal holds nothing and an edit by hand stays.
///
/// See its name.
pub fn closed_terminal_holds_nothing(agent: &'static Agent) {
    gone(agent, Sitting::close);
}

fn gone(agent: &'static Agent, go: impl Fn(&mut Sitting)) {
    let mut sitting = Sitting::begin(agent);
    sitting.say("TURN-ONE please", "Turn one is finished.");
    let before = sitting.world.tree();
    sitting.hang();
    go(&mut sitting);
    sitting.write_by_hand("notes.txt", "an hour of work\n");
    let run = sitting.revert_once_it_is_gone("last");
    sitting.expect_edit_stays(&before, &run);
}

/// A new session and one that is resumed go back message by message.
///
/// See its name: the agent's own command begins a new session, and closing and going on later takes it up again.
pub fn new_and_resumed_sessions_go_back_by_message(agent: &'static Agent) {
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

/// A session that is resumed on the next day goes back message by message.
///
/// See its name: the agent was closed overnight, and so was the editor of what was written by hand in the evening.
pub fn session_resumed_next_day_goes_back_by_message(agent: &'static Agent) {
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

/// What a shell in the background writes later is offered and not taken.
///
/// See its name: the answer comes long before the shell ends, and nobody can tell then who wrote what.
pub fn late_background_shells_work_is_offered(agent: &'static Agent) {
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

/// After its own rewind a revert takes back what that left.
///
/// See its name: an agent's own rewind puts back the files of its edit tools, and leaves what its shells did. It is the same
/// after another message, when the agent's record tells of the rewind.
pub fn revert_takes_what_its_own_rewind_left(agent: &'static Agent) {
    let mut sitting = Sitting::begin_to_rewind(agent, &agent.screen().rewind);
    let before = sitting.world.tree();
    sitting.say("TURN-ONE please", "Turn one is finished.");
    sitting.say("TURN-AGAIN please", "Turn again is finished.");
    sitting.rewind(&sitting.screen.rewind);
    let rewound = sitting.world.tree();
    assert_ne!(rewound, before, "what its shells made is still there");
    sitting.revert("last~1");
    // The rewind left this folder empty, and an ignore rule hides it: no snapshot tells whether it was there before.
    let hidden = [&["ignored"], sitting.screen.rewind.mixes].concat();
    sitting.expect(&before, &hidden, "all that it did is gone");
    sitting.world.hook(&["unrevert"]).exits(0);
    sitting.expect(&rewound, &[], "as it was before the revert");
    // The message that it went back to is in the input.
    sitting.terminal().press(CLEAR);
    sitting.say("TURN-TWO please", "Turn two is finished.");
    let left = messages(&sitting.world);
    let left: Vec<bool> = left.iter().map(|it| it["left"] == true).collect();
    assert_eq!(left, [true, true, false], "the agent no longer knows them");
    let status = sitting.world.json(&["status"]);
    let named = status["left"].as_array().map(Vec::len);
    assert_eq!(named, Some(2), "their files are offered: {status:#}");
    sitting.revert("last~2");
    sitting.expect(&before, &hidden, "all that they did is gone");
}

/// A message after its own undo goes back to what that left.
///
/// See its name: some agents' own undo puts back every file that changed, and that of Codex and of Pi puts back none.
pub fn message_goes_back_after_its_own_undo(agent: &'static Agent) {
    let mut sitting = Sitting::begin_to_rewind(agent, &agent.screen().rewind);
    let before = sitting.world.tree();
    sitting.say("TURN-ONE please", "Turn one is finished.");
    sitting.say("TURN-AGAIN please", "Turn again is finished.");
    sitting.rewind(&sitting.screen.rewind);
    let undone = sitting.world.tree();
    sitting.say("TURN-TWO please", "Turn two is finished.");
    let newest = sitting.world.tree();
    sitting.expect_log(&["TURN-ONE please", "TURN-AGAIN please", "TURN-TWO please"]);
    let sent = messages(&sitting.world);
    let id = |number: usize| sent[number]["id"].as_str().expect("an id");
    // Cline goes on in another session then.
    let is_one = sent[0]["session"] == sent[2]["session"];
    let left: Vec<bool> = sent.iter().map(|it| it["left"] == true).collect();
    assert_eq!(left, [false, is_one, false], "the agent no longer knows it");
    sitting.revert(id(2));
    sitting.expect(&undone, &[], "back to what the undo left");
    sitting.revert(id(0));
    sitting.expect(&before, &[], "and to where all began");
    // Each session comes again by itself.
    for _ in 0..if is_one { 1 } else { 2 } {
        sitting.world.hook(&["unrevert"]).exits(0);
    }
    sitting.expect(&newest, &[], "all of it comes again");
}

/// A message goes back after a rewind of the conversation alone.
///
/// The agent's own rewind leaves every file: the message that it left is marked and its files stay, and a revert is exact.
pub fn message_goes_back_after_a_rewind_alone(agent: &'static Agent) {
    let alone = agent.screen().rewind.alone.expect("it can");
    let mut sitting = Sitting::begin_to_rewind(agent, alone);
    let mut trees = vec![sitting.world.tree()];
    sitting.say("TURN-TWO please", "Turn two is finished.");
    trees.push(sitting.world.tree());
    sitting.say("TURN-ONE please", "Turn one is finished.");
    trees.push(sitting.world.tree());
    sitting.rewind(alone);
    sitting.expect(&trees[2], &[], "the rewind leaves every file");
    sitting.say("TURN-AGAIN please", "Turn again is finished.");
    let newest = sitting.world.tree();
    let sent = messages(&sitting.world);
    let told = |field: &str| -> Vec<&Value> { sent.iter().map(|it| &it[field]).collect() };
    assert_eq!(told("left"), [false, true, false], "{sent:#?}");
    assert_eq!(told("state"), ["live"; 3], "nothing is reverted by itself");
    let status = sitting.world.json(&["status"]);
    let named = status["left"].as_array().map(Vec::len);
    assert_eq!(named, Some(1), "its files are offered: {status:#}");
    for (message, before) in sent.iter().zip(&trees).rev() {
        sitting.revert(message["id"].as_str().expect("an id"));
        sitting.expect(before, &[], "back to just before this message");
    }
    sitting.world.hook(&["unrevert"]).exits(0);
    sitting.expect(&newest, &[], "all of it comes again");
}

/// What its own undo removed of earlier messages is recovered.
///
/// See its name: Cline's undo of a message goes back to the last commit, and removes what git does not know of earlier ones, too.
pub fn what_its_own_undo_removed_is_recovered(agent: &'static Agent) {
    let mut sitting = Sitting::begin_to_rewind(agent, &agent.screen().rewind);
    sitting.say("TURN-ONE please", "Turn one is finished.");
    let after_one = sitting.world.tree();
    sitting.say("TURN-AGAIN please", "Turn again is finished.");
    sitting.rewind(&sitting.screen.rewind);
    let raw = Path::new("deep/er/raw.bin");
    assert!(after_one.contains_key(raw), "the first message made it");
    let is_gone = !sitting.world.tree().contains_key(raw);
    assert!(is_gone, "the undo of the second one removed it");
    sitting.world.hook(&["recover", "deep/er/raw.bin"]).exits(0);
    let now = sitting.world.tree();
    assert_eq!(now.get(raw), after_one.get(raw), "byte for byte");
}

/// A queued message that is sent at once counts from the end of the running step.
///
/// See its name: the agent queues what is typed, and a key sends it to the turn that goes on.
pub fn queued_message_counts_from_the_steps_end(agent: &'static Agent) {
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

/// A message while a tool runs that no hook is told of counts from the end of that step.
///
/// See its name: the agent reports nothing of it to its hooks, and sends its tool to the background.
pub fn unreported_message_counts_from_the_steps_end(agent: &'static Agent) {
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

/// After a command of ours the screen shows what went back.
///
/// The model, which is given the command's output, says nothing of it.
pub fn screen_shows_what_went_back(agent: &'static Agent) {
    let mut sitting = Sitting::begin(agent);
    let before = sitting.world.tree();
    sitting.say("TURN-ONE please", "Turn one is finished.");
    let command = agent.revert.expect("it has one");
    sitting.send(command, "ckpt-hook: revert:");
    sitting.expect(&before, &[], "it was taken back");
}

/// Commands of ours after Esc end nothing that was interrupted.
///
/// An edit by hand comes before them: it stays, and is named.
pub fn commands_after_esc_leave_the_edit(agent: &'static Agent) {
    let revert = agent.revert.expect("it has commands");
    let mut sitting = Sitting::begin(agent);
    sitting.say("TURN-ONE please", "Turn one is finished.");
    let before = sitting.world.tree();
    sitting.hang();
    sitting.interrupt();
    sitting.write_by_hand("notes.txt", "an hour of work\n");
    for verb in ["status", "redo"] {
        sitting.command(&revert.replace("revert", verb));
    }
    let run = sitting.revert_once_it_is_gone("last");
    sitting.expect_edit_stays(&before, &run);
    let names_it = run.stdout.contains("notes.txt");
    assert!(names_it, "what stays is told: {run:?}");
}

/// A command of ours that is typed while a tool runs takes a whole message back or nothing.
pub fn command_while_a_tool_runs_takes_all_or_nothing(agent: &'static Agent) {
    let revert = agent.revert.expect("it has commands");
    let mut sitting = Sitting::begin(agent);
    sitting.say("TURN-ONE please", "Turn one is finished.");
    let before = sitting.world.tree();
    // Alone, it would ask in Pi.
    sitting.say_while_a_tool_runs(&format!("{revert} last"));
    fs::write(sitting.world.path("go"), "").expect("a folder of our own");
    let started = sitting.world.workspace().join("started.txt");
    sitting.press_until("an answer", |screen| {
        !started.exists() || screen.contains("It was run.") || screen.contains("is at work")
    });
    if started.exists() {
        let late = sitting.world.workspace().join("late.txt");
        sitting.terminal().wait("the tool's end", |_| late.exists());
        sitting.revert_once_it_is_gone("last");
    }
    sitting.expect(&before, &[], "it was taken back");
}

/// While a hook runs the screen shows its name and no shell line.
///
/// See its name: the hook of the message waits, so that there is something to see.
pub fn screen_shows_the_hooks_name(agent: &'static Agent) {
    let mut sitting = Sitting::begin(agent);
    let binary = sitting.world.binary();
    let real = binary.with_file_name("ckpt-hook-real");
    let go = sitting.world.path("go");
    fs::rename(&binary, &real).expect("it is there");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *BeforeAgent*) until [ -e '{}' ]; do sleep 0.1; done ;; esac\nexec '{}' \"$@\"\n",
        go.display(),
        real.display()
    );
    executable::write(&binary, &script);
    sitting.terminal().say("TURN-ONE please");
    sitting.terminal().wait_for_text("Hook: ckpt-hook");
    let shows_line = sitting
        .terminal()
        .shows(|screen| screen.contains("--event") || screen.contains("/bin/ckpt-hook"));
    assert!(!shows_line, "a name says more than a line for a shell");
    fs::write(go, "").expect("a folder of our own");
    sitting.terminal().wait_for_text("Turn one is finished.");
    sitting.settle(1);
}
