//! A watcher that asks Watchman, the real one or one that is made up: what is seen is what a look at everything sees.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ckpt_store::WatchLimits;
use proptest::prelude::*;
use serde_json::{Value, json};
use testing::skip::skip;
use testing::snapshot::CapturedWorkspace;

use crate::hints::{
    Watcher, look, look_beside, old_workspace, see_everything, token, wait_until_watched,
};
use crate::random::{act, cases};

/// Watchman at work, until it is dropped.
struct Watchman {
    program: Child,
    folder: tempfile::TempDir,
}

impl Watchman {
    /// Starts it, or returns `None` where it is not installed.
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| format!("--{name}={}", folder.path().join(name).display());
        let program = Command::new("watchman")
            .args(["--foreground", "--no-save-state"])
            .args(["sockname", "logfile", "statefile", "pidfile"].map(path))
            .env("HOME", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(program) = program else {
            skip("Watchman is not installed");
            return None;
        };
        let watchman = Self { program, folder };
        let end = Instant::now() + LONG;
        while ask(&watchman.socket(), &json!(["version"]), LONG).is_none() {
            assert!(Instant::now() < end, "Watchman listens");
            thread::yield_now();
        }
        Some(watchman)
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("sockname")
    }

    /// Has it watch a directory.
    fn watch(&self, directory: &Path) {
        let question = json!(["watch", directory.to_str().unwrap()]);
        let told = ask(&self.socket(), &question, LONG).expect("it answers");
        assert!(!told.contains("\"error\""), "{told}");
    }

    /// Listens in between.
    fn ear(&self) -> Ear {
        let socket = self.socket();
        Ear::answering(move |question| ask(&socket, question, Duration::from_millis(500)))
    }
}

impl Drop for Watchman {
    fn drop(&mut self) {
        self.program.kill().unwrap();
        self.program.wait().unwrap();
    }
}

/// How long to wait for what must come.
const LONG: Duration = Duration::from_secs(60);

/// Asks Watchman. `None` if it does not answer in time, as where a name is not UTF-8.
fn ask(socket: &Path, question: &Value, patience: Duration) -> Option<String> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(patience)).unwrap();
    // In one piece, or Watchman takes the first byte for a whole message.
    stream.write_all(format!("{question}\n").as_bytes()).ok()?;
    let mut line = String::new();
    let length = BufReader::new(stream).read_line(&mut line).ok()?;
    (length > 0).then(|| line.trim_end().to_owned())
}

/// A socket that looks like Watchman's, and remembers the questions.
struct Ear {
    folder: tempfile::TempDir,
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Ear {
    fn answering(answer: impl Fn(&Value) -> Option<String> + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("sock")).unwrap();
        let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (answer, own) = (Arc::new(answer), Arc::clone(&heard));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (answer, heard) = (Arc::clone(&answer), Arc::clone(&own));
                let mut stream = stream.unwrap();
                thread::spawn(move || {
                    let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                    for line in lines.map_while(Result::ok) {
                        let question = serde_json::from_str(&line).unwrap();
                        let told = answer(&question);
                        heard.lock().unwrap().push(question);
                        let is_told = told.is_none_or(|line| {
                            stream.write_all(format!("{line}\n").as_bytes()).is_ok()
                        });
                        if !is_told {
                            return;
                        }
                    }
                });
            }
        });
        Self { folder, heard }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("sock")
    }

    /// Returns how often it was asked what has happened.
    fn queries(&self) -> usize {
        let heard = self.heard.lock().unwrap();
        let since = heard
            .iter()
            .filter(|question| !question[2]["since"].is_null());
        since.count()
    }
}

fn watcher(world: &CapturedWorkspace, socket: &Path) -> Watcher {
    let before = token(world);
    let watcher = Watcher::start(world, WatchLimits::default(), Some(socket));
    wait_until_watched(world, &before);
    watcher
}

#[test]
fn what_watchman_tells_of_is_seen_whatever_it_is() {
    let Some(watchman) = Watchman::start() else {
        return;
    };
    let world = old_workspace();
    watchman.watch(&world.root);
    let ear = watchman.ear();
    let _watcher = watcher(&world, &ear.socket());
    see_everything(&world);
    assert!(ear.queries() > 0, "it was asked");
}

#[test]
fn what_watchman_tells_of_is_seen_if_it_watches_a_directory_above() {
    let Some(watchman) = Watchman::start() else {
        return;
    };
    let world = old_workspace();
    watchman.watch(world.root.parent().unwrap());
    let ear = watchman.ear();
    let _watcher = watcher(&world, &ear.socket());
    see_everything(&world);
    assert!(ear.queries() > 0, "it was asked");
}

#[test]
fn a_file_with_another_name_outside_is_looked_at_beside_watchman_too() {
    let Some(watchman) = Watchman::start() else {
        return;
    };
    let world = old_workspace();
    let outside = world.home.join("outside");
    fs::write(&outside, "before").unwrap();
    watchman.watch(&world.root);
    let ear = watchman.ear();
    let _watcher = watcher(&world, &ear.socket());
    fs::hard_link(&outside, world.root.join("a/b/linked")).unwrap();
    for text in ["after!", "later!"] {
        fs::write(&outside, text).unwrap();
        let hinted = look(&world, true);
        assert_eq!(hinted.snapshot.tree.to_string(), world.git_tree(), "{text}");
    }
    assert!(ear.queries() > 0, "it was asked");
}

