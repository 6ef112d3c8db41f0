//! `forget`: removes every trace of a path, a session, a message or a workspace, wherever it is stored.
//!
//! ```text
//! what ──► trees without it, stored ──► rows, in one transaction ──► database written anew ──► one pack of the rest
//!                                       the workspace is unswept                              it is swept
//! ```
//!
//! If it is killed before the end, a note in the store says so to every command, and the next `gc` or `forget` finishes
//! what was begun. The note goes once a look at what was promised finds nothing. While a step or an operation is open,
//! nothing is forgotten: they may need it.

use std::path::{Path, PathBuf};

use ckpt_schema::report::{ForgetReport, ForgetWorkspace, PathText, VERSION};

use super::forgotten_part::{ForgetPart, Without, add_damaged};
use super::forgotten_rows::Wholes;
use super::gc::{self, pack, sizes};
use super::promise::{self, Promise};
use super::{adoption, forgotten_rows, repair};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{layout, presence, reserve};
use crate::model::hex::Hex;
use crate::model::instruction::Instruction;
use crate::model::path::WorkspacePath;
use crate::model::request::DryRun;
use crate::objects::repack::OnDamage;
use crate::sessions::forget::{self, Belongings, NamingRows};
use crate::sessions::{self, OpenStep};
use crate::snapshot::{Forgetting, PathPattern, Replacements};
use crate::store::Store;
use crate::timeline::orphans::refuse_orphans;
use crate::timeline::{LOCK_TIMEOUT, Place, life};

/// What to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Files whose paths match a pattern, written as in an ignore file in the workspace's root.
    Path(String),
    /// A session with its sub-agents, by any of its ids: its prompts, and what it wrote.
    Session(String),
    /// A message, by any of its ids: its prompt, and what its steps wrote.
    Message(String),
    /// The workspace, with its history.
    Workspace,
    /// Every workspace.
    All,
}

/// Forgets, or says what would be forgotten. Ids are ours.
pub(crate) fn forget(
    store: &mut Store,
    cwd: &Path,
    what: &What,
    dry_run: DryRun,
) -> Result<ForgetReport> {
    let mut report = ForgetReport {
        version: VERSION,
        dry_run: dry_run.is_dry(),
        ..ForgetReport::default()
    };
    if store.is_missing {
        return match what {
            What::All => Ok(report),
            _ => Err(Error::unavailable("there is no store yet")),
        };
    }
    // Only `--all` removes what no row names as well.
    if *what != What::All && presence::metadata(cwd)?.is_some() {
        refuse_orphans(store, cwd)?;
    }
    let directory = store.surroundings.directory.clone();
    let lock = layout::lock_upkeep(&directory, LOCK_TIMEOUT)?;
    report.bytes_before = sizes::of_store(store)?.limited();
    report.bytes_after = report.bytes_before;
    let mut was_begun = false;
    if dry_run == DryRun::No {
        // What was set aside goes as a whole, so what only it holds comes first.
        repair::take_over_all(store)?;
        was_begun = finish_begun(store)?;
    }
    report.copies = copies(&directory)?;
    let places = match places(store, cwd, what) {
        // It was a part of what was begun before, and is gone now.
        Err(error) if was_begun && error.is_unrecorded() => {
            report.bytes_after = sizes::of_store(store)?.limited();
            return Ok(report);
        }
        places => places?,
    };
    // All of them before the first row goes: a request that fails halfway must not have forgotten half.
    let busy = busy_ones(store, &places, dry_run)?;
    // Before the first row goes: SQLite leaves the bytes of deleted rows in free pages.
    store.database.overwrite_deleted()?;
    let mut promises = Vec::new();
    let wholes = Wholes {
        workspaces: places
            .iter()
            .map(|(place, _)| (place.row.key.clone(), place.row.last_snapshot_id))
            .collect(),
        is_all: *what == What::All,
    };
    for (place, what) in &places {
        let remotes = forgotten_rows::remotes(store, place)?;
        let machine = sessions::machine_of(store.database.connection(), place.row.id)?;
        let forgotten = match what {
            What::Workspace | What::All => whole(store, place, &wholes, dry_run),
            What::Path(_) | What::Session(_) | What::Message(_) => {
                forget_named(store, place, what, dry_run, was_begun)
            }
        };
        let is_first = dry_run.is_dry() || report.workspaces.is_empty(); // Nothing is gone yet.
        let (forgotten, promise) =
            forgotten.map_err(|error| if is_first { error } else { begun(error) })?;
        promises.push(promise);
        report.workspaces.push(ForgetWorkspace {
            busy: busy.contains(&place.row.id),
            machine,
            remotes,
            ..forgotten
        });
    }
    if dry_run == DryRun::No {
        let finished = finish(store, what, &promises).map_err(begun);
        lock.touch();
        report.bytes_after = finished?;
    }
    Ok(report)
}

