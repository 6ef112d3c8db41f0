//! `gc`: what nobody used for long goes and says so, what is needed stays, and the store is small afterwards.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use ckpt_schema::EventKind;
use ckpt_schema::report::{FileResult, GcReport, Outcome};
use ckpt_store::{ErrorKind, RestoreRequest, Settings};

use testing::git;
use testing::scenario::{World, paths_with, to, wait_ms};
use testing::tree::files_below;

const DAY: i64 = 24 * 3600 * 1000;

fn bytes(paths: &[PathBuf]) -> u64 {
    paths
        .iter()
        .map(|path| path.metadata().map_or(0, |metadata| metadata.len()))
        .sum()
}

/// Makes all packs a month old, as if they had been written then.
fn age_packs(world: &World) {
    #[expect(
        clippy::disallowed_methods,
        reason = "files have the time of the real clock"
    )]
    let then = SystemTime::now() - Duration::from_secs(30 * 24 * 3600);
    for path in files_below(&world.repository()) {
        // A pack is read-only: its owner may set its times all the same.
        let file = fs::File::open(&path).expect("ours");
        file.set_modified(then).expect("ours");
    }
}

fn end(world: &mut World, session: &str) {
    let event = world.event(EventKind::SessionEnd, session);
    world.send(&event);
}

fn gc(world: &mut World) -> GcReport {
    // The clock of a test is set, which no run believes by itself.
    let keep = Some(Duration::from_secs(30 * 24 * 3600));
    let report = world.store.gc_keeping(ckpt_store::DryRun::No, keep);
    let report = report.expect("it is ours");
    let mut rows = report.workspaces.iter();
    assert!(rows.all(|row| row.skipped.is_none()), "{report:?}");
    report
}

/// An old session that was ended, and a young one.
fn old_and_young() -> World {
    let mut world = World::new();
    world.write("kept", "the user's\n");
    world.turn_in("old", "m1", |world| {
        world.write("a", "the old session's first\n")
    });
    world.turn_in("old", "m2", |world| {
        world.write("a", "the old session's second\n")
    });
    end(&mut world, "old");
    wait_ms(40 * DAY);
    world.turn_in("young", "m3", |world| {
        world.write("a", "the young session's\n")
    });
    end(&mut world, "young");
    age_packs(&world);
    world
}

/// A session that was not used for long is pruned and its history stays readable.
///
/// Invariant `work/pruning-pins`.
#[test]
fn pruned_sessions_history_stays_readable() {
    let mut world = old_and_young();
    let cwd = world.cwd.clone();
    let plan = world.store.gc(ckpt_store::DryRun::Yes).expect("it is ours");
    let goes = |report: &GcReport| -> Vec<(bool, String)> {
        let sessions = report.sessions.iter();
        sessions
            .map(|session| (session.goes, session.reason.clone()))
            .collect()
    };
    let expected = [(true, "unused".to_owned()), (false, "young".to_owned())];
    assert_eq!(goes(&plan), expected, "a dry run says what goes, and why");
    let before = world.packs();
    assert!(before.len() > 1, "a dry run changes nothing");
    let report = gc(&mut world);
    assert_eq!(goes(&report), expected, "a dry run is what then happens");
    assert_eq!(world.packs().len(), 1, "one pack is left");
    let prompts: Vec<_> = world
        .log()
        .messages
        .into_iter()
        .map(|message| (message.prompt, message.files))
        .collect();
    assert_eq!(prompts.len(), 3, "the history is readable");
    assert_eq!(prompts[2], (Some("please do m1".to_owned()), 1));
    world
        .store
        .show(&cwd, "m1")
        .expect("what changed is still told");
    let id = git2::Oid::hash_object(git2::ObjectType::Blob, b"the old session's first\n");
    let blob = world.store.blob(&cwd, &id.expect("to memory").to_string());
    assert!(blob.is_err(), "the bytes went");
    for error in [
        world.try_revert(&to("m1")).expect_err("its bytes went"),
        world
            .store
            .restore(
                &cwd,
                &RestoreRequest {
                    id: "m2".to_owned(),
                    paths: vec!["a".into()],
                    ..RestoreRequest::default()
                },
            )
            .expect_err("its bytes went"),
    ] {
        assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("pruned"), "it says why: {error}");
    }
    world.revert("m3");
    assert_eq!(
        world.read("a"),
        "the old session's second\n",
        "what stays can be reverted"
    );
}

