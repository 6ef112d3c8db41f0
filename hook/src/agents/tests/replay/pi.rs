//! Pi.

use expect_test::expect;

use super::check;

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
            037 tool_start    s1 bash call_TURNONE_2_0 $ "echo one > one.txt && cat hello.txt"
            039 tool_start    s1 bash call_TURNONE_2_1 $ "echo two > two.txt"
            040 tool_finish   s1 bash call_TURNONE_2_0 $ "echo one > one.txt && cat hello.txt"
            042 tool_finish   s1 bash call_TURNONE_2_1 $ "echo two > two.txt"
            048 step_start    s1
            055 turn_end      s1
            056 session_end   s1
            057 session_start s1
            059 user_message  s1 "TURN-TWO please"
            062 step_start    s1
            069 tool_start    s1 bash call_TURNTWO_0_0 $ "rm one.txt && echo three > three.txt"
            070 tool_finish   s1 bash call_TURNTWO_0_0 $ "rm one.txt && echo three > three.txt"
            075 step_start    s1
            081 tool_start    s1 bash call_TURNTWO_1_0 $ "exit 3"
            082 tool_finish   s1 bash call_TURNTWO_1_0 $ "exit 3"
            087 step_start    s1
            093 turn_end      s1
            094 session_end   s1
        "#]],
    );
}
