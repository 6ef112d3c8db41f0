//! Whose the store is: nothing of somebody else's is adopted or changed, and only what records makes one.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use serde_json::json;

use testing::binary::{Run, Sandbox, finish};
use testing::nobody::as_nobody;

/// Commands that record nothing. With what they answer where there is no store: exit code, and words that say why.
const READING: [(&[&str], i32, &str); 11] = [
    (&["status"], 0, "Nothing has been recorded"),
    (&["log"], 0, ""),
    (&["log", "--operations"], 0, ""),
    (&["sessions", "--everywhere"], 0, ""),
    (&["doctor"], 0, "there is none yet"),
    (&["show", "last"], 4, "nothing has been recorded"),
    (&["diff", "last"], 4, "nothing has been recorded"),
    (
        &["revert", "--message", "last"],
        4,
        "nothing has been recorded",
    ),
    (&["redo"], 4, "nothing has been recorded"),
    (&["unrevert"], 4, "nothing has been recorded"),
    (&["restore", "12345678"], 4, "nothing has been recorded"),
];

fn message(world: &Sandbox) -> Run {
    world.event(json!({"event": "user_message", "session_id": "s", "message_id": "m"}))
}

/// Everything at and below a directory but when it was read: mode, owner, size and times, by path.
fn state(directory: &Path) -> BTreeMap<PathBuf, (u32, u32, u64, i64)> {
    let mut all = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        let metadata = path.symlink_metadata().expect("it is there");
        let state = (
            metadata.mode(),
            metadata.uid(),
            metadata.size(),
            metadata.ctime_nsec(),
        );
        if metadata.is_dir() {
            let entries = path.read_dir().expect("readable");
            open.extend(entries.map(|entry| entry.expect("readable").path()));
        }
        all.insert(path, state);
    }
    all
}

fn is_root(what: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        testing::skip::skip(&format!("{what} needs root"));
    }
    is_root
}

/// Only what records makes a store and what reads answers without one.
///
/// Invariant `private/foreign-store`.
#[test]
fn only_recording_makes_a_store() {
    let world = Sandbox::new();
    for (command, code, words) in READING {
        let run = world.run(command, b"").exits(code);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(
            said.to_lowercase().contains(&words.to_lowercase()),
            "{command:?} says that there is nothing: {run}"
        );
        assert!(!world.store().exists(), "{command:?} makes no store");
    }
    message(&world).ends_silently();
    assert!(world.store().join("sessions.db").exists(), "an event does");
}

/// Invariant `private/foreign-store`: A directory that is not the user's own store is left as
/// it is, and only recording creates a store.
#[test]
fn directory_that_is_no_store_is_left_alone() {
    for mode in [0o1777, 0o777, 0o755, 0o700] {
        let world = Sandbox::new();
        std::fs::create_dir(world.store()).expect("writable");
        std::fs::write(world.store().join("notes.txt"), "mine\n").expect("writable");
        std::fs::set_permissions(world.store(), Permissions::from_mode(mode)).expect("it is ours");
        let before = state(&world.store());
        for (command, _, _) in READING {
            let run = world.run(command, b"");
            // `doctor` reports it as any other finding.
            run.exits(1);
        }
        message(&world).ends_silently();
        world.run(&["snapshot"], b"").exits(1);
        assert_eq!(
            state(&world.store()),
            before,
            "nothing is made, and no permission changed, under {mode:o}"
        );
    }
}

#[test]
fn users_own_empty_directory_is_taken() {
    for (mode, is_taken) in [(0o700, true), (0o755, false), (0o1777, false)] {
        let world = Sandbox::new();
        std::fs::create_dir(world.store()).expect("writable");
        std::fs::set_permissions(world.store(), Permissions::from_mode(mode)).expect("it is ours");
        message(&world).ends_silently();
        assert_eq!(
            world.store().join("sessions.db").exists(),
            is_taken,
            "with {mode:o}"
        );
        let now = world.store().metadata().expect("it is there").mode() & 0o7777;
        assert_eq!(now, mode, "its permissions are the user's to choose");
    }
}

