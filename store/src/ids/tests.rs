//! The id rules against a database in memory.

use ckpt_schema::migration::MIGRATIONS;
use proptest::prelude::*;
use rusqlite::Connection;

use super::{Any, any, check_exact, last, message, session, step};
use crate::error::{Error, ErrorKind};

const TREE: &str = "0123456789abcdef0123456789abcdef01234567";
const OTHER_TREE: &str = "0123ffffffffffffffffffffffffffffffffffff";

/// Two sessions of workspace 1, `old` and `new`, a sub-agent of `new`, and a session of workspace 2.
fn world() -> Connection {
    let connection = Connection::open_in_memory().expect("memory");
    for migration in MIGRATIONS {
        connection.execute_batch(migration).expect("the migration");
    }
    connection
        .execute_batch(&format!(
            "INSERT INTO workspaces (id, key, path, device, inode, created_at, used_at)
             VALUES (1, 'k1', '/one', 1, 1, 0, 0), (2, 'k2', '/two', 1, 2, 0, 0);
             INSERT INTO snapshots (id, workspace_id, tree, taken_at)
             VALUES (1, 1, '{TREE}', 1), (2, 1, '{OTHER_TREE}', 2), (3, 1, '{TREE}', 3);
             INSERT INTO sessions (id, workspace_id, agent, agent_id, parent_id, started_at, last_event_at)
             VALUES ('S-old', 1, 'generic', 's1', NULL, 0, 10), ('S-new', 1, 'generic', 's2', NULL, 0, 20),
                    ('S-sub', 1, 'generic', 'sub', 'S-new', 0, 30), ('S-far', 2, 'generic', 's1', NULL, 0, 40);
             INSERT INTO messages (id, session_id, agent_id, state, created_at)
             VALUES ('aaa1', 'S-old', 'm1', 'live', 1), ('aaa2', 'S-old', 'm2', 'live', 2),
                    ('bbb0', 'S-new', 'm0', 'discarded', 3), ('bbb1', 'S-new', 'm1', 'live', 4),
                    ('bbb2', 'S-new', 'm0', 'hidden', 5), ('far1', 'S-far', 'only-there', 'live', 6);
             INSERT INTO steps (id, session_id, message_id, agent_id, state, started_at)
             VALUES ('step-1', 'S-new', 'bbb1', 'm1', 'closed', 1), ('step-2', 'S-sub', 'bbb1', 'x', 'closed', 2);
             INSERT INTO operations (id, workspace_id, kind, state, on_conflict, started_at)
             VALUES ('op-1', 1, 'revert', 'done', 'merge', 1);
             INSERT INTO labels (workspace_id, text, message_id, snapshot_id, created_at)
             VALUES (1, 'before lunch', NULL, 1, 1), (1, 'it works', 'aaa1', NULL, 1), (2, 'far away', 'far1', NULL, 1)"
        ))
        .expect("the rows");
    connection
}

fn message_id(session: Option<&str>, id: &str) -> String {
    message(&world(), 1, session, id).expect(id).id
}

fn message_error(session: Option<&str>, id: &str) -> Error {
    message(&world(), 1, session, id).expect_err(id)
}

#[test]
fn last_counts_back_from_the_newest_message() {
    assert_eq!(last("last"), Some(0), "the newest");
    assert_eq!(last("last~0"), Some(0), "none before it");
    assert_eq!(last("last~2"), Some(2), "two before it");
    for other in [
        "",
        "las",
        "last~",
        "last~-1",
        "last~+1",
        "last~x",
        "last2",
        "LAST",
        "last~99999999999999999999",
    ] {
        assert_eq!(last(other), None, "{other:?} is an id like any other");
    }
}

/// Our ids and the agent's ids both name a message.
#[test]
fn our_ids_and_agents_ids_name_messages() {
    assert_eq!(message_id(None, "bbb1"), "bbb1", "ours");
    assert_eq!(message_id(None, "m2"), "aaa2", "the agent's");
    assert_eq!(
        message_id(None, "aaa2"),
        "aaa2",
        "ours, of the older session"
    );
}

/// An id that several sessions know is the newest sessions.
#[test]
fn id_of_several_sessions_is_the_newest_ones() {
    assert_eq!(message_id(None, "m1"), "bbb1", "S-new was heard of last");
    assert_eq!(
        message_id(Some("s1"), "m1"),
        "aaa1",
        "unless another session is asked for"
    );
    assert_eq!(
        message_id(Some("S-ol"), "m1"),
        "aaa1",
        "by a prefix of its id as well"
    );
    assert_eq!(
        message_id(Some("sub"), "m1"),
        "bbb1",
        "the messages of a sub-agent are its root's"
    );
}

