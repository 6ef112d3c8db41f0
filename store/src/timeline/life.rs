//! Finds out whether an agent is alive, and its last signs of life. This module only reads.

use std::path::Path;

use super::evidence::Signs;
use super::process::{Process, namespace, uptime};
use super::transcript::Transcript;
use crate::error::Error;
use crate::model::Milliseconds;
pub use crate::model::agent_process::AgentProcess;
use crate::sessions::{Life, OpenStep, OuterTool};

/// How many generations above the hook its agent is searched for: there may be shells in between.
const GENERATIONS: usize = 6;

/// How far above one agent another one is looked for that started it.
const ANCESTORS: usize = 64;

/// Programs that start a hook and are not an agent.
const SHELLS: [&str; 9] = [
    "sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox", "env",
];

/// A process that is older than this was not started for one call of a hook: no agent waits as long for one.
const LONGEST_CALL: Milliseconds = 60_000;

/// So long an agent may say nothing and still count as at work, where its process is not known.
const LONGEST_SILENCE: Milliseconds = 3_600_000;

/// Returns the signs of life of a step's agent at a moment, besides the events of its tools.
pub(super) fn signs(step: &OpenStep, now: Milliseconds) -> Signs {
    signs_of(&step.life, step.last_event_at, now)
}

/// Returns the signs of life of an agent whose last event came at a moment.
fn signs_of(life: &Life, last_event_at: Milliseconds, now: Milliseconds) -> Signs {
    let transcript = life.transcript.as_deref();
    let record = transcript.map_or_else(Transcript::default, |path| {
        Transcript::read(Path::new(path), now)
    });
    // What it wrote there since a command of ours was typed is the answer to that.
    let worked_at = record.worked_at.filter(|_| !life.is_commanded);
    Signs {
        last: last_event_at.max(worked_at.unwrap_or_default()),
        interrupted_at: life.interrupted_at.max(record.interrupted_at),
        is_dead: is_dead(life, last_event_at, now),
        is_idle: life.is_commanded,
        is_left: life.left_at.is_some(),
    }
}

/// Returns whether an agent whose last event came at a moment is known to be dead. An unknown process is not a dead
/// one: calling a live agent dead would take its changes from it. A process that was seen once may have been one
/// between the agent and the hook. If it is gone, so is the agent that has said nothing since the machine started, or
/// for long.
pub(crate) fn is_dead(life: &Life, last_event_at: Milliseconds, now: Milliseconds) -> bool {
    let unheard = now - last_event_at;
    match (&life.process, &life.caller) {
        (Some(process), _) => is_gone(process),
        (None, Some(caller)) => {
            // Seen only once, it may have been a wrapper that lived for one call. Two things make its end the
            // agent's all the same: a silence longer than agents have, and a machine that was started since.
            (unheard > LONGEST_SILENCE || unheard > uptime().saturating_add(LONGEST_CALL))
                && is_gone(caller)
        }
        (None, None) => false,
    }
}

/// Returns the signs of life of the agent of a tool in a workspace around this one, if the tool has not ended. An agent
/// whose process is unknown counts as dead when it was silent for long.
pub(super) fn signs_around(outer: &OuterTool, now: Milliseconds) -> Signs {
    if outer.tool.finished_at.is_some() {
        return Signs {
            last: outer.last_event_at,
            ..Signs::default()
        };
    }
    let signs = signs_of(&outer.life, outer.last_event_at, now);
    // An agent around this one casts doubt on all changes here for as long as it seems to run a shell. Without a
    // limit, one that was killed would do so for ever.
    let is_silent = now - signs.last > LONGEST_SILENCE;
    Signs {
        is_dead: signs.is_dead || (outer.life.process.is_none() && is_silent),
        ..signs
    }
}

/// Returns the signs of life of a step's agent that events alone give.
pub(super) fn signs_from_events(step: &OpenStep) -> Signs {
    Signs {
        last: step.last_event_at,
        interrupted_at: step.life.interrupted_at,
        ..Signs::default()
    }
}

/// How long an agent without tool events counts as at work after its last event.
const AT_WORK: Milliseconds = 30_000;