/// A store that others can write to is refused and one that they can read is made private.
#[test]
fn store_writable_by_others_is_refused() {
    let world = Sandbox::new();
    message(&world).ends_silently();
    let mode = || world.store().metadata().expect("it is there").mode() & 0o7777;
    for open in [0o777, 0o1777, 0o770, 0o722] {
        std::fs::set_permissions(world.store(), Permissions::from_mode(open)).expect("it is ours");
        let run = world.run(&["log"], b"").exits(1);
        assert!(
            run.stderr.contains("can be written to by other users") && run.stderr.contains("chmod"),
            "it says what is wrong and what to do: {run}"
        );
        message(&world).ends_silently();
        assert_eq!(mode(), open, "what is in it may be theirs by now");
    }
    std::fs::set_permissions(world.store(), Permissions::from_mode(0o755)).expect("it is ours");
    message(&world).ends_silently();
    assert_eq!(mode(), 0o700, "nobody can have changed it");
}

/// What another user put into a store is refused.
///
/// Invariant `private/store`.
#[test]
fn another_users_things_in_a_store_are_refused() {
    if !is_root("making files of another user") {
        return;
    }
    let planted: [&str; 6] = [
        "sessions.db",
        "sessions.db-wal",
        "snapshots",
        "snapshots/*",
        "snapshots/*/lock",
        "snapshots/*/repository.git",
    ];
    for name in planted {
        let world = Sandbox::new();
        world.write("a", "1\n");
        world.play("m", "prompt", |world| world.write("a", "2\n"));
        let below = std::fs::read_dir(world.store().join("snapshots"))
            .expect("it is there")
            .next()
            .expect("one workspace")
            .expect("readable")
            .path();
        let path = match name.split_once('*') {
            Some((_, rest)) => PathBuf::from(format!("{}{rest}", below.display())),
            None => world.store().join(name),
        };
        chown(&path, Some(65534), Some(65534)).expect("root may");
        let run = world.run(&["revert", "--message", "last"], b"").exits(1);
        assert!(
            run.stderr.contains("belongs to another user"),
            "`{name}` is named: {run}"
        );
        assert_eq!(world.read("a"), b"2\n", "and nothing of it is used");
        let run = world.run(&["step-start", "--strict", "--session", "s"], b"");
        run.exits(1);
    }
}

/// Doctor names what in a store is not the user's alone at any depth.
#[test]
fn doctor_names_foreign_things_in_a_store() {
    let world = Sandbox::new();
    world.write("a", "1\n");
    world.play("m", "prompt", |world| world.write("a", "2\n"));
    let told = |of: &str| {
        let run = world.run(&["doctor", "--json"], b"");
        let report: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
        let findings = report["findings"].as_array().expect("a list").iter();
        let of_store = findings.filter(|finding| finding["subject"] == "store");
        let texts: Vec<_> = of_store.map(|finding| finding["message"].clone()).collect();
        let text = texts.iter().map(ToString::to_string).collect::<String>();
        assert!(text.contains(of), "`{of}`: {run}");
    };
    told("is yours alone");
    let pack = state(&world.store().join("snapshots"))
        .into_keys()
        .find(|path| path.extension().is_some_and(|ending| ending == "pack"))
        .expect("a snapshot has a pack");
    let folder = pack.parent().expect("it has one").to_owned();

    symlink(&pack, folder.join("pack-of-another.pack")).expect("writable");
    told("holds what is neither a file nor a directory");
    told("pack-of-another.pack");
    std::fs::remove_file(folder.join("pack-of-another.pack")).expect("writable");
    let repository = folder.ancestors().nth(2).expect("it is deep in the store");
    let of_workspace = repository.parent().expect("it has one");
    for file in [
        world.store().join("gc"),
        of_workspace.join("lock"),
        repository.join("HEAD"),
        folder.join("pack-of-another.pack"),
    ] {
        let aside = file.with_extension("aside");
        let was_there = std::fs::rename(&file, &aside).is_ok();
        std::fs::create_dir(&file).expect("writable");
        told("holds a directory in the place of a file");
        std::fs::remove_dir(&file).expect("nothing is in it");
        if was_there {
            std::fs::rename(&aside, &file).expect("writable");
        }
    }

    let permit = |path: &Path, mode| {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
    };
    permit(&folder, 0o500);
    told("holds what lacks the permissions that recording needs");
    permit(&folder, 0o700);
    permit(&world.store(), 0o755);
    told("other users may look into the store");
    permit(&world.store(), 0o700);
    told("is yours alone");

    if is_root("making files of another user") {
        chown(&pack, Some(65534), Some(65534)).expect("root may");
        told("holds what belongs to another user");
    }
}

