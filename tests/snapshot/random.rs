//! Random workspaces, again and again the tree that git makes of them: names, kinds, modes, links, and ignore rules with
//! negation at any depth.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use ckpt_store::model::path::WorkspacePath;
use ckpt_store::snapshot::Request;
use proptest::prelude::*;

use testing::snapshot::CapturedWorkspace;

/// What happens to a workspace.
#[derive(Clone, Debug)]
pub enum Act {
    Write(Vec<u8>, Vec<u8>),
    Mode(Vec<u8>, u32),
    Link(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
    Move(Vec<u8>, Vec<u8>),
    /// An ignore file in a directory.
    Ignore(Vec<u8>, Vec<String>),
    /// The same for the repository alone.
    Exclude(Vec<String>),
    /// Tracks a path, ignored or not.
    Track(Vec<u8>),
    Untrack(Vec<u8>),
}

/// Few names, so that paths meet; some of them odd.
fn name() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => "[ab]".prop_map(String::into_bytes),
        4 => "[ab]\\.[ox]".prop_map(String::into_bytes),
        1 => Just(b"-rf".to_vec()),
        1 => Just(b" sp ace ".to_vec()),
        1 => Just(b"\xff\xfe".to_vec()),
        1 => Just("é".as_bytes().to_vec()),
        1 => Just(b"new\nline".to_vec()),
        1 => Just(b"[a]*?\\".to_vec()),
        1 => Just(b"#!x".to_vec()),
    ]
}

fn path() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(name(), 1..4).prop_map(|names| names.join(&b'/'))
}

fn rule() -> impl Strategy<Value = String> {
    let body = prop_oneof![
        4 => "[ab*?](\\.[ox*])?",
        2 => "[ab*]/[ab*](\\.[ox])?",
        1 => "\\*\\*/[ab]",
        1 => "[ab]/\\*\\*",
        1 => "\\[ab\\](\\.o)?",
        1 => Just("*".to_owned()),
        1 => Just("é".to_owned()),
    ];
    (
        proptest::bool::weighted(0.3),
        proptest::bool::weighted(0.3),
        body,
        proptest::bool::weighted(0.3),
    )
        .prop_map(|(is_negated, is_anchored, body, is_directory)| {
            let (before, slash) = (
                if is_negated { "!" } else { "" },
                if is_anchored { "/" } else { "" },
            );
            format!(
                "{before}{slash}{body}{}",
                if is_directory { "/" } else { "" }
            )
        })
}

fn rules() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(rule(), 0..5)
}

pub fn act() -> impl Strategy<Value = Act> {
    let directory = prop_oneof![2 => Just(Vec::new()), 3 => path()];
    let mode = prop_oneof![
        Just(0o644),
        Just(0o755),
        Just(0o600),
        Just(0o444),
        Just(0o711)
    ];
    prop_oneof![
        8 => (path(), proptest::collection::vec(any::<u8>(), 0..40)).prop_map(|(path, bytes)| Act::Write(path, bytes)),
        2 => (path(), mode).prop_map(|(path, mode)| Act::Mode(path, mode)),
        2 => (path(), path()).prop_map(|(path, target)| Act::Link(path, target)),
        3 => path().prop_map(Act::Remove),
        2 => (path(), path()).prop_map(|(from, to)| Act::Move(from, to)),
        3 => (directory, rules()).prop_map(|(directory, rules)| Act::Ignore(directory, rules)),
        1 => rules().prop_map(Act::Exclude),
        1 => path().prop_map(Act::Track),
        1 => path().prop_map(Act::Untrack),
    ]
}

fn at(world: &CapturedWorkspace, path: &[u8]) -> PathBuf {
    world
        .root
        .join(Path::new(std::ffi::OsStr::from_bytes(path)))
}

