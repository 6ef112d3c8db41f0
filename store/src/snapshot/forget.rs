//! Makes trees without what is forgotten. This module does IO.
//!
//! A tree that holds nothing forgotten keeps its id. Others are rewritten, once for each path they are at.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::rules::{Rules, UNKNOWN_LINES};
use super::view::TreeExtents;
use super::{Gap, GapReason, Snapshots, seen_entries};
use crate::error::Result;
use crate::model::entry::ObjectId;
use crate::model::gap::{RewrittenState, StateIds, reported};
use crate::model::path::{IGNORE_FILE, PathKind, join, parent};
use crate::objects::hash::{ObjectKind, blob_id, hash};
use crate::objects::pack::compress::{Effort, pack_object};
use crate::objects::pack::write::PackWriter;
use crate::objects::reader::ObjectReader;
use crate::objects::repack::{self, OnDamage};
use crate::objects::tree::{TreeMode, encode};

/// A list of seen entries by its id, with the paths that were forgotten in it.
type SeenList = (Option<ObjectId>, Vec<Gap>, BTreeSet<Vec<u8>>);

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
struct ForgottenPath {
    /// Relative to the tree's root.
    path: Vec<u8>,
    is_directory: bool,
}

/// Returns whether an object at a path is forgotten.
pub(crate) type IsPathForgotten<'a> = dyn Fn(&[u8], ObjectId, PathKind) -> bool + 'a;

/// Returns whether all that was ever at a path is forgotten.
pub(crate) type IsPlaceForgotten<'a> = dyn Fn(&[u8], PathKind) -> bool + 'a;

/// What is without something forgotten, and the paths that it lacks.
pub(crate) type Replaced<T> = (Vec<T>, BTreeSet<Vec<u8>>);

impl Snapshots {
    /// Returns the states of which the tree or a seen entry is forgotten, with their replacements. States with the same
    /// seen entries come one after the other. With [`OnDamage::GiveUp`], lost ones count as empty.
    pub(crate) fn states_without(
        &self,
        states: &[StateIds],
        is_forgotten: &IsPathForgotten<'_>,
        is_place_forgotten: &IsPlaceForgotten<'_>,
        replacements: Replacements,
        on_damage: OnDamage,
    ) -> Result<Replaced<RewrittenState>> {
        let trees: BTreeSet<ObjectId> = states.iter().map(|(tree, _)| *tree).collect();
        let trees = self.trees_without(&trees, is_forgotten, replacements, on_damage)?;
        let reader = self.objects.reader()?;
        let gone = trees.values().flat_map(|(_, gone)| gone.iter());
        let mut paths: BTreeSet<Vec<u8>> = gone.map(|gone| gone.path.clone()).collect();
        let (mut rewritten, mut texts) = (Vec::new(), BTreeMap::new());
        let mut last: Option<SeenList> = None;
        for (tree, seen) in states {
            let (_, entries, directories) = match last.take_if(|(id, ..)| id == seen) {
                Some(same) => last.insert(same),
                None => {
                    let mut entries = match seen_entries::read(&reader, *seen) {
                        Err(error) if on_damage == OnDamage::GiveUp && error.is_damage() => {
                            Vec::new()
                        }
                        entries => entries?,
                    };
                    let directories = forget_seen(&mut entries, is_place_forgotten);
                    last.insert((*seen, entries, directories))
                }
            };
            let unchanged = (*tree, Rc::default());
            let (new, gone) = trees.get(tree).unwrap_or(&unchanged);
            if gone.is_empty() && directories.is_empty() {
                continue;
            }
            paths.extend(directories.iter().cloned());
            let mut entries: Vec<Gap> = gone.iter().map(entry).chain(entries.clone()).collect();
            entries.sort_by(|one, other| one.path.cmp(&other.path));
            entries.dedup_by(|one, other| one.path == other.path && other.reason.is_forgotten());
            let text = seen_entries::encode(&entries).unwrap_or_default();
            let id = blob_id(&text);
            rewritten.push(RewrittenState {
                old: (*tree, *seen),
                new: (*new, Some(id)),
                gaps: reported(&entries),
            });
            texts.insert(id, text);
        }
        self.write_texts(&texts, replacements)?;
        Ok((rewritten, paths))
    }

