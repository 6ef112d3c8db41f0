//! Codex.

use expect_test::expect;

use super::check;

#[test]
fn codex_with_a_resume_and_parallel_tools() {
    check(
        "codex",
        "codex-0.169.0",
        expect![[r#"
            01 session_start s1
            02 user_message  s1 t1 "TURN-ONE please"
            03 step_start    s1 t1
            04 tool_start    s1 t1 apply_patch call_TURNONE_0_0 ["/workspace/hello.txt"]
            05 tool_finish   s1 t1 apply_patch call_TURNONE_0_0 ["/workspace/hello.txt"]
            06 step_start    s1 t1
            07 tool_start    s1 t1 apply_patch call_TURNONE_1_0 ["/workspace/hello.txt"]
            08 tool_finish   s1 t1 apply_patch call_TURNONE_1_0 ["/workspace/hello.txt"]
            09 step_start    s1 t1
            10 tool_start    s1 t1 Bash call_TURNONE_2_0 $ "echo one > one.txt && cat hello.txt"
            11 tool_start    s1 t1 Bash call_TURNONE_2_1 $ "echo two > two.txt"
            12 tool_finish   s1 t1 Bash call_TURNONE_2_1 $ "echo two > two.txt"
            13 tool_finish   s1 t1 Bash call_TURNONE_2_0 $ "echo one > one.txt && cat hello.txt"
            14 step_start    s1 t1
            15 turn_end      s1 t1
            16 session_end   s1
            17 session_start s1
            18 user_message  s1 t2 "TURN-TWO please"
            19 step_start    s1 t2
            20 tool_start    s1 t2 Bash call_TURNTWO_0_0 $ "rm one.txt && echo three > three.txt"
            21 tool_finish   s1 t2 Bash call_TURNTWO_0_0 $ "rm one.txt && echo three > three.txt"
            22 step_start    s1 t2
            23 tool_start    s1 t2 Bash call_TURNTWO_1_0 $ "exit 3"
            24 tool_finish   s1 t2 Bash call_TURNTWO_1_0 $ "exit 3"
            25 step_start    s1 t2
            26 turn_end      s1 t2
            27 session_end   s1
        "#]],
    );
}

/// Codex at a terminal with an interrupt and a steered message.
#[test]
fn codex_terminal_interrupt_and_steered_message() {
    check(
        "codex",
        "codex-0.169.0-interactive-interrupt",
        expect![[r#"
            01 session_start s1
            02 user_message  s1 t1 "TURN-LONG please"
            03 step_start    s1 t1
            04 tool_start    s1 t1 Bash call_TURNLONG_0_0 $ "echo started > started.txt; sleep 20; echo late > late.txt"
            05 turn_end      s1 t1
            06 user_message  s1 t2 "TURN-ONE please"
            07 step_start    s1 t2
            08 tool_start    s1 t2 Bash call_TURNONE_0_0 $ "cat > '/workspace/hello.txt' <<'XEOF'\nalpha\nXEOF"
            09 tool_finish   s1 t2 Bash call_TURNONE_0_0 $ "cat > '/workspace/hello.txt' <<'XEOF'\nalpha\nXEOF"
            10 step_start    s1 t2
            11 tool_start    s1 t2 Bash call_TURNONE_1_0 $ "sed -i 's/alpha/beta/' '/workspace/hello.txt'"
            12 tool_finish   s1 t2 Bash call_TURNONE_1_0 $ "sed -i 's/alpha/beta/' '/workspace/hello.txt'"
            13 step_start    s1 t2
            14 tool_start    s1 t2 Bash call_TURNONE_2_0 $ "echo one > one.txt && cat hello.txt"
            15 tool_start    s1 t2 Bash call_TURNONE_2_1 $ "echo two > two.txt"
            16 tool_finish   s1 t2 Bash call_TURNONE_2_1 $ "echo two > two.txt"
            17 tool_finish   s1 t2 Bash call_TURNONE_2_0 $ "echo one > one.txt && cat hello.txt"
            18 step_start    s1 t2
            19 turn_end      s1 t2
            20 session_end   s1
        "#]],
    );
}

#[test]
fn codex_stopped_by_a_signal() {
    check(
        "codex",
        "codex-0.169.0-interrupt",
        expect![[r#"
            01 session_start s1
            02 user_message  s1 t1 "TURN-LONG please"
            03 step_start    s1 t1
            04 tool_start    s1 t1 Bash call_TURNLONG_0_0 $ "echo started > started.txt; sleep 20; echo late > late.txt"
            05 turn_end      s1 t1
            06 session_end   s1
        "#]],
    );
}

#[test]
fn codex_with_a_sub_agent() {
    check(
        "codex",
        "codex-0.169.0-subagent",
        expect![[r#"
            01 session_start s1
            02 user_message  s1 t1 "TURN-SUB please"
            03 step_start    s1 t1
            04 tool_start    s1 t1 spawn_agent call_TURNSUB_0_0
            05 tool_finish   s1 t1 spawn_agent call_TURNSUB_0_0
            06 session_start s1/a1 below s1 t2
            08 step_start    s1 t1
            09 step_start    s1/a1 below s1 t2
            10 tool_start    s1 t1 multi_agent_v1wait_agent call_TURNSUB_1_0
            11 tool_start    s1/a1 below s1 t2 Bash call_SUBAGENTJOB_0_0 $ "echo sub > sub.txt"
            12 tool_finish   s1/a1 below s1 t2 Bash call_SUBAGENTJOB_0_0 $ "echo sub > sub.txt"
            13 step_start    s1/a1 below s1 t2
            14 turn_end      s1/a1 below s1 t2
            15 tool_finish   s1 t1 multi_agent_v1wait_agent call_TURNSUB_1_0
            16 step_start    s1 t1
            17 turn_end      s1 t1
            18 session_end   s1
        "#]],
    );
}
