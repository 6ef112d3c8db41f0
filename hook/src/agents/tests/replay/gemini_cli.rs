//! Gemini CLI.

use expect_test::expect;

use super::check;

/// Gemini CLI with parallel tools and a sub-agent.
#[test]
fn gemini_cli_parallel_tools_and_sub_agent() {
    check(
        "gemini-cli",
        "gemini-cli-0.61.0",
        expect![[r#"
            01 session_start s1
            02 user_message  s1 "TURN-ONE please"
            04 step_start    s1
            08 tool_start    s1 write_file ["/workspace/hello.txt"]
            09 tool_finish   s1 write_file ["/workspace/hello.txt"]
            11 step_start    s1
            14 tool_start    s1 replace ["/workspace/hello.txt"]
            15 tool_finish   s1 replace ["/workspace/hello.txt"]
            17 step_start    s1
            21 tool_start    s1 run_shell_command $ "echo one > one.txt && cat hello.txt"
            22 tool_start    s1 run_shell_command $ "echo two > two.txt"
            23 tool_finish   s1 run_shell_command $ "echo one > one.txt && cat hello.txt"
            24 tool_finish   s1 run_shell_command $ "echo two > two.txt"
            26 step_start    s1
            29 turn_end      s1
            30 session_end   s1
            31 session_start s1
            32 user_message  s1 "TURN-TWO please"
            34 step_start    s1
            37 tool_start    s1 run_shell_command $ "rm one.txt && echo three > three.txt"
            38 tool_finish   s1 run_shell_command $ "rm one.txt && echo three > three.txt"
            40 step_start    s1
            43 tool_start    s1 run_shell_command $ "exit 3"
            44 tool_finish   s1 run_shell_command $ "exit 3"
            46 step_start    s1
            49 turn_end      s1
            50 session_end   s1
            51 session_start s1
            52 user_message  s1 "TURN-SUB please"
            54 step_start    s1
            57 tool_start    s1 invoke_agent
            58 step_start    s1
            61 tool_start    s1 run_shell_command $ "echo sub > sub.txt"
            62 tool_finish   s1 run_shell_command $ "echo sub > sub.txt"
            64 step_start    s1
            67 tool_start    s1 complete_task
            68 tool_finish   s1 complete_task
            69 tool_finish   s1 invoke_agent
            71 step_start    s1
            74 turn_end      s1
            75 session_end   s1
        "#]],
    );
}

/// Gemini CLI at a terminal with an interrupted turn.
#[test]
fn gemini_cli_terminal_turn_interrupted() {
    check(
        "gemini-cli",
        "gemini-cli-0.61.0-interactive-interrupt",
        expect![[r#"
            01 session_start s1
            02 user_message  s1 "TURN-LONG please"
            04 step_start    s1
            07 tool_start    s1 run_shell_command $ "echo started > started.txt; sleep 20; echo late > late.txt"
            08 tool_finish   s1 run_shell_command $ "echo started > started.txt; sleep 20; echo late > late.txt"
            09 user_message  s1 "TURN-ONE please"
            11 step_start    s1
            15 tool_start    s1 write_file ["/workspace/hello.txt"]
            16 tool_finish   s1 write_file ["/workspace/hello.txt"]
            18 step_start    s1
            21 tool_start    s1 replace ["/workspace/hello.txt"]
            22 tool_finish   s1 replace ["/workspace/hello.txt"]
            24 step_start    s1
            28 tool_start    s1 run_shell_command $ "echo one > one.txt && cat hello.txt"
            29 tool_start    s1 run_shell_command $ "echo two > two.txt"
            30 tool_finish   s1 run_shell_command $ "echo one > one.txt && cat hello.txt"
            31 tool_finish   s1 run_shell_command $ "echo two > two.txt"
            33 step_start    s1
            36 turn_end      s1
            37 session_end   s1
            38 session_end   s1
        "#]],
    );
}