/// Invariant `private/store`.
#[test]
fn a_link_in_a_store_is_refused() {
    for name in ["sessions.db", "snapshots"] {
        let world = Sandbox::new();
        message(&world).ends_silently();
        let elsewhere = world.path("elsewhere");
        std::fs::rename(world.store().join(name), &elsewhere).expect("writable");
        symlink(&elsewhere, world.store().join(name)).expect("writable");
        world.run(&["log"], b"").exits(1);
        message(&world).ends_silently();
    }
    // Nor is one followed by what takes no lock, wherever it leads.
    let world = Sandbox::new();
    world.play("m", "prompt", |world| world.write("a", "1\n"));
    let mut folders = std::fs::read_dir(world.store().join("snapshots")).expect("it is there");
    let folder = folders.next().expect("one").expect("readable").path();
    let elsewhere = world.path("elsewhere");
    std::fs::rename(&folder, &elsewhere).expect("writable");
    for target in [Path::new("/nowhere/at/all"), &elsewhere] {
        symlink(target, &folder).expect("writable");
        for command in ["show last", "diff last", "revert last", "blame a"] {
            let arguments: Vec<&str> = command.split(' ').collect();
            let run = world.run(&arguments, b"").exits(1);
            let is_told = run.stderr.contains("in the store is not a directory");
            assert!(is_told, "{command}: {run}");
        }
        std::fs::remove_file(&folder).expect("writable");
    }
    // Nor is one followed where a store is about to begin.
    let world = Sandbox::new();
    let victim = world.path("victim");
    std::fs::write(&victim, "mine\n").expect("writable");
    std::fs::create_dir(world.store()).expect("writable");
    std::fs::set_permissions(world.store(), Permissions::from_mode(0o700)).expect("it is ours");
    for make in [
        |from: &Path, to: &Path| symlink(from, to),
        |from: &Path, to: &Path| std::fs::hard_link(from, to),
    ] {
        make(&victim, &world.store().join("log")).expect("writable");
        message(&world).ends_silently();
        assert!(!world.store().join("sessions.db").exists(), "refused");
        assert_eq!(
            std::fs::read(&victim).expect("readable"),
            b"mine\n",
            "nothing is written through it"
        );
        std::fs::remove_file(world.store().join("log")).expect("writable");
    }
}

/// Root leaves nothing in a store or a home of another user.
///
/// Invariant `private/foreign-store`.
#[test]
fn root_leaves_nothing_in_anothers_store() {
    if !is_root("being another user's root") {
        return;
    }
    // With the user's `$HOME`, as `sudo -E` and some settings of `sudo` have it.
    let world = Sandbox::new();
    chown(world.home(), Some(65534), Some(65534)).expect("root may");
    let with_home = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.env_remove("CKPT_HOOK_HOME");
        finish(&mut command, b"")
    };
    with_home(&["message", "--session", "s"]).ends_silently();
    let run = with_home(&["snapshot"]).exits(1);
    assert!(
        run.stderr.contains("would belong to root"),
        "it says why: {run}"
    );
    assert_eq!(
        std::fs::read_dir(world.home()).expect("readable").count(),
        0,
        "its owner could not write there"
    );
    // A store that the user has.
    let world = Sandbox::new();
    message(&world).ends_silently();
    for path in state(&world.store()).into_keys() {
        chown(path, Some(65534), Some(65534)).expect("root may");
    }
    let before = state(&world.store());
    message(&world).ends_silently();
    world.run(&["snapshot"], b"").exits(1);
    world.run(&["status"], b"").exits(1);
    assert_eq!(state(&world.store()), before, "not a line in its log");
}

