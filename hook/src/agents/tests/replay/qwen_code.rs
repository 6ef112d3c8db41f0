//! Qwen Code.

use expect_test::expect;

use ckpt_schema::event::EventKind;

use super::check;
use crate::agents::tests::parse_alone;

#[test]
fn qwen_code_with_a_background_sub_agent() {
    check(
        "qwen-code",
        "qwen-code-0.24.4",
        expect![[r#"
            01 session_start s1
            03 user_message  s1 t1 "TURN-ONE please"
            04 tool_start    s1 t1 write_file toolu_1795187984180_73japerl7 ["/workspace/hello.txt"]
            05 tool_finish   s1 t1 write_file toolu_1795187984180_73japerl7 ["/workspace/hello.txt"]
            06 step_finish   s1 t1 batch:call_TURNONE_0_0
            07 step_start    s1 t1
            08 tool_start    s1 t1 edit toolu_1795187984359_1ceaf1bl3 ["/workspace/hello.txt"]
            09 tool_finish   s1 t1 edit toolu_1795187984359_1ceaf1bl3 ["/workspace/hello.txt"]
            10 step_finish   s1 t1 batch:call_TURNONE_1_0
            11 step_start    s1 t1
            12 tool_start    s1 t1 run_shell_command toolu_1795187984686_oun654e93 $ "echo one > one.txt && cat hello.txt"
            13 tool_finish   s1 t1 run_shell_command toolu_1795187984686_oun654e93 $ "echo one > one.txt && cat hello.txt"
            14 step_finish   s1 t1 batch:call_TURNONE_2_0
            15 tool_start    s1 t1 run_shell_command toolu_1795187984792_qdir9ssow $ "echo two > two.txt"
            16 tool_finish   s1 t1 run_shell_command toolu_1795187984792_qdir9ssow $ "echo two > two.txt"
            17 step_finish   s1 t1 batch:call_TURNONE_2_1
            18 step_start    s1 t1
            19 turn_end      s1 t1
            20 session_start s1
            22 user_message  s1 t2 "TURN-TWO please"
            23 tool_start    s1 t2 run_shell_command toolu_1795187989265_pckoq0o7h $ "rm one.txt && echo three > three.txt"
            24 tool_finish   s1 t2 run_shell_command toolu_1795187989265_pckoq0o7h $ "rm one.txt && echo three > three.txt"
            25 step_finish   s1 t2 batch:call_TURNTWO_0_0
            26 step_start    s1 t2
            27 tool_start    s1 t2 run_shell_command toolu_1795187989563_ucgyo5lac $ "exit 3"
            28 tool_finish   s1 t2 run_shell_command toolu_1795187989563_ucgyo5lac $ "exit 3"
            29 step_finish   s1 t2 batch:call_TURNTWO_1_0
            30 step_start    s1 t2
            31 turn_end      s1 t2
            32 session_start s1
            34 user_message  s1 t3 "TURN-SUB please"
            35 tool_start    s1 t3 agent toolu_1795187995250_57ecagjid
            36 session_start s1/a1 below s1 t3
            37 tool_finish   s1 t3 agent toolu_1795187995250_57ecagjid
            38 step_finish   s1 t3 batch:call_TURNSUB_0_0
            39 step_start    s1 t3
            40 turn_end      s1 t3
            41 tool_start    s1/a1 below s1 t3 run_shell_command toolu_1795187996139_0w2n2nkm1 $ "echo sub > sub.txt"
            42 tool_finish   s1/a1 below s1 t3 run_shell_command toolu_1795187996139_0w2n2nkm1 $ "echo sub > sub.txt"
            43 step_finish   s1/a1 below s1 t3 batch:call_SUBAGENTJOB_0_0
            44 turn_end      s1/a1 below s1 t3
            45 turn_end      s1 t3
        "#]],
    );
}

/// Qwen Code at a terminal with an interrupted turn.
#[test]
fn qwen_code_terminal_turn_interrupted() {
    check(
        "qwen-code",
        "qwen-code-0.24.4-interactive-interrupt",
        expect![[r#"
            01 session_start s1
            02 user_message  s1 t1 "TURN-LONG please"
            03 tool_start    s1 t1 run_shell_command toolu_1795190308976_25mgpb6ig $ "echo started > started.txt; sleep 20; echo late > late.txt"
            04 tool_finish   s1 t1 run_shell_command toolu_1795190308976_25mgpb6ig $ "echo started > started.txt; sleep 20; echo late > late.txt"
            06 user_message  s1 t2 "TURN-ONE please"
            07 tool_start    s1 t2 write_file toolu_1795190317689_ivwpjk4kp ["/workspace/hello.txt"]
            08 tool_finish   s1 t2 write_file toolu_1795190317689_ivwpjk4kp ["/workspace/hello.txt"]
            09 step_finish   s1 t2 batch:call_TURNONE_0_0
            10 step_start    s1 t2
            11 tool_start    s1 t2 edit toolu_1795190318045_zp3w6lhys ["/workspace/hello.txt"]
            12 tool_finish   s1 t2 edit toolu_1795190318045_zp3w6lhys ["/workspace/hello.txt"]
            13 step_finish   s1 t2 batch:call_TURNONE_1_0
            14 step_start    s1 t2
            15 tool_start    s1 t2 run_shell_command toolu_1795190318421_pmrncney4 $ "echo one > one.txt && cat hello.txt"
            16 tool_finish   s1 t2 run_shell_command toolu_1795190318421_pmrncney4 $ "echo one > one.txt && cat hello.txt"
            17 tool_start    s1 t2 run_shell_command toolu_1795190318557_nz1b32uit $ "echo two > two.txt"
            18 tool_finish   s1 t2 run_shell_command toolu_1795190318557_nz1b32uit $ "echo two > two.txt"
            19 step_finish   s1 t2 batch:call_TURNONE_2_0
            20 step_start    s1 t2
            21 turn_end      s1 t2
            23 session_end   s1
        "#]],
    );
}

/// Qwen Code's list of background tasks does not end a shell that goes on.
///
/// As 0.24.4 sends them while the shell goes on.
#[test]
fn qwen_codes_task_list_ends_no_shell() {
    let background = |event: &str, more: &str| {
        let payload =
            format!(r#"{{"session_id":"s","cwd":"/w","hook_event_name":"{event}",{more}}}"#);
        let parsed = parse_alone("qwen-code", None, payload.as_bytes());
        let [event] = parsed.events.as_slice() else {
            panic!("one event, not {parsed:?}")
        };
        (event.event, event.background)
    };
    let shell = r#""tool_name":"run_shell_command","tool_use_id":"t","tool_input":{"command":"make","is_background":true}"#;
    assert_eq!(
        background("PostToolUse", shell),
        (EventKind::ToolFinish, Some(true))
    );
    let nothing_told = (EventKind::TurnEnd, None);
    assert_eq!(background("Stop", r#""background_tasks":[]"#), nothing_told);
}
