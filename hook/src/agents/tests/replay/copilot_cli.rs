//! Copilot CLI.

use expect_test::expect;

use super::check;

#[test]
fn copilot_cli_with_a_sub_agent() {
    check(
        "copilot-cli",
        "copilot-cli-1.0.102",
        expect![[r#"
            02 user_message  s1 "TURN-ONE please"
            02 step_start    s1
            04 tool_start    s1 create ["/workspace/hello.txt"]
            06 tool_finish   s1 create ["/workspace/hello.txt"]
            06 step_start    s1
            07 tool_start    s1 edit ["/workspace/hello.txt"]
            09 tool_finish   s1 edit ["/workspace/hello.txt"]
            09 step_start    s1
            10 tool_start    s1 bash
            11 tool_start    s1 bash
            14 tool_finish   s1 bash
            14 step_start    s1
            15 tool_finish   s1 bash
            15 step_start    s1
            16 turn_end      s1
            17 session_end   s1
            19 user_message  s1 "TURN-TWO please"
            19 step_start    s1
            21 tool_start    s1 bash
            23 tool_finish   s1 bash
            23 step_start    s1
            24 tool_start    s1 bash
            26 tool_finish   s1 bash
            26 step_start    s1
            27 turn_end      s1
            28 session_end   s1
            30 user_message  s1 "TURN-SUB please"
            30 step_start    s1
            32 tool_start    s1 task
            33 session_start s1/a1 below s1
            36 tool_start    s1/a1 below s1 bash
            38 tool_finish   s1/a1 below s1 bash
            38 step_start    s1/a1 below s1
            39 turn_end      s1/a1 below s1
            40 turn_end      s1/a1 below s1
            41 tool_finish   s1 task
            41 step_start    s1
            42 turn_end      s1
            43 session_end   s1
        "#]],
    );
}

#[test]
fn copilot_cli_at_a_terminal_with_a_background_shell() {
    check(
        "copilot-cli",
        "copilot-cli-1.0.102-interactive-steer",
        expect![[r#"
            02 user_message  s1 "TURN-LONG please"
            02 step_start    s1
            04 tool_start    s1 bash
            06 tool_finish   s1 bash
            06 step_start    s1
            07 tool_start    s1 bash
            09 tool_finish   s1 bash
            09 step_start    s1
            10 tool_start    s1 bash
            12 tool_finish   s1 bash
            12 step_start    s1
            13 turn_end      s1
            16 turn_end      s1
            17 session_end   s1
        "#]],
    );
}
