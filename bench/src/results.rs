//! What was measured, kept between runs: one size can be measured anew without the others. This module does IO.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::process::Result;

/// Milliseconds of each way, in the order of the rounds.
pub type Times = BTreeMap<String, Vec<f64>>;

/// All sizes, by name.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Results {
    /// By the name of the size.
    pub sizes: BTreeMap<String, Measured>,
    /// The commands that read a long history.
    #[serde(default)]
    pub reading: Option<Measured>,
}

/// What was measured in one tree.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    /// The day of the measurement, as `2026-01-31`.
    pub date: String,
    /// The machine that it ran on.
    pub machine: Machine,
    /// Files in view.
    pub files: u64,
    /// Directories in view.
    pub directories: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// By case.
    pub times: BTreeMap<String, Times>,
    /// What is counted, not timed, by name.
    pub counts: BTreeMap<String, u64>,
}

impl Results {
    /// Reads the results that are kept; no results if there is no file.
    pub fn read(file: &Path) -> Result<Self> {
        match std::fs::read_to_string(file) {
            Ok(text) => Ok(serde_json::from_str(&text)?),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the results as JSON.
    pub fn write(&self, file: &Path) -> Result<()> {
        Ok(std::fs::write(file, serde_json::to_string(self)? + "\n")?)
    }

    /// Returns the sizes from the smallest on.
    pub fn by_size(&self) -> Vec<(&String, &Measured)> {
        let mut sizes: Vec<_> = self.sizes.iter().collect();
        sizes.sort_by_key(|(_, measured)| measured.files);
        sizes
    }
}

impl Measured {
    /// Returns the median of a way, in milliseconds.
    pub fn median(&self, case: &str, way: &str) -> Option<f64> {
        median(self.times.get(case)?.get(way)?.clone())
    }

    /// Returns the median of the ratios of one way to another, round by round.
    pub fn ratio(&self, case: &str, way: &str, to: &str) -> Option<f64> {
        let times = self.times.get(case)?;
        let pairs = times.get(way)?.iter().zip(times.get(to)?);
        median(pairs.map(|(way, to)| way / to).collect())
    }

    /// Returns the counts.
    pub fn count(&self, name: &str) -> Option<f64> {
        self.counts.get(name).map(|count| *count as f64)
    }
}

fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let (last, half) = (numbers.len().checked_sub(1)?, numbers.len() / 2);
    Some(if last % 2 == 0 {
        numbers[half]
    } else {
        f64::midpoint(numbers[half - 1], numbers[half])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_middle_or_between_two() {
        assert_eq!(median(vec![]), None, "of nothing there is none");
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0), "the middle");
        assert_eq!(
            median(vec![4.0, 1.0, 2.0, 3.0]),
            Some(2.5),
            "between the two"
        );
    }
}
