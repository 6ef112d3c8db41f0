//! Looks that a watcher makes cheaper: they see what a look at everything sees, and one that lies is found out.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use ckpt_store::WatchLimits;
use ckpt_store::snapshot::{Request, StoredSnapshot};
use proptest::prelude::*;
use testing::namespace::{in_namespace, in_user_namespace};
use testing::skip::skip;
use testing::snapshot::CapturedWorkspace;

use crate::random::{Act, act, cases, play};

/// A watcher at work, until it is dropped.
pub struct Watcher {
    end: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Starts one and waits until it watches the workspace.
    fn of(world: &CapturedWorkspace) -> Self {
        let before = token(world);
        let watcher = Self::limited(world, WatchLimits::default());
        wait_until_watched(world, &before);
        watcher
    }

    fn limited(world: &CapturedWorkspace, limits: WatchLimits) -> Self {
        fs::set_permissions(&world.store, fs::Permissions::from_mode(0o700)).unwrap();
        // What makes a directory a store; the harness keeps files of its own beside it.
        let database = world.store.join("sessions.db");
        fs::File::options()
            .create(true)
            .append(true)
            .open(database)
            .unwrap();
        let (end, theirs) = UnixStream::pair().unwrap();
        let store = world.store.clone();
        let work = move || ckpt_store::watch(&store, limits, Some(theirs.as_fd())).unwrap();
        let thread = Some(thread::spawn(work));
        let socket = world.store.join("watch.sock");
        while UnixStream::connect(&socket).is_err() {
            assert!(!thread.as_ref().unwrap().is_finished(), "it is at work");
            thread::yield_now();
        }
        Self {
            end: Some(end),
            thread,
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        drop(self.end.take());
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || thread::panicking(), "it ended well");
    }
}

/// Returns what is noted of the watch.
pub fn token(world: &CapturedWorkspace) -> Vec<u8> {
    fs::read(token_file(world)).unwrap_or_default()
}

/// Looks until there is another watch than the one that was noted before.
pub fn wait_until_watched(world: &CapturedWorkspace, before: &[u8]) {
    let end = Instant::now() + Duration::from_secs(60);
    while token(world) == before {
        look(world, true);
        assert!(Instant::now() < end, "the workspace is watched");
    }
}

pub fn token_file(world: &CapturedWorkspace) -> PathBuf {
    world.store.join("snapshots/key/watched")
}

pub fn look(world: &CapturedWorkspace, takes_hints: bool) -> StoredSnapshot {
    let request = Request {
        takes_hints,
        ..world.request()
    };
    world.snapshots.take(&request).unwrap()
}

/// A workspace with some directories, all old enough to be trusted.
pub fn old_workspace() -> CapturedWorkspace {
    let world = CapturedWorkspace::git();
    for path in ["a/b/c/one", "a/two", "d/three", "four"] {
        world.write(path, path);
    }
    world.grow_old();
    look(&world, false);
    world
}

/// Invariant `agent/watcher`.
#[test]
fn watchers_words_are_seen() {
    let world = old_workspace();
    let _watcher = Watcher::of(&world);
    see_everything(&world);
}

/// Changes a watched workspace in all ways, and expects that each is seen and was told.
pub fn see_everything(world: &CapturedWorkspace) {
    let at = |path: &str| world.root.join(path);
    let acts: [(&str, &dyn Fn()); 9] = [
        ("an edit in place", &|| {
            fs::write(at("a/b/c/one"), "ONE").unwrap()
        }),
        ("a new file", &|| world.write("d/new", "new")),
        ("a new tree", &|| world.write("x/y/z/new", "new")),
        ("an edit in the new tree", &|| {
            world.write("x/y/z/new", "NEW")
        }),
        ("permissions", &|| world.chmod("four", 0o755)),
        ("permissions of a directory", &|| world.chmod("a/b", 0o700)),
        ("a tree that is renamed", &|| {
            fs::rename(at("a/b"), at("d/b")).unwrap()
        }),
        ("an edit in the renamed tree", &|| {
            world.write("d/b/c/one", "1")
        }),
        ("a tree in the place of another", &|| {
            fs::rename(at("x"), at("w")).unwrap();
            fs::rename(at("d"), at("x")).unwrap();
        }),
    ];
    for (what, act) in acts {
        act();
        let hinted = look(world, true);
        assert_eq!(hinted.snapshot.tree.to_string(), world.git_tree(), "{what}");
        let all = look(world, false);
        assert_eq!(all.snapshot, hinted.snapshot, "{what}");
        assert!(!all.missed, "{what}: it was told");
    }
}

