//! `doctor`: checks whether what the rows name can be read, and heals what cannot.
//!
//! It checks the newest snapshots first, for a limited time, or all of them on request. Damaged objects are restored
//! from a file in the workspace that still has the same bytes, or from the user's repository.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use ckpt_schema::report::{Finding, FindingLevel};

use super::adoption;
use super::contradictions;
use super::gc::sizes;
use crate::error::Result;
use crate::fs::layout::Lock;
use crate::fs::names::REPOSITORY;
use crate::model::entry::ObjectId;
use crate::model::instruction::Instruction;
use crate::model::number::{count, first_of};
use crate::model::path::WorkspacePath;
use crate::objects;
use crate::sessions::{self, Diagnostic, DiagnosticLevel};
use crate::snapshot::{Broken, Checked, PackCheck, Snapshots};
use crate::store::Store;
use crate::timeline::{Place, SnapshotOptions, check_losses, renew_note, retrace};

/// How long objects are read, unless all of them are asked for.
pub const CHECK_TIME: Duration = Duration::from_secs(10);
/// How long healing waits for a hook that holds the workspace.
const HEAL_LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// How many damaged files are named.
pub(super) const NAMED: usize = 5;
const SUBJECT: &str = "objects";

/// What was read in all workspaces.
#[derive(Default)]
struct Sum {
    objects: u64,
    trees: usize,
    all_trees: usize,
    is_whole: bool,
}

/// Reads the objects of every workspace as long as `goes_on` returns true, heals what it can, and returns what it
/// found. Of whole packs, what no row needs is read as well.
pub(crate) fn check(
    store: &mut Store,
    packs: PackCheck,
    goes_on: &dyn Fn() -> bool,
) -> Vec<Finding> {
    let all = |store: &mut Store| sessions::workspaces(store.database.connection());
    let workspaces = match store.unstuck(all) {
        Ok(workspaces) => workspaces,
        Err(error) => {
            return vec![Finding::error(SUBJECT, error.to_string())];
        }
    };
    let mut findings = Vec::new();
    let mut sum = Sum {
        is_whole: true,
        ..Sum::default()
    };
    for id in workspaces {
        match workspace(store, id, packs, goes_on, &mut sum) {
            // A workspace that cannot be checked is a finding of its own. The others are checked all the same.
            Ok(found) => findings.extend(found),
            Err(error) => {
                let is_stuck = sessions::is_stuck(&error);
                let errors = [
                    Some(error),
                    is_stuck.then(|| store.reopen().err()).flatten(),
                ];
                findings.extend(
                    errors
                        .into_iter()
                        .flatten()
                        .map(|error| Finding::error(SUBJECT, error.with_causes())),
                );
            }
        }
    }
    // On top, although it is known last: it says how much was read, and so how much the rest of the list is worth.
    findings.insert(0, sum.finding());
    findings
}

impl Sum {
    fn finding(&self) -> Finding {
        let Self {
            objects,
            trees,
            all_trees,
            is_whole,
        } = self;
        let read = count(*objects, "object");
        if *is_whole {
            return Finding::ok(
                SUBJECT,
                format!("read {read} of {}", count(*trees as u64, "snapshot")),
            );
        }
        Finding::note(
            SUBJECT,
            format!("read {read}, of the newest {trees} of {all_trees} snapshots"),
        )
        .hint("`ckpt-hook doctor --all` reads all of them")
    }
}