/// Returns the paths of the copies of the session store, also those that a killed migration left half-written: they hold
/// the same prompts.
fn copies(directory: &Path) -> Result<Vec<String>> {
    let mut copies = sessions::copies(directory)?;
    copies.extend(sessions::unfinished(directory)?);
    let text = |copy: &PathBuf| copy.to_string_lossy().into_owned();
    Ok(copies.iter().map(text).collect())
}

/// Returns the workspaces where a step or an operation is open. Only a dry run goes on in spite of them.
fn busy_ones(store: &Store, places: &[(Place, What)], dry_run: DryRun) -> Result<Vec<i64>> {
    let mut busy = Vec::new();
    for (place, _) in places {
        match check_idle(store, place) {
            Err(error) if dry_run.is_dry() && error.kind == ErrorKind::Busy => {
                busy.push(place.row.id)
            }
            checked => checked?,
        }
    }
    Ok(busy)
}

/// Fails if a step or an operation is open where something would be forgotten.
pub(crate) fn check_all_idle(store: &Store, cwd: &Path, what: &What) -> Result<()> {
    if store.is_missing {
        return Ok(());
    }
    let places = places(store, cwd, what)?;
    let check = |(place, _): &(Place, What)| check_idle(store, place);
    places.iter().try_for_each(check)
}

/// Removes what the rows that went had named, and looks whether all is gone. Returns the size of the store after that.
fn finish(store: &mut Store, what: &What, promises: &[Promise]) -> Result<u64> {
    let directory = store.surroundings.directory.clone();
    if *what == What::All {
        let all = Wholes {
            is_all: true,
            ..Wholes::default()
        };
        forgotten_rows::begin(&directory, &all)?;
        // Rows first, folders after them, as everywhere: a folder without rows is found again, a row without its
        // folder is damage.
        store.database.write(forget::rest)?;
        // Including those of former session stores, and none of a workspace that came meanwhile.
        sizes::remove_folders(&directory, |folder| Ok(!sizes::is_known(store, folder)?))?;
        reserve::remove(&directory)?;
    }
    // A killed one leaves a part of a folder, and an event that found the workspace before may have made it again: its
    // row comes to nothing, and the event begins anew with another workspace.
    let keys: Vec<&str> = promises.iter().filter_map(Promise::key).collect();
    sizes::remove_folders(&directory, |folder| {
        let is_promised = keys.iter().any(|key| folder.ends_with(key));
        Ok(is_promised && !sizes::is_known(store, folder)?)
    })?;
    scrub(store)?;
    sweep_all(store)?;
    promise::check(store, promises)?;
    forgotten_rows::end(&directory)?;
    // The former ones are gone. Without one, a damaged first page would cost every row, now that the file is written
    // anew; but nothing that was promised depends on it.
    let _ = sessions::back_up(
        &store.database,
        &directory,
        store.surroundings.now_in_seconds(),
    );
    Ok(sizes::of_store(store)?.limited())
}

/// Finishes what a `forget` had begun to remove when it was interrupted. Returns whether there was anything. The caller
/// holds the lock of upkeep.
pub(crate) fn finish_begun(store: &mut Store) -> Result<bool> {
    let directory = store.surroundings.directory.clone();
    let Some(mut wholes) = forgotten_rows::begun(&directory)? else {
        return Ok(false);
    };
    store.database.overwrite_deleted()?;
    forgotten_rows::take_out_begun(store)?;
    let mut going = Vec::new();
    for place in forgotten_rows::all_places(store)? {
        match wholes.workspaces.get(&place.row.key) {
            Some(newest) if *newest == place.row.last_snapshot_id => going.push(place),
            Some(_) => {
                tell_of_unfinished(store, &place)?;
                wholes.workspaces.remove(&place.row.key);
            }
            None => {}
        }
    }
    // The note is now written anew, without those that stay.
    for place in &going {
        whole(store, place, &wholes, DryRun::No)?;
    }
    sizes::remove_folders(&directory, |folder| {
        Ok(!sizes::is_known(store, folder)? && layout::is_going(folder)?)
    })?;
    let what = match wholes.is_all && sessions::workspaces(store.database.connection())?.is_empty()
    {
        true => What::All,
        // Another one began since.
        false => What::Workspace,
    };
    let promises = wholes.workspaces.into_keys().map(Promise::Whole);
    finish(store, &what, &promises.collect::<Vec<_>>())?;
    Ok(true)
}

