//! The rows of the three-way rule, one path at a time.

use ckpt_schema::report::{FileAction, FileResult};
use ckpt_store::model::entry::{EntryKind, State};
use ckpt_store::model::request::OnConflict;
use ckpt_store::revert::goal::merge::MergeBlobs;
use ckpt_store::revert::goal::rule::{Ruling, ThreeWay, three_way};
use ckpt_store::revert::request::history::{Author, Claim};

use testing::plan::{Blobs, Story, codex, directory, gap};

const TEXT: &str = "1\n2\n3\n4\n5\n";

/// What becomes of a file that an agent changed from `old` to `new` and that is `now` something else.
fn revert(
    old: State,
    new: State,
    now: State,
    world: Story,
) -> (FileAction, FileResult, State, Option<String>) {
    let mut world = world;
    world.agent("f", old, new);
    world.now("f", now);
    let item = world
        .item("f")
        .expect("a path with a change to undo is in the plan");
    let reason = item.reason.map(|reason| reason.text);
    (item.action, item.result, item.target, reason)
}

#[test]
fn an_untouched_change_is_undone_whatever_the_kinds() {
    let blobs = Blobs::default();
    let states = [
        None,
        blobs.file("a"),
        blobs.file(""),
        blobs.file_of_mode("a", 0o755),
        blobs.link("a"),
        directory(),
    ];
    for old in states {
        for new in states.into_iter().filter(|new| *new != old) {
            let action = if old.is_none() {
                FileAction::Delete
            } else {
                FileAction::Write
            };
            let expected = (action, FileResult::Planned, old, None);
            assert_eq!(
                revert(old, new, new, Story::default()),
                expected,
                "{old:?} -> {new:?}, and nothing since"
            );
        }
    }
}

/// A change that the user undid by hand is left alone.
#[test]
fn change_undone_by_hand_is_left_alone() {
    let blobs = Blobs::default();
    let states = [
        None,
        blobs.file("a"),
        blobs.file_of_mode("a", 0o755),
        blobs.link("a"),
        directory(),
    ];
    for old in states {
        for new in states.into_iter().filter(|new| *new != old) {
            let expected = (FileAction::None, FileResult::Done, old, None);
            assert_eq!(
                revert(old, new, old, Story::default()),
                expected,
                "{old:?} -> {new:?} -> {old:?}"
            );
        }
    }
}

#[test]
fn every_kind_over_every_kind_obeys_the_rule() {
    let blobs = Blobs::default();
    let states = [
        None,
        blobs.file("a\n"),
        blobs.file("b\n"),
        blobs.file_of_mode("a\n", 0o755),
        blobs.file_of_mode("a\n", 0o600),
        blobs.file("\0"),
        blobs.link("x"),
        blobs.link("y"),
        directory(),
        gap(),
    ];
    for ancestor in states {
        for theirs in states {
            for ours in states {
                for on_conflict in [OnConflict::Merge, OnConflict::Keep, OnConflict::Overwrite] {
                    check(
                        ThreeWay {
                            ancestor,
                            theirs,
                            ours,
                        },
                        on_conflict,
                        &blobs,
                    );
                }
            }
        }
    }
}

fn check(sides: ThreeWay, on_conflict: OnConflict, blobs: &Blobs) {
    let read = |blob, limit| blobs.read(blob, limit);
    let ruling =
        three_way(sides, &mut MergeBlobs::new(&read), on_conflict).expect("every blob is there");
    let ThreeWay {
        ancestor,
        theirs,
        ours,
    } = sides;
    let what = format!("{sides:?} {on_conflict:?}");
    match ruling {
        Ruling::Already => assert!(
            ours == theirs || theirs == ancestor || is_file(ours),
            "nothing to do: {what}"
        ),
        Ruling::Taken(state) => {
            assert_eq!(state, theirs, "the old side, and nothing else: {what}");
            assert!(
                ours == ancestor || on_conflict == OnConflict::Overwrite,
                "only over what the agent left: {what}"
            );
        }
        Ruling::Merged(entry) => {
            assert_ne!(on_conflict, OnConflict::Keep, "keep never merges: {what}");
            for side in [ancestor, theirs, ours] {
                let side = side.expect("only what is there on all sides is merged");
                assert!(
                    side.is_stored() && side.mode.kind() == entry.mode.kind(),
                    "of one kind, and stored: {what}"
                );
                assert_ne!(
                    entry.mode.kind(),
                    EntryKind::Symlink,
                    "a link is never merged: {what}"
                );
            }
        }
        Ruling::Conflict(_) | Ruling::Missing(_) => {
            assert!(
                ours != ancestor && ours != theirs,
                "what is as expected is no conflict: {what}"
            );
            assert_ne!(
                on_conflict,
                OnConflict::Overwrite,
                "overwrite takes the old side: {what}"
            );
        }
    }
}