/// Invariant `private/store`.
#[test]
fn store_is_private_under_any_umask() {
    let world = Sandbox::new();
    let program = world.command(&["x"]).get_program().to_owned();
    let run = |arguments: &str| {
        let mut shell = std::process::Command::new("/bin/sh");
        shell
            .args(["-c", &format!("umask 000; exec \"$0\" {arguments}")])
            .arg(&program)
            .env_clear()
            .env("HOME", world.home())
            .env("CKPT_HOOK_HOME", world.store())
            .env("CKPT_HOOK_LOG", "debug")
            .current_dir(world.workspace());
        finish(&mut shell, b"").exits(0);
    };
    for number in 0..20 {
        world.write("a", format!("{number}\n"));
        run(&format!("message --strict --session s --message m{number}"));
        run("step-start --strict --session s");
        world.write("b", format!("{number}\n"));
        run("step-finish --strict --session s");
    }
    run("revert --message m19");
    let all = state(&world.store());
    assert!(
        ["log", "sessions.db", "snapshots"]
            .iter()
            .all(|name| all.contains_key(&world.store().join(name))),
        "it is all there: {all:?}"
    );
    for (path, (mode, ..)) in all {
        assert_eq!(mode & 0o077, 0, "`{}` has {mode:o}", path.display());
    }
}

#[test]
fn a_pipe_in_the_store_keeps_nobody_waiting() {
    let world = Sandbox::new();
    world.play("m", "prompt", |world| world.write("a", "1\n"));
    world.run(&["gc"], b"").exits(0);
    let store = world.store();
    let mut workspaces = std::fs::read_dir(store.join("snapshots")).expect("it is there");
    let workspace = workspaces.next().expect("one").expect("readable").path();
    for path in [
        store.join("reserve"),
        store.join("sessions.db-journal"),
        workspace.join("repository.git/snapshots"),
        workspace.join("repository.git/packed-refs"),
        workspace.join("repository.git/config"),
    ] {
        let kept = std::fs::read(&path).ok();
        let _ = std::fs::remove_file(&path);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).expect("writable");
        for arguments in [
            &["status"][..],
            &["log"],
            &["doctor"],
            &["gc"],
            &["snapshot"],
            &["message", "--session", "s", "--message", "m2"],
            &["revert", "--dry-run", "last"],
        ] {
            let asked = world.command(arguments);
            let mut limited = std::process::Command::new("timeout");
            // A hook that waits ends at its deadline, and nobody else does.
            limited
                .arg("9")
                .arg(asked.get_program())
                .args(asked.get_args());
            let named = asked.get_envs();
            limited
                .env_clear()
                .envs(named.filter_map(|(name, value)| Some((name, value?))));
            limited.current_dir(world.workspace());
            let ended = finish(&mut limited, b"");
            assert_ne!(
                ended.code,
                Some(124),
                "{arguments:?} beside `{}`",
                path.display()
            );
        }
        std::fs::remove_file(&path).expect("writable");
        if let Some(bytes) = kept {
            std::fs::write(&path, bytes).expect("writable");
        }
    }
}

/// What killed hooks left is swept and what is being written is not.
#[test]
fn killed_hooks_leftovers_are_swept() {
    let world = Sandbox::new();
    world.play("m", "prompt", |world| world.write("a", "1\n"));
    let snapshots = world.store().join("snapshots");
    let folder = std::fs::read_dir(snapshots)
        .expect("it is there")
        .next()
        .expect("one workspace")
        .expect("readable")
        .path();
    let long_ago = std::time::UNIX_EPOCH;
    let make = |name: &str, is_old: bool| {
        let path = folder.join(name);
        let file = std::fs::File::create(&path).expect("writable");
        if is_old {
            file.set_modified(long_ago).expect("writable");
        }
        path
    };
    let packs = "repository.git/objects/pack";
    let old = [
        make(&format!("{packs}/tmp_pack_4194305_0"), true),
        make("cache.4194305", true),
        make("cache.changes.4194305", true),
    ];
    let young = [
        make(&format!("{packs}/tmp_pack_4194305_1"), false),
        make("cache.4194306", false),
    ];
    // Without a cache the next snapshot writes all of it.
    std::fs::remove_file(folder.join("cache")).expect("it is there");
    world.play("n", "prompt", |world| world.write("a", "2\n"));
    for path in old {
        assert!(!path.exists(), "`{}` is nobody's", path.display());
    }
    for path in young {
        assert!(path.exists(), "`{}` may be somebody's", path.display());
    }
}

