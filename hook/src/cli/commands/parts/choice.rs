//! Which hunks of one file are taken: the cursor over them, and what each answer does, as `git add -p` has it. Pure.

use ckpt_output::hunk::{self, ChangeUnit};

/// A part of a file that one question is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The file as a whole: it is created or removed, or it has no lines.
    Whole(&'static str),
    /// Its mode.
    Mode,
    /// Some of its lines.
    Hunk(ChangeUnit),
}

impl Unit {
    /// Returns the question, as git words it.
    pub fn question(&self) -> String {
        let what = match self {
            Self::Whole(what) => what,
            Self::Mode => "mode change",
            Self::Hunk(_) => "this hunk",
        };
        format!("Apply {what} to the workspace")
    }
}

/// An answer, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitAnswer {
    Yes,
    No,
    /// Nothing of the rest, in any file.
    Quit,
    /// This and the rest of the file.
    All,
    /// Nothing of the rest of the file.
    Done,
    /// To the next one, or the next that is undecided.
    Next {
        undecided: bool,
    },
    /// To the one before, or the one before that is undecided.
    Previous {
        undecided: bool,
    },
    /// Go to the one with this number; without a number, ask for it.
    Go(Option<usize>),
    /// Go to the next one that contains a text; an empty text is asked for.
    Search(String),
    Split,
    Edit,
    Print,
    Help,
}

impl UnitAnswer {
    /// Reads an answer. Anything unknown asks for help.
    pub fn read(line: &str) -> Self {
        let line = line.trim();
        let rest = || line.get(1..).unwrap_or_default().trim().to_owned();
        match line.chars().next() {
            Some('y' | 'Y') => Self::Yes,
            Some('n' | 'N') => Self::No,
            Some('q' | 'Q') => Self::Quit,
            Some('a' | 'A') => Self::All,
            Some('d' | 'D') => Self::Done,
            Some('j') => Self::Next { undecided: true },
            Some('J') => Self::Next { undecided: false },
            Some('k') => Self::Previous { undecided: true },
            Some('K') => Self::Previous { undecided: false },
            Some('g' | 'G') => Self::Go(rest().parse().ok()),
            Some('/') => Self::Search(rest()),
            Some('s' | 'S') => Self::Split,
            Some('e' | 'E') => Self::Edit,
            Some('p' | 'P') => Self::Print,
            _ => Self::Help,
        }
    }
}

/// What is done with a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitVerdict {
    Take,
    Leave,
}

/// Where to go from a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Back,
}

/// The units of one file, with the decision about each.
#[derive(Clone, Debug)]
pub struct UnitChoice {
    units: Vec<(Unit, Option<bool>)>,
    at: usize,
}

impl UnitChoice {
    /// Begins with the first of a file's units. There is at least one.
    pub fn new(units: Vec<Unit>) -> Self {
        Self {
            units: units.into_iter().map(|unit| (unit, None)).collect(),
            at: 0,
        }
    }

    /// Returns the unit of the current question; `None` if every one is decided.
    pub fn current(&self) -> Option<&Unit> {
        let is_over = self.units.iter().all(|(_, answer)| answer.is_some());
        self.units
            .get(self.at)
            .filter(|_| !is_over)
            .map(|(unit, _)| unit)
    }

    /// Returns the number of the current unit, and how many there are.
    pub fn place(&self) -> (usize, usize) {
        (self.at + 1, self.units.len())
    }

    /// Returns the units with a sign for the decision about each.
    pub fn listed(&self) -> impl Iterator<Item = (char, &Unit)> {
        self.units.iter().map(|(unit, answer)| {
            let sign = match answer {
                Some(true) => '+',
                Some(false) => '-',
                None => ' ',
            };
            (sign, unit)
        })
    }

    /// Returns the keys that do something here, in git's order.
    pub fn keys(&self) -> String {
        let undecided = |(_, answer): &(Unit, Option<bool>)| answer.is_none();
        let (before, after) = (&self.units[..self.at], &self.units[self.at + 1..]);
        let hunk = match &self.units[self.at].0 {
            Unit::Hunk(hunk) => Some(hunk),
            Unit::Whole(_) | Unit::Mode => None,
        };
        let many = self.units.len() > 1;
        let keys = [
            ("k", before.iter().any(undecided)),
            ("K", !before.is_empty()),
            ("j", after.iter().any(undecided)),
            ("J", !after.is_empty()),
            ("g", many),
            ("/", many),
            ("s", hunk.is_some_and(ChangeUnit::has_parts)),
            ("e", hunk.is_some()),
            ("p", true),
        ];
        let here = keys.into_iter().filter(|(_, is_here)| *is_here);
        let keys: Vec<&str> = here.map(|(key, _)| key).collect();
        format!("y,n,q,a,d,{},?", keys.join(","))
    }

