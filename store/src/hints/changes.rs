//! Remembers what may have changed since a moment, in bounded memory. What is forgotten counts as a change anywhere.

use std::collections::{BTreeSet, HashMap};

use super::protocol::ChangedPlaces;

/// How many places are remembered.
const MOST_REMEMBERED: usize = 16_384;

/// More places than this count as anywhere: looking at each would cost as much.
const MOST_TOLD: usize = 4_096;

/// The places where something may have changed, each with the moment of the last change.
#[derive(Debug, Default)]
pub(super) struct ChangeTimes {
    now: u64,
    /// Changes up to this moment are forgotten.
    forgotten: u64,
    directories: HashMap<Vec<u8>, u64>,
    trees: HashMap<Vec<u8>, u64>,
}

impl ChangeTimes {
    /// Returns the moment after all that was noted.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Notes that something may have changed in a directory: its names, its permissions, its files.
    pub fn in_directory(&mut self, path: &[u8]) {
        self.now += 1;
        if self.directories.insert(path.to_vec(), self.now).is_none() {
            self.forget_where_many();
        }
    }

    /// Notes that a directory came or went, so that anything in it and below it may have changed.
    pub fn in_tree(&mut self, path: &[u8]) {
        self.now += 1;
        if self.trees.insert(path.to_vec(), self.now).is_none() {
            self.forget_where_many();
        }
    }

    fn forget_where_many(&mut self) {
        if self.directories.len() + self.trees.len() > MOST_REMEMBERED {
            self.directories = HashMap::new();
            self.trees = HashMap::new();
            // The answer about an earlier moment is that anything may have changed.
            self.forgotten = self.now;
        }
    }

    /// Returns where something may have changed after a moment. `None` means anywhere.
    pub fn since(&self, moment: u64) -> Option<ChangedPlaces> {
        // A later moment than now is another watch's, or made up.
        if moment < self.forgotten || moment > self.now {
            return None;
        }
        let later = |places: &HashMap<Vec<u8>, u64>| {
            let later = places.iter().filter(|(_, when)| **when > moment);
            later.map(|(path, _)| path.clone()).collect()
        };
        let places = ChangedPlaces {
            directories: later(&self.directories),
            trees: later(&self.trees),
            left_out: BTreeSet::new(),
        };
        (places.directories.len() + places.trees.len() <= MOST_TOLD).then_some(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What came after a moment is told and nothing else.
    #[test]
    fn changes_after_a_moment_are_told() {
        let mut changes = ChangeTimes::default();
        changes.in_directory(b"a");
        let moment = changes.now();
        assert_eq!(changes.since(moment), Some(ChangedPlaces::default()));
        changes.in_directory(b"b");
        changes.in_tree(b"t");
        changes.in_directory(b"a");
        let told = changes.since(moment).expect("little happened");
        assert_eq!(told.directories, [b"a".to_vec(), b"b".to_vec()].into());
        assert_eq!(told.trees, [b"t".to_vec()].into());
    }

    /// What is forgotten or still to come counts as anything.
    #[test]
    fn forgotten_or_future_moments_mean_anything_changed() {
        let mut changes = ChangeTimes::default();
        let begin = changes.now();
        (0..=MOST_REMEMBERED)
            .for_each(|number| changes.in_directory(number.to_string().as_bytes()));
        assert_eq!(changes.since(begin), None, "it is forgotten");
        assert_eq!(changes.since(changes.now() + 1), None, "of another watch");
        let moment = changes.now();
        (0..=MOST_TOLD).for_each(|number| changes.in_tree(number.to_string().as_bytes()));
        assert_eq!(changes.since(moment), None, "it is too much");
    }
}
