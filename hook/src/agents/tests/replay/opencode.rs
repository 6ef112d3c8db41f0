//! opencode and Kilo.

use expect_test::expect;

use super::check;

#[test]
fn opencode_with_a_resume_and_a_sub_agent() {
    check(
        "opencode",
        "opencode-1.18.33",
        expect![[r#"
            002 session_start s1
            004 user_message  s1 m1 t1 "\"TURN-ONE please\""
            020 step_start    s1
            026 tool_start    s1 write call_TURNONE_0_0 ["/workspace/hello.txt"]
            032 tool_finish   s1 write call_TURNONE_0_0 ["/workspace/hello.txt"]
            034 step_finish   s1 prt_1f97e7c1c0015DVieSrwcSous0
            049 tool_start    s1 edit call_TURNONE_1_0 ["/workspace/hello.txt"]
            054 tool_finish   s1 edit call_TURNONE_1_0 ["/workspace/hello.txt"]
            057 step_finish   s1 prt_1f97e7d04001TmvDnaREPgYm5n
            072 tool_start    s1 bash call_TURNONE_2_0 $ "echo one > one.txt && cat hello.txt"
            075 tool_start    s1 bash call_TURNONE_2_1 $ "echo two > two.txt"
            082 tool_finish   s1 bash call_TURNONE_2_1 $ "echo two > two.txt"
            085 tool_finish   s1 bash call_TURNONE_2_0 $ "echo one > one.txt && cat hello.txt"
            087 step_finish   s1 prt_1f97e7f06001cDR5KPjrkBS4je
            106 step_finish   s1 prt_1f97e7fff001a981Fzz1Re3bge
            111 turn_end      s1
            116 user_message  s1 m2 t1 "\"TURN-TWO please\""
            132 tool_start    s1 bash call_TURNTWO_0_0 $ "rm -f one.txt && echo three > three.txt"
            136 tool_finish   s1 bash call_TURNTWO_0_0 $ "rm -f one.txt && echo three > three.txt"
            138 step_finish   s1 prt_1f97e8e28001It7NzSm6TRsheg
            153 tool_start    s1 bash call_TURNTWO_1_0 $ "exit 3"
            157 tool_finish   s1 bash call_TURNTWO_1_0 $ "exit 3"
            160 step_finish   s1 prt_1f97e8f32001NFxt1Hrpf8dMic
            178 step_finish   s1 prt_1f97e8ffe001mUsu8Onyl3wi5A
            183 turn_end      s1
            188 user_message  s1 m3 t1 "\"TURN-SUB please\""
            204 tool_start    s1 task call_TURNSUB_0_0
            205 session_start s2 below s1
            221 step_start    s2 below s1
            225 tool_start    s2 below s1 bash call_SUBAGENTJOB_0_0 $ "echo sub > sub.txt"
            229 tool_finish   s2 below s1 bash call_SUBAGENTJOB_0_0 $ "echo sub > sub.txt"
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
            004 user_message  s1 m1 t1 "\"TURN-ONE please\""
            016 step_start    s1
            022 tool_start    s1 write call_TURNONE_0_0 ["/workspace/hello.txt"]
            029 tool_finish   s1 write call_TURNONE_0_0 ["/workspace/hello.txt"]
            032 step_finish   s1 prt_1f980328f001lF9qYAJfpKsvP0
            048 tool_start    s1 edit call_TURNONE_1_0 ["/workspace/hello.txt"]
            054 tool_finish   s1 edit call_TURNONE_1_0 ["/workspace/hello.txt"]
            057 step_finish   s1 prt_1f98033fe001gWBhK0KDcKxXR2
            073 tool_start    s1 bash call_TURNONE_2_0 $ "echo one > one.txt && cat hello.txt"
            076 tool_start    s1 bash call_TURNONE_2_1 $ "echo two > two.txt"
            084 tool_finish   s1 bash call_TURNONE_2_1 $ "echo two > two.txt"
            088 tool_finish   s1 bash call_TURNONE_2_0 $ "echo one > one.txt && cat hello.txt"
            091 step_finish   s1 prt_1f98035a4001z3r285W97bfYIL
            110 step_finish   s1 prt_1f980368d001N9vawmshVJGjeK
            115 turn_end      s1
            127 user_message  s1 m2 t1 "\"TURN-TWO please\""
            140 tool_start    s1 bash call_TURNTWO_0_0 $ "rm -f one.txt && echo three > three.txt"
            148 tool_finish   s1 bash call_TURNTWO_0_0 $ "rm -f one.txt && echo three > three.txt"
            151 step_finish   s1 prt_1f9805a2c0015iBcnIPhB6ss71
            167 tool_start    s1 bash call_TURNTWO_1_0 $ "exit 3"
            172 tool_finish   s1 bash call_TURNTWO_1_0 $ "exit 3"
            175 step_finish   s1 prt_1f9805c120017JF3D6b5bc8G0E
            193 step_finish   s1 prt_1f9805d3c001HOMXOBWH9LolT2
            198 turn_end      s1
            202 user_message  s1 m3 t1 "\"TURN-SUB please\""
            215 tool_start    s1 task call_TURNSUB_0_0
            218 session_start s2 below s1
            237 step_start    s2 below s1
            241 tool_start    s2 below s1 bash call_SUBAGENTJOB_0_0 $ "echo sub > sub.txt"
            246 tool_finish   s2 below s1 bash call_SUBAGENTJOB_0_0 $ "echo sub > sub.txt"
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