/// A message that is not discarded comes before one that is.
#[test]
fn kept_message_comes_before_a_discarded_one() {
    assert_eq!(
        message_id(None, "m0"),
        "bbb2",
        "bbb0 has the same agent's id, and is discarded"
    );
    assert_eq!(
        message_id(None, "bbb0"),
        "bbb0",
        "a discarded message is still reachable by its own id"
    );
}

#[test]
fn a_label_stands_wherever_an_id_does() {
    assert_eq!(message_id(None, "it works"), "aaa1", "of a message");
    assert_eq!(message_id(Some("s1"), "it works"), "aaa1", "of its session");
    assert!(
        message(&world(), 1, Some("s2"), "it works").is_err(),
        "of no other session"
    );
    let Any::Snapshot(row) = any(&world(), 1, "before lunch").expect("known") else {
        panic!("of a snapshot")
    };
    assert_eq!(
        row.id, 1,
        "of this very one, although its tree was seen again"
    );
    for id in ["before", "before lunch ", "Before lunch"] {
        assert!(any(&world(), 1, id).is_err(), "a label is whole: {id:?}");
    }
    let error = message_error(None, "before lunch");
    assert_eq!(
        error.to_string(),
        "the label `before lunch` is on a snapshot, but this needs a message",
        "which is not to say that there is none"
    );
    assert_eq!(
        message_error(None, "far away").hint_text(),
        Some("it was recorded in `/two`: go there, or use --workspace"),
        "a label of another workspace"
    );
}

/// A label that an agent took for an id later is ambiguous.
///
/// A front end that passes its own message's id must not go back to what somebody had given the same name.
///
/// Invariant `truth/ids`.
#[test]
fn label_taken_for_an_id_later_is_ambiguous() {
    let connection = world();
    connection
        .execute_batch(
            "INSERT INTO labels (workspace_id, text, message_id, created_at) VALUES (1, 'm2', 'aaa1', 1), (1, 'last', 'aaa1', 1);
             INSERT INTO messages (id, session_id, agent_id, state, created_at) VALUES ('ccc1', 'S-old', 'last', 'live', 7)",
        )
        .expect("the rows");
    let error = message(&connection, 1, None, "m2").expect_err("two things");
    assert_eq!(error.kind, ErrorKind::Ambiguous);
    assert_eq!(
        error.to_string(),
        "the message `m2` is ambiguous: it may be `aaa2` (`m2`), `aaa1` (`m2`)",
        "the agent's, and the one with the label"
    );
    let far = message(&connection, 1, Some("s2"), "m2").map(drop);
    assert!(far.is_err(), "neither is of this session");
    assert!(any(&connection, 1, "m2").is_err(), "whatever may be meant");
    for text in ["last", "it works"] {
        assert!(check_exact(&connection, 1, text).is_err(), "{text}");
    }
    assert!(check_exact(&connection, 1, "aaa1").is_ok(), "ours is one");
}

#[test]
fn an_exact_id_wins_over_a_prefix() {
    let connection = world();
    connection
        .execute_batch(
            "PRAGMA foreign_keys = OFF;
             UPDATE messages SET id = 'bbbb' || substr(id, 4) WHERE id LIKE 'bbb%';
             UPDATE steps SET message_id = 'bbbb' || substr(message_id, 4);",
        )
        .expect("writable");
    connection
        .execute(
            "UPDATE messages SET agent_id = 'bbbb' WHERE id = 'aaa1'",
            [],
        )
        .expect("writable");
    connection
        .execute(
            "UPDATE messages SET agent_id = 'bbbb1' WHERE id = 'aaa2'",
            [],
        )
        .expect("writable");
    let resolve = |id: &str| message(&connection, 1, None, id).map(|message| message.id);
    assert_eq!(
        resolve("bbbb").expect("known"),
        "aaa1",
        "an exact id, the agent's even, wins over a prefix"
    );
    assert_eq!(
        resolve("bbbb1").expect("known"),
        "bbbb1",
        "an exact id of ours wins over the agent's"
    );
    assert_eq!(resolve("bbbb2").expect("known"), "bbbb2", "exact");
}

/// A prefix of our id has at least four characters.
#[test]
fn prefix_of_our_id_has_four_characters() {
    let connection = world();
    connection
        .execute_batch("UPDATE messages SET id = '0123456789' WHERE id = 'aaa2'")
        .expect("writable");
    let resolve = |id: &str| message(&connection, 1, None, id).map(|message| message.id);
    for short in ["0", "01", "012"] {
        let error = resolve(short).expect_err("rather a mistaken number");
        assert_eq!(error.kind, ErrorKind::Unknown, "{short}");
    }
    assert_eq!(resolve("0123").expect("known"), "0123456789", "four do");
    for short in ["s", "st", "op", "S-o"] {
        assert!(any(&connection, 1, short).is_err(), "of any kind: {short}");
    }
}

