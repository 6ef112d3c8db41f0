//! How long something has not been used, as far as two runs agree on it. Pure, but for [`ClockReading::now`].
//!
//! One reading of the clock may be wrong by hours or decades, in either direction, and what is removed because of it is
//! gone. So `gc` in the background notes when it ran by two clocks: the one that can be set, and the time since the
//! machine was started, which cannot.
//!
//! ```text
//! the same boot     both clocks went on alike      agreed: everything may be as old as its time says,
//!                                                  and at most as old as runs have agreed
//!                   they did not                   agreed on nothing: it counts from here
//! another boot      the clock went on a little     the next run in this boot decides
//!                   back, or by more than that     agreed on nothing: it counts from here
//! ```
//!
//! Where no agent worked for longer than `keep`, all would become old at once: then it counts from there, too. A person who
//! runs `gc` is taken at the clock's word, unless the two clocks did not go on alike, for as long as runs have not agreed for
//! `keep` since; or if they name the age themselves.

use crate::model::Milliseconds;

/// How much two clocks may differ: a clock is corrected by minutes, and may be in another zone for a moment.
const CLOCK_TOLERANCE: Milliseconds = 3600 * 1000;
/// How long a machine may have been off for the clock to be believed after that.
const OFF: Milliseconds = 7 * 24 * 3600 * 1000;
/// The word for a clock that is doubted.
const DOUBTED: &str = "doubted";

/// What the clocks say in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClockReading {
    /// The clock of the rows.
    pub clock: Milliseconds,
    /// How long ago the machine was started, its sleep included.
    pub uptime: Milliseconds,
    /// The id of that boot, without spaces; empty where the system gives none.
    pub boot: String,
}

impl ClockReading {
    /// Reads the clocks.
    pub fn now(clock: Milliseconds) -> Self {
        let boot = crate::snapshot::boot();
        Self {
            clock,
            uptime: crate::timeline::uptime(),
            boot: String::from_utf8_lossy(&boot).split_whitespace().collect(),
        }
    }

    /// Returns whether the two clocks did not go on alike until a later reading. In another boot, the machine may have been
    /// off for a while.
    fn is_contradicted_by(&self, later: &Self) -> bool {
        let passed = later.clock.saturating_sub(self.clock);
        let ran = later.uptime.saturating_sub(self.uptime);
        match later.boot == self.boot && ran >= 0 {
            true => passed.saturating_sub(ran).saturating_abs() > CLOCK_TOLERANCE,
            false => !(0..=later.uptime.saturating_add(OFF)).contains(&passed),
        }
    }
}

/// What the runs up to one agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Agreement {
    reading: ClockReading,
    /// For how long they have agreed.
    agreed_for: Milliseconds,
    /// Whether the last two runs agree. If not, the next one is to come soon.
    pub is_confirmed: bool,
    /// Whether the two clocks did not go on alike, and runs have not agreed for long since.
    is_doubted: bool,
}

impl Agreement {
    /// Returns the reading on which a run and those before it agree. `keep` is how long unused sessions stay.
    pub fn of(before: Option<&Self>, reading: ClockReading, keep: Milliseconds) -> Self {
        let (agreed_for, is_confirmed) = match before {
            None => (0, true),
            Some(before) => before.extended(&reading, keep),
        };
        let is_doubted = before.is_some_and(|before| {
            before.reading.is_contradicted_by(&reading) || before.is_doubted && agreed_for <= keep
        });
        Self {
            is_doubted,
            reading,
            agreed_for,
            is_confirmed,
        }
    }

    fn extended(&self, now: &ClockReading, keep: Milliseconds) -> (Milliseconds, bool) {
        let passed = now.clock.saturating_sub(self.reading.clock);
        let ran = now.uptime.saturating_sub(self.reading.uptime);
        if self.reading.is_contradicted_by(now) {
            return (0, true);
        }
        match now.boot == self.reading.boot && ran >= 0 {
            true if ran <= keep => (self.agreed_for.saturating_add(ran), true),
            true => (0, true),
            // Of the time in which the machine was off, there is only one reading, so it does not count.
            false => (
                self.agreed_for.saturating_add(passed.min(now.uptime)),
                false,
            ),
        }
    }

    /// Reads the words of a note that follow the clock, as [`Agreement::words`] writes them.
    pub fn read(clock: Milliseconds, words: &str) -> Option<Self> {
        let mut words = words.split_whitespace();
        Some(Self {
            agreed_for: words.next()?.parse().ok()?,
            reading: ClockReading {
                clock,
                uptime: words.next()?.parse().ok()?,
                boot: words.next()?.trim_start_matches("boot:").to_owned(),
            },
            is_confirmed: true,
            is_doubted: words.next() == Some(DOUBTED),
        })
    }

