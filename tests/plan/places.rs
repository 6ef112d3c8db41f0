//! Files where directories are needed, and the other way round.

use ckpt_schema::report::{FileAction, FileResult};

use testing::plan::{Story, directory};

#[test]
fn a_file_that_became_a_directory_comes_back() {
    let mut world = Story::default();
    let file = world.blobs.file("a");
    world.agent("foo", file, None);
    world.agent("foo/bar", None, file);
    world.agent("foo/baz/qux", None, file);
    let plan = world.plan();
    assert!(plan.is_complete(), "all of it is the agent's");
    let actions: Vec<_> = plan.items.iter().map(|item| item.action).collect();
    assert_eq!(
        actions,
        [FileAction::Write, FileAction::Delete, FileAction::Delete],
        "by path"
    );
}

/// A directory that became a file comes back with all files.
#[test]
fn directory_that_became_a_file_comes_back() {
    let mut world = Story::default();
    let file = world.blobs.file("a");
    world.agent("foo/bar", file, None);
    world.agent("foo/baz/qux", file, None);
    world.agent("foo", None, file);
    let plan = world.plan();
    assert!(plan.is_complete(), "all of it is the agent's");
    let actions: Vec<_> = plan.items.iter().map(|item| item.action).collect();
    assert_eq!(
        actions,
        [FileAction::Delete, FileAction::Write, FileAction::Write],
        "by path"
    );
}

/// A user's file below leaves no place for a file.
#[test]
fn users_file_below_leaves_no_place() {
    let mut world = Story::default();
    let (file, users) = (world.blobs.file("a"), world.blobs.file("user"));
    world.agent("foo", file, None);
    world.agent("foo/bar", None, file);
    world.now("foo/mine", users);
    let item = world.item("foo").expect("it has a change to undo");
    assert_eq!(
        (item.action, item.result),
        (FileAction::Keep, FileResult::Conflict),
        "the directory has to stay"
    );
    assert_eq!(
        (item.target, item.goal),
        (None, None),
        "nothing is put there, and the next move starts from that"
    );
    assert!(
        item.reason
            .is_some_and(|reason| reason.contains("`foo/mine`")),
        "it is named"
    );
    let bar = world.item("foo/bar").expect("it has a change to undo");
    assert_eq!(bar.action, FileAction::Delete, "the agent's own goes");
}

/// An edited file below leaves no place for a file.
#[test]
fn edited_file_below_leaves_no_place() {
    let mut world = Story::default();
    let file = world.blobs.file("a");
    world.agent("foo", file, None);
    world.agent("foo/bar", None, file);
    world.now("foo/bar", world.blobs.file("edited"));
    let results: Vec<_> = world.plan().items.iter().map(|item| item.result).collect();
    assert_eq!(
        results,
        [FileResult::Conflict, FileResult::Conflict],
        "`foo/bar` is kept, so `foo` cannot come back"
    );
}

/// A user's file leaves no place for a directory.
#[test]
fn users_file_leaves_no_place_for_directories() {
    let mut world = Story::default();
    let file = world.blobs.file("a");
    world.agent("foo/bar", file, None);
    world.agent("foo/baz/qux", file, None);
    world.now("foo", world.blobs.file("user"));
    for item in world.plan().items {
        assert_eq!(
            (item.result, item.target),
            (FileResult::Conflict, None),
            "{:?}",
            item.path
        );
        assert!(
            item.reason.is_some_and(|reason| reason.contains("`foo`")),
            "what stays is named"
        );
    }
    world.now("foo", world.blobs.link("elsewhere"));
    assert!(
        !world.plan().has_work(),
        "nothing is written through a link"
    );
}

/// A file with a name that sorts between is not in the way.
#[test]
fn file_that_sorts_between_is_no_obstacle() {
    let mut world = Story::default();
    let file = world.blobs.file("a");
    world.agent("foo", file, None);
    world.agent("foo/bar", None, file);
    world.now("foo-x", file);
    world.now("foo.d/x", file);
    assert!(
        world.plan().is_complete(),
        "`-` and `.` sort before `/`, and are not below `foo`"
    );
}

#[test]
fn an_empty_directory_goes_and_comes_back() {
    let mut world = Story::default();
    world.agent("made", None, directory());
    world.agent("removed", directory(), None);
    let actions: Vec<_> = world.plan().items.iter().map(|item| item.action).collect();
    assert_eq!(
        actions,
        [FileAction::Delete, FileAction::Write],
        "as they were"
    );
}

/// A directory that holds something is neither removed nor made.
#[test]
fn filled_directory_is_neither_removed_nor_made() {
    let mut world = Story::default();
    let file = world.blobs.file("a");
    world.agent("emptied", None, directory());
    world.agent("emptied/f", file, None);
    let items = world.plan().items;
    assert_eq!(
        items[0].action,
        FileAction::None,
        "the directory keeps its permissions"
    );
    assert_eq!(
        items[1].action,
        FileAction::Write,
        "its file comes back into it"
    );
    let mut world = Story::default();
    world.agent("filled", directory(), None);
    world.agent("filled/f", None, file);
    world.now("filled/mine", file);
    let items = world.plan().items;
    assert_eq!(
        (items[0].action, items[0].target),
        (FileAction::None, None),
        "the user's file keeps it"
    );
    assert_eq!(items[1].action, FileAction::Delete, "the agent's goes");
}

/// A directory that the agent filled is empty again.
#[test]
fn directory_filled_by_the_agent_is_emptied() {
    let mut world = Story::default();
    let file = world.blobs.file("a");
    world.agent("filled", directory(), None);
    world.agent("filled/f", None, file);
    let items = world.plan().items;
    assert_eq!(
        (items[0].action, items[0].target),
        (FileAction::Write, directory()),
        "it was there before"
    );
    assert_eq!(items[1].action, FileAction::Delete, "and was empty");
}