fn is_file(state: State) -> bool {
    state.is_some_and(|entry| entry.mode.kind() == EntryKind::File)
}

/// Invariant `work/edits-kept`: The user's edits are merged or kept, never lost.
#[test]
fn edits_that_do_not_overlap_are_merged() {
    let world = Story::default();
    let (old, new) = (
        world.blobs.file(TEXT),
        world.blobs.file("one\n2\n3\n4\n5\n"),
    );
    let now = world.blobs.file("one\n2\n3\n4\nfive\n");
    let mut world = world;
    world.agent("f", old, new);
    world.now("f", now);
    let plan = world.plan();
    let item = &plan.items[0];
    assert_eq!(
        (item.action, item.result),
        (FileAction::Merge, FileResult::Planned),
        "line 1 and line 5"
    );
    assert_eq!(
        world.blobs.text(item.target).as_deref(),
        Some("1\n2\n3\n4\nfive\n"),
        "the agent's out, the user's in"
    );
    assert!(
        plan.blobs
            .contains_key(&item.target.and_then(|entry| entry.blob).expect("a file")),
        "to be stored first"
    );
    assert!(
        plan.is_complete() && plan.has_work(),
        "all that was asked for"
    );
}

/// Edits that overlap are kept and reported or overwritten.
///
/// Invariant `work/edits-kept`.
#[test]
fn overlapping_edits_are_kept_or_overwritten() {
    let row = |on_conflict| {
        let world = Story {
            on_conflict,
            ..Story::default()
        };
        let (old, new) = (
            world.blobs.file(TEXT),
            world.blobs.file("one\n2\n3\n4\n5\n"),
        );
        let now = world.blobs.file("ONE\n2\n3\n4\n5\n");
        (old, now, revert(old, new, now, world))
    };
    let (_, now, kept) = row(OnConflict::Merge);
    let reason = "changed in the same lines since by you or another program".to_owned();
    assert_eq!(
        kept,
        (FileAction::Keep, FileResult::Conflict, now, Some(reason)),
        "untouched by default"
    );
    let (old, _, overwritten) = row(OnConflict::Overwrite);
    assert_eq!(
        overwritten,
        (FileAction::Write, FileResult::Planned, old, None),
        "the user's word"
    );
}

#[test]
fn keep_never_merges() {
    let world = Story {
        on_conflict: OnConflict::Keep,
        ..Story::default()
    };
    let (old, new) = (
        world.blobs.file(TEXT),
        world.blobs.file("one\n2\n3\n4\n5\n"),
    );
    let now = world.blobs.file("one\n2\n3\n4\nfive\n");
    let reason = Some("changed since by you or another program".to_owned());
    assert_eq!(
        revert(old, new, now, world),
        (FileAction::Keep, FileResult::Conflict, now, reason),
        "any difference"
    );
}

#[test]
fn overwrite_still_merges_what_does_not_overlap() {
    let world = Story {
        on_conflict: OnConflict::Overwrite,
        ..Story::default()
    };
    let (old, new) = (
        world.blobs.file(TEXT),
        world.blobs.file("one\n2\n3\n4\n5\n"),
    );
    let now = world.blobs.file("one\n2\n3\n4\nfive\n");
    let (action, ..) = revert(old, new, now, world);
    assert_eq!(
        action,
        FileAction::Merge,
        "edits apart from each other are no conflict"
    );
}