/// Says that a workspace stays that was to be forgotten: its user went on in it after the command was interrupted.
fn tell_of_unfinished(store: &mut Store, place: &Place) -> Result<()> {
    let root = place.root.display();
    let message = format!(
        "`{root}` was to be forgotten, and is not: that was interrupted, and it was used again since; \
         `ckpt-hook forget --workspace` forgets it"
    );
    store.diagnose(&sessions::Diagnostic {
        level: sessions::DiagnosticLevel::Warning,
        message: &message,
        is_untold: true,
        ..sessions::Diagnostic::default()
    })
}

/// Says that an error came when something was forgotten already.
fn begun(error: Error) -> Error {
    error.after(["some of it may be gone: `ckpt-hook gc` removes what is left of that".to_owned()])
}

/// Forgets a part of a workspace. A pattern that matches nothing is an error, unless an earlier, interrupted call
/// already took what it matches.
fn forget_named(
    store: &mut Store,
    place: &Place,
    what: &What,
    dry_run: DryRun,
    was_begun: bool,
) -> Result<(ForgetWorkspace, Promise)> {
    // Asked before the rows change: afterwards the workspace is unswept in any case.
    let is_new = !was_begun && !is_unswept(store, place)?;
    let part = part(store, place, what)?;
    let (forgotten, forgetting) = match dry_run {
        DryRun::Yes => forgettable(store, place, &part)?,
        DryRun::No => forget_part(store, place, &part)?,
    };
    if let (What::Path(pattern), true) = (what, is_new && is_nothing(&forgotten)) {
        return Err(Error::unavailable(format!(
            "nothing recorded in `{}` matches `{pattern}`",
            place.root.display()
        ))
        .hint("patterns are written as in an ignore file: `*.env`, `/config/keys/`"));
    }
    Ok((forgotten, Promise::Part(place.row.id, forgetting)))
}

/// Removes what no row names any more from every workspace that is still unswept.
fn sweep_all(store: &mut Store) -> Result<()> {
    for presence in sessions::presences(store.database.connection())? {
        if presence.is_unswept {
            let row = sessions::workspace(store.database.connection(), presence.id)?;
            sweep(store, &Place::of_row(store, row))?;
        }
    }
    Ok(())
}

/// Removes former session stores and the log, and rewrites the session store without the deleted rows.
pub(crate) fn scrub(store: &Store) -> Result<()> {
    remove_former(&store.surroundings.directory)?;
    store.database.scrub()
}

/// Removes former session stores, and the log, which names files.
fn remove_former(directory: &Path) -> Result<()> {
    for path in sessions::copies(directory)? {
        presence::remove_file(&path)?;
    }
    sessions::remove_unfinished(directory)?;
    for name in ["log", "log.old"] {
        presence::remove_file(&directory.join(name))?;
    }
    Ok(())
}

/// Returns whether a call that forgot something of a workspace was killed before its end.
fn is_unswept(store: &Store, place: &Place) -> Result<bool> {
    let mut presences = sessions::presences(store.database.connection())?.into_iter();
    Ok(presences.any(|presence| presence.id == place.row.id && presence.is_unswept))
}

fn is_nothing(forgotten: &ForgetWorkspace) -> bool {
    forgotten.files.is_empty() && forgotten.prompts == 0
}

/// Returns the workspaces that are meant.
fn places(store: &Store, cwd: &Path, what: &What) -> Result<Vec<(Place, What)>> {
    let places = match what {
        What::All => forgotten_rows::all_places(store)?,
        What::Workspace => match gone_places(store, cwd)? {
            gone if gone.is_empty() => vec![Place::known(store, cwd)?],
            gone => gone,
        },
        What::Path(_) | What::Session(_) | What::Message(_) => {
            return forgotten_rows::in_roots(store, place(store, cwd)?, what);
        }
    };
    Ok(places.into_iter().map(|it| (it, what.clone())).collect())
}

/// Returns the workspace that holds a directory or, if that no longer exists, the one that was last used at its path.
pub(crate) fn place(store: &Store, cwd: &Path) -> Result<Place> {
    let gone = gone_places(store, cwd)?.into_iter();
    match gone.max_by_key(|place| place.row.used_at) {
        Some(place) => Ok(place),
        None => Place::known(store, cwd),
    }
}

/// Returns the workspaces that were at a path where nothing is any more.
fn gone_places(store: &Store, path: &Path) -> Result<Vec<Place>> {
    if presence::metadata(path)?.is_some() {
        return Ok(Vec::new());
    }
    let mut gone = forgotten_rows::all_places(store)?;
    gone.retain(|place| place.root == path);
    Ok(gone)
}

