//! The conversation goes back with the files: a chat of Claude Code whose transcript is written here, as that program does.
//! `tests/agents` does the same with the real programs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::serve::Client;
use testing::binary::Run;
use testing::chat::{Chat, OLD, session};

/// Files and conversation go back in one operation.
///
/// The old conversation is byte for byte as before, and what is new is as private.
///
/// Invariant `work/fork-leaves-the-old`: A fork ends just before the message, and the old conversation stays as it is.
#[test]
fn conversation_goes_back_with_the_files() {
    let chat = Chat::of_three();
    let before = fs::read(chat.transcript(OLD)).expect("it is there");
    let report = chat.fork("last~1");
    assert_eq!(report["outcome"], "restored", "{report:#}");
    let conversation = &report["conversation"];
    assert_eq!(conversation["kind"], "forked", "{report:#}");
    assert_eq!(conversation["prompt"], "message 2");
    let new = session(&report);
    assert_eq!(conversation["argv"], json!(["claude", "--resume", new]));
    assert_eq!(chat.words(&new), ["message 1", "answer 1"]);
    assert!(chat.is_made(1) && !chat.is_made(2) && !chat.is_made(3));
    assert_eq!(fs::read(chat.transcript(OLD)).expect("it is there"), before);
    let mode = fs::metadata(chat.transcript(&new))
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600, "as private as the old one");
    let ids: Vec<Value> = chat
        .entries(&new)
        .iter()
        .map(|entry| entry["uuid"].clone())
        .collect();
    assert!(
        chat.entries(OLD)
            .iter()
            .all(|entry| !ids.contains(&entry["uuid"]) || entry["uuid"].is_null())
    );
    for entry in chat.entries(&new) {
        assert_eq!(entry["sessionId"], json!(new));
        assert_eq!(entry["forkedFrom"]["sessionId"], OLD);
    }
    assert_eq!(chat.transcripts(), 2, "nothing else was left");
}

/// The forked conversation goes on with the history before it.
///
/// Its first message settles the revert, as one of the old conversation would, and no note tells it of files that it never
/// knew.
///
/// Invariant `truth/fork-is-one-history`: A fork is the same session in another conversation.
#[test]
fn fork_goes_on_with_the_history() {
    let chat = Chat::of_three();
    let new = session(&chat.fork("last~1"));
    chat.say(&new, 4);
    assert_eq!(chat.states(), ["live", "discarded", "discarded", "live"]);
    let sessions = chat.world.json(&["sessions"]);
    assert_eq!(
        sessions["sessions"].as_array().map(Vec::len),
        Some(1),
        "{sessions:#}"
    );
    assert_eq!(sessions["sessions"][0]["agent_id"], json!(new));
    let places: Vec<Value> = ["last", "last~1"]
        .iter()
        .map(|id| chat.world.json(&["show", id])["conversation"]["session"].clone())
        .collect();
    assert_eq!(places[0], json!(new));
    assert_eq!(places[1], OLD, "{places:?}");
    // Twice in a row, and to the first message of all, below two that are discarded.
    let again = session(&chat.fork("last"));
    assert_eq!(chat.words(&again), ["message 1", "answer 1"]);
    assert!(!chat.is_made(4));
    let first = chat.fork("last~3");
    assert_eq!(
        first["conversation"]["argv"][1], "--session-id",
        "{first:#}"
    );
    assert!(!chat.is_made(1), "{first:#}");
}

/// The agent is not told what its fork never knew.
#[test]
fn fork_is_told_of_no_file() {
    let told = |conversation: &str| {
        let chat = Chat::of_three();
        let report = chat
            .world
            .json(&["revert", "last", "--conversation", conversation]);
        let session = report["conversation"]["session"]
            .as_str()
            .unwrap_or(OLD)
            .to_owned();
        let payload = json!({
            "session_id": session, "transcript_path": chat.transcript(&session), "prompt_id": "p",
            "cwd": chat.world.workspace(), "hook_event_name": "UserPromptSubmit", "prompt": "go on",
        });
        let run = chat.world.run(
            &["event", "--agent", "claude-code"],
            payload.to_string().as_bytes(),
        );
        run.exits(0).stdout
    };
    assert!(told("no").contains("made-3"), "{}", told("no"));
    assert!(!told("fork").contains("made-3"), "{}", told("fork"));
}

