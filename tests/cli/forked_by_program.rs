//! A conversation that the agent's own program forks: a script stands for Codex, which answers, refuses, is silent, kills the
//! revert or is not there.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use testing::binary::{Run, binary};
use testing::chat::{Chat, OLD};
use testing::scripted::{ANSWER, Scripted, answering};

/// An agent's own program makes the fork.
#[test]
fn agents_program_makes_the_fork() {
    let chat = Scripted::new(&answering(ANSWER));
    let run = chat.revert().exits(0);
    let report: Value = serde_json::from_str(&run.stdout).expect("a report");
    assert_eq!(
        report["conversation"]["argv"],
        json!(["codex", "resume", "new"]),
        "{report:#}"
    );
    assert!(chat.is_made(1) && !chat.is_made(2));
    chat.say("new", 3);
    let sessions = chat.world.json(&["sessions"]);
    assert_eq!(
        sessions["sessions"].as_array().map(Vec::len),
        Some(1),
        "{sessions:#}"
    );
}

/// An agent that refuses or says nothing leaves all as it was.
///
/// A lost answer never reads as a clean failure.
///
/// Invariant `truth/lost-answer`: Where an agent's answer is lost, it is said that nobody knows whether it forked.
#[test]
fn agent_without_an_answer_changes_nothing() {
    let cases = [
        (
            r#"echo '{"id":1,"error":{"message":"no such turn"}}'"#,
            "no such turn",
        ),
        ("echo nonsense; exit 0", "it is not known whether"),
        ("exit 1", "it is not known whether"),
    ];
    let older = "#!/bin/sh\necho 'unrecognized subcommand' >&2\nexit 2\n";
    let cases = cases.map(|(line, said)| (answering(line), said));
    let never_begun = (
        older.to_owned(),
        "could not be forked: `codex` ended without an answer; no file was changed",
    );
    for (line, said) in cases.into_iter().chain([never_begun]) {
        let chat = Scripted::new(&line);
        let run = chat.revert();
        assert_ne!(run.code, Some(0), "{line}: {run}");
        assert!(run.stdout.contains(said), "{line}: {run}");
        assert!(chat.is_made(1) && chat.is_made(2), "{line}: {run}");
        let operations = chat.world.json(&["log", "--operations"]);
        assert_eq!(operations["operations"], json!([]), "{operations:#}");
        let log = chat.world.json(&["log"]);
        assert_eq!(log["messages"][0]["state"], "live", "{log:#}");
    }
}

/// A revert that is killed while the agent forks is taken back.
///
/// Invariant `work/killed-fork`: An operation that is killed before its conversation is forked is taken back by the next
/// command.
#[test]
fn killed_fork_is_taken_back() {
    let chat = Scripted::new(&answering("kill -9 $PPID"));
    let run = chat.revert();
    assert_eq!(run.code, None, "it was killed: {run}");
    assert!(chat.is_made(2));
    let run = chat.world.run(&["snapshot"], b"").exits(0);
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(said.contains("is taken back"), "{said}");
    assert!(chat.is_made(2));
    let log = chat.world.json(&["log"]);
    assert_eq!(log["messages"][0]["state"], "live", "{log:#}");
    chat.say("old", 3);
}

/// Nothing that an agent starts for a fork outlives the revert.
///
/// It may end without an answer, or be killed. A helper that the agent leaves behind holds a pipe open.
///
/// Invariant `agent/fork-leaves-no-process`: What an agent's program starts to fork a conversation ends with the revert,
/// also one that is killed.
#[test]
fn agents_helpers_end_with_the_revert() {
    for end in [ANSWER, "exit 1", "kill -9 $PPID"] {
        let chat = Scripted::new("");
        let pipe = chat.world.path("held-open");
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).expect("a pipe");
        let helper = format!("exec 9>'{}'\nsleep 1000 &\n{end}", pipe.display());
        chat.answer_by(&answering(&helper));
        let (sender, ended) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            fs::read(pipe).expect("it is opened by the helper");
            sender.send(()).expect("the test waits");
        });
        chat.revert();
        let ended = ended.recv_timeout(std::time::Duration::from_secs(60));
        ended.unwrap_or_else(|_| panic!("{end}: the helper has ended"));
        reader.join().expect("it has read");
    }
}

