//! A remote in which another program wrote what it liked.

use serde_json::{Value, json};
use testing::binary::{Sandbox, finish};
use testing::git;

use super::{fetch, machine, only, push, server};

/// One who can write to a repository, and what a machine has pushed there.
pub(super) struct Forger<'w> {
    world: &'w Sandbox,
    server: String,
    /// The ref of that machine.
    pub name: String,
    /// The rows of its last push, and its objects.
    pub rows: String,
    pack: String,
}

impl<'w> Forger<'w> {
    pub fn at(world: &'w Sandbox, server: &str) -> Self {
        let mut forger = Self {
            world,
            server: server.to_owned(),
            name: String::new(),
            rows: String::new(),
            pack: String::new(),
        };
        forger.name = forger.git(&["for-each-ref", "--format=%(refname)"], "");
        forger.rows = forger.git(&["cat-file", "blob", &format!("{}^:rows", forger.name)], "");
        forger.pack = forger.git(&["rev-parse", &format!("{}^:pack.00000", forger.name)], "");
        forger
    }

    pub fn git(&self, arguments: &[&str], input: &str) -> String {
        let mut git = git::command(&self.world.path("."), &self.world.home());
        git.args(["--git-dir", &self.server]).args(arguments);
        let done = finish(&mut git, input.as_bytes()).exits(0);
        done.stdout.trim().to_owned()
    }

    /// Puts a push with these rows in the place of the machine's, or after it.
    pub fn push(&self, rows: &str, after: Option<&str>) {
        let rows = self.git(&["hash-object", "-w", "--stdin"], rows);
        let files = format!(
            "100644 blob {}\tpack.00000\n100644 blob {rows}\trows\n",
            self.pack
        );
        let commit = |files: &str, after: Option<&str>| {
            let tree = self.git(&["mktree"], files);
            let mut line = vec!["commit-tree", &tree, "-m", "x"];
            line.extend(after.iter().flat_map(|after| ["-p", after]));
            self.git(&line, "")
        };
        let bundle = commit(&files, after);
        let end = commit("", Some(&bundle));
        self.git(&["update-ref", &self.name, &end], "");
    }

    /// Returns the line that begins each push, and the rows of a table.
    fn of(&self, table: &str) -> (Value, Vec<Value>) {
        let parsed = |line| serde_json::from_str::<Value>(line).expect("JSON");
        let mut lines = self.rows.lines().map(parsed);
        let mut head = lines.next().expect("it has one");
        head["anew"] = false.into();
        (head, lines.filter(|row| row["table"] == table).collect())
    }
}

/// A row that went is a number that is free: what takes it is not the other machine's to change.
///
/// Invariant `work/other-machines-rows`: What another machine pushes changes no row but its own.
#[test]
fn forged_rows_reach_no_own_ones() {
    let (one, other) = (machine(), Sandbox::new());
    let server = server(&one);
    push(&one, &server);
    let forger = Forger::at(&one, &server);
    other.write("a", "mine\n");
    fetch(&other, &server);
    let (head, sessions) = forger.of("sessions");
    let gone = json!({"table": "sessions", "row": sessions[0]["row"]});
    forger.push(&format!("{head}\n{gone}\n"), Some(&forger.name));
    fetch(&other, &server);
    other.play("o1", "my own", |world| {
        for number in 0..9 {
            world.write(&format!("own{number}"), "mine, too\n");
        }
    });
    let before = other.json(&["show", "o1"]);
    let mut forged = head.to_string();
    for mut change in forger.of("changes").1 {
        change["values"]["path"] = "forged".into();
        change["values"]["step_id"] = Value::Null;
        change["values"]["attribution"] = "outside".into();
        forged.push_str(&format!("\n{change}"));
    }
    forger.push(&forged, Some(&forger.name));
    fetch(&other, &server);
    assert_eq!(other.json(&["show", "o1"]), before);
    other.run(&["revert", "o1"], b"").exits(0);
    assert!(!other.workspace().join("own8").exists(), "it went back");
}

