//! Looks that a watcher makes cheaper: they see what a look at everything sees, and one that lies is found out.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ckpt_store::WatchLimits;
use ckpt_store::snapshot::{Request, Taken};
use proptest::prelude::*;
use testing::snapshot::CapturedWorkspace;

use crate::random::{act, cases, play};

/// A watcher at work, until it is dropped.
struct Watcher {
    end: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Starts one and waits until it watches the workspace.
    fn of(world: &CapturedWorkspace) -> Self {
        let watcher = Self::limited(world, WatchLimits::default());
        let token = token_file(world);
        let before = fs::read(&token).unwrap_or_default();
        let end = Instant::now() + Duration::from_secs(60);
        while fs::read(&token).unwrap_or_default() == before {
            look(world, true);
            assert!(Instant::now() < end, "the workspace is watched");
        }
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

fn token_file(world: &CapturedWorkspace) -> PathBuf {
    world.store.join("snapshots/key/watched")
}

fn look(world: &CapturedWorkspace, takes_hints: bool) -> Taken {
    let request = Request {
        takes_hints,
        ..world.request()
    };
    world.snapshots.take(&request).unwrap()
}

/// A workspace with some directories, all old enough to be trusted.
fn old_workspace() -> CapturedWorkspace {
    let world = CapturedWorkspace::git();
    for path in ["a/b/c/one", "a/two", "d/three", "four"] {
        world.write(path, path);
    }
    world.grow_old();
    look(&world, false);
    world
}

#[test]
fn what_a_watcher_tells_of_is_seen_whatever_it_is() {
    let world = old_workspace();
    let _watcher = Watcher::of(&world);
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
        let hinted = look(&world, true);
        assert_eq!(hinted.snapshot.tree.to_string(), world.git_tree(), "{what}");
        let all = look(&world, false);
        assert_eq!(all.snapshot, hinted.snapshot, "{what}");
        assert!(!all.missed, "{what}: it was told");
    }
}

#[test]
fn thousands_of_directories_that_come_and_go_in_a_burst_are_survived() {
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
fn a_file_with_another_name_outside_is_looked_at_each_time() {
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
fn a_workspace_with_more_directories_than_the_limit_has_no_hints() {
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

#[test]
fn a_watcher_ends_when_nobody_asks_and_a_second_one_is_refused() {
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

#[test]
fn a_watcher_that_says_nothing_changed_is_found_out_by_the_next_look_at_everything() {
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

#[test]
fn whatever_answers_nonsense_or_not_at_all_is_no_watcher() {
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

    #[test]
    fn a_look_where_a_watcher_tells_sees_what_a_look_at_everything_does(
        rounds in proptest::collection::vec((proptest::collection::vec(act(), 1..8), 0..8_u8), 1..10)
    ) {
        let world = CapturedWorkspace::git();
        world.grow_old();
        look(&world, false);
        let mut watcher = Some(Watcher::of(&world));
        for (acts, fate) in rounds {
            // Now and then it is killed, or started again, before or after what happens.
            if fate == 0 {
                drop(watcher.take());
            }
            for act in &acts {
                let _ = play(&world, act);
            }
            if fate == 1 {
                drop(watcher.take());
                watcher = Some(Watcher::limited(&world, WatchLimits::default()));
            }
            let hinted = look(&world, true);
            prop_assert_eq!(hinted.snapshot.tree.to_string(), world.git_tree(), "after {:?}", acts);
            if fate == 2 {
                prop_assert!(!look(&world, false).missed, "after {:?}", acts);
            }
        }
    }
}