/// A renamed file whose contents were pruned counts in log as show lists it.
///
/// Invariant `truth/counts-kept`.
#[test]
fn pruned_rename_counts_in_log() {
    let mut world = World::new();
    let lines = "1\n2\n3\n4\n5\n6\n7\n8\n";
    world.write("old", lines);
    world.message_in("old", "m");
    world.start_in("old");
    world.remove("old");
    world.write("new", lines.to_owned() + "9\n");
    world.finish_in("old");
    end(&mut world, "old");
    world.settle();
    assert_eq!(
        world.log().messages[0].files,
        1,
        "contents tell, and it is kept"
    );
    world.remove("new");
    wait_ms(40 * DAY);
    world.message_in("young", "later");
    end(&mut world, "young");
    age_packs(&world);
    gc(&mut world);
    for _ in 0..2 {
        let log = world.log();
        assert_eq!(
            log.messages[1].files, 2,
            "nobody can tell that they are one"
        );
        world.settle();
    }
}

/// A file that is gone and was pruned is listed without its bytes and stays gone.
#[test]
fn pruned_missing_file_is_listed_without_bytes() {
    let mut world = World::new();
    world.turn_in("old", "m1", |world| {
        world.write("gone", "pruned\n");
        world.write("other", "pruned\n, too");
    });
    world.turn_in("old", "m2", |world| {
        world.remove("gone");
        world.remove("other");
    });
    end(&mut world, "old");
    wait_ms(40 * DAY);
    world.turn_in("young", "m3", |world| world.write("b", "1\n"));
    end(&mut world, "young");
    age_packs(&world);
    let cwd = world.cwd.clone();
    let stored = |world: &mut World| -> Vec<bool> {
        let report = world.store.gone(&cwd, &[]).expect("a list");
        report
            .files
            .iter()
            .map(|gone| gone.blob.is_some())
            .collect()
    };
    assert_eq!(stored(&mut world), [true, true]);
    gc(&mut world);
    assert_eq!(stored(&mut world), [false, false], "listed all the same");
    let report = world
        .store
        .recover(
            &cwd,
            &["gone".into()],
            ckpt_store::DryRun::No,
            ckpt_store::Force::No,
        )
        .expect("it says what is there");
    let operation = report.operation.expect("it was asked for");
    assert_eq!(
        paths_with(&operation, FileResult::Gap),
        ["gone"],
        "it is named, not called as it was: {operation:?}"
    );
    assert_eq!(operation.outcome, Outcome::Partial);
    assert!(!world.exists("gone"));
}

/// What is open reverted or labelled is never pruned.
///
/// Invariant `work/pruning-pins`.
#[test]
fn open_reverted_or_labelled_is_never_pruned() {
    let mut world = World::new();
    world.write("a", "the user's\n");
    for session in ["open", "reverted", "labelled"] {
        world.turn_in(session, session, |world| {
            world.write("a", format!("{session}\n"))
        });
        if session != "open" {
            end(&mut world, session);
        }
    }
    world.revert("labelled");
    world.unrevert();
    let cwd = world.cwd.clone();
    world
        .store
        .label(&cwd, "labelled", "good")
        .expect("it is known");
    wait_ms(6 * DAY);
    age_packs(&world);
    let settings = Settings {
        keep: Duration::from_secs(3600),
        max_store_size: 1,
        ..Settings::default()
    };
    world.reopen(settings);
    let report = gc(&mut world);
    let reasons: Vec<&str> = report
        .sessions
        .iter()
        .filter(|session| !session.goes)
        .map(|session| &*session.reason)
        .collect();
    assert!(
        reasons.contains(&"open") && reasons.contains(&"label"),
        "{reasons:?}"
    );
    let log = world.log().messages.len();
    assert_eq!(log, 3);
    world.restore("good", &["a"]);
    assert_eq!(world.read("a"), "reverted\n");
}