/// Going forward leads back to the old conversation.
///
/// Invariant `work/conversation-way-back`: Whatever leads the files back leads the conversation back.
#[test]
fn way_back_names_the_old_conversation() {
    for back in [&["undo"][..], &["unrevert"], &["redo", "--all"]] {
        let chat = Chat::of_three();
        let before = chat.world.tree();
        let new = session(&chat.fork("last~1"));
        let report = chat.world.json(back);
        assert_eq!(
            report["conversation"]["kind"], "back",
            "{back:?}: {report:#}"
        );
        assert_eq!(
            report["conversation"]["argv"],
            json!(["claude", "--resume", OLD]),
            "{back:?}"
        );
        assert_eq!(chat.world.tree(), before, "{back:?}");
        // And forward once more, to the same fork.
        let again = chat.world.json(&["undo"]);
        assert_eq!(session(&again), new, "{back:?}: {again:#}");
        assert!(!chat.is_made(2));
        chat.say(OLD, 5);
        assert_eq!(
            chat.states(),
            ["live", "discarded", "discarded", "live"],
            "{back:?}"
        );
    }
}

/// The old conversation may go on instead of the fork.
#[test]
fn old_conversation_may_go_on() {
    let chat = Chat::of_three();
    let new = session(&chat.fork("last~1"));
    chat.say(OLD, 4);
    assert_eq!(chat.states(), ["live", "discarded", "discarded", "live"]);
    chat.say(&new, 5);
    let sessions = chat.world.json(&["sessions"]);
    assert_eq!(
        sessions["sessions"].as_array().map(Vec::len),
        Some(2),
        "{sessions:#}"
    );
}

/// A plan is stale once the conversation has gone on.
#[test]
fn plan_is_stale_once_the_chat_goes_on() {
    let chat = Chat::of_three();
    let plan = chat
        .world
        .json(&["revert", "last~1", "--conversation", "fork", "--dry-run"]);
    assert_eq!(plan["conversation"]["kind"], "forked", "{plan:#}");
    assert_eq!(chat.transcripts(), 1, "a plan makes nothing");
    let token = plan["plan"].as_str().expect("a token");
    chat.add(
        OLD,
        [json!({"type": "assistant", "message": {"content": "more"}})],
    );
    chat.world.run(&["revert", "--plan", token], b"").exits(1);
    assert!(chat.is_made(3));
    let plan = chat
        .world
        .json(&["revert", "last~1", "--conversation", "fork", "--dry-run"]);
    let report = chat
        .world
        .json(&["revert", "--plan", plan["plan"].as_str().expect("a token")]);
    assert_eq!(report["conversation"]["kind"], "forked", "{report:#}");
}

