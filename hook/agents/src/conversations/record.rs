//! An agent's own record of a conversation: a JSON object in each line. It is read where a person asks, and a copy of a
//! part of it is written beside it; the record itself is never written to.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ckpt_process::open_regular;
use ckpt_schema::report::ConversationReason;
use ckpt_store::model::conversation::ForkFailure;
use serde_json::Value;

use crate::payload::shape::typed;

/// The longest record that is read, in bytes.
const LONGEST: u64 = 1 << 30;

/// A record that was read.
pub struct AgentRecord {
    /// Its entries.
    pub entries: Vec<Value>,
    /// Its length in bytes.
    pub length: usize,
}

/// Reads a record. A last line without its end is still being written, and does not count.
pub fn read(path: Option<&Path>) -> Result<AgentRecord, ConversationReason> {
    let path = path.ok_or(ConversationReason::NoTranscript)?;
    let bytes = bytes(path, LONGEST).ok_or(ConversationReason::NoTranscript)?;
    let whole = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    let lines = bytes[..whole].split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.trim_ascii().is_empty());
    let entries: Result<Vec<Value>, _> = lines.map(serde_json::from_slice::<Value>).collect();
    let entries = entries.map_err(|_| ConversationReason::UnknownFormat)?;
    if !entries.iter().all(Value::is_object) {
        return Err(ConversationReason::UnknownFormat);
    }
    Ok(AgentRecord {
        entries,
        length: bytes.len(),
    })
}

/// Returns the bytes of a record that is no longer than this; `None` if it cannot be read.
pub fn bytes(path: &Path, longest: u64) -> Option<Vec<u8>> {
    let file = open_regular(path).ok()?;
    if file.metadata().ok()?.len() > longest {
        return None;
    }
    let mut bytes = Vec::new();
    // Its agent may be writing.
    file.take(longest).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The longest record that is read only to tell which messages its agent has left.
const LONGEST_GLANCE: u64 = 16 << 20;

/// Reads a record that is not too long for a list to wait for.
pub fn glance(path: Option<&Path>) -> Option<AgentRecord> {
    let length = fs::metadata(path?).ok()?.len();
    (length <= LONGEST_GLANCE)
        .then(|| read(path).ok())
        .flatten()
}

/// How much of a record is read to tell where it came from, in bytes.
const BEGINNING: u64 = 256 << 10;

/// Returns the first entries of a record.
pub fn beginning(path: &Path) -> impl Iterator<Item = Value> {
    let mut bytes = Vec::new();
    // What cannot be read tells nothing.
    if let Ok(file) = open_regular(path) {
        let _ = file.take(BEGINNING).read_to_end(&mut bytes);
    }
    let lines: Vec<Vec<u8>> = bytes
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    lines
        .into_iter()
        .filter_map(|line| serde_json::from_slice(&line).ok())
}

/// Writes a new record, whole or not at all, as private as the one that it comes from.
pub fn write(path: &Path, entries: &[Value], like: &Path) -> Result<(), ForkFailure> {
    let failed = |error: io::Error| {
        ForkFailure::Failed(format!("cannot write `{}`: {error}", path.display()))
    };
    let folder = path.parent().unwrap_or(path);
    let beside = temporary(path);
    let written = fs::metadata(like).and_then(|like| {
        // The agent has to go on in it.
        let permissions = like.mode() & 0o666 | 0o600;
        if !folder.is_dir() {
            DirBuilder::new().mode(0o700).create(folder)?;
        }
        put(&beside, permissions, entries)?;
        // The name is new. If it is taken, another program knows better.
        fs::hard_link(&beside, path)?;
        fs::remove_file(&beside)?;
        File::open(folder)?.sync_all()
    });
    written.map_err(|error| {
        // What is left of it says nothing to the agent.
        let _ = fs::remove_file(&beside);
        failed(error)
    })
}

fn put(path: &Path, permissions: u32, entries: &[Value]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(permissions)
        .open(path)?;
    let mut text = Vec::new();
    for entry in entries {
        serde_json::to_writer(&mut text, entry)?;
        text.push(b'\n');
    }
    file.write_all(&text)?;
    file.sync_all()?;
    match read(Some(path)) {
        Ok(back) if back.entries == entries => Ok(()),
        _ => Err(io::Error::other(
            "what was written reads back as something else",
        )),
    }
}

/// Removes what a crash left of a record that was being written.
pub fn clean(path: &Path) {
    let _ = fs::remove_file(temporary(path));
}

fn temporary(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".ckpt-hook");
    path.with_file_name(name)
}

/// Says what is lost where a conversation was compacted before the message that it is forked at.
pub fn opens_at_compaction(called: &str) -> String {
    format!(
        "the conversation was compacted before this message: {called} opens it at the compaction"
    )
}

/// Returns a text of an entry.
pub fn text<'e>(entry: &'e Value, name: &str) -> Option<&'e str> {
    entry.get(name)?.as_str()
}

/// Returns the text of a content: a string, or the texts of its parts.
pub fn words(content: &Value) -> Option<String> {
    if let Some(text) = content.as_str() {
        return Some(text.to_owned());
    }
    let parts = content.as_array()?.iter();
    let texts: Vec<&str> = parts.filter_map(|part| text(part, "text")).collect();
    Some(texts.join("\n"))
}

/// Returns the message that is sought among the prompts of a record: the one in the same place, if it has the same text,
/// or else the only one with that text. Without a text, nothing shows that the place is the right one.
pub fn in_order<T: Copy>(prompts: &[(T, String)], prompt: Option<&str>, before: u64) -> Option<T> {
    let prompt = prompt.map(typed).filter(|prompt| !prompt.is_empty())?;
    // What an agent keeps may have more than what the user wrote, and we may keep its first line alone.
    let is_it = |text: &str| typed(text).starts_with(prompt) || text.trim().ends_with(prompt);
    let at = usize::try_from(before).ok()?;
    if let Some((found, _)) = prompts.get(at).filter(|(_, text)| is_it(text)) {
        return Some(*found);
    }
    let mut same = prompts.iter().filter(|(_, text)| typed(text) == prompt);
    match (same.next(), same.next()) {
        (Some((only, _)), None) => Some(*only),
        _ => None,
    }
}