/// What is reverted unfinished or labelled is there when all else of its age went.
///
/// Invariant `work/pruning-pins`.
#[test]
fn pinned_snapshots_survive_their_age() {
    let mut world = World::new();
    for session in ["gone", "unfinished", "before", "reverted"] {
        world.write(session, "the user's\n");
        world.turn_in(session, session, |world| {
            world.write(session, "the agent's\n")
        });
        end(&mut world, session);
        if session == "before" {
            let cwd = world.cwd.clone();
            let snapshot = world.store.snapshot(&cwd, Some("good"), None);
            snapshot.expect("it can be captured");
        }
    }
    world.revert("unfinished");
    world.unrevert();
    world.revert("reverted");
    wait_ms(400 * DAY);
    age_packs(&world);
    world.write("other", "so that another snapshot is the newest\n");
    world.snapshot();
    wait_ms(2 * DAY);
    let database = world.base().join("store/sessions.db");
    // As a crash leaves it; the next command would finish it.
    let of_unfinished = "session_id IN (SELECT id FROM sessions WHERE agent_id = 'unfinished')";
    let put = |state: &str| {
        let sql = format!("UPDATE operations SET state = '{state}' WHERE {of_unfinished}");
        testing::rows::execute(&database, &sql);
    };
    put("open");
    let report = gc(&mut world);
    put("done");
    let mut reasons: Vec<(bool, &str)> = report
        .sessions
        .iter()
        .map(|session| (session.goes, &*session.reason))
        .collect();
    reasons.sort_unstable();
    let expected = [
        (false, "operation"),
        (false, "reverted"),
        (true, "unused"),
        (true, "unused"),
    ];
    assert_eq!(reasons, expected, "{report:#?}");
    let went = world.try_revert(&to("gone")).expect_err("its bytes went");
    assert!(went.to_string().contains("pruned"), "{went}");
    world.unrevert();
    assert_eq!(world.read("reverted"), "the agent's\n", "both ways");
    world.revert("unfinished");
    assert_eq!(world.read("unfinished"), "the user's\n");
    world.restore("good", &["before"]);
    assert_eq!(
        world.read("before"),
        "the agent's\n",
        "of a session that went"
    );
}

/// What the objects of packs take as loose ones, as git writes them.
fn loose_size(world: &World, packs: &[PathBuf]) -> u64 {
    let home = world.base().join("home");
    let loose = world.base().join("loose");
    git::text(git::command(&world.base(), &home).args(["init", "-q", "--bare", "loose"]));
    for pack in packs {
        let pack = fs::File::open(pack).expect("ours");
        git::text(
            git::command(&loose, &home)
                .args(["unpack-objects", "-q"])
                .stdin(pack),
        );
    }
    let mut objects = files_below(&loose.join("objects"));
    objects.retain(|path| path.components().any(|part| part.as_os_str().len() == 2));
    bytes(&objects)
}

