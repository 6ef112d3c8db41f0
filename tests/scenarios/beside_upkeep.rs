//! Events beside a `forget` and a `gc`, of which one is held at every moment at which it could see what the other does.
//! What an event records is there afterwards, with all of its objects: no `gc` takes objects for unused whose rows are
//! still to come, and no two processes hold the lock of a workspace of which `forget` removes the folder.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use ckpt_schema::report::ChangeKind;
use ckpt_schema::{Event, EventKind};
use ckpt_store::query::DiffRequest;
use ckpt_store::{DryRun, ErrorKind, Forget, Settings, Store, fault};

use testing::scenario::{World, set_clock_from_files, try_open};
use testing::tree::files_below;

/// What one of the processes does in a workspace. The name is one that no other race has.
type Act = fn(&mut Store, &Path, &str);

/// One that has begun, and what is heard of it.
type Beside = (JoinHandle<()>, Receiver<()>);

/// The most moments that any of them has; a race at a later one ends the search.
const MOST_MOMENTS: usize = 200;

fn message(store: &mut Store, root: &Path, name: &str) {
    let event = Event {
        cwd: Some(root.to_owned()),
        message_id: Some(name.to_owned()),
        prompt: Some(name.to_owned()),
        ..Event::new(EventKind::UserMessage, "generic", name)
    };
    drop(store.record(&event).expect("it is recorded"));
}

fn forget_session(store: &mut Store, root: &Path, _name: &str) {
    // Refused if the other session has come first, and is at work.
    let what = Forget::Session("old".to_owned());
    let _ = store.forget(root, &what, DryRun::No);
    store.gc(DryRun::No).expect("it waits for events");
}

fn forget_workspace(store: &mut Store, root: &Path, _name: &str) {
    let _ = store.forget(root, &Forget::Workspace, DryRun::No);
    store.gc(DryRun::No).expect("it waits for events");
}

/// Does something in a thread with a store of its own, and something else at a moment of it. Returns whether it came to
/// that moment.
fn race(base: &Path, root: &Path, acts: [Act; 2], at: usize) -> bool {
    let (base, root) = (base.to_owned(), root.to_owned());
    let outer = std::thread::spawn(move || {
        set_clock_from_files(0);
        let mut store = try_open(&base, Settings::default()).expect("a store of our own");
        let other: Rc<RefCell<Option<Beside>>> = Rc::default();
        let begun = Rc::clone(&other);
        let (mut passed, mut writes) = (0, false);
        let place = (base, root.clone());
        fault::at_each_moment(move |name| {
            writes = match name {
                "writes" => true,
                "committed" => false,
                _ => writes,
            };
            passed += usize::from(name != "waits");
            if passed == at + 1 && begun.borrow().is_none() {
                let (thread, heard) = begin(&place, acts[1]);
                // While this one has the database's write lock, the other one waits for it without a word.
                if !writes {
                    let _ = heard.recv();
                }
                *begun.borrow_mut() = Some((thread, heard));
            }
        });
        acts[0](&mut store, &root, "one");
        fault::at_no_moment();
        drop(store);
        let other = other.borrow_mut().take();
        match other {
            Some((thread, _heard)) => thread.join().map(|()| true).expect("no panic"),
            None => false,
        }
    });
    outer.join().expect("no panic")
}

/// Begins something in a thread. What is heard first is that it waits for a lock, or has ended.
fn begin((base, root): &(PathBuf, PathBuf), act: Act) -> Beside {
    let (base, root) = (base.clone(), root.clone());
    let (tell, heard) = channel();
    let thread = std::thread::spawn(move || {
        set_clock_from_files(0);
        let mut store = try_open(&base, Settings::default()).expect("a store of our own");
        let waits = tell.clone();
        fault::at_each_moment(move |name| {
            if name == "waits" {
                // Nobody may listen any more.
                let _ = waits.send(());
            }
        });
        act(&mut store, &root, "other");
        fault::at_no_moment();
        let _ = tell.send(());
    });
    (thread, heard)
}

/// Invariant `work/beside-upkeep`: An event beside a `forget` or a `gc` is recorded with all of its objects.
#[test]
fn event_beside_forget_and_gc_loses_no_object() {
    let mut raced = 0;
    for (forget, is_of_all) in [(forget_session as Act, false), (forget_workspace, true)] {
        let orders = [
            ([message as Act, forget], "one"),
            ([forget, message], "other"),
        ];
        for (first, (acts, name)) in orders.into_iter().enumerate() {
            // A sample of the moments, another one for each order.
            for at in (first..MOST_MOMENTS).step_by(3) {
                set_clock_from_files(0);
                let mut world = World::new();
                world.write("kept", "0\n");
                world.turn_in("old", "m1", |world| world.write("a", "the agent's\n"));
                // What only the event stores, and what is stored already, for a message that goes.
                world.write("new", "the user's\n");
                world.write("kept", "0\n");
                let (base, root) = (world.base(), world.root.clone());
                if !race(&base, &root, acts, at) {
                    break;
                }
                raced += 1;
                let mut store = try_open(&base, Settings::default()).expect("a store");
                let errors = store.check(None);
                let errors: Vec<_> = errors
                    .iter()
                    .filter(|found| found.level == "error")
                    .collect();
                assert!(errors.is_empty(), "at moment {at}: {errors:#?}");
                match store.cat(&root, name, Path::new("new")) {
                    Ok(there) => assert_eq!(there.bytes, b"the user's\n", "at moment {at}"),
                    // A `forget` of everything that came later takes it as well.
                    Err(error) => assert!(is_of_all, "at moment {at}: {error}"),
                }
            }
        }
    }
    assert!(raced > 20, "{raced} races");
}

