//! Which version of a file wrote each of its lines. Pure: it is given the versions in their order, and a way to read one.
//!
//! A line that stays from one version to the next keeps its author, a new one is the next version's. What an operation puts back
//! is nobody's work: its lines belong to who wrote them first.
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

/// How many versions one thread compares in a row. The last of them is read again for the next run.
const RUN: usize = 16;

/// How many older versions are searched for the lines of a merge.
const MOST_ASKED: usize = 64;

/// A state of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileState<C> {
    /// Its content, by a key that is equal for equal bytes, or `None` if the file does not exist or its bytes are
    /// unknown.
    pub content: Option<C>,
    /// How it came about.
    pub origin: Origin,
    /// Whether it is reverted: if an operation put back the same content, an older version is the more likely source.
    pub is_reverted: bool,
}

/// How a version came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Somebody wrote it.
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

/// Of which versions the authors are asked for later.
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
    /// The authors of the lines of versions that are asked for later.
    owners: HashMap<usize, Rc<[usize]>>,
    /// The versions in which somebody, and no operation alone, made it this content; oldest first.
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

    /// Returns the authors of what an operation put back.
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
        // A line that was to be undone but is in no older version could not be undone: it stays with its author. So
        // does one that was brought back to a file that could not be deleted.
        for (owner, stayed) in owners.iter_mut().zip(stayed) {
            if *owner == number {
                *owner = stayed;
            }
        }
        self.resolve(number, &HashSet::new(), &mut owners);
        owners
    }

    /// Asks older versions, newest first, who wrote the lines that are nobody's yet.
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

/// Returns for each version in what it differs from the one before it; the first one, from nothing.
fn steps<C: Copy + Eq + Send + Sync>(
    versions: &[FileState<C>],
    bytes: &(impl Fn(&FileState<C>) -> Vec<u8> + Sync),
) -> Vec<Vec<Replacement>> {
    let starts: Vec<usize> = (0..versions.len()).step_by(RUN).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = |_| {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some(start) = starts.get(at).copied() else {
                return done;
            };
            let end = versions.len().min(start + RUN);
            let mut before = start
                .checked_sub(1)
                .map(|before| bytes(&versions[before]))
                .unwrap_or_default();
            let mut steps = Vec::with_capacity(end - start);
            for number in start..end {
                if number > 0 && versions[number].content == versions[number - 1].content {
                    steps.push(Vec::new());
                    continue;
                }
                let after = bytes(&versions[number]);
                steps.push(hunks(&before, &after));
                before = after;
            }
            done.push((start, steps));
        }
    };
    let number = if versions.len() <= 2 * RUN {
        1
    } else {
        threads::count()
    };
    let mut done: Vec<_> = threads::run(number, work).into_iter().flatten().collect();
    done.sort_unstable_by_key(|(start, _)| *start);
    done.into_iter().flat_map(|(_, steps)| steps).collect()
}

/// Makes the lines of hunks those of a version.
fn apply(owners: &mut Vec<usize>, hunks: &[Replacement], number: usize) {
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

/// Returns in what two contents differ, by lines.
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

/// The whole lines with which two contents begin.
struct Head {
    bytes: usize,
    lines: usize,
}

/// How many bytes are compared in one step, which is much faster than one by one.
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

/// Counts in bytes as far as these go, because the processor counts many of them at once.
fn line_feeds(bytes: &[u8]) -> usize {
    let in_few = |few: &[u8]| {
        let count = |sum: u8, byte: &u8| sum.wrapping_add(u8::from(*byte == b'\n'));
        usize::from(few.iter().fold(0, count))
    };
    bytes.chunks(usize::from(u8::MAX)).map(in_few).sum()
}

/// Returns the length of the whole lines with which two contents end.
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
    // A line begins behind a line feed that both have, or where both begin.
    let tail = &before[before.len() - equal..];
    if equal == before.len() && equal == after.len() {
        return equal;
    }
    tail.iter()
        .position(|byte| *byte == b'\n')
        .map_or(0, |end| equal - end - 1)
}
