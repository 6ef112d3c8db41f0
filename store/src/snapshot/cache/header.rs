//! What a cache says about the whole workspace.

use super::bytes::{
    ByteReader, STAMP, id, put_id, put_length, put_stamp, put_text, put_texts, stamp,
};
use crate::fs::disk::Stamp;
use crate::model::entry::ObjectId;
use crate::objects::borrowed_packs::Borrowed;
use crate::snapshot::{Gap, Snapshot, seen_entries};

/// The data about the whole snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CacheHeader {
    /// The boot of the machine in which it was written. After another one, the disk may hold less than was seen.
    pub boot: Vec<u8>,
    /// The stamp of the folder with the packs. If it differs, objects may be gone.
    pub packs: Stamp,
    /// The packs among them that are still files of the user's repository, with their stamps. If a stamp differs, the
    /// pack's objects may be damaged.
    pub borrowed: Vec<Borrowed>,
    /// The hash of the rules that are not files in the tree, and of the settings that decide what is captured.
    pub snapshot_key: ObjectId,
    /// The user's index: its stamp, whether the stamp can be trusted, and its blob.
    pub index: Option<(Stamp, bool, ObjectId)>,
    /// The paths that edit tools named.
    pub named: Vec<Vec<u8>>,
    /// The files that are captured even though they are ignored, and those that would be if they existed.
    pub forced: Vec<Vec<u8>>,
    /// The ignore files that ignore themselves: the directory, and the lines that mean something.
    pub watched: Vec<(Vec<u8>, Vec<u8>)>,
    /// The snapshot.
    pub snapshot: Snapshot,
    /// What it saw and does not store, by path.
    pub seen: Vec<Gap>,
}

impl CacheHeader {
    /// Writes the fields in the order: boot, stamp of the packs, borrowed packs, snapshot key, index, named, forced,
    /// watched, snapshot, the blob of its seen entries. Lists and texts come after their length. A missing id is a zero
    /// byte; any other id comes after a one.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_text(&mut bytes, &self.boot);
        put_stamp(&mut bytes, &self.packs);
        put_length(&mut bytes, self.borrowed.len());
        for (name, stamp) in &self.borrowed {
            put_text(&mut bytes, name);
            put_stamp(&mut bytes, stamp);
        }
        bytes.extend_from_slice(self.snapshot_key.as_bytes());
        let (stamp, is_settled, id) =
            self.index
                .unwrap_or((Stamp::default(), false, ObjectId::EMPTY_TREE));
        put_stamp(&mut bytes, &stamp);
        bytes.push(u8::from(is_settled));
        put_id(&mut bytes, self.index.map(|_| id));
        put_texts(&mut bytes, &self.named);
        put_texts(&mut bytes, &self.forced);
        put_length(&mut bytes, self.watched.len());
        for (directory, lines) in &self.watched {
            put_text(&mut bytes, directory);
            put_text(&mut bytes, lines);
        }
        for id in [
            Some(self.snapshot.tree),
            self.snapshot.attributes,
            self.snapshot.rules,
            self.snapshot.seen,
        ] {
            put_id(&mut bytes, id);
        }
        put_text(
            &mut bytes,
            &seen_entries::encode(&self.seen).unwrap_or_default(),
        );
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = ByteReader(bytes);
        let boot = reader.text()?;
        let packs = stamp(reader.take(STAMP)?);
        let borrowed = (0..reader.length()?)
            .map(|_| Some((reader.text()?, stamp(reader.take(STAMP)?))))
            .collect::<Option<_>>()?;
        let snapshot_key = id(reader.take(20)?);
        let index = (stamp(reader.take(STAMP)?), reader.take(1)?[0] != 0);
        let index = reader.optional_id()?.map(|id| (index.0, index.1, id));
        let (named, forced) = (reader.texts()?, reader.texts()?);
        let watched = (0..reader.length()?)
            .map(|_| Some((reader.text()?, reader.text()?)))
            .collect::<Option<_>>()?;
        let snapshot = Snapshot {
            tree: reader.optional_id()??,
            attributes: reader.optional_id()?,
            rules: reader.optional_id()?,
            seen: reader.optional_id()?,
        };
        let seen = match &reader.text()?[..] {
            [] => Vec::new(),
            bytes => seen_entries::decode(bytes)?,
        };
        Some(Self {
            boot,
            packs,
            borrowed,
            snapshot_key,
            index,
            named,
            forced,
            watched,
            snapshot,
            seen,
        })
    }
}
