//! `doctor` reads what the rows name: what is damaged is healed, or named.

use std::fs;
use std::path::Path;
use std::time::Duration;

use ckpt_schema::report::{Finding, Outcome};
use ckpt_store::{CHECK_TIME, Settings};

use testing::git;
use testing::scenario::World;

/// Cuts a pack off, as a disk that lost its second half does.
fn cut(path: &Path) {
    let bytes = fs::read(path).expect("ours");
    fs::remove_file(path).expect("ours");
    fs::write(path, &bytes[..bytes.len() / 2]).expect("ours");
}

fn check(world: &mut World, all: bool) -> Vec<Finding> {
    world.reopen(Settings::default());
    world.store.check((!all).then_some(CHECK_TIME))
}

fn errors(findings: &[Finding]) -> Vec<String> {
    let errors = findings.iter().filter(|finding| finding.level == "error");
    errors.map(|finding| finding.message.clone()).collect()
}

/// A file that is not compressed away, so that half of a pack is half of its objects.
fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state.to_be_bytes()[0]
    };
    (0..3000).map(|_| next()).collect()
}

fn two_steps() -> World {
    let mut world = World::new();
    world.write("kept", noise(1));
    world.message("m1");
    for step in 2..4 {
        world.start_in("s1");
        world.write("file", noise(step));
        world.finish_in("s1");
    }
    world
}

/// Invariant `truth/doctor`: `doctor` follows rows to trees to blobs, repairs what it can and
/// names the rest.
#[test]
fn all_that_rows_name_is_read() {
    let mut world = two_steps();
    for all in [false, true] {
        let findings = check(&mut world, all);
        assert_eq!(errors(&findings), Vec::<String>::new(), "all is well");
        let read = findings.iter().find(|finding| finding.subject == "objects");
        let text = &read.expect("it says what it read").message;
        assert!(text.contains("of 3 snapshots"), "{text}");
    }
}

/// A pack that is cut off is named with the files that are lost.
///
/// Invariant `truth/doctor`.
#[test]
fn truncated_pack_is_named_with_its_files() {
    let mut world = two_steps();
    let pack = world.packs()[1].clone();
    cut(&pack);
    let findings = check(&mut world, false);
    let errors = errors(&findings).join("\n");
    let name = pack
        .file_name()
        .expect("a file")
        .to_string_lossy()
        .into_owned();
    assert!(errors.contains(&name), "the pack: {errors}");
    assert!(errors.contains("`file`"), "what stood in it: {errors}");
}

/// What is still in the workspace heals the store.
///
/// Invariant `truth/doctor`.
#[test]
fn workspace_heals_the_store() {
    let mut world = two_steps();
    let before = world.packs();
    before.iter().for_each(|pack| cut(pack));
    let findings = check(&mut world, false);
    assert!(
        findings.iter().any(|finding| finding.repaired),
        "{findings:?}"
    );
    let lost = errors(&findings).join("\n");
    assert!(!lost.contains("`kept`"), "it is still there: {lost}");
    let mut written = world.packs();
    written.retain(|pack| !before.contains(pack));
    let sizes = written
        .iter()
        .map(|pack| pack.metadata().expect("there").len());
    assert!(sizes.max() > Some(3000), "with the files of now");
    let again = check(&mut world, false);
    assert!(
        !again.iter().any(|finding| finding.repaired),
        "once is enough: {again:?}"
    );
}

/// Invariant `truth/doctor`.
#[test]
fn what_the_users_repository_holds_heals_the_store() {
    let mut world = World::new();
    world.write("file", noise(1));
    world.run_git(&["init", "-q", "-b", "main"]);
    world.run_git(&["add", "-A"]);
    world.run_git(&["commit", "-qm", "first"]);
    world.message("m1");
    world.start_in("s1");
    world.write("file", noise(2));
    world.finish_in("s1");
    cut(&world.packs()[0]);
    let findings = check(&mut world, false);
    assert!(
        findings.iter().any(|finding| finding.repaired),
        "{findings:?}"
    );
    world.reopen(Settings::default());
    world.revert("m1");
    assert_eq!(
        fs::read(world.path("file")).expect("there"),
        noise(1),
        "it came back"
    );
}

/// Invariant `truth/doctor`.
#[test]
fn git_takes_for_needed_what_the_rows_name() {
    let mut world = two_steps();
    fs::create_dir(world.path("empty")).expect("ours");
    world.message("m2");
    check(&mut world, false);
    let git_dir = format!("--git-dir={}", world.repository().display());
    let unreachable = world.run_git(&[&git_dir, "fsck", "--full", "--strict", "--unreachable"]);
    let mut needed = unreachable
        .lines()
        .filter(|line| !line.starts_with("unreachable commit "));
    assert_eq!(
        needed.next(),
        None,
        "a ref leads to every object but the notes on snapshots"
    );
    let refs = world.run_git(&[
        &git_dir,
        "for-each-ref",
        "--format=%(objecttype)",
        "refs/snapshots",
    ]);
    assert_eq!(refs.lines().count(), 3, "one for each tree: {refs}");
    world.run_git(&[&git_dir, "gc", "-q", "--prune=now"]);
    assert_eq!(
        errors(&check(&mut world, true)),
        Vec::<String>::new(),
        "gc took nothing"
    );
}