#[test]
fn an_agents_own_id_is_exact() {
    let connection = world();
    connection
        .execute_batch(
            "UPDATE messages SET agent_id = 'prompt-7' WHERE id = 'aaa1';
             UPDATE messages SET agent_id = '0' WHERE id = 'bbb1';",
        )
        .expect("writable");
    let resolve = |id: &str| message(&connection, 1, None, id).map(|message| message.id);
    assert_eq!(resolve("prompt-7").expect("known"), "aaa1", "in full");
    assert_eq!(resolve("0").expect("known"), "bbb1", "however short");
    let error = resolve("prompt-").expect_err("a part of it");
    assert_eq!(error.kind, ErrorKind::Unknown, "may be any other's");
}

/// An ambiguous id is an error that lists the candidates.
///
/// Invariant `truth/ids`: Ids are opaque: an ambiguous one is an error that lists the
/// candidates.
#[test]
fn ambiguous_id_lists_the_candidates() {
    let connection = world();
    connection
        .execute_batch(
            "PRAGMA foreign_keys = OFF;
             UPDATE messages SET id = 'bbbb' || substr(id, 4) WHERE id LIKE 'bbb%';
             UPDATE steps SET message_id = 'bbbb' || substr(message_id, 4);",
        )
        .expect("writable");
    let error = message(&connection, 1, None, "bbbb").expect_err("three ids of ours begin so");
    assert_eq!(error.kind, ErrorKind::Ambiguous, "a kind of its own");
    let ids: Vec<_> = error
        .candidates()
        .iter()
        .map(|candidate| candidate.id.as_str())
        .collect();
    assert_eq!(ids, ["bbbb2", "bbbb1", "bbbb0"], "for programs, too");
    assert_eq!(
        error.to_string(),
        "the message `bbbb` is ambiguous: it may be `bbbb2`, `bbbb1`, `bbbb0`",
        "newest first"
    );
}

/// The same agent's id twice in a session is ambiguous.
#[test]
fn agents_id_twice_in_a_session_is_ambiguous() {
    let connection = world();
    connection
        .execute(
            "UPDATE messages SET agent_id = 'm1' WHERE session_id = 'S-new'",
            [],
        )
        .expect("writable");
    let error = message(&connection, 1, None, "m1").expect_err("two live ones");
    assert_eq!(
        error.to_string(),
        "the message `m1` is ambiguous: it may be `bbb2` (`m1`), `bbb1` (`m1`)",
        "not bbb0"
    );
}

/// An id of nothing is unknown with a hint.
#[test]
fn unknown_id_has_a_hint() {
    for id in ["", "nope", "only-ther", "m1 "] {
        let error = message_error(None, id);
        assert_eq!(
            error.kind,
            ErrorKind::Unknown,
            "{id:?} is not of this workspace"
        );
        assert_eq!(
            error.hint_text(),
            Some("`ckpt-hook log` lists the messages"),
            "{id:?}"
        );
    }
    assert_eq!(
        message_error(None, "nope").to_string(),
        "there is no message `nope` in this workspace",
        "plain"
    );
    assert_eq!(
        message_error(Some("s1"), "m0").to_string(),
        "there is no message `m0` in session `S-old`",
        "narrower"
    );
    assert_eq!(
        message_error(Some("s9"), "m0").to_string(),
        "there is no session `s9` in this workspace",
        "the session"
    );
}

/// An id of another workspace is unknown and says where it is known.
#[test]
fn another_workspaces_id_says_where_it_is_known() {
    for id in ["far1", "only-there"] {
        for error in [
            message_error(None, id),
            any(&world(), 1, id).expect_err("not here"),
        ] {
            assert_eq!(
                error.kind,
                ErrorKind::Unknown,
                "{id:?} is never applied here"
            );
            assert_eq!(
                error.hint_text(),
                Some("it was recorded in `/two`: go there, or use --workspace"),
                "{id:?}"
            );
        }
    }
}

/// A tree that was taken twice is listed once.
#[test]
fn tree_taken_twice_is_listed_once() {
    let error = any(&world(), 1, "0123").expect_err("two trees");
    let text =
        format!("the id `0123` is ambiguous: it may be snapshot `{TREE}`, snapshot `{OTHER_TREE}`");
    assert_eq!(error.to_string(), text, "newest first");
}