/// Does it, unless the file system refuses (a file where a directory would have to be).
pub fn play(world: &CapturedWorkspace, act: &Act) -> Option<()> {
    let prepared = |path: &[u8]| {
        let path = at(world, path);
        fs::create_dir_all(path.parent()?).ok()?;
        Some(path)
    };
    match act {
        Act::Write(path, bytes) => fs::write(prepared(path)?, bytes).ok(),
        Act::Mode(path, mode) => {
            let path = at(world, path);
            let is_file = path.symlink_metadata().ok()?.is_file();
            is_file.then(|| fs::set_permissions(path, fs::Permissions::from_mode(*mode)).ok())?
        }
        Act::Link(path, target) => {
            symlink(std::ffi::OsStr::from_bytes(target), prepared(path)?).ok()
        }
        Act::Remove(path) => Command::new("rm")
            .arg("-rf")
            .arg("--")
            .arg(at(world, path))
            .status()
            .ok()
            .map(drop),
        Act::Move(from, to) => fs::rename(at(world, from), prepared(to)?).ok(),
        Act::Ignore(directory, rules) => {
            let file = [&directory[..], b".gitignore"].join(if directory.is_empty() {
                &b""[..]
            } else {
                &b"/"[..]
            });
            fs::write(prepared(&file)?, rules.join("\n")).ok()
        }
        Act::Exclude(rules) => {
            fs::write(world.root.join(".git/info/exclude"), rules.join("\n")).ok()
        }
        Act::Track(path) => index(world, &["add", "-f", "--"], path),
        Act::Untrack(path) => index(
            world,
            &["rm", "-r", "-q", "--cached", "--ignore-unmatch", "--"],
            path,
        ),
    }
}

fn index(world: &CapturedWorkspace, arguments: &[&str], path: &[u8]) -> Option<()> {
    let mut git = world.git_command(&world.root);
    git.env("GIT_LITERAL_PATHSPECS", "1")
        .args(arguments)
        .arg(std::ffi::OsStr::from_bytes(path))
        .output()
        .ok()
        .map(drop)
}

/// The paths that it touches.
fn paths(act: &Act) -> Vec<Vec<u8>> {
    match act {
        Act::Write(path, _) | Act::Mode(path, _) | Act::Link(path, _) | Act::Remove(path) => {
            vec![path.clone()]
        }
        Act::Track(path) | Act::Untrack(path) => vec![path.clone()],
        Act::Move(from, to) => vec![from.clone(), to.clone()],
        Act::Ignore(directory, _) if directory.is_empty() => vec![b".gitignore".to_vec()],
        Act::Ignore(directory, _) => vec![[&directory[..], b"/.gitignore"].concat()],
        Act::Exclude(_) => Vec::new(),
    }
}

pub fn cases() -> u32 {
    std::env::var("CKPT_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(16)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// A random workspace is the tree that git makes of it.
    #[test]
    fn random_workspace_is_gits_tree(
        rounds in proptest::collection::vec(proptest::collection::vec(act(), 1..16), 1..5)
    ) {
        let world = CapturedWorkspace::git();
        for acts in rounds {
            for act in &acts {
                let _ = play(&world, act);
            }
            let taken = world.take();
            prop_assert_eq!(taken.snapshot.tree.to_string(), world.git_tree(), "after {:?}", acts);
            prop_assert_eq!(&world.take(), &taken, "and again");
        }
        world.our_git(&["fsck", "--full", "--strict", "--no-dangling"]);
    }

    /// A look around what was touched sees what a look at everything does.
    #[test]
    fn narrow_look_equals_a_full_one(
        rounds in proptest::collection::vec(proptest::collection::vec(act(), 1..8), 1..8)
    ) {
        let world = CapturedWorkspace::git();
        for acts in rounds {
            // What is written through a link lands elsewhere.
            let acts: Vec<Act> = acts.into_iter().filter(|act| !matches!(act, Act::Link(..))).collect();
            for act in &acts {
                let _ = play(&world, act);
            }
            let touched = acts.iter().flat_map(paths).filter_map(|path| WorkspacePath::new(path).ok()).collect();
            let around = Request { only_around: Some(&touched), ..world.request() };
            let taken = world.snapshots.take(&around).expect("the workspace can be captured");
            prop_assert_eq!(taken.snapshot.tree.to_string(), world.git_tree(), "after {:?}", acts);
            prop_assert_eq!(&world.take(), &taken, "and all of it");
        }
    }
}
