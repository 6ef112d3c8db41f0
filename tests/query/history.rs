use std::path::Path;

use ckpt_schema::report::{MessageState, TimelineEntry};
use ckpt_store::ErrorKind;
use ckpt_store::query::LogFilter;

use testing::rows::{RowStore, tree};

fn everything() -> LogFilter {
    LogFilter::default()
}

fn ids(world: &mut RowStore, filter: &LogFilter) -> Vec<String> {
    let cwd = world.cwd();
    world
        .store
        .log(&cwd, filter)
        .expect("a log")
        .messages
        .into_iter()
        .map(|message| message.id)
        .collect()
}

/// Two sessions with their messages, one after the other, and a sub-agent of the first.
fn two_sessions() -> RowStore {
    let world = RowStore::new();
    world.session("one", None, 10);
    world.session("two", None, 20);
    world.session("sub", Some("one"), 30);
    world.message("m1", "one", "live");
    world.message("m2", "two", "live");
    world.message("m3", "one", "hidden");
    world.message("m4", "one", "discarded");
    world
}

#[test]
fn where_nothing_was_recorded_the_lists_are_empty() {
    let mut world = RowStore::blank();
    let cwd = world.cwd();
    assert!(
        world
            .store
            .log(&cwd, &everything())
            .unwrap()
            .messages
            .is_empty(),
        "no messages"
    );
    assert!(
        world
            .store
            .operations(&cwd, &LogFilter::default())
            .unwrap()
            .operations
            .is_empty(),
        "no operations"
    );
    assert!(
        world
            .store
            .sessions(Some(&cwd))
            .unwrap()
            .sessions
            .is_empty(),
        "no sessions"
    );
    let filter = LogFilter {
        session: Some("one".to_owned()),
        ..everything()
    };
    assert_eq!(
        world.store.log(&cwd, &filter).unwrap_err().kind,
        ErrorKind::Unavailable,
        "and no session to ask for"
    );
}

/// Another directory at the same path has no history.
#[test]
fn another_directory_at_the_path_has_no_history() {
    let mut world = two_sessions();
    world.rows("UPDATE workspaces SET inode = inode + 1");
    assert!(
        ids(&mut world, &everything()).is_empty(),
        "the recorded directory had another inode"
    );
}

#[test]
fn the_log_lists_messages_newest_first() {
    let mut world = two_sessions();
    assert_eq!(
        ids(&mut world, &everything()),
        ["m4", "m3", "m2", "m1"],
        "of all sessions and states"
    );
    let limited = LogFilter {
        limit: Some(2),
        ..everything()
    };
    assert_eq!(
        ids(&mut world, &limited),
        ["m4", "m3"],
        "the newest of them"
    );
    assert_eq!(
        ids(
            &mut world,
            &LogFilter {
                limit: Some(0),
                ..everything()
            }
        ),
        [""; 0],
        "zero is zero"
    );
    let subdirectory = world.directory("project/src");
    let plain = std::fs::create_dir_all(world.directory("project/.git")).and_then(|()| {
        std::fs::write(
            world.directory("project/.git/HEAD"),
            "ref: refs/heads/main\n",
        )
    });
    plain.expect("a repository, as far as a workspace's root goes");
    assert_eq!(
        world
            .store
            .log(&subdirectory, &everything())
            .unwrap()
            .messages
            .len(),
        4,
        "from below the root as well"
    );
}

/// The log of a session takes any id of it.
#[test]
fn sessions_log_takes_any_of_its_ids() {
    let mut world = two_sessions();
    for id in ["one", "agent-one", "sub"] {
        let filter = LogFilter {
            session: Some(id.to_owned()),
            ..everything()
        };
        assert_eq!(
            ids(&mut world, &filter),
            ["m4", "m3", "m1"],
            "{id} is the session one, or a sub-agent of it"
        );
    }
}