/// Last counts live and hidden messages of the chosen session.
#[test]
fn last_counts_the_rows_of_the_log() {
    assert_eq!(message_id(None, "last"), "bbb2", "hidden, and the newest");
    assert_eq!(message_id(None, "last~1"), "bbb1", "the one before it");
    assert_eq!(message_id(None, "last~2"), "bbb0", "a row of the log");
    assert_eq!(message_id(None, "last~3"), "aaa2", "of another session");
    let error = message_error(None, "last~5");
    assert_eq!(error.kind, ErrorKind::Unknown, "{error}");
    assert_eq!(
        message_id(Some("s1"), "last"),
        "aaa2",
        "of the session that is asked for"
    );
    assert_eq!(
        message_id(Some("s1"), "last~1"),
        "aaa1",
        "and back from there"
    );
}

#[test]
fn steps_sessions_operations_and_snapshots_have_ids_too() {
    let connection = world();
    assert_eq!(
        step(&connection, 1, Some("s2"), "x").expect("known").id,
        "step-2",
        "a sub-agent's step is the root's"
    );
    assert_eq!(
        session(&connection, 1, "s1").expect("known").id,
        "S-old",
        "not the one of the other workspace"
    );
    let kind = |id: &str| {
        any(&connection, 1, id).map(|any| format!("{any:?}").split('(').next().map(str::to_owned))
    };
    for (id, expected) in [
        ("last", "Message"),
        ("m1", "Message"),
        ("step-1", "Step"),
        ("S-sub", "Session"),
        ("op-1", "Operation"),
        (TREE, "Snapshot"),
        ("01234", "Snapshot"),
        ("before lunch", "Snapshot"),
    ] {
        assert_eq!(kind(id).expect(id).as_deref(), Some(expected), "{id:?}");
    }
    for (id, why) in [
        ("0123", "two trees begin so"),
        ("012", "too short for a tree"),
        ("before", "labels are whole"),
    ] {
        assert!(any(&connection, 1, id).is_err(), "{why}");
    }
    let error = any(&connection, 1, "step").expect_err("ambiguous");
    assert!(
        error.to_string().contains("step `step-1`"),
        "the kinds are named: {error}"
    );
}

/// A tree that was taken twice is the newest snapshot.
#[test]
fn tree_taken_twice_is_the_newest_snapshot() {
    let Any::Snapshot(row) = any(&world(), 1, TREE).expect("known") else {
        panic!("a snapshot")
    };
    assert_eq!(
        row.id, 3,
        "its modes may differ, which the tree does not say"
    );
}

#[test]
fn an_error_repeats_an_id_harmlessly() {
    let error = message_error(None, &format!("\u{1b}[2J\n{}", "x".repeat(4096)));
    let text = error.to_string();
    assert!(
        !text.chars().any(char::is_control),
        "no escape sequence reaches the terminal: {text}"
    );
    assert!(text.len() < 200, "and no page of text: {}", text.len());
}

fn hostile_id() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "b",
        "m",
        "s",
        "S-",
        "last",
        "~",
        "'",
        "\"",
        "%",
        "_",
        "\0",
        "*",
        "?",
        "[",
        ";--",
        "\\",
        "é",
        "\u{10ffff}",
        "0123",
        " ",
        "\n",
    ]);
    prop_oneof![
        prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat()),
        any_text(),
        Just("x".repeat(4096)),
        Just("%".repeat(4096)),
    ]
}

fn any_text() -> impl Strategy<Value = String> {
    prop::collection::vec(proptest::char::any(), 0..40).prop_map(String::from_iter)
}

proptest! {
    /// Any text is found unknown or ambiguous and changes nothing.
    #[test]
    fn any_text_resolves_and_changes_nothing(id in hostile_id()) {
        let connection = world();
        let before = connection.total_changes();
        let known = ["aaa1", "aaa2", "bbb0", "bbb1", "bbb2", "m0", "m1", "m2"];
        let is_known = |text: &str| known.contains(&text);
        match message(&connection, 1, None, &id) {
            Ok(_) => prop_assert!(is_known(&id) || last(&id).is_some(), "nothing but its id finds a message"),
            Err(error) if error.kind == ErrorKind::Unknown => prop_assert!(!is_known(&id), "{error}"),
            Err(error) => prop_assert_eq!(error.kind, ErrorKind::Ambiguous, "{}", error),
        }
        for result in [any(&connection, 1, &id).map(drop), message(&connection, 1, Some(&id), "m1").map(drop)] {
            if let Err(error) = result {
                prop_assert!(matches!(error.kind, ErrorKind::Unknown | ErrorKind::Ambiguous), "{error}");
            }
        }
        prop_assert_eq!(connection.total_changes(), before, "looking changes nothing");
    }
}