#[test]
fn what_happens_after_watchman_has_gone_is_seen() {
    let Some(watchman) = Watchman::start() else {
        return;
    };
    let world = old_workspace();
    watchman.watch(&world.root);
    let _watcher = watcher(&world, &watchman.socket());
    drop(watchman);
    for text in ["once", "twice"] {
        world.write("d/three", text);
        let hinted = look(&world, true);
        assert_eq!(hinted.snapshot.tree.to_string(), world.git_tree(), "{text}");
    }
}

/// Returns what Watchman answers if it watches a directory in which nothing ever happens.
fn nothing_happens(question: &Value, root: &Path) -> Value {
    match question[0].as_str() {
        Some("watch-list") => json!({"roots": ["/elsewhere", root]}),
        Some("get-config") => json!({"config": {}}),
        _ => json!({"clock": "c:1:2:3", "files": [], "is_fresh_instance": false}),
    }
}

#[test]
fn watchman_is_not_asked_where_it_would_tell_too_little_or_write_into_the_workspace() {
    let with = |part: &'static str, answer: Value| {
        move |question: &Value, root: &Path| match question[0] == part {
            true => answer.clone(),
            false => nothing_happens(question, root),
        }
    };
    type Told = Box<dyn Fn(&Value, &Path) -> Value + Send + Sync>;
    let refused: [(&str, Told); 6] = [
        ("it does not watch the workspace", {
            Box::new(with("watch-list", json!({"roots": ["/elsewhere"]})))
        }),
        ("it leaves directories out", {
            let settings = json!({"config": {"ignore_dirs": ["a"]}});
            Box::new(with("get-config", settings))
        }),
        ("it leaves other directories out than it does by itself", {
            let settings = json!({"config": {"ignore_vcs": ["a"]}});
            Box::new(with("get-config", settings))
        }),
        ("it cannot say", {
            Box::new(with("get-config", json!({"error": "no"})))
        }),
        ("it has no clock", Box::new(with("query", json!({})))),
        ("there is no `.git` for its file", Box::new(nothing_happens)),
    ];
    for (what, told) in refused {
        let world = old_workspace();
        if what.contains(".git") {
            fs::rename(world.root.join(".git"), world.home.join("gone")).unwrap();
            look(&world, false);
        }
        let root = world.root.clone();
        let ear = Ear::answering(move |question| Some(told(question, &root).to_string()));
        let _watcher = watcher(&world, &ear.socket());
        fs::write(world.root.join("a/two"), "edited").unwrap();
        let hinted = look(&world, true);
        assert!(!look(&world, false).missed, "{what}: it was told");
        assert_eq!(hinted.snapshot, look(&world, false).snapshot, "{what}");
        assert_eq!(ear.queries(), 0, "{what}");
        assert!(
            !ear.heard.lock().unwrap().is_empty(),
            "{what}: it was found"
        );
    }
}

#[test]
fn what_is_no_answer_of_watchman_means_that_anything_may_have_changed() {
    let answers = [
        r#"{"clock": "c:1:2:3", "files": [], "is_fresh_instance": true}"#.to_owned(),
        r#"{"clock": "c:1:2:3", "is_fresh_instance": false}"#.to_owned(),
        r#"{"clock": "c:1:2:3", "files": [{"type": "f"}], "is_fresh_instance": false}"#.to_owned(),
        r#"{"files": [], "is_fresh_instance": false}"#.to_owned(),
        r#"{"error": "synchronization failed", "clock": "c:1:2:3", "files": [], "is_fresh_instance": false}"#
            .to_owned(),
        "[]".to_owned(),
        "nonsense".to_owned(),
        "x".repeat(17 << 20),
        String::new(),
    ];
    for told in answers {
        let world = old_workspace();
        let (root, own) = (world.root.clone(), told.clone());
        let ear = Ear::answering(move |question| {
            let is_asked = !question[2]["since"].is_null();
            // Nothing at all stands for one that hangs.
            match is_asked {
                true => (!own.is_empty()).then(|| own.clone()),
                false => Some(nothing_happens(question, &root).to_string()),
            }
        });
        let _watcher = watcher(&world, &ear.socket());
        fs::write(world.root.join("a/two"), "edited").unwrap();
        let hinted = look(&world, true);
        let what: String = told.chars().take(80).collect();
        assert_eq!(hinted.snapshot.tree.to_string(), world.git_tree(), "{what}");
        assert!(ear.queries() > 0, "{what}: it was asked");
    }
}

#[test]
fn a_watchman_of_another_user_is_not_asked() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can give a socket away");
    }
    let world = old_workspace();
    let root = world.root.clone();
    let ear = Ear::answering(move |question| Some(nothing_happens(question, &root).to_string()));
    std::os::unix::fs::chown(ear.socket(), Some(65_534), None).unwrap();
    let _watcher = watcher(&world, &ear.socket());
    assert!(ear.heard.lock().unwrap().is_empty(), "it was not asked");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_look_where_watchman_tells_sees_what_a_look_at_everything_does(
        rounds in proptest::collection::vec((proptest::collection::vec(act(), 1..8), 0..8_u8), 1..6)
    ) {
        if let Some(watchman) = Watchman::start() {
            let socket = watchman.socket();
            look_beside(&rounds, Some(&socket), &|root| watchman.watch(root))?;
        }
    }
}