/// Thousands of directories that come and go in a burst are survived.
#[test]
fn thousands_of_directories_are_survived() {
    let world = old_workspace();
    let _watcher = Watcher::of(&world);
    for number in 0..2_000 {
        fs::create_dir_all(world.root.join(format!("burst/{number}/below"))).unwrap();
    }
    world.write("burst/7/below/left", "left");
    for number in (0..2_000).filter(|number| *number != 7) {
        fs::remove_dir_all(world.root.join(format!("burst/{number}"))).unwrap();
    }
    assert_eq!(
        look(&world, true).snapshot.tree.to_string(),
        world.git_tree()
    );
    world.write("burst/7/below/left", "edited");
    assert_eq!(
        look(&world, true).snapshot.tree.to_string(),
        world.git_tree()
    );
}

#[test]
fn file_named_outside_is_always_looked_at() {
    let world = old_workspace();
    let outside = world.home.join("outside");
    fs::write(&outside, "before").unwrap();
    fs::hard_link(&outside, world.root.join("a/b/linked")).unwrap();
    let _watcher = Watcher::of(&world);
    fs::write(&outside, "after!").unwrap();
    assert_eq!(
        look(&world, true).snapshot.tree.to_string(),
        world.git_tree()
    );
}

#[test]
fn too_many_directories_have_no_hints() {
    let world = old_workspace();
    let limits = WatchLimits {
        directories: 3,
        ..WatchLimits::default()
    };
    let _watcher = Watcher::limited(&world, limits);
    for round in 0..3 {
        world.write("d/three", format!("{round}"));
        assert_eq!(
            look(&world, true).snapshot.tree.to_string(),
            world.git_tree()
        );
    }
    assert!(!token_file(&world).exists(), "it is not watched");
}

/// The kernel grants a user a limited number of watches.
///
/// Invariant `agent/watches`: No watch is taken for what is out of view, and nothing in view is
/// missed for that.
#[test]
#[cfg(target_os = "linux")]
fn invisible_directories_get_no_watch() {
    let world = old_workspace();
    world.write(".gitignore", "node_modules/\nbuilt/\n");
    world.write("node_modules/left/lib/index.js", "x");
    world.grow_old();
    look(&world, false);
    let is_watched = |path: &str| {
        let inode = fs::metadata(world.root.join(path)).unwrap().ino();
        let inode = format!(" ino:{inode:x} ");
        let entries = fs::read_dir("/proc/self/fdinfo").unwrap().flatten();
        let mut texts = entries.filter_map(|entry| fs::read_to_string(entry.path()).ok());
        texts.any(|text| {
            let mut lines = text.lines();
            lines.any(|line| line.starts_with("inotify wd:") && line.contains(&inode))
        })
    };
    let _watcher = Watcher::of(&world);
    assert!(is_watched("a/b/c"), "it is in view");
    for out in ["node_modules", "node_modules/left", "node_modules/left/lib"] {
        assert!(!is_watched(out), "{out}");
    }
    // What comes later is watched until a look has told that it is out of view.
    world.write("built/deep/one", "x");
    world.write("new/deep/one", "x");
    let end = Instant::now() + Duration::from_secs(60);
    while is_watched("built/deep") || !is_watched("new/deep") {
        look(&world, true);
        assert!(Instant::now() < end, "only what is in view stays watched");
    }
    world.write("new/deep/two", "x");
    assert_eq!(
        look(&world, true).snapshot.tree.to_string(),
        world.git_tree()
    );
    // Then all of it comes in view.
    world.write(".gitignore", "nothing\n");
    for round in 0..3 {
        world.write("node_modules/left/lib/index.js", format!("{round}"));
        world.write("built/deep/one", format!("{round}"));
        let taken = look(&world, true);
        assert_eq!(taken.snapshot.tree.to_string(), world.git_tree(), "{round}");
        assert!(!taken.missed, "{round}");
    }
}