#[test]
fn the_log_of_every_workspace_is_asked_for() {
    let mut world = two_sessions();
    world.workspace(2, "other");
    world.rows(
        "INSERT INTO sessions (id, workspace_id, agent, agent_id, started_at, last_event_at) VALUES ('far', 2, 'pi', 'f', 0, 0);
         INSERT INTO messages (id, session_id, created_at) VALUES ('m5', 'far', 0)",
    );
    assert_eq!(
        ids(&mut world, &everything())[0],
        "m4",
        "m5 is of another workspace"
    );
    assert_eq!(
        ids(
            &mut world,
            &LogFilter {
                everywhere: true,
                ..everything()
            }
        )[0],
        "m5",
        "which is asked for here"
    );
    let filter = LogFilter {
        everywhere: true,
        session: Some("far".to_owned()),
        ..everything()
    };
    assert_eq!(
        ids(&mut world, &filter),
        ["m5"],
        "its session can be named, too"
    );
    let home = world.directory("home");
    let filter = LogFilter {
        everywhere: true,
        ..everything()
    };
    assert_eq!(
        world.store.log(&home, &filter).unwrap().messages.len(),
        5,
        "from where nothing can be captured, too"
    );
    assert_eq!(
        world.store.sessions(None).unwrap().sessions.len(),
        4,
        "and all sessions"
    );
}

#[test]
fn the_operations_of_every_workspace_are_asked_for() {
    let mut world = two_sessions();
    world.workspace(2, "other");
    world.rows(
        "INSERT INTO sessions (id, workspace_id, agent, agent_id, started_at, last_event_at) VALUES ('far', 2, 'pi', 'f', 0, 0);
         INSERT INTO messages (id, session_id, prompt, created_at) VALUES ('m5', 'far', 'far away', 0);
         INSERT INTO operations (id, workspace_id, session_id, message_id, kind, state, on_conflict, started_at)
             VALUES ('o1', 1, 'one', 'm1', 'revert', 'done', 'merge', 1), ('o2', 2, 'far', 'm5', 'revert', 'done', 'merge', 2)",
    );
    let asked = |world: &mut RowStore, from: &Path, filter: LogFilter| -> Vec<(String, String)> {
        let report = world.store.operations(from, &filter).expect("a list");
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let entries = report.operations.into_iter();
        entries
            .map(|entry| (entry.id, name(&entry.workspace)))
            .collect()
    };
    let everywhere = || LogFilter {
        everywhere: true,
        ..everything()
    };
    let [o1, o2] = [("o1", world.cwd()), ("o2", world.directory("other"))].map(|(id, root)| {
        let name = root.file_name().expect("it has one").to_string_lossy();
        (id.to_owned(), name.into_owned())
    });
    let here = world.cwd();
    assert_eq!(
        asked(&mut world, &here, everything()),
        std::slice::from_ref(&o1),
        "only here"
    );
    let both = [o2.clone(), o1.clone()];
    assert_eq!(
        asked(&mut world, &here, everywhere()),
        both,
        "each says where"
    );
    let home = world.directory("home");
    assert_eq!(
        asked(&mut world, &home, everywhere()),
        both,
        "from anywhere"
    );
    let filters = [
        LogFilter {
            session: Some("far".to_owned()),
            ..everywhere()
        },
        LogFilter {
            agent: Some("pi".to_owned()),
            ..everywhere()
        },
        LogFilter {
            grep: Some("far away".to_owned()),
            ..everywhere()
        },
        LogFilter {
            limit: Some(1),
            ..everywhere()
        },
    ];
    for filter in filters {
        assert_eq!(asked(&mut world, &here, filter), std::slice::from_ref(&o2));
    }
}

/// A message counts what its steps and its sub-agents did.
#[test]
fn message_counts_its_steps_and_sub_agents() {
    let mut world = two_sessions();
    world.step("s1", "one", "m1", "closed");
    world.step("s2", "sub", "m1", "closed");
    world.step("s3", "one", "m1", "closed");
    world.change("s1", "agent", "a.txt", Some((3, 1)));
    world.change("s2", "shared", "a.txt", Some((2, 0)));
    world.change("s2", "agent", "picture", None);
    world.execute(
        "INSERT INTO changes (workspace_id, attribution, path, kind, new_mode, additions, happened_at)
         VALUES (1, 'outside', 'mine', 'added', '100644', 9, 9)",
        [],
    );
    let cwd = world.cwd();
    let log = world.store.log(&cwd, &everything()).unwrap();
    let message = log
        .messages
        .iter()
        .find(|message| message.id == "m1")
        .expect("it is listed");
    assert_eq!(
        (message.steps, message.files),
        (3, 2),
        "a.txt counts once, and what is outside does not"
    );
    assert_eq!(
        (message.additions, message.deletions),
        (5, 1),
        "lines add up; a picture has none"
    );
    assert_eq!(
        message.agent_id.as_deref(),
        Some("agent-m1"),
        "the agent's name for it"
    );
    assert_eq!(
        message.prompt.as_deref(),
        Some("do m1"),
        "what the user wrote"
    );
    assert_eq!(log.messages[0].state, MessageState::Discarded, "m4");
    assert_eq!(
        (log.messages[0].steps, log.messages[0].files),
        (0, 0),
        "and it has no steps"
    );
}

