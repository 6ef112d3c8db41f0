//! Snapshots for another machine: their objects in one pack, without what is there already. This module does IO.
//!
//! What goes in the open has no ignored file: trees and attributes are written anew without them. Files that the user's
//! repository tracks are not ignored.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::patch::{read_rules, unforced};
use super::rules::{Matcher, Rules, UNKNOWN_LINES};
use super::view::{SnapshotView, TreeExtents};
use super::{Gap, GapReason, Snapshot, Snapshots, seen_entries};
use crate::error::{Error, Result};
use crate::fs::presence;
use crate::git::Location;
use crate::git::tracked::Tracked;
use crate::model::entry::ObjectId;
use crate::model::path::{IGNORE_FILE, PathKind, join};
use crate::objects::hash::{ObjectKind, hash};
use crate::objects::pack::compress::{Effort, pack_object};
use crate::objects::pack::rebuild::{index_pack, put};
use crate::objects::pack::write::PackWriter;
use crate::objects::reader::ObjectReader;
use crate::objects::tree::{TreeMode, encode};

/// What goes to another machine.
pub(crate) struct Sending<'a> {
    reader: &'a ObjectReader,
    /// What is ignored by now; nothing counts as ignored without it.
    newest: Option<Matcher<'a>>,
    tracked: Tracked,
    pack: PackWriter,
    /// What is in the pack, or there already.
    known: HashSet<ObjectId>,
    /// Trees as they are sent, by what they are and where, as long as the ignore rules stay the same.
    done: HashMap<(ObjectId, Vec<u8>), ObjectId>,
    last: Option<Snapshot>,
    extents: TreeExtents,
    is_counting: bool,
    /// Whether it can be read only with a key, so that ignored files go along.
    pub is_sealed: bool,
    /// The ignored files: those that were left out, unless it is sealed.
    pub ignored: BTreeSet<Vec<u8>>,
    /// The files that look as if they held a secret.
    pub secrets: BTreeSet<Vec<u8>>,
    /// How many bytes the objects have.
    pub bytes: u64,
}

