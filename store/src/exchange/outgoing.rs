//! Makes a bundle of what a remote does not have yet.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};

use ckpt_schema::report::{PathText, PushReport, VERSION};
use rusqlite::Connection;
use serde_json::Value;

use super::tables::{Compared, SentRow, TABLES, short_hash};
use super::{Bundle, BundleHead, FORMAT, Remote};
use crate::error::{Context, Error, Result};
use crate::fs::layout::make_private;
use crate::model::entry::ObjectId;
use crate::model::path::{IGNORE_FILE, WorkspacePath};
use crate::sessions::{self, PushedRow, PushedRows, RemoteRow};
use crate::snapshot::{Sending, Snapshot, Snapshots, looks_secret};
use crate::store::Store;
use crate::timeline::Place;

/// The columns that name a blob of a file.
const BLOBS: [&str; 9] = [
    "index_blob",
    "old_blob",
    "new_blob",
    "blob",
    "expected_blob",
    "target_blob",
    "goal_blob",
    "expected",
    "target",
];

/// What stands for the ignore rules among the rows that are at a remote, and for how many snapshots there were pruned since
/// all was sent anew.
const RULES: &str = "rules";
const PRUNED: &str = "pruned";

/// What stands among them for the rows that no push compares any more, because to compare all takes half a second of the
/// processor for 10,000 messages, after each turn of an agent: the number of the last one of each table, how often
/// any had been changed when all were compared, and how many rows may come before that is done again.
const COMPARED: &str = "compared";
const TIMES: &str = "times";
const LEFT: &str = "left";

/// How many of the rows before the last push each push compares, in each table: a late event changes one of them.
const COMPARED_ROWS: usize = 256;

/// All rows are compared once there is one new row for so many of them.
const SHARE: usize = 8;

/// A bundle for a remote.
pub struct Outgoing {
    /// What is in it.
    pub report: PushReport,
    pub(super) address: String,
    rows: Vec<u8>,
    pack: Option<PathBuf>,
    sent: Vec<PushedRow>,
    gone: Vec<(&'static str, String)>,
}

impl Outgoing {
    /// Reads it, to be sent.
    pub fn bundle(&mut self) -> Result<Bundle> {
        let pack = self.pack.as_ref().map(std::fs::read).transpose();
        Ok(Bundle {
            rows: std::mem::take(&mut self.rows),
            pack: pack
                .context(|| "cannot read the objects to push")?
                .unwrap_or_default(),
        })
    }

    /// Returns whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        let says_nothing = |row: &PushedRow| [RULES, PRUNED, COMPARED].contains(&row.kind);
        self.sent.iter().all(says_nothing) && self.gone.is_empty()
    }

    /// Notes that it is at its remote.
    pub(super) fn note(&self, connection: &Connection, remote: i64, commit: &str) -> Result<()> {
        if self.report.anew {
            sessions::forget_pushed(connection, remote)?;
        }
        for row in &self.sent {
            sessions::put_pushed(connection, remote, row)?;
        }
        for (table, row) in &self.gone {
            sessions::remove_pushed(connection, remote, table, row)?;
        }
        sessions::end_push(connection, remote, Some(commit))
    }
}

/// What differs between the rows here and those at a remote.
#[derive(Default)]
struct UnsentRows {
    new: Vec<SentRow>,
    sent: Vec<PushedRow>,
    gone: Vec<(&'static str, String)>,
    /// Whether something that was sent must not stay there.
    is_forgotten: bool,
    /// How many snapshots that were sent are pruned by now, and how many are not.
    pruned: i64,
    living: i64,
    /// Whether all is sent, in place of what is there.
    is_anew: bool,
    /// The ignore rules by which it was sent before.
    rules: Option<i64>,
    /// The newest snapshot that is there.
    there: Option<i64>,
    /// How many rows were compared.
    compared: usize,
}

impl UnsentRows {
    /// Notes a number of one of the kinds that are no rows.
    fn note(&mut self, kind: &'static str, row: &str, hash: i64) {
        let (row, number) = (row.to_owned(), 0);
        self.sent.push(PushedRow {
            kind,
            row,
            number,
            hash,
        });
    }

