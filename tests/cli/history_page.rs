//! What docs/history.md shows is what the commands print.

use std::process::Command;

use testing::binary::Sandbox;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/history.md");

/// What the page tells of at its beginning.
fn world() -> Sandbox {
    let world = Sandbox::new();
    world.write("cake.txt", "flour\neggs\n");
    world.play("m1", "Add sugar to the cake", |world| {
        world.write("cake.txt", "flour\neggs\nsugar\n");
    });
    world.play("m2", "Move the recipe", |world| {
        world.remove("cake.txt");
        world.write("recipes/cake.txt", "flour\neggs\nsugar\n");
    });
    world.write("notes.txt", "bake it\n");
    world
}

/// Returns what a command line prints, on both streams, as the page shows it.
fn printed(world: &Sandbox, line: &str) -> String {
    let command = line.strip_prefix("ckpt-hook").expect("a command of ours");
    let binary = testing::binary::binary();
    let mut shell: Command = world.command::<&str>(&[]);
    let environment: Vec<_> = shell
        .get_envs()
        .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)))
        .collect();
    let directory = shell.get_current_dir().map(ToOwned::to_owned);
    shell = Command::new("sh");
    shell
        .args(["-c", &format!("'{binary}' {command} 2>&1")])
        .env_clear();
    for (name, value) in environment {
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    shell.current_dir(directory.unwrap_or_else(|| world.workspace()));
    let run = testing::binary::finish(&mut shell, b"");
    without_times(&world.redact(&run.stdout))
}

/// A time of day is another one each time.
fn without_times(text: &str) -> String {
    let line = |line: &str| match line.split_once("  sent  ") {
        Some((before, _)) => format!("{before}  sent        2026-03-10 12:00:00 +00:00\n"),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[test]
fn every_output_of_the_page_is_real() {
    let page = std::fs::read_to_string(PAGE).expect("the page is there");
    let world = world();
    let mut played = String::new();
    let mut is_in_block = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_in_block = line == "```console";
            played.push_str(line);
            played.push('\n');
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| is_in_block) {
            played.push_str(&format!("{line}\n{}", printed(&world, command)));
        } else if !is_in_block {
            played.push_str(line);
            played.push('\n');
        }
    }
    #[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
    let is_update = std::env::var_os("UPDATE_EXPECT").is_some();
    if is_update {
        std::fs::write(PAGE, &played).expect("the page is writable");
        return;
    }
    assert_eq!(page, played, "UPDATE_EXPECT=1 writes the page anew");
}