impl Snapshots {
    /// Sends objects into a pack below a directory, and returns its path; `None` if there were none. With `newest`, the
    /// newest snapshot, ignored files are left out.
    pub(crate) fn send<T>(
        &self,
        root: &Path,
        newest: Option<&Snapshot>,
        into: &Path,
        work: impl FnOnce(&mut Sending<'_>) -> Result<T>,
    ) -> Result<(T, Option<PathBuf>)> {
        let reader = self.objects.reader()?;
        reader.refresh()?;
        let view = newest.map(|newest| SnapshotView::open(&reader, newest));
        let view = view.transpose()?;
        let matcher = match (&view, newest) {
            (Some(view), Some(newest)) => Some(unforced(&reader, view, newest.rules)?),
            _ => None,
        };
        let location = Location::of(root);
        let mut sending = Sending {
            reader: &reader,
            newest: matcher,
            tracked: location.as_ref().map(Tracked::read).unwrap_or_default(),
            pack: PackWriter::begin(into)?,
            known: HashSet::new(),
            done: HashMap::new(),
            last: None,
            extents: TreeExtents::default(),
            is_counting: true,
            is_sealed: false,
            ignored: BTreeSet::new(),
            secrets: BTreeSet::new(),
            bytes: 0,
        };
        let done = work(&mut sending)?;
        let pack = sending.pack.finish()?;
        Ok((done, pack.map(|name| into.join("objects/pack").join(name))))
    }

    /// Takes in a pack that came from another machine: every object in it is read and hashed.
    pub(crate) fn receive(&self, pack: &[u8]) -> Result<()> {
        let packs = self.objects.packs();
        let end = pack.len().checked_sub(20).map(|at| &pack[at..]);
        let sum = end.and_then(|end| end.try_into().ok()).map(ObjectId::new);
        let sum = sum.ok_or_else(|| Error::damaged("a pack from another machine is damaged"))?;
        let name = format!("pack-{sum}.pack");
        let path = packs.join(&name);
        if path.symlink_metadata().is_ok() {
            return Ok(());
        }
        put(&path, pack)?;
        if let Err(error) = index_pack(&packs, &name) {
            presence::remove_file(&path)?;
            return Err(error);
        }
        self.objects.reader()?.reopen()
    }

    /// Copies a snapshot of another workspace's, with all that it needs.
    pub(crate) fn take_from(&self, other: &Self, snapshot: &Snapshot) -> Result<()> {
        let repository = self.objects.repository();
        let (_, pack) = other.send(Path::new("/"), None, repository, |sending| {
            sending.snapshot(snapshot).map(drop)
        })?;
        match pack {
            Some(_) => self.objects.reader()?.reopen(),
            None => Ok(()),
        }
    }

    /// Returns a snapshot of another machine's for use beside the present state here: of ignored files that are here, it
    /// does not say that they were not there. They never came along.
    pub(crate) fn beside(&self, theirs: &Snapshot, here: &Snapshot) -> Result<Snapshot> {
        let reader = self.objects.reader()?;
        let views = [theirs, here].map(|snapshot| SnapshotView::open(&reader, snapshot));
        let [of_theirs, of_here] = views;
        let (of_theirs, of_here) = (of_theirs?, of_here?);
        let matchers = [
            unforced(&reader, &of_theirs, theirs.rules)?,
            unforced(&reader, &of_here, here.rules)?,
        ];
        let mut entries = seen_entries::read(&reader, theirs.seen)?;
        for (path, entry) in of_here.entries()? {
            let mut matchers = matchers.iter();
            let is_ignored = matchers.any(|matcher| matcher.is_ignored(path.as_bytes()));
            if is_ignored && of_theirs.state(&path)?.is_none() {
                entries.push(Gap {
                    path: path.as_bytes().to_vec(),
                    reason: GapReason::Ignored,
                    size: None,
                    is_directory: entry.is_empty_directory(),
                });
            }
        }
        entries.sort_by(|one, other| one.path.cmp(&other.path));
        entries.dedup_by(|one, other| one.path == other.path);
        let seen = seen_entries::encode(&entries);
        let seen = seen.map(|bytes| self.objects.write_blobs(&[&bytes]));
        Ok(Snapshot {
            seen: seen.transpose()?.and_then(|ids| ids.first().copied()),
            ..*theirs
        })
    }

    /// Fails if the tree or a blob of a snapshot is not there, or if a tree is larger than any workspace.
    pub(crate) fn check_received(&self, snapshots: impl Iterator<Item = Snapshot>) -> Result<()> {
        let reader = self.objects.reader()?;
        let mut extents = TreeExtents::default();
        for snapshot in snapshots {
            reader.tree(snapshot.tree)?;
            extents.check(&reader, snapshot.tree)?;
            let blobs = [snapshot.attributes, snapshot.rules, snapshot.seen];
            let mut blobs = blobs.into_iter().flatten();
            blobs.try_for_each(|blob| reader.check_blob(blob))?;
        }
        Ok(())
    }
}

impl Sending<'_> {
    /// Counts what a snapshot holds as being there already.
    pub fn is_there(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.is_counting = false;
        let done = self.snapshot(snapshot);
        self.is_counting = true;
        done.map(drop)
    }

