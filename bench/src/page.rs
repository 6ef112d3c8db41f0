//! The pages that tell what was measured: one with each number and its target, and one for readers. What stands between two markers of
//! a page is written anew. This module does IO.

use std::fmt::Write;
use std::path::Path;

use crate::cases::{COLD, EDITS, EVENT, FIRST, LONG, NO_CHANGE, REVERT, edits};
use crate::plot::tick;
use crate::process::Result;
use crate::results::{Measured, Results};
use crate::targets::{self, Target, targets};
use crate::ways::{OLDER, OURS, PLAIN, WATCHED};

const BEGIN: &str = "<!-- measured: written by `just bench` -->";
const END: &str = "<!-- /measured -->";

/// How many messages a day has, how many calls of the hook a message, and how many of these look at the workspace: those of a message
/// with four steps and five tools.
const MESSAGES: f64 = 40.0;
const CALLS: f64 = 17.0;
const LOOKS: f64 = 3.0;
/// How often a tool looks at the workspace in such a message that does so where each step begins and ends.
const LOOKS_AT_STEPS: f64 = 8.0;

/// Writes the tables of all numbers and targets into `bench/targets.md`, and that of a day into `performance.md`.
pub fn write(docs: &Path, results: &Results) -> Result<()> {
    rewrite(&docs.join("../bench/targets.md"), &text(results))?;
    rewrite(&docs.join("performance.md"), &day(results))
}

fn rewrite(page: &Path, text: &str) -> Result<()> {
    let old = std::fs::read_to_string(page)?;
    let new = replaced(&old, text).ok_or_else(|| format!("no markers in `{}`", page.display()))?;
    Ok(std::fs::write(page, new)?)
}

/// Returns the cost of a day of work in each tree.
fn day(results: &Results) -> String {
    let sizes = results.by_size();
    let row = |name: &str, of: &dyn Fn(&Measured) -> Option<f64>| {
        let cells: Vec<_> = sizes
            .iter()
            .map(|(_, measured)| of(measured).map(duration).unwrap_or_default())
            .collect();
        format!("| {name} | {} |\n", cells.join(" | "))
    };
    let files: Vec<_> = sizes
        .iter()
        .map(|(_, measured)| format!("{} files", tick(measured.files as f64)))
        .collect();
    let mut table = format!(
        "\n| | {} |\n| --- |{}\n",
        files.join(" | "),
        " ---: |".repeat(files.len())
    );
    let ten = edits(10);
    table += &row("a call that takes notes", &|tree| tree.median(EVENT, OURS));
    table += &row("a call that looks, nothing changed", &|tree| {
        tree.median(NO_CHANGE, OURS)
    });
    table += &row("a call that looks, ten files changed", &|tree| {
        tree.median(&ten, OURS)
    });
    table += &row("the first message, in a git repository", &|tree| {
        tree.median(FIRST, OURS)
    });
    table += &row("a revert of 1,000 files", &|tree| tree.median(REVERT, OURS));
    table += &row("**a day of 40 messages**", &|tree| {
        let notes = (CALLS - LOOKS) * tree.median(EVENT, OURS)?;
        Some(MESSAGES * (notes + LOOKS * tree.median(&ten, OURS)?))
    });
    table += &row(
        "the same day with `git add` and `git write-tree`",
        &|tree| Some(MESSAGES * LOOKS_AT_STEPS * tree.median(&ten, "git")?),
    );
    table + "\n"
}

/// Returns milliseconds in the unit that people use for them.
fn duration(milliseconds: f64) -> String {
    match milliseconds {
        60_000.0.. => format!("{:.0} min", milliseconds / 60_000.0),
        10_000.0.. => format!("{:.0} s", milliseconds / 1000.0),
        1000.0.. => format!("{:.1} s", milliseconds / 1000.0),
        _ => format!("{milliseconds:.0} ms"),
    }
}

fn replaced(page: &str, text: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{text}{END}{after}"))
}