/// Two names that look the same are two files.
#[test]
fn two_names_that_look_alike_are_two_files() {
    let mut world = two_sessions();
    world.step("s1", "one", "m1", "closed");
    for raw in [&b"\xff"[..], b"\xfe"] {
        world.execute(
            "INSERT INTO changes (workspace_id, step_id, attribution, path, path_raw, kind, new_mode, happened_at)
             VALUES (1, 's1', 'agent', char(65533), ?1, 'added', '100644', 9)",
            [raw],
        );
    }
    let cwd = world.cwd();
    let log = world.store.log(&cwd, &everything()).unwrap();
    assert_eq!(
        log.messages[3].files, 2,
        "their texts are equal, their bytes are not"
    );
}

/// Sessions are listed by when they were heard of last.
#[test]
fn sessions_are_listed_by_last_sign() {
    let mut world = two_sessions();
    world.step("s1", "sub", "m1", "closed");
    world.change("s1", "agent", "a.txt", Some((1, 0)));
    world.rows("UPDATE sessions SET ended_at = 99, revert_message_id = 'm3' WHERE id = 'one'");
    let cwd = world.cwd();
    let sessions = world.store.sessions(Some(&cwd)).unwrap().sessions;
    let seen: Vec<_> = sessions.iter().map(|session| session.id.as_str()).collect();
    assert_eq!(seen, ["sub", "two", "one"], "the newest event first");
    assert_eq!(sessions[0].parent.as_deref(), Some("one"), "who started it");
    assert_eq!(
        (sessions[0].messages, sessions[0].steps, sessions[0].files),
        (0, 1, 1),
        "its own steps"
    );
    assert_eq!(
        (sessions[2].messages, sessions[2].ended),
        (3, true),
        "the messages are the root's"
    );
    assert_eq!(
        sessions[2].revert_point.as_deref(),
        Some("m3"),
        "where it is reverted to"
    );
    assert_eq!(
        sessions[2].workspace,
        cwd.display().to_string(),
        "where it works"
    );
}

#[test]
fn operations_are_listed_with_what_they_did() {
    let mut world = two_sessions();
    for id in [1, 2] {
        world.snapshot(id);
    }
    world.rows(
        "INSERT INTO operations (id, workspace_id, session_id, kind, state, message_id, before_snapshot_id,
                                 after_snapshot_id, on_conflict, outcome, started_at)
         VALUES ('op1', 1, 'one', 'revert', 'done', 'm3', 1, 2, 'merge', 'partial', 5),
                ('op2', 1, NULL, 'restore', 'open', NULL, 2, NULL, 'merge', NULL, 6);
         INSERT INTO operation_files (operation_id, position, path, action, result)
         VALUES ('op1', 0, 'a', 'write', 'done'), ('op1', 1, 'b', 'delete', 'done'), ('op1', 2, 'c', 'merge', 'failed'),
                ('op1', 3, 'd', 'keep', 'conflict'), ('op1', 4, 'e', 'none', 'done'), ('op2', 0, 'f', 'write', 'planned')",
    );
    let cwd = world.cwd();
    let operations = world
        .store
        .operations(&cwd, &LogFilter::default())
        .unwrap()
        .operations;
    assert_eq!(operations[0].id, "op2", "newest first");
    assert_eq!(
        (operations[0].state.as_str(), operations[0].outcome),
        ("open", None),
        "it has not ended"
    );
    assert_eq!(
        (operations[1].files, operations[1].conflicts),
        (2, 1),
        "what failed or was none is not counted"
    );
    assert_eq!(
        operations[1].before.as_deref(),
        Some(tree(1).as_str()),
        "the way back"
    );
    assert_eq!(
        operations[1].after.as_deref(),
        Some(tree(2).as_str()),
        "and forth"
    );
}

/// Two agents' messages: "Fix the PARSER" changed src/a, "tidy up" changed docs/b.
fn searched() -> RowStore {
    let world = RowStore::new();
    world.session("one", None, 10);
    world.session("two", None, 20);
    world.message("m1", "one", "live");
    world.message("m2", "two", "hidden");
    world.step("s1", "one", "m1", "closed");
    world.step("s2", "two", "m2", "closed");
    world.change("s1", "agent", "src/a", Some((1, 0)));
    world.change("s2", "agent", "docs/b", Some((1, 0)));
    world.rows(
        "UPDATE messages SET prompt = 'Fix the PARSER', created_at = 1000 WHERE id = 'm1';
         UPDATE messages SET prompt = 'tidy up', created_at = 2000 WHERE id = 'm2';
         UPDATE steps SET finished_at = 1500 WHERE id = 's1';
         UPDATE sessions SET agent = 'codex' WHERE id = 'two'",
    );
    world
}