/// Fails if something is under way that may need what is to be forgotten.
fn check_idle(store: &Store, place: &Place) -> Result<()> {
    let connection = store.database.connection();
    let name = place.root.display();
    let steps = sessions::open_steps(connection, place.row.id)?;
    // No event would ever report the end of a step whose agent was killed.
    let now = store.now();
    let is_at_work = |step: &OpenStep| !life::is_dead(&step.life, step.last_event_at, now);
    if steps.iter().any(is_at_work) {
        return Err(
            Error::busy(format!("an agent is at work in `{name}`: a step is open"))
                .hint("try again when it has ended"),
        );
    }
    if sessions::has_open_operation(connection, place.row.id)? {
        return Err(
            Error::busy(format!("an operation in `{name}` is not finished"))
                .hint(format!("{} says what it waits for", Instruction::Status)),
        );
    }
    Ok(())
}

fn part(store: &Store, place: &Place, what: &What) -> Result<ForgetPart> {
    let connection = store.database.connection();
    Ok(match what {
        What::Path(pattern) => {
            let path = Path::new(pattern);
            let text = match place.path_of(path).filter(|_| path.is_absolute()) {
                Some(path) => [b"/", path.as_bytes()].concat(),
                None => pattern.as_bytes().to_vec(),
            };
            let parsed = PathPattern::parse(&text).ok_or_else(|| no_pattern(pattern))?;
            ForgetPart::Paths(parsed)
        }
        What::Message(id) => ForgetPart::Of(forget::belongings_of_message(connection, id)?),
        What::Session(id) => ForgetPart::Of(forget::belongings_of_session(connection, id)?),
        What::Workspace | What::All => ForgetPart::Of(Belongings::default()),
    })
}

fn no_pattern(pattern: &str) -> Error {
    // As in an ignore file, where they begin a comment and an exception.
    let hint = match pattern.starts_with(['#', '!']) {
        true => format!("write such a name with a backslash: `\\{pattern}`"),
        false => "patterns are written as in an ignore file: `*.env`, `/config/keys/`".to_owned(),
    };
    Error::failed(format!(
        "`{pattern}` is not a pattern that can be forgotten"
    ))
    .hint(hint)
}

/// Forgets a workspace with its history.
fn whole(
    store: &mut Store,
    place: &Place,
    wholes: &Wholes,
    dry_run: DryRun,
) -> Result<(ForgetWorkspace, Promise)> {
    let connection = store.database.connection();
    let mut report = ForgetWorkspace {
        workspace: place.root.to_string_lossy().into_owned(),
        removed: true,
        ..ForgetWorkspace::default()
    };
    (report.snapshots, report.prompts) = forget::numbers(connection, place.row.id)?;
    if dry_run == DryRun::No {
        // In this order everywhere: who settles holds this lock while it waits for the other.
        let _settling = layout::lock_settling(&place.folder, LOCK_TIMEOUT)?;
        let _lock = place.lock(LOCK_TIMEOUT)?;
        check_idle(store, place)?;
        forgotten_rows::begin(&store.surroundings.directory, wholes)?;
        let workspace = place.row.id;
        let words = |connection: &_| forget::prompts_in_other_roots(connection, workspace);
        remove_former(&store.surroundings.directory)
            .and_then(|()| store.database.write(words))
            .and_then(|()| sizes::remove_workspace(store, place))
            .map_err(begun)?;
    }
    Ok((report, Promise::Whole(place.row.key.clone())))
}

/// Says what would be forgotten of a part of a workspace. Nothing is stored, and no other process has to wait.
fn forgettable(
    store: &mut Store,
    place: &Place,
    part: &ForgetPart,
) -> Result<(ForgetWorkspace, Forgetting)> {
    let replacements = Replacements::Hashed;
    let without = read_history(store, place, part, replacements)?;
    let forgetting = find(store, place, part, replacements, without)?;
    let mut report = report_of(place, &forgetting);
    count(store, place.row.id, &forgetting, &mut report)?;
    Ok((report, forgetting))
}

