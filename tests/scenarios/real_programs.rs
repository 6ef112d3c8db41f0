//! Real programs that keep several files together: databases from PyPI, and an editor with files beside the one that it
//! edits. Where one is not there, its test is skipped.

use std::path::Path;
use std::process::{Command, Stdio};

use ckpt_schema::report::{FileResult, Outcome};
use testing::scenario::{World, paths_with};
use testing::skip::{has_program, skip};

/// Runs Python in the workspace, and returns what it prints.
fn python(world: &World, script: &str) -> String {
    let output = Command::new("python3")
        .args(["-c", script])
        .current_dir(&world.root)
        .output()
        .expect("it is there");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn has_module(name: &str) -> bool {
    let mut import = Command::new("python3");
    import.args(["-c", &format!("import {name}")]);
    let status = import.stderr(Stdio::null()).status();
    let is_there = status.is_ok_and(|status| status.success());
    if !is_there {
        skip(&format!("Python's `{name}` is not there"));
    }
    is_there
}

/// A database with what it takes to add a word to it, and to read all of them.
struct Program {
    module: &'static str,
    add: &'static str,
    read: &'static str,
}

const DUCKDB: Program = Program {
    module: "duckdb",
    add: "import duckdb; c = duckdb.connect('things')
c.execute('create table if not exists t (w varchar)'); c.execute(\"insert into t values ('WORD')\"); c.close()",
    read: "import duckdb; c = duckdb.connect('things')
print(' '.join(w for (w,) in c.execute('select w from t order by w').fetchall()))",
};

const LEVELDB: Program = Program {
    module: "plyvel",
    add: "import plyvel; d = plyvel.DB('things', create_if_missing=True); d.put(b'WORD', b''); d.close()",
    read: "import plyvel; d = plyvel.DB('things')
print(' '.join(sorted(k.decode() for k, _ in d)))",
};

/// It is killed, so that its log stays.
const KUZU: Program = Program {
    module: "kuzu",
    add: "import kuzu, os; c = kuzu.Connection(kuzu.Database('things'))
c.execute('create node table if not exists T(w string, primary key(w))'); c.execute(\"create (:T {w: 'WORD'})\"); os._exit(0)",
    read: "import kuzu; c = kuzu.Connection(kuzu.Database('things', read_only=True))
print(' '.join(w for (w,) in c.execute('match (t:T) return t.w order by t.w').get_all()))",
};

impl Program {
    fn add(&self, world: &World, word: &str) {
        python(world, &self.add.replace("WORD", word));
    }

    /// The words, which only a whole database gives.
    fn words(&self, world: &World) -> String {
        python(world, self.read)
    }
}

/// Invariant `work/databases`.
#[test]
fn real_databases_go_back_whole_or_stay_whole() {
    for program in [DUCKDB, LEVELDB, KUZU] {
        if !has_module(program.module) {
            continue;
        }
        let mut world = World::new();
        program.add(&world, "a-mine");
        let before = world.tree();
        world.turn("m1", |world| program.add(world, "b-agent"));
        let report = world.revert("m1");
        assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
        assert_eq!(world.tree(), before, "{}", program.module);
        assert_eq!(program.words(&world), "a-mine");

        let mut world = World::new();
        program.add(&world, "a-mine");
        world.turn("m1", |world| program.add(world, "b-agent"));
        program.add(&world, "c-later");
        let report = world.revert("m1");
        assert_eq!(
            program.words(&world),
            "a-mine b-agent c-later",
            "{report:#?}"
        );
        let kept = paths_with(&report, FileResult::Conflict);
        assert!(!kept.is_empty(), "it is named: {report:#?}");
    }
}

/// A real database stays while its program is at work.
///
/// Invariant `work/databases`.
#[test]
fn open_databases_of_real_programs_stay() {
    for program in [DUCKDB, LEVELDB] {
        if !has_module(program.module) {
            continue;
        }
        let mut world = World::new();
        program.add(&world, "a-mine");
        world.turn("m1", |world| program.add(world, "b-agent"));
        let open = format!(
            "{}\nimport sys; print('open', flush=True); sys.stdin.read()",
            program
                .add
                .replace("WORD", "c-later")
                .replace("c.close()", "")
                .replace("d.close()", "")
        );
        let mut writer = Command::new("python3")
            .args(["-c", &open])
            .current_dir(&world.root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it is there");
        let mut line = String::new();
        let output = writer.stdout.take().expect("it is piped");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line)
            .expect("a line");
        let report = world.revert("m1");
        drop(writer.stdin.take());
        assert!(writer.wait().expect("it ends").success());
        assert_eq!(
            program.words(&world),
            "a-mine b-agent c-later",
            "{report:#?}"
        );
    }
}

fn vim(world: &World, options: &str, command: &str, path: &str) {
    let status = Command::new("vim")
        .args(["-N", "-u", "NONE", "-i", "NONE", "-es"])
        .args(["-c", options, "-c", command, "-c", "wq", path])
        .current_dir(&world.root)
        .stdin(Stdio::null())
        .status();
    assert!(status.expect("it is there").success(), "{options}");
}

/// What the user does in vim stays in all of its files.
///
/// With a backup, an undo file and a swap file, whether vim writes the file in place or a new one.
#[test]
fn work_in_vim_stays_in_all_its_files() {
    if !has_program("vim") {
        return;
    }
    for copy in ["yes", "no", "auto,breakhardlink"] {
        let mut world = World::new();
        let text = |first: &str, last: &str| format!("{first}\n2\n3\n4\n5\n6\n{last}\n");
        world.write("f", text("1", "7"));
        let options = format!(
            "set backup backupskip= undofile backupcopy={copy} directory=. undodir=. backupdir=."
        );
        world.turn("m1", |world| world.write("f", text("agent", "7")));
        vim(&world, &options, "$s/7/mine/", "f");
        let beside = ["f~", ".f.un~"];
        let bytes = |world: &World| {
            beside.map(|path| std::fs::read(world.path(path)).expect("it is there"))
        };
        let before = bytes(&world);
        let report = world.revert("m1");
        assert_eq!(world.read("f"), text("1", "mine"), "{copy}: {report:#?}");
        assert_eq!(bytes(&world), before, "{copy}: they are the user's");
        world.unrevert();
        assert_eq!(world.read("f"), text("agent", "mine"), "{copy}");

        // The agent's own vim: all of its files go.
        let mut world = World::new();
        world.write("f", text("1", "7"));
        let before = world.tree();
        world.turn("m1", |world| vim(world, &options, "1s/1/agent/", "f"));
        assert!(Path::new(&world.path(".f.un~")).exists());
        world.revert("m1");
        assert_eq!(world.tree(), before, "{copy}");
    }
}

/// The layout of Android's `repo`: each project has its objects in `.repo`, and its `.git` is a folder of links there.
#[test]
fn projects_of_repo_keep_their_repositories() {
    let mut world = World::new();
    let git = |arguments: &[&str]| {
        let done = Command::new("git")
            .args(["-c", "user.name=u", "-c", "user.email=u@example.org"])
            .args(arguments)
            .current_dir(&world.root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("git");
        assert!(done.status.success(), "{arguments:?}: {done:?}");
    };
    git(&["init", "-q", "app"]);
    for folder in [
        ".repo/projects/app.git",
        ".repo/project-objects/app.git",
        ".repo/manifests",
    ] {
        world.make_directory(folder);
    }
    world.write(".repo/manifest.xml", "<manifest/>\n");
    for (name, to) in [
        ("objects", "project-objects"),
        ("refs", "projects"),
        ("logs", "projects"),
    ] {
        world.make_directory("app/.git/logs");
        let there = format!(".repo/{to}/app.git/{name}");
        std::fs::rename(world.path(format!("app/.git/{name}")), world.path(&there)).expect("moved");
        world.link(format!("app/.git/{name}"), format!("../../{there}"));
    }
    world.write("app/a", "1\n");
    git(&["-C", "app", "add", "."]);
    git(&["-C", "app", "commit", "-qm", "one"]);
    let root = world.root.clone();
    let commit = |words: &'static str| {
        let done = Command::new("git")
            .args(["-c", "user.name=u", "-c", "user.email=u@example.org"])
            .args(["-C", "app", "commit", "-qam", words])
            .current_dir(&root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("git");
        assert!(done.status.success(), "{done:?}");
    };
    world.turn("m1", |world| {
        world.write("app/a", "agent\n");
        commit("the agent's");
        world.write("app/b", "agent\n");
    });
    std::fs::write(root.join("app/c"), "mine\n").expect("writable");
    let added = Command::new("git")
        .args(["-C", "app", "add", "c"])
        .current_dir(&root)
        .status();
    assert!(added.expect("git").success());
    commit("mine");
    let report = world.revert("m1");
    assert_eq!(
        (world.read("app/a").as_str(), world.exists("app/b")),
        ("1\n", false),
        "{report:#?}"
    );
    let fsck = Command::new("git")
        .args(["-C", "app", "fsck", "--strict"])
        .current_dir(&root)
        .output()
        .expect("git");
    assert!(fsck.status.success(), "{fsck:?}");
    let log = Command::new("git")
        .args(["-C", "app", "log", "--format=%s"])
        .current_dir(&root)
        .output()
        .expect("git");
    assert_eq!(
        String::from_utf8_lossy(&log.stdout),
        "mine\nthe agent's\none\n"
    );
}
