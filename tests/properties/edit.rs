//! What anybody does to a workspace: every kind of entry over every kind, in few places so that they meet.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ckpt_schema::EventKind;
use proptest::prelude::*;

use crate::script::{Script, word};
use testing::scenario::World;
use testing::tree::Tree;

/// The last two are ignored.
const PATHS: [At; 12] = [
    At(b"a"),
    At(b"b"),
    At(b"c"),
    At(b"d"),
    At(b"d/x"),
    At(b"d/y"),
    At(b"d/e/z"),
    At(b"f"),
    At(b"empty"),
    At(b"\xff \"no\ntext'"),
    At(b"hidden/x"),
    At(b"i.log"),
];

const IGNORED: [&str; 2] = ["hidden", "i.log"];

/// A path, of any bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct At(&'static [u8]);

impl AsRef<Path> for At {
    fn as_ref(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.0))
    }
}

impl fmt::Debug for At {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.word())
    }
}

impl At {
    /// Returns it as a word of a script.
    pub fn word(self) -> String {
        word(self.0)
    }
}

/// Returns what of a tree is not ignored, and what is.
pub fn apart(tree: &Tree) -> (Tree, Tree) {
    let is_ignored = |path: &Path| IGNORED.iter().any(|ignored| path.starts_with(ignored));
    tree.clone()
        .into_iter()
        .partition(|(path, _)| !is_ignored(path))
}

/// One edit. What is in its way goes; what it needs and is not there makes it nothing.
#[derive(Clone, Debug)]
pub enum Edit {
    /// A file with the common text, with some of its lines changed.
    Write(At, Vec<(usize, u8)>),
    /// One line of a file.
    Line(At, usize, u8),
    Chmod(At, u32),
    Link(At, At),
    Directory(At),
    Delete(At),
    Rename(At, At),
}

pub fn at() -> impl Strategy<Value = At> {
    prop::sample::select(&PATHS[..])
}

fn edit() -> impl Strategy<Value = Edit> {
    let lines = prop::collection::vec((0..9usize, 0..3u8), 0..3);
    prop_oneof![
        4 => (at(), lines).prop_map(|(at, lines)| Edit::Write(at, lines)),
        6 => (at(), 0..9usize, 0..3u8).prop_map(|(at, line, to)| Edit::Line(at, line, to)),
        2 => (at(), prop::sample::select(vec![0o600, 0o644, 0o755])).prop_map(|(at, mode)| Edit::Chmod(at, mode)),
        1 => (at(), at()).prop_map(|(at, to)| Edit::Link(at, to)),
        1 => at().prop_map(Edit::Directory),
        2 => at().prop_map(Edit::Delete),
        1 => (at(), at()).prop_map(|(from, to)| Edit::Rename(from, to)),
    ]
}

pub fn edits() -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec(edit(), 0..4)
}

/// The workspace that every history begins with, and sessions that are known in it.
pub fn begin(world: &mut World, is_git: bool, script: &Script) {
    let ignored: String = IGNORED.iter().map(|path| format!("/{path}\n")).collect();
    world.write(".gitignore", &ignored);
    script.line(format_args!(
        "printf %s {} >.gitignore",
        word(ignored.as_bytes())
    ));
    let edits = [b"a".as_slice(), b"b", b"d/x", b"d/e/z", b"hidden/x"]
        .map(|at| Edit::Write(At(at), Vec::new()));
    apply_all(&edits, world, script);
    if is_git {
        for arguments in [
            &["init", "-q", "-b", "main"][..],
            &["add", "-A"],
            &["commit", "-q", "-m", "first"],
        ] {
            run_git(arguments, world, script);
        }
    }
    for session in ["s1", "s2"] {
        let event = world.event(EventKind::SessionStart, session);
        world.send(&event);
        script.line(format_args!("send session_start {session}"));
    }
}

pub fn run_git(arguments: &[&str], world: &World, script: &Script) {
    script.line(format_args!("its_git {}", arguments.join(" ")));
    world.run_git(arguments);
}

pub fn apply_all(edits: &[Edit], world: &World, script: &Script) {
    for edit in edits {
        script.line(edit.to_shell());
        edit.apply(world);
    }
}

/// What anybody does to a repository.
#[derive(Clone, Copy, Debug)]
pub enum GitEdit {
    Stage,
    Commit,
    Branch,
}

pub fn git_edit() -> impl Strategy<Value = GitEdit> {
    prop::sample::select(vec![GitEdit::Stage, GitEdit::Commit, GitEdit::Branch])
}

