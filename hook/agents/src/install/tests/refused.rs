//! Settings that cannot be edited safely are refused and left alone.

use std::fs;

use super::*;
use crate::GENERIC;

#[test]
fn broken_settings_are_refused_and_left_alone() {
    let deep = "[".repeat(100_000);
    let broken = [
        "{\"a\": ",
        "{'a': 1}",
        "{a: 1}",
        "[]",
        "null",
        "{} {}",
        "{\"hooks\": []}",
        "{\"hooks\": {\"Stop\": {}}}",
        "{\"a\" 1}",
        &deep,
    ];
    for text in broken {
        let world = World::new();
        let path = world.write(CLAUDE, text);
        let error = world
            .with_place(|place| install("claude-code", SettingsScope::User, place, DryRun::No))
            .expect_err("refused");
        assert!(
            error.to_string().contains(&path.display().to_string()),
            "the error names the file: {error}"
        );
        assert_eq!(world.read(CLAUDE), text, "and the file is as it was");
        assert_eq!(
            fs::read_dir(world.path("home/.claude"))
                .expect("there")
                .count(),
            1,
            "nothing lies beside it"
        );
    }
}

/// What is no text is refused and left alone.
#[test]
fn settings_that_are_no_text_are_left_alone() {
    let world = World::new();
    let path = world.write(CLAUDE, "");
    fs::write(&path, b"{\"a\": \"\xff\"}").expect("ours");
    let cause = || {
        let result = world
            .with_place(|place| install("claude-code", SettingsScope::User, place, DryRun::No));
        result.expect_err("it is refused").causes().join(": ")
    };
    assert_eq!(cause(), "it is not UTF-8", "what is wrong, in words");
    fs::remove_file(&path).expect("ours");
    fs::create_dir(&path).expect("ours");
    assert_eq!(cause(), "it is a directory", "what is wrong, in words");
    assert_eq!(
        world.state("claude-code"),
        Installation::Broken,
        "and the list says so"
    );
}

#[test]
fn a_symlink_to_nothing_is_refused() {
    let world = World::new();
    fs::create_dir(world.path("home/.claude")).expect("new");
    symlink("/nowhere/settings.json", world.path(CLAUDE)).expect("new");
    let result =
        world.with_place(|place| install("claude-code", SettingsScope::User, place, DryRun::No));
    assert!(result.is_err(), "we cannot know what the user means by it");
    assert!(world.path(CLAUDE).is_symlink(), "and it stays");
}

/// An agent that we do not know is an error that names those that we know.
#[test]
fn unknown_agent_is_an_error_with_a_list() {
    let world = World::new();
    let error = world
        .with_place(|place| install("\u{1b}[31mx", SettingsScope::User, place, DryRun::No))
        .expect_err("unknown");
    assert!(
        !error.to_string().contains('\u{1b}'),
        "its name cannot colour a terminal"
    );
    assert!(
        error
            .hint_text()
            .is_some_and(|hint| hint.contains("claude-code")),
        "the hint helps"
    );
    for agent in crate::all()
        .map(|agent| agent.name)
        .filter(|name| *name != GENERIC)
    {
        let Err(error) = check_known(&[agent.to_owned()]) else {
            continue;
        };
        let page = format!("docs/agents/{agent}.md");
        assert!(
            error.hint_text().is_some_and(|hint| hint.contains(&page)),
            "{agent}: the hint names its page: {error}"
        );
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(
            manifest.join("../..").join(page).exists(),
            "{agent}: and there is one"
        );
    }
}

/// Returns a directory whose path is so long that a file beside its only one has no name.
fn narrow(within: &Path) -> PathBuf {
    const LONGEST: usize = 4095;
    let mut directory = within.canonicalize().expect("it is there");
    while directory.as_os_str().len() < LONGEST - "/s".len() {
        let left = LONGEST - "/s".len() - directory.as_os_str().len() - "/".len();
        directory.push("d".repeat(if left > 250 { 200 } else { left }));
    }
    fs::create_dir_all(&directory).expect("short enough");
    directory
}

#[test]
fn where_one_file_cannot_be_written_none_is() {
    let world = World::new();
    let settings = narrow(&world.path("home")).join("s");
    fs::write(&settings, "{}\n").expect("short enough");
    fs::create_dir(world.path("home/.claude")).expect("new");
    symlink(&settings, world.path(CLAUDE)).expect("new");
    let before = files_below(&world.path("home"));
    assert!(
        world
            .with_place(|place| install("claude-code", SettingsScope::User, place, DryRun::No))
            .is_err(),
        "nothing fits beside"
    );
    assert_eq!(
        files_below(&world.path("home")),
        before,
        "the commands that were written before are gone again"
    );
    assert_eq!(
        fs::read_to_string(&settings).expect("it is there"),
        "{}\n",
        "and it is as it was"
    );
}

/// A project cannot lead the installer out of itself.
#[test]
fn project_cannot_lead_the_installer_outside() {
    for link in ["project/.claude", "project/.claude/settings.json"] {
        let world = World::new();
        let outside = world.write("outside/settings.json", "{}\n");
        let target = if link.ends_with("json") {
            outside.clone()
        } else {
            world.path("outside")
        };
        fs::create_dir_all(world.path(link).parent().expect("below the project"))
            .expect("a directory");
        symlink(target, world.path(link)).expect("new");
        let result = world
            .with_place(|place| install("claude-code", SettingsScope::Project, place, DryRun::No));
        assert!(
            result.is_err(),
            "{link}: whoever made the project would choose the file"
        );
        assert_eq!(
            world.read("outside/settings.json"),
            "{}\n",
            "{link}: it is as it was"
        );
    }
}