/// Messages are found by what is known of them.
#[test]
fn messages_are_found_by_what_is_known() {
    let mut world = searched();
    let cwd = world.cwd();
    let filter = |change: fn(&mut LogFilter)| {
        let mut filter = LogFilter::default();
        change(&mut filter);
        filter
    };
    let cases: [(LogFilter, &[&str], &str); 12] = [
        (
            filter(|filter| filter.grep = Some("parser".to_owned())),
            &["m1"],
            "a prompt, whatever the case",
        ),
        (
            filter(|filter| filter.agent = Some("codex".to_owned())),
            &["m2"],
            "an agent",
        ),
        (
            filter(|filter| filter.state = Some(MessageState::Hidden)),
            &["m2"],
            "a state",
        ),
        (
            filter(|filter| filter.since = Some(1500)),
            &["m2"],
            "from then on",
        ),
        (
            filter(|filter| filter.until = Some(1500)),
            &["m1"],
            "until then",
        ),
        (
            filter(|filter| filter.paths = vec!["src".into()]),
            &["m1"],
            "a directory",
        ),
        (
            filter(|filter| filter.paths = vec!["sr".into()]),
            &[],
            "no beginning of a name",
        ),
        (
            filter(|filter| filter.search = Some("Parser".to_owned())),
            &["m1"],
            "a prompt or a path: a prompt",
        ),
        (
            filter(|filter| filter.search = Some("DOCS/".to_owned())),
            &["m2"],
            "a prompt or a path: a part of a path",
        ),
        (
            filter(|filter| filter.search = Some("%".to_owned())),
            &[],
            "no character means another",
        ),
        (
            filter(|filter| {
                filter.search = Some("i".to_owned());
                filter.grep = Some("fix".to_owned());
            }),
            &["m1"],
            "both that and this",
        ),
        (
            filter(|filter| {
                filter.grep = Some("i".to_owned());
                filter.limit = Some(1);
            }),
            &["m2"],
            "so many of those that are like that",
        ),
    ];
    for (filter, expected, why) in cases {
        assert_eq!(ids(&mut world, &filter), expected, "{why}");
    }
    let outside = filter(|filter| filter.paths = vec!["/somewhere/else".into()]);
    let error = world.store.log(&cwd, &outside).unwrap_err();
    assert!(
        error.to_string().contains("/somewhere/else"),
        "it is not in the workspace: {error}"
    );
    let messages = world
        .store
        .log(&cwd, &LogFilter::default())
        .unwrap()
        .messages;
    assert_eq!(
        messages
            .iter()
            .map(|message| message.finished)
            .collect::<Vec<_>>(),
        [None, Some(1500)],
        "when the last step of each ended"
    );
}

/// A timeline has messages operations and changes from outside.
#[test]
fn timeline_has_messages_operations_and_outside_changes() {
    let mut world = searched();
    world.rows(
        "INSERT INTO changes (workspace_id, attribution, path, kind, additions, deletions, happened_at)
         VALUES (1, 'outside', 'mine', 'modified', 3, 1, 1200);
         INSERT INTO operations (id, workspace_id, kind, state, on_conflict, started_at)
         VALUES ('op1', 1, 'revert', 'done', 'merge', 3000)",
    );
    let cwd = world.cwd();
    let all = world
        .store
        .timeline(&cwd, &LogFilter::default())
        .unwrap()
        .entries;
    let shown: Vec<String> = all
        .iter()
        .map(|entry| match entry {
            TimelineEntry::Message(message) => message.id.clone(),
            TimelineEntry::Operation(operation) => operation.id.clone(),
            TimelineEntry::Outside {
                files, additions, ..
            } => format!("{files} file, +{additions}"),
        })
        .collect();
    assert_eq!(shown, ["op1", "m2", "1 file, +3", "m1"], "newest first");
    let of_codex = LogFilter {
        agent: Some("codex".to_owned()),
        ..LogFilter::default()
    };
    let entries = world.store.timeline(&cwd, &of_codex).unwrap().entries;
    assert_eq!(
        entries.len(),
        1,
        "what nobody did is no agent's: {entries:?}"
    );
}
