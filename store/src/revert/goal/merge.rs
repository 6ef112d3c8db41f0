//! Merges contents for a plan: reads blobs and makes new ones. Pure, except for the reader that it is given.
//!
//! It uses libgit2's three-way merge: users of git know it (changes that touch are a conflict), it works on bytes, and
//! it is in the binary already. Only `git_merge_file` is called, which sees three buffers and no repository,
//! configuration or attributes.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Context, Result};
use crate::lines;
use crate::model::entry::ObjectId;
pub use crate::objects::hash::blob_id;

/// Sides with more lines are not merged: if all lines changed and most of them repeat, libgit2 takes seconds.
const MAX_LINES: usize = 200_000;

/// Reads a whole blob, or returns `None` if it is larger than the limit in bytes, so that memory stays bounded.
pub type ReadBlob<'a> = dyn Fn(ObjectId, u64) -> Result<Option<Vec<u8>>> + 'a;

/// The blobs of the store, and those that merges made.
pub struct MergeBlobs<'a> {
    read: &'a ReadBlob<'a>,
    made: BTreeMap<ObjectId, Vec<u8>>,
}

/// The result of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// The edits do not touch. This blob has both.
    Clean(ObjectId),
    /// The edits touch each other.
    Overlap,
    /// A side is binary.
    Binary,
    /// A side is too large.
    TooLarge,
}

impl<'a> MergeBlobs<'a> {
    /// Wraps the reader of stored blobs.
    pub fn new(read: &'a ReadBlob<'a>) -> Self {
        Self {
            read,
            made: BTreeMap::new(),
        }
    }

    /// Merges two edits of one ancestor. The blob of a clean merge is kept here, for [`MergeBlobs::take_made`].
    pub fn merge(&mut self, ancestor: ObjectId, ours: ObjectId, theirs: ObjectId) -> Result<Merge> {
        let (Some(base), Some(left), Some(right)) =
            (self.text(ancestor)?, self.text(ours)?, self.text(theirs)?)
        else {
            return Ok(Merge::TooLarge);
        };
        let sides = [&base[..], &left[..], &right[..]];
        if sides.iter().any(|side| lines::is_binary(side)) {
            return Ok(Merge::Binary);
        }
        if sides
            .iter()
            .any(|side| side.iter().filter(|byte| **byte == b'\n').count() > MAX_LINES)
        {
            return Ok(Merge::TooLarge);
        }
        match merge_text(&base, &left, &right)? {
            Some(merged) => Ok(Merge::Clean(self.keep(merged))),
            None => Ok(Merge::Overlap),
        }
    }

    /// Returns the blobs that merges made and that are among `wanted`. They have to be stored before the plan is
    /// carried out.
    pub fn take_made(&mut self, wanted: &BTreeSet<ObjectId>) -> BTreeMap<ObjectId, Vec<u8>> {
        let (wanted, rest) = std::mem::take(&mut self.made)
            .into_iter()
            .partition(|(blob, _)| wanted.contains(blob));
        self.made = rest;
        wanted
    }

    fn text(&self, blob: ObjectId) -> Result<Option<Vec<u8>>> {
        // A merge may build on another one: its blob is in no pack yet, and if the plan is only shown, it never
        // will be.
        if let Some(bytes) = self.made.get(&blob) {
            return Ok((bytes.len() <= lines::MAX_SIZE).then(|| bytes.clone()));
        }
        let bytes = (self.read)(blob, lines::MAX_SIZE as u64)?;
        Ok(bytes.filter(|bytes| bytes.len() <= lines::MAX_SIZE))
    }

    fn keep(&mut self, bytes: Vec<u8>) -> ObjectId {
        let blob = blob_id(&bytes);
        self.made.insert(blob, bytes);
        blob
    }
}

