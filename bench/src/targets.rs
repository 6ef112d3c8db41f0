//! What is to be reached, and whether it is. Pure.

use crate::cases::{COLD, EVENT, FIRST, LONG, NO_CHANGE, REVERT, REVERTED, WATCHER_MEMORY, edits};
use crate::reading;
use crate::results::Measured;
use crate::ways::{OURS, PLAIN, WATCHED};

/// What a person waits for at most, in milliseconds: each with what is read.
const READING: [(&str, f64); 6] = [
    (reading::LOG, 50.0),
    (reading::STATUS, 30.0),
    (reading::SHOW, 30.0),
    (reading::UI, 50.0),
    (reading::QUESTION, 200.0),
    (reading::BLAME, 300.0),
];

/// One target.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The case.
    pub case: String,
    /// What the number is: a ratio to a way, or a unit.
    pub what: &'static str,
    /// What was measured.
    pub measured: f64,
    /// What it is to be at most, or at least.
    pub limit: f64,
    /// Whether more is better.
    pub is_least: bool,
}

impl Target {
    /// Returns by how much it is missed, as a part of the limit; `None` if it is met.
    pub fn missed_by(&self) -> Option<f64> {
        let over = if self.is_least {
            self.limit - self.measured
        } else {
            self.measured - self.limit
        };
        (over > 0.0).then_some(over / self.limit)
    }
}

/// Returns every target that something was measured for.
pub fn targets(size: &str, measured: &Measured) -> Vec<Target> {
    let mut all = Vec::new();
    for (case, what, limit, number) in most(size, measured) {
        all.extend(number.map(|measured| Target {
            case,
            what,
            measured,
            limit,
            is_least: false,
        }));
    }
    let speed = measured.median(FIRST, PLAIN);
    let cores = measured.machine.cores.max(1) as f64;
    let speed = speed.map(|milliseconds| measured.bytes as f64 / 1e3 / milliseconds / cores);
    let case = format!("{FIRST}, nothing to take from");
    all.extend(speed.map(|measured| Target {
        case,
        what: "MB/s a core",
        measured,
        limit: 170.0,
        is_least: true,
    }));
    all
}

/// Returns the targets of the commands that read.
pub fn reading(measured: &Measured) -> Vec<Target> {
    let target = |(case, limit): &(&str, f64)| {
        Some(Target {
            case: (*case).to_owned(),
            what: "ms",
            measured: measured.median(case, OURS)?,
            limit: *limit,
            is_least: false,
        })
    };
    READING.iter().filter_map(target).collect()
}