/// While an agent forks the hooks of others go on.
///
/// The script that stands for the agent is itself one that waits for the workspace.
///
/// Invariant `agent/fork-unlocked`: While an agent forks a conversation, nothing is locked that a hook waits for.
#[test]
fn fork_holds_nothing_that_hooks_wait_for() {
    let chat = Scripted::new("");
    let event = json!({"event": "user_message", "session_id": "other", "message_id": "beside", "prompt": "beside"});
    chat.answer_by(&answering(&(chat.sending("generic", event) + ANSWER)));
    let run = chat.revert().exits(0);
    let report: Value = serde_json::from_str(&run.stdout).expect("a report");
    assert_eq!(report["outcome"], "restored", "{report:#}");
    assert!(chat.is_made(1) && !chat.is_made(2));
    let log = chat.world.json(&["log"]);
    assert!(log.to_string().contains("beside"), "{log:#}");
}

/// A session that goes on while its conversation is forked is not reverted.
///
/// What was made for nothing is named.
#[test]
fn session_that_goes_on_meanwhile_stays() {
    let chat = Scripted::new("");
    let event = |name: &str| {
        json!({
            "session_id": "old", "turn_id": "turn-3", "hook_event_name": name, "prompt": "message 3",
            "tool_name": "Bash", "tool_use_id": "t3", "tool_input": {"command": "make"},
        })
    };
    let sent = ["UserPromptSubmit", "PreToolUse"].map(|name| chat.sending("codex", event(name)));
    chat.answer_by(&answering(&(sent.concat() + ANSWER)));
    let run = chat.revert();
    assert_ne!(run.code, Some(0), "{run}");
    assert!(run.stdout.contains("codex resume new"), "{run}");
    assert!(chat.is_made(1) && chat.is_made(2), "{run}");
}

/// An agent shortens its conversation where it is asked to in so many words.
///
/// All of it is kept first, and is the way back.
///
/// Invariant `work/cut-is-kept`: What is cut off a conversation is kept before.
#[test]
fn cut_keeps_what_it_cuts() {
    let chat = Scripted::new(
        r#"#!/bin/sh
while read -r line; do
  echo "$line" >> "$0.heard"
  case "$line" in
    *thread/fork*) echo '{"id":1,"result":{"thread":{"id":"kept"}}}' ;;
    *thread/resume*) echo '{"id":1,"result":{}}' ;;
    *thread/revert*) echo '{"id":2,"result":{}}' ;;
    *clientInfo*) echo '{"id":0,"result":{}}' ;;
  esac
