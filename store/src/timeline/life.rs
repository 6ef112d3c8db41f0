//! Whether an agent lives, and what its own record of the conversation says last. This module reads `/proc` and the record.
//!
//! Nothing of the record is kept but times: when the agent last did something, and when the user interrupted it. An entry of
//! the user's is no sign of the agent's life, for the message that just ended a step is in the record, too.

use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::evidence::Signs;
use crate::model::Milliseconds;
use crate::sessions::OpenStep;

/// How many bytes are read from the end of a transcript.
const TAIL: u64 = 64 << 10;

/// What an entry of the agent's own work holds.
const WORK: [&str; 4] = [
    r#""type":"assistant""#,
    r#""tool_result""#,
    r#""type":"progress""#,
    r#""function_call_output""#,
];

/// What an entry holds that says that the user interrupted the agent; no agent writes it of itself.
const INTERRUPTED: [&str; 2] = ["[Request interrupted by user", r#""turn_aborted""#];

/// How far above the hook its agent is looked for: shells may stand in between.
const GENERATIONS: usize = 6;

/// What starts a hook and is no agent.
const SHELLS: [&str; 9] = [
    "sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox", "env",
];

/// Returns what is heard of a step's agent beside the events of its tools, at a moment.
pub(super) fn signs(step: &OpenStep, now: Milliseconds) -> Signs {
    let record = step
        .life
        .transcript
        .as_deref()
        .map(|path| Record::read(Path::new(path), now))
        .unwrap_or_default();
    Signs {
        last: step.last_event_at.max(record.worked_at.unwrap_or_default()),
        interrupted_at: step.life.interrupted_at.max(record.interrupted_at),
        is_dead: step.life.process.as_deref().is_some_and(is_gone),
    }
}

/// Returns the signs of life of a step's agent that events alone give.
pub(super) fn told(step: &OpenStep) -> Signs {
    Signs {
        last: step.last_event_at,
        interrupted_at: step.life.interrupted_at,
        is_dead: false,
    }
}

/// How long an agent without tool events counts as at work after its last event.
const AT_WORK: Milliseconds = 30_000;

/// Returns whether an agent works on a step: one of its tools runs or, if it does not report tools, it was heard of
/// just now. A dead agent does not work, nor one that the user interrupted; a clock that jumped makes nobody busy.
pub(crate) fn is_at_work(step: &OpenStep, now: Milliseconds) -> bool {
    let is_heard = (0..AT_WORK).contains(&now.saturating_sub(step.last_event_at));
    if !step.has_running && (step.tool_events || !is_heard) {
        return false;
    }
    let signs = signs(step, now);
    let runs = |from: Milliseconds| signs.interrupted_at.is_none_or(|at| at < from);
    let mut running = step.tools.iter().filter(|tool| tool.finished_at.is_none());
    !signs.is_dead
        && if step.has_running {
            running.any(|tool| runs(tool.started_at))
        } else {
            runs(step.started_at)
        }
}

/// Returns a name for the process that runs this hook that no other process ever has: its number, its start time and
/// its PID namespace. `None` if these cannot be read.
pub fn agent_process() -> Option<String> {
    let mut id = rustix::process::getppid()?.as_raw_nonzero().get();
    for _ in 0..GENERATIONS {
        let process = Process::of(id)?;
        if !SHELLS.contains(&process.name.as_str()) {
            return Some(format!("{id} {} {}", process.started, namespace()?));
        }
        id = process.parent;
    }
    None
}

/// Returns whether a process is known to have ended.
pub(crate) fn is_gone(name: &str) -> bool {
    let mut parts = name.split(' ');
    let (Some(id), Some(started), Some(home)) = (
        parts.next().and_then(|id| id.parse().ok()),
        parts.next().and_then(|started| started.parse::<u64>().ok()),
        parts.next(),
    ) else {
        return false;
    };
    // In another namespace it may live under another number.
    if namespace().is_none_or(|here| here != home) {
        return false;
    }
    Process::of(id).is_none_or(|process| process.started != started || process.is_zombie)
}

fn namespace() -> Option<String> {
    let link = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(link.to_str()?.to_owned())
}

/// A process as `/proc` describes it.
struct Process {
    name: String,
    parent: i32,
    started: u64,
    is_zombie: bool,
}

impl Process {
    fn of(id: i32) -> Option<Self> {
        // One call reads it: a name has 15 bytes, and 50 numbers have at most 20 digits.
        let mut text = [0; 2048];
        let mut file = std::fs::File::open(format!("/proc/{id}/stat")).ok()?;
        let length = file.read(&mut text).ok()?;
        Self::parse(&String::from_utf8_lossy(&text[..length]))
    }

    /// Reads `ID (NAME) STATE PARENT ...`, with the start time as the 22nd of the fields; the name may hold anything.
    fn parse(text: &str) -> Option<Self> {
        let (begin, end) = (text.find('(')?, text.rfind(')')?);
        let fields: Vec<&str> = text.get(end + 1..)?.split_whitespace().collect();
        Some(Self {
            name: text.get(begin + 1..end)?.to_owned(),
            is_zombie: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }
}

/// What the end of an agent's record says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Record {
    worked_at: Option<Milliseconds>,
    interrupted_at: Option<Milliseconds>,
}

impl Record {
    /// Reads the end of a record; what is not there, or no regular file, says nothing.
    fn read(path: &Path, now: Milliseconds) -> Self {
        tail(path).map_or_else(Self::default, |text| Self::parse(&text, now))
    }

    /// Parses entries, one a line, each with its time. A time in the future does not count.
    fn parse(text: &str, now: Milliseconds) -> Self {
        let mut record = Self::default();
        let holds = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
        for line in text.lines() {
            let Some(at) = time_of(line).filter(|at| *at <= now) else {
                continue;
            };
            // What a model says about interruptions interrupts nothing.
            let is_models = line.contains(WORK[0]);
            if !is_models && holds(line, &INTERRUPTED) {
                record.interrupted_at = record.interrupted_at.max(Some(at));
            } else if holds(line, &WORK) {
                record.worked_at = record.worked_at.max(Some(at));
            }
        }
        record
    }
}

fn tail(path: &Path) -> Option<String> {
    let mut file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() {
        return None;
    }
    if metadata.len() > TAIL {
        file.seek(SeekFrom::Start(metadata.len() - TAIL)).ok()?;
    }
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the time of an entry: the last one of the line, because the entry's own time comes after its content.
fn time_of(line: &str) -> Option<Milliseconds> {
    const KEY: &str = r#""timestamp":"#;
    let after = line.get(line.rfind(KEY)? + KEY.len()..)?;
    let text = after.trim_start().strip_prefix('"')?.split('"').next()?;
    let time = humantime::parse_rfc3339(text).ok()?;
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Milliseconds = 1_800_000_000_000;

    fn entry(kind: &str, content: &str, time: &str) -> String {
        format!(r#"{{"type":"{kind}","message":{{"content":"{content}"}},"timestamp":"{time}"}}"#)
    }

    #[test]
    fn the_mark_of_an_interruption_and_the_last_work_are_found() {
        let text = [
            entry("assistant", "I run it", "2026-01-31T12:00:00.500Z"),
            entry(
                "user",
                "[Request interrupted by user for tool use]",
                "2026-01-31T12:00:03.000Z",
            ),
            entry("user", "go on", "2026-01-31T13:00:00.000Z"),
        ]
        .join("\n");
        let begin = 1_769_860_800_000;
        assert_eq!(
            Record::parse(&text, NOW),
            Record {
                worked_at: Some(begin + 500),
                interrupted_at: Some(begin + 3_000),
            },
            "the next message is no sign of the agent's life"
        );
    }

    #[test]
    fn what_a_model_says_of_interruptions_and_what_is_still_to_come_is_no_mark() {
        let said = entry(
            "assistant",
            "[Request interrupted by user",
            "2026-01-31T12:00:00Z",
        );
        assert_eq!(Record::parse(&said, NOW).interrupted_at, None, "only said");
        let later = entry(
            "user",
            "[Request interrupted by user",
            "2099-01-31T12:00:00Z",
        );
        assert_eq!(
            Record::parse(&later, NOW),
            Record::default(),
            "another clock's"
        );
        assert_eq!(
            Record::parse("{\"cut", NOW),
            Record::default(),
            "the first line is cut"
        );
    }

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let fields = "S 7 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4711 1 2";
        let process = Process::parse(&format!("42 (a) b (c)) {fields}")).expect("well-formed");
        assert_eq!(
            (process.name.as_str(), process.parent, process.started),
            ("a) b (c)", 7, 4711),
            "up to the last bracket"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn whoever_runs_this_lives_and_a_process_of_another_time_does_not() {
        let own = std::process::id();
        let process = Process::of(own.cast_signed()).expect("it runs");
        let home = namespace().expect("Linux has them");
        assert!(
            !is_gone(&format!("{own} {} {home}", process.started)),
            "it is this one"
        );
        assert!(
            is_gone(&format!("{own} 1 {home}")),
            "its number was another's"
        );
        assert!(!is_gone(&format!("{own} 1 elsewhere")), "nobody can tell");
        assert!(!is_gone("nonsense"), "nor here");
        assert!(agent_process().is_some(), "somebody started the test");
    }
}