type Limit = (String, &'static str, f64, Option<f64>);

/// Each with the case, what it is compared with, the limit, and what was measured.
fn most(size: &str, measured: &Measured) -> Vec<Limit> {
    let limits = Limits::of(size);
    let mut all = Vec::new();
    let mut add =
        |case: &str, what, limit, number| all.push((case.to_owned(), what, limit, number));
    if size == "S" {
        add(
            NO_CHANGE,
            "ms over an empty process",
            2.5,
            over(measured, NO_CHANGE, OURS),
        );
    } else {
        add(
            NO_CHANGE,
            "of the floor",
            limits.floor,
            measured.ratio(NO_CHANGE, OURS, "floor"),
        );
    }
    add(
        NO_CHANGE,
        "of git",
        limits.no_change,
        measured.ratio(NO_CHANGE, OURS, "git"),
    );
    for (case, limit) in [
        (NO_CHANGE.to_owned(), limits.no_change_watched),
        (edits(10), limits.ten_edits_watched),
    ] {
        add(
            &format!("{case}, watcher"),
            "ms over an empty process",
            limit,
            over(measured, &case, WATCHED),
        );
    }
    let calls = measured.files + 3 * measured.directories + 60;
    add(
        NO_CHANGE,
        "system calls",
        calls as f64,
        measured.count("system calls"),
    );
    add(COLD, "of git", 0.9, measured.ratio(COLD, OURS, "git"));
    add(
        EVENT,
        "ms over an empty process",
        2.0,
        over(measured, EVENT, OURS),
    );
    add(LONG, "ms", 100.0, measured.median(LONG, OURS));
    for (count, more, git) in [(10, 5.0, limits.ten_edits), (1000, 150.0, 0.3)] {
        let case = edits(count);
        let added = measured
            .median(&case, OURS)
            .zip(measured.median(NO_CHANGE, OURS));
        add(
            &case,
            "ms over no change",
            more,
            added.map(|(case, none)| case - none),
        );
        add(&case, "of git", git, measured.ratio(&case, OURS, "git"));
    }
    add(
        &format!("{FIRST}, nothing to take from"),
        "of git",
        0.22,
        measured.ratio(FIRST, PLAIN, "git"),
    );
    add(
        &format!("{FIRST}, beside git"),
        "of the floor",
        4.0,
        measured.ratio(FIRST, OURS, "floor"),
    );
    add(
        &format!("{FIRST}, beside git"),
        "of git",
        limits.first,
        measured.ratio(FIRST, OURS, "git"),
    );
    let each = measured
        .median(REVERT, OURS)
        .map(|milliseconds| milliseconds / REVERTED as f64);
    add(REVERT, "ms a file", 0.55, each);
    add(
        REVERT,
        "of git checkout",
        limits.revert,
        measured.ratio(REVERT, OURS, "git checkout"),
    );
    let loose =
        |name: &str| Some(measured.count(name)? / measured.count("disk, 60 snapshots, loose")?);
    add(
        "disk, 60 snapshots of ten files",
        "of loose objects",
        0.35,
        loose("disk, 60 snapshots"),
    );
    add(
        "disk, 60 snapshots, after `gc`",
        "of loose objects",
        0.06,
        loose("disk, 60 snapshots, after gc"),
    );
    let memory = if size == "XL" { 500.0 } else { 150.0 };
    add(
        "memory, payload of 50 MB",
        "MB",
        40.0,
        measured
            .count("memory, payload of 50 MB")
            .map(|bytes| bytes / 1e6),
    );
    for name in [
        "memory, no change",
        "memory, first",
        "memory, first beside git",
    ] {
        add(
            name,
            "MB",
            memory,
            measured.count(name).map(|bytes| bytes / 1e6),
        );
    }
    let watcher = measured.count(WATCHER_MEMORY);
    add(WATCHER_MEMORY, "MB", 60.0, watcher.map(|bytes| bytes / 1e6));
    all
}

/// Returns by how many milliseconds a way takes longer than an empty process.
fn over(measured: &Measured, case: &str, way: &str) -> Option<f64> {
    Some(measured.median(case, way)? - measured.median(case, "empty process")?)
}

/// What depends on the size of the tree: ratios to git where nothing else is said.
struct Limits {
    /// No change, of the floor.
    floor: f64,
    no_change: f64,
    ten_edits: f64,
    first: f64,
    /// Of `git checkout`.
    revert: f64,
    /// Milliseconds over an empty process.
    no_change_watched: f64,
    /// Milliseconds over an empty process.
    ten_edits_watched: f64,
}

impl Limits {
    fn of(size: &str) -> Self {
        match size {
            "S" => Self {
                floor: 1.15,
                no_change: 0.50,
                ten_edits: 0.45,
                first: 0.06,
                revert: 0.9,
                no_change_watched: 5.0,
                ten_edits_watched: 12.0,
            },
            "M" => Self {
                floor: 1.15,
                no_change: 0.36,
                ten_edits: 0.36,
                first: 0.025,
                revert: 0.9,
                no_change_watched: 5.0,
                ten_edits_watched: 12.0,
            },
            "L" => Self {
                floor: 1.2,
                no_change: 0.35,
                ten_edits: 0.32,
                first: 0.02,
                revert: 0.6,
                no_change_watched: 6.0,
                ten_edits_watched: 14.0,
            },
            _ => Self {
                floor: 1.3,
                no_change: 0.32,
                ten_edits: 0.27,
                first: 0.02,
                revert: 0.5,
                no_change_watched: 10.0,
                ten_edits_watched: 20.0,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_is_missed_by_part_of_its_limit() {
        let at_most = |measured| Target {
            case: String::new(),
            what: "",
            measured,
            limit: 2.0,
            is_least: false,
        };
        assert_eq!(at_most(2.0).missed_by(), None, "met to the point");
        assert_eq!(at_most(3.0).missed_by(), Some(0.5), "half too much");
        assert_eq!(
            Target {
                is_least: true,
                ..at_most(1.0)
            }
            .missed_by(),
            Some(0.5),
            "half too little"
        );
    }

    #[test]
    fn what_was_not_measured_is_no_target() {
        assert_eq!(targets("S", &Measured::default()), [], "nothing was");
        assert_eq!(super::reading(&Measured::default()), [], "nothing was read");
    }
}