#[test]
fn unused_watcher_ends_and_second_is_refused() {
    let world = old_workspace();
    let watcher = Watcher::of(&world);
    let second = ckpt_store::watch(&world.store, WatchLimits::default(), None);
    assert!(second.unwrap_err().to_string().contains("another watcher"));
    drop(watcher);
    assert!(!world.store.join("watch.sock").exists(), "nothing is left");
    let limits = WatchLimits {
        idle: Duration::from_millis(1),
        ..WatchLimits::default()
    };
    ckpt_store::watch(&world.store, limits, None).unwrap();
}

/// Invariant `agent/watcher`.
#[test]
fn mount_over_a_watched_directory_is_seen() {
    in_namespace("hints::mount_over_a_watched_directory_is_seen", |mount| {
        let world = old_workspace();
        let _watcher = Watcher::of(&world);
        let place = world.root.join("d");
        let is_seen = |what: &str| {
            let hinted = look(&world, true);
            let all = look(&world, false);
            assert_eq!(
                (all.snapshot, all.gaps()),
                (hinted.snapshot, hinted.gaps()),
                "{what}"
            );
            assert!(!all.missed, "{what}: the watcher is still believed");
        };
        mount(&["-t", "tmpfs"], Path::new("none"), &place);
        is_seen("a file system of its own");
        fs::write(place.join("three"), "another").unwrap();
        is_seen("a file in it");
        let before = token(&world);
        let unmounted = Command::new("umount").arg(&place).status().unwrap();
        assert!(unmounted.success(), "nothing keeps it");
        is_seen("what was there before");
        wait_until_watched(&world, &before);
        mount(&["--bind"], &world.root.join("a"), &place);
        is_seen("a directory of the same file system");
    });
}

/// Invariant `agent/watcher`.
#[test]
fn ten_granted_watches_give_no_hints() {
    in_user_namespace("hints::ten_granted_watches_give_no_hints", || {
        let limit = "/proc/sys/user/max_inotify_watches";
        if fs::write(limit, "10").is_err() {
            return skip("the limits of this user namespace cannot be set");
        }
        let world = old_workspace();
        for number in 0..20 {
            world.write(&format!("many/{number}/file"), "before");
        }
        look(&world, false);
        let _watcher = Watcher::limited(&world, WatchLimits::default());
        for round in 0..3 {
            world.write("many/7/file", format!("{round}"));
            let hinted = look(&world, true);
            assert_eq!(hinted.snapshot.tree.to_string(), world.git_tree());
        }
        assert!(!token_file(&world).exists(), "it is not watched");
    });
}

/// Invariant `agent/watcher`.
#[test]
fn a_hostile_client_keeps_nobody_from_an_answer() {
    let world = old_workspace();
    let _watcher = Watcher::of(&world);
    let socket = world.store.join("watch.sock");
    let mut silent = Vec::new();
    for round in 0..3 {
        // Some say nothing, one talks without an end, one asks for something else, and one goes away.
        silent.extend((0..4).map(|_| UnixStream::connect(&socket).unwrap()));
        let mut endless = UnixStream::connect(&socket).unwrap();
        let _ = endless.write_all(&b"ckpt-hook 1\0".repeat(1 << 10));
        let mut other = UnixStream::connect(&socket).unwrap();
        other.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        other.shutdown(std::net::Shutdown::Write).unwrap();
        drop(UnixStream::connect(&socket).unwrap());
        world.write("d/three", format!("{round}"));
        assert_eq!(
            look(&world, true).snapshot.tree.to_string(),
            world.git_tree()
        );
        let mut answer = Vec::new();
        let _ = other.read_to_end(&mut answer);
        assert!(answer.is_empty(), "what is no question has no answer");
    }
    drop(silent);
    let all = look(&world, false);
    assert!(!all.missed, "it is still believed");
}

