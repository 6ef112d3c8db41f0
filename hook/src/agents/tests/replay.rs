//! Recorded conversations, payload by payload, as the events that we make of them.
//!
//! A line is a payload that means something: its number in the recording, and what it means. Ids are shortened in the
//! order in which they come: `s1` is a session, `s1/a` a sub-agent's, `t1` a turn, `m1` a message.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;

use ckpt_schema::event::Event;
use expect_test::{Expect, expect};
use serde_json::Value;

use super::*;

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
        10 tool_start    s1 t1 Bash call_TURNONE_2_0
        11 tool_start    s1 t1 Bash call_TURNONE_2_1
        12 tool_finish   s1 t1 Bash call_TURNONE_2_1
        13 tool_finish   s1 t1 Bash call_TURNONE_2_0
        14 step_start    s1 t1
        15 turn_end      s1 t1
        16 session_end   s1
        17 session_start s1
        18 user_message  s1 t2 "TURN-TWO please"
        19 step_start    s1 t2
        20 tool_start    s1 t2 Bash call_TURNTWO_0_0
        21 tool_finish   s1 t2 Bash call_TURNTWO_0_0
        22 step_start    s1 t2
        23 tool_start    s1 t2 Bash call_TURNTWO_1_0
        24 tool_finish   s1 t2 Bash call_TURNTWO_1_0
        25 step_start    s1 t2
        26 turn_end      s1 t2
        27 session_end   s1
    "#]],
    );
}

