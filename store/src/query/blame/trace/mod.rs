//! Finds the version of a file that wrote each of its lines. Pure: the caller passes the versions in order, and a way
//! to read one.
//!
//! A line that stays from one version to the next keeps its author; a new line is the next version's. An operation
//! writes nothing of its own: the lines that it puts back belong to their first author.
//!
//! ```text
//! version      1: Ann      2: Bob      3: a revert of 2    4: Cid
//! line         a           a           a      (Ann)        a      (Ann)
//!                          b           c      (Ann)        c      (Ann)
//!              c                                           d      (Cid)
//! ```

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::ops::Range;
use std::rc::Rc;

use imara_diff::{Algorithm, Diff, InternedInput};

use crate::fs::threads;

/// How many versions one thread compares in a row. The version before a run is read once more for it.
const RUN: usize = 16;

/// How many older versions are searched for the lines of a merge.
const MOST_ASKED: usize = 64;

/// A state of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileState<C> {
    /// Its content, by a key that is equal for equal bytes, or `None` if the file does not exist or its bytes are
    /// unknown.
    pub content: Option<C>,
    /// What made this version.
    pub origin: Origin,
    /// Whether it was reverted. If an operation later put back the same content, it more likely meant an older version.
    pub is_reverted: bool,
}

/// What made a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// An author wrote it.
    Written,
    /// An operation put back what others wrote; it undid what these versions, by their numbers, had written.
    PutBack(HashSet<usize>),
}

/// The lines that a change replaced, and those that it put there, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Replacement {
    before: Range<usize>,
    after: Range<usize>,
}

/// Returns for each line of the last version the number of the version that wrote it.
///
/// `read` gives the bytes of a content; empty ones stand for what cannot be read.
pub(super) fn trace<C: Copy + Eq + Hash + Send + Sync>(
    versions: &[FileState<C>],
    read: impl Fn(C) -> Vec<u8> + Sync,
) -> Vec<usize> {
    let bytes = |version: &FileState<C>| version.content.map(&read).unwrap_or_default();
    let steps = steps(versions, &bytes);
    let kept = kept(versions);
    let mut tracer = Tracer {
        versions,
        bytes: &bytes,
        owners: HashMap::new(),
        originals: HashMap::new(),
    };
    let mut owners: Vec<usize> = Vec::new();
    for (number, (version, hunks)) in versions.iter().zip(steps).enumerate() {
        owners = match &version.origin {
            Origin::Written => {
                apply(&mut owners, &hunks, number);
                owners
            }
            Origin::PutBack(undone) => tracer.put_back(number, undone, owners, &hunks),
        };
        if let Some(content) = version.content
            && (kept.all || kept.contents.contains(&content))
        {
            tracer.note(number, content, &owners);
        }
    }
    owners
}

/// The versions whose authors a later version asks for.
struct NeededAuthors<C> {
    contents: HashSet<C>,
    /// Whether an operation merged lines of several versions.
    all: bool,
}

fn kept<C: Copy + Eq + Hash>(versions: &[FileState<C>]) -> NeededAuthors<C> {
    let mut known = HashSet::new();
    let mut kept = NeededAuthors {
        contents: HashSet::new(),
        all: false,
    };
    for version in versions {
        let Some(content) = version.content else {
            continue;
        };
        if version.origin != Origin::Written {
            kept.contents.insert(content);
            kept.all |= !known.contains(&content);
        }
        known.insert(content);
    }
    kept
}

struct Tracer<'a, C, B> {
    versions: &'a [FileState<C>],
    bytes: &'a B,
    /// The authors of the lines of these versions.
    owners: HashMap<usize, Rc<[usize]>>,
    /// For each content, the versions that an author wrote, as opposed to those that only an operation made; oldest
    /// first.
    originals: HashMap<C, Vec<usize>>,
}