    /// Returns the words of a note.
    pub fn words(&self) -> String {
        let ClockReading {
            clock,
            uptime,
            boot,
        } = &self.reading;
        let doubted = if self.is_doubted { DOUBTED } else { "" };
        format!("{clock} {} {uptime} boot:{boot} {doubted}", self.agreed_for)
            .trim_end()
            .to_owned()
    }

    /// Returns the ages that a run in the background may go by, after a run that `was_noted` with its readings, or by an
    /// older version without them.
    pub fn ages(&self, was_noted: bool) -> Ages {
        let at_most = self.at_most();
        Ages {
            now: self.reading.clock,
            at_most,
            // Files that no row names are as old as their own times say, unless clocks are known to disagree.
            sweeps: !was_noted || at_most > super::policy::MIN_PRUNE_AGE,
            is_doubted: false,
        }
    }

    fn at_most(&self) -> Milliseconds {
        match self.is_confirmed {
            true => self.agreed_for,
            false => 0,
        }
    }

    /// Returns the ages that a run by hand may go by: a person asks, and may look at a dry run first.
    pub fn ages_by_hand(&self) -> Ages {
        // Where the system names no boot, nothing tells.
        match self.is_doubted && !self.reading.boot.is_empty() {
            true => Ages {
                is_doubted: true,
                ..self.ages(true)
            },
            false => Ages::by_clock(self.reading.clock),
        }
    }
}

/// How old things are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ages {
    now: Milliseconds,
    at_most: Milliseconds,
    /// Whether what killed processes left may be told from what others are writing, by its age.
    pub sweeps: bool,
    /// Whether less counts as old because the clock was set.
    is_doubted: bool,
}

impl Default for Ages {
    fn default() -> Self {
        Self::by_clock(0)
    }
}

impl Ages {
    /// Takes the clock at its word.
    pub fn by_clock(now: Milliseconds) -> Self {
        Self {
            now,
            at_most: Milliseconds::MAX,
            sweeps: true,
            is_doubted: false,
        }
    }

    /// Returns whether something would be older if the clock were believed.
    pub fn doubts(self, used_at: Milliseconds) -> bool {
        self.is_doubted && self.now.saturating_sub(used_at) > self.at_most
    }

    /// Returns for how long something was not used.
    pub fn unused_for(self, used_at: Milliseconds) -> Milliseconds {
        self.now.saturating_sub(used_at).min(self.at_most)
    }

    /// Returns how old something may be of which its own time says this, in seconds.
    pub fn at_most_so_old(self, seconds: i64) -> i64 {
        match self.sweeps {
            true => seconds.min((self.at_most / 1000).max(super::policy::MIN_PRUNE_AGE / 1000 + 1)),
            false => 0,
        }
    }

