//! Why it is unclear whose a change is, in words. Pure.

use std::fmt;

use crate::model::Milliseconds;
use crate::model::number::count;

/// Why it is unclear whose a change is. Times are distances in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// The change came this long after the agent was interrupted.
    Interrupted { after: Milliseconds },
    /// The change came this long after the last sign of life of an agent whose end was never reported.
    Silent { after: Milliseconds },
    /// The change came this long after the agent's tool had ended. The tool may have changed the file before that.
    Ended { after: Milliseconds },
    /// The change came this long before the tool is known to have run.
    Early { before: Milliseconds },
    /// A tool was waiting for the user's permission.
    Waiting,
    /// The agent reported no tool in the step.
    Unreported,
    /// Both events of a tool were lost, so the time when it ran is unknown.
    Unheard,
    /// A command was running in the background.
    Background,
    /// The path is in a nested workspace in which another agent works.
    Elsewhere,
    /// An agent in a workspace around this one was running a tool, too, and is not known to have started the one here.
    Around,
    /// It came with a directory that was moved to its place while tools ran, or between them.
    Moved,
    /// The workspace's directory was replaced while a tool ran, and the new one took its history over.
    Replaced,
    /// A tool changed the path last, but ignore rules hid it, so no look saw what was there before that.
    Hidden,
    /// The time of the change is unknown.
    Timeless,
    /// The time of the change is unknown, and the agent's tools paused since the last look.
    Paused,
    /// A tool wrote the file, but it was as before when its step ended: what came later may be what the tool wrote.
    Returned,
    /// The look at the end of the step had no time left to read it.
    Late,
    /// The look that saw the change had no time left to ask for its time.
    Untimed,
}

impl fmt::Display for Doubt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.words();
        match self.distance() {
            Some(distance) => write!(formatter, "changed {} {words}", Distance(distance)),
            None => formatter.write_str(words),
        }
    }
}

impl Doubt {
    /// Returns how far the change is from what it is measured by, if that is what casts the doubt.
    fn distance(self) -> Option<Milliseconds> {
        match self {
            Self::Interrupted { after } | Self::Silent { after } | Self::Ended { after } => {
                Some(after)
            }
            Self::Early { before } => Some(before),
            Self::Waiting
            | Self::Unreported
            | Self::Unheard
            | Self::Background
            | Self::Elsewhere
            | Self::Around
            | Self::Moved
            | Self::Replaced
            | Self::Hidden
            | Self::Timeless
            | Self::Paused
            | Self::Returned
            | Self::Late
            | Self::Untimed => None,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Interrupted { .. } => "after the agent was interrupted",
            Self::Silent { .. } => "after the agent's last sign of life",
            Self::Ended { .. } => "after the agent's tool ended",
            Self::Early { .. } => "before the agent's tool is known to have run",
            Self::Waiting => "changed while the agent's tool waited for permission",
            Self::Unreported => "changed in a step for which the agent reported no tool",
            Self::Unheard => {
                "changed in a step with a tool of which neither the start nor the end was reported"
            }
            Self::Elsewhere => "in a workspace of its own, in which another agent worked",
            Self::Around => {
                "changed while a command of an agent in a directory around this one ran as well"
            }
            Self::Background => "changed while a command of the agent ran in the background",
            Self::Moved => {
                "came with a directory that was moved while the agent's tools ran or between them: no time shows which"
            }
            Self::Replaced => {
                "changed when or after the workspace's directory was replaced while the agent's tool ran"
            }
            Self::Hidden => {
                "changed while the agent's tool ran and ignore rules hid it, so no look saw by whom"
            }
            Self::Timeless => {
                "changed before or after the agent's last sign of life: no time shows which"
            }
            Self::Returned => {
                "changed after the agent's tool had written the file, and something had taken that back unseen"
            }
            Self::Late => {
                "read only after the step had ended: the look at its end did not get that far"
            }
            Self::Untimed => {
                "changed at a time that is not known: the look that saw it was stopped by its deadline"
            }
            Self::Paused => {
                "changed while the agent's tools ran or between them: the file's time is by another clock"
            }
        }
    }
}

/// A distance in time, in words.
struct Distance(Milliseconds);

impl fmt::Display for Distance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(Milliseconds, &str); 4] = [
            (86_400_000, "day"),
            (3_600_000, "hour"),
            (60_000, "minute"),
            (1_000, "second"),
        ];
        let unit = UNITS.iter().find(|(size, _)| self.0 >= *size);
        match unit {
            Some((size, name)) => {
                let number = self.0 / size;
                formatter.write_str(&count(number.unsigned_abs(), name))
            }
            None => formatter.write_str("less than a second"),
        }
    }
}