/// Returns the tables of every size.
pub fn text(results: &Results) -> String {
    let mut text = String::new();
    for (size, measured) in results.by_size() {
        let _ = write!(
            text,
            "\n### {size}: {}\n\n{}\n{}",
            about(measured),
            medians(measured),
            judged(size, measured)
        );
    }
    if let Some(measured) = &results.reading {
        let _ = write!(
            text,
            "\n### Reading a long history\n\n{}\n\n{}",
            machine(measured),
            table(&targets::reading(measured))
        );
    }
    text + "\n"
}

fn about(measured: &Measured) -> String {
    format!(
        "{} files in {} directories, {} MB\n\n{}",
        measured.files,
        measured.directories,
        measured.bytes / 1_000_000,
        machine(measured),
    )
}

fn machine(measured: &Measured) -> String {
    let machine = &measured.machine;
    let load = match machine.load.as_str() {
        "" => String::new(),
        load => format!(", a load of {load}"),
    };
    format!(
        "{}: {} cores of {}, {} GB, {}, {}, git {}{load}",
        measured.date,
        machine.cores,
        machine.cpu,
        machine.memory_gb,
        machine.file_system,
        machine.kernel,
        machine.git,
    )
}

/// The medians of all ways, in milliseconds.
fn medians(measured: &Measured) -> String {
    let ways = [
        OURS,
        WATCHED,
        PLAIN,
        "git",
        "Conductor",
        "floor",
        "empty process",
        "git checkout",
        OLDER,
    ];
    let mut cases = [NO_CHANGE, COLD, EVENT, LONG, FIRST]
        .map(str::to_owned)
        .to_vec();
    cases.extend(EDITS.map(edits));
    cases.push(REVERT.to_owned());
    let mut table = format!(
        "| median, ms | {} |\n| --- |{}\n",
        ways.join(" | "),
        " ---: |".repeat(ways.len())
    );
    for case in cases
        .iter()
        .filter(|case| measured.times.contains_key(*case))
    {
        let cell = |way: &&str| measured.median(case, way).map(number).unwrap_or_default();
        let cells: Vec<_> = ways.iter().map(cell).collect();
        let _ = writeln!(table, "| {case} | {} |", cells.join(" | "));
    }
    table
}

/// The targets, each with what was measured.
fn judged(size: &str, measured: &Measured) -> String {
    table(&targets(size, measured))
}

fn table(targets: &[Target]) -> String {
    let mut table = "| target | at most | measured | |\n| --- | ---: | ---: | --- |\n".to_owned();
    for target in targets {
        let limit = format!(
            "{}{}",
            if target.is_least { "at least " } else { "" },
            number(target.limit)
        );
        let (case, what, measured) = (&target.case, target.what, number(target.measured));
        let _ = writeln!(
            table,
            "| {case}: {what} | {limit} | {measured} | {} |",
            verdict(target)
        );
    }
    table
}

fn verdict(target: &Target) -> String {
    match target.missed_by() {
        None => "met".to_owned(),
        Some(part) => format!("**missed** by {:.0} %", (part * 100.0).max(1.0)),
    }
}

/// Three digits, or all that stand before the point.
fn number(number: f64) -> String {
    let digits = match number.abs() {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    format!("{number:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_markers_is_written() {
        let page = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let expected = format!("before\n{BEGIN}\nnew\n{END}\nafter\n");
        assert_eq!(replaced(&page, "new\n"), Some(expected), "the rest stays");
        assert_eq!(replaced("no markers", "new"), None, "nothing is guessed");
    }

    #[test]
    fn a_duration_has_the_unit_that_people_use() {
        assert_eq!(
            [5.7, 747.2, 5405.0, 36_100.0, 968_000.0].map(duration),
            ["6 ms", "747 ms", "5.4 s", "36 s", "16 min"],
            "no digit that does not matter"
        );
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(
            [1234.5, 12.345, 1.2345, 0.1234].map(number),
            ["1234", "12.3", "1.23", "0.123"],
            "no more is known"
        );
    }
}
