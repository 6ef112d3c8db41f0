//! `--unclear take` holds for what it is said of.

use ckpt_schema::report::Outcome;
use ckpt_store::{RevertRequest, Unclear};

use testing::scenario::{World, set_moment, taking, to};

const MINUTE: i64 = 60_000;

/// Two messages, each cut off in a command and followed by an hour of silence, after which two files appear. A third one came after them.
fn two_unclear() -> World {
    let at = |minute: i64| set_moment(1_700_000_000_000 + minute * MINUTE);
    at(0);
    let mut world = World::new();
    for number in [1, 2] {
        at(number * 100);
        world.message(&format!("m{number}"));
        world.start_shell();
        world.write(format!("its{number}"), "x\n");
        at(number * 100 + 60);
        world.write(format!("f{number}"), "?\n");
        world.write(format!("g{number}"), "?\n");
    }
    at(300);
    world.message("m3");
    world
}

/// What is unclear is taken where it was said and nowhere else.
///
/// Invariant `truth/unclear-taken`: What is unclear is taken where that was said, and nowhere
/// else.
#[test]
fn unclear_is_taken_only_where_said() {
    let there = |world: &World| -> Vec<&str> {
        let names = ["f1", "g1", "f2", "g2", "its1", "its2"];
        names
            .into_iter()
            .filter(|name| world.exists(name))
            .collect()
    };
    let mut world = two_unclear();
    let all = there(&world);
    assert_eq!(all, ["f1", "g1", "f2", "g2", "its1", "its2"]);
    let of_a_file = RevertRequest {
        only: vec!["f1".into()],
        ..taking("m1")
    };
    world.try_revert(&of_a_file).expect("it is known");
    assert_eq!(there(&world), ["g1", "f2", "g2", "its1", "its2"]);
    let report = world.revert("m1");
    assert_eq!(there(&world), ["g1", "f2", "g2"], "{report:#?}");
    assert_eq!(report.outcome, Outcome::Partial);
    world.unrevert();
    assert_eq!(there(&world), all);

    world.try_revert(&taking("m2")).expect("it is known");
    assert_eq!(there(&world), ["f1", "g1", "its1"]);
    let report = world.revert("m1");
    assert_eq!(
        there(&world),
        ["f1", "g1"],
        "older ones were not asked for: {report:#?}"
    );
    assert_eq!(report.outcome, Outcome::Partial);
    world.redo();
    assert_eq!(there(&world), ["f1", "g1", "its1"], "as it was");
    let keeping = RevertRequest {
        unclear: Some(Unclear::Keep),
        ..to("m2")
    };
    let report = world.try_revert(&keeping).expect("it is known");
    assert_eq!(
        there(&world),
        ["f1", "g1", "f2", "g2", "its1"],
        "{report:#?}"
    );
    world.unrevert();
    assert_eq!(there(&world), all);
}

/// What is unclear is a word of its own in status log and show.
///
/// Invariant `truth/unclear-taken`.
#[test]
fn unclear_is_a_word_of_its_own() {
    let mut world = two_unclear();
    let status = world.status();
    let named: Vec<&str> = status
        .unclear
        .iter()
        .map(|one| one.path.path.as_str())
        .collect();
    assert_eq!(named, ["f1", "f2", "g1", "g2"], "{status:#?}");
    let why = "after the agent's last sign of life";
    let mut reasons = status.unclear.iter().map(|one| &one.reason);
    assert!(reasons.all(|reason| reason.contains(why)), "{status:#?}");

    let log = world.log();
    let counted: Vec<u64> = log.messages.iter().map(|one| one.unclear).collect();
    assert_eq!(counted, [0, 2, 2], "the newest message first");

    let cwd = world.cwd.clone();
    let id = &log.messages[1].id;
    let shown = world.store.show(&cwd, id).expect("it is known");
    let shown = serde_json::to_string(&shown).expect("a report");
    assert!(
        shown.contains("\"unclear\"") && shown.contains(why),
        "{shown}"
    );
}
