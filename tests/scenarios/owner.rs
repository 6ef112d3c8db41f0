//! Whatever the workspace's owner does to it, as root, between any two events: each event goes on, nothing that is stored is
//! touched, the agent's step goes back or says what does not, and what the user did stays.

use std::collections::BTreeMap;
use std::process::Command;

use ckpt_schema::report::FileResult;
use testing::scenario::World;

/// What is done to the whole workspace, as a shell runs it there.
const DEEDS: [&str; 18] = [
    "find . -type f -exec truncate -s 0 {} +",
    "find . -type f -exec chmod 000 {} +",
    "find . -type f -exec chmod 666 {} +; find . -type f -exec sh -c 'echo more >> \"$1\"' - {} \\;",
    "find . -mindepth 1 -delete",
    "find . -name '*.pack' -exec chmod u+w {} + -exec truncate -s 0 {} +",
    "find . -name '*.pack' -exec mv {} {}.away \\;",
    "find . -exec touch -d 1980-01-01 {} +",
    "chmod -R 000 d",
    "truncate -s 8M edited",
    "mv .git ../away",
    "rm -rf .git; git init -q",
    "mv d ../d; ln -s ../d d",
    "ln -sfn d/same edited",
    "ln -f d/same edited; truncate -s 0 edited",
    "ln edited ../linked; echo linked > ../linked",
    "rm edited; mkdir edited; echo inside > edited/inside",
    "rm -rf d; mkfifo d",
    "mv edited swap; mv d/same edited; mv swap d/same",
];

/// Between which events it is done.
const MOMENTS: [&str; 5] = [
    "before the message",
    "before the step",
    "in the step",
    "after the step",
    "after the turn",
];

type Files = BTreeMap<String, Vec<u8>>;

/// The files of the workspace; what is no file that can be read is told by its kind.
fn files(world: &World) -> Files {
    let mut files = Files::new();
    let mut rest = vec![world.root.clone()];
    while let Some(directory) = rest.pop() {
        for entry in std::fs::read_dir(directory).expect("as root") {
            let entry = entry.expect("as root");
            let (path, kind) = (entry.path(), entry.file_type().expect("as root"));
            if kind.is_dir() {
                if entry.file_name() != ".git" {
                    rest.push(path);
                }
                continue;
            }
            let bytes = if kind.is_file() {
                std::fs::read(&path).expect("as root")
            } else {
                format!("{kind:?} {:?}", std::fs::read_link(&path)).into_bytes()
            };
            let name = path.strip_prefix(&world.root).expect("below");
            files.insert(name.to_string_lossy().into_owned(), bytes);
        }
    }
    files
}

fn world() -> World {
    let world = World::git(&[("edited", "0\n"), ("d/same", "0\n"), ("removed", "0\n")]);
    for number in 0..40 {
        world.write(format!("d/many/f{number}"), format!("number {number}\n"));
    }
    world.run_git(&["add", "-A"]);
    world.run_git(&["commit", "-q", "-m", "many"]);
    world.run_git(&["repack", "-adfq"]);
    world
}

fn run(world: &World, deed: &str) {
    let output = Command::new("sh")
        .args(["-c", deed])
        .current_dir(&world.root)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", world.base().join("home"))
        .output();
    // Some of it fails where something is not there any more.
    drop(output.expect("a shell"));
}

fn one(deed: &str, moment: usize) {
    let mut world = world();
    let what = format!("`{deed}` {}", MOMENTS[moment]);
    let act = |world: &World, now: usize| {
        if now == moment {
            run(world, deed);
        }
    };
    // What was borrowed of the repository is the store's own before an agent may do anything.
    world.message("m0");
    world.settle();
    act(&world, 0);
    world.message("m1");
    act(&world, 1);
    world.start();
    let before = files(&world);
    let root = world.root.clone();
    // An agent's tools fail where the way to a file is barred.
    drop(std::fs::write(root.join("edited"), "1\n"));
    drop(std::fs::write(root.join("d/made"), "1\n"));
    drop(std::fs::remove_file(root.join("removed")));
    act(&world, 2);
    let agent = files(&world);
    world.finish();
    act(&world, 3);
    world.message("m2");
    act(&world, 4);
    let users = files(&world);
    let errors: Vec<_> = world
        .store
        .check(None)
        .into_iter()
        .filter(|finding| finding.level == "error")
        .collect();
    assert!(errors.is_empty(), "{what}: the store is whole: {errors:?}");
    let report = match world.try_revert(&testing::scenario::to("m1")) {
        Ok(report) => report,
        Err(error) => {
            assert_eq!(files(&world), users, "{what}: {error}: nothing was changed");
            return;
        }
    };
    let after = files(&world);
    for name in before.keys().chain(agent.keys()).chain(users.keys()) {
        let [before, agent, users, after] =
            [&before, &agent, &users, &after].map(|files| files.get(name));
        if before == agent {
            // The step did nothing to it; whatever stands there is the user's.
            assert_eq!(after, users, "{what}: `{name}` is the user's: {report:?}");
        } else if after != before {
            assert_eq!(after, users, "{what}: `{name}` is made up: {report:?}");
            let is_named = report.files.iter().any(|file| {
                let path = file.path.path.as_str();
                let is_it = path == name || name.starts_with(&format!("{path}/"));
                is_it && file.result != FileResult::Done
            });
            assert!(
                is_named || !report.notes.is_empty(),
                "{what}: `{name}` did not go back, and nothing is said of it: {report:?}"
            );
        }
    }
}

/// Whatever the owner does between two events is survived and the step goes back or says why
/// not.
///
/// Invariant `work/store-outlives-changes`.
#[test]
fn owners_doings_between_events_are_survived() {
    if !rustix::process::geteuid().is_root() {
        return testing::skip::skip("it is done as root");
    }
    #[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
    let is_full = std::env::var_os("CKPT_FULL").is_some();
    for (number, deed) in DEEDS.iter().enumerate() {
        // Every second one by default, so that each deed and each moment is met.
        let moments = (0..MOMENTS.len()).filter(|moment| is_full || (number + moment) % 2 == 0);
        moments.for_each(|moment| one(deed, moment));
    }
}
