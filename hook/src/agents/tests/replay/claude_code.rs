//! Claude Code.

use ckpt_schema::event::ToolKind;
use expect_test::expect;

use super::{check, parse_alone, recording};

/// Claude Code with a resume a failure and a background sub-agent.
///
/// Invariant `truth/prompts`: A prompt made by a program is not a user message.
#[test]
fn claude_code_with_resume_failure_and_background_agent() {
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
            10 tool_start    s1 t1 Bash toolu_TURNONE_2_0 $ "echo one > one.txt && cat hello.txt"
            11 tool_finish   s1 t1 Bash toolu_TURNONE_2_0 $ "echo one > one.txt && cat hello.txt"
            12 tool_start    s1 t1 Bash toolu_TURNONE_2_1 $ "echo two > two.txt"
            13 tool_finish   s1 t1 Bash toolu_TURNONE_2_1 $ "echo two > two.txt"
            14 step_finish   s1 t1 batch:toolu_TURNONE_2_0
            16 turn_end      s1 t1
            17 session_end   s1 t1
            18 session_start s1
            19 user_message  s1 t2 "TURN-TWO please"
            20 tool_start    s1 t2 Bash toolu_TURNTWO_0_0 $ "rm one.txt && echo three > three.txt"
            21 tool_finish   s1 t2 Bash toolu_TURNTWO_0_0 $ "rm one.txt && echo three > three.txt"
            22 step_finish   s1 t2 batch:toolu_TURNTWO_0_0
            23 tool_start    s1 t2 Bash toolu_TURNTWO_1_0 $ "exit 3"
            24 tool_finish   s1 t2 Bash toolu_TURNTWO_1_0 $ "exit 3"
            25 step_finish   s1 t2 batch:toolu_TURNTWO_1_0
            27 turn_end      s1 t2
            28 session_end   s1 t2
            29 session_start s1
            30 user_message  s1 t3 "TURN-SUB please"
            31 tool_start    s1 t3 Agent toolu_TURNSUB_0_0
            32 tool_finish   s1 t3 Agent toolu_TURNSUB_0_0
            33 session_start s1/a1 below s1 t3
            34 step_finish   s1 t3 batch:toolu_TURNSUB_0_0
            36 tool_start    s1/a1 below s1 t3 Bash toolu_SUBAGENTJOB_0_0 $ "echo sub > sub.txt"
            37 tool_finish   s1/a1 below s1 t3 Bash toolu_SUBAGENTJOB_0_0 $ "echo sub > sub.txt"
            38 turn_end      s1 t3
            39 step_finish   s1/a1 below s1 t3 batch:toolu_SUBAGENTJOB_0_0
            40 turn_end      s1/a1 below s1 t3
            43 turn_end      s1 t4
            44 session_end   s1 t4
        "#]],
    );
}

