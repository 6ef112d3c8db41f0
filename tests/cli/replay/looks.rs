//! How often the workspace is looked at for each message of the recorded conversations: everywhere, and only around the files
//! that tools name. What is looked at everywhere costs a system call a file.

use expect_test::{Expect, expect};
use serde_json::Value;

use super::effects::act;
use super::has_end;
use super::recording;
use testing::binary::Sandbox;

/// Copilot CLI refuses a tool where such a hook fails, so that `install` leaves it out.
const NOT_ASKED_FOR: [&str; 2] = ["preToolUse", "permissionRequest"];

/// Plays a recording, and compares how often each message had the workspace looked at.
fn check(agent: &str, set: &str, expected: Expect) {
    let world = Sandbox::new();
    world.configure("hook_deadline = \"10 minutes\"\n");
    world.write("README.md", "hi\n");
    let payloads = recording::read(set, &world);
    let mut rows: Vec<(String, u32, u32)> = Vec::new();
    for (number, payload) in payloads.iter().enumerate() {
        if payload.is_message() {
            let words = payload.words().unwrap_or("(a message)").to_owned();
            rows.push((words, 0, 0));
        }
        let call = [
            "event",
            "--json",
            "--agent",
            agent,
            "--event",
            &payload.event,
        ];
        let sent = payload.json.to_string();
        let is_asked_for = !NOT_ASKED_FOR.contains(&payload.event.as_str());
        let report: Value = match is_asked_for {
            true => serde_json::from_str(&world.run(&call, sent.as_bytes()).exits(0).stdout)
                .expect("a line of JSON"),
            false => Value::Null,
        };
        if let Some((_, everywhere, around)) = rows.last_mut() {
            match report["looked"].as_str() {
                Some("everywhere") => *everywhere += 1,
                Some("around") => *around += 1,
                _ => {}
            }
        }
        if let Some(input) = payload.tool_input() {
            let goes_on =
                payload.tool_use().is_some() && !has_end(payload, &payloads[number + 1..]);
            act(&world, input, goes_on);
        }
    }
    let lines = rows.iter().map(|(words, everywhere, around)| {
        format!("{everywhere} everywhere, {around} around: {words}\n")
    });
    expected.assert_eq(&lines.collect::<String>());
}

/// Makes each recording a test.
macro_rules! counted {
    ($($name:ident: $agent:literal, $set:literal, $expected:expr;)*) => {
        $(#[test]
        fn $name() {
            check($agent, $set, $expected);
        })*
    };
}

counted! {
    claude_code: "claude-code", "claude-code-2.1.329", expect![[r#"
        3 everywhere, 4 around: TURN-ONE please
        5 everywhere, 0 around: TURN-TWO please
        5 everywhere, 0 around: TURN-SUB please
    "#]];
    codex: "codex", "codex-0.169.0", expect![[r#"
        3 everywhere, 4 around: TURN-ONE please
        5 everywhere, 0 around: TURN-TWO please
    "#]];
    gemini_cli: "gemini-cli", "gemini-cli-0.61.0", expect![[r#"
        3 everywhere, 4 around: TURN-ONE please
        5 everywhere, 0 around: TURN-TWO please
        7 everywhere, 0 around: TURN-SUB please
    "#]];
    qwen_code: "qwen-code", "qwen-code-0.24.4", expect![[r#"
        5 everywhere, 4 around: TURN-ONE please
        5 everywhere, 0 around: TURN-TWO please
        5 everywhere, 0 around: TURN-SUB please
    "#]];
    copilot_cli: "copilot-cli", "copilot-cli-1.0.102", expect![[r#"
        5 everywhere, 0 around: TURN-ONE please
        3 everywhere, 0 around: TURN-TWO please
        4 everywhere, 0 around: TURN-SUB please
    "#]];
    opencode: "opencode", "opencode-1.18.33", expect![[r#"
        3 everywhere, 4 around: "TURN-ONE please"
        5 everywhere, 0 around: "TURN-TWO please"
        5 everywhere, 0 around: "TURN-SUB please"
    "#]];
    kilo: "kilo", "kilo-7.7.7", expect![[r#"
        3 everywhere, 4 around: "TURN-ONE please"
        5 everywhere, 0 around: "TURN-TWO please"
        5 everywhere, 0 around: "TURN-SUB please"
    "#]];
    cline: "cline", "cline-cli-3.0.65", expect![[r#"
        3 everywhere, 4 around: (a message)
        5 everywhere, 0 around: (a message)
        5 everywhere, 0 around: (a message)
    "#]];
    pi: "pi", "pi-0.73.1", expect![[r#"
        3 everywhere, 4 around: TURN-ONE please
        5 everywhere, 0 around: TURN-TWO please
    "#]];
}