/// What is forgotten. It stands in names and prompts, which are stored as they are, too.
const SECRET: &str = "hunter2-hunter2";

/// A store with a message whose prompt and file are a secret, and another one.
fn with_a_secret() -> World {
    set_clock_from_files(0);
    let mut world = World::new();
    world.write("kept", "0\n");
    world.turn_in("old", SECRET, |world| {
        world.write("a", "one\n");
        world.write(SECRET, "two\n");
    });
    world.turn_in("new", "m2", |world| world.write("kept", "1\n"));
    world
}

fn is_anywhere(base: &Path) -> bool {
    let is_it = |window: &[u8]| window == SECRET.as_bytes();
    let holds = |path: &PathBuf| {
        let bytes = std::fs::read(path).unwrap_or_default();
        bytes.windows(SECRET.len()).any(is_it)
    };
    files_below(&base.join("store")).iter().any(holds)
}

/// Compares two states of which one names what is being forgotten. All of it is told, or that it is not there any more.
fn diff(store: &mut Store, root: &Path, _name: &str) {
    let request = DiffRequest {
        from: Some(SECRET.to_owned()),
        to: Some("m2".to_owned()),
        ..DiffRequest::default()
    };
    match store.diff(root, &request) {
        Ok(report) => {
            let files = report.files.iter();
            let files: Vec<_> = files
                .map(|file| (file.path.path.as_str(), file.kind))
                .collect();
            let added = ["a", SECRET].map(|path| (path, ChangeKind::Added));
            assert_eq!(files, added, "all of it");
        }
        Err(error) => {
            let is_gone = matches!(error.kind, ErrorKind::Unknown | ErrorKind::Unavailable);
            assert!(is_gone, "{}", error.with_causes());
        }
    }
}

fn forget_the_session(store: &mut Store, root: &Path, _name: &str) {
    let what = Forget::Session("old".to_owned());
    store
        .forget(root, &what, DryRun::No)
        .expect("nobody is at work");
}

fn upkeep(store: &mut Store, root: &Path, _name: &str) {
    // What is forgotten under it is no error of anybody's.
    let _ = store.adopt_packs(root);
    let _ = store.gc(DryRun::No);
}

fn forget_all(store: &mut Store, root: &Path, _name: &str) {
    match store.forget(root, &Forget::All, DryRun::No) {
        Ok(_) => std::fs::write(root.join("forgotten"), "").expect("ours"),
        Err(error) => assert_eq!(error.kind, ErrorKind::Busy, "{}", error.with_causes()),
    }
}

/// Plays two acts in both orders, the second at each moment of the first.
fn race_at_each_moment(acts: [Act; 2], check: impl Fn(&World, usize)) {
    let mut raced = 0;
    for acts in [acts, [acts[1], acts[0]]] {
        for at in 0..MOST_MOMENTS {
            let world = with_a_secret();
            if !race(&world.base(), &world.root, acts, at) {
                break;
            }
            raced += 1;
            check(&world, at);
        }
    }
    assert!(raced > 10, "{raced} races");
}

/// Invariant `work/beside-upkeep`.
#[test]
fn diff_beside_forget_tells_all_or_nothing() {
    race_at_each_moment([diff, forget_the_session], |world, at| {
        let mut store = try_open(&world.base(), Settings::default()).expect("a store");
        let errors = store.check(None).into_iter();
        let errors: Vec<_> = errors.filter(|found| found.level == "error").collect();
        assert!(errors.is_empty(), "at moment {at}: {errors:#?}");
    });
}

/// What `forget` said to be gone stays gone, whatever upkeep was at.
///
/// Invariant `truth/forgotten`.
#[test]
fn forget_all_beside_upkeep_leaves_nothing() {
    race_at_each_moment([upkeep, forget_all], |world, at| {
        let was_told = world.root.join("forgotten").exists();
        assert!(!was_told || !is_anywhere(&world.base()), "at moment {at}");
        if !was_told {
            let mut store = try_open(&world.base(), Settings::default()).expect("a store");
            forget_all(&mut store, &world.root, "");
            assert!(!is_anywhere(&world.base()), "at moment {at}: then");
        }
    });
}
