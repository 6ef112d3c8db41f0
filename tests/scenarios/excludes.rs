//! What the user's own configuration of git says to ignore is ignored: neither captured nor removed.

use std::fs;

use testing::scenario::World;

/// Runs a message in which the agent makes a file that is ignored, and returns whether a revert leaves it alone.
fn stays(world: &mut World, path: &str) -> bool {
    world.turn("m1", |world| {
        world.write(path, "made\n");
        world.write("a", "agent\n");
    });
    world.revert("m1");
    assert_eq!(world.read("a"), "1\n", "what is not ignored goes back");
    world.exists(path)
}

fn world(configuration: &str) -> World {
    let world = World::git(&[("a", "1\n")]);
    let home = world.base().join("home");
    fs::write(home.join(".gitconfig"), configuration).expect("writable");
    fs::write(home.join("mine"), "*.mine\n").expect("writable");
    world
}

/// Git itself says what it ignores, so that no condition is believed that it does not know.
fn check(world: &mut World, what: &str) {
    world.write("x.mine", "");
    let is_ignored = !world
        .run_git(&["status", "--porcelain", "--", "x.mine"])
        .contains("x.mine");
    world.remove("x.mine");
    assert_eq!(stays(world, "x.mine"), is_ignored, "{what}");
}

const EXCLUDES: &str = "[core]\n\texcludesFile = ~/mine\n";

/// Invariant `truth/ignored-by-git`: Git's configuration decides what is ignored, in whichever
/// file it is.
#[test]
fn excludes_that_come_through_an_include_are_honoured() {
    for (include, is_included) in [
        ("[include]\n\tpath = more\n", true),
        ("[include]\n\tpath = ~/more\n", true),
        ("[include]\n\tpath = none\n[include]\n\tpath = more\n", true),
        ("[includeIf \"gitdir:**/code/\"]\n\tpath = more\n", true),
        ("[includeIf \"gitdir:code/.git\"]\n\tpath = more\n", true),
        ("[includeIf \"gitdir:CODE/\"]\n\tpath = more\n", false),
        ("[includeIf \"gitdir/i:CODE/\"]\n\tpath = more\n", true),
        ("[includeIf \"gitdir:elsewhere/\"]\n\tpath = more\n", false),
        ("[includeIf \"gitdir:~/../code/\"]\n\tpath = more\n", false),
        ("[includeIf \"onbranch:main\"]\n\tpath = more\n", true),
        ("[includeIf \"onbranch:ma*\"]\n\tpath = more\n", true),
        ("[includeIf \"onbranch:main/\"]\n\tpath = more\n", false),
        ("[includeIf \"onbranch:other\"]\n\tpath = more\n", false),
        (
            "[includeIf \"hasconfig:remote.*.url:https://x/**\"]\n\tpath = more\n",
            true,
        ),
        (
            "[includeIf \"hasconfig:remote.*.url:https://y/**\"]\n\tpath = more\n",
            false,
        ),
        ("[includeIf \"moon:full\"]\n\tpath = more\n", false),
    ] {
        let mut world = world(include);
        fs::write(world.base().join("home/more"), EXCLUDES).expect("writable");
        world.run_git(&["remote", "add", "origin", "https://x/y/z"]);
        check(&mut world, include);
        let now = World::exists(&world, "x.mine");
        assert_eq!(now, is_included, "{include}");
    }
}

/// The repository's own excludes file wins over the user's.
///
/// Invariant `truth/ignored-by-git`.
#[test]
fn repositorys_excludes_file_wins() {
    for (own, is_ignored) in [
        ("~/mine", true),
        ("../mine", true),
        ("", false),
        ("no-such-file", false),
    ] {
        let mut world = world("[core]\n\texcludesFile = ~/others\n");
        fs::write(world.base().join("mine"), "*.mine\n").expect("writable");
        world.run_git(&["config", "core.excludesFile", own]);
        check(&mut world, own);
        assert_eq!(world.exists("x.mine"), is_ignored, "{own:?}");
    }
    let mut world = world(EXCLUDES);
    world.run_git(&["config", "core.excludesFile", ""]);
    check(&mut world, "the empty one turns the user's off");
}

/// The configuration of a worktree is honoured where git reads it.
#[test]
fn worktrees_configuration_is_honoured() {
    for is_on in ["true", "false"] {
        let mut world = world("");
        world.run_git(&["config", "extensions.worktreeConfig", is_on]);
        fs::write(world.path(".git/config.worktree"), EXCLUDES).expect("writable");
        check(&mut world, is_on);
    }
}

/// Names are compared whatever their case where git does so.
#[test]
fn names_compare_as_git_does() {
    for is_on in ["true", "false"] {
        let mut world = world("");
        world.write(".gitignore", "*.Mine\n/Out/\n");
        world.run_git(&["config", "core.ignoreCase", is_on]);
        check(&mut world, is_on);
        assert_eq!(world.exists("x.mine"), is_on == "true");
        world.turn("m2", |world| world.write("out/x", "made\n"));
        world.revert("m2");
        assert_eq!(world.exists("out/x"), is_on == "true", "a folder as well");
    }
}

/// A hostile configuration is read in no time and harms nobody.
///
/// Invariant `truth/ignored-by-git`.
#[test]
fn hostile_configuration_harms_nothing() {
    let mut world = world(EXCLUDES);
    let pipe = world.base().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .expect("a pipe");
    let many: String = (0..1000).map(|_| "[include]\n\tpath = config\n").collect();
    let text = format!(
        "[core]\n\tbare = false\n[include]\n\tpath = /dev/zero\n[include]\n\tpath = {}\n{many}",
        pipe.display()
    );
    fs::write(world.path(".git/config"), text).expect("writable");
    assert!(stays(&mut world, "x.mine"), "what is sound in it holds");
}