fn workspace(
    store: &mut Store,
    id: i64,
    packs: PackCheck,
    goes_on: &dyn Fn() -> bool,
    sum: &mut Sum,
) -> Result<Vec<Finding>> {
    let row = sessions::workspace(store.database.connection(), id)?;
    let place = Place::of_row(store, row);
    let is_gone = !place.has_objects()?;
    let roots = sessions::roots(store.database.connection(), id)?;
    if is_gone && roots.trees.is_empty() {
        return Ok(Vec::new());
    }
    let name = place.root.display().to_string();
    let mut findings: Vec<Finding> = lost_rows(store, &place).into_iter().collect();
    // While an event or an operation is at work, nothing is healed. Reading is safe all the same.
    let lock = place.lock(HEAL_LOCK_TIMEOUT);
    if !is_gone {
        findings.extend(repository_amiss(&name, &place.folder, lock.is_ok()));
    }
    if let Ok(lock) = &lock {
        findings.extend(prepare(store, &place, lock)?);
    }
    let snapshots = place.snapshots()?;
    let packs = snapshots.check_packs(packs)?;
    let healing = match &lock {
        Ok(_) => Healing::UnderLock,
        Err(_) => Healing::Nothing,
    };
    let Mended {
        checked,
        lost,
        healed,
    } = mend(store, &place, healing, goes_on)?;
    sum.add(&checked, roots.trees.len());
    if is_gone {
        findings.push(repository_gone(&name, &place.folder, lost.is_empty()));
    }
    if healed > 0 {
        findings.push(Finding::repaired(
            SUBJECT,
            format!("`{name}`: {healed} damaged objects were stored again"),
        ));
    }
    let is_harmless = checked.is_whole && lost.is_empty();
    let of_packs = packs
        .iter()
        .map(|(pack, what)| of_pack(&snapshots, pack, what, is_harmless));
    findings.extend(of_packs);
    findings.extend(damage(&name, &lost));
    let contradictions = contradictions::find(store, &place, goes_on)?;
    findings.extend(contradicting(&name, &contradictions));
    if lock.is_ok() {
        name_to_git(store, &place)?;
    }
    Ok(findings)
}

/// Copies what is borrowed, and says what of it is lost. The caller holds the workspace's lock.
fn settled(store: &mut Store, place: &Place, name: &str) -> Result<Vec<Finding>> {
    let lost = adoption::under_lock(store, place)?;
    let lost = lost.iter().map(|lost| format!("`{name}`: {lost}"));
    Ok(lost.map(|text| Finding::error(SUBJECT, text)).collect())
}

/// Looks at the files by which git knows a repository, before opening it makes those that are missing.
fn repository_amiss(name: &str, folder: &Path, may_mend: bool) -> Option<Finding> {
    let repository = folder.join(REPOSITORY);
    let amiss = objects::amiss(&repository);
    if amiss.is_empty() {
        return None;
    }
    let files = first_of(amiss.iter().map(|file| format!("`{file}`")), NAMED);
    let text = format!(
        "`{name}`: of the repository `{}`, these were not as ckpt-hook makes them: {files}",
        repository.display()
    );
    Some(match may_mend && objects::prepare(&repository).is_ok() {
        true => Finding::repaired(SUBJECT, text),
        false => Finding::error(SUBJECT, text),
    })
}

fn repository_gone(name: &str, folder: &Path, is_healed: bool) -> Finding {
    let text = format!(
        "`{name}`: the repository in `{}` was gone",
        folder.display()
    );
    match is_healed {
        true => Finding::repaired(SUBJECT, text),
        false => Finding::error(SUBJECT, text),
    }
}

/// The result of reading the objects of a workspace.
struct Mended {
    /// What was read at last.
    checked: Checked,
    /// What is damaged for good.
    lost: Vec<Broken>,
    /// How many damaged objects were stored again.
    healed: usize,
}

/// Whether damaged objects are stored again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Healing {
    /// They are: the caller holds the workspace's lock.
    UnderLock,
    /// They are only found.
    Nothing,
}