impl GitEdit {
    /// `number` makes another branch of each.
    pub fn apply(self, number: usize, world: &World, script: &Script) {
        match self {
            Self::Stage => run_git(&["add", "-A"], world, script),
            Self::Commit => {
                run_git(&["add", "-A"], world, script);
                run_git(
                    &["commit", "-q", "--allow-empty", "-m", "more"],
                    world,
                    script,
                );
            }
            Self::Branch => run_git(
                &["checkout", "-q", "-b", &format!("branch-{number}")],
                world,
                script,
            ),
        }
    }
}

impl Edit {
    /// The same as a line of a script; its functions are `Script`'s.
    fn to_shell(&self) -> String {
        match self {
            Self::Write(at, changed) => {
                format!(
                    "way {0}; printf %s {1} >{0}",
                    at.word(),
                    word(text(changed).as_bytes())
                )
            }
            Self::Line(at, line, to) => {
                let new = line_of(*line, *to);
                let new = new.trim_end();
                format!(
                    "is_file {0} && sed -i '{1}s/.*/{new}/' {0}",
                    at.word(),
                    line + 1
                )
            }
            Self::Chmod(at, mode) => format!("is_file {0} && chmod {mode:o} {0}", at.word()),
            Self::Link(at, to) => format!("way {0}; ln -s {1} {0}", at.word(), to.word()),
            Self::Directory(at) => format!("[ -d {0} ] || {{ way {0}; mkdir -p {0}; }}", at.word()),
            // A path through a link to itself leads nowhere, and cannot be removed.
            Self::Delete(at) => format!("rm -rf {} 2>/dev/null", at.word()),
            Self::Rename(from, to) if is_inside(*from, *to) => {
                format!(": {} to {}", from.word(), to.word())
            }
            Self::Rename(from, to) => {
                let (from, to) = (from.word(), to.word());
                format!(
                    "{{ [ -e {from} ] || [ -L {from} ]; }} && {{ way {to}; mv -T {from} {to} 2>/dev/null; }}"
                )
            }
        }
    }

    fn apply(&self, world: &World) {
        match self {
            Self::Write(at, changed) => {
                make_way(world, *at);
                world.write(at, text(changed));
            }
            Self::Line(at, line, to) => {
                if is_file(&world.path(at)) {
                    let old = world.read(at);
                    let lines = old.lines().enumerate();
                    let new = lines.map(|(number, old)| {
                        if number == *line {
                            line_of(*line, *to)
                        } else {
                            format!("{old}\n")
                        }
                    });
                    world.write(at, new.collect::<String>());
                }
            }
            Self::Chmod(at, mode) => {
                if is_file(&world.path(at)) {
                    world.chmod(at, *mode);
                }
            }
            Self::Link(at, to) => {
                make_way(world, *at);
                world.link(at, to);
            }
            Self::Directory(at) => {
                if !world.path(at).is_dir() {
                    make_way(world, *at);
                    world.make_directory(at);
                }
            }
            Self::Delete(at) => remove(&world.path(at)),
            Self::Rename(from, to) => {
                if !is_inside(*from, *to) && world.exists(from) {
                    make_way(world, *to);
                    fs::create_dir_all(world.path(to).parent().expect("below the root"))
                        .expect("writable");
                    // What was in the way may have been what was to come.
                    let _ = fs::rename(world.path(from), world.path(to));
                }
            }
        }
    }
}

fn text(changed: &[(usize, u8)]) -> String {
    let to = |line: usize| {
        changed
            .iter()
            .find(|(at, _)| *at == line)
            .map_or(0, |(_, to)| *to)
    };
    (0..9).map(|line| line_of(line, to(line))).collect()
}

fn line_of(line: usize, to: u8) -> String {
    format!(
        "line {line}{}\n",
        ["", " changed", " changed again"][usize::from(to)]
    )
}

fn is_file(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|metadata| metadata.is_file())
}

fn is_inside(from: At, to: At) -> bool {
    to.0.starts_with(from.0) || from.0.starts_with(to.0)
}

/// Nothing stands at a path or, if it is no directory, above it.
fn make_way(world: &World, at: At) {
    let at = at.as_ref();
    for above in at
        .ancestors()
        .skip(1)
        .filter(|above| !above.as_os_str().is_empty())
    {
        let above = world.path(above);
        if above
            .symlink_metadata()
            .is_ok_and(|metadata| !metadata.is_dir())
        {
            remove(&above);
        }
    }
    remove(&world.path(at));
}

fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path).expect("writable"),
        Ok(_) => fs::remove_file(path).expect("writable"),
        Err(_) => {}
    }
}