/// A conversation that cannot be forked is named and the files go back.
///
/// Invariant `truth/conversation-stays`: Where the conversation cannot go back, the files do, and it is said why.
#[test]
fn files_go_back_where_the_chat_cannot() {
    type Spoil<'a> = &'a dyn Fn(&Chat);
    let spoil: [(&str, Spoil<'_>); 5] = [
        ("no_transcript", &|chat| {
            fs::remove_file(chat.transcript(OLD)).expect("it is there")
        }),
        ("unknown_format", &|chat| {
            chat.add(OLD, [json!({"type": "novelty"})])
        }),
        ("unknown_format", &|chat| {
            chat.add(OLD, [json!({"type": "user", "version": "9.0.0"})])
        }),
        ("unknown_format", &|chat| {
            fs::write(chat.transcript(OLD), "no JSON\n").expect("writable")
        }),
        ("not_found", &|chat| {
            fs::write(chat.transcript(OLD), "{\"type\":\"mode\"}\n").expect("writable")
        }),
    ];
    for (reason, spoil) in spoil {
        let chat = Chat::of_three();
        spoil(&chat);
        let report = chat.fork("last~1");
        assert_eq!(
            report["conversation"]["kind"], "none",
            "{reason}: {report:#}"
        );
        assert_eq!(report["conversation"]["reason"], reason, "{report:#}");
        assert!(!chat.is_made(2) && chat.is_made(1), "{reason}");
    }
}

/// A fork that fails leaves everything as it was.
///
/// Invariant `work/fork-before-files`: If the conversation cannot be forked, no file has changed.
#[test]
fn failed_fork_changes_nothing() {
    let chat = Chat::of_three();
    // A disk that fails at the new name: root may write anywhere, so the folder itself is in the way.
    let elsewhere = chat.folder.with_extension("gone");
    let plan = chat
        .world
        .json(&["revert", "last~1", "--conversation", "fork", "--dry-run"]);
    assert!(plan["plan"].is_string());
    fs::rename(&chat.folder, &elsewhere).expect("our own");
    std::os::unix::fs::symlink("/proc/self", &chat.folder).expect("our own");
    let run: Run = chat.world.run(
        &["revert", "--plan", plan["plan"].as_str().expect("a token")],
        b"",
    );
    assert_ne!(run.code, Some(0), "{run}");
    assert!(chat.is_made(2) && chat.is_made(3), "{run}");
    assert_eq!(chat.states(), ["live", "live", "live"]);
}

/// The agent can go on in the copy of a transcript that is read-only.
#[test]
fn copy_of_a_read_only_transcript_is_writable() {
    let chat = Chat::of_three();
    let old = chat.transcript(OLD);
    fs::set_permissions(&old, fs::Permissions::from_mode(0o400)).expect("our own");
    let new = chat.transcript(&session(&chat.fork("last")));
    let mode = |path| {
        fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!([mode(&old), mode(&new)], [0o400, 0o600]);
}

/// A part leaves the conversation as it is.
#[test]
fn part_leaves_the_conversation() {
    let chat = Chat::of_three();
    for part in [&["--alone"][..], &["--only", "made-3"]] {
        let words = [&["revert", "last", "--conversation", "fork"], part].concat();
        chat.world.run(&words, b"").exits(2);
        let report = chat.world.json(&[&["revert", "last"], part].concat());
        assert_eq!(report["conversation"]["reason"], "part", "{report:#}");
        chat.world.json(&["undo"]);
    }
    let report = chat.world.json(&["revert", "last"]);
    assert_eq!(report["conversation"]["reason"], "not_asked", "{report:#}");
    assert_eq!(chat.transcripts(), 1);
}

/// Only what leads to the message is copied.
///
/// Another branch of the tree, which its own rewind left, is not; the results of tools that ran side by side are.
#[test]
fn only_what_leads_there_is_copied() {
    let chat = Chat::of_three();
    chat.rewind(1, 9);
    let left = chat.world.json(&["show", "last~1"]);
    assert_eq!(left["conversation"]["left"], true, "{left:#}");
    let shown = chat.world.run(&["show", "last~1"], b"").exits(0).stdout;
    let state = shown.lines().find(|line| line.contains("state "));
    assert!(state.is_some_and(|line| line.ends_with("left")), "{shown}");
    let first = chat.world.json(&["show", "last~3"]);
    assert_eq!(first["conversation"]["left"], false, "{first:#}");
    let report = chat.fork("last");
    assert_eq!(chat.words(&session(&report)), ["message 1", "answer 1"]);
}

/// A fork that the user makes in the agent goes on with the history before it.
///
/// It is linked to the session that it came from, and its first message settles what was reverted there.
///
/// Invariant `truth/own-fork-is-linked`: A session that was forked in the agent goes on with the messages before the fork.
#[test]
fn own_fork_goes_on_with_the_history() {
    const NEW: &str = "0b0b0b0b-0000-4000-8000-000000000002";
    let chat = Chat::of_three();
    chat.world.json(&["revert", "last"]);
    assert_eq!(chat.states(), ["live", "live", "hidden"]);
    chat.branch(NEW, 2);
    chat.say(NEW, 4);
    assert_eq!(chat.states(), ["live", "live", "discarded", "live"]);
    let sessions = chat.world.json(&["sessions"]);
    let sessions = sessions["sessions"].as_array().expect("a list");
    assert_eq!(sessions.len(), 2, "{sessions:#?}");
    assert_eq!(sessions[0]["agent_id"], NEW);
    assert_eq!(
        sessions[0]["forked_from"], sessions[1]["id"],
        "{sessions:#?}"
    );
    assert_eq!(sessions[1]["forked_from"], Value::Null);
    let log = chat.world.json(&["log", "--session", NEW]);
    let prompts: Vec<&str> = log["messages"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["prompt"].as_str())
        .collect();
    assert_eq!(prompts, ["message 4", "message 2", "message 1"]);
    let status = chat.world.json(&["status"]);
    assert_eq!(status["revert_point"], Value::Null, "{status:#}");
}

/// The conversation may go back alone.
///
/// Every file stays, and the messages that it no longer has are marked, with the command that takes their files back.
///
/// Invariant `work/conversation-alone`: Where the conversation goes back alone, no file is touched.
#[test]
fn conversation_may_go_back_alone() {
    let chat = Chat::of_three();
    let tree = chat.world.tree();
    let only = ["revert", "last~1", "--conversation", "only"];
    let plan = chat.world.json(&[&only[..], &["--dry-run"]].concat());
    assert_eq!(plan["conversation"]["kind"], "forked", "{plan:#}");
    let plan = plan["plan"].as_str().expect("a token");
    let report = chat.world.json(&["revert", "--plan", plan]);
    let new = session(&report);
    assert_eq!(report["outcome"], "restored", "{report:#}");
    assert_eq!(chat.words(&new), ["message 1", "answer 1"]);
    assert_eq!(chat.world.tree(), tree, "every file stays");
    assert_eq!(chat.states(), ["live", "live", "live"]);
    let left = |chat: &Chat| {
        let log = chat.world.json(&["log"]);
        let messages = log["messages"].as_array().expect("a list").clone();
        let left = messages.iter().rev().map(|it| it["left"] == true);
        left.collect::<Vec<_>>()
    };
    assert_eq!(left(&chat), [false, true, true]);
    let back = chat.world.json(&["undo"]);
    assert_eq!(
        back["conversation"]["argv"],
        json!(["claude", "--resume", OLD]),
        "{back:#}"
    );
    assert_eq!(left(&chat), [false, false, false]);
    let run = chat.world.run(&only, b"").exits(0);
    assert!(run.stdout.contains("claude --resume"), "{run}");
    let new = chat.world.json(&["sessions"])["sessions"][0]["agent_id"].clone();
    chat.say(new.as_str().expect("an id"), 4);
    assert_eq!(left(&chat), [false, true, true, false]);
    // Their files are still there, and go back as any others.
    let status = chat.world.run(&["status"], b"").exits(0);
    assert!(
        status.stdout.contains("2 messages are no longer"),
        "{status}"
    );
    let part = ["revert", "last~1", "--only", "made-3"];
    chat.world.run(&part, b"").exits(0);
    assert!(!chat.is_made(3) && chat.is_made(2));
}

/// After it went back alone, the old conversation may go on instead, as the same session.
///
/// Its next message settles what was reverted meanwhile, and none of its messages is missing any more.
#[test]
fn old_conversation_settles_what_was_reverted() {
    let chat = Chat::of_three();
    chat.world
        .json(&["revert", "last", "--conversation", "only"]);
    let status = chat.world.json(&["status"]);
    let id = status["left"][0].as_str().expect("one is left behind");
    let revert = ["revert", id];
    let report = chat.world.json(&revert);
    assert_eq!(report["conversation"]["reason"], "not_asked", "{report:#}");
    // Files that go forward leave the conversation, which went back by itself.
    let report = chat.world.json(&["redo", "--all"]);
    assert_eq!(report["conversation"]["kind"], "none", "{report:#}");
    chat.world.json(&revert);
    assert_eq!(chat.states(), ["live", "live", "hidden"]);
    chat.say(OLD, 4);
    assert_eq!(chat.states(), ["live", "live", "discarded", "live"]);
    chat.say(OLD, 5);
    let status = chat.world.json(&["status"]);
    assert_eq!(status["revert_point"], Value::Null, "{status:#}");
    assert_eq!(status["left"], json!([]), "{status:#}");
    let sessions = chat.world.json(&["sessions"]);
    let sessions = sessions["sessions"].as_array().expect("a list");
    assert_eq!(sessions.len(), 1, "{sessions:#?}");
    assert_eq!(sessions[0]["agent_id"], OLD, "{sessions:#?}");
    chat.world.run(&["redo"], b"");
    assert!(!chat.is_made(3) && chat.is_made(4) && chat.is_made(5));
}

/// While a fork is pending, the old conversation's id names the session, too.
#[test]
fn old_conversation_names_its_session() {
    let chat = Chat::of_three();
    let new = session(&chat.fork("last~1"));
    let status = |id: &str| chat.world.json(&["status", "--session", id])["session"].clone();
    assert_eq!(status(OLD), status(&new));
    chat.world.json(&["redo", "--session", OLD]);
    assert!(chat.is_made(2) && !chat.is_made(3));
    chat.world.json(&["redo", "--all", "--session", OLD]);
    assert!(chat.is_made(3));
}

/// The command that goes on in a fork is shown until a message says which conversation goes on.
#[test]
fn pending_fork_names_its_command() {
    for conversation in ["fork", "only"] {
        let chat = Chat::of_three();
        let report = chat
            .world
            .json(&["revert", "last", "--conversation", conversation]);
        let (new, argv) = (session(&report), &report["conversation"]["argv"]);
        let operation = report["operation"].as_str().expect("an id");
        let shown = |words: &[&str]| chat.world.json(words)["conversation"]["argv"].clone();
        assert_eq!(shown(&["status"]), *argv, "{conversation}");
        assert_eq!(shown(&["show", operation]), *argv, "{conversation}");
        for words in [&["status"][..], &["show", operation]] {
            let text = chat.world.run(words, b"").exits(0).stdout;
            let line = format!("&& claude --resume {new}");
            assert!(text.contains(&line), "{conversation}: {text}");
        }
        chat.say(&new, 4);
        assert_eq!(shown(&["status"]), json!([]), "{conversation}");
        assert_eq!(shown(&["show", operation]), Value::Null, "{conversation}");
    }
}

/// Where it cannot be cut, one sentence says so and what can be done.
#[test]
fn missing_cut_is_told_in_one_sentence() {
    let chat = Chat::of_three();
    let run = chat
        .world
        .run(&["revert", "last", "--conversation", "cut"], b"")
        .exits(0);
    let told = "The conversation stays as it is: its agent cannot shorten one; `--conversation fork` makes a new one.";
    assert!(run.stdout.lines().any(|line| line == told), "{run}");
    assert!(
        !run.stdout.contains("interface") && !run.stdout.contains("note:"),
        "{run}"
    );
}

/// Where it cannot go back alone nothing is done.
#[test]
fn conversation_alone_is_refused_with_a_reason() {
    let chat = Chat::of_three();
    fs::remove_file(chat.transcript(OLD)).expect("it is there");
    let run = chat
        .world
        .run(&["revert", "last", "--conversation", "only"], b"");
    assert_ne!(run.code, Some(0), "{run}");
    assert!(run.stderr.contains("record of it is gone"), "{run}");
}

/// The outcome ends with one line to copy.
#[test]
fn outcome_names_the_command_to_copy() {
    let chat = Chat::of_three();
    let run = chat
        .world
        .run(&["revert", "last~1", "--conversation", "fork"], b"")
        .exits(0);
    let command = run
        .stdout
        .lines()
        .find(|line| line.contains("claude --resume"));
    let command = command.unwrap_or_else(|| panic!("it says how to go on: {run}"));
    assert!(command.trim().starts_with("cd "), "{run}");
    assert!(command.ends_with("--prefill 'message 2'"), "{run}");
}

/// The settings say what a revert does by default.
#[test]
fn settings_choose_the_conversation() {
    let chat = Chat::of_three();
    chat.world.configure("conversation = \"fork\"\n");
    let report = chat.world.json(&["revert", "last"]);
    assert_eq!(report["conversation"]["kind"], "forked", "{report:#}");
    let status = chat.world.json(&["status"]);
    assert_eq!(status["conversation"]["fork"], true, "{status:#}");
}

/// A rewind in the agent itself is told with the messages that it left.
///
/// Invariant `truth/own-rewind-is-told`: Messages that the agent's own rewind left are marked, and nothing is reverted by
/// itself.
#[test]
fn own_rewind_is_told() {
    let chat = Chat::of_three();
    let mut client = Client::start(&chat.world);
    client.call("subscribe", json!({"events": ["rewound"]}));
    let tree = chat.world.tree();
    chat.rewind(1, 9);
    let told = client.told("rewound");
    let log = chat.world.json(&["log"]);
    let left: Vec<&Value> = log["messages"]
        .as_array()
        .expect("a list")
        .iter()
        .rev()
        .filter(|message| message["left"] == true)
        .map(|message| &message["id"])
        .collect();
    assert_eq!(left.len(), 2, "{log:#}");
    assert_eq!(told["messages"], json!(left), "{told:#}");
    assert_eq!(chat.world.tree(), tree, "nothing is reverted by itself");
    client.end();
}

/// A request that is sent again with its key is done once.
///
/// After a lost answer nobody knows whether it was done: the second answer says so, also from another process.
///
/// Invariant `work/applied-once`: What is applied with a key is done once, however often it is asked for.
#[test]
fn keyed_plan_is_applied_once() {
    let world = &Chat::of_three().world;
    let plan = world.json(&["revert", "prompt-3", "--dry-run"])["plan"].clone();
    let ask = json!({"plan": plan, "key": "request-1"});
    let mut client = Client::start(world);
    let done = client.call("apply", ask.clone());
    client.end();
    world.write("newest", "mine\n");
    let mut client = Client::start(world);
    let again = client.call("apply", ask);
    for member in ["operation", "outcome", "message", "files"] {
        assert_eq!(again[member], done[member], "{member}: {again:#}");
    }
    assert_eq!(world.read("newest"), b"mine\n", "nothing is done twice");
    let other = json!({"plan": plan, "key": "request-2"});
    let error = client.refused("apply", other);
    assert_eq!(error["data"]["kind"], "stale", "{error:#}");
    client.end();
}

/// What moved the conversation alone is not called a restore of files.
#[test]
fn move_in_the_conversation_is_named_so() {
    let chat = Chat::of_three();
    let run = |arguments: &[&str]| chat.world.run(arguments, b"").exits(0).stdout;
    run(&["revert", "last", "--conversation", "only"]);
    let operations = chat.world.json(&["log", "--operations"]);
    let operation = &operations["operations"][0];
    assert_eq!(operation["conversation"], true, "{operation:#}");
    let id = operation["id"].as_str().expect("a text");
    let plan = run(&["undo", "--dry-run"]);
    assert!(
        plan.contains("Would undo the move in the conversation "),
        "{plan}"
    );
    assert!(plan.contains("in the one before.\n"), "{plan}");
    for shown in [
        run(&["log", "--operations"]),
        run(&["show", id]),
        plan,
        run(&["undo"]),
    ] {
        assert!(shown.contains("conversation"), "{shown}");
        assert!(!shown.contains("restore "), "{shown}");
    }
}
