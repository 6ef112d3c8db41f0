//! Several changes of one path, and the revert point moved over them.

use ckpt_schema::report::{FileAction, FileResult};
use ckpt_store::model::entry::State;
use ckpt_store::revert::goal::target::Target;
use ckpt_store::revert::request::history::{Author, Claim};

use testing::plan::{States, Story, directory, gap, path};

/// A world in which the agent took `f` through these states.
fn through(world: &mut Story, states: &[State]) {
    for pair in states.windows(2) {
        world.agent("f", pair[0], pair[1]);
    }
}

fn target_text(world: &Story) -> Option<String> {
    world
        .blobs
        .text(world.item("f").expect("`f` has changes to undo").target)
}

#[test]
fn the_oldest_content_after_the_message_wins() {
    let mut world = Story::default();
    let states = ["a", "b", "c", "d"].map(|text| world.blobs.file(text));
    through(&mut world, &states);
    assert_eq!(
        target_text(&world).as_deref(),
        Some("a"),
        "before the first of three changes"
    );
    world.changes[0].claim = Claim::Keep;
    assert_eq!(
        target_text(&world).as_deref(),
        Some("b"),
        "message 2 of 3 keeps message 1's change"
    );
}

/// A file deleted and made anew gets its content from before.
#[test]
fn deleted_and_remade_file_gets_its_first_content() {
    let mut world = Story::default();
    let states = [world.blobs.file("a"), None, world.blobs.file("b")];
    through(&mut world, &states);
    assert_eq!(
        target_text(&world).as_deref(),
        Some("a"),
        "from before the deletion"
    );
}

/// A file created and deleted leaves nothing but a strangers file.
#[test]
fn created_and_deleted_file_leaves_nothing() {
    let mut world = Story::default();
    let (agents, users) = (world.blobs.file("agent"), world.blobs.file("user"));
    through(&mut world, &[None, agents, None]);
    assert_eq!(
        world.item("f").map(|item| item.action),
        Some(FileAction::None),
        "nothing is there"
    );
    world.now("f", agents);
    assert_eq!(
        world.item("f").map(|item| item.action),
        Some(FileAction::Delete),
        "the agent's bytes, put back by somebody"
    );
    world.now("f", users);
    let item = world.item("f").expect("it is looked at");
    assert_eq!(
        (item.action, item.target),
        (FileAction::None, users),
        "the user's own"
    );
}

/// What the user took back over several changes is no conflict.
#[test]
fn users_own_undoing_is_no_conflict() {
    let mut world = Story::default();
    let states = ["a\n", "b\n", "c\n"].map(|text| world.blobs.file(text));
    through(&mut world, &states);
    world.now("f", states[0]);
    assert_eq!(
        world.item("f").map(|item| item.result),
        Some(FileResult::Done),
        "all of it is back already"
    );
    world.now("f", states[1]);
    assert_eq!(
        target_text(&world).as_deref(),
        Some("a\n"),
        "half of it is: the other half follows"
    );
}

#[test]
fn agent_and_user_taking_turns_are_told_apart() {
    let mut world = Story::default();
    let [v0, v1, u1, v2, u2] = [
        "1\n2\n3\n4\n5\n6\n7\n",
        "one\n2\n3\n4\n5\n6\n7\n",
        "one\n2\nTHREE\n4\n5\n6\n7\n",
        "one\n2\nTHREE\n4\nfive\n6\n7\n",
        "one\n2\nTHREE\n4\nfive\n6\nSEVEN\n",
    ]
    .map(|text| world.blobs.file(text));
    world.agent("f", v0, v1);
    world.other("f", v1, u1, Author::User);
    world.agent("f", u1, v2);
    world.other("f", v2, u2, Author::User);
    assert_eq!(
        target_text(&world).as_deref(),
        Some("1\n2\nTHREE\n4\n5\n6\nSEVEN\n"),
        "the agent's two lines are out"
    );
}

/// A change that stays holds back the older ones only.
#[test]
fn kept_change_holds_back_older_ones_only() {
    let mut world = Story::default();
    let [v0, v1, v2, now] = [
        "1\n2\n3\n4\n5\n",
        "one\n2\n3\n4\n5\n",
        "one\n2\n3\n4\nfive\n",
        "ONE\n2\n3\n4\nfive\n",
    ]
    .map(|text| world.blobs.file(text));
    through(&mut world, &[v0, v1, v2]);
    world.now("f", now);
    let item = world.item("f").expect("it has changes to undo");
    assert_eq!(
        world.blobs.text(item.target).as_deref(),
        Some("ONE\n2\n3\n4\n5\n"),
        "the newer change is out"
    );
    let reason = "in part: changed in the same lines since by you or another program";
    assert_eq!(
        (item.result, item.reason.as_deref()),
        (FileResult::Planned, Some(reason)),
        "the older one is named"
    );
    assert!(!world.plan().is_complete(), "a part is not all");
    let current = States::from([(path("f"), item.target)]);
    let again = world.plan_from(&States::from([(path("f"), item.goal)]), &current);
    assert_eq!(
        again.items[0].result,
        FileResult::Conflict,
        "asked again, it is still a conflict"
    );
    assert!(!again.has_work(), "and nothing more can be done");
}

