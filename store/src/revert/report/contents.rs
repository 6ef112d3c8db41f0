//! The bytes of a plan's files before and after, and the lines that differ, so that a front end can show them without
//! another question.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ckpt_schema::report::{Content, EarlierVersion, Encoding, FileContents, FileReport, Hunk};

use crate::lines;
use crate::model::entry::{ObjectId, State};
use crate::revert::plan::Plan;
use crate::snapshot::Snapshots;

/// The largest side of a file that is included, in bytes.
const MAX_SIDE: u64 = 1 << 20;

/// The most bytes of all files together that one report includes.
const MAX_ALL: u64 = 8 << 20;

/// The lines of context around a difference.
const CONTEXT: u32 = 3;

/// Adds to each file its contents before and after. Once the limit is reached, files get only their sizes.
pub(crate) fn add(snapshots: &Snapshots, plan: &Plan, files: &mut [FileReport]) {
    let mut reader = ContentReader {
        snapshots,
        plan,
        left: MAX_ALL,
    };
    for (item, file) in plan.items.iter().zip(files) {
        let before = reader.read(item.expected);
        let after = if item.target == item.expected {
            before.clone()
        } else {
            reader.read(item.target)
        };
        let earlier = plan.earlier.get(&item.path).map(|state| EarlierVersion {
            content: reader.read(*state),
            blob: state.and_then(|entry| Some(entry.blob?.to_string())),
        });
        file.contents = Some(FileContents {
            hunks: hunks(before.as_ref(), after.as_ref()),
            before,
            after,
            earlier,
        });
    }
}

struct ContentReader<'a> {
    snapshots: &'a Snapshots,
    plan: &'a Plan,
    /// How many more bytes may be included.
    left: u64,
}

impl ContentReader<'_> {
    /// Returns the bytes of a state, or `None` if it has no bytes, or they are damaged or not stored.
    fn read(&mut self, state: State) -> Option<Content> {
        let blob = state?.blob?;
        let size = match self.plan.blobs.get(&blob) {
            Some(bytes) => bytes.len() as u64,
            None => self.snapshots.blob_size(blob).ok()?,
        };
        if size > MAX_SIDE.min(self.left) {
            return Some(Content {
                encoding: Encoding::Utf8,
                text: None,
                bytes: size,
            });
        }
        self.left -= size;
        Some(content(self.bytes(blob)?))
    }

    fn bytes(&self, blob: ObjectId) -> Option<Vec<u8>> {
        if let Some(bytes) = self.plan.blobs.get(&blob) {
            return Some(bytes.clone());
        }
        let bytes = self.snapshots.read_blob_up_to(blob, MAX_SIDE);
        bytes.ok().flatten()
    }
}

fn content(bytes: Vec<u8>) -> Content {
    let size = bytes.len() as u64;
    let (encoding, text) = match String::from_utf8(bytes) {
        Ok(text) => (Encoding::Utf8, text),
        Err(error) => (Encoding::Base64, STANDARD.encode(error.as_bytes())),
    };
    Content {
        encoding,
        text: Some(text),
        bytes: size,
    }
}

/// Returns the lines that differ, or `None` if a side is not text or was left out. An absent side has no lines.
fn hunks(before: Option<&Content>, after: Option<&Content>) -> Option<Vec<Hunk>> {
    let (before, after) = (text(before)?, text(after)?);
    lines::hunks(before, after, CONTEXT)
}

fn text(content: Option<&Content>) -> Option<&str> {
    match content {
        None => Some(""),
        Some(content) if content.encoding == Encoding::Utf8 => content.text.as_deref(),
        Some(_) => None,
    }
}