/// Runs something in a thread that is another user, or returns `None` where there is nobody to become somebody else.
fn as_another_user<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    if !rustix::process::geteuid().is_root() {
        skip("only root can become another user");
        return None;
    }
    let nobody = rustix::process::Uid::from_raw(65_534);
    let as_nobody = || {
        rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
        work()
    };
    thread::scope(|scope| Some(scope.spawn(as_nobody).join().unwrap()))
}

/// Invariant `agent/watcher`.
#[test]
fn a_watcher_answers_nobody_but_its_own_user() {
    let world = old_workspace();
    let _watcher = Watcher::of(&world);
    let socket = world.store.join("watch.sock");
    let metadata = world.root.metadata().unwrap();
    let root = world.root.to_str().unwrap();
    let folder = token_file(&world).with_file_name("");
    let folder = folder.to_str().unwrap();
    let ask = || {
        let mut stream = UnixStream::connect(&socket)?;
        let question = format!(
            "ckpt-hook 1\0{}\0{}\0\0{root}\0{folder}\0",
            metadata.dev(),
            metadata.ino()
        );
        // It may have hung up already.
        let _ = stream.write_all(question.as_bytes());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        std::io::Result::Ok(answer)
    };
    let Some(refused) = as_another_user(ask) else {
        return;
    };
    assert_eq!(
        refused.unwrap_err().kind(),
        std::io::ErrorKind::PermissionDenied,
        "nobody else enters the store"
    );
    // Even if somebody opened the way.
    let home = world.store.parent().unwrap();
    for (path, mode) in [(home, 0o755), (&*world.store, 0o755), (&*socket, 0o777)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let answer = as_another_user(ask).unwrap().unwrap();
    assert!(answer.is_empty(), "{}", answer.escape_ascii());
    assert!(!ask().unwrap().is_empty(), "its own user has an answer");
}

/// Invariant `agent/watcher`.
#[test]
fn a_watcher_of_another_user_is_not_asked() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    if !rustix::process::geteuid().is_root() {
        return skip("only root can give a socket away");
    }
    let world = old_workspace();
    let nothing = b"ckpt-hook 1\x000123456789abcdef0123456789abcdef 7\0some\0end\0";
    answering(&world, nothing, &ASKED);
    std::os::unix::fs::chown(world.store.join("watch.sock"), Some(65_534), None).unwrap();
    look(&world, false);
    fs::write(world.root.join("a/two"), "edited").unwrap();
    assert_eq!(
        look(&world, true).snapshot.tree.to_string(),
        world.git_tree()
    );
    assert_eq!(ASKED.load(Ordering::SeqCst), 0, "it was not asked");
}

/// Stands in for a watcher: answers every question with these bytes, and counts them.
fn answering(world: &CapturedWorkspace, answer: &'static [u8], asked: &'static AtomicUsize) {
    let listener = UnixListener::bind(world.store.join("watch.sock")).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
            asked.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(answer);
        }
    });
}

/// A watcher that says nothing changed is found out by the next look at everything.
///
/// Invariant `agent/watcher`.
#[test]
fn lying_watcher_is_found_out() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let world = old_workspace();
    let nothing = b"ckpt-hook 1\x000123456789abcdef0123456789abcdef 7\0some\0end\0";
    answering(&world, nothing, &ASKED);
    look(&world, false);
    fs::write(world.root.join("a/two"), "edited").unwrap();
    let hinted = look(&world, true);
    assert_ne!(
        hinted.snapshot.tree.to_string(),
        world.git_tree(),
        "it is believed"
    );
    let all = look(&world, false);
    assert_eq!(
        all.snapshot.tree.to_string(),
        world.git_tree(),
        "as at every message"
    );
    assert!(all.missed, "that it missed something is known");
    fs::write(world.root.join("a/two"), "again").unwrap();
    let hinted = look(&world, true);
    assert_eq!(
        hinted.snapshot.tree.to_string(),
        world.git_tree(),
        "it is believed no more"
    );
    assert!(ASKED.load(Ordering::SeqCst) > 2, "it was asked");
}