impl<C: Copy + Eq + Hash, B: Fn(&FileState<C>) -> Vec<u8>> Tracer<'_, C, B> {
    fn note(&mut self, number: usize, content: C, owners: &[usize]) {
        let is_copy = self.versions[number].origin != Origin::Written
            && self.originals.contains_key(&content);
        if !is_copy {
            self.originals.entry(content).or_default().push(number);
            self.owners.insert(number, owners.into());
        }
    }

    /// Returns the authors of the lines that an operation put back.
    fn put_back(
        &self,
        number: usize,
        undone: &HashSet<usize>,
        mut owners: Vec<usize>,
        hunks: &[Replacement],
    ) -> Vec<usize> {
        let version = &self.versions[number];
        let Some(content) = version.content else {
            return Vec::new();
        };
        let originals = self.originals.get(&content).map_or(&[][..], Vec::as_slice);
        let stands = |original: &&usize| !undone.contains(original);
        let in_effect = originals
            .iter()
            .rfind(|original| stands(original) && !self.versions[**original].is_reverted);
        let same = in_effect.or_else(|| originals.iter().rfind(stands));
        if let Some(owners) = same.and_then(|same| self.owners.get(same)) {
            return owners.to_vec();
        }
        apply(&mut owners, hunks, number);
        let stayed = owners.clone();
        for owner in &mut owners {
            if undone.contains(owner) {
                *owner = number;
            }
        }
        self.resolve(number, undone, &mut owners);
        // A line that should have been undone and is in no older version was not undone: it keeps its author. So does a
        // line that was brought back to a file that could not be deleted.
        for (owner, stayed) in owners.iter_mut().zip(stayed) {
            if *owner == number {
                *owner = stayed;
            }
        }
        self.resolve(number, &HashSet::new(), &mut owners);
        owners
    }

    /// Asks older versions, newest first, for the authors of the lines that have none yet.
    fn resolve(&self, number: usize, undone: &HashSet<usize>, owners: &mut [usize]) {
        if !owners.contains(&number) {
            return;
        }
        let merged = (self.bytes)(&self.versions[number]);
        let asked = (0..number).rev().filter(|older| !undone.contains(older));
        for older in asked
            .filter(|older| self.owners.contains_key(older))
            .take(MOST_ASKED)
        {
            let known = &self.owners[&older];
            let hunks = hunks(&(self.bytes)(&self.versions[older]), &merged);
            for (line, before) in unchanged(&hunks, known.len()) {
                let owner = known[before];
                if owners.get(line) == Some(&number) && !undone.contains(&owner) {
                    owners[line] = owner;
                }
            }
            if !owners.contains(&number) {
                return;
            }
        }
    }
}

/// Returns how each version differs from the one before it. The first differs from nothing.
fn steps<C: Copy + Eq + Send + Sync>(
    versions: &[FileState<C>],
    bytes: &(impl Fn(&FileState<C>) -> Vec<u8> + Sync),
) -> Vec<Vec<Replacement>> {
    let runs: Vec<Range<usize>> = (0..versions.len())
        .step_by(RUN)
        .map(|start| start..versions.len().min(start + RUN))
        .collect();
    let threads = if versions.len() <= 2 * RUN {
        1
    } else {
        threads::count()
    };
    let steps = threads::map_on(threads, 1, &runs, |run| {
        steps_of_run(versions, run.clone(), bytes)
    });
    steps.into_iter().flatten().collect()
}

/// Returns the steps of a run of versions. Each of them is read once, and so is the version before the run.
fn steps_of_run<C: Copy + Eq>(
    versions: &[FileState<C>],
    run: Range<usize>,
    bytes: &impl Fn(&FileState<C>) -> Vec<u8>,
) -> Vec<Vec<Replacement>> {
    let mut before = match run.start.checked_sub(1) {
        Some(before) => bytes(&versions[before]),
        None => Vec::new(),
    };
    let mut steps = Vec::with_capacity(run.len());
    for number in run {
        if number > 0 && versions[number].content == versions[number - 1].content {
            steps.push(Vec::new());
            continue;
        }
        let after = bytes(&versions[number]);
        steps.push(hunks(&before, &after));
        before = after;
    }
    steps
}

