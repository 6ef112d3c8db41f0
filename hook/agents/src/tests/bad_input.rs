//! Payloads that no agent should send, by class, and some that real ones do.

use std::path::Path;

use ckpt_schema::event::EventKind;
use serde_json::json;

use super::*;

/// Returns what Claude Code's prompt event means, with this in the place of its ignored field.
fn with_ignored(ignored: &str) -> Parsed {
    let payload = format!(
        r#"{{"session_id":"s","odd":{ignored},"cwd":"/w","hook_event_name":"UserPromptSubmit","prompt":"hello"}}"#
    );
    parse_alone("claude-code", None, payload.as_bytes())
}

fn assert_is_the_prompt(parsed: &Parsed, why: &str) {
    assert_eq!(
        parsed.problems,
        Vec::<String>::new(),
        "{why}: nothing is wrong"
    );
    let [event] = parsed.events.as_slice() else {
        panic!("{why}: one event, not {parsed:?}")
    };
    assert_eq!(
        (event.event, event.session_id.as_str()),
        (EventKind::UserMessage, "s"),
        "{why}"
    );
    assert_eq!(event.cwd.as_deref(), Some(Path::new("/w")), "{why}");
    assert_eq!(event.prompt.as_deref(), Some("hello"), "{why}");
}

#[test]
fn what_an_ignored_field_holds_does_not_matter() {
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let maps = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    let values = [
        "null",
        "[]",
        "1e999",
        "-1e-999",
        "123456789012345678901234567890",
        r#""\ud800""#,
        "\"\u{202e}\\u0000\"",
        &deep,
        &maps,
    ];
    for value in values {
        assert_is_the_prompt(&with_ignored(value), &value[..value.len().min(20)]);
    }
}

/// What is not JSON but easily read is read.
#[test]
fn almost_json_is_read() {
    assert_is_the_prompt(&with_ignored("NaN"), "Python's NaN");
    assert_is_the_prompt(&with_ignored("-Infinity"), "Python's infinity");
    assert_is_the_prompt(
        &with_ignored("\"a\nb\tc\u{1}\\\"d\""),
        "raw control characters",
    );
    let plain =
        br#"{"session_id":"s","cwd":"/w","hook_event_name":"UserPromptSubmit","prompt":"hello"}"#;
    let marked = [b"\xef\xbb\xbf".as_slice(), plain].concat();
    assert_is_the_prompt(
        &parse_alone("claude-code", None, &marked),
        "a byte-order mark",
    );
    let followed = [plain.as_slice(), b"\n{\"session_id\":\"other\"} garbage"].concat();
    assert_is_the_prompt(
        &parse_alone("claude-code", None, &followed),
        "something after the end",
    );
    let broken = [
        &plain[..1],
        b"\"bad\":\"\xff\xfe\xed\xa0\x80\",",
        &plain[1..],
    ]
    .concat();
    assert_is_the_prompt(
        &parse_alone("claude-code", None, &broken),
        "bytes that are not UTF-8",
    );
}