/// Permissions and content are undone each on its own.
#[test]
fn permissions_and_content_are_undone_separately() {
    let world = Story::default();
    let of = |text: &str, permissions| world.blobs.file_of_mode(text, permissions);
    let (old, now) = (of("a\n", 0o644), of("b\n", 0o755));
    let chmod = (
        old,
        of("a\n", 0o755),
        now,
        of("b\n", 0o644),
        "the agent's chmod goes, the user's text stays",
    );
    let edit = (
        old,
        of("b\n", 0o644),
        now,
        of("a\n", 0o755),
        "the agent's text goes, the user's chmod stays",
    );
    let both = (
        of("a\n", 0o600),
        of("b\n", 0o644),
        of("b\n", 0o600),
        of("a\n", 0o600),
        "the user took the chmod back",
    );
    for (old, new, now, expected, why) in [chmod, edit, both] {
        let (action, result, target, reason) = revert(old, new, now, Story::default());
        assert_eq!(
            (action, result),
            (FileAction::Merge, FileResult::Planned),
            "{why}"
        );
        assert_eq!((target, reason), (expected, None), "{why}");
    }
    let (old, new, now) = (of("a\n", 0o644), of("a\n", 0o755), of("a\n", 0o700));
    let (action, _, target, reason) = revert(old, new, now, Story::default());
    assert_eq!(
        (action, target),
        (FileAction::Keep, now),
        "both changed the permissions"
    );
    assert_eq!(
        reason.as_deref(),
        Some("its permissions changed again since by you or another program"),
        "and that is why"
    );
}

/// What cannot be told apart is kept with its reason.
#[test]
fn indistinguishable_change_is_kept_with_its_reason() {
    let blobs = Blobs::default();
    let (a, b, c) = (blobs.file("a\n"), blobs.file("b\n"), blobs.file("c\n"));
    for (old, new, now, reason) in [
        (a, b, None, "deleted since by you or another program"),
        (
            None,
            a,
            c,
            "not removed, because it was edited since by you or another program",
        ),
        (
            None,
            a,
            blobs.file_of_mode("a\n", 0o755),
            "not removed, because it was edited since by you or another program",
        ),
        (
            a,
            None,
            c,
            "something else was put there since by you or another program",
        ),
        (
            a,
            b,
            blobs.link("x"),
            "replaced by something of another type since by you or another program",
        ),
        (
            a,
            b,
            directory(),
            "replaced by something of another type since by you or another program",
        ),
        (
            blobs.link("x"),
            a,
            c,
            "changed since by you or another program",
        ),
        (
            blobs.link("x"),
            blobs.link("y"),
            blobs.link("z"),
            "a symbolic link, pointed elsewhere since by you or another program",
        ),
        (
            blobs.file("\0a"),
            blobs.file("\0b"),
            blobs.file("\0c"),
            "a binary file, changed since by you or another program",
        ),
    ] {
        let world = Story::default();
        for text in [old, new, now]
            .into_iter()
            .filter_map(|state| blobs.text(state))
        {
            world.blobs.file(&text);
        }
        let expected = (
            FileAction::Keep,
            FileResult::Conflict,
            now,
            Some(reason.to_owned()),
        );
        assert_eq!(
            revert(old, new, now, world),
            expected,
            "{old:?} -> {new:?} -> {now:?}"
        );
    }
}

/// A file that the agent created and the user deleted needs nothing.
#[test]
fn created_then_deleted_file_needs_nothing() {
    let file = Blobs::default().file("a");
    let expected = (FileAction::None, FileResult::Done, None, None);
    assert_eq!(
        revert(None, file, None, Story::default()),
        expected,
        "it is gone already"
    );
}

