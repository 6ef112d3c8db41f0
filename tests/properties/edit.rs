//! What anybody does to a workspace: every kind of entry over every kind, in few places so that they meet.

use std::fs;
use std::path::Path;

use ckpt_schema::EventKind;
use proptest::prelude::*;

use crate::world::World;

const PATHS: [&str; 9] = ["a", "b", "c", "d", "d/x", "d/y", "d/e/z", "f", "empty"];

type At = &'static str;

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
pub fn begin(world: &mut World) {
    for session in ["s1", "s2"] {
        let event = world.event(EventKind::SessionStart, session);
        world.send(&event);
    }
    for at in ["a", "b", "d/x", "d/e/z"] {
        Edit::Write(at, Vec::new()).apply(world);
    }
}

pub fn apply_all(edits: &[Edit], world: &World) {
    edits.iter().for_each(|edit| edit.apply(world));
}

impl Edit {
    fn apply(&self, world: &World) {
        match self {
            Self::Write(at, changed) => {
                make_way(world, at);
                world.write(at, text(changed));
            }
            Self::Line(at, line, to) => {
                if is_file(&world.path(at)) {
                    let old = world.read(at);
                    let lines = old.lines().enumerate();
                    let new = lines
                        .map(|(number, old)| if number == *line { line_of(*line, *to) } else { format!("{old}\n") });
                    world.write(at, new.collect::<String>());
                }
            }
            Self::Chmod(at, mode) => {
                if is_file(&world.path(at)) {
                    world.chmod(at, *mode);
                }
            }
            Self::Link(at, to) => {
                make_way(world, at);
                world.link(at, to);
            }
            Self::Directory(at) => {
                if !world.path(at).is_dir() {
                    make_way(world, at);
                    world.make_directory(at);
                }
            }
            Self::Delete(at) => remove(&world.path(at)),
            Self::Rename(from, to) => {
                let inside = to.starts_with(from) || from.starts_with(to);
                if !inside && world.exists(from) {
                    make_way(world, to);
                    fs::create_dir_all(world.path(to).parent().expect("below the root")).expect("writable");
                    // What was in the way may have been what was to come.
                    let _ = fs::rename(world.path(from), world.path(to));
                }
            }
        }
    }
}

fn text(changed: &[(usize, u8)]) -> String {
    let to = |line: usize| changed.iter().find(|(at, _)| *at == line).map_or(0, |(_, to)| *to);
    (0..9).map(|line| line_of(line, to(line))).collect()
}

fn line_of(line: usize, to: u8) -> String {
    format!("line {line}{}\n", ["", " changed", " changed again"][usize::from(to)])
}

fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_file())
}

/// Nothing stands at a path or, if it is no directory, above it.
fn make_way(world: &World, at: &str) {
    for (end, _) in at.match_indices('/') {
        let above = world.path(&at[..end]);
        if above.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
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