#[test]
fn a_prompt_may_hold_anything() {
    let cases: [(&str, &str); 5] = [
        (r#"a\ud800b"#, "a\u{fffd}\u{fffd}\u{fffd}b"),
        (r#"\ud83d\ude00"#, "😀"),
        (r#"a\u0000b"#, "a\0b"),
        ("two\nlines", "two\nlines"),
        ("", ""),
    ];
    for (written, read) in cases {
        let payload = format!(
            r#"{{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"{written}"}}"#
        );
        let parsed = parse_alone("claude-code", None, payload.as_bytes());
        assert_eq!(
            parsed.events[0].prompt.as_deref(),
            Some(read),
            "{written:?}"
        );
        assert_eq!(
            parsed.problems,
            Vec::<String>::new(),
            "{written:?} is nothing to complain about"
        );
    }
}

#[test]
fn a_long_prompt_is_cut_at_a_character() {
    let payload =
        json!({"event": "user_message", "session_id": "s", "prompt": "ä".repeat(3 << 20)})
            .to_string();
    let prompt = parse_alone("generic", None, payload.as_bytes()).events[0]
        .prompt
        .clone()
        .expect("there is one");
    assert_eq!(prompt.len(), 1 << 20, "a mebibyte is kept");
}

/// The last of two fields of one name counts.
#[test]
fn last_field_of_one_name_counts() {
    let payload = br#"{"session_id":"first","hook_event_name":"Stop","session_id":"second"}"#;
    let parsed = parse_alone("claude-code", None, payload);
    assert_eq!(
        parsed.events[0].session_id, "second",
        "as in JavaScript, where the payloads come from"
    );
}

/// Invariant `truth/ids`.
#[test]
fn an_id_is_data_whatever_it_looks_like() {
    let long = "x".repeat(4096);
    for id in [
        "../../x",
        "/abs",
        ".",
        "..",
        "a/b",
        "a\\b",
        "new\nline",
        "nul\0",
        "\u{1b}[31m",
        &long,
    ] {
        let payload = json!({"hook_event_name": "Stop", "session_id": id}).to_string();
        let parsed = parse_alone("claude-code", None, payload.as_bytes());
        assert_eq!(
            parsed.events[0].session_id, id,
            "kept as it is, and never made a path of"
        );
    }
}

#[test]
fn known_event_without_session_is_a_problem() {
    let huge = "x".repeat(1 << 20);
    for id in [
        json!(null),
        json!(""),
        json!(5),
        json!(["s"]),
        json!({"a": 1}),
        json!(true),
        json!(huge),
    ] {
        let payload =
            json!({"hook_event_name": "UserPromptSubmit", "session_id": id, "prompt": "secret"})
                .to_string();
        let parsed = parse_alone("claude-code", None, payload.as_bytes());
        assert_eq!(parsed.events, Vec::new(), "there is nobody to book it to");
        assert_eq!(
            parsed.problems,
            ["an event of `claude-code` came without a usable `session_id`"],
            "it is reported"
        );
    }
}

#[test]
fn a_wrong_type_costs_only_its_own_field() {
    for wrong in [
        json!(null),
        json!(1),
        json!(["x"]),
        json!({"a": 1}),
        json!(false),
    ] {
        let payload = json!({
            "hook_event_name": "PreToolUse", "session_id": "s", "cwd": wrong, "prompt_id": wrong, "agent_id": wrong,
            "tool_name": "Write", "tool_use_id": wrong, "tool_input": {"file_path": wrong, "notebook_path": "/w/n"},
        });
        let parsed = parse_alone("claude-code", None, payload.to_string().as_bytes());
        assert_eq!(
            parsed.problems,
            Vec::<String>::new(),
            "{wrong}: none of them is needed"
        );
        let event = &parsed.events[0];
        assert_eq!(
            event.cwd.as_deref(),
            Some(Path::new("/hook")),
            "{wrong}: the hook's own directory"
        );
        assert_eq!(
            (&event.turn_id, &event.tool_use_id, &event.parent_session_id),
            (&None, &None, &None),
            "{wrong}"
        );
        assert_eq!(
            event.paths,
            [Path::new("/w/n")],
            "{wrong}: the field beside it is read"
        );
    }
}

/// An event that we do not know is skipped.
#[test]
fn unknown_event_is_skipped() {
    for event in [
        "MessageDisplay",
        "Setup",
        "BrandNew",
        "\u{1b}[31m",
        "user_message",
    ] {
        let payload = json!({"hook_event_name": event}).to_string();
        let parsed = parse_alone("claude-code", None, payload.as_bytes());
        assert!(parsed.unknown.is_some(), "{event}: told to who asks");
        let parsed = Parsed {
            unknown: None,
            ..parsed
        };
        assert_eq!(parsed, Parsed::default(), "{event}: of no interest");
    }
}

/// What is no object is a problem and no event.
#[test]
fn payload_without_an_object_is_a_problem() {
    let deep = "[".repeat(1_000_000);
    for payload in [
        "", "null", "[]", "\"text\"", "7", "{", "nonsense", "\u{feff}", &deep,
    ] {
        let parsed = parse_alone("claude-code", None, payload.as_bytes());
        assert_eq!(
            parsed.events,
            Vec::new(),
            "{:.20}: nothing to record",
            payload
        );
        assert!(
            !parsed.problems.is_empty(),
            "{:.20}: and it is told",
            payload
        );
    }
}

#[test]
fn what_stands_before_a_break_is_kept() {
    let payload =
        br#"{"session_id":"s","cwd":"/w","hook_event_name":"UserPromptSubmit","prompt":"cut o"#;
    let parsed = parse_alone("claude-code", None, payload);
    assert_eq!(
        parsed.events[0].event,
        EventKind::UserMessage,
        "the snapshot is taken"
    );
    assert_eq!(parsed.events[0].prompt, None, "half a prompt is none");
    assert_eq!(
        parsed.problems,
        ["the payload of `claude-code` is not a whole JSON object"],
        "it is reported"
    );
}

#[test]
fn a_problem_quotes_nothing_of_the_payload() {
    let payloads = [
        r#"{"prompt":"secret","#,
        r#""secret""#,
        r#"{"hook_event_name":"Stop","session_id":["secret"]}"#,
        r#"{"secret":1}"#,
    ];
    for payload in payloads {
        let parsed = parse_alone("claude-code", None, payload.as_bytes());
        assert!(!parsed.problems.is_empty(), "{payload} is not well");
        assert!(
            parsed
                .problems
                .iter()
                .all(|problem| !problem.contains("secret")),
            "{:?}",
            parsed.problems
        );
    }
}

#[test]
fn a_payload_of_no_end_is_read() {
    let many: String = (0..1_000_000)
        .map(|number| format!("\"k{number}\":1,"))
        .collect();
    let long = "x".repeat(50 << 20);
    for odd in [format!("{{{many}\"z\":1}}"), format!("\"{long}\"")] {
        assert_is_the_prompt(&with_ignored(&odd), "a long field");
    }
    let payload = format!("{{{many}\"session_id\":\"s\"}}");
    assert!(
        !parse_alone("generic", None, payload.as_bytes())
            .problems
            .is_empty(),
        "past ten thousand fields none is read"
    );
}

/// The command line names the event where the payload does not.
#[test]
fn command_line_names_the_event_payloads_lack() {
    let parsed = parse_alone("claude-code", Some("Stop"), br#"{"session_id":"s"}"#);
    assert_eq!(
        parsed.events[0].event,
        EventKind::TurnEnd,
        "the command line's name is enough"
    );
    let parsed = parse_alone("claude-code", None, br#"{"session_id":"s"}"#);
    assert_eq!(
        parsed.problems,
        ["the payload of `claude-code` does not name its event"],
        "without one it is reported"
    );
}

#[test]
fn both_styles_of_names_are_read() {
    let payload =
        br#"{"sessionId":"s","hookEventName":"PreToolUse","toolName":"Edit","toolUseId":"u","workspaceRoots":["/w"]}"#;
    let event = &parse_alone("claude-code", None, payload).events[0];
    assert_eq!(
        (event.session_id.as_str(), event.tool_use_id.as_deref()),
        ("s", Some("u")),
        "camel case"
    );
    assert_eq!(
        event.cwd.as_deref(),
        Some(Path::new("/w")),
        "the first root is the directory"
    );
}

/// An agent that we do not know is a problem.
#[test]
fn unknown_agent_is_a_problem() {
    let parsed = parse_alone("\u{1b}nobody", None, b"{}");
    assert_eq!(
        parsed.problems,
        ["the agent's name is unknown"],
        "and not quoted"
    );
}

#[test]
fn a_generic_event_is_taken_as_it_is() {
    let payload = json!({
        "event": "tool_start", "session_id": "s", "agent": "mine", "cwd": "/w", "message_id": "m", "turn_id": "t",
        "step_id": "p", "parent_session_id": "q", "tool_name": "edit", "tool_use_id": "u", "paths": ["/w/a", 1, "b"],
        "unknown": {"deep": []},
    });
    let parsed = parse_alone("generic", None, payload.to_string().as_bytes());
    let [event] = parsed.events.as_slice() else {
        panic!("one event, not {parsed:?}")
    };
    let written = serde_json::to_value(event).expect("an event is JSON");
    let mut expected = payload;
    expected["paths"] = json!(["/w/a", "b"]);
    expected
        .as_object_mut()
        .expect("an object")
        .remove("unknown");
    assert_eq!(
        written, expected,
        "field by field, without the path that is none"
    );
    let parsed = parse_alone("generic", None, br#"{"event":"party"}"#);
    assert_eq!(
        parsed.unknown.as_deref(),
        Some("`party` is no event of `generic` that is recorded"),
        "told to who asks"
    );
    let parsed = Parsed {
        unknown: None,
        ..parsed
    };
    assert_eq!(parsed, Parsed::default(), "an unknown event is skipped");
}
