//! What messages changed is searched in portions, newest first.

use ckpt_store::query::{LogFilter, Searched};

use testing::scenario::World;

fn search(world: &mut World, text: &str, before: Option<i64>, count: usize) -> Searched {
    let cwd = world.cwd.clone();
    world
        .store
        .search(&cwd, text, before, count)
        .expect("the store can be read")
}

fn world() -> World {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "fn Needle() {}\n"));
    world.turn("m2", |world| world.write("b", "hay\n"));
    world.turn("m3", |world| {
        world.remove("a");
        world.write("moved", "fn Needle() {}\n");
    });
    world.turn("m4", |world| world.write("moved", "fn needle() {}\n"));
    world.turn("m5", |world| world.write("moved", "hay\n"));
    world
}

/// A search in portions finds what one in all finds.
#[test]
fn search_in_portions_finds_everything() {
    let mut world = world();
    let names: Vec<(String, Option<String>)> = world
        .log()
        .messages
        .into_iter()
        .map(|message| (message.id, message.agent_id))
        .collect();
    let named = |ids: &[String]| -> Vec<String> {
        let name = |id: &String| {
            let known = names.iter().find(|(known, _)| known == id);
            known.and_then(|(_, name)| name.clone()).expect("a message")
        };
        ids.iter().map(name).collect()
    };
    let all = search(&mut world, "NEEDLE", None, 100);
    assert_eq!(
        named(&all.found),
        ["m5", "m1"],
        "who took it away and who wrote it; neither a move nor another case"
    );
    assert_eq!((all.messages, all.next), (5, None), "and no more");
    let (mut found, mut before, mut portions) = (Vec::new(), None, 0);
    loop {
        let portion = search(&mut world, "needle", before, 2);
        found.extend(portion.found);
        portions += 1;
        before = portion.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!((found, portions), (all.found, 3), "two, two and one");
}

/// What was found is listed beside what the prompts and paths have.
#[test]
fn findings_are_listed_beside_prompts_and_paths() {
    let mut world = world();
    let found = search(&mut world, "needle", None, 100).found;
    let cwd = world.cwd.clone();
    let filter = LogFilter {
        search: Some("b".to_owned()),
        found: found.into_iter().collect(),
        ..LogFilter::default()
    };
    let messages = world.store.log(&cwd, &filter).expect("a log").messages;
    let names: Vec<_> = messages
        .iter()
        .filter_map(|message| message.agent_id.as_deref())
        .collect();
    assert_eq!(names, ["m5", "m2", "m1"], "newest first, each once");
}

#[test]
fn where_nothing_was_recorded_nothing_is_found() {
    let mut world = World::new();
    assert_eq!(search(&mut world, "x", None, 8), Searched::default());
}

/// What was in a file that was renamed and edited was neither added nor removed.
#[test]
fn renamed_files_text_was_not_added() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "1\n2\nfn Needle() {}\n4\n"));
    world.turn("m2", |world| {
        world.remove("a");
        world.write("moved", "1\n2\nfn Needle() {}\nfour\n");
    });
    let filter = LogFilter {
        text: Some("Needle".to_owned()),
        ..LogFilter::default()
    };
    let listed = world.store.log(&world.cwd, &filter).expect("a list");
    let listed: Vec<_> = listed.messages.into_iter().collect();
    let names: Vec<_> = listed
        .iter()
        .map(|found| found.agent_id.as_deref())
        .collect();
    assert_eq!(names, [Some("m1")], "who wrote it, as git log -S says");
    let found = search(&mut world, "needle", None, 100).found;
    assert_eq!(found, [listed[0].id.clone()], "and the browser");
    world.revert("m2");
    let operations = world.store.operations(&world.cwd, &filter).expect("a list");
    assert_eq!(
        operations.operations.len(),
        0,
        "an operation renames as well"
    );
    world.revert("m1");
    let operations = world.store.operations(&world.cwd, &filter).expect("a list");
    assert_eq!(operations.operations.len(), 1, "and removes");
}