/// Git removes nothing by hand even where no ref names it yet.
#[test]
fn git_by_hand_removes_nothing() {
    let mut world = two_steps();
    let refs = world.repository().join("packed-refs");
    assert!(!refs.exists(), "no event writes refs");
    let home = world.base().join("home");
    for arguments in [
        &["gc", "-q", "--prune=now"][..],
        &["gc", "-q", "--prune=now", "--aggressive"],
        &["repack", "-adq"],
        &["repack", "-dq", "--cruft", "--cruft-expiration=now"],
        &["prune", "--expire=now"],
        &["prune-packed", "-q"],
    ] {
        // Some of them refuse, which is as good.
        git::output(git::command(&world.repository(), &home).args(arguments));
        assert_eq!(
            errors(&check(&mut world, true)),
            Vec::<String>::new(),
            "{arguments:?} took nothing"
        );
        if refs.exists() {
            fs::remove_file(&refs).expect("the check writes them");
        }
    }
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "all is there");
}

/// A name, and what does the harm to a file.
type Harm = (&'static str, fn(&Path));

/// What becomes of an index beside a pack that is whole.
const HARMS: [Harm; 6] = [
    ("removed", |index| fs::remove_file(index).expect("ours")),
    ("cut off", cut),
    ("emptied", |index| rewrite(index, Vec::clear)),
    ("an id flipped", |index| {
        rewrite(index, |bytes| bytes[8 + 1024] ^= 0x55)
    }),
    ("an offset flipped", |index| {
        rewrite(index, |bytes| {
            let at = bytes.len() - 41;
            bytes[at] ^= 0x01;
        })
    }),
    ("of nothing at all", |index| {
        rewrite(index, |bytes| bytes.fill(0));
    }),
];

fn rewrite(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).expect("ours");
    change(&mut bytes);
    fs::remove_file(path).expect("ours");
    fs::write(path, bytes).expect("ours");
}

/// A damaged index beside a whole pack is made again.
///
/// Invariant `truth/damaged-index`.
#[test]
fn damaged_index_of_a_whole_pack_is_remade() {
    for is_packed in [false, true] {
        for (harm, act) in HARMS {
            let mut world = two_steps();
            if is_packed {
                // One pack with deltas.
                world.store.gc(ckpt_store::DryRun::No).expect("it is ours");
            }
            let pack = world.packs()[0].clone();
            let index = pack.with_extension("idx");
            let before = fs::read(&index).expect("there");
            act(&index);
            let what = format!("{harm}, packed: {is_packed}");
            let findings = check(&mut world, false);
            assert_eq!(errors(&findings), Vec::<String>::new(), "{what}");
            let name = pack.file_name().expect("a file").to_string_lossy();
            let is_told = |finding: &Finding| {
                finding.repaired && finding.message.contains(&format!("index of `{name}`"))
            };
            assert!(findings.iter().any(is_told), "{what}: {findings:?}");
            assert_eq!(
                fs::read(&index).expect("there"),
                before,
                "{what}: byte for byte what was written"
            );
            let again = check(&mut world, true);
            assert!(
                !again.iter().any(|finding| finding.repaired),
                "{what}: nothing is left to be done: {again:?}"
            );
        }
    }
}

/// Invariant `truth/damaged-index`.
#[test]
fn a_damaged_pack_gets_no_new_index() {
    let mut world = two_steps();
    let pack = world.packs()[1].clone();
    rewrite(&pack, |bytes| bytes[20] ^= 0x55);
    fs::remove_file(pack.with_extension("idx")).expect("ours");
    let findings = check(&mut world, false);
    assert!(
        errors(&findings).join("\n").contains("`file`"),
        "what stood in it is named: {findings:?}"
    );
    assert!(
        !pack.with_extension("idx").exists(),
        "no index says of a damaged pack that it is whole"
    );
}

/// Doctor stops reading when its time is over and says how much it read.
#[test]
fn doctor_stops_in_time_and_says_so() {
    let mut world = two_steps();
    let found = world.store.check(Some(Duration::ZERO));
    let read = found
        .iter()
        .find(|finding| finding.message.contains("of the newest 0 of"))
        .unwrap_or_else(|| panic!("{found:#?}"));
    assert_eq!(read.level, "note", "nothing is wrong");
    assert!(
        read.hint
            .as_ref()
            .is_some_and(|hint| hint.contains("--all")),
        "{read:?}"
    );
    let found = world.store.check(None);
    let read = found
        .iter()
        .find(|finding| finding.message.starts_with("read "))
        .unwrap_or_else(|| panic!("{found:#?}"));
    assert_eq!(read.level, "ok", "all was read: {read:?}");
}