/// Sixty snapshots of ten files take little and git agrees with what is left.
#[test]
fn sixty_snapshots_take_little() {
    let mut world = World::new();
    let text = |file: usize, version: usize| -> String {
        (0..400)
            .map(|line| match line == version * 3 % 400 {
                true => format!("line {line} of {file} in version {version}\n"),
                false => format!("line {line} of {file}, as {} says\n", line * 7919 % 1009),
            })
            .collect()
    };
    let mut ids = Vec::new();
    for version in 0..60 {
        for file in 0..10 {
            world.write(format!("f{file}"), text(file, version));
        }
        ids.push(world.snapshot());
    }
    let repository = world.repository();
    let home = world.base().join("home");
    let loose = loose_size(&world, &world.packs());
    gc(&mut world);
    let after = bytes(&world.packs());
    assert!(after * 100 <= loose * 6, "{after} bytes of {loose}");
    let run = |arguments: &[&str]| git::text(git::command(&repository, &home).args(arguments));
    run(&["fsck", "--strict"]);
    run(&["gc", "--prune=now", "-q"]);
    // In the store, git refuses to remove a pack.
    let refused = git::output(git::command(&repository, &home).args(["repack", "-adfq"]));
    assert!(!refused.status.success(), "{refused:?}");
    run(&["config", "extensions.preciousObjects", "false"]);
    run(&["repack", "-adfq"]);
    let theirs = bytes(&world.packs());
    assert!(
        after * 10 <= theirs * 12,
        "{after} bytes, where git needs {theirs}"
    );
    for id in &ids {
        let shown = run(&["show", &format!("{id}:f3")]);
        let version = ids
            .iter()
            .position(|other| other == id)
            .expect("it is of them");
        assert!(
            shown == text(3, version).trim_end(),
            "git gives the same bytes of version {version}, and its own gc took nothing"
        );
    }
    gc(&mut world);
    world.write("f3", "another");
    let cwd = world.cwd.clone();
    world
        .store
        .restore(
            &cwd,
            &RestoreRequest {
                id: ids[7].clone(),
                paths: vec!["f3".into()],
                ..RestoreRequest::default()
            },
        )
        .expect("it is there");
    assert_eq!(
        world.read("f3"),
        text(3, 7),
        "deltas of git's and of our own are read"
    );
}

/// A hundred small steps on a large tree take little.
#[test]
fn hundred_small_steps_take_little() {
    let mut world = World::new();
    for file in 0..300 {
        world.write(
            format!("d{}/f{file}", file % 17),
            format!("file {file}\n").repeat(60),
        );
    }
    world.message("m1");
    for step in 0..100 {
        world.step(|world| {
            world.write(
                format!("d{}/f{step}", step % 17),
                format!("step {step}\n").repeat(60),
            )
        });
    }
    gc(&mut world);
    let all = files_below(&world.base().join("store"));
    assert!(all.len() <= 40, "{} files", all.len());
    assert!(bytes(&all) < 2 << 20, "{} bytes", bytes(&all));
    world.revert("m1");
    assert_eq!(world.read("d3/f20"), "file 20\n".repeat(60));
}

/// What crashes left goes and what was written just now stays.
///
/// Invariant `work/upkeep-leftovers`: Leftovers of crashes are removed, and files that somebody
/// may be writing are not.
#[test]
fn crashes_leftovers_go_and_new_files_stay() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "one\n"));
    let packs = world.repository().join("objects/pack");
    let strays = ["tmp_pack_1", "pack-0123.pack", "pack-4567.idx"];
    for stray in strays {
        fs::write(packs.join(stray), "torn").expect("ours");
    }
    gc(&mut world);
    assert!(
        strays.iter().all(|stray| packs.join(stray).exists()),
        "somebody may be writing them"
    );
    age_packs(&world);
    gc(&mut world);
    assert!(
        !strays.iter().any(|stray| packs.join(stray).exists()),
        "nobody is"
    );
    world.revert("m1");
    assert!(!world.exists("a"));
}

/// A workspace that is gone for long goes with its snapshots.
#[test]
fn long_gone_workspace_goes() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "one\n"));
    end(&mut world, "s1");
    fs::rename(&world.root, world.base().join("elsewhere")).expect("ours");
    wait_ms(DAY);
    gc(&mut world);
    wait_ms(20 * DAY);
    gc(&mut world);
    assert_eq!(world.packs().len(), 1, "a disk may come back");
    wait_ms(20 * DAY);
    let report = gc(&mut world);
    assert!(report.workspaces[0].removed, "it is gone for good");
    let left = fs::read_dir(world.base().join("store/snapshots"))
        .expect("it is there")
        .count();
    assert_eq!(left, 0, "and so are its snapshots");
}