/// Refs that no machine has pushed are passed over or named, and keep nothing else away.
#[test]
fn odd_refs_keep_nothing_away() {
    let (one, other) = (machine(), Sandbox::new());
    let server = server(&one);
    push(&one, &server);
    let forger = Forger::at(&one, &server);
    let folder = forger.name.rsplit_once('/').expect("it has one").0;
    let blob = forger.git(&["hash-object", "-w", "--stdin"], "x");
    let tree = forger.git(&["mktree"], "");
    let at =
        |name: &str, id: &str| forger.git(&["update-ref", &format!("{folder}/{name}"), id], "");
    for odd in ["deep/er", "ü", "a'b", "$(touch)"] {
        at(odd, &forger.name);
    }
    let name = only(&fetch(&other, &server));
    assert!(forger.name.ends_with(&name), "{name}");
    for (odd, id) in [("blob", &blob), ("tree", &tree)] {
        at(odd, id);
        let third = Sandbox::new();
        let run = third.run(&["fetch", &server], b"").exits(4);
        let said = format!("`{folder}/{odd}` is no history that was pushed");
        assert!(run.stderr.contains(&said), "{run}");
        third.run(&["--machine", &name, "log"], b"").exits(0);
        forger.git(&["update-ref", "-d", &format!("{folder}/{odd}")], "");
    }
    // A tag leads to what was pushed, and so does a ref to another one.
    forger.git(&["tag", "-a", "-m", "x", "tag", &forger.name], "");
    at("tagged", "refs/tags/tag");
    let link = format!("{folder}/link");
    forger.git(&["symbolic-ref", &link, &forger.name], "");
    let report = fetch(&Sandbox::new(), &server);
    assert_eq!(
        report["machines"].as_array().map(Vec::len),
        Some(3),
        "{report}"
    );
}

/// The columns that are forged: those of which the session store does not know by itself what they may be.
const TEXTS: [&str; 9] = [
    "path", "cwd", "prompt", "command", "paths", "outside", "name", "notes", "remarks",
];
const NUMBERS: [&str; 4] = ["additions", "deletions", "size", "ran_for"];

/// Whatever the rows say, no command panics, and none writes or reads outside of the workspace.
///
/// Invariant `work/other-machines-values`: No value of a row of another machine ends a command, or leads out of the workspace.
#[test]
fn forged_values_lead_nowhere() {
    let one = machine();
    let server = server(&one);
    push(&one, &server);
    let forger = Forger::at(&one, &server);
    let texts = [
        "../../../escaped",
        "/escaped\u{0}\u{1b}[2J",
        "[\"../escaped\"]",
    ];
    let numbers = [i64::MAX, i64::MIN].into_iter().map(Value::from);
    let texts = texts.into_iter().map(Value::from);
    for forged in texts.chain(numbers) {
        let other = Sandbox::new();
        other.write("a", "mine\n");
        let mut lines = forger.rows.lines();
        let mut all = lines.next().expect("it has one").to_owned();
        for line in lines {
            let mut row: Value = serde_json::from_str(line).expect("JSON");
            let values = row["values"].as_object_mut().expect("it has some");
            for (name, value) in values.iter_mut() {
                let is_meant = match forged.is_string() {
                    true => TEXTS.contains(&&**name),
                    false => name.ends_with("_at") || NUMBERS.contains(&&**name),
                };
                if is_meant && !value.is_null() {
                    *value = forged.clone();
                }
            }
            all.push_str(&format!("\n{row}"));
        }
        forger.push(&all, None);
        let run = other.run(&["fetch", &server], b"");
        assert!(matches!(run.code, Some(0 | 1 | 4)), "{forged}: {run}");
        for line in [
            &["--machine", "host", "log", "--stat"][..],
            &["--machine", "host", "show", "last"],
            &["--machine", "host", "sessions"],
            &["--machine", "host", "diff", "last"],
            &["--machine", "host", "blame", "a"],
            &["--machine", "host", "recover"],
            &["--machine", "host", "branch", "last", "../way"],
            &["--machine", "host", "restore", "last", "a"],
            &["du", "--by", "machine"],
            &["workspace", "list"],
            &["doctor"],
            &["gc"],
            &["log"],
        ] {
            let run = other.run(line, b"");
            let is_told = run.code.is_some_and(|code| code < 100);
            assert!(is_told, "{forged} {line:?}: {run}");
            assert!(!run.stdout.contains('\u{1b}'), "{forged} {line:?}: {run}");
        }
        let fetched = other.run(&["fetch", &server, "--json"], b"");
        let fetched: Value = serde_json::from_str(&fetched.stdout).unwrap_or_default();
        if let Some(id) = fetched["machines"][0]["id"].as_str() {
            for line in [
                &["workspace", "adopt", id][..],
                &["revert", "m1"],
                &["undo"],
                &["log"],
                &["status"],
            ] {
                let run = other.run(line, b"");
                assert!(
                    run.code.is_some_and(|code| code < 100),
                    "{forged} {line:?}: {run}"
                );
            }
        }
        for place in [
            other.path("escaped"),
            other.path("../escaped"),
            "/escaped".into(),
        ] {
            assert!(!place.exists(), "{forged}: {}", place.display());
        }
    }
}
