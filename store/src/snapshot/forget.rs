//! Makes trees without what is forgotten. This module does IO.
//!
//! A tree that holds nothing forgotten keeps its id. Others are rewritten, once for each path they are at.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::rules::{Rules, UNKNOWN_LINES};
use super::view::TreeExtents;
use super::{Gap, GapReason, Snapshots, seen};
use crate::error::Result;
use crate::model::entry::ObjectId;
use crate::model::path::{IGNORE_FILE, PathKind, join, parent};
use crate::objects::hash::{ObjectKind, blob_id, hash};
use crate::objects::pack::compress::{Effort, pack_object};
use crate::objects::pack::write::PackWriter;
use crate::objects::reader::ObjectReader;
use crate::objects::repack::{self, OnDamage};
use crate::objects::tree::{TreeMode, encode};

/// What becomes of the objects that take the place of those that hold something forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replacements {
    /// They are stored and synced.
    Stored,
    /// Only their ids are computed, for a dry run.
    Hashed,
}

/// A path that is forgotten in a tree. For a directory, the paths below it are not listed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ForgottenPath {
    /// Relative to the tree's root.
    pub path: Vec<u8>,
    pub is_directory: bool,
}

/// A snapshot's tree that holds something that is forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rewritten {
    pub old: ObjectId,
    /// The one that replaces it.
    pub new: ObjectId,
    pub gone: Rc<Vec<ForgottenPath>>,
}

/// Returns whether an object at a path is forgotten.
pub(crate) type IsPathForgotten<'a> = dyn Fn(&[u8], ObjectId, PathKind) -> bool + 'a;

impl Snapshots {
    /// Returns the trees that hold something forgotten, with their replacements. With [`OnDamage::GiveUp`], a lost
    /// tree counts as empty.
    pub(crate) fn without(
        &self,
        trees: &[ObjectId],
        is_forgotten: &IsPathForgotten<'_>,
        replacements: Replacements,
        on_damage: OnDamage,
    ) -> Result<Vec<Rewritten>> {
        // A lost tree counts as empty below. Before that, an error that only this process has, such as a pack that it
        // may not open, must not look like a loss.
        if on_damage == OnDamage::GiveUp {
            repack::check_readable(&self.objects, &repack::list(&self.objects)?)?;
        }
        let reader = self.objects.reader()?;
        // Hooks write packs without the lock that `forget` holds.
        reader.refresh()?;
        let mut rewriting = Rewriting {
            reader: &reader,
            is_forgotten,
            on_damage,
            done: HashMap::new(),
            to: match replacements {
                Replacements::Stored => Some(PackWriter::begin(self.objects.repository())?),
                Replacements::Hashed => None,
            },
        };
        let mut rewritten = Vec::new();
        let mut extents = TreeExtents::default();
        for old in trees.iter().filter(|tree| **tree != ObjectId::EMPTY_TREE) {
            extents.check(&reader, *old)?;
            let (new, gone) = rewriting.tree(*old, &[])?;
            if !gone.is_empty() {
                let old = *old;
                rewritten.push(Rewritten { old, new, gone });
            }
        }
        if let Some(to) = rewriting.to
            && to.finish()?.is_some()
        {
            reader.note_new_pack()?;
        }
        Ok(rewritten)
    }
}

/// What stands beside the trees of snapshots, rules or seen entries, and tells of something forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RewrittenRecord {
    pub old: ObjectId,
    /// Its replacement, in which a forgotten ignore file counts as one that was never read, and one entry stands for
    /// all that was seen in a forgotten directory.
    pub new: ObjectId,
    /// The ignore files and directories.
    pub paths: Vec<Vec<u8>>,
}

impl Snapshots {
    /// Returns the rules that contain the lines of a forgotten ignore file that is not in the tree, and the seen entries
    /// with names in a forgotten directory, with their replacements. With [`OnDamage::GiveUp`], lost ones count as
    /// empty.
    pub(crate) fn records_without(
        &self,
        records: &[ObjectId],
        is_forgotten: &dyn Fn(&[u8], PathKind) -> bool,
        replacements: Replacements,
        on_damage: OnDamage,
    ) -> Result<Vec<RewrittenRecord>> {
        let reader = self.objects.reader()?;
        let mut rewritten = Vec::new();
        let mut texts = Vec::new();
        for old in records {
            let text = match reader.blob(*old) {
                Err(error) if on_damage == OnDamage::GiveUp && error.is_damage() => continue,
                text => text?,
            };
            let without = match seen::decode(&text) {
                Some(entries) => seen_without(entries, is_forgotten),
                None => rules_without(Rules::decode(&text)?, is_forgotten),
            };
            if let Some((text, paths)) = without {
                let (old, new) = (*old, blob_id(&text));
                rewritten.push(RewrittenRecord { old, new, paths });
                texts.push(text);
            }
        }
        if replacements == Replacements::Stored {
            let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
            self.objects.write_blobs(&texts)?;
        }
        Ok(rewritten)
    }
}

