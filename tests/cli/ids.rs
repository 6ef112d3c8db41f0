//! Ids as people see them.

use testing::binary::Sandbox;

/// An id is shown as short as it is unique and is understood.
#[test]
fn id_is_as_short_as_unique() {
    let world = Sandbox::new();
    for number in 1..=12 {
        world.play(&format!("m{number}"), "prompt", |world| {
            world.write("a", format!("{number}\n"));
        });
    }
    world.run(&["revert", "m12"], b"").exits(0);
    let shown = |arguments: &[&str]| -> Vec<String> {
        let mut command = world.command(arguments);
        command.env_remove("CKPT_HOOK_TEST_ID_LENGTH");
        let run = testing::binary::finish(&mut command, b"").exits(0);
        let rows = run.stdout.lines().skip(1);
        rows.filter(|row| row.contains("ago") || row.contains("just now"))
            .filter_map(|row| row.split_whitespace().next().map(str::to_owned))
            .collect()
    };
    let mut lengths = Vec::new();
    for (arguments, list) in [
        (&["log"][..], "messages"),
        (&["log", "--operations"], "operations"),
        (&["sessions"], "sessions"),
    ] {
        let document = world.json(arguments);
        let known = document[list].as_array().expect("a list");
        let ids = shown(arguments);
        assert_eq!(ids.len(), known.len(), "{arguments:?}: {ids:?}");
        for (id, known) in ids.iter().zip(known) {
            let whole = known["id"].as_str().expect("an id");
            assert!(whole.starts_with(id.as_str()), "{id} of {whole}");
            world.run(&["show", id], b"").exits(0);
            lengths.push(id.len());
        }
    }
    lengths.sort_unstable();
    assert_eq!(lengths[0], 4, "as long as a prefix has to be: {lengths:?}");
    assert!(
        lengths[lengths.len() / 2] < 8,
        "and hardly longer: {lengths:?}"
    );
}

/// A sentence of the store names ids as long as they are elsewhere on the screen.
#[test]
fn sentence_names_ids_as_elsewhere() {
    let world = Sandbox::new();
    world.write("a", "1\n");
    world
        .run(&["message", "--session", "s", "--prompt", "Lost"], b"")
        .exits(0);
    world.write("a", "2\n");
    let mut command = world.command(&["revert", "last"]);
    command.env_remove("CKPT_HOOK_TEST_ID_LENGTH");
    let run = testing::binary::finish(&mut command, b"").exits(3);
    let shown = run
        .stdout
        .split(['(', ')'])
        .nth(1)
        .expect("the message's id");
    assert_eq!(shown.len(), 4, "{run}");
    for part in [format!("message `{shown}`"), format!("restore {shown}`")] {
        assert!(run.stdout.contains(&part), "{part}: {run}");
    }
    world.run(&["restore", shown, "a"], b"").exits(0);
    assert_eq!(world.read("a"), b"1\n", "the way out leads there");
}