/// Returns the text with both edits, each line taken byte for byte from one of the sides, or `None` if the edits touch.
pub fn merge_text(ancestor: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Option<Vec<u8>>> {
    if ours == theirs || theirs == ancestor {
        return Ok(Some(ours.to_vec()));
    }
    if ours == ancestor {
        return Ok(Some(theirs.to_vec()));
    }
    // Both changed, and one side has no line left, or the ancestor had none: then each edit covers the whole text, so
    // they touch. That is decided here, whatever libgit2 makes of an empty buffer.
    if ancestor.is_empty() || ours.is_empty() || theirs.is_empty() {
        return Ok(None);
    }
    start_libgit2()?;
    let result = git2::merge_file(&input(ancestor), &input(ours), &input(theirs), None)
        .context(|| "could not merge three texts")?;
    Ok(result.is_automergeable().then(|| result.content().to_vec()))
}

/// Starts libgit2, whose allocator fails otherwise. `merge_file` is the only function of git2 that does not do that
/// itself.
fn start_libgit2() -> Result<()> {
    git2::Oid::hash_object(git2::ObjectType::Blob, b"")
        .map(drop)
        .context(|| "could not start libgit2")
}

fn input(bytes: &[u8]) -> git2::MergeFileInput<'_> {
    let mut input = git2::MergeFileInput::new();
    input.content(bytes);
    input
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn merged(ancestor: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
        merge_text(ancestor, ours, theirs).expect("three buffers can always be merged")
    }

    /// Edits that do not touch are merged and edits that touch are not.
    #[test]
    fn only_edits_that_do_not_touch_are_merged() {
        let ancestor = b"1\n2\n3\n4\n5\n";
        let both = merged(ancestor, b"one\n2\n3\n4\n5\n", b"1\n2\n3\n4\nfive\n");
        assert_eq!(
            both.as_deref(),
            Some(&b"one\n2\n3\n4\nfive\n"[..]),
            "the first line and the last"
        );
        assert_eq!(
            merged(ancestor, b"1\ntwo\n3\n4\n5\n", b"1\nTWO\n3\n4\n5\n"),
            None,
            "the same line"
        );
        assert_eq!(
            merged(ancestor, b"1\ntwo\n3\n4\n5\n", b"1\n2\nthree\n4\n5\n"),
            None,
            "lines side by side, as in git"
        );
        assert_eq!(
            merged(ancestor, b"", b"1\n2\n3\n4\n"),
            None,
            "all and a part"
        );
        assert_eq!(
            merged(b"", b"a\n", b"b\n"),
            None,
            "two texts out of nothing"
        );
    }

    #[test]
    fn an_edit_that_both_sides_made_is_merged() {
        let both = merged(
            b"1\n2\n3\n4\n5\n",
            b"one\n2\n3\n4\n5\n",
            b"one\n2\n3\n4\nfive\n",
        );
        assert_eq!(
            both.as_deref(),
            Some(&b"one\n2\n3\n4\nfive\n"[..]),
            "the user took one line back by hand"
        );
    }

    #[test]
    fn line_endings_and_a_missing_final_newline_survive() {
        let both = merged(
            b"1\r\n2\n3\r\n4\xff\n5",
            b"one\r\n2\n3\r\n4\xff\n5",
            b"1\r\n2\n3\r\n4\xff\nfive",
        );
        assert_eq!(
            both.as_deref(),
            Some(&b"one\r\n2\n3\r\n4\xff\nfive"[..]),
            "CRLF, LF, a byte that is not UTF-8, no end"
        );
        let ending = merged(b"1\n2\n3\n", b"1\r\n2\n3\n", b"1\n2\n3");
        assert_eq!(
            ending.as_deref(),
            Some(&b"1\r\n2\n3"[..]),
            "an ending is part of its line"
        );
    }

    /// What is binary or too large is not merged.
    #[test]
    fn binary_or_large_is_not_merged() {
        let id = |byte: u8| ObjectId::new([byte; 20]);
        let read = |blob: ObjectId, _: u64| {
            Ok(match blob.as_bytes()[0] {
                1 => Some(b"1\n2\n3\n".to_vec()),
                2 => Some(b"1\n\0\n3\n".to_vec()),
                3 => Some(vec![b'\n'; MAX_LINES + 1]),
                4 => Some(vec![b'a'; lines::MAX_SIZE + 1]),
                _ => None,
            })
        };
        let mut contents = MergeBlobs::new(&read);
        for (other, expected) in [
            (2, Merge::Binary),
            (3, Merge::TooLarge),
            (4, Merge::TooLarge),
            (5, Merge::TooLarge),
        ] {
            let merge = contents.merge(id(1), id(other), id(1)).expect("readable");
            assert_eq!(merge, expected, "side {other}");
        }
    }

    /// A merged blob can be merged again and is handed out when it is wanted.
    #[test]
    fn merged_blob_can_be_merged_again() {
        let id = |byte: u8| ObjectId::new([byte; 20]);
        let texts = [
            &b"1\n2\n3\n4\n5\n"[..],
            b"one\n2\n3\n4\n5\n",
            b"1\n2\nthree\n4\n5\n",
            b"1\n2\n3\n4\nfive\n",
        ];
        let read =
            |blob: ObjectId, _: u64| Ok(Some(texts[usize::from(blob.as_bytes()[0])].to_vec()));
        let mut contents = MergeBlobs::new(&read);
        let Merge::Clean(first) = contents.merge(id(0), id(1), id(2)).expect("readable") else {
            panic!("lines 1 and 3")
        };
        let Merge::Clean(second) = contents.merge(id(0), first, id(3)).expect("readable") else {
            panic!("and line 5")
        };
        let made = contents.take_made(&BTreeSet::from([second]));
        let expected = b"one\n2\nthree\n4\nfive\n".to_vec();
        assert_eq!(blob_id(&expected), second, "its id is git's");
        assert_eq!(
            made,
            BTreeMap::from([(second, expected)]),
            "the first is only a means"
        );
    }

    #[derive(Clone, Copy, Debug)]
    enum Edit {
        Replace,
        Delete,
        InsertAfter,
    }

    /// An edit of a line, and whether it is ours.
    type Edits = Vec<Option<(Edit, bool)>>;

    fn edits() -> impl Strategy<Value = Edits> {
        let edit = prop_oneof![
            Just(Edit::Replace),
            Just(Edit::Delete),
            Just(Edit::InsertAfter)
        ];
        let edits = prop::collection::vec(prop::option::of((edit, any::<bool>())), 3..40);
        edits.prop_map(|mut edits| {
            for index in 1..edits.len() {
                let side = |edit: Option<(Edit, bool)>| edit.map(|(_, is_ours)| is_ours);
                if side(edits[index - 1])
                    .is_some_and(|before| side(edits[index]).is_some_and(|now| now != before))
                {
                    edits[index] = None;
                }
            }
            let last = edits.len() - 1;
            edits[last] = edits[last].filter(|(edit, _)| !matches!(edit, Edit::InsertAfter));
            edits
        })
    }

    fn compose(edits: &Edits, endings: &[u8], is_in: impl Fn(bool) -> bool) -> Vec<u8> {
        let mut text = Vec::new();
        for (index, edit) in edits.iter().enumerate() {
            let ending = match endings[index % endings.len()] {
                0 => &b"\r\n"[..],
                1 if index + 1 == edits.len() => b"",
                _ => b"\n",
            };
            let line = [format!("line {index}").as_bytes(), b"\xfe", ending].concat();
            match edit.filter(|(_, is_ours)| is_in(*is_ours)) {
                None => text.extend(line),
                Some((Edit::Delete, _)) => {}
                Some((Edit::Replace, _)) => {
                    text.extend([format!("other {index}").as_bytes(), ending].concat())
                }
                Some((Edit::InsertAfter, _)) => {
                    text.extend([&line[..], format!("new {index}\n").as_bytes()].concat())
                }
            }
        }
        text
    }

    fn lines_of(text: &[u8]) -> BTreeSet<&[u8]> {
        text.split_inclusive(|byte| *byte == b'\n').collect()
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let line = prop::sample::select(vec!["a\n", "b\n", "c\n", "d\r\n", "\n", "e"]);
        prop::collection::vec(line, 0..12).prop_map(|lines| lines.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn edits_apart_from_each_other_merge_to_both(edits in edits(), endings in prop::collection::vec(0u8..3, 1..8)) {
            let texts = [|_| false, |is_ours| is_ours, |is_ours: bool| !is_ours, |_| true]
                .map(|is_in: fn(bool) -> bool| compose(&edits, &endings, is_in));
            let [ancestor, ours, theirs, both] = texts;
            prop_assume!(!ours.is_empty() && !theirs.is_empty());
            prop_assert_eq!(merged(&ancestor, &ours, &theirs), Some(both), "an unchanged line is between any two");
        }

        /// A merge makes no line of its own and loses none.
        #[test]
        fn merge_makes_and_loses_no_line(ancestor in text(), ours in text(), theirs in text()) {
            if let Some(both) = merged(&ancestor, &ours, &theirs) {
                let (base, left, right) = (lines_of(&ancestor), lines_of(&ours), lines_of(&theirs));
                for line in lines_of(&both) {
                    prop_assert!(left.contains(line) || right.contains(line), "{:?} is of neither side", line);
                }
                for line in left.union(&right).filter(|line| !base.contains(*line)) {
                    prop_assert!(lines_of(&both).contains(line), "{:?} was added by a side and is lost", line);
                }
            }
        }
    }
}