#[test]
fn codex_at_a_terminal_with_an_interrupt_and_a_steered_message() {
    check(
        "codex",
        "codex-0.169.0-interactive-interrupt",
        expect![[r#"
        01 session_start s1
        02 user_message  s1 t1 "TURN-LONG please"
        03 step_start    s1 t1
        04 tool_start    s1 t1 Bash call_TURNLONG_0_0
        05 turn_end      s1 t1
        06 user_message  s1 t2 "TURN-ONE please"
        07 step_start    s1 t2
        08 tool_start    s1 t2 Bash call_TURNONE_0_0
        09 tool_finish   s1 t2 Bash call_TURNONE_0_0
        10 step_start    s1 t2
        11 tool_start    s1 t2 Bash call_TURNONE_1_0
        12 tool_finish   s1 t2 Bash call_TURNONE_1_0
        13 step_start    s1 t2
        14 tool_start    s1 t2 Bash call_TURNONE_2_0
        15 tool_start    s1 t2 Bash call_TURNONE_2_1
        16 tool_finish   s1 t2 Bash call_TURNONE_2_1
        17 tool_finish   s1 t2 Bash call_TURNONE_2_0
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
        04 tool_start    s1 t1 Bash call_TURNLONG_0_0
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
        11 tool_start    s1/a1 below s1 t2 Bash call_SUBAGENTJOB_0_0
        12 tool_finish   s1/a1 below s1 t2 Bash call_SUBAGENTJOB_0_0
        13 step_start    s1/a1 below s1 t2
        14 turn_end      s1/a1 below s1 t2
        15 tool_finish   s1 t1 multi_agent_v1wait_agent call_TURNSUB_1_0
        16 step_start    s1 t1
        17 turn_end      s1 t1
        18 session_end   s1
    "#]],
    );
}

#[test]
fn gemini_cli_with_parallel_tools_and_a_sub_agent() {
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
        21 tool_start    s1 run_shell_command
        22 tool_start    s1 run_shell_command
        23 tool_finish   s1 run_shell_command
        24 tool_finish   s1 run_shell_command
        26 step_start    s1
        29 turn_end      s1
        30 session_end   s1
        31 session_start s1
        32 user_message  s1 "TURN-TWO please"
        34 step_start    s1
        37 tool_start    s1 run_shell_command
        38 tool_finish   s1 run_shell_command
        40 step_start    s1
        43 tool_start    s1 run_shell_command
        44 tool_finish   s1 run_shell_command
        46 step_start    s1
        49 turn_end      s1
        50 session_end   s1
        51 session_start s1
        52 user_message  s1 "TURN-SUB please"
        54 step_start    s1
        57 tool_start    s1 invoke_agent
        58 step_start    s1
        61 tool_start    s1 run_shell_command
        62 tool_finish   s1 run_shell_command
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

#[test]
fn gemini_cli_at_a_terminal_with_an_interrupted_turn() {
    check(
        "gemini-cli",
        "gemini-cli-0.61.0-interactive-interrupt",
        expect![[r#"
        01 session_start s1
        02 user_message  s1 "TURN-LONG please"
        04 step_start    s1
        07 tool_start    s1 run_shell_command
        08 tool_finish   s1 run_shell_command
        09 user_message  s1 "TURN-ONE please"
        11 step_start    s1
        15 tool_start    s1 write_file ["/workspace/hello.txt"]
        16 tool_finish   s1 write_file ["/workspace/hello.txt"]
        18 step_start    s1
        21 tool_start    s1 replace ["/workspace/hello.txt"]
        22 tool_finish   s1 replace ["/workspace/hello.txt"]
        24 step_start    s1
        28 tool_start    s1 run_shell_command
        29 tool_start    s1 run_shell_command
        30 tool_finish   s1 run_shell_command
        31 tool_finish   s1 run_shell_command
        33 step_start    s1
        36 turn_end      s1
        37 session_end   s1
        38 session_end   s1
    "#]],
    );
}

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
        12 tool_start    s1 t1 run_shell_command toolu_1795187984686_oun654e93
        13 tool_finish   s1 t1 run_shell_command toolu_1795187984686_oun654e93
        14 step_finish   s1 t1 batch:call_TURNONE_2_0
        15 tool_start    s1 t1 run_shell_command toolu_1795187984792_qdir9ssow
        16 tool_finish   s1 t1 run_shell_command toolu_1795187984792_qdir9ssow
        17 step_finish   s1 t1 batch:call_TURNONE_2_1
        18 step_start    s1 t1
        19 turn_end      s1 t1
        20 session_start s1
        22 user_message  s1 t2 "TURN-TWO please"
        23 tool_start    s1 t2 run_shell_command toolu_1795187989265_pckoq0o7h
        24 tool_finish   s1 t2 run_shell_command toolu_1795187989265_pckoq0o7h
        25 step_finish   s1 t2 batch:call_TURNTWO_0_0
        26 step_start    s1 t2
        27 tool_start    s1 t2 run_shell_command toolu_1795187989563_ucgyo5lac
        28 tool_finish   s1 t2 run_shell_command toolu_1795187989563_ucgyo5lac
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
        41 tool_start    s1/a1 below s1 t3 run_shell_command toolu_1795187996139_0w2n2nkm1
        42 tool_finish   s1/a1 below s1 t3 run_shell_command toolu_1795187996139_0w2n2nkm1
        43 step_finish   s1/a1 below s1 t3 batch:call_SUBAGENTJOB_0_0
        44 turn_end      s1/a1 below s1 t3
        45 turn_end      s1 t3
    "#]],
    );
}

#[test]
fn qwen_code_at_a_terminal_with_an_interrupted_turn() {
    check(
        "qwen-code",
        "qwen-code-0.24.4-interactive-interrupt",
        expect![[r#"
        01 session_start s1
        02 user_message  s1 t1 "TURN-LONG please"
        03 tool_start    s1 t1 run_shell_command toolu_1795190308976_25mgpb6ig
        04 tool_finish   s1 t1 run_shell_command toolu_1795190308976_25mgpb6ig
        06 user_message  s1 t2 "TURN-ONE please"
        07 tool_start    s1 t2 write_file toolu_1795190317689_ivwpjk4kp ["/workspace/hello.txt"]
        08 tool_finish   s1 t2 write_file toolu_1795190317689_ivwpjk4kp ["/workspace/hello.txt"]
        09 step_finish   s1 t2 batch:call_TURNONE_0_0
        10 step_start    s1 t2
        11 tool_start    s1 t2 edit toolu_1795190318045_zp3w6lhys ["/workspace/hello.txt"]
        12 tool_finish   s1 t2 edit toolu_1795190318045_zp3w6lhys ["/workspace/hello.txt"]
        13 step_finish   s1 t2 batch:call_TURNONE_1_0
        14 step_start    s1 t2
        15 tool_start    s1 t2 run_shell_command toolu_1795190318421_pmrncney4
        16 tool_finish   s1 t2 run_shell_command toolu_1795190318421_pmrncney4
        17 tool_start    s1 t2 run_shell_command toolu_1795190318557_nz1b32uit
        18 tool_finish   s1 t2 run_shell_command toolu_1795190318557_nz1b32uit
        19 step_finish   s1 t2 batch:call_TURNONE_2_0
        20 step_start    s1 t2
        21 turn_end      s1 t2
        23 session_end   s1
    "#]],
    );
}

#[test]
fn copilot_cli_with_a_sub_agent() {
    check(
        "copilot-cli",
        "copilot-cli-1.0.102",
        expect![[r#"
        01 session_start s1
        02 user_message  s1 "TURN-ONE please"
        04 tool_start    s1 create ["/workspace/hello.txt"]
        06 tool_finish   s1 create ["/workspace/hello.txt"]
        06 step_finish   s1
        07 tool_start    s1 edit ["/workspace/hello.txt"]
        09 tool_finish   s1 edit ["/workspace/hello.txt"]
        09 step_finish   s1
        10 tool_start    s1 bash
        11 tool_start    s1 bash
        14 tool_finish   s1 bash
        14 step_finish   s1
        15 tool_finish   s1 bash
        15 step_finish   s1
        16 turn_end      s1
        17 session_end   s1
        18 session_start s1
        19 user_message  s1 "TURN-TWO please"
        21 tool_start    s1 bash
        23 tool_finish   s1 bash
        23 step_finish   s1
        24 tool_start    s1 bash
        26 tool_finish   s1 bash
        26 step_finish   s1
        27 turn_end      s1
        28 session_end   s1
        29 session_start s1
        30 user_message  s1 "TURN-SUB please"
        32 tool_start    s1 task
        33 session_start s1/a1 below s1
        36 tool_start    s1/a1 below s1 bash
        38 tool_finish   s1/a1 below s1 bash
        38 step_finish   s1/a1 below s1
        39 turn_end      s1/a1 below s1
        40 turn_end      s1/a1 below s1
        41 tool_finish   s1 task
        41 step_finish   s1
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
        01 session_start s1
        02 user_message  s1 "TURN-LONG please"
        04 tool_start    s1 bash
        06 tool_finish   s1 bash
        06 step_finish   s1
        07 tool_start    s1 bash
        09 tool_finish   s1 bash
        09 step_finish   s1
        10 tool_start    s1 bash
        12 tool_finish   s1 bash
        12 step_finish   s1
        13 turn_end      s1
        16 turn_end      s1
        17 session_end   s1
    "#]],
    );
}

#[test]
fn opencode_with_a_resume_and_a_sub_agent() {
    check(
        "opencode",
        "opencode-1.18.33",
        expect![[r#"
        002 session_start s1
        004 user_message  s1 m1 "\"TURN-ONE please\""
        020 step_start    s1
        026 tool_start    s1 write call_TURNONE_0_0 ["/workspace/hello.txt"]
        032 tool_finish   s1 write call_TURNONE_0_0 ["/workspace/hello.txt"]
        034 step_finish   s1 prt_1f97e7c1c0015DVieSrwcSous0
        049 tool_start    s1 edit call_TURNONE_1_0 ["/workspace/hello.txt"]
        054 tool_finish   s1 edit call_TURNONE_1_0 ["/workspace/hello.txt"]
        057 step_finish   s1 prt_1f97e7d04001TmvDnaREPgYm5n
        072 tool_start    s1 bash call_TURNONE_2_0
        075 tool_start    s1 bash call_TURNONE_2_1
        082 tool_finish   s1 bash call_TURNONE_2_1
        085 tool_finish   s1 bash call_TURNONE_2_0
        087 step_finish   s1 prt_1f97e7f06001cDR5KPjrkBS4je
        106 step_finish   s1 prt_1f97e7fff001a981Fzz1Re3bge
        111 turn_end      s1
        116 user_message  s1 m2 "\"TURN-TWO please\""
        132 tool_start    s1 bash call_TURNTWO_0_0
        136 tool_finish   s1 bash call_TURNTWO_0_0
        138 step_finish   s1 prt_1f97e8e28001It7NzSm6TRsheg
        153 tool_start    s1 bash call_TURNTWO_1_0
        157 tool_finish   s1 bash call_TURNTWO_1_0
        160 step_finish   s1 prt_1f97e8f32001NFxt1Hrpf8dMic
        178 step_finish   s1 prt_1f97e8ffe001mUsu8Onyl3wi5A
        183 turn_end      s1
        188 user_message  s1 m3 "\"TURN-SUB please\""
        204 tool_start    s1 task call_TURNSUB_0_0
        205 session_start s2 below s1
        221 step_start    s2 below s1
        225 tool_start    s2 below s1 bash call_SUBAGENTJOB_0_0
        229 tool_finish   s2 below s1 bash call_SUBAGENTJOB_0_0
        231 step_finish   s2 below s1 prt_1f97e9ee4001Wh70hzS3R2PYx2
        250 step_finish   s2 below s1 prt_1f97e9fc8001be75sd9XD3Xu5l
        255 turn_end      s2 below s1
        256 tool_finish   s1 task call_TURNSUB_0_0
        260 step_finish   s1 prt_1f97ea01a001qiSRJhwtBSQuUk
        280 step_finish   s1 prt_1f97ea0f1001Kh4p99s96E8u27
        285 turn_end      s1
    "#]],
    );
}

#[test]
fn kilo_with_a_resume_and_a_sub_agent() {
    check(
        "kilo",
        "kilo-7.7.7",
        expect![[r#"
        002 session_start s1
        004 user_message  s1 m1 "\"TURN-ONE please\""
        016 step_start    s1
        022 tool_start    s1 write call_TURNONE_0_0 ["/workspace/hello.txt"]
        029 tool_finish   s1 write call_TURNONE_0_0 ["/workspace/hello.txt"]
        032 step_finish   s1 prt_1f980328f001lF9qYAJfpKsvP0
        048 tool_start    s1 edit call_TURNONE_1_0 ["/workspace/hello.txt"]
        054 tool_finish   s1 edit call_TURNONE_1_0 ["/workspace/hello.txt"]
        057 step_finish   s1 prt_1f98033fe001gWBhK0KDcKxXR2
        073 tool_start    s1 bash call_TURNONE_2_0
        076 tool_start    s1 bash call_TURNONE_2_1
        084 tool_finish   s1 bash call_TURNONE_2_1
        088 tool_finish   s1 bash call_TURNONE_2_0
        091 step_finish   s1 prt_1f98035a4001z3r285W97bfYIL
        110 step_finish   s1 prt_1f980368d001N9vawmshVJGjeK
        115 turn_end      s1
        127 user_message  s1 m2 "\"TURN-TWO please\""
        140 tool_start    s1 bash call_TURNTWO_0_0
        148 tool_finish   s1 bash call_TURNTWO_0_0
        151 step_finish   s1 prt_1f9805a2c0015iBcnIPhB6ss71
        167 tool_start    s1 bash call_TURNTWO_1_0
        172 tool_finish   s1 bash call_TURNTWO_1_0
        175 step_finish   s1 prt_1f9805c120017JF3D6b5bc8G0E
        193 step_finish   s1 prt_1f9805d3c001HOMXOBWH9LolT2
        198 turn_end      s1
        202 user_message  s1 m3 "\"TURN-SUB please\""
        215 tool_start    s1 task call_TURNSUB_0_0
        218 session_start s2 below s1
        237 step_start    s2 below s1
        241 tool_start    s2 below s1 bash call_SUBAGENTJOB_0_0
        246 tool_finish   s2 below s1 bash call_SUBAGENTJOB_0_0
        249 step_finish   s2 below s1 prt_1f98082a1001LMc3SzQd16v3eH
        268 step_finish   s2 below s1 prt_1f9808433001ximuCr2M9bvIIy
        273 turn_end      s2 below s1
        277 tool_finish   s1 task call_TURNSUB_0_0
        280 step_finish   s1 prt_1f98084f7001oj7xjwv1rcNvE7
        299 step_finish   s1 prt_1f9808601001o3IzPwDzd4Rq4t
        304 turn_end      s1
    "#]],
    );
}

#[test]
fn cline_with_three_prompts_and_a_sub_agent() {
    check(
        "cline",
        "cline-cli-3.0.65",
        expect![[r#"
        01 user_message  s1 m1 t1
        02 user_message  s1 m1 t1
        02 tool_start    s1 t1 editor call_TURNONE_0_0 ["/workspace/hello.txt"]
        03 tool_finish   s1 t1 editor call_TURNONE_0_0 ["/workspace/hello.txt"]
        03 step_finish   s1 t1 tool:call_TURNONE_0_0 call_TURNONE_0_0
        04 tool_start    s1 t1 editor call_TURNONE_1_0 ["/workspace/hello.txt"]
        05 tool_finish   s1 t1 editor call_TURNONE_1_0 ["/workspace/hello.txt"]
        05 step_finish   s1 t1 tool:call_TURNONE_1_0 call_TURNONE_1_0
        06 tool_start    s1 t1 run_commands call_TURNONE_2_0
        07 tool_start    s1 t1 run_commands call_TURNONE_2_1
        08 tool_finish   s1 t1 run_commands call_TURNONE_2_0
        08 step_finish   s1 t1 tool:call_TURNONE_2_0 call_TURNONE_2_0
        09 tool_finish   s1 t1 run_commands call_TURNONE_2_1
        09 step_finish   s1 t1 tool:call_TURNONE_2_1 call_TURNONE_2_1
        10 turn_end      s1 t1
        11 user_message  s2 m2 t2
        12 user_message  s2 m2 t2
        12 tool_start    s2 t2 run_commands call_TURNTWO_0_0
        13 tool_finish   s2 t2 run_commands call_TURNTWO_0_0
        13 step_finish   s2 t2 tool:call_TURNTWO_0_0 call_TURNTWO_0_0
        14 tool_start    s2 t2 run_commands call_TURNTWO_1_0
        15 tool_finish   s2 t2 run_commands call_TURNTWO_1_0
        15 step_finish   s2 t2 tool:call_TURNTWO_1_0 call_TURNTWO_1_0
        16 turn_end      s2 t2
        17 user_message  s3 m3 t3
        18 user_message  s3 m3 t3
        18 tool_start    s3 t3 spawn_agent call_TURNSUB_0_0
        19 session_start s3/a1 below s3 t4
        20 tool_start    s3/a1 below s3 t4 run_commands call_SUBAGENTJOB_0_0
        21 tool_finish   s3/a1 below s3 t4 run_commands call_SUBAGENTJOB_0_0
        21 step_finish   s3/a1 below s3 t4 tool:call_SUBAGENTJOB_0_0 call_SUBAGENTJOB_0_0
        22 turn_end      s3/a1 below s3 t4
        23 tool_finish   s3 t3 spawn_agent call_TURNSUB_0_0
        23 step_finish   s3 t3 tool:call_TURNSUB_0_0 call_TURNSUB_0_0
        24 turn_end      s3 t3
    "#]],
    );
}

#[test]
fn pi_with_a_resume_and_parallel_tools() {
    check(
        "pi",
        "pi-0.73.1",
        expect![[r#"
        001 session_start s1
        003 user_message  s1 "TURN-ONE please"
        006 step_start    s1
        013 tool_start    s1 write call_TURNONE_0_0 ["/workspace/hello.txt"]
        014 tool_finish   s1 write call_TURNONE_0_0 ["/workspace/hello.txt"]
        019 step_start    s1
        025 tool_start    s1 edit call_TURNONE_1_0 ["/workspace/hello.txt"]
        026 tool_finish   s1 edit call_TURNONE_1_0 ["/workspace/hello.txt"]
        031 step_start    s1
        037 tool_start    s1 bash call_TURNONE_2_0
        039 tool_start    s1 bash call_TURNONE_2_1
        040 tool_finish   s1 bash call_TURNONE_2_0
        042 tool_finish   s1 bash call_TURNONE_2_1
        048 step_start    s1
        055 turn_end      s1
        056 session_end   s1
        057 session_start s1
        059 user_message  s1 "TURN-TWO please"
        062 step_start    s1
        069 tool_start    s1 bash call_TURNTWO_0_0
        070 tool_finish   s1 bash call_TURNTWO_0_0
        075 step_start    s1
        081 tool_start    s1 bash call_TURNTWO_1_0
        082 tool_finish   s1 bash call_TURNTWO_1_0
        087 step_start    s1
        093 turn_end      s1
        094 session_end   s1
    "#]],
    );
}

/// Replays a recording and compares what its payloads mean.
fn check(agent: &str, folder: &str, expected: Expect) {
    let mut names = Names::default();
    let mut plugin = Plugin::default();
    let mut lines = String::new();
    for (number, event, payload) in recording(folder) {
        let payload = plugin.hand_on(payload);
        let context = Context { cwd: Path::new("/workspace"), environment: &|_| None };
        let parsed = parse(agent, Some(&event), &payload, &context);
        assert_eq!(parsed.problems, Vec::<String>::new(), "{folder}/{number}-{event} is a payload of the real agent");
        for event in parsed.events {
            writeln!(lines, "{number} {}", names.line(&event, agent)).expect("a string takes all");
        }
    }
    expected.assert_eq(&lines);
}

/// Returns the payloads of a recording in order: number, name of the event, bytes.
fn recording(folder: &str) -> Vec<(String, String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/agents").join(folder);
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

/// What our plugin for opencode remembers and adds: the parents of sub-agents' sessions.
#[derive(Default)]
struct Plugin(HashMap<String, String>);

impl Plugin {
    fn hand_on(&mut self, payload: Vec<u8>) -> Vec<u8> {
        let Ok(Value::Object(mut told)) = serde_json::from_slice(&payload) else { return payload };
        let at = |path: &str| Value::Object(told.clone()).pointer(path).and_then(Value::as_str).map(str::to_owned);
        if let (Some(id), Some(parent)) = (at("/event/properties/info/id"), at("/event/properties/info/parentID")) {
            self.0.insert(id, parent);
        }
        let places = ["/input/sessionID", "/event/properties/sessionID", "/event/properties/part/sessionID"];
        let Some(parent) = places.iter().find_map(|place| self.0.get(&at(place)?)) else { return payload };
        told.insert("parentID".to_owned(), parent.clone().into());
        serde_json::to_vec(&told).expect("it was read from JSON")
    }
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
