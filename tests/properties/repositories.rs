//! Days in repositories whose commits differ in ignore rules, links, kinds and attributes: the agent switches,
//! resets, picks, moves, stashes and cleans. Each way back and forward leaves the state of that moment, or names each path that
//! differs and is partial.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use ckpt_schema::report::{FileResult, OperationReport, Outcome};
use ckpt_store::{RedoRequest, RevertRequest};
use proptest::prelude::*;
use testing::clock::await_tick;
use testing::scenario::{World, explained, set_clock_from_files, to};
use testing::tree::{Node, Tree};

use crate::hold::hold_same;
use crate::script::Script;

const FOLDERS: [&str; 7] = ["gen", "src", "src/a", "doc", "build", "vendor", "x"];
const NAMES: [&str; 7] = ["f", "g", "m.o", "n.log", "k.tmp", "main.c", "r"];
const RULES: [&str; 11] = [
    "gen/",
    "*.o",
    "build",
    "*.log",
    "/vendor/*",
    "!*.log",
    "k.tmp",
    "x/",
    "src/a/*",
    "!src/a/r",
    "doc/r",
];
const TARGETS: [&str; 4] = ["../src", "f", "../gen/f", "nowhere"];
const ATTRIBUTES: [&str; 4] = ["* text eol=crlf", "*.c ident", "* -text", "* text=auto"];

/// How many commits there are to go to.
const COMMITS: usize = 8;

/// What the commands need: `way` makes room for a path, and `some` lists one file in so many.
const BEGIN: &str = r#"
way() {
    local above
    above=$(dirname -- "$1")
    while [ "$above" != . ]; do
        [ -d "$above" ] && [ ! -L "$above" ] || rm -f -- "$above"
        above=$(dirname -- "$above")
    done
    rm -rf -- "$1"
    mkdir -p -- "$(dirname -- "$1")"
}
some() { find . -path ./.git -prune -o -type f -print | LC_ALL=C sort | awk "NR % $1 == $2" | tr '\n' '\0'; }
"#;

/// What is committed, as a line of a shell.
fn edit() -> impl Strategy<Value = String> {
    let at = || {
        (
            prop::sample::select(&FOLDERS[..]),
            prop::sample::select(&NAMES[..]),
        )
    };
    let folder = || prop::sample::select(&FOLDERS[..]);
    let rules = prop::sample::subsequence(&RULES[..], 0..4);
    prop_oneof![
        4 => (at(), 0..4u8).prop_map(|((folder, name), text)| format!("way {folder}/{name}; seq {text} 9 >{folder}/{name}")),
        1 => at().prop_map(|(folder, name)| format!("rm -rf {folder}/{name}")),
        1 => folder().prop_map(|folder| format!("rm -rf {folder}")),
        1 => (at(), prop::sample::select(&TARGETS[..]))
            .prop_map(|((folder, name), to)| format!("way {folder}/{name}; ln -s {to} {folder}/{name}")),
        2 => (prop::sample::select(&[".gitignore", "src/.gitignore"][..]), rules)
            .prop_map(|(file, rules)| format!("way {file}; printf '%s\\n' {} >{file}", quoted(&rules))),
        1 => (folder(), prop::sample::select(&ATTRIBUTES[..]))
            .prop_map(|(folder, line)| format!("way {folder}/.gitattributes; echo '{line}' >{folder}/.gitattributes")),
        1 => at().prop_map(|(folder, name)| format!("[ -f {folder}/{name} ] && chmod +x {folder}/{name}")),
        1 => folder().prop_map(|folder| format!("way {folder}; echo 'a file' >{folder}")),
    ]
}

fn quoted(rules: &[&str]) -> String {
    let rules: Vec<String> = rules.iter().map(|rule| format!("'{rule}'")).collect();
    rules.join(" ")
}

/// What is in one commit: edits, whether it has ignored files, and whether it lacks the ignore rules.
fn commit() -> impl Strategy<Value = String> {
    let edits = prop::collection::vec(edit(), 1..6);
    (edits, any::<bool>(), prop::bool::weighted(0.3)).prop_map(|(edits, forced, bare)| {
        let mut lines = edits;
        lines.push("git add -A".to_owned());
        lines.extend(forced.then(|| "git add -A -f".to_owned()));
        lines.extend(bare.then(|| "git rm -q --cached --ignore-unmatch .gitignore".to_owned()));
        lines.join("\n")
    })
}

