//! Claude Code.

use expect_test::expect;

use super::check;

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
