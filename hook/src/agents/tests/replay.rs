//! Recorded conversations, payload by payload, as the events that we make of them.
//!
//! A line is a payload that means something: its number in the recording, and what it means. Ids are shortened in the
//! order in which they come: `s1` is a session, `s1/a` a sub-agent's, `t1` a turn, `m1` a message.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use ckpt_schema::event::Event;
use expect_test::{Expect, expect};

use super::parse_alone;

#[test]
fn claude_code_with_a_resume_a_failure_and_a_background_sub_agent() {
    check(
        "claude-code",
        "claude-code-2.1.329",
        expect![[r#"
        01 session_start s1
        02 user_message  s1 t1 "TURN-ONE please"
        04 tool_start    s1 t1 Write toolu_TURNONE_0_0 ["/workspace/hello.txt"]
        05 tool_finish   s1 t1 Write toolu_TURNONE_0_0 ["/workspace/hello.txt"]
        06 step_finish   s1 t1 batch:toolu_TURNONE_0_0
        07 tool_start    s1 t1 Edit toolu_TURNONE_1_0 ["/workspace/hello.txt"]
        08 tool_finish   s1 t1 Edit toolu_TURNONE_1_0 ["/workspace/hello.txt"]
        09 step_finish   s1 t1 batch:toolu_TURNONE_1_0
        10 tool_start    s1 t1 Bash toolu_TURNONE_2_0
        11 tool_finish   s1 t1 Bash toolu_TURNONE_2_0
        12 tool_start    s1 t1 Bash toolu_TURNONE_2_1
        13 tool_finish   s1 t1 Bash toolu_TURNONE_2_1
        14 step_finish   s1 t1 batch:toolu_TURNONE_2_0
        16 turn_end      s1 t1
        17 session_end   s1 t1
        18 session_start s1
        19 user_message  s1 t2 "TURN-TWO please"
        20 tool_start    s1 t2 Bash toolu_TURNTWO_0_0
        21 tool_finish   s1 t2 Bash toolu_TURNTWO_0_0
        22 step_finish   s1 t2 batch:toolu_TURNTWO_0_0
        23 tool_start    s1 t2 Bash toolu_TURNTWO_1_0
        24 tool_finish   s1 t2 Bash toolu_TURNTWO_1_0
        25 step_finish   s1 t2 batch:toolu_TURNTWO_1_0
        27 turn_end      s1 t2
        28 session_end   s1 t2
        29 session_start s1
        30 user_message  s1 t3 "TURN-SUB please"
        31 tool_start    s1 t3 Agent toolu_TURNSUB_0_0
        32 tool_finish   s1 t3 Agent toolu_TURNSUB_0_0
        33 session_start s1/a1 below s1 t3
        34 step_finish   s1 t3 batch:toolu_TURNSUB_0_0
        36 tool_start    s1/a1 below s1 t3 Bash toolu_SUBAGENTJOB_0_0
        37 tool_finish   s1/a1 below s1 t3 Bash toolu_SUBAGENTJOB_0_0
        38 turn_end      s1 t3
        39 step_finish   s1/a1 below s1 t3 batch:toolu_SUBAGENTJOB_0_0
        40 turn_end      s1/a1 below s1 t3
        43 turn_end      s1 t4
        44 session_end   s1 t4
    "#]],
    );
}

#[test]
fn claude_code_at_a_terminal_with_an_interrupted_turn() {
    check(
        "claude-code",
        "claude-code-2.1.329-interactive",
        expect![[r#"
        01 session_start s1
        02 user_message  s1 t1 "TURN-TWO please"
        03 tool_start    s1 t1 Bash toolu_TURNTWO_0_0
        04 tool_finish   s1 t1 Bash toolu_TURNTWO_0_0
        05 step_finish   s1 t1 batch:toolu_TURNTWO_0_0
        06 tool_start    s1 t1 Bash toolu_TURNTWO_1_0
        07 tool_finish   s1 t1 Bash toolu_TURNTWO_1_0
        08 step_finish   s1 t1 batch:toolu_TURNTWO_1_0
        09 turn_end      s1 t1
        10 user_message  s1 t2 "TURN-LONG please"
        11 tool_start    s1 t2 Bash toolu_TURNLONG_0_0
        12 user_message  s1 t3 "TURN-ONE please"
        13 tool_start    s1 t3 Write toolu_TURNONE_0_0 ["/workspace/hello.txt"]
        14 tool_finish   s1 t3 Write toolu_TURNONE_0_0 ["/workspace/hello.txt"]
        15 step_finish   s1 t3 batch:toolu_TURNONE_0_0
        16 tool_start    s1 t3 Edit toolu_TURNONE_1_0 ["/workspace/hello.txt"]
        17 tool_finish   s1 t3 Edit toolu_TURNONE_1_0 ["/workspace/hello.txt"]
        18 step_finish   s1 t3 batch:toolu_TURNONE_1_0
        19 tool_start    s1 t3 Bash toolu_TURNONE_2_0
        20 tool_finish   s1 t3 Bash toolu_TURNONE_2_0
        21 tool_start    s1 t3 Bash toolu_TURNONE_2_1
        22 tool_finish   s1 t3 Bash toolu_TURNONE_2_1
        23 step_finish   s1 t3 batch:toolu_TURNONE_2_0
        24 turn_end      s1 t3
        25 session_end   s1 t4
    "#]],
    );
}

#[test]
fn claude_code_with_a_message_sent_while_a_tool_runs() {
    check(
        "claude-code",
        "claude-code-2.1.329-queued-message",
        expect![[r#"
        01 session_start s1
        02 user_message  s1 t1 "TURN-LONG please"
        03 tool_start    s1 t1 Bash toolu_TURNLONG_0_0
        04 user_message  s1 t1 "TURN-TWO please"
        05 tool_finish   s1 t1 Bash toolu_TURNLONG_0_0
        06 step_finish   s1 t1 batch:toolu_TURNLONG_0_0
        07 turn_end      s1 t1
        08 session_end   s1 t2
    "#]],
    );
}

/// Replays a recording and compares what its payloads mean.
fn check(agent: &str, folder: &str, expected: Expect) {
    let mut names = Names::default();
    let mut lines = String::new();
    for (number, event, payload) in recording(folder) {
        let parsed = parse_alone(agent, Some(&event), &payload);
        assert_eq!(parsed.problems, Vec::<String>::new(), "{folder}/{number}-{event} is a payload of the real agent");
        for event in parsed.events {
            writeln!(lines, "{number} {}", names.line(&event, agent)).expect("a string takes all");
        }
    }
    expected.assert_eq(&lines);
}

/// Returns the payloads of a recording in order: number, name of the event, bytes.
fn recording(folder: &str) -> Vec<(String, String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/agents").join(folder);
    let files = fs::read_dir(&folder).expect("the recordings are in the repository");
    let mut names: Vec<_> =
        files.map(|file| file.expect("readable").file_name().into_string().expect("UTF-8")).collect();
    names.retain(|name| name.ends_with(".json"));
    names.sort();
    let payload = |name: String| {
        let (number, event) = name.trim_end_matches(".json").split_once('-').expect("NUMBER-EVENT.json");
        (number.to_owned(), event.to_owned(), fs::read(folder.join(&name)).expect("readable"))
    };
    names.into_iter().map(payload).collect()
}

/// Short names for long ids.
#[derive(Default)]
struct Names(HashMap<String, String>);

impl Names {
    fn short(&mut self, prefix: char, id: &str) -> String {
        let count = self.0.values().filter(|name| name.starts_with(prefix) && !name.contains('/')).count() + 1;
        self.0.entry(format!("{prefix}{id}")).or_insert_with(|| format!("{prefix}{count}")).clone()
    }

    fn session(&mut self, id: &str) -> String {
        match id.split_once('/') {
            None => self.short('s', id),
            Some((root, sub)) => {
                let root = self.short('s', root);
                let sub = self.short('a', sub);
                format!("{root}/{sub}")
            }
        }
    }

    fn line(&mut self, event: &Event, agent: &str) -> String {
        assert_eq!(event.agent, agent, "every event names its agent");
        let mut line = format!("{:13} {}", event.event.name(), self.session(&event.session_id));
        let parent = event.parent_session_id.as_ref().map(|parent| format!("below {}", self.session(parent)));
        let message = event.message_id.as_ref().map(|id| self.short('m', id));
        let turn = event.turn_id.as_ref().map(|id| self.short('t', id));
        let prompt = event.prompt.as_ref().map(|prompt| format!("{prompt:?}"));
        let cwd =
            event.cwd.as_ref().filter(|cwd| cwd.as_os_str() != "/workspace").map(|cwd| format!("in {}", cwd.display()));
        let paths = (!event.paths.is_empty()).then(|| format!("{:?}", event.paths));
        let step = event.step_id.clone();
        let tool = event.tool_name.clone();
        for part in
            [parent, message, turn, step, tool, event.tool_use_id.clone(), paths, prompt, cwd].into_iter().flatten()
        {
            line.push(' ');
            line.push_str(&part);
        }
        line
    }
}
