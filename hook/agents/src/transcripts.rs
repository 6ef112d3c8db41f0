//! The agents' own records of conversations: whether an agent worked in a workspace, and when. They are read, never
//! written, and only where a person asks.
//!
//! A record says in its first lines which directory it is about. Of each agent the newest are looked at. opencode, Kilo
//! and Cline keep theirs in databases, and those of editors are not known.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ckpt_process::open_regular;
use ckpt_store::Milliseconds;
use ckpt_store::model::hex::Hex;
use sha2::{Digest, Sha256};

use super::settings::file;
use super::settings::place::SettingsPlace;

/// How many records of an agent are looked at, the newest first.
const FILES_LIMIT: usize = 50;

/// How many folders with records are listed.
const MOST_FOLDERS: usize = 400;

/// How much of the beginning and of the end of a record is read: several lines of Claude Code 2.1.332, which writes some of
/// 80 KB.
const PIECE: u64 = 256 << 10;

/// A conversation that an agent has on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// The agent.
    pub agent: &'static str,
    /// What people call it.
    pub called: &'static str,
    /// The agent's id of the session.
    pub id: String,
    /// The time of its first entry.
    pub first: Milliseconds,
    /// The time of its last entry.
    pub last: Milliseconds,
}

/// Where an agent keeps its records.
struct TranscriptFolder {
    agent: &'static str,
    called: &'static str,
    /// Returns the folders with records that may be about a workspace.
    folders: fn(&SettingsPlace<'_>, &Path) -> Vec<PathBuf>,
    /// Whether the folder of a record, and not its file, has the id as its name.
    is_folder: bool,
}

const RECORDS: [TranscriptFolder; 6] = [
    TranscriptFolder {
        agent: "claude-code",
        called: "Claude Code",
        folders: |place, workspace| {
            let home = place.directory("CLAUDE_CONFIG_DIR", ".claude");
            named_after(&home.join("projects"), &slug(workspace))
        },
        is_folder: false,
    },
    TranscriptFolder {
        agent: "codex",
        called: "Codex",
        folders: |place, _| by_day(&place.directory("CODEX_HOME", ".codex").join("sessions")),
        is_folder: false,
    },
    TranscriptFolder {
        agent: "gemini-cli",
        called: "Gemini CLI",
        folders: |place, _| chats(newest(&place.home.join(".gemini/tmp"), MOST_FOLDERS)),
        is_folder: false,
    },
    TranscriptFolder {
        agent: "qwen-code",
        called: "Qwen Code",
        folders: |place, workspace| {
            chats(named_after(
                &place.home.join(".qwen/projects"),
                &slug(workspace),
            ))
        },
        is_folder: false,
    },
    TranscriptFolder {
        agent: "copilot-cli",
        called: "Copilot CLI",
        folders: |place, _| {
            let home = place.directory("COPILOT_HOME", ".copilot");
            newest(&home.join("session-state"), FILES_LIMIT)
        },
        is_folder: true,
    },
    TranscriptFolder {
        agent: "pi",
        called: "Pi",
        folders: |place, _| newest(&place.home.join(".pi/agent/sessions"), MOST_FOLDERS),
        is_folder: false,
    },
];

fn chats(folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let folders = folders.into_iter();
    folders.map(|folder| folder.join("chats")).collect()
}

/// Returns the newest conversation of each agent in a workspace.
pub fn newest_in(place: &SettingsPlace<'_>, workspace: &Path) -> Vec<Conversation> {
    let workspace = file::real(workspace);
    RECORDS
        .iter()
        .filter_map(|records| records.newest_in(place, &workspace))
        .collect()
}

impl TranscriptFolder {
    fn newest_in(&self, place: &SettingsPlace<'_>, workspace: &Path) -> Option<Conversation> {
        let folders = (self.folders)(place, workspace);
        let mut files: Vec<(i64, PathBuf)> = folders
            .iter()
            .take(MOST_FOLDERS)
            .flat_map(|folder| entries(folder))
            .filter(|(_, path)| {
                path.extension()
                    .is_some_and(|it| it == "jsonl" || it == "json")
            })
            .collect();
        files.sort_by(|one, other| other.cmp(one));
        let mut files = files.into_iter().take(FILES_LIMIT);
        files.find_map(|(changed, path)| self.read(&path, changed, workspace))
    }

    /// Reads a record. `None` if it is about another directory, or has no message of the user yet.
    fn read(&self, path: &Path, changed: i64, workspace: &Path) -> Option<Conversation> {
        let mut opened = open_regular(path).ok()?;
        let head = piece(&mut opened, 0)?;
        let end = opened.metadata().ok()?.len().saturating_sub(PIECE);
        let tail = piece(&mut opened, end)?;
        let is_about = match value(&head, "cwd") {
            Some(directory) => Path::new(&directory).starts_with(workspace),
            None => value(&head, "projectHash") == Some(hash_of(workspace)),
        };
        let has_message = ["\"user\"", "user.message", "user_message"]
            .iter()
            .any(|sign| head.contains(sign) || tail.contains(sign));
        if !is_about || !has_message {
            return None;
        }
        let times = |text: &str| -> Vec<Milliseconds> {
            values(text, "timestamp")
                .filter_map(|time| parsed(&time))
                .collect()
        };
        Some(Conversation {
            agent: self.agent,
            called: self.called,
            id: self.id(path, &head)?,
            first: times(&head).first().copied().unwrap_or(changed),
            last: times(&tail).last().copied().unwrap_or(changed),
        })
    }

