//! Cline.

use expect_test::expect;

use super::check;

#[test]
fn cline_with_three_prompts_and_a_sub_agent() {
    check(
        "cline",
        "cline-cli-3.0.65",
        expect![[r#"
            01 user_message  s1 t1
            02 user_message  s1 t1
            02 tool_start    s1 t1 editor call_TURNONE_0_0 ["/workspace/hello.txt"]
            03 tool_finish   s1 t1 editor call_TURNONE_0_0 ["/workspace/hello.txt"]
            03 step_finish   s1 t1 tool:call_TURNONE_0_0 call_TURNONE_0_0
            04 tool_start    s1 t1 editor call_TURNONE_1_0 ["/workspace/hello.txt"]
            05 tool_finish   s1 t1 editor call_TURNONE_1_0 ["/workspace/hello.txt"]
            05 step_finish   s1 t1 tool:call_TURNONE_1_0 call_TURNONE_1_0
            06 tool_start    s1 t1 run_commands call_TURNONE_2_0 $ "echo one > one.txt && cat hello.txt"
            07 tool_start    s1 t1 run_commands call_TURNONE_2_1 $ "echo two > two.txt"
            08 tool_finish   s1 t1 run_commands call_TURNONE_2_0 $ "echo one > one.txt && cat hello.txt"
            08 step_finish   s1 t1 tool:call_TURNONE_2_0 call_TURNONE_2_0
            09 tool_finish   s1 t1 run_commands call_TURNONE_2_1 $ "echo two > two.txt"
            09 step_finish   s1 t1 tool:call_TURNONE_2_1 call_TURNONE_2_1
            10 turn_end      s1 t1
            11 user_message  s2 t2
            12 user_message  s2 t2
            12 tool_start    s2 t2 run_commands call_TURNTWO_0_0 $ "rm one.txt && echo three > three.txt"
            13 tool_finish   s2 t2 run_commands call_TURNTWO_0_0 $ "rm one.txt && echo three > three.txt"
            13 step_finish   s2 t2 tool:call_TURNTWO_0_0 call_TURNTWO_0_0
            14 tool_start    s2 t2 run_commands call_TURNTWO_1_0 $ "exit 3"
            15 tool_finish   s2 t2 run_commands call_TURNTWO_1_0 $ "exit 3"
            15 step_finish   s2 t2 tool:call_TURNTWO_1_0 call_TURNTWO_1_0
            16 turn_end      s2 t2
            17 user_message  s3 t3
            18 user_message  s3 t3
            18 tool_start    s3 t3 spawn_agent call_TURNSUB_0_0
            19 session_start s3/a1 below s3 t4
            20 tool_start    s3/a1 below s3 t4 run_commands call_SUBAGENTJOB_0_0 $ "echo sub > sub.txt"
            21 tool_finish   s3/a1 below s3 t4 run_commands call_SUBAGENTJOB_0_0 $ "echo sub > sub.txt"
            21 step_finish   s3/a1 below s3 t4 tool:call_SUBAGENTJOB_0_0 call_SUBAGENTJOB_0_0
            22 turn_end      s3/a1 below s3 t4
            23 tool_finish   s3 t3 spawn_agent call_TURNSUB_0_0
            23 step_finish   s3 t3 tool:call_TURNSUB_0_0 call_TURNSUB_0_0
            24 turn_end      s3 t3
        "#]],
    );
}

/// Cline with a message that was sent while a tool ran.
#[test]
fn cline_message_sent_during_a_tool() {
    check(
        "cline",
        "cline-cli-3.0.65-interactive-steer",
        expect![[r#"
            01 user_message  s1 t1
            02 user_message  s1 t1
            02 tool_start    s1 t1 run_commands call_TURNLONG_0_0 $ "echo started > started.txt; sleep 6; echo late > late.txt"
            03 tool_finish   s1 t1 run_commands call_TURNLONG_0_0 $ "echo started > started.txt; sleep 6; echo late > late.txt"
            03 step_finish   s1 t1 tool:call_TURNLONG_0_0 call_TURNLONG_0_0
            04 user_message  s1 t1 "TURN-AGAIN please"
            05 tool_start    s1 t1 editor call_TURNAGAIN_0_0 ["/workspace/hello.txt"]
            06 tool_finish   s1 t1 editor call_TURNAGAIN_0_0 ["/workspace/hello.txt"]
            06 step_finish   s1 t1 tool:call_TURNAGAIN_0_0 call_TURNAGAIN_0_0
            07 tool_start    s1 t1 run_commands call_TURNAGAIN_1_0 $ "echo again > again.txt && echo again >> hello.txt && rm README.md"
            08 tool_finish   s1 t1 run_commands call_TURNAGAIN_1_0 $ "echo again > again.txt && echo again >> hello.txt && rm README.md"
            08 step_finish   s1 t1 tool:call_TURNAGAIN_1_0 call_TURNAGAIN_1_0
            09 turn_end      s1 t1
        "#]],
    );
}