    /// Sends a snapshot, and returns what it is there.
    pub fn snapshot(&mut self, snapshot: &Snapshot) -> Result<Snapshot> {
        let reader = self.reader;
        let view = SnapshotView::open(reader, snapshot)?;
        self.extents.check(reader, snapshot.tree)?;
        if self.newest.is_none() || self.is_sealed {
            let blobs = [snapshot.attributes, snapshot.rules, snapshot.seen];
            let mut blobs = blobs.into_iter().flatten();
            blobs.try_for_each(|blob| self.blob(blob, b""))?;
        }
        if self.newest.is_none() {
            self.tree(snapshot.tree, &[], None)?;
            return Ok(*snapshot);
        }
        let matcher = unforced(reader, &view, snapshot.rules)?;
        if !self.has_rules_of_last(snapshot)? {
            self.done.clear();
        }
        self.last = Some(*snapshot);
        let tree = self.tree(snapshot.tree, &[], Some(&matcher))?;
        if self.is_sealed {
            return Ok(*snapshot);
        }
        let attributes = view
            .attributes
            .without(|path| self.is_left_out(path.as_bytes(), Some(&matcher)))
            .encode();
        let rules = self.rules(snapshot.rules, &matcher)?.encode();
        let mut seen = seen_entries::read(reader, snapshot.seen)?;
        // Without the names of ignored files.
        seen.retain(|entry| {
            let is_sent = !self.is_left_out(&entry.path, Some(&matcher));
            is_sent && entry.reason.is_reported()
        });
        Ok(Snapshot {
            tree,
            attributes: self.own_blob(attributes)?,
            rules: self.own_blob(rules)?,
            seen: self.own_blob(seen_entries::encode(&seen))?,
        })
    }

    /// Returns the rules by which what is left out of a snapshot is out of view, and not gone.
    fn rules(&self, rules: Option<ObjectId>, matcher: &Matcher<'_>) -> Result<Rules> {
        let mut rules = read_rules(self.reader, rules)?;
        (rules.include, rules.kept) = (Vec::new(), Vec::new());
        rules.forced.clear();
        // They are ignored files themselves.
        for (_, lines) in &mut rules.untracked {
            *lines = UNKNOWN_LINES.to_vec();
        }
        // What is ignored only by now.
        let since = self.ignored.iter().filter(|path| !matcher.is_ignored(path));
        for path in since.filter(|path| self.is_ignored_now(path)) {
            rules.exclude.push(b'/');
            for byte in path {
                if !byte.is_ascii_alphanumeric() && byte.is_ascii() && *byte != b'/' {
                    rules.exclude.push(b'\\');
                }
                rules.exclude.push(*byte);
            }
            rules.exclude.push(b'\n');
        }
        Ok(rules)
    }

    fn own_blob(&mut self, bytes: Option<Vec<u8>>) -> Result<Option<ObjectId>> {
        let Some(bytes) = bytes else {
            return Ok(None);
        };
        let id = hash(ObjectKind::Blob, &bytes);
        self.add(ObjectKind::Blob, id, &bytes)?;
        Ok(Some(id))
    }

    /// Returns whether a path is to be left out: it is ignored by now, or was in a snapshot that was sent.
    pub fn leaves_out(&self, path: &[u8]) -> bool {
        !self.is_sealed && (self.ignored.contains(path) || self.is_ignored_now(path))
    }

    fn is_ignored_now(&self, path: &[u8]) -> bool {
        let newest = self.newest.as_ref();
        newest.is_some_and(|newest| self.is_ignored_by(path, newest))
    }

    fn is_ignored_by(&self, path: &[u8], matcher: &Matcher<'_>) -> bool {
        matcher.is_ignored(path) && !self.tracked.holds(path, PathKind::File)
    }

    fn is_left_out(&self, path: &[u8], matcher: Option<&Matcher<'_>>) -> bool {
        matcher.is_some_and(|matcher| self.is_ignored_by(path, matcher))
            || self.is_ignored_now(path)
    }

    /// Sends a blob.
    pub fn blob(&mut self, id: ObjectId, path: &[u8]) -> Result<()> {
        if id == ObjectId::EMPTY_TREE || self.known.contains(&id) {
            return Ok(());
        }
        if !self.is_counting {
            self.known.insert(id);
            return Ok(());
        }
        let (kind, bytes) = self.reader.any_once(id)?;
        if !path.is_empty() && looks_secret(&bytes) {
            self.secrets.insert(path.to_vec());
        }
        self.add(kind, id, &bytes)
    }