/// Reads what the rows of a workspace name, heals what it can, and reads again: only an intact tree shows what it leads
/// to.
fn mend(
    store: &Store,
    place: &Place,
    healing: Healing,
    goes_on: &dyn Fn() -> bool,
) -> Result<Mended> {
    let mut healed = 0;
    let mut known = BTreeSet::new();
    loop {
        let roots = sessions::roots(store.database.connection(), place.row.id)?;
        let mut checked = place.snapshots()?.check(&roots, goes_on)?;
        let mut broken = std::mem::take(&mut checked.broken);
        find_paths(store, place.row.id, &mut broken)?;
        let before = broken.len();
        // What was not whole after all would be healed again and again.
        let ids: BTreeSet<ObjectId> = broken.iter().map(|broken| broken.id).collect();
        let is_new = std::mem::replace(&mut known, ids) != known;
        let lost = match healing == Healing::UnderLock && is_new && before > 0 {
            true => heal(store, place, broken)?,
            false => broken,
        };
        healed += before - lost.len();
        if lost.len() == before {
            return Ok(Mended {
                checked,
                lost,
                healed,
            });
        }
    }
}

/// Heals the damaged objects of a workspace for a caller that needs them, in the time that `doctor` takes at most.
/// Returns whether anything was healed.
pub(crate) fn heal_workspace(store: &mut Store, place: &Place) -> Result<bool> {
    let _lock = place.lock(HEAL_LOCK_TIMEOUT)?;
    heal_under_lock(store, place)
}

/// The same for a caller that holds the workspace's lock.
pub(crate) fn heal_under_lock(store: &mut Store, place: &Place) -> Result<bool> {
    let begin = Instant::now();
    // Indexes first: an object whose index is damaged looks lost, and would be stored a second time.
    let rebuilt = place.snapshots()?.rebuild_indexes(u64::MAX)?.len();
    let healed = mend(store, place, Healing::UnderLock, &|| {
        begin.elapsed() < CHECK_TIME
    })?
    .healed;
    if rebuilt + healed == 0 {
        return Ok(false);
    }
    let workspace = place.root.to_string_lossy();
    store.diagnose(&Diagnostic {
        level: DiagnosticLevel::Warning,
        workspace: Some(&workspace),
        message: "the store was damaged and was healed",
        detail: Some(&format!(
            "indexes of packs made again: {rebuilt}; objects stored again: {healed}"
        )),
        ..Diagnostic::default()
    })?;
    Ok(true)
}

/// Fills in the paths of damaged files that no tree names any more, from the changes that do.
fn find_paths(store: &Store, workspace: i64, broken: &mut [Broken]) -> Result<()> {
    let nameless = broken.iter_mut().filter(|broken| broken.path.is_none());
    let mut nameless: Vec<&mut Broken> = nameless.collect();
    let blobs = nameless.iter().map(|broken| broken.id).collect();
    let paths = sessions::paths_of_blobs(store.database.connection(), workspace, &blobs)?;
    for broken in &mut nameless {
        broken.path = paths.get(&broken.id).cloned();
    }
    Ok(())
}

fn of_pack(snapshots: &Snapshots, pack: &str, what: &str, is_harmless: bool) -> Finding {
    let repository = snapshots.repository();
    let text = format!("`{}/objects/pack/{pack}` {what}", repository.display());
    if is_harmless {
        Finding::warning(SUBJECT, format!("{text}; nothing that is needed is lost"))
    } else {
        Finding::error(SUBJECT, text)
    }
}

impl Sum {
    fn add(&mut self, checked: &Checked, trees: usize) {
        self.objects += checked.objects;
        self.trees += checked.trees;
        self.all_trees += trees;
        self.is_whole &= checked.is_whole;
    }
}

/// Takes a snapshot of the workspace, which stores the damaged objects that its files still have, and looks for the rest
/// elsewhere: in files, in the user's repository, and for trees in what rows know.
fn heal(store: &Store, place: &Place, broken: Vec<Broken>) -> Result<Vec<Broken>> {
    if place.is_there() {
        let how = SnapshotOptions {
            anew: true,
            ..SnapshotOptions::default()
        };
        // A workspace that cannot be captured heals nothing.
        let _ = place.take(store, &place.snapshots()?, how);
    }
    let snapshots = place.snapshots()?;
    // A note of the packs may still know an object of one that has no index.
    snapshots.list_packs()?;
    let still = |broken: &Broken| snapshots.is_broken(broken.id);
    let rest = broken.into_iter().filter(still).collect();
    let mut lost = snapshots.heal(&place.root, rest)?;
    let roots: BTreeSet<ObjectId> = lost.iter().filter_map(|broken| broken.root).collect();
    let mut is_retraced = false;
    for root in roots {
        let connection = store.database.connection();
        is_retraced |= retrace(connection, place.row.id, &snapshots, root)? > 0;
    }
    if is_retraced {
        lost.retain(still);
    }
    Ok(lost)
}