    /// Takes or leaves the unit, and goes to the next that is undecided.
    pub fn decide(&mut self, verdict: UnitVerdict) {
        self.units[self.at].1 = Some(verdict == UnitVerdict::Take);
        self.skip_decided();
    }

    /// Takes or leaves the unit and all undecided ones after it; undecided ones before it come next.
    pub fn decide_rest(&mut self, verdict: UnitVerdict) {
        let takes = verdict == UnitVerdict::Take;
        let rest = self.units[self.at..].iter_mut();
        for (_, answer) in rest.filter(|(_, answer)| answer.is_none()) {
            *answer = Some(takes);
        }
        self.units[self.at].1 = Some(takes);
        self.skip_decided();
    }

    /// Leaves everything that is undecided.
    pub fn leave_rest(&mut self) {
        for (_, answer) in &mut self.units {
            *answer = answer.or(Some(false));
        }
    }

    /// Goes on, or says why not.
    pub fn step(&mut self, direction: Direction, undecided: bool) -> Result<(), &'static str> {
        let is_it = |at: &usize| !undecided || self.units[*at].1.is_none();
        let (found, none) = match direction {
            Direction::Forward => {
                let found = (self.at + 1..self.units.len()).find(is_it);
                (found, "No next hunk")
            }
            Direction::Back => ((0..self.at).rev().find(is_it), "No previous hunk"),
        };
        self.at = found.ok_or(none)?;
        Ok(())
    }

    /// Goes to the unit with a number, or says why not.
    pub fn go(&mut self, number: usize) -> Result<(), &'static str> {
        if number == 0 || number > self.units.len() {
            return Err("There is no hunk with this number");
        }
        self.at = number - 1;
        Ok(())
    }

    /// Goes to the next unit with a text in it, from the end to the start again.
    pub fn search(&mut self, old: &[&[u8]], text: &str) -> Result<(), &'static str> {
        let has = |at: &usize| match &self.units[*at].0 {
            Unit::Hunk(hunk) => hunk.has(old, text),
            Unit::Whole(_) | Unit::Mode => false,
        };
        let found = (self.at + 1..self.units.len()).chain(0..=self.at).find(has);
        self.at = found.ok_or("No hunk contains this text")?;
        Ok(())
    }

    /// Splits a hunk, and returns how many it became.
    pub fn split(&mut self) -> Option<usize> {
        let Unit::Hunk(hunk) = &self.units[self.at].0 else {
            return None;
        };
        let parts = hunk.split();
        let number = parts.len();
        if number < 2 {
            return None;
        }
        let parts = parts.into_iter().map(|part| (Unit::Hunk(part), None));
        self.units.splice(self.at..=self.at, parts);
        Some(number)
    }

    /// Takes an edited hunk instead of the current one.
    pub fn replace(&mut self, hunk: ChangeUnit) {
        self.units[self.at].0 = Unit::Hunk(hunk);
        self.decide(UnitVerdict::Take);
    }

    /// Returns whether the mode, or the file as a whole, is taken.
    pub fn takes_whole(&self) -> bool {
        let is_taken = |(unit, answer): &(Unit, Option<bool>)| {
            !matches!(unit, Unit::Hunk(_)) && *answer == Some(true)
        };
        self.units.iter().any(is_taken)
    }

    /// Returns whether the file is taken or left as a whole.
    pub fn is_of_whole(&self) -> bool {
        matches!(self.units[0].0, Unit::Whole(_))
    }

    /// Returns whether anything is taken.
    pub fn takes_any(&self) -> bool {
        self.units.iter().any(|(_, answer)| *answer == Some(true))
    }

    /// Returns the file with the hunks that are taken.
    pub fn contents(&self, old: &[&[u8]]) -> Vec<u8> {
        let taken = self.units.iter().filter_map(|(unit, answer)| match unit {
            Unit::Hunk(hunk) if *answer == Some(true) => Some(hunk),
            _ => None,
        });
        hunk::with(old, taken)
    }

    fn skip_decided(&mut self) {
        let undecided = |at: &usize| self.units[*at].1.is_none();
        let after = (self.at + 1..self.units.len()).find(undecided);
        let next = after.or_else(|| (0..self.at).find(undecided));
        self.at = next.unwrap_or(self.at);
    }
}