    /// Notes how many rows may come before all are compared again.
    fn note_left(&mut self, left: usize) {
        self.note(COMPARED, LEFT, left.try_into().unwrap_or(i64::MAX));
    }
}

/// Compares each row with what was sent of it, in whatever way it may have come to differ; of long tables, those after the
/// number that `compared` has, if it is not empty.
fn differing(
    connection: &Connection,
    workspace_id: i64,
    remote: Option<i64>,
    compared: &PushedRows,
) -> Result<UnsentRows> {
    let mut found = UnsentRows::default();
    let mut bytes = Vec::new();
    for table in TABLES {
        let after = match table.compared {
            Compared::All => None,
            Compared::Late => compared.get(table.name).copied(),
            Compared::WithOperations if compared.is_empty() => None,
            Compared::WithOperations => continue,
        };
        let there = remote
            .map(|remote| sessions::pushed(connection, remote, table.name, after.unwrap_or(-1)));
        let mut there = there.transpose()?.unwrap_or_default();
        let is_snapshots = table.name == "snapshots";
        let mut late = VecDeque::new();
        table.each(connection, workspace_id, after, |row| {
            found.compared += 1;
            late.push_back(row.number()?);
            if late.len() > COMPARED_ROWS {
                late.pop_front();
            }
            let hash = row.hash(&mut bytes)?;
            let before = there.remove(row.key()?);
            let is_living = is_snapshots && row.is_null("pruned_at")?;
            found.living += i64::from(is_living);
            if before == Some(hash) {
                if is_living {
                    found.there = row.key()?.parse().ok();
                }
                return Ok(());
            }
            // A snapshot changes if it was pruned, or if something in it was forgotten.
            if is_snapshots && before.is_some() {
                found.pruned += i64::from(!is_living);
                found.is_forgotten |= is_living;
            }
            found.sent.push(PushedRow {
                kind: table.name,
                row: row.key()?.to_owned(),
                number: row.number()?,
                hash,
            });
            found.new.push(row.record()?);
            Ok(())
        })?;
        for row in there.into_keys() {
            found.is_forgotten |= table.is_forgotten_with;
            found.gone.push((table.name, row));
        }
        if late.len() == COMPARED_ROWS {
            found.note(COMPARED, table.name, late[0] - 1);
        }
    }
    found.gone.sort();
    Ok(found)
}

/// Returns the rows that are not at a remote, of those that a push still compares; `None` if it has to compare all.
fn unsent_late(
    connection: &Connection,
    workspace_id: i64,
    remote: i64,
    compared: &PushedRows,
    times: i64,
) -> Result<Option<UnsentRows>> {
    if compared.get(TIMES) != Some(&times) {
        return Ok(None);
    }
    let mut found = differing(connection, workspace_id, Some(remote), compared)?;
    let left = compared
        .get(LEFT)
        .and_then(|left| usize::try_from(*left).ok());
    let left = left.and_then(|left| left.checked_sub(found.new.len()));
    // An operation changes what was done before it.
    let is_operation = |row: &PushedRow| row.kind == "operations";
    let changes_older =
        found.is_forgotten || found.pruned > 0 || found.sent.iter().any(is_operation);
    let Some(left) = left.filter(|_| !changes_older) else {
        return Ok(None);
    };
    found.note_left(left);
    Ok(Some(found))
}

/// Returns the rows that are not at a remote, or all, if something there must not stay.
fn unsent(
    connection: &Connection,
    workspace_id: i64,
    remote: Option<&RemoteRow>,
    anew: bool,
) -> Result<UnsentRows> {
    let of_kind = |kind: &str| match remote {
        Some(remote) => sessions::pushed(connection, remote.id, kind, -1),
        None => Ok(PushedRows::new()),
    };
    let own = |kind: &str| Ok::<_, Error>(of_kind(kind)?.remove(""));
    let (rules, pruned) = (own(RULES)?, own(PRUNED)?.unwrap_or_default());
    let is_forgotten = own(sessions::FORGOTTEN)?.is_some();
    let times = own(sessions::REWRITTEN)?.unwrap_or_default();
    // Without rules, nothing is there, or another history that was pushed from here.
    if let Some(remote) = remote.filter(|_| !anew && !is_forgotten && rules.is_some()) {
        let compared = of_kind(COMPARED)?;
        if let Some(found) = unsent_late(connection, workspace_id, remote.id, &compared, times)? {
            return Ok(UnsentRows {
                pruned,
                rules,
                ..found
            });
        }
        let mut found = differing(
            connection,
            workspace_id,
            Some(remote.id),
            &PushedRows::new(),
        )?;
        // What was pruned is not sent anew each time: it goes once it is the larger part of what is there.
        let pruned = pruned + found.pruned;
        if !found.is_forgotten && pruned <= found.living {
            found.note(COMPARED, TIMES, times);
            found.note_left(found.compared / SHARE);
            return Ok(UnsentRows {
                pruned,
                rules,
                ..found
            });
        }
    }
    let mut found = differing(connection, workspace_id, None, &PushedRows::new())?;
    found.note(COMPARED, TIMES, times);
    found.note_left(found.compared / SHARE);
    Ok(UnsentRows {
        is_anew: true,
        ..found
    })
}

/// See [`Store::behind_forget`].
pub(super) fn behind_forget(connection: &Connection, workspace_id: i64) -> Result<Vec<Remote>> {
    let mut behind = Vec::new();
    for row in sessions::remotes(connection, workspace_id)? {
        let is_noted = !sessions::pushed(connection, row.id, sessions::FORGOTTEN, -1)?.is_empty();
        let all = PushedRows::new();
        if is_noted || differing(connection, workspace_id, Some(row.id), &all)?.is_forgotten {
            behind.push(row.into());
        }
    }
    Ok(behind)
}

/// See [`Store::outgoing`].
pub(super) fn outgoing(
    store: &mut Store,
    cwd: &Path,
    to: &Remote,
    anew: bool,
    scratch: &Path,
) -> Result<Outgoing> {
    let place = Place::known(store, cwd)?;
    let connection = store.database.connection();
    let remotes = sessions::remotes(connection, place.row.id)?;
    let remote = remotes.iter().find(|row| row.address == to.address);
    let had_any = !anew || remote.is_some_and(|remote| remote.tip.is_some());
    let mut found = unsent(connection, place.row.id, remote, anew)?;
    let newest = place.row.last_snapshot_id.ok_or_else(|| {
        Error::unavailable("nothing has been captured here yet, so there is nothing to push")
    })?;
    let newest = sessions::snapshot(connection, newest)?.snapshot;
    let snapshots = place.snapshots()?;
    let key = rules_key(&snapshots, &newest)?;
    // Under other rules, others of its files were left out.
    let is_sealed = to.keys.is_some();
    let is_same = found.rules == Some(key) || is_sealed;
    let there = found.there.filter(|_| is_same && !found.is_anew);
    let there = there.map(|id| sessions::snapshot(connection, id));
    let there = there.transpose()?.map(|row| row.snapshot);
    make_private(&scratch.join("objects/pack"))?;
    let new = std::mem::take(&mut found.new);
    found.note(RULES, "", key);
    found.note(PRUNED, "", found.pruned);
    let ((records, sums), pack) =
        snapshots.send(&place.root, Some(&newest), scratch, |sending| {
            sending.is_sealed = is_sealed;
            if let Some(there) = &there {
                sending.is_there(there)?;
            }
            let records = send(sending, new)?;
            let sums = (
                texts(&sending.ignored),
                texts(&sending.secrets),
                sending.bytes,
            );
            Ok((records, sums))
        })?;
    let report = PushReport {
        workspace: place.root.to_string_lossy().into_owned(),
        remote: to.shown(),
        name: to.name.clone(),
        keys: to
            .keys
            .iter()
            .flat_map(|keys| keys.lines())
            .map(str::to_owned)
            .collect(),
        anew: found.is_anew && had_any,
        pruned: found.pruned.cast_unsigned(),
        ..counted(&records, sums)
    };
    let head = BundleHead {
        format: FORMAT,
        path: report.workspace.clone(),
        workspace: place.row.key.clone(),
        anew: found.is_anew,
        last: place.row.last_snapshot_id.map(|id| id.to_string()),
        made_at: store.now(),
    };
    let gone = found.gone.iter().map(|(table, row)| SentRow {
        table: (*table).to_owned(),
        row: row.clone(),
        values: None,
    });
    Ok(Outgoing {
        address: to.address.clone(),
        rows: lines(&head, gone.chain(records))?,
        report,
        pack,
        sent: found.sent,
        gone: found.gone,
    })
}

/// The ignored files that were left out, those that look as if they held a secret, and the bytes of objects.
type Sums = (Vec<PathText>, Vec<PathText>, u64);

/// Returns a report that says how much is sent.
fn counted(records: &[SentRow], (ignored, secrets, bytes): Sums) -> PushReport {
    let count = |table: &str| {
        let of_table = records.iter().filter(|record| record.table == table);
        of_table.count() as u64
    };
    let is_secret = |record: &&SentRow| {
        let texts = ["prompt", "command"].map(|column| record.text(column));
        let mut texts = texts.into_iter().flatten();
        texts.any(|text| looks_secret(text.as_bytes()))
    };
    PushReport {
        version: VERSION,
        workspace: String::new(),
        remote: String::new(),
        name: String::new(),
        former: None,
        machine: String::new(),
        pushed: false,
        anew: false,
        pruned: 0,
        messages: count("messages"),
        snapshots: count("snapshots"),
        changes: count("changes"),
        bytes,
        keys: Vec::new(),
        ignored,
        secrets,
        secret_prompts: records.iter().filter(is_secret).count() as u64,
    }
}

/// Returns a hash of the rules that say what is ignored by now.
fn rules_key(snapshots: &Snapshots, newest: &Snapshot) -> Result<i64> {
    let mut text = format!("{:?}", newest.rules);
    for (path, entry) in snapshots.entries(newest)? {
        if path.name() == IGNORE_FILE {
            text.push_str(&format!("{} {:?}", path.to_text(), entry.blob));
        }
    }
    Ok(short_hash(text.as_bytes()))
}

fn texts<'p>(paths: impl IntoIterator<Item = &'p Vec<u8>>) -> Vec<PathText> {
    let paths = paths.into_iter().cloned();
    let paths = paths.filter_map(|path| WorkspacePath::new(path).ok());
    paths.map(|path| path.to_report()).collect()
}