/// Returns whether an agent works on a step: one of its tools is running or, if it does not report tools, its last
/// event is recent. A dead agent does not work, nor does one that the user interrupted. A clock that jumped makes
/// no agent busy.
pub(crate) fn is_at_work(step: &OpenStep, now: Milliseconds) -> bool {
    let is_heard = (0..AT_WORK).contains(&now.saturating_sub(step.last_event_at));
    // This comes first because it needs no `/proc` and no transcript.
    if !step.has_running && (step.tool_events || !is_heard) {
        return false;
    }
    let signs = signs(step, now);
    // The mark of an earlier interruption stays in the transcript; only one after the tool began ended it.
    let runs = |from: Milliseconds| signs.interrupted_at.is_none_or(|at| at < from);
    let mut running = step.tools.iter().filter(|tool| tool.finished_at.is_none());
    !signs.is_dead
        && if step.has_running {
            running.any(|tool| runs(tool.started_at))
        } else {
            runs(step.started_at)
        }
}

/// Returns whether an agent may still write in an open step, also between two tools. One whose process is unknown
/// counts as gone when it was silent for long.
pub(crate) fn may_write(step: &OpenStep, now: Milliseconds) -> bool {
    let signs = signs(step, now);
    let is_silent = now - signs.last > LONGEST_SILENCE;
    let is_interrupted = signs.interrupted_at.is_some_and(|at| at >= step.started_at);
    !(signs.is_dead || signs.is_idle || is_interrupted || is_silent && step.life.process.is_none())
}

/// What is said if an agent works on any step of the workspace.
pub(crate) const AT_WORK_HERE: &str = "an agent is at work in this workspace";

/// Returns the error of what has to wait for an agent that works on one of the steps; `who` says where. `None` if
/// no agent does.
pub(crate) fn busy<'a>(
    who: &str,
    steps: impl IntoIterator<Item = &'a OpenStep>,
    now: Milliseconds,
) -> Option<Error> {
    let mut steps = steps.into_iter();
    steps
        .any(|step| is_at_work(step, now))
        .then(|| Error::busy(who))
}

/// Returns the process that runs this hook. `None` if it cannot be read.
pub fn agent_process() -> Option<AgentProcess> {
    let mut id = rustix::process::getppid()?.as_raw_nonzero().get();
    // Bounded, because this runs in every event, and each generation is a file of `/proc` to read.
    for _ in 0..GENERATIONS {
        let process = Process::of(id)?;
        if !SHELLS.contains(&process.name.as_str()) {
            return Some(AgentProcess {
                // A number alone is given to another process as soon as this one ends.
                name: format!("{id} {} {}", process.started, namespace()?),
                is_long_lived: process.age().is_some_and(|age| age > LONGEST_CALL),
            });
        }
        id = process.parent;
    }
    None
}

/// Returns the number of a process's parent. `None` if the system does not tell it.
pub fn parent_of(id: i32) -> Option<i32> {
    Some(Process::of(id)?.parent)
}

/// Returns whether a process is known to have ended.
pub(crate) fn is_gone(name: &str) -> bool {
    let Some(name) = ProcessName::parse(name).filter(ProcessName::is_here) else {
        return false;
    };
    name.living().is_none()
}

/// Returns the number of a process that is known to live.
pub(crate) fn living(name: &str) -> Option<i32> {
    let name = ProcessName::parse(name).filter(ProcessName::is_here)?;
    name.living().map(|_| name.id)
}

/// Returns whether a process started another one that lives, by itself or by what it started; `None` if that cannot be
/// known. One that runs both tells nothing. What lost the process in between is not known to be started by it.
pub(super) fn has_started(older: &str, younger: &str) -> Option<bool> {
    let older = ProcessName::parse(older).filter(ProcessName::is_here)?;
    let younger = ProcessName::parse(younger).filter(ProcessName::is_here)?;
    if older.id == younger.id {
        return None;
    }
    let mut process = younger.living()?;
    for _ in 0..ANCESTORS {
        let id = process.parent;
        // The line ends here: init has no parent, and a process that lost its own is a child of init.
        let Some(parent) = Process::of(id) else {
            return Some(false);
        };
        if (id, parent.started) == (older.id, older.started) {
            return Some(true);
        }
        process = parent;
    }
    None
}