/// Returns the contradictions between rows and snapshots, in one sentence per workspace.
fn contradicting(name: &str, paths: &BTreeSet<WorkspacePath>) -> Option<Finding> {
    if paths.is_empty() {
        return None;
    }
    let names = paths
        .iter()
        .map(|path| format!("`{}`", String::from_utf8_lossy(path.as_bytes())));
    let named = first_of(names, NAMED);
    Some(Finding::error("database",
            format!(
                "`{name}`: what the session store says of {named} is not what its snapshots hold: a row is damaged"
            ),
        ).hint("`ckpt-hook restore SNAPSHOT PATH` goes by a snapshot alone"))
}

/// Makes what is to be read the store's own, and complete. The caller holds the lock.
fn prepare(store: &mut Store, place: &Place, lock: &Lock) -> Result<Vec<Finding>> {
    renew_note(store.database.connection(), place, lock)?;
    let name = place.root.display().to_string();
    let mut findings = settled(store, place, &name)?;
    // Before anything is read: without its index, a whole pack looks like lost objects.
    let rebuilt = place.snapshots()?.rebuild_indexes(u64::MAX)?;
    findings.extend(rebuilt.iter().map(|pack| {
        let pack = pack.display();
        let text = format!("`{name}`: the index of `{pack}` was rebuilt from the pack");
        Finding::repaired(SUBJECT, text)
    }));
    Ok(findings)
}

/// Says that the newest rows of a workspace are gone. A warning: nothing can be repaired, and what there is is sound.
fn lost_rows(store: &Store, place: &Place) -> Option<Finding> {
    let error = check_losses(store.database.connection(), place).err()?;
    Some(error.finding(FindingLevel::Warning, "database"))
}

/// Returns the permanent damage, in one sentence per workspace.
fn damage(name: &str, lost: &[Broken]) -> Option<Finding> {
    let first = lost.first()?;
    let names = lost.iter().map(|broken| match &broken.path {
        Some(path) if path.is_empty() => "its directories".to_owned(),
        Some(path) => format!("`{}`", String::from_utf8_lossy(path)),
        None => format!("object `{}`", broken.id),
    });
    let named = first_of(names, NAMED);
    Some(
        Finding::error(
            SUBJECT,
            format!(
                "`{name}`: what the snapshots hold of {} is damaged or missing ({})",
                named, first.what
            ),
        )
        .hint(format!(
            "a revert that needs it is refused; {} reverts other files",
            Instruction::Only
        )),
    )
}

/// How often refs are written again because rows came meanwhile.
const REF_WRITE_ATTEMPTS: usize = 4;

/// Writes the refs from which git knows what is needed, and beside them what else is known about the snapshots.
///
/// Several processes may do this at once, none of which waits for another. The one that wrote last looks once more, so that
/// what is named in the end is not what was read first.
pub(crate) fn name_to_git(store: &Store, place: &Place) -> Result<()> {
    let id = place.row.id;
    let snapshots = place.snapshots()?;
    for _ in 0..REF_WRITE_ATTEMPTS {
        let version = store.database.data_version()?;
        let (named, noted) = store.database.read(|connection| {
            let named = sessions::named(connection, id)?;
            Ok((named, sessions::snapshots_to_note(connection, id)?))
        })?;
        let sessions::Named { trees, blobs } = named;
        snapshots.write_refs(&trees, &blobs)?;
        snapshots.write_note(place.origin(), &noted)?;
        if store.database.data_version()? == version {
            break;
        }
    }
    sizes::note_staying(&place.folder);
    Ok(())
}
