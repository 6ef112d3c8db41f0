//! After a first snapshot beside a repository, a process in the background ends what the store shares with that.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use testing::binary::Sandbox;

/// The inodes of all files below a directory.
fn inodes(directory: &Path, found: &mut Vec<u64>) {
    for entry in directory.read_dir().into_iter().flatten().flatten() {
        let path = entry.path();
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => inodes(&path, found),
            Ok(metadata) => found.push(metadata.ino()),
            Err(_) => {}
        }
    }
}

fn shares_inodes(world: &Sandbox) -> bool {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    inodes(&world.store(), &mut ours);
    inodes(&world.workspace(), &mut theirs);
    ours.iter().any(|inode| theirs.contains(inode))
}

fn packs(world: &Sandbox) -> Vec<PathBuf> {
    let directory = world.workspace().join(".git/objects/pack");
    let entries = directory.read_dir().expect("git made it");
    entries
        .map(|entry| entry.expect("readable").path())
        .collect()
}

#[test]
fn what_a_hook_borrows_of_the_repository_is_given_back_in_the_background() {
    let world = Sandbox::new();
    for number in 0..60 {
        world.write(
            &format!("d{}/f{number}", number % 5),
            format!("number {number}\n"),
        );
    }
    world.run_git(&["init", "-q", "-b", "main"]);
    world.run_git(&["add", "-A"]);
    world.run_git(&["commit", "-qm", "one"]);
    world.run_git(&["repack", "-adq"]);
    let index = std::fs::File::options()
        .append(true)
        .open(world.workspace().join(".git/index"))
        .expect("git made it");
    let written = index.metadata().and_then(|found| found.modified());
    let later = written.expect("it has a time") + Duration::from_secs(10);
    index.set_modified(later).expect("it is ours");
    world
        .run(&["message", "--session", "s", "--message", "m1"], b"")
        .ends_silently();
    let patience = Instant::now() + Duration::from_secs(60);
    while shares_inodes(&world) {
        assert!(Instant::now() < patience, "nobody gave it back");
        std::thread::sleep(Duration::from_millis(5));
    }
    world
        .run(&["step-start", "--session", "s"], b"")
        .ends_silently();
    for pack in packs(&world) {
        std::fs::remove_file(pack).expect("it is ours");
    }
    for number in 0..60 {
        world.write(&format!("d{}/f{number}", number % 5), "");
    }
    world
        .run(&["step-finish", "--session", "s"], b"")
        .ends_silently();
    world.run(&["revert", "--message", "m1"], b"").exits(0);
    for number in 0..60 {
        let file = format!("d{}/f{number}", number % 5);
        assert_eq!(
            world.read(&file),
            format!("number {number}\n").as_bytes(),
            "{file}"
        );
    }
}