/// Du says what each takes and what gc would free.
#[test]
fn du_says_what_each_takes() {
    let mut world = old_and_young();
    let report = world
        .store
        .du(ckpt_store::Grouping::Session)
        .expect("it is ours");
    let all: u64 = files_below(&world.base().join("store"))
        .iter()
        .map(|path| bytes(std::slice::from_ref(path)))
        .sum();
    assert!(
        report.bytes.abs_diff(all) < 200_000,
        "{} of {all}",
        report.bytes
    );
    assert_eq!(
        report.bytes,
        report.database + report.objects + report.caches + report.other
    );
    assert!(report.reclaimable > 0, "the old session can go");
    assert_eq!(
        report.rows.len(),
        3,
        "two sessions, and what was there before"
    );
    gc(&mut world);
    let after = world
        .store
        .du(ckpt_store::Grouping::Age)
        .expect("it is ours");
    assert_eq!(after.reclaimable, 0, "it went");
}

/// Du groups the same bytes in each way and a view has them too.
#[test]
fn du_groups_the_same_bytes() {
    use ckpt_store::Grouping::{Age, Message, Session, Workspace};
    let mut world = old_and_young();
    let mut sums = Vec::new();
    for (by, rows) in [(Workspace, 1), (Session, 3), (Message, 4), (Age, 2)] {
        let report = world.store.du(by).expect("it is ours");
        assert_eq!(report.rows.len(), rows, "{report:?}");
        sums.push(report.rows.iter().map(|row| row.bytes).sum::<u64>());
    }
    world.store.add_views();
    let database = world.base().join("store/sessions.db");
    let sum = "SELECT CAST(sum(bytes) AS TEXT) FROM disk_usage";
    let in_view = testing::rows::texts(&database, sum)[0].parse();
    sums.push(in_view.expect("a number"));
    assert!(sums[0] > 0, "there is something");
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
}

/// Packs that became many are joined without the agent's saying that it ends.
#[test]
fn many_packs_are_joined_without_an_end() {
    let mut world = World::new();
    world.write("a", "the user's\n");
    world.message("m1");
    let mut is_told = false;
    for step in 0..60 {
        world.step(|world| world.write("a", format!("step {step}\n")));
        is_told |= world.store.is_unsettled();
    }
    assert!(is_told, "the hook hears of it, and starts what joins them");
    assert!(world.packs().len() > 48, "one a step");
    world.settle();
    assert_eq!(world.packs().len(), 1, "they are joined");
    world.step(|world| world.write("b", "another\n"));
    world.revert("m1");
    assert_eq!(world.read("a"), "the user's\n", "and nothing is lost");
    world.unrevert();
    assert_eq!(world.read("a"), "step 59\n");
}

/// Lines of which the history was pruned are nobodys and not the next ones.
#[test]
fn pruned_lines_are_nobodys() {
    use ckpt_schema::report::LineAuthor;
    let mut world = World::new();
    let add = |world: &World, line: &str| {
        let old = match world.exists("lines") {
            true => world.read("lines"),
            false => String::new(),
        };
        world.write("lines", old + line);
    };
    world.turn_in("old", "m1", |world| add(world, "one\n"));
    world.turn_in("old", "m2", |world| add(world, "two\n"));
    end(&mut world, "old");
    wait_ms(40 * DAY);
    world.turn_in("young", "m3", |world| add(world, "three\n"));
    end(&mut world, "young");
    age_packs(&world);
    let cwd = world.cwd.clone();
    let authors = |world: &mut World| -> Vec<(LineAuthor, u64)> {
        let path = std::path::Path::new("lines");
        let blamed = world.store.blame(&cwd, path).expect("a file");
        let hunks = blamed.report.hunks.iter();
        hunks.map(|hunk| (hunk.by, hunk.lines)).collect()
    };
    let all = [(LineAuthor::Agent, 1); 3];
    assert_eq!(authors(&mut world), all, "each line has its message");
    gc(&mut world);
    let left = [(LineAuthor::Unknown, 2), (LineAuthor::Agent, 1)];
    assert_eq!(authors(&mut world), left, "the first two were pruned");
}
