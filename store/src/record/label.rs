//! `label`: puts a bookmark on a message or a snapshot, and takes it off.

use std::path::Path;

use ckpt_schema::report::LabelAction;
use rusqlite::Connection;

use crate::error::{Context, Error, Result};
use crate::ids::{self, Any};
use crate::model::instruction::Instruction;
use crate::model::label::Label;
use crate::sessions::{self, LabelRow, Labelled};
use crate::store::Store;
use crate::timeline::Place;

/// Checks a label's text.
pub(super) fn checked(text: &str) -> Result<Label> {
    Label::new(text).context(|| format!("`{}` cannot be a label", text.escape_debug()))
}

/// Labels the message or snapshot that an id means. A label that is already on something else is an error.
pub(crate) fn label(
    store: &mut Store,
    cwd: &Path,
    id: &str,
    text: &str,
) -> Result<(LabelAction, LabelRow)> {
    let label = checked(text)?;
    let place = Place::known(store, cwd)?;
    let now = store.now();
    store.database.write(|connection| {
        let on = match ids::any(connection, place.row.id, id)? {
            Any::Message(message) => Labelled::Message(message.id),
            Any::Snapshot(snapshot) => Labelled::Snapshot(snapshot.id),
            Any::Step(step) => return Err(refused("step", &step.id, Some(&step.message_id))),
            Any::Operation(operation) => return Err(refused("operation", &operation.id, None)),
            Any::Session(session) => return Err(refused("session", &session.id, None)),
        };
        let row = LabelRow {
            text: text.to_owned(),
            on,
            created_at: now,
        };
        match sessions::label(connection, place.row.id, text)? {
            Some(known) if known.on == row.on => return Ok((LabelAction::Unchanged, known)),
            Some(_) => {
                return Err(Error::failed(format!(
                    "the label `{text}` is on something else in this workspace"
                ))
                .hint(format!(
                    "`ckpt-hook show '{text}'` shows it, `ckpt-hook label --delete '{text}'` frees the label"
                )));
            }
            None => {}
        }
        // `show` and `revert` take ids and labels in the same place, so one text must not mean two things.
        refuse_id(connection, &place, &label)?;
        sessions::put_label(connection, place.row.id, &label, &row.on, now)?;
        Ok((LabelAction::Added, row))
    })
}

fn refused(kind: &str, id: &str, message: Option<&str>) -> Error {
    let article = if kind.starts_with('o') { "an" } else { "a" };
    let error = Error::failed(format!(
        "`{id}` is {article} {kind}: labels are for messages and snapshots"
    ));
    match message {
        Some(message) => error.hint(format!("its message is `{message}`")),
        None => error.hint(format!(
            "{} names the snapshots and messages that belong to it",
            Instruction::Show
        )),
    }
}

fn unknown(text: &str) -> Error {
    let shown: String = text
        .chars()
        .take(100)
        .flat_map(char::escape_debug)
        .collect();
    Error::unknown(format!("there is no label `{shown}` in this workspace"))
        .hint("`ckpt-hook label --list` lists the labels")
}

/// Takes a label off, and returns what it was on.
pub(crate) fn delete(store: &mut Store, cwd: &Path, text: &str) -> Result<LabelRow> {
    let place = Place::known(store, cwd)?;
    store.database.write(|connection| {
        let row = sessions::label(connection, place.row.id, text)?.ok_or_else(|| unknown(text))?;
        sessions::delete_label(connection, place.row.id, text)?;
        Ok(row)
    })
}

/// Returns the note for a new snapshot that takes a label from something else.
pub(super) fn moved(
    connection: &Connection,
    place: &Place,
    label: Option<&Label>,
) -> Result<Option<String>> {
    let Some(label) = label else { return Ok(None) };
    let known = sessions::label(connection, place.row.id, label.as_str())?;
    let Some(known) = known else {
        refuse_id(connection, place, label)?;
        return Ok(None);
    };
    let was = match known.on {
        Labelled::Message(id) => format!("message `{id}`"),
        Labelled::Snapshot(id) => {
            format!(
                "snapshot `{}`",
                sessions::snapshot_row(connection, id)?.snapshot.tree
            )
        }
    };
    Ok(Some(format!(
        "the label `{}` was on {was} before",
        label.as_str()
    )))
}

fn refuse_id(connection: &Connection, place: &Place, label: &Label) -> Result<()> {
    if !ids::is_known(connection, place.row.id, label.as_str())? {
        return Ok(());
    }
    let what = format!("`{}` is an id in this workspace", label.as_str());
    Err(Error::failed(what).hint("choose a label that is not one"))
}