/// A gap between two stored states is passed over.
#[test]
fn gap_between_stored_states_is_passed_over() {
    let mut world = Story::default();
    let (old, new) = (world.blobs.file("small"), world.blobs.file("small again"));
    through(&mut world, &[old, gap(), new]);
    assert_eq!(
        target_text(&world).as_deref(),
        Some("small"),
        "what it was before is stored"
    );
    let mut world = Story::default();
    through(&mut world, &[gap(), old, new]);
    let item = world.item("f").expect("it has changes to undo");
    assert_eq!(item.target, old, "as far back as there are bytes");
    let reason = "in part: not restorable: no snapshot holds its state before";
    assert_eq!(item.reason.as_deref(), Some(reason), "and no further");
}

/// Unrevert gives back the state of before the first revert.
///
/// Invariant `work/unrevert`: Unrevert gives back the bytes from before the first revert, and
/// edits made while reverted survive.
#[test]
fn unrevert_gives_back_the_first_state() {
    let mut world = Story::default();
    let (a, b) = (world.blobs.file("a"), world.blobs.file_of_mode("b", 0o755));
    for (at, old, new) in [
        ("f", a, b),
        ("gone", a, None),
        ("made", None, b),
        ("link", a, world.blobs.link("x")),
    ] {
        world.agent(at, old, new);
    }
    world.agent("dir", None, directory());
    let reverted = world.plan();
    let goals: States = reverted
        .items
        .iter()
        .map(|item| (item.path.clone(), item.goal))
        .collect();
    let current: States = reverted
        .items
        .iter()
        .map(|item| (item.path.clone(), item.target))
        .collect();
    for past in &mut world.changes {
        past.claim = Claim::Keep;
    }
    let plan = world.plan_from(&goals, &current);
    for item in &plan.items {
        assert_eq!(
            item.target, world.base[&item.path],
            "{:?} is as before the revert",
            item.path
        );
    }
    assert_eq!(plan.items.len(), 5, "all five kinds of change come back");
}

/// An edit made while reverted survives the way back.
///
/// Invariant `work/unrevert`.
#[test]
fn edit_made_while_reverted_survives() {
    let mut world = Story::default();
    let (a, b) = (
        world.blobs.file("1\n2\n3\n"),
        world.blobs.file("one\n2\n3\n"),
    );
    world.agent("f", a, b);
    let goals = States::from([(path("f"), a)]);
    world.changes[0].claim = Claim::Keep;
    let edited = |text| States::from([(path("f"), world.blobs.file(text))]);
    let plan = world.plan_from(&goals, &edited("1\n2\nthree\n"));
    let item = &plan.items[0];
    assert_eq!(
        world.blobs.text(item.target).as_deref(),
        Some("one\n2\nthree\n"),
        "both are in"
    );
    assert_eq!(
        item.goal, b,
        "the edit is not part of what the point asks for"
    );
    let current = edited("ONE\n2\n3\n");
    let plan = world.plan_from(&goals, &current);
    let item = &plan.items[0];
    assert_eq!(
        (item.result, item.target),
        (FileResult::Conflict, current[&path("f")]),
        "the same line stays"
    );
    assert_eq!(item.goal, a, "the next move starts from where it is");
}

/// An edit of a path that is not moved stays.
#[test]
fn edit_of_an_unmoved_path_stays() {
    let mut world = Story::default();
    let (a, b) = (world.blobs.file("a"), world.blobs.file("b"));
    world.agent("f", a, b);
    let current = States::from([(path("f"), world.blobs.file("edited")), (path("user"), b)]);
    let plan = world.plan_from(&States::from([(path("f"), a)]), &current);
    assert!(!plan.has_work(), "the point is where it was");
    assert!(
        plan.items.iter().all(|item| item.path == path("f")),
        "a path that the agent never touched is in no plan"
    );
}

#[test]
fn a_move_without_changes_does_nothing() {
    let world = Story::default();
    let plan = world.plan();
    assert!(
        plan.items.is_empty() && plan.is_complete() && !plan.has_work(),
        "no patches, no plan"
    );
}

/// A restore puts exactly that state over whatever is there.
#[test]
fn restore_puts_exactly_that_state() {
    let world = Story::default();
    let (a, b) = (world.blobs.file("a"), world.blobs.file("b"));
    let mut current = States::from([
        (path("edited"), b),
        (path("made"), b),
        (path("same"), a),
        (path("large"), gap()),
    ]);
    let wanted = [
        ("edited", a),
        ("made", None),
        ("same", a),
        ("gone", a),
        ("large", a),
    ];
    current.insert(path("other"), a);
    let targets = wanted.map(|(at, state)| {
        let now = current.get(&path(at)).copied().flatten();
        (path(at), Target::exactly(now, state, None))
    });
    let plan = world.plan_to(&targets.into(), &States::new(), &current);
    let items: Vec<_> = plan
        .items
        .iter()
        .map(|item| (item.path.to_text(), item.action, item.target))
        .collect();
    let expected = [
        ("edited", FileAction::Write, a),
        ("gone", FileAction::Write, a),
        ("large", FileAction::Keep, gap()),
        ("made", FileAction::Delete, None),
        ("same", FileAction::None, a),
    ];
    assert_eq!(
        items,
        expected.map(|(at, action, state)| (at.to_owned(), action, state)),
        "and no other path"
    );
}