/// What the agent does, as a line of a shell.
fn work() -> impl Strategy<Value = String> {
    let to = || 0..COMMITS;
    prop_oneof![
        to().prop_map(|to| format!("git checkout -q -f c{to}")),
        to().prop_map(|to| format!("git checkout -q -f c{to} -- .")),
        to().prop_map(|to| format!("git reset -q --hard c{to}")),
        (0..3u8, to(), to()).prop_map(|(branch, to, of)| {
            format!("git checkout -q -f -B work{branch} c{to}; git cherry-pick -n c{of} || git cherry-pick --abort || git reset -q --hard")
        }),
        (prop::sample::select(&FOLDERS[..]), 0..3u8).prop_map(|(folder, to)| format!("git mv {folder} moved-{to}")),
        Just("git add -A; git commit -q -m x".to_owned()),
        (1..4u8, 0..3u8).prop_map(|(of, at)| format!("some {of} {at} | xargs -0 -r sed -i 1s/^/x/")),
        (1..4u8, 0..3u8).prop_map(|(of, at)| format!("some {of} {at} | xargs -0 -r rm -f")),
        (0..3u8).prop_map(|to| {
            format!("mkdir -p out-{to}/a/b out-{to}/empty; cp -r $(git ls-files) out-{to}/a/b; chmod 600 out-{to}/a/b/*; ln -s ../x out-{to}/l")
        }),
        Just("git stash -q -u; git stash pop -q".to_owned()),
        Just("git clean -qfd; git checkout -q -f .".to_owned()),
        to().prop_map(|to| format!("git diff --binary HEAD c{to} >../p; git apply --whitespace=nowarn ../p")),
        (prop::sample::select(&FOLDERS[..]), prop::sample::select(&NAMES[..]))
            .prop_map(|(folder, name)| format!("git rm -rqf {folder}/{name}")),
    ]
}

/// A day: the commits, the steps of each message, and the messages that are gone back to.
#[derive(Clone, Debug)]
struct Day {
    commits: Vec<String>,
    messages: Vec<Vec<String>>,
    back: Vec<usize>,
    git: bool,
}

fn days() -> impl Strategy<Value = Day> {
    let commits = prop::collection::vec(commit(), COMMITS);
    let messages = prop::collection::vec(prop::collection::vec(work(), 1..3), 2..6);
    let back = prop::collection::vec(0..6usize, 1..4);
    (commits, messages, back, any::<bool>()).prop_map(|(commits, messages, back, git)| Day {
        commits,
        messages,
        back,
        git,
    })
}

/// What there is at a moment.
#[derive(Clone)]
struct Moment {
    tree: Tree,
    /// The folders with something in them.
    filled: BTreeSet<PathBuf>,
    /// HEAD, the index, and the branches.
    git: [String; 3],
}

struct Playing<'s> {
    world: World,
    script: &'s Script,
}

impl Playing<'_> {
    fn shell(&self, line: &str) {
        self.script.line(line);
        let home = self.world.base().join("home");
        let mut command = Command::new("bash");
        command
            .current_dir(&self.world.root)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LANG", "C.UTF-8");
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "t")
                .env(format!("GIT_{who}_EMAIL"), "t@t");
        }
        // Many a move is refused by git: that is a move, too.
        let text = format!("{BEGIN}{line}");
        _ = command
            .args(["-c", &text])
            .output()
            .expect("bash is there for the tests");
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = self
            .world
            .git_command(arguments)
            .output()
            .expect("git is there for the tests");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Reads what there is now.
    fn moment(&self) -> Moment {
        let mut tree = self.world.tree();
        let filled: BTreeSet<PathBuf> = tree
            .keys()
            .filter_map(|path| path.parent().map(Path::to_owned))
            .collect();
        tree.retain(|path, _| !filled.contains(path));
        for node in tree.values_mut() {
            if matches!(node, Node::Directory(_)) {
                *node = Node::Directory(0);
            }
        }
        let head = self.git(&["symbolic-ref", "-q", "HEAD"]) + &self.git(&["rev-parse", "HEAD"]);
        let branches = self.git(&[
            "for-each-ref",
            "--format=%(refname) %(objectname)",
            "refs/heads",
        ]);
        Moment {
            tree,
            filled,
            git: [head, self.git(&["ls-files", "-s"]), branches],
        }
    }

    /// Checks what a move left.
    fn check(&self, then: &Moment, report: &OperationReport, git: bool) {
        let now = self.moment();
        let all: BTreeSet<&PathBuf> = then.tree.keys().chain(now.tree.keys()).collect();
        let differing = all
            .into_iter()
            .filter(|path| then.tree.get(*path) != now.tree.get(*path));
        // A folder is no difference of its own where something in it is one.
        let is_filled = |path: &PathBuf| now.filled.contains(path) || then.filled.contains(path);
        let is_folder = |node: Option<&Node>| matches!(node, Some(Node::Directory(_)) | None);
        let differing = differing.filter(|path| {
            !(is_filled(path) && is_folder(now.tree.get(*path)) && is_folder(then.tree.get(*path)))
        });
        let is_partial = report.outcome == Outcome::Partial;
        for path in differing {
            let what = || {
                format!(
                    "{}: {:?}, and was {:?}: {report:#?}",
                    path.display(),
                    now.tree.get(path),
                    then.tree.get(path)
                )
            };
            assert!(is_named(report, path), "not named: {}", what());
            assert!(is_partial, "not partial: {}", what());
        }
        if git {
            assert!(
                now.git[0] == then.git[0] || is_partial,
                "HEAD {:?}, and was {:?}: {report:#?}",
                now.git[0],
                then.git[0]
            );
            assert!(
                now.git[1] == then.git[1] || is_partial,
                "index\n{}, and was\n{}: {report:#?}",
                now.git[1],
                then.git[1]
            );
            let is_there = then.git[2]
                .lines()
                .all(|branch| now.git[2].contains(branch));
            assert!(
                is_there || is_partial,
                "branches {:?}, and were {:?}: {report:#?}",
                now.git[2],
                then.git[2]
            );
        }
    }
}