/// What is not stored is never replaced or removed.
///
/// Invariant `work/not-stored`: What no snapshot holds is never replaced or removed.
#[test]
fn unstored_is_never_replaced_or_removed() {
    let file = Blobs::default().file("a");
    for on_conflict in [OnConflict::Merge, OnConflict::Keep, OnConflict::Overwrite] {
        for (old, new) in [
            (None, gap()),
            (file, gap()),
            (None, file),
            (gap(), None),
            (gap(), file),
        ] {
            let world = Story {
                on_conflict,
                ..Story::default()
            };
            let (action, result, target, reason) = revert(old, new, gap(), world);
            assert_eq!(
                (action, result, target),
                (FileAction::Keep, FileResult::Gap, gap()),
                "{old:?} -> {new:?}"
            );
            assert!(
                reason.is_some_and(|reason| reason.contains("what is there now")),
                "it says why: {old:?}"
            );
        }
    }
}

/// Invariant `truth/named-with-reason`: Every path that could not be restored is named with its
/// reason.
#[test]
fn what_was_not_stored_cannot_come_back() {
    let file = Blobs::default().file("a");
    for new in [None, file] {
        let (action, result, target, reason) = revert(gap(), new, new, Story::default());
        assert_eq!(
            (action, result, target),
            (FileAction::Keep, FileResult::Gap, new),
            "nothing is put there"
        );
        let expected = "not restorable: no snapshot holds its state before";
        assert_eq!(reason.as_deref(), Some(expected), "it says why");
    }
}

/// A new file above the cap is named and not deleted.
#[test]
fn new_file_above_the_cap_is_named() {
    let file = Blobs::default().file("read for the revert, whatever its size");
    let (action, result, target, _) = revert(None, gap(), file, Story::default());
    assert_eq!(
        (action, result, target),
        (FileAction::Keep, FileResult::Gap, file),
        "it may be the user's by now"
    );
    let world = Story {
        on_conflict: OnConflict::Overwrite,
        ..Story::default()
    };
    let (action, ..) = revert(None, gap(), file, world);
    assert_eq!(
        action,
        FileAction::Delete,
        "it is stored now, and the user asked for it"
    );
}

#[test]
fn a_conflict_names_the_other_session() {
    let mut world = Story::default();
    let (a, b, c) = (
        world.blobs.file("a\n"),
        world.blobs.file("b\n"),
        world.blobs.file("c\n"),
    );
    world.agent("f", a, b);
    world.other("f", b, c, codex());
    let item = world.item("f").expect("it has a change to undo");
    let reason = "changed in the same lines since by codex";
    assert_eq!(
        (item.action, item.reason.as_deref()),
        (FileAction::Keep, Some(reason)),
        "B's lines stay"
    );
    world.other("f", c, a, Author::User);
    world.now("f", world.blobs.file("d\n"));
    let reason = world
        .item("f")
        .and_then(|item| item.reason)
        .expect("a conflict");
    assert!(
        reason.contains("by you or another program and codex"),
        "everybody who was at it since: {reason}"
    );
}

/// Invariant `truth/unclear`.
#[test]
fn lines_of_two_sessions_are_told_apart() {
    let mut world = Story::default();
    let (a, b) = (
        world.blobs.file(TEXT),
        world.blobs.file("one\n2\n3\n4\n5\n"),
    );
    world.agent("f", a, b);
    world.other("f", b, world.blobs.file("one\n2\n3\n4\nfive\n"), codex());
    let item = world.item("f").expect("it has a change to undo");
    assert_eq!(
        world.blobs.text(item.target).as_deref(),
        Some("1\n2\n3\n4\nfive\n"),
        "A's line out, B's kept"
    );
}

/// Invariant `truth/unclear`.
#[test]
fn a_shared_change_stays_unless_it_is_named() {
    let mut world = Story::default();
    let (a, b) = (world.blobs.file("a\n"), world.blobs.file("b\n"));
    let Author::Agent(source) = codex() else {
        unreachable!("codex is an agent")
    };
    world.happens("f", a, b, codex(), Claim::Shared(vec![source]));
    let item = world.item("f").expect("it is reported");
    let reason = "shared with codex";
    assert_eq!(
        (item.result, item.reason.as_deref()),
        (FileResult::Conflict, Some(reason)),
        "nobody knows whose it is"
    );
    assert_eq!(item.target, b, "it stays");
    world.changes[0].claim = Claim::Undo;
    assert_eq!(
        world.item("f").map(|item| item.target),
        Some(a),
        "asked for by name"
    );
}