    fn id(&self, path: &Path, head: &str) -> Option<String> {
        const UUID: usize = 36;
        let named = match self.is_folder {
            true => path.parent()?.file_name(),
            false => path.file_stem(),
        };
        let named = named?.to_str()?;
        // Others put a time before it, or say it inside alone.
        let of_name = named
            .len()
            .checked_sub(UUID)
            .and_then(|from| named.get(from..));
        let of_name = of_name.filter(|id| id.matches('-').count() == 4);
        let said = || value(head, "sessionId").or_else(|| value(head, "id"));
        of_name.map(str::to_owned).or_else(said)
    }
}

/// Claude Code and Qwen Code name a folder after a path, with a dash for whatever is no letter or digit.
fn slug(path: &Path) -> String {
    let path = path.to_string_lossy();
    path.chars()
        .map(|it| if it.is_ascii_alphanumeric() { it } else { '-' })
        .collect()
}

/// Returns the folders that are named after a path, or one below it. A long name is cut.
fn named_after(folder: &Path, slug: &str) -> Vec<PathBuf> {
    const LONGEST: usize = 200;
    let slug = slug.get(..LONGEST).unwrap_or(slug);
    let mut folders = newest(folder, usize::MAX);
    folders.retain(|folder| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(slug)
    });
    folders
}

/// Returns the folders of the last days with records, as `YYYY/MM/DD`.
fn by_day(folder: &Path) -> Vec<PathBuf> {
    const DAYS: usize = 60;
    let sorted = |folder: &Path| {
        let mut names: Vec<PathBuf> = entries(folder).map(|(_, path)| path).collect();
        names.sort_by(|one, other| other.cmp(one));
        names
    };
    let days = sorted(folder).into_iter().flat_map(|year| sorted(&year));
    days.flat_map(|month| sorted(&month)).take(DAYS).collect()
}

/// The entries of a folder, the newest first.
fn newest(folder: &Path, most: usize) -> Vec<PathBuf> {
    let mut found: Vec<(i64, PathBuf)> = entries(folder).collect();
    found.sort_by(|one, other| other.cmp(one));
    found.into_iter().map(|(_, path)| path).take(most).collect()
}

/// The entries of a folder, with the time of its last change in milliseconds.
fn entries(folder: &Path) -> impl Iterator<Item = (i64, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let metadata = entry.metadata().ok()?;
        let changed = metadata.mtime() * 1000 + metadata.mtime_nsec() / 1_000_000;
        Some((changed, entry.path()))
    })
}

fn piece(file: &mut File, from: u64) -> Option<String> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from)).ok()?;
    file.take(PIECE).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the first text of a key in lines of JSON.
fn value(text: &str, key: &str) -> Option<String> {
    values(text, key).next()
}

/// Returns the texts of a key in lines of JSON, wherever it stands.
fn values<'t>(text: &'t str, key: &str) -> impl Iterator<Item = String> + 't {
    let key = format!("\"{key}\"");
    let ends: Vec<usize> = text
        .match_indices(&key)
        .map(|(at, key)| at + key.len())
        .collect();
    ends.into_iter().filter_map(|end| {
        let rest = text[end..].trim_start().strip_prefix(':')?;
        let mut texts = serde_json::Deserializer::from_str(rest.trim_start()).into_iter::<String>();
        texts.next()?.ok()
    })
}

fn hash_of(workspace: &Path) -> String {
    Hex(&Sha256::digest(workspace.as_os_str().as_encoded_bytes())).to_string()
}

pub(crate) fn parsed(time: &str) -> Option<Milliseconds> {
    let time = humantime::parse_rfc3339(time).ok()?;
    let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path is named as the agent's name it.
    #[test]
    fn path_is_named_as_the_agents_do() {
        assert_eq!(slug(Path::new("/home/u/my_app.v2")), "-home-u-my-app-v2");
    }

    /// The texts of a key are found in lines of JSON.
    #[test]
    fn texts_of_a_key_are_found_in_lines() {
        let text =
            "{\"a\": {\"cwd\" : \"/w/\\u0041\"}}\n{\"cwd\":7}\n{\"cwd\":\"/x\"}\n{\"cwd\":\"/cut";
        let found: Vec<String> = values(text, "cwd").collect();
        assert_eq!(found, ["/w/A", "/x"]);
    }

    /// What says whose a record is and when it ended is found behind long lines.
    #[test]
    fn record_is_read_behind_long_lines() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let path = scratch
            .path()
            .join("3f1c2d4e-0000-4000-8000-000000000000.jsonl");
        let long = format!("{{\"attachment\":\"{}\"}}\n", "x".repeat(80 << 10));
        let said = |time: &str| {
            format!(
                "{{\"type\":\"user\",\"cwd\":\"/w\",\"timestamp\":\"2026-11-26T10:0{time}:00Z\"}}\n"
            )
        };
        let text = [&*long, &said("0"), &long, &said("5"), &long].concat();
        fs::write(&path, text).expect("writable");
        let read = RECORDS[0]
            .read(&path, 0, Path::new("/w"))
            .expect("it is about it");
        assert_eq!(read.last - read.first, 5 * 60 * 1000);
    }
}