/// A store that is only to be read answers and changes nothing.
#[test]
fn read_only_store_answers() {
    as_nobody("store::read_only_store_answers", || {
        let world = Sandbox::new();
        world.write("a", "0\n");
        world.play("m1", "make it work", |world| world.write("a", "1\n"));
        let modes = |directory: u32, file: u32| {
            for entry in std::fs::read_dir(world.store()).expect("ours") {
                let path = entry.expect("ours").path();
                if path.is_file() {
                    std::fs::set_permissions(&path, Permissions::from_mode(file)).expect("ours");
                }
            }
            std::fs::set_permissions(world.store(), Permissions::from_mode(directory))
                .expect("ours");
        };
        modes(0o500, 0o400);
        for answers in [
            &["log"][..],
            &["status"],
            &["show", "m1"],
            &["diff", "m1"],
            &["sessions"],
            &["cat", "m1:a"],
            &["blame", "a"],
            &["log", "--snapshots"],
            &["label", "--list"],
            &["workspace", "list"],
            &["recover"],
            &["config"],
            &["du"],
        ] {
            world.run(answers, b"").exits(0);
        }
        let doctor = world.run(&["doctor"], b"").exits(1);
        assert!(
            doctor
                .stdout
                .contains("cannot be written to, so nothing is recorded"),
            "{doctor}"
        );
        world
            .event(json!({"event": "user_message", "session_id": "s", "message_id": "m2"}))
            .ends_silently();
        for acts in [
            &["revert", "m1"][..],
            &["gc"],
            &["label", "m1", "mine"],
            &["forget", "--path", "a", "--yes"],
            &["snapshot"],
        ] {
            let run = world.run(acts, b"").exits(1);
            assert_eq!(run.stdout, "", "no half of an answer: {run}");
            assert!(
                !run.stderr.contains("is not known"),
                "nothing was done: {run}"
            );
        }
        assert_eq!(world.read("a"), b"1\n", "nothing was changed");
        modes(0o700, 0o600);
        // A copy, or a killed process, may leave the log of the rows without its index.
        std::fs::remove_file(world.store().join("sessions.db-shm")).expect("ours");
        modes(0o500, 0o400);
        let run = world.run(&["log"], b"").exits(1);
        assert!(
            run.stderr.contains("make the store's directory writable"),
            "it says what to do: {run}"
        );
        modes(0o700, 0o600);
        let run = world.run(&["revert", "m1"], b"").exits(3);
        assert!(
            run.stdout.contains("was not recorded"),
            "the lost event: {run}"
        );
        assert_eq!(world.read("a"), b"0\n");
    });
}

/// Du measures what it can read and names the workspace that it cannot.
#[test]
fn du_names_an_unreadable_workspace() {
    let damages: [fn(&Path); 4] = [
        |pack| std::fs::write(pack.with_extension("idx"), b"cut").expect("ours"),
        |pack| {
            std::fs::remove_file(pack.with_extension("idx")).expect("ours");
            std::fs::create_dir(pack.with_extension("idx")).expect("ours");
        },
        |pack| {
            std::fs::remove_file(pack.with_extension("idx")).expect("ours");
            symlink("/nowhere", pack.with_extension("idx")).expect("ours");
        },
        |pack| {
            std::fs::remove_file(pack).expect("ours");
            std::fs::create_dir(pack).expect("ours");
        },
    ];
    for damage in damages {
        let world = Sandbox::new();
        world.write("a", "1\n");
        world.play("m", "prompt", |world| world.write("a", "2\n"));
        world.run(&["du"], b"").exits(0);
        let packs = state(&world.store().join("snapshots")).into_keys();
        let is_pack = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "pack");
        for pack in packs.filter(is_pack) {
            let folder = pack.parent().expect("it has one").to_owned();
            let index = pack.with_extension("idx");
            std::fs::set_permissions(index, Permissions::from_mode(0o600)).expect("ours");
            damage(&folder.join(pack.file_name().expect("it has one")));
        }
        let run = world.run(&["du", "--json"], b"").exits(3);
        let report: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
        assert!(report["bytes"].as_u64() > Some(0), "{report}");
        assert_eq!(
            report["unmeasured"][0]["workspace"].as_str(),
            world.workspace().to_str(),
            "{report}"
        );
        let reason = report["unmeasured"][0]["reason"].to_string();
        assert!(reason.contains("pack-"), "the file is named: {reason}");
        let text = world.run(&["du"], b"").exits(3).stdout;
        assert!(text.contains("not measured: "), "{text}");
    }
}
