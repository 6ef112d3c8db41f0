//! Which version wrote a line: case by case, and against a model that replays every change.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

fn written(content: &'static str) -> FileState<&'static str> {
    FileState {
        content: Some(content),
        origin: Origin::Written,
        is_reverted: false,
    }
}

fn put_back(content: &'static str, undone: &[usize]) -> FileState<&'static str> {
    FileState {
        origin: Origin::PutBack(undone.iter().copied().collect()),
        ..written(content)
    }
}

fn reverted(version: FileState<&'static str>) -> FileState<&'static str> {
    FileState {
        is_reverted: true,
        ..version
    }
}

fn traced(versions: &[FileState<&'static str>]) -> Vec<usize> {
    trace(versions, |content| content.as_bytes().to_vec())
}

#[test]
fn a_line_that_stays_keeps_its_author() {
    let versions = [
        written("a\nc\n"),
        written("a\nb\nc\n"),
        written("a\nb\nd\n"),
    ];
    assert_eq!(traced(&versions), [0, 1, 2], "each line has its own");
    assert_eq!(traced(&[]), Vec::<usize>::new(), "no history, no lines");
    assert_eq!(traced(&[written("")]), Vec::<usize>::new(), "an empty file");
    let ends = [written("a\nb"), written("a\nb\n")];
    assert_eq!(
        traced(&ends),
        [0, 1],
        "a final line feed makes another line"
    );
}

/// What an operation puts back belongs to who wrote it first.
#[test]
fn restored_lines_belong_to_their_writer() {
    let versions = [
        written("a\nb\n"),
        reverted(written("x\n")),
        put_back("a\nb\n", &[1]),
        written("a\nb\nc\n"),
    ];
    assert_eq!(traced(&versions), [0, 0, 3], "nothing is the revert's");
}

/// A redo gives the lines back to who wrote them.
#[test]
fn redo_gives_lines_back_to_their_writer() {
    let versions = [
        written("a\n"),
        written("b\n"),
        written("a\n"),
        put_back("b\n", &[2]),
        put_back("a\n", &[1, 2]),
        put_back("b\n", &[2]),
        put_back("a\n", &[]),
    ];
    for (length, author, why) in [
        (4, 1, "one step back"),
        (5, 0, "two: the same text again is of who wrote it first"),
        (6, 1, "forward"),
        (7, 2, "and forward again: of who wrote it again"),
    ] {
        assert_eq!(traced(&versions[..length]), [author], "{why}");
    }
}

/// A merged revert names nobody whose work it undid.
#[test]
fn merged_revert_names_no_undone_author() {
    let versions = [
        written("a\nb\nc\n"),
        reverted(written("a\nB\nc\n")),
        written("a\nB\nc\nmine\n"),
        put_back("a\nb\nc\nmine\n", &[1]),
    ];
    assert_eq!(
        traced(&versions),
        [0, 0, 0, 2],
        "the edit that came later stays whose it is"
    );
}

/// A line that could not be undone is still whose it was.
#[test]
fn line_that_stayed_keeps_its_author() {
    let versions = [
        written("a\n"),
        written("a\nb\n"),
        written("a\nb\nc\n"),
        put_back("a\nb\n", &[2]),
        written("a\nb\nc\nmine\n"),
        put_back("a\nb\nmine\n", &[1, 2]),
    ];
    assert_eq!(traced(&versions), [0, 1, 4], "it is there");
}

/// A line that is brought back to a file that could not go is whose it was.
#[test]
fn restored_line_of_a_kept_file_keeps_author() {
    let versions = [
        written("a\nb\n"),
        written("a\n"),
        written("a\nmine\n"),
        put_back("a\nb\nmine\n", &[0, 1]),
    ];
    assert_eq!(
        traced(&versions),
        [0, 0, 2],
        "although the whole was to be undone"
    );
}

/// A file that is deleted and written again is of who wrote it again.
#[test]
fn rewritten_file_belongs_to_its_second_writer() {
    let gone = FileState {
        content: None,
        ..written("")
    };
    let versions = [written("a\n"), gone.clone(), written("a\n")];
    assert_eq!(traced(&versions), [2], "nobody put it back");
    let versions = [written("a\n"), reverted(gone), put_back("a\n", &[1])];
    assert_eq!(traced(&versions), [0], "a revert did");
}

/// Long histories are compared side by side and give the same.
#[test]
fn long_histories_compare_equally_in_parallel() {
    let contents: Vec<String> = (0..5 * RUN)
        .map(|last| (0..=last).map(|line| format!("{line}\n")).collect())
        .collect();
    let versions: Vec<FileState<usize>> = (0..contents.len())
        .map(|content| FileState {
            content: Some(content),
            origin: Origin::Written,
            is_reverted: false,
        })
        .collect();
    let owners = trace(&versions, |content| contents[content].clone().into_bytes());
    assert_eq!(owners, (0..5 * RUN).collect::<Vec<_>>(), "a line each");
}

/// A line of the model: it exists while its author is in effect and nobody in effect removed it.
struct Line {
    author: usize,
    removed_by: BTreeSet<usize>,
}

#[derive(Clone, Debug)]
enum Event {
    Edit {
        at: Index,
        removed: usize,
        added: usize,
    },
    Undo(Index),
    Redo(Index),
    Delete,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (any::<Index>(), 0..4_usize, 0..5_usize)
            .prop_map(|(at, removed, added)| Event::Edit { at, removed, added }),
        2 => any::<Index>().prop_map(Event::Undo),
        1 => any::<Index>().prop_map(Event::Redo),
        1 => Just(Event::Delete),
    ]
}

/// Every line that ever was, in the order in which they stand, and the edits that are undone.
#[derive(Default)]
struct Model {
    lines: Vec<(usize, Line)>,
    edits: Vec<usize>,
    undone: BTreeSet<usize>,
    contents: Vec<Vec<usize>>,
    versions: Vec<FileState<usize>>,
}

impl Model {
    fn there(&self) -> Vec<usize> {
        let is_there = |line: &Line| {
            !self.undone.contains(&line.author) && line.removed_by.is_subset(&self.undone)
        };
        (0..self.lines.len())
            .filter(|place| is_there(&self.lines[*place].1))
            .collect()
    }

    fn play(&mut self, event: &Event) {
        let number = self.versions.len();
        let origin = match event {
            Event::Edit { at, removed, added } => {
                let there = self.there();
                let at = at.index(there.len() + 1);
                for place in there.iter().skip(at).take(*removed) {
                    self.lines[*place].1.removed_by.insert(number);
                }
                let place = there.get(at).copied().unwrap_or(self.lines.len());
                let first = self.lines.len();
                let new = (first..first + added).map(|text| {
                    let removed_by = BTreeSet::new();
                    (
                        text,
                        Line {
                            author: number,
                            removed_by,
                        },
                    )
                });
                self.lines.splice(place..place, new.collect::<Vec<_>>());
                self.edits.push(number);
                Origin::Written
            }
            Event::Delete => {
                for place in self.there() {
                    self.lines[place].1.removed_by.insert(number);
                }
                self.edits.push(number);
                Origin::Written
            }
            Event::Undo(which) | Event::Redo(which) => {
                if !self.edits.is_empty() {
                    let edit = *which.get(&self.edits);
                    if matches!(event, Event::Undo(_)) {
                        self.undone.insert(edit);
                    } else {
                        self.undone.remove(&edit);
                    }
                }
                Origin::PutBack(self.undone.iter().copied().collect())
            }
        };
        let lines: Vec<usize> = self
            .there()
            .iter()
            .map(|place| self.lines[*place].0)
            .collect();
        let known = self.contents.iter().position(|content| *content == lines);
        let content = known.unwrap_or(self.contents.len());
        if known.is_none() {
            self.contents.push(lines);
        }
        self.versions.push(FileState {
            content: Some(content),
            origin,
            is_reverted: false,
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn it_equals_a_model_that_replays_every_change(events in prop::collection::vec(event(), 1..40)) {
        let mut model = Model::default();
        for event in &events {
            model.play(event);
        }
        for version in 0..model.versions.len() {
            model.versions[version].is_reverted = model.undone.contains(&version);
        }
        let text = |line: &usize| format!("line {line}\n");
        let owners = trace(&model.versions, |content| {
            model.contents[content].iter().map(text).collect::<String>().into_bytes()
        });
        let expected: Vec<usize> = model.there().iter().map(|place| model.lines[*place].1.author).collect();
        prop_assert_eq!(owners, expected);
    }
}