/// Returns the text of rules without the lines of forgotten ignore files, and these files; `None` without any.
fn rules_without(
    mut rules: Rules,
    is_forgotten: &dyn Fn(&[u8], PathKind) -> bool,
) -> Option<(Vec<u8>, Vec<Vec<u8>>)> {
    let mut files = Vec::new();
    for (directory, lines) in &mut rules.untracked {
        let file = join(directory, IGNORE_FILE);
        if lines[..] != *UNKNOWN_LINES && is_forgotten(&file, PathKind::File) {
            *lines = UNKNOWN_LINES.to_vec();
            files.push(file);
        }
    }
    rules
        .encode()
        .filter(|_| !files.is_empty())
        .zip(Some(files))
}

/// Returns the text of seen entries without names in forgotten directories, and these directories; `None` without any.
fn seen_without(
    mut entries: Vec<Gap>,
    is_forgotten: &dyn Fn(&[u8], PathKind) -> bool,
) -> Option<(Vec<u8>, Vec<Vec<u8>>)> {
    let mut directories = BTreeSet::new();
    for entry in &mut entries {
        let above = std::iter::successors(parent(&entry.path), |path| parent(path));
        let above =
            above.filter(|path| !path.is_empty() && is_forgotten(path, PathKind::Directory));
        if let Some(topmost) = above.last() {
            directories.insert(topmost.to_vec());
            *entry = Gap {
                path: topmost.to_vec(),
                reason: GapReason::ForgottenDirectory,
                size: None,
                is_directory: true,
            };
        }
    }
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    entries.dedup_by(|one, other| one.path == other.path);
    let directories: Vec<Vec<u8>> = directories.into_iter().collect();
    seen::encode(&entries)
        .filter(|_| !directories.is_empty())
        .zip(Some(directories))
}

/// A new tree, and what it lacks.
type RewrittenTree = (ObjectId, Rc<Vec<ForgottenPath>>);

struct Rewriting<'a> {
    reader: &'a ObjectReader,
    is_forgotten: &'a IsPathForgotten<'a>,
    on_damage: OnDamage,
    done: HashMap<(ObjectId, Vec<u8>), RewrittenTree>,
    to: Option<PackWriter>,
}

impl Rewriting<'_> {
    fn tree(&mut self, id: ObjectId, path: &[u8]) -> Result<RewrittenTree> {
        let key = (id, path.to_vec());
        if let Some(done) = self.done.get(&key) {
            return Ok(done.clone());
        }
        let mut gone = Vec::new();
        let mut kept = Vec::new();
        let entries = match self.reader.tree(id) {
            Err(error) if self.on_damage == OnDamage::GiveUp && error.is_damage() => Vec::new(),
            entries => entries?,
        };
        for mut entry in entries {
            let below = join(path, &entry.name);
            let is_directory = entry.mode == TreeMode::Tree;
            if (self.is_forgotten)(&below, entry.id, PathKind::of(is_directory)) {
                gone.push(ForgottenPath {
                    path: below,
                    is_directory,
                });
                continue;
            }
            if is_directory {
                let (new, gone_below) = self.tree(entry.id, &below)?;
                gone.extend(gone_below.iter().cloned());
                // Git has no empty directories.
                if new == ObjectId::EMPTY_TREE && !gone_below.is_empty() {
                    continue;
                }
                entry.id = new;
            }
            kept.push(entry);
        }
        let new = if gone.is_empty() {
            id
        } else if kept.is_empty() {
            ObjectId::EMPTY_TREE
        } else {
            self.write(&encode(&mut kept))?
        };
        let done = (new, Rc::new(gone));
        self.done.insert(key, done.clone());
        Ok(done)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<ObjectId> {
        let id = hash(ObjectKind::Tree, bytes);
        if let Some(to) = &mut self.to {
            to.add(pack_object(ObjectKind::Tree, id, bytes, Effort::More))?;
        }
        Ok(id)
    }
}