fn lines(head: &BundleHead, records: impl Iterator<Item = SentRow>) -> Result<Vec<u8>> {
    let what = || "cannot write rows for another machine";
    let mut lines = serde_json::to_vec(head).context(what)?;
    for record in records {
        lines.push(b'\n');
        serde_json::to_writer(&mut lines, &record).context(what)?;
    }
    lines.push(b'\n');
    Ok(lines)
}

/// Sends the objects that rows name, and returns the rows as they are there: without what is ignored.
fn send(sending: &mut Sending<'_>, new: Vec<SentRow>) -> Result<Vec<SentRow>> {
    let mut records = Vec::new();
    for mut record in new {
        if record.table == "snapshots" {
            send_snapshot(sending, &mut record)?;
        }
        records.push(record);
    }
    // Only now is it known what is ignored.
    records.retain(|record| record.path().is_none_or(|path| !sending.leaves_out(&path)));
    let mut asked = HashSet::new();
    for record in &mut records {
        match record.table.as_str() {
            "tools" => {
                let named = record
                    .text("paths")
                    .map(serde_json::from_str::<Vec<String>>);
                if let Some(Ok(mut named)) = named {
                    named.retain(|path| !sending.leaves_out(path.as_bytes()));
                    record.set("paths", Value::from(named).to_string());
                }
            }
            // They may name what is ignored.
            "operations" if !sending.is_sealed => {
                record.set("notes", "[]");
                record.set("only_paths", "[]");
                record.set("directories", "[]");
            }
            _ => {}
        }
        let path = record.path().unwrap_or_default();
        for blob in BLOBS.iter().filter_map(|column| record.object(column)) {
            // What belongs to a pruned snapshot is gone.
            if asked.insert(blob) {
                let _ = sending.blob(blob, &path);
            }
        }
    }
    Ok(records)
}

/// Returns whether a row is of a snapshot whose objects were removed.
pub(super) fn is_pruned(record: &SentRow) -> bool {
    let values = record.values.as_ref();
    values.is_some_and(|values| values.get("pruned_at").is_some_and(|at| !at.is_null()))
}

fn send_snapshot(sending: &mut Sending<'_>, record: &mut SentRow) -> Result<()> {
    let (Some(tree), false) = (record.object("tree"), is_pruned(record)) else {
        for column in ["attributes_blob", "rules_blob", "seen_blob"] {
            record.set(column, Value::Null);
        }
        return Ok(());
    };
    let sent = sending.snapshot(&Snapshot {
        tree,
        attributes: record.object("attributes_blob"),
        rules: record.object("rules_blob"),
        seen: record.object("seen_blob"),
    })?;
    let text = |id: Option<ObjectId>| id.map_or(Value::Null, |id| Value::from(id.to_string()));
    record.set("tree", sent.tree.to_string());
    record.set("attributes_blob", text(sent.attributes));
    record.set("rules_blob", text(sent.rules));
    record.set("seen_blob", text(sent.seen));
    Ok(())
}