/// Gives the lines of hunks to a version.
fn apply(owners: &mut Vec<usize>, hunks: &[Replacement], number: usize) {
    // From the end, so that the numbers of the lines before it still hold.
    for hunk in hunks.iter().rev() {
        let end = hunk.before.end.min(owners.len());
        let start = hunk.before.start.min(end);
        owners.splice(start..end, std::iter::repeat_n(number, hunk.after.len()));
    }
}

/// Returns the lines outside of the hunks, by their numbers after and before; `before` is how many lines there were.
fn unchanged(hunks: &[Replacement], before: usize) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let (mut old, mut new) = (0, 0);
    for hunk in hunks {
        pairs.extend((new..hunk.after.start).zip(old..hunk.before.start));
        (old, new) = (hunk.before.end, hunk.after.end);
    }
    pairs.extend((new..).zip(old..before));
    pairs
}

/// Returns the lines in which two contents differ.
fn hunks(before: &[u8], after: &[u8]) -> Vec<Replacement> {
    if before == after {
        return Vec::new();
    }
    let head = common_head(before, after);
    let (before, after) = (&before[head.bytes..], &after[head.bytes..]);
    let tail = common_tail(before, after);
    let (before, after) = (&before[..before.len() - tail], &after[..after.len() - tail]);
    let line = |number: u32| head.lines + number as usize;
    let input = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    diff.hunks()
        .map(|hunk| Replacement {
            before: line(hunk.before.start)..line(hunk.before.end),
            after: line(hunk.after.start)..line(hunk.after.end),
        })
        .collect()
}

/// The whole lines that two contents have in common at their start.
struct Head {
    bytes: usize,
    lines: usize,
}

/// How many bytes are compared at a time. That is much faster than byte by byte.
const STRIDE: usize = 256;

fn common_head(before: &[u8], after: &[u8]) -> Head {
    let strides = before.chunks_exact(STRIDE).zip(after.chunks_exact(STRIDE));
    let equal = strides.take_while(|(one, other)| one == other).count() * STRIDE;
    let rest = before[equal..].iter().zip(&after[equal..]);
    let equal = equal + rest.take_while(|(one, other)| one == other).count();
    let bytes = before[..equal]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    let lines = line_feeds(&before[..bytes]);
    Head { bytes, lines }
}

/// Counts line feeds. The inner counter is one byte, so that the processor counts many at once.
fn line_feeds(bytes: &[u8]) -> usize {
    let in_few = |few: &[u8]| {
        let count = |sum: u8, byte: &u8| sum.wrapping_add(u8::from(*byte == b'\n'));
        usize::from(few.iter().fold(0, count))
    };
    bytes.chunks(usize::from(u8::MAX)).map(in_few).sum()
}

/// Returns the length of the whole lines that two contents have in common at their end.
fn common_tail(before: &[u8], after: &[u8]) -> usize {
    let strides = before
        .rchunks_exact(STRIDE)
        .zip(after.rchunks_exact(STRIDE));
    let equal = strides.take_while(|(one, other)| one == other).count() * STRIDE;
    let rest = |bytes: &[u8]| bytes.len() - equal;
    let ends = before[..rest(before)]
        .iter()
        .rev()
        .zip(after[..rest(after)].iter().rev());
    let equal = equal + ends.take_while(|(one, other)| one == other).count();
    // A common line begins behind a line feed that both have, or at the start of both.
    let tail = &before[before.len() - equal..];
    if equal == before.len() && equal == after.len() {
        return equal;
    }
    tail.iter()
        .position(|byte| *byte == b'\n')
        .map_or(0, |end| equal - end - 1)
}
