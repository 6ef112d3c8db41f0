//! What an event or an operation needs of a damaged store is made again of what is whole: an index of its pack, a tree of the snapshots
//! beside it and of the rows.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use ckpt_schema::report::{DiagnosticReport, Finding};
use ckpt_store::Settings;

use testing::git;
use testing::scenario::{World, to};
use testing::tree::replace;

/// The indexes of the packs.
fn indexes(world: &World) -> Vec<PathBuf> {
    let packs = world.packs().into_iter();
    let indexes = packs.map(|pack| pack.with_extension("idx"));
    indexes.filter(|index| index.exists()).collect()
}

fn reopen(world: &mut World) {
    world.reopen(Settings::default());
}

/// A workspace, and the trees of the snapshots of its messages.
struct Story {
    world: World,
    trees: Vec<(&'static str, String)>,
}

impl Story {
    fn turn(&mut self, message: &'static str, work: impl FnOnce(&World)) {
        let snapshot = self.world.message(message).snapshot;
        self.trees.push((message, snapshot.expect("it is taken")));
        self.world.step(work);
    }

    /// The trees of the snapshot of a message that no other one has, the root last.
    fn own_trees(&self, message: &str) -> Vec<String> {
        let trees = |tree: &str| -> Vec<String> {
            let git_dir = format!("--git-dir={}", self.world.repository().display());
            let below = self.world.run_git(&[&git_dir, "ls-tree", "-r", "-t", tree]);
            let below = below.lines().filter(|line| line.contains(" tree "));
            let ids = below.map(|line| line[12..52].to_owned());
            ids.chain([tree.to_owned()]).collect()
        };
        let (own, others): (Vec<_>, Vec<_>) =
            self.trees.iter().partition(|(other, _)| *other == message);
        let others: Vec<String> = others.iter().flat_map(|(_, tree)| trees(tree)).collect();
        let mut own: Vec<String> = own.iter().flat_map(|(_, tree)| trees(tree)).collect();
        own.retain(|tree| !others.contains(tree));
        own
    }
}

/// Three messages that change files at several depths; no two files are alike.
fn story() -> Story {
    let world = World::new();
    for name in [
        "edited",
        "d/removed",
        "d/e/edited",
        "d/e/same",
        "other/same",
    ] {
        world.write(name, format!("{name} as it was\n"));
    }
    let mut story = Story {
        world,
        trees: Vec::new(),
    };
    story.turn("m1", |world| {
        world.write("edited", "edited by m1\n");
        world.write("d/e/edited", "deep, edited by m1\n");
        world.write("made/by", "made by m1\n");
        world.chmod("d/e/same", 0o755);
    });
    story.turn("m2", |world| {
        world.write("edited", "edited by m2\n");
        world.remove("d/removed");
        world.write("made/too", "made by m2\n");
    });
    story.turn("m3", |world| {
        world.write("edited", "edited by m3\n");
        world.write("d/e/edited", "deep, edited by m3\n");
    });
    story
}

/// Packs all objects but these anew, so that these are lost and nothing else.
fn lose(world: &World, lost: &[String]) {
    let git_dir = format!("--git-dir={}", world.repository().display());
    let all = [
        "cat-file",
        "--batch-all-objects",
        "--batch-check=%(objectname)",
    ];
    let all = world.run_git(&[&[&*git_dir][..], &all].concat());
    let (packs, indexes) = (world.packs(), indexes(world));
    let base = world.repository().join("objects/pack/pack");
    let mut command = world.git_command(&[&git_dir, "pack-objects", "-q"]);
    let mut child = command
        .arg(&base)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("git starts");
    let mut input = child.stdin.take().expect("a pipe");
    for id in all.lines().filter(|id| !lost.iter().any(|lost| lost == id)) {
        writeln!(input, "{id}").expect("git reads");
    }
    drop(input);
    assert!(child.wait().expect("git ends").success());
    for old in indexes.into_iter().chain(packs) {
        fs::remove_file(old).expect("ours");
    }
    let _ = fs::remove_file(world.repository().join("objects/pack/multi-pack-index"));
}

fn errors(findings: &[Finding]) -> Vec<&str> {
    let errors = findings.iter().filter(|finding| finding.level == "error");
    errors.map(|finding| &*finding.message).collect()
}

fn assert_before_m2(world: &World, what: &str) {
    let read = |name| world.read(name);
    assert_eq!(read("edited"), "edited by m1\n", "{what}");
    assert_eq!(read("d/removed"), "d/removed as it was\n", "{what}");
    assert_eq!(read("d/e/edited"), "deep, edited by m1\n", "{what}");
    assert!(!world.exists("made/too"), "{what}");
}

/// A lost tree is made again of what rows know before a revert is refused.
///
/// Invariant `truth/damaged-tree`: A lost tree is made again of the snapshots beside it and of
/// rows, and only if it hashes to what was lost.
#[test]
fn lost_tree_is_remade_before_refusing() {
    for message in ["m1", "m2", "m3"] {
        let story = story();
        let lost = story.own_trees(message);
        let mut world = story.world;
        assert!(lost.len() > 1, "{message}: a root, and one below: {lost:?}");
        lose(&world, &lost);
        reopen(&mut world);
        world.revert("m2");
        assert_before_m2(&world, message);
        world.unrevert();
        assert_eq!(world.read("edited"), "edited by m3\n", "{message}");
        let told = world.status().latest_diagnostics;
        assert!(
            message != "m2" || told.iter().any(|told| told.message.contains("was healed")),
            "it is told: {told:?}"
        );
        reopen(&mut world);
        let findings = world.store.check(None);
        assert_eq!(
            errors(&findings),
            [] as [&str; 0],
            "{message}: all is whole"
        );
        world.revert("m1");
        assert_eq!(world.read("edited"), "edited as it was\n", "{message}");
        assert_eq!(
            world.mode("d/e/same"),
            0o644,
            "{message}: with its permissions"
        );
    }
}

/// Doctor makes a lost tree again and names what is lost below it.
///
/// Invariant `truth/damaged-tree`.
#[test]
fn doctor_remakes_a_lost_tree() {
    for is_blob_lost in [false, true] {
        let story = story();
        let mut lost = story.own_trees("m2");
        let mut world = story.world;
        if is_blob_lost {
            let git_dir = format!("--git-dir={}", world.repository().display());
            let root = lost.last().expect("the root").clone();
            let blob = format!("{root}:d/removed");
            lost.push(world.run_git(&[&git_dir, "rev-parse", &blob]));
        }
        lose(&world, &lost);
        reopen(&mut world);
        let findings = world.store.check(Some(ckpt_store::CHECK_TIME));
        assert!(findings.iter().any(|found| found.repaired), "{findings:?}");
        let errors = errors(&findings).join("\n");
        assert_eq!(errors.contains("`d/removed`"), is_blob_lost, "{errors}");
        assert_eq!(errors.is_empty(), !is_blob_lost, "in one run: {errors}");
    }
}

/// A tree that rows do not lead to is lost and named.
///
/// Invariant `truth/damaged-tree`.
#[test]
fn tree_beyond_rows_is_lost_and_named() {
    let story = story();
    let lost = story.own_trees("m2");
    let mut world = story.world;
    lose(&world, &lost);
    testing::rows::execute(
        &world.base().join("store/sessions.db"),
        "UPDATE changes SET path = 'another' WHERE path = 'edited'",
    );
    reopen(&mut world);
    let findings = world.store.check(None);
    assert!(
        !errors(&findings).is_empty(),
        "nothing is made up: {findings:?}"
    );
}

/// A name, and what does the harm to a file.
type Harm = (&'static str, fn(&Path));

/// What becomes of the index of a whole pack.
const HARMS: [Harm; 3] = [
    ("removed", |index| fs::remove_file(index).expect("ours")),
    ("emptied", |index| replace(index, &[])),
    ("ids flipped", |index| {
        let mut bytes = fs::read(index).expect("ours");
        let objects = (bytes.len() - 8 - 1024 - 40) / 28;
        let ids = 8 + 1024..8 + 1024 + 20 * objects;
        bytes[ids].iter_mut().for_each(|byte| *byte ^= 0x55);
        replace(index, &bytes);
    }),
];

/// Harms the indexes of all packs, so that nothing else tells where an object is.
fn harm(world: &World, act: fn(&Path)) {
    indexes(world).iter().for_each(|index| act(index));
    let _ = fs::remove_file(world.repository().join("objects/pack/multi-pack-index"));
}

/// A revert makes a damaged index of a whole pack again.
///
/// Invariant `truth/damaged-index`.
#[test]
fn revert_remakes_a_damaged_index() {
    for (what, act) in HARMS {
        let mut world = story().world;
        harm(&world, act);
        reopen(&mut world);
        let plan = to("m2");
        world
            .try_revert(&plan)
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_before_m2(&world, what);
        harm(&world, act);
        reopen(&mut world);
        world.unrevert();
        assert_eq!(
            world.read("edited"),
            "edited by m3\n",
            "{what}: and forward"
        );
    }
}

/// An event that meets a damaged index makes it again and knows what changed.
///
/// Invariant `truth/damaged-index`.
#[test]
fn event_remakes_a_damaged_index() {
    for (what, act) in HARMS {
        let mut world = story().world;
        world.message("m4");
        world.start();
        world.write("edited", "edited by m4\n");
        harm(&world, act);
        reopen(&mut world);
        world.finish();
        let told = world.status().latest_diagnostics;
        assert!(
            !told.iter().any(|told| told.message.contains("is lost")),
            "{what}: {told:?}"
        );
        world.revert("m4");
        assert_eq!(world.read("edited"), "edited by m3\n", "{what}");
    }
}

/// An event whose last tree is lost makes it again and knows what changed.
///
/// Invariant `truth/damaged-tree`.
#[test]
fn event_remakes_its_lost_last_tree() {
    let mut world = story().world;
    let newest = world.message("m4").snapshot.expect("it is taken");
    world.start();
    let git_dir = format!("--git-dir={}", world.repository().display());
    let below = git::text(&mut world.git_command(&[&git_dir, "rev-parse", &format!("{newest}:d")]));
    lose(&world, &[newest, below]);
    world.write("edited", "edited by m4\n");
    world.write("d/e/same", "edited by m4, too\n");
    reopen(&mut world);
    world.finish();
    let told = world.status().latest_diagnostics;
    assert!(
        !told.iter().any(|told| told.message.contains("is lost")),
        "{told:?}"
    );
    world.revert("m4");
    assert_eq!(world.read("edited"), "edited by m3\n");
    assert_eq!(world.read("d/e/same"), "d/e/same as it was\n");
}

/// Doctor says that a repository is gone and stores what is still there.
///
/// Invariant `truth/doctor`.
#[test]
fn doctor_stores_what_a_missing_repository_held() {
    for what in ["", "repository.git", "repository.git/objects"] {
        let mut world = story().world;
        let repository = world.repository();
        let folder = repository.parent().expect("the workspace's");
        fs::rename(folder.join(what), world.base().join("away")).expect("ours");
        reopen(&mut world);
        let status = world.status();
        let is_told = |told: &DiagnosticReport| told.message.contains("are gone");
        assert_eq!(
            status.latest_diagnostics.iter().any(is_told),
            what != "repository.git/objects",
            "`{what}`: {status:?}"
        );
        let findings = world.store.check(Some(ckpt_store::CHECK_TIME));
        let errors = errors(&findings).join("\n");
        assert!(
            errors.contains("`edited`"),
            "`{what}`: the files are named: {errors}"
        );
        assert_eq!(
            errors.contains("was gone"),
            what != "repository.git/objects",
            "`{what}`: {errors}"
        );
        assert!(
            !errors.contains("`other/same`"),
            "it is still there: {errors}"
        );
        // What is there now is protected again.
        world.turn("m4", |world| world.write("edited", "edited by m4\n"));
        world.revert("m4");
        assert_eq!(world.read("edited"), "edited by m3\n", "`{what}`");
    }
}

/// Runs `gc`, and returns why it left workspaces as they were.
fn skipped_by_gc(world: &mut World) -> Vec<String> {
    let report = world.store.gc(ckpt_store::DryRun::No).expect("it is ours");
    let rows = report.workspaces.into_iter();
    rows.filter_map(|row| row.skipped).collect()
}

/// Gc heals what it meets damaged and goes on.
#[test]
fn gc_heals_damage_and_goes_on() {
    let story = story();
    let lost = story.own_trees("m2");
    let mut world = story.world;
    lose(&world, &lost);
    reopen(&mut world);
    assert_eq!(skipped_by_gc(&mut world), [] as [&str; 0]);
    assert_eq!(world.packs().len(), 1, "the others are gone");
    reopen(&mut world);
    world.revert("m2");
    assert_before_m2(&world, "after gc");
}

/// What no row names does not keep gc from a store that was healed.
#[test]
fn unnamed_objects_stop_no_gc() {
    let mut world = story().world;
    // The newest pack: its files are in the workspace, and the commit at its end is a note that nothing leads to.
    let pack = world.packs().pop().expect("each step has one");
    let bytes = fs::read(&pack).expect("ours");
    fs::remove_file(&pack).expect("ours");
    fs::write(&pack, &bytes[..bytes.len() / 2]).expect("ours");
    reopen(&mut world);
    let errors = |findings: Vec<Finding>| {
        let errors = findings.into_iter().filter(|one| one.level == "error");
        errors.map(|one| one.message).collect::<Vec<_>>()
    };
    assert_eq!(errors(world.store.check(None)), [] as [&str; 0], "healed");
    reopen(&mut world);
    assert_eq!(
        skipped_by_gc(&mut world),
        [] as [&str; 0],
        "nothing that is needed is lost"
    );
    assert_eq!(world.packs().len(), 1, "the damaged one is gone");
    reopen(&mut world);
    assert_eq!(errors(world.store.check(None)), [] as [&str; 0]);
    world.revert("m2");
    assert_before_m2(&world, "after gc");
}
