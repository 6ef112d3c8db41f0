//! The page that tells what was measured: all between two markers is written anew. This module does IO.

use std::fmt::Write;
use std::path::Path;

use crate::cases::{COLD, EDITS, EVENT, FIRST, LONG, NO_CHANGE, REVERT, edits};
use crate::process::Result;
use crate::results::{Measured, Results};
use crate::targets::{Target, targets};
use crate::ways::{OURS, PLAIN, WATCHED};

const BEGIN: &str = "<!-- measured: written by `just bench` -->";
const END: &str = "<!-- /measured -->";

/// Writes the tables into a page.
pub fn write(page: &Path, results: &Results) -> Result<()> {
    let old = std::fs::read_to_string(page)?;
    let new = replaced(&old, &text(results))
        .ok_or_else(|| format!("no markers in `{}`", page.display()))?;
    Ok(std::fs::write(page, new)?)
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
    text + "\n"
}

fn about(measured: &Measured) -> String {
    let machine = &measured.machine;
    format!(
        "{} files in {} directories, {} MB\n\n{}: {} cores of {}, {} GB, {}, {}, git {}",
        measured.files,
        measured.directories,
        measured.bytes / 1_000_000,
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
    let mut table = "| target | at most | measured | |\n| --- | ---: | ---: | --- |\n".to_owned();
    for target in targets(size, measured) {
        let limit = format!(
            "{}{}",
            if target.is_least { "at least " } else { "" },
            number(target.limit)
        );
        let (case, what, measured) = (&target.case, target.what, number(target.measured));
        let _ = writeln!(
            table,
            "| {case}: {what} | {limit} | {measured} | {} |",
            verdict(&target)
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
    fn numbers_have_three_digits() {
        assert_eq!(
            [1234.5, 12.345, 1.2345, 0.1234].map(number),
            ["1234", "12.3", "1.23", "0.123"],
            "no more is known"
        );
    }
}