/// Claude Code at a terminal with an interrupted turn.
#[test]
fn claude_code_terminal_turn_interrupted() {
    check(
        "claude-code",
        "claude-code-2.1.329-interactive",
        expect![[r#"
            01 session_start s1
            02 user_message  s1 t1 "TURN-TWO please"
            03 tool_start    s1 t1 Bash toolu_TURNTWO_0_0 $ "rm one.txt && echo three > three.txt"
            04 tool_finish   s1 t1 Bash toolu_TURNTWO_0_0 $ "rm one.txt && echo three > three.txt"
            05 step_finish   s1 t1 batch:toolu_TURNTWO_0_0
            06 tool_start    s1 t1 Bash toolu_TURNTWO_1_0 $ "exit 3"
            07 tool_finish   s1 t1 Bash toolu_TURNTWO_1_0 $ "exit 3"
            08 step_finish   s1 t1 batch:toolu_TURNTWO_1_0
            09 turn_end      s1 t1
            10 user_message  s1 t2 "TURN-LONG please"
            11 tool_start    s1 t2 Bash toolu_TURNLONG_0_0 $ "echo started > started.txt; sleep 20; echo late > late.txt"
            12 user_message  s1 t3 "TURN-ONE please"
            13 tool_start    s1 t3 Write toolu_TURNONE_0_0 ["/workspace/hello.txt"]
            14 tool_finish   s1 t3 Write toolu_TURNONE_0_0 ["/workspace/hello.txt"]
            15 step_finish   s1 t3 batch:toolu_TURNONE_0_0
            16 tool_start    s1 t3 Edit toolu_TURNONE_1_0 ["/workspace/hello.txt"]
            17 tool_finish   s1 t3 Edit toolu_TURNONE_1_0 ["/workspace/hello.txt"]
            18 step_finish   s1 t3 batch:toolu_TURNONE_1_0
            19 tool_start    s1 t3 Bash toolu_TURNONE_2_0 $ "echo one > one.txt && cat hello.txt"
            20 tool_finish   s1 t3 Bash toolu_TURNONE_2_0 $ "echo one > one.txt && cat hello.txt"
            21 tool_start    s1 t3 Bash toolu_TURNONE_2_1 $ "echo two > two.txt"
            22 tool_finish   s1 t3 Bash toolu_TURNONE_2_1 $ "echo two > two.txt"
            23 step_finish   s1 t3 batch:toolu_TURNONE_2_0
            24 turn_end      s1 t3
            25 session_end   s1 t4
        "#]],
    );
}

/// Claude Code with a message sent while a tool runs.
#[test]
fn claude_code_message_while_a_tool_runs() {
    check(
        "claude-code",
        "claude-code-2.1.329-queued-message",
        expect![[r#"
            01 session_start s1
            02 user_message  s1 t1 "TURN-LONG please"
            03 tool_start    s1 t1 Bash toolu_TURNLONG_0_0 $ "echo started > started.txt; sleep 6; echo late > late.txt"
            04 user_message  s1 t1 "TURN-TWO please"
            05 tool_finish   s1 t1 Bash toolu_TURNLONG_0_0 $ "echo started > started.txt; sleep 6; echo late > late.txt"
            06 step_finish   s1 t1 batch:toolu_TURNLONG_0_0
            07 turn_end      s1 t1
            08 session_end   s1 t2
        "#]],
    );
}

/// An edit of a text that is not there beside a shell, an input that does not fit, and a tool that does not exist.
const REFUSED: &str = "claude-code-2.1.329-refused";

/// Claude Code with calls that it refused before a tool ran.
#[test]
fn claude_code_calls_refused_before_a_tool() {
    check(
        "claude-code",
        REFUSED,
        expect![[r#"
            01 session_start s1
            02 user_message  s1 t1 "TURN-REFUSED please"
            03 tool_start    s1 t1 Bash toolu_TURNREFUSED_0_1 $ "echo fine > fine.txt"
            04 tool_finish   s1 t1 Bash toolu_TURNREFUSED_0_1 $ "echo fine > fine.txt"
            05 step_finish   s1 t1 batch:toolu_TURNREFUSED_0_0
            06 step_finish   s1 t1 batch:toolu_TURNREFUSED_1_0
            07 step_finish   s1 t1 batch:toolu_TURNREFUSED_2_0
            09 turn_end      s1 t1
            10 session_end   s1 t1
        "#]],
    );
}

/// A call that Claude Code refused is known to have changed nothing.
#[test]
fn call_refused_by_claude_code_changed_nothing() {
    let batches = recording(REFUSED).into_iter();
    let batches = batches.filter(|(_, event, _)| event == "PostToolBatch");
    let parsed =
        batches.map(|(_, event, payload)| parse_alone("claude-code", Some(&event), &payload));
    let tools = parsed
        .flat_map(|parsed| parsed.events)
        .flat_map(|event| event.tools);
    let kinds: Vec<_> = tools
        .map(|tool| (tool.tool_name.unwrap_or_default(), tool.tool_kind))
        .collect();
    let expected = [
        ("Edit", Some(ToolKind::Read)),
        // It ran, and no one but its events knows what it did.
        ("Bash", None),
        ("Write", Some(ToolKind::Read)),
        ("NoSuchTool", Some(ToolKind::Read)),
    ];
    assert_eq!(
        kinds,
        expected.map(|(name, kind)| (name.to_owned(), kind)),
        "no event of a tool came of three of them"
    );
}