/// What [`agent_process`] calls a process.
struct ProcessName<'n> {
    id: i32,
    started: u64,
    namespace: &'n str,
}

impl<'n> ProcessName<'n> {
    fn parse(name: &'n str) -> Option<Self> {
        let mut parts = name.split(' ');
        Some(Self {
            id: parts.next()?.parse().ok()?,
            started: parts.next()?.parse().ok()?,
            namespace: parts.next()?,
        })
    }

    /// In another namespace, it may be alive under another number.
    fn is_here(&self) -> bool {
        namespace().is_some_and(|here| here == self.namespace)
    }

    fn living(&self) -> Option<Process> {
        // A zombie has ended. Its number stays taken for as long as its parent does not ask for it.
        Process::of(self.id).filter(|found| found.started == self.started && !found.is_zombie)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever runs this lives and a process of another time does not.
    #[test]
    fn caller_lives_and_an_old_process_does_not() {
        let own = std::process::id();
        let process = Process::of(own.cast_signed()).expect("it runs");
        let home = namespace().expect("every system has them");
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

    /// A process that was seen once is dead if it is gone and the machine started since.
    #[cfg(target_os = "linux")]
    #[test]
    fn process_gone_before_a_boot_is_dead() {
        let own = std::process::id();
        let started = Process::of(own.cast_signed()).expect("it runs").started;
        let home = namespace().expect("every system has them");
        let seen_once = |started: u64| Life {
            caller: Some(format!("{own} {started} {home}")),
            ..Life::default()
        };
        let silent_for = |silence| (1_700_000_000_000 - silence, 1_700_000_000_000);
        let (before_boot, now) = silent_for(uptime() + 2 * LONGEST_CALL);
        let (just_now, _) = silent_for(1_000);
        assert!(is_dead(&seen_once(1), before_boot, now));
        assert!(
            !is_dead(&seen_once(1), just_now, now),
            "it may have been a wrapper"
        );
        assert!(!is_dead(&seen_once(started), before_boot, now), "it lives");
        assert!(
            !is_dead(&Life::default(), before_boot, now),
            "nobody knows it"
        );
        let believed = Life {
            process: seen_once(1).caller,
            ..Life::default()
        };
        assert!(is_dead(&believed, just_now, now), "it was seen twice");
        let process = Process::of(own.cast_signed()).expect("it runs");
        let age = process.age().expect("the system tells");
        assert!(
            (0..=uptime()).contains(&age),
            "it began after the machine: {age}"
        );
    }

    /// A process has started its children and no other.
    #[test]
    fn process_started_its_children_only() {
        let name = |id: i32| {
            let started = Process::of(id).expect("it runs").started;
            format!(
                "{id} {started} {}",
                namespace().expect("every system has them")
            )
        };
        let own = std::process::id().cast_signed();
        let parent = Process::of(own).expect("it is this one").parent;
        let mut child = std::process::Command::new("cat");
        let child = child.stdin(std::process::Stdio::piped()).spawn();
        let mut child = child.expect("cat is there");
        let other = name(child.id().cast_signed());
        assert_eq!(has_started(&name(own), &other), Some(true));
        assert_eq!(
            has_started(&name(parent), &other),
            Some(true),
            "through this one"
        );
        assert_eq!(has_started(&other, &name(own)), Some(false));
        assert_eq!(has_started(&other, &other), None, "one runs both");
        let earlier = format!("{own} 1 {}", namespace().expect("every system has them"));
        assert_eq!(
            has_started(&earlier, &other),
            Some(false),
            "its number was another's"
        );
        assert_eq!(has_started(&format!("{own} 1 elsewhere"), &other), None);
        drop(child.stdin.take());
        child.wait().expect("it ends with its input");
        assert_eq!(has_started(&name(own), &other), None, "it is gone");
        assert_eq!(has_started("nonsense", &other), None);
    }
}