#[cfg(test)]
mod tests {
    use ckpt_output::lines::{DiffOptions, difference};

    use super::*;

    const OLD: &[u8] = b"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
    const NEW: &[u8] = b"one\n2\nthree\n4\n5\n6\n7\n8\n9\n10\n11\ntwelve\n";

    /// A file with its mode and two hunks, the first of which can be split.
    fn world() -> (Vec<&'static [u8]>, UnitChoice) {
        let difference = difference(OLD, NEW, &DiffOptions::default());
        let hunks = hunk::hunks(&difference).into_iter().map(Unit::Hunk);
        let units = std::iter::once(Unit::Mode).chain(hunks).collect();
        (difference.old, UnitChoice::new(units))
    }

    fn text(choice: &UnitChoice, old: &[&[u8]]) -> String {
        String::from_utf8(choice.contents(old)).expect("text")
    }

    #[test]
    fn answers_are_read_as_git_reads_them() {
        let cases = [
            ("y", UnitAnswer::Yes),
            ("Yes", UnitAnswer::Yes),
            ("n", UnitAnswer::No),
            ("j", UnitAnswer::Next { undecided: true }),
            ("J", UnitAnswer::Next { undecided: false }),
            ("K", UnitAnswer::Previous { undecided: false }),
            ("g2", UnitAnswer::Go(Some(2))),
            ("g", UnitAnswer::Go(None)),
            ("/ text", UnitAnswer::Search("text".to_owned())),
            ("", UnitAnswer::Help),
            ("?", UnitAnswer::Help),
            ("ü", UnitAnswer::Help),
        ];
        for (line, expected) in cases {
            assert_eq!(UnitAnswer::read(&format!("{line}\n")), expected, "{line:?}");
        }
    }

    /// Only the keys that do something here are offered.
    #[test]
    fn only_useful_keys_are_offered() {
        let (_, mut choice) = world();
        assert_eq!(choice.keys(), "y,n,q,a,d,j,J,g,/,p,?", "the mode");
        choice.decide(UnitVerdict::Take);
        assert_eq!(choice.keys(), "y,n,q,a,d,K,j,J,g,/,s,e,p,?", "two changes");
        assert_eq!(choice.split(), Some(2));
        assert_eq!((choice.place(), choice.split()), ((2, 4), None));
        choice.decide(UnitVerdict::Leave);
        assert_eq!(choice.place(), (3, 4), "the next one");
    }

    /// What was said yes to is taken and the rest is asked about in turn.
    #[test]
    fn yes_is_taken_and_the_rest_asked() {
        let (old, mut choice) = world();
        choice
            .step(Direction::Forward, true)
            .expect("there is a next one");
        choice.split();
        choice.decide(UnitVerdict::Take);
        choice.decide(UnitVerdict::Leave);
        choice.decide(UnitVerdict::Take);
        assert_eq!(choice.current(), Some(&Unit::Mode), "it was passed over");
        choice.leave_rest();
        assert_eq!((choice.current(), choice.takes_whole()), (None, false));
        let expected = String::from_utf8_lossy(NEW).replace("three", "3");
        assert_eq!(text(&choice, &old), expected);
    }

    #[test]
    fn one_goes_where_one_asks_to() {
        let (old, mut choice) = world();
        assert_eq!(choice.search(&old, "TWELVE"), Ok(()));
        assert_eq!(choice.place(), (3, 3));
        assert!(choice.search(&old, "thirteen").is_err());
        assert!(choice.step(Direction::Forward, false).is_err() && choice.go(4).is_err());
        assert_eq!((choice.go(2), choice.place()), (Ok(()), (2, 3)));
        choice.decide_rest(UnitVerdict::Take);
        assert_eq!(choice.current(), Some(&Unit::Mode), "it stands before");
        choice.decide_rest(UnitVerdict::Take);
        assert!(choice.takes_whole() && text(&choice, &old).as_bytes() == NEW);
    }
}