    /// Returns the moment before which things are older than `age`.
    pub fn before(self, age: Milliseconds) -> Milliseconds {
        match self.at_most > age {
            true => self.now.saturating_sub(age),
            false => Milliseconds::MIN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Milliseconds = 60_000;
    const DAY: Milliseconds = 24 * 60 * MINUTE;
    const KEEP: Milliseconds = 30 * DAY;
    /// The clock in the middle of 2026.
    const NOW: Milliseconds = 1_780_000_000_000;

    fn reading(clock: Milliseconds, uptime: Milliseconds, boot: &str) -> ClockReading {
        ClockReading {
            clock,
            uptime,
            boot: boot.to_owned(),
        }
    }

    /// Runs once a day for so many days, and returns what the runs agree on.
    fn daily(days: i64) -> Agreement {
        (0..=days)
            .fold(None, |before: Option<Agreement>, day| {
                let reading = reading(NOW + (day - days) * DAY, DAY + day * DAY, "a");
                Some(Agreement::of(before.as_ref(), reading, KEEP))
            })
            .expect("one run at least")
    }

    /// Ages grow with the time that runs agree on.
    ///
    /// Invariant `work/pruning-clock`.
    #[test]
    fn ages_grow_with_agreed_time() {
        let long_ago = NOW - 100 * DAY;
        for days in [0, 1, 29, 40] {
            let ages = daily(days).ages(true);
            assert_eq!(ages.unused_for(long_ago), days * DAY, "{days}");
            assert_eq!(ages.unused_for(NOW - MINUTE), MINUTE.min(days * DAY));
        }
    }

    /// Forwards, backwards, zero, 1970, 2038, 2106, and the ends of the numbers.
    ///
    /// Invariant `work/pruning-clock`: No clock that is wrong prunes: age is what two runs
    /// agree on.
    #[test]
    fn no_clock_makes_minutes_old() {
        let before = daily(400);
        let clocks = [
            NOW + 40 * DAY,
            NOW - 40 * DAY,
            0,
            1,
            2_147_483_648_000,
            4_294_967_296_000,
            Milliseconds::MAX,
            Milliseconds::MIN,
        ];
        for wrong in clocks {
            for (uptime, boot) in [(402 * DAY, "a"), (MINUTE, "b")] {
                let run = Agreement::of(Some(&before), reading(wrong, uptime, boot), KEEP);
                let ages = run.ages(true);
                assert!(
                    !ages.sweeps && ages.unused_for(NOW - MINUTE) <= MINUTE,
                    "{wrong} {boot}"
                );
                assert!(ages.unused_for(NOW - 399 * DAY) < DAY, "{wrong} {boot}");
                // The clock is set right: what was recorded in between looks decades old, and is not.
                let later = reading(NOW + 2 * MINUTE, uptime + MINUTE, boot);
                let later = Agreement::of(Some(&run), later, KEEP);
                assert!(
                    later.ages(true).unused_for(wrong) <= MINUTE,
                    "{wrong} {boot}"
                );
                // Or it stays wrong, and both runs agree on that: what they have seen counts.
                let stays = reading(wrong.saturating_add(DAY), uptime + DAY, boot);
                let stays = Agreement::of(Some(&run), stays, KEEP);
                assert!(stays.ages(true).unused_for(NOW) <= DAY, "{wrong} {boot}");
            }
        }
    }

    #[test]
    fn sleep_counts_and_corrections_do_not_matter() {
        let before = daily(40);
        let asleep = reading(NOW + 20 * DAY - 3 * MINUTE, 61 * DAY, "a");
        let run = Agreement::of(Some(&before), asleep, KEEP);
        assert_eq!(run.ages(true).unused_for(NOW - 100 * DAY), 60 * DAY);
    }

    /// Another boot is believed once two of its runs agree.
    ///
    /// Invariant `work/pruning-clock`.
    #[test]
    fn another_boot_is_believed_after_two_runs() {
        let before = daily(40);
        let first = reading(NOW + 2 * DAY, MINUTE, "b");
        let first = Agreement::of(Some(&before), first, KEEP);
        assert!(!first.is_confirmed, "the next one comes soon");
        assert_eq!(first.ages(true).unused_for(0), 0);
        let second = reading(NOW + 2 * DAY + 60 * MINUTE, 61 * MINUTE, "b");
        let second = Agreement::of(Some(&first), second, KEEP);
        let agreed = second.ages(true).unused_for(0);
        assert_eq!(
            agreed,
            40 * DAY + 61 * MINUTE,
            "without the time in between"
        );
    }

    /// After a long absence nothing is old at once.
    ///
    /// Invariant `work/pruning-clock`.
    #[test]
    fn long_absence_makes_nothing_old_at_once() {
        let back = reading(NOW + 31 * DAY, 72 * DAY, "a");
        let back = Agreement::of(Some(&daily(40)), back, KEEP);
        assert_eq!(back.ages(true).unused_for(NOW - DAY), 0);
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let before = daily(1);
        for (boot, before) in [("a-b", None), ("", None), ("a", Some(&before))] {
            let agreement = Agreement::of(before, reading(NOW + 40 * DAY, 3 * DAY, boot), KEEP);
            assert_eq!(agreement.is_doubted, before.is_some());
            let words = agreement.words();
            let (clock, rest) = words.split_once(' ').expect("several words");
            let read = Agreement::read(clock.parse().expect("a number"), rest);
            assert_eq!(read, Some(agreement));
        }
        assert_eq!(Agreement::read(NOW, ""), None, "an older version's");
        assert_eq!(Agreement::read(NOW, "unfinished"), None);
    }

    /// A person's runs do not believe a clock that was set, however many there are, until runs have agreed for long.
    ///
    /// Invariant `work/pruning-clock`.
    #[test]
    fn no_number_of_runs_believes_a_clock() {
        let before = daily(400);
        for (uptime, boot) in [(402 * DAY, "a"), (MINUTE, "b")] {
            let mut run = before.clone();
            for minute in 0..10 {
                let wrong = reading(
                    NOW + 40 * DAY + minute * MINUTE,
                    uptime + minute * MINUTE,
                    boot,
                );
                run = Agreement::of(Some(&run), wrong, KEEP);
                let words = run.words();
                let (clock, rest) = words.split_once(' ').expect("several words");
                run =
                    Agreement::read(clock.parse().expect("a number"), rest).expect("it was noted");
                let ages = run.ages_by_hand();
                assert!(ages.unused_for(NOW) <= 10 * MINUTE, "{boot} {minute}");
                assert!(ages.doubts(NOW) && !ages.doubts(NOW + 40 * DAY));
            }
            for day in 1..=31 {
                let later = reading(NOW + (40 + day) * DAY, uptime + day * DAY, boot);
                run = Agreement::of(Some(&run), later, KEEP);
            }
            assert_eq!(
                run.ages_by_hand().unused_for(NOW),
                71 * DAY,
                "{boot}: it is right"
            );
        }
    }
}
