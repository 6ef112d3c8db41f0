//! Makes a bundle of what a remote does not have yet.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use ckpt_schema::report::{PathText, PushReport, VERSION};
use rusqlite::Connection;
use serde_json::Value;

use super::tables::{SentRow, TABLES, short_hash, table};
use super::{BundleHead, FORMAT};
use crate::error::{Context, Error, Result};
use crate::fs::layout::make_private;
use crate::model::entry::ObjectId;
use crate::model::path::{IGNORE_FILE, WorkspacePath};
use crate::sessions;
use crate::snapshot::{Sending, Snapshot, Snapshots, looks_secret};
use crate::store::Store;
use crate::timeline::{self, Place};

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

/// What stands for the ignore rules among the rows that are at a remote.
const RULES: &str = "rules";

/// A bundle for a remote.
pub struct Outgoing {
    /// What is in it.
    pub report: PushReport,
    /// Its rows: a line of JSON each, after a first one about all.
    pub rows: Vec<u8>,
    /// Its objects, as git packs them; `None` without any.
    pub pack: Option<PathBuf>,
    sent: Vec<(String, String, i64)>,
    gone: Vec<(String, String)>,
}

impl Outgoing {
    /// Returns whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.sent.iter().all(|(kind, ..)| kind == RULES) && self.gone.is_empty()
    }

    /// Notes that it is at its remote.
    pub(super) fn note(&self, connection: &Connection, remote: i64, commit: &str) -> Result<()> {
        if self.report.anew {
            sessions::forget_pushed(connection, remote)?;
        }
        for (table, row, hash) in &self.sent {
            sessions::put_pushed(connection, remote, (table, row), Some(*hash))?;
        }
        for (table, row) in &self.gone {
            sessions::put_pushed(connection, remote, (table, row), None)?;
        }
        sessions::end_push(connection, remote, Some(commit))
    }
}

/// What differs between the rows here and those at a remote.
#[derive(Default)]
struct UnsentRows {
    new: Vec<SentRow>,
    sent: Vec<(String, String, i64)>,
    gone: Vec<(String, String)>,
    /// Whether something that was sent must not stay there.
    is_forgotten: bool,
    /// The newest snapshot that is there.
    there: Option<i64>,
}

fn differing(
    connection: &Connection,
    workspace_id: i64,
    mut pushed: HashMap<(String, String), i64>,
) -> Result<UnsentRows> {
    let mut found = UnsentRows::default();
    for table in TABLES {
        for record in table.read(connection, workspace_id)? {
            let key = (record.table.clone(), record.row.clone());
            let hash = record.hash();
            let before = pushed.remove(&key);
            if before == Some(hash) {
                if table.name == "snapshots" && record.text("tree").is_some() {
                    found.there = record.row.parse().ok();
                }
                continue;
            }
            // A snapshot changes if it was pruned, or if something in it was forgotten.
            found.is_forgotten |= before.is_some() && table.name == "snapshots";
            found.sent.push((key.0, key.1, hash));
            found.new.push(record);
        }
    }
    for key in pushed.into_keys() {
        found.is_forgotten |= table(&key.0)?.is_forgotten_with;
        found.gone.push(key);
    }
    found.gone.sort();
    Ok(found)
}

/// See [`Store::outgoing`].
pub(super) fn outgoing(
    store: &mut Store,
    cwd: &Path,
    address: &str,
    anew: bool,
    scratch: &Path,
) -> Result<Outgoing> {
    let place = Place::known(store, cwd)?;
    let connection = store.database.connection();
    let remotes = sessions::remotes(connection, place.row.id)?;
    let remote = remotes.iter().find(|row| row.address == address);
    let pushed = match remote {
        Some(remote) => sessions::pushed(connection, remote.id)?,
        None => HashMap::new(),
    };
    let had_any = remote.is_some_and(|remote| remote.tip.is_some());
    // Another history was pushed from here before.
    let anew = anew || had_any && pushed.is_empty();
    let mut pushed = if anew { HashMap::new() } else { pushed };
    let rules = pushed.remove(&(RULES.to_owned(), String::new()));
    let mut found = differing(connection, place.row.id, pushed)?;
    let is_anew = anew || found.is_forgotten;
    if found.is_forgotten {
        found = differing(connection, place.row.id, HashMap::new())?;
    }
    let newest = place.row.last_snapshot_id.ok_or_else(|| {
        Error::unavailable("nothing has been captured here yet, so there is nothing to push")
    })?;
    let newest = timeline::snapshot_of(&sessions::snapshot(connection, newest)?);
    let snapshots = place.snapshots()?;
    let key = rules_key(&snapshots, &newest)?;
    // Under other rules, others of its files were left out.
    let there = found.there.filter(|_| rules == Some(key) && !is_anew);
    let there = there.map(|id| sessions::snapshot(connection, id));
    let there = there.transpose()?.map(|row| timeline::snapshot_of(&row));
    make_private(&scratch.join("objects/pack"))?;
    let new = std::mem::take(&mut found.new);
    found.sent.push((RULES.to_owned(), String::new(), key));
    let ((records, sums), pack) =
        snapshots.send(&place.root, Some(&newest), scratch, |sending| {
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
        remote: address.to_owned(),
        name: remote.map(|remote| remote.name.clone()).unwrap_or_default(),
        anew: is_anew && had_any,
        ..counted(&records, sums)
    };
    let head = BundleHead {
        format: FORMAT,
        path: report.workspace.clone(),
        workspace: place.row.key.clone(),
        anew: is_anew,
        last: place.row.last_snapshot_id.map(|id| id.to_string()),
        made_at: store.now(),
    };
    let gone = found.gone.iter().map(|(table, row)| SentRow {
        table: table.clone(),
        row: row.clone(),
        values: None,
    });
    Ok(Outgoing {
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
        machine: String::new(),
        pushed: false,
        anew: false,
        messages: count("messages"),
        snapshots: count("snapshots"),
        changes: count("changes"),
        bytes,
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
    records.retain(|record| record.path().is_none_or(|path| !sending.is_ignored(&path)));
    let mut asked = HashSet::new();
    for record in &mut records {
        match record.table.as_str() {
            "tools" => {
                let named = record
                    .text("paths")
                    .map(serde_json::from_str::<Vec<String>>);
                if let Some(Ok(mut named)) = named {
                    named.retain(|path| !sending.is_ignored(path.as_bytes()));
                    record.set("paths", Value::from(named).to_string());
                }
            }
            // They may name what is ignored.
            "operations" => {
                record.set("notes", "[]");
                record.set("remarks", Value::Null);
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

fn send_snapshot(sending: &mut Sending<'_>, record: &mut SentRow) -> Result<()> {
    let is_pruned = record
        .values
        .as_ref()
        .is_some_and(|values| !values["pruned_at"].is_null());
    let (Some(tree), false) = (record.object("tree"), is_pruned) else {
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