done
"#,
    );
    let run = chat.revert_with("cut").exits(0);
    let report: Value = serde_json::from_str(&run.stdout).expect("a report");
    let conversation = &report["conversation"];
    assert_eq!(conversation["kind"], "cut", "{report:#}");
    assert_eq!(conversation["argv"], json!(["codex", "resume", "old"]));
    assert!(chat.is_made(1) && !chat.is_made(2));
    let heard = fs::read_to_string(chat.folder().join("codex.heard")).expect("it was asked");
    let place = |what: &str| {
        heard
            .find(what)
            .unwrap_or_else(|| panic!("{what}: {heard}"))
    };
    assert!(place("thread/fork") < place("thread/revert"), "{heard}");
    assert!(heard.contains(r#""beforeTurnId":"turn-2""#), "{heard}");
    let back = chat.world.json(&["unrevert"]);
    assert_eq!(
        back["conversation"]["argv"],
        json!(["codex", "resume", "kept"]),
        "{back:#}"
    );
    assert!(chat.is_made(2));
    chat.say("kept", 3);
    let sessions = chat.world.json(&["sessions"]);
    assert_eq!(
        sessions["sessions"].as_array().map(Vec::len),
        Some(1),
        "{sessions:#}"
    );
}

/// What keeps a conversation that is to be shortened is named however that ends.
///
/// The agent may refuse to shorten it, give no answer, or kill the revert, which the next command says.
#[test]
fn halved_cut_names_what_was_made() {
    let kept = "codex resume kept";
    for (revert, said) in [
        (
            r#"echo '{"id":2,"error":{"message":"no such turn"}}'"#,
            kept,
        ),
        ("exit 1", "it is not known whether the agent has shortened"),
        (
            "kill -9 $PPID",
            "it is not known whether the agent has shortened",
        ),
    ] {
        let chat = Scripted::new(&format!(
            r#"#!/bin/sh
while read -r line; do
  case "$line" in
    *thread/fork*) echo '{{"id":1,"result":{{"thread":{{"id":"kept"}}}}}}' ;;
    *thread/resume*) echo '{{"id":1,"result":{{}}}}' ;;
    *thread/revert*) {revert} ;;
    *clientInfo*) echo '{{"id":0,"result":{{}}}}' ;;
  esac
done
"#
        ));
        let run = chat.revert_with("cut");
        assert_ne!(run.code, Some(0), "{revert}: {run}");
        let next = chat.world.run(&["snapshot"], b"").exits(0);
        let all = format!("{}{}{}", run.stdout, next.stdout, next.stderr);
        assert!(
            all.contains("kept") && all.contains(said),
            "{revert}: {all}"
        );
        if run.code.is_some() {
            let report: Value = serde_json::from_str(&run.stdout).expect("a report");
            assert_eq!(report["error"]["kind"], "unfinished", "{report:#}");
        }
        assert!(chat.is_made(1) && chat.is_made(2), "{revert}: {run}");
    }
}

/// Without the agent's program the files go back alone.
#[test]
fn files_go_back_without_the_program() {
    let chat = Scripted::new("");
    fs::remove_file(chat.folder().join("codex")).expect("it is there");
    let run = chat.revert().exits(0);
    let report: Value = serde_json::from_str(&run.stdout).expect("a report");
    assert_eq!(report["conversation"]["reason"], "no_program", "{report:#}");
    assert!(!chat.is_made(2));
}

/// A branch says why its conversation is not there.
///
/// A refusal is told from a lost answer.
#[test]
fn branch_tells_a_refusal_from_a_lost_answer() {
    let refusal = r#"echo '{"id":1,"error":{"message":"no such turn"}}'"#;
    for (line, reason) in [(refusal, "failed"), ("exit 1", "no_answer")] {
        let chat = Scripted::new(&answering(line));
        let words = ["--json", "branch", "last", "../way"];
        let run = chat.finish(chat.world.command(&words)).exits(0);
        let report: Value = serde_json::from_str(&run.stdout).expect("a report");
        let conversation = &report["conversation"];
        assert_eq!(conversation["reason"], reason, "{report:#}");
        assert!(conversation["note"].is_string(), "{report:#}");
    }
}

/// A plan says that the conversation may be open in another window.
///
/// The test is the agent here: it calls the hook, and still runs. A command that it runs itself is typed in that window, and one
/// of an agent that ended is typed in none.
#[test]
fn plan_tells_of_another_window() {
    let chat = Chat::of_three();
    let plan = |program: &Path, words: &[&str]| {
        let plan = "--json revert last --conversation fork --dry-run";
        let words = words.iter().copied().chain(plan.split(' '));
        let words: Vec<&str> = words.collect();
        let run = Run::of(&mut chat.world.command_by(program, &words)).exits(0);
        let report: Value = serde_json::from_str(&run.stdout).expect("a report");
        report["conversation"]["note"].to_string()
    };
    // Between it and the command is another program.
    let alias = format!("alias.ckpt=!{}", binary());
    let elsewhere = || plan(Path::new("git"), &["-c", &alias, "ckpt"]);
    let told = format!("process {}, in which it was held", std::process::id());
    assert!(elsewhere().contains(&told), "{}", elsewhere());
    assert_eq!(plan(Path::new(binary()), &[]), "null", "the same window");
    chat.event(OLD, "SessionEnd", json!({"reason": "other"}));
    assert_eq!(elsewhere(), "null", "it was closed");
}