/// Where nothing changed according to a watcher only what is too young is looked at.
#[test]
fn without_changes_only_young_files_are_looked_at() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let world = CapturedWorkspace::git();
    world.write("a/old", "old");
    // A time to come is never trusted, however old everything else is.
    let touch = |text: &str| {
        world.write("a/young", text);
        let path = world.root.join("a/young");
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(86_400))
            .unwrap();
    };
    touch("edited");
    world.grow_old();
    look(&world, false);
    let nothing = b"ckpt-hook 1\x000123456789abcdef0123456789abcdef 7\0some\0end\0";
    answering(&world, nothing, &ASKED);
    look(&world, false);
    touch("again");
    assert_eq!(
        look(&world, true).snapshot.tree.to_string(),
        world.git_tree(),
        "what is too young is read whatever a watcher says"
    );
    fs::write(world.root.join("a/old"), "edited").unwrap();
    assert_ne!(
        look(&world, true).snapshot.tree.to_string(),
        world.git_tree(),
        "its neighbour is not: the watcher is believed"
    );
    let all = look(&world, false);
    assert_eq!(all.snapshot.tree.to_string(), world.git_tree());
    assert!(all.missed, "and found out");
}

/// Invariant `agent/watcher`.
#[test]
fn nonsense_is_no_watcher() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let endless = [&b"ckpt-hook 1\0\0some\0"[..], &b"dx\0".repeat(1 << 20)]
        .concat()
        .leak();
    let cut = b"ckpt-hook 1\x000123456789abcdef0123456789abcdef 7\0some\0";
    for answer in [&b""[..], b"nonsense", cut, endless] {
        let world = old_workspace();
        answering(&world, answer, &ASKED);
        look(&world, false);
        fs::write(world.root.join("a/two"), "edited").unwrap();
        assert_eq!(
            look(&world, true).snapshot.tree.to_string(),
            world.git_tree()
        );
    }
    // One that was stopped: it takes nobody in, and answers nobody.
    let world = old_workspace();
    let _listener = UnixListener::bind(world.store.join("watch.sock")).unwrap();
    let socket = world.store.join("watch.sock");
    fs::write(world.root.join("a/two"), "edited").unwrap();
    assert_eq!(
        look(&world, true).snapshot.tree.to_string(),
        world.git_tree()
    );
    assert_eq!(
        socket.metadata().unwrap().uid(),
        rustix::process::geteuid().as_raw()
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// Invariant `agent/watcher`: A watcher changes what a look costs, and nothing else.
    #[test]
    fn hinted_look_equals_a_full_one(
        rounds in proptest::collection::vec((proptest::collection::vec(act(), 1..8), 0..8_u8), 1..10)
    ) {
        look_beside(&rounds)?;
    }
}

/// Plays rounds of acts beside a watcher that comes and goes, and compares what is seen with what git sees.
fn look_beside(rounds: &[(Vec<Act>, u8)]) -> Result<(), TestCaseError> {
    let world = CapturedWorkspace::git();
    world.grow_old();
    look(&world, false);
    let begin = || Watcher::limited(&world, WatchLimits::default());
    let before = token(&world);
    let mut watcher = Some(begin());
    wait_until_watched(&world, &before);
    for (acts, fate) in rounds {
        // Now and then it is killed, or started again, before or after what happens.
        if *fate == 0 {
            drop(watcher.take());
        }
        for act in acts {
            let _ = play(&world, act);
        }
        if *fate == 1 {
            drop(watcher.take());
            watcher = Some(begin());
        }
        let hinted = look(&world, true);
        prop_assert_eq!(
            hinted.snapshot.tree.to_string(),
            world.git_tree(),
            "after {:?}",
            acts
        );
        if *fate == 2 {
            prop_assert!(!look(&world, false).missed, "after {:?}", acts);
        }
    }
    Ok(())
}