/// Whether a report tells of a path, or of a folder that it is in.
fn is_named(report: &OperationReport, path: &Path) -> bool {
    let differences = report
        .receipt
        .iter()
        .flat_map(|receipt| &receipt.differences);
    let differences = differences.map(|difference| difference.path.path.as_str());
    let files = report
        .files
        .iter()
        .filter(|file| file.result != FileResult::Done);
    let files = files.map(|file| file.path.path.as_str());
    let about = report.remarks.iter().flat_map(|note| &note.about);
    let mut all = differences.chain(files).chain(about.map(String::as_str));
    all.any(|name| path.starts_with(name.trim_end_matches('/')))
}

fn play(day: &Day, script: &Script) {
    set_clock_from_files(0);
    let mut at = Playing {
        world: World::git(&[("a", "1\n")]),
        script,
    };
    for (number, commit) in day.commits.iter().enumerate() {
        at.shell(&format!(
            "{commit}\ngit commit -q --allow-empty -m c{number}; git tag c{number}"
        ));
    }
    at.world.capture();
    let mut moments = Vec::new();
    for (number, works) in day.messages.iter().enumerate() {
        moments.push(at.moment());
        at.script.line(format_args!("# m{number}"));
        at.world.message(&format!("m{number}"));
        for work in works {
            at.world.start();
            await_tick();
            at.shell(work);
            at.world.finish();
        }
    }
    let end = at.moment();
    for back in &day.back {
        let back = back % moments.len();
        at.script.line(format_args!("# back to m{back}"));
        let request = RevertRequest {
            git: day.git,
            ..to(&format!("m{back}"))
        };
        let report = at
            .world
            .try_revert(&request)
            .unwrap_or_else(|error| panic!("{error}: {:?}", error.causes()));
        at.check(&moments[back], &report, day.git);
    }
    at.script.line("# forward");
    let request = RedoRequest {
        all: true,
        git: day.git,
        ..RedoRequest::default()
    };
    let cwd = at.world.cwd.clone();
    let report = at
        .world
        .store
        .redo(&cwd, &request)
        .map(explained)
        .expect("it can be redone");
    at.check(&end, &report, day.git);
    at.world.run_git(&["fsck", "--strict", "--no-dangling"]);
}

/// Days in repositories end there or say where not.
#[test]
fn days_in_repositories_end_well() {
    hold_same(8, days(), play);
}

/// HEAD does not move with what is staged: neither an earlier nor a later move in the same second hides whose that is.
#[test]
fn staged_move_beside_a_reset_goes_back() {
    let commit = "way gen/f; seq 0 9 >gen/f\ngit add -A".to_owned();
    let work = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
    let day = Day {
        commits: vec![commit; COMMITS],
        messages: vec![
            work(&["git reset -q --hard c7"]),
            work(&["git mv gen moved-0"]),
            work(&["git reset -q --hard c0", "git clean -qfd"]),
        ],
        back: vec![1, 0],
        git: true,
    };
    play(&day, &Script::default());
}