    fn add(&mut self, kind: ObjectKind, id: ObjectId, bytes: &[u8]) -> Result<()> {
        if self.known.insert(id) && self.is_counting {
            self.bytes += bytes.len() as u64;
            self.pack.add(pack_object(kind, id, bytes, Effort::More))?;
        }
        Ok(())
    }

    /// Returns whether the ignore rules are those of the snapshot that was sent last.
    fn has_rules_of_last(&self, snapshot: &Snapshot) -> Result<bool> {
        let Some(last) = self.last.filter(|last| last.rules == snapshot.rules) else {
            return Ok(false);
        };
        let changes = super::difference::difference(self.reader, &last, snapshot)?;
        let is_rule = |path: &[u8]| path.ends_with(IGNORE_FILE);
        Ok(!changes.iter().any(|change| is_rule(change.path.as_bytes())))
    }

    fn tree(
        &mut self,
        id: ObjectId,
        path: &[u8],
        matcher: Option<&Matcher<'_>>,
    ) -> Result<ObjectId> {
        // As it is, a tree is the same wherever it is.
        let key = (id, matcher.map_or_else(Vec::new, |_| path.to_vec()));
        if let Some(done) = self.done.get(&key) {
            return Ok(*done);
        }
        let (mut kept, mut is_cut) = (Vec::new(), false);
        for mut entry in self.reader.tree(id)? {
            let below = join(path, &entry.name);
            if entry.mode == TreeMode::Tree {
                let sent = self.tree(entry.id, &below, matcher)?;
                is_cut |= sent != entry.id;
                if sent == ObjectId::EMPTY_TREE && sent != entry.id {
                    continue;
                }
                entry.id = sent;
            } else {
                if self.is_left_out(&below, matcher) {
                    self.ignored.insert(below.clone());
                    if !self.is_sealed {
                        is_cut = true;
                        continue;
                    }
                }
                self.blob(entry.id, &below)?;
            }
            kept.push(entry);
        }
        let sent = match (is_cut, kept.is_empty()) {
            (false, _) => id,
            (true, true) => ObjectId::EMPTY_TREE,
            (true, false) => hash(ObjectKind::Tree, &encode(&mut kept)),
        };
        if sent != ObjectId::EMPTY_TREE && !self.known.contains(&sent) {
            self.add(ObjectKind::Tree, sent, &encode(&mut kept))?;
        }
        self.done.insert(key, sent);
        Ok(sent)
    }
}

/// What secrets begin with, and how many letters, digits, `-` and `_` follow at least.
const SECRETS: &[(&[u8], usize)] = &[
    (b"AKIA", 16),
    (b"AIza", 35),
    (b"ghp_", 36),
    (b"github_pat_", 36),
    (b"glpat-", 20),
    (b"npm_", 36),
    (b"sk-", 32),
    (b"xoxb-", 24),
    (b"xoxp-", 24),
];

/// Returns whether bytes look as if a key or a token of a well-known kind were among them.
pub(crate) fn looks_secret(bytes: &[u8]) -> bool {
    let is_key = |at: usize| {
        let line = bytes[at..].split(|byte| *byte == b'\n').next();
        line.is_some_and(|line| line.windows(15).any(|end| end == b"PRIVATE KEY----"))
    };
    let is_token = |at: usize| {
        SECRETS.iter().any(|(start, least)| {
            let rest = bytes[at..].strip_prefix(*start);
            let rest = rest.unwrap_or_default().iter();
            rest.take_while(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte))
                .count()
                >= *least
        })
    };
    let is_start = |at: usize| at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
    (0..bytes.len()).any(|at| match bytes[at] {
        b'-' => bytes[at..].starts_with(b"-----BEGIN ") && is_key(at),
        b'A' | b'g' | b'n' | b's' | b'x' => is_start(at) && is_token(at),
        _ => false,
    })
}
