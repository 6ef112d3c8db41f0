//! Lets no user do more with what comes back without its ACL. The group bits of a file with an ACL are its mask, and
//! would be the group's own permissions without it. No snapshot holds an ACL, only what it takes from the group bits.

use std::collections::BTreeMap;
use std::path::Path;

use ckpt_schema::report::ReasonCode;

use super::apply;
use crate::error::Result;
use crate::fs::acl;
use crate::model::entry::{Entry, EntryKind, Mode};
use crate::model::item::{Item, ItemReason};
use crate::model::note::{self, Note};
use crate::model::path::WorkspacePath;
use crate::revert::plan::Plan;
use crate::snapshot::{Snapshot, Snapshots};

/// Takes from the group of each file that comes back without its ACL what that took. `then` is the state that the plan
/// goes back to. Returns a note on the directories, which are made with what `Snapshots::permissions_to_make` says.
pub(crate) fn narrow(
    plan: &mut Plan,
    (snapshots, root): (&Snapshots, &Path),
    (then, now): (&Snapshot, &Snapshot),
) -> Result<Option<Note>> {
    let coming = |item: &&Item| item.is_planned() && item.target.is_some();
    let mut paths: Vec<WorkspacePath> = plan.items.iter().filter(coming).map(path).collect();
    let above = WorkspacePath::all_above(paths.iter());
    paths.extend(above);
    let mut withheld = snapshots.withheld(then, &paths)?;
    // A file gets the ACL of the one that it replaces, or that is moved to its place.
    let moves: BTreeMap<_, _> = apply::moves(&plan.items)
        .into_iter()
        .map(|(from, to)| (to, from))
        .collect();
    withheld.retain(|path, _| {
        let source = moves.get(path).copied().unwrap_or(path);
        !acl::is_at(&source.on_disk(root))
    });
    if withheld.is_empty() {
        return Ok(None);
    }
    for item in &mut plan.items {
        if let Some(bits) = withheld.remove(&item.path)
            && let Some(target) = item.target.filter(|_| item.is_planned())
        {
            item.target = Some(without(target, bits));
            item.goal = item.goal.map(|goal| without(goal, bits));
            item.reason.get_or_insert_with(|| {
                let text = "not kept: its ACL, so its group may do no more than that let it";
                ItemReason::new(ReasonCode::NotKept, text)
            });
        }
    }
    made(snapshots, now, withheld)
}

fn path(item: &Item) -> WorkspacePath {
    item.path.clone()
}

fn without(target: Entry, group: u32) -> Entry {
    let permissions = target.mode.permissions() & !(group << 3);
    let mode = match target.mode.kind() {
        EntryKind::File => Mode::file(permissions),
        EntryKind::Directory => Mode::directory(permissions),
        EntryKind::Symlink => target.mode,
    };
    Entry { mode, ..target }
}

/// Names the directories among these that are made.
fn made(
    snapshots: &Snapshots,
    now: &Snapshot,
    withheld: BTreeMap<WorkspacePath, u32>,
) -> Result<Option<Note>> {
    let (_, made) = snapshots.part_directories(now, withheld.into_keys().collect())?;
    let made = made.iter().map(WorkspacePath::to_text).collect();
    Ok(note::on(made, |directories| Note::AclsLost { directories }))
}
