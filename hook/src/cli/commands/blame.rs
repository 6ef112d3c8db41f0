//! `blame`: which prompt wrote each line of a file.

use std::ops::RangeInclusive;
use std::path::Path;

use ckpt_command::invocation::Invocation;
use ckpt_command::pager::paged;
use ckpt_output::blame;
use ckpt_process::failure::Failure;
use ckpt_schema::report::{BlameHunk, BlameReport};
use ckpt_store::Error;

use super::meant;
use crate::cli::arguments::BlameArguments;

/// Shows the lines with who wrote them.
pub fn run(invocation: &Invocation, arguments: &BlameArguments) -> Result<u8, Failure> {
    let named = arguments.file.to_string_lossy();
    let (file, line) = match at_a_line(&named) {
        Some((file, line)) if arguments.lines.is_none() && !meant::is_file(invocation, &named) => {
            (Path::new(file), Some(line..=line))
        }
        _ => (arguments.file.as_path(), None),
    };
    let asked = arguments.lines.as_deref().map(range).transpose()?;
    let wanted = asked.or(line);
    let directory = invocation.directory()?;
    let blamed = invocation.open()?.blame(&directory, file)?;
    let report = match wanted {
        Some(wanted) => within(blamed.report, &wanted)?,
        None => blamed.report,
    };
    paged(invocation, &report, |view| {
        blame::render(&report, &blamed.bytes, view)
    })
}

/// Splits `FILE:LINE`, as compilers and editors write it.
fn at_a_line(text: &str) -> Option<(&str, u64)> {
    let (file, line) = text.rsplit_once(':')?;
    let line = line.parse().ok().filter(|line| *line > 0)?;
    (!file.is_empty()).then_some((file, line))
}

/// Reads a range of lines as `git blame -L` has it.
fn range(text: &str) -> Result<RangeInclusive<u64>, Failure> {
    let wrong = || no_range(text);
    let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0);
    let (first, last) = text.split_once(',').ok_or_else(wrong)?;
    let first = if first.is_empty() {
        Some(1)
    } else {
        number(first)
    };
    let first = first.ok_or_else(wrong)?;
    let last = match last.strip_prefix('+') {
        Some(count) => number(count).map(|count| first.saturating_add(count - 1)),
        None if last.is_empty() => Some(u64::MAX),
        None => number(last),
    };
    let last = last.ok_or_else(wrong)?;
    if last < first {
        return Err(wrong());
    }
    Ok(first..=last)
}

fn no_range(text: &str) -> Failure {
    Failure::usage(
        format!("`{}` is not a range of lines", text.escape_debug()),
        "give the first and the last, as `10,20`, or the first and how many, as `10,+5`",
    )
}

/// Keeps the lines of a range.
fn within(report: BlameReport, wanted: &RangeInclusive<u64>) -> Result<BlameReport, Failure> {
    if report.lines < *wanted.start() {
        let lines = ckpt_store::model::number::count(report.lines, "line");
        return Err(Error::failed(format!("the file has only {lines}")).into());
    }
    let hunks = report.hunks.into_iter();
    Ok(BlameReport {
        hunks: hunks.filter_map(|hunk| cut(hunk, wanted)).collect(),
        ..report
    })
}

/// Returns the lines of a hunk that are in a range, or `None` if it has none there.
fn cut(hunk: BlameHunk, wanted: &RangeInclusive<u64>) -> Option<BlameHunk> {
    let end = hunk.start + hunk.lines - 1;
    let (start, end) = (hunk.start.max(*wanted.start()), end.min(*wanted.end()));
    (start <= end).then(|| BlameHunk {
        start,
        lines: end - start + 1,
        ..hunk
    })
}

#[cfg(test)]
mod tests {
    use ckpt_schema::report::LineAuthor;

    use super::*;

    /// A hunk is cut to the lines that are asked for.
    #[test]
    fn hunk_is_cut_to_the_lines_asked_for() {
        let hunk = BlameHunk {
            start: 5,
            lines: 3,
            by: LineAuthor::Outside,
            steps: Vec::new(),
            operation: None,
            time: None,
            reason: None,
            renamed_from: None,
        };
        let cut = |wanted| cut(hunk.clone(), &wanted).map(|hunk| (hunk.start, hunk.lines));
        assert_eq!(cut(1..=u64::MAX), Some((5, 3)));
        assert_eq!(cut(6..=6), Some((6, 1)));
        assert_eq!(cut(1..=5), Some((5, 1)));
        assert_eq!(cut(7..=20), Some((7, 1)));
        assert_eq!(cut(1..=4), None, "before it");
        assert_eq!(cut(8..=9), None, "behind it");
    }

    /// A line may stand behind a file.
    #[test]
    fn line_may_stand_behind_a_file() {
        assert_eq!(at_a_line("src/a.rs:12"), Some(("src/a.rs", 12)));
        assert_eq!(at_a_line("a:b:3"), Some(("a:b", 3)));
        for text in ["a", "a:", ":3", "a:0", "a:x"] {
            assert_eq!(at_a_line(text), None, "{text}");
        }
    }

    /// A range is first and last or first and how many.
    #[test]
    fn range_is_first_and_last_or_a_count() {
        for (text, expected) in [
            ("10,20", Some(10..=20)),
            ("10,+5", Some(10..=14)),
            ("7,7", Some(7..=7)),
            ("7,", Some(7..=u64::MAX)),
            (",7", Some(1..=7)),
            (",+7", Some(1..=7)),
            ("20,10", None),
            ("0,5", None),
            ("5", None),
            ("5,+0", None),
            ("-1,5", None),
            ("a,b", None),
            ("5,99999999999999999999", None),
        ] {
            assert_eq!(range(text).ok(), expected, "{text}");
        }
    }
}