/// Forgets a part of a workspace. The packs still hold it until they are swept.
fn forget_part(
    store: &mut Store,
    place: &Place,
    part: &ForgetPart,
) -> Result<(ForgetWorkspace, Forgetting)> {
    if place.has_objects()? && place.snapshots()?.borrows_now()? {
        // A borrowed pack is the user's and cannot be rewritten: what is to go would stay in it.
        adoption::adopt_now(store, place)?;
    }
    let replacements = Replacements::Stored;
    // Reading a long history takes a while, and hooks wait for the lock: under it, only what came since is read.
    let without = read_history(store, place, part, replacements)?;
    let lock = place.lock(LOCK_TIMEOUT)?;
    check_idle(store, place)?;
    let forgetting = find(store, place, part, replacements, without)?;
    let mut report = report_of(place, &forgetting);
    if forgetting != Forgetting::default() {
        (report.snapshots, report.prompts) =
            take_out(store, place, &lock, &forgetting).map_err(begun)?;
    }
    Ok((report, forgetting))
}

/// Reads the history of a workspace for what a part of it is in objects, and makes those that take their place.
fn read_history(
    store: &Store,
    place: &Place,
    part: &ForgetPart,
    replacements: Replacements,
) -> Result<Without> {
    let mut without = Without::default();
    if !place.has_objects()? {
        return Ok(without);
    }
    match without.add(store, place, part, replacements, OnDamage::Refuse) {
        Ok(_) => Ok(without),
        // `find` heals it, under the lock.
        Err(error) if error.is_damage() => Ok(Without::default()),
        Err(error) => Err(error),
    }
}

/// Finds what a part of a workspace is, in objects and rows: what was read of its history before, and what came since.
fn find(
    store: &mut Store,
    place: &Place,
    part: &ForgetPart,
    replacements: Replacements,
    mut without: Without,
) -> Result<Forgetting> {
    if place.has_objects()? {
        add_damaged(store, place, part, replacements, &mut without)?;
    }
    let forgetting = forgetting(store, place.row.id, part, without)?;
    // Before the first row is changed: half a pattern must not be forgotten.
    part.refuse_undecided()?;
    Ok(forgetting)
}

/// Returns a report that names the files, without the numbers.
fn report_of(place: &Place, forgetting: &Forgetting) -> ForgetWorkspace {
    let paths = forgetting.paths.iter();
    ForgetWorkspace {
        workspace: place.root.to_string_lossy().into_owned(),
        files: paths.map(|path| path_text(path)).collect(),
        ..ForgetWorkspace::default()
    }
}

/// Makes the rows of a workspace name nothing of what is forgotten. Returns the numbers of snapshots and prompts that
/// were concerned. The caller holds the lock.
fn take_out(
    store: &mut Store,
    place: &Place,
    lock: &layout::Lock,
    forgetting: &Forgetting,
) -> Result<(u64, u64)> {
    // Noted first, so that whatever is begun can be finished.
    forgetting.note(&place.folder)?;
    forgotten_rows::begin(&store.surroundings.directory, &Wholes::default())?;
    // If this is killed and the session store is damaged then, no copy of it may bring back what goes.
    remove_former(&store.surroundings.directory)?;
    forgotten_rows::take_out_noted(store, place, lock, forgetting)
}

/// Returns the objects and rows of a part of a workspace.
fn forgetting(
    store: &Store,
    workspace: i64,
    part: &ForgetPart,
    without: Without,
) -> Result<Forgetting> {
    let is_file = |path: &[u8], id| part.has_file(path, id);
    let connection = store.database.connection();
    let blobs = forget::blobs(connection, workspace, &is_file, NamingRows::Stay)?;
    let mut paths = without.paths;
    paths.extend(blobs.keys().cloned());
    let of = part.belongings();
    Ok(Forgetting {
        states: without.states,
        rules: without.rules,
        blobs,
        paths,
        messages: of.messages,
        agent_ids: of.agent_ids,
    })
}

/// Fills in how many snapshots and prompts would go.
fn count(
    store: &Store,
    workspace: i64,
    forgetting: &Forgetting,
    report: &mut ForgetWorkspace,
) -> Result<()> {
    let connection = store.database.connection();
    let states = forgetting.in_trees().map(|one| one.old);
    report.snapshots = forget::snapshots_with(connection, workspace, states)?;
    report.prompts = forget::prompts_of(connection, &forgetting.messages)?;
    Ok(())
}

/// Repacks a workspace without the forgotten objects.
fn sweep(store: &mut Store, place: &Place) -> Result<()> {
    if place.has_objects()? {
        let how = gc::GcOptions::default();
        return pack::whole(store, place, how, pack::Leftovers::AllGo);
    }
    let _lock = place.lock(LOCK_TIMEOUT)?;
    pack::note_swept(store, place)
}

fn path_text(path: &[u8]) -> PathText {
    match WorkspacePath::new(path) {
        Ok(path) => path.to_report(),
        Err(_) => PathText {
            path: String::from_utf8_lossy(path).into_owned(),
            path_hex: Some(Hex(path).to_string()),
        },
    }
}