    /// Stores records that replace others.
    fn write_texts(
        &self,
        texts: &BTreeMap<ObjectId, Vec<u8>>,
        replacements: Replacements,
    ) -> Result<()> {
        if replacements == Replacements::Stored {
            let texts: Vec<&[u8]> = texts.values().map(Vec::as_slice).collect();
            self.objects.write_blobs(&texts)?;
        }
        Ok(())
    }

    /// Returns the trees that hold something forgotten, with their replacements and what these lack.
    fn trees_without(
        &self,
        trees: &BTreeSet<ObjectId>,
        is_forgotten: &IsPathForgotten<'_>,
        replacements: Replacements,
        on_damage: OnDamage,
    ) -> Result<HashMap<ObjectId, RewrittenTree>> {
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
        let mut rewritten = HashMap::new();
        let mut extents = TreeExtents::default();
        for old in trees.iter().filter(|tree| **tree != ObjectId::EMPTY_TREE) {
            extents.check(&reader, *old)?;
            let (new, gone) = rewriting.tree(*old, &[])?;
            if !gone.is_empty() {
                rewritten.insert(*old, (new, gone));
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

impl Snapshots {
    /// Returns the rules that contain the lines of a forgotten ignore file that is not in the tree, with their
    /// replacements, in which such a file counts as one that was never read. With [`OnDamage::GiveUp`], lost ones count
    /// as empty.
    pub(crate) fn rules_without(
        &self,
        rules: &[ObjectId],
        is_forgotten: &IsPlaceForgotten<'_>,
        replacements: Replacements,
        on_damage: OnDamage,
    ) -> Result<Replaced<(ObjectId, ObjectId)>> {
        let reader = self.objects.reader()?;
        let (mut rewritten, mut paths) = (Vec::new(), BTreeSet::new());
        let mut texts = BTreeMap::new();
        for old in rules {
            let text = match reader.blob(*old) {
                Err(error) if on_damage == OnDamage::GiveUp && error.is_damage() => continue,
                text => text?,
            };
            if let Some((text, files)) = rules_without(Rules::decode(&text)?, is_forgotten) {
                let id = blob_id(&text);
                rewritten.push((*old, id));
                paths.extend(files);
                texts.insert(id, text);
            }
        }
        self.write_texts(&texts, replacements)?;
        Ok((rewritten, paths))
    }
}

/// Returns the text of rules without the lines of forgotten ignore files, and these files; `None` without any.
fn rules_without(
    mut rules: Rules,
    is_forgotten: &IsPlaceForgotten<'_>,
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

/// Lets one entry stand for all that was seen in a forgotten directory, and returns these directories.
fn forget_seen(entries: &mut [Gap], is_forgotten: &IsPlaceForgotten<'_>) -> BTreeSet<Vec<u8>> {
    let mut directories = BTreeSet::new();
    for seen in entries {
        let above = std::iter::successors(parent(&seen.path), |path| parent(path));
        let above =
            above.filter(|path| !path.is_empty() && is_forgotten(path, PathKind::Directory));
        if let Some(path) = above.last().map(<[u8]>::to_vec) {
            directories.insert(path.clone());
            let is_directory = true;
            *seen = entry(&ForgottenPath { path, is_directory });
        }
    }
    directories
}

/// Returns the seen entry that stands for a forgotten path.
fn entry(gone: &ForgottenPath) -> Gap {
    Gap {
        path: gone.path.clone(),
        reason: match gone.is_directory {
            true => GapReason::ForgottenDirectory,
            false => GapReason::Forgotten,
        },
        size: None,
        is_directory: gone.is_directory,
    }
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
