//! Differences as people know them from `git diff`: a summary, names, or unified hunks that `git apply` takes.

use std::time::Duration;

use ckpt_schema::report::{ChangeKind, ChangeReport, DiffReport};
use similar::{ChangeTag, TextDiff};

use super::View;
use super::paint::Paint;
use super::table::Table;
use super::text::{count, path, safe_bytes};

/// A diff that takes longer is made coarser.
const PATIENCE: Duration = Duration::from_secs(2);

/// The two contents of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sides {
    /// They are the same: only the mode differs.
    Equal,
    /// Bytes that are lines.
    Text {
        /// Before.
        old: Vec<u8>,
        /// After.
        new: Vec<u8>,
    },
    /// They are not shown, and why.
    Hidden(&'static str),
}

/// Returns the names of what differs, one a line.
pub fn names(report: &DiffReport) -> String {
    report.files.iter().map(|change| format!("{}\n", path(&change.path))).collect()
}

/// Returns a line a file with its additions and deletions, and the sum.
pub fn stat(report: &DiffReport, view: &View) -> String {
    if report.files.is_empty() {
        return "Nothing differs.\n".to_owned();
    }
    let mut table = Table::new(&[1, 2]).indented(2);
    for change in &report.files {
        table.row(stat_row(change, view.paint));
    }
    let sum = |lines: fn(&ChangeReport) -> Option<u64>| report.files.iter().filter_map(lines).sum::<u64>();
    let (additions, deletions) = (sum(|change| change.additions), sum(|change| change.deletions));
    let files = count(report.files.len() as u64, "file");
    let counts = counts(Some(additions), Some(deletions), view.paint);
    format!("{}{files} differ: {}\n", table.render(view), counts.join(" "))
}

fn stat_row(change: &ChangeReport, paint: Paint) -> Vec<String> {
    let [additions, deletions] = counts(change.additions, change.deletions, paint);
    vec![kind(change, paint), additions, deletions, path(&change.path)]
}

/// Returns what happened to a file, in a word.
pub fn kind(change: &ChangeReport, paint: Paint) -> String {
    match change.kind {
        ChangeKind::Added => paint.good("added"),
        ChangeKind::Modified if change.whitespace_only => paint.warning("modified (white space)"),
        ChangeKind::Modified if change.binary => paint.warning("modified (binary)"),
        ChangeKind::Modified => paint.warning("modified"),
        ChangeKind::Deleted => paint.bad("deleted"),
        ChangeKind::Mode => paint.warning("mode"),
        ChangeKind::Type => paint.warning("type"),
    }
}

/// Returns "+2" and "-1", nothing for what has no lines or none of them.
pub fn counts(additions: Option<u64>, deletions: Option<u64>, paint: Paint) -> [String; 2] {
    let show = |sign: char, lines: Option<u64>| lines.map(|lines| format!("{sign}{lines}")).unwrap_or_default();
    [paint.good(&show('+', additions)), paint.bad(&show('-', deletions))]
}

/// Returns one file's part of a diff.
pub fn file(change: &ChangeReport, sides: &Sides, view: &View) -> Vec<u8> {
    let paint = view.paint;
    let mut text: String = header(change).iter().map(|line| format!("{}\n", paint.strong(line))).collect();
    match sides {
        Sides::Equal => {}
        Sides::Hidden(why) => text.push_str(&format!("{why}\n")),
        Sides::Text { old, new } => {
            text.push_str(&paint.strong(&ends(change)));
            let mut bytes = text.into_bytes();
            bytes.extend(hunks(old, new, view));
            return bytes;
        }
    }
    text.into_bytes()
}

fn header(change: &ChangeReport) -> Vec<String> {
    let name = path(&change.path);
    let mut lines = vec![format!("diff --git {} {}", quoted("a/", &name), quoted("b/", &name))];
    let mode = |mode: &Option<String>| mode.clone().unwrap_or_default();
    let (old, new) = (mode(&change.old_mode), mode(&change.new_mode));
    match (change.old_mode.is_some(), change.new_mode.is_some()) {
        (false, _) => lines.push(format!("new file mode {new}")),
        (_, false) => lines.push(format!("deleted file mode {old}")),
        _ if old != new => lines.extend([format!("old mode {old}"), format!("new mode {new}")]),
        _ => {}
    }
    lines.extend(kinds(&old, &new).map(|kinds| format!("# {kinds}")));
    lines
}

/// What a mode does not say to everyone.
fn kinds(old: &str, new: &str) -> Option<String> {
    let kind = |mode: &str| match mode.get(..mode.len().saturating_sub(4)) {
        Some("12") => "a symbolic link",
        Some("4" | "04") => "an empty directory",
        Some("10") => "a file",
        _ => "nothing",
    };
    let (old, new) = (kind(old), kind(new));
    let is_plain = [old, new].iter().all(|kind| matches!(*kind, "a file" | "nothing"));
    match (old, new) {
        _ if is_plain => None,
        ("nothing", new) => Some(format!("{new} was made")),
        (old, "nothing") => Some(format!("{old} was removed")),
        (old, new) if old == new => Some(format!("{old} was changed")),
        (old, new) => Some(format!("{old} became {new}")),
    }
}

fn ends(change: &ChangeReport) -> String {
    let name = path(&change.path);
    let end = |side: &str, blob: &Option<String>| match blob {
        Some(_) => quoted(side, &name),
        None => "/dev/null".to_owned(),
    };
    format!("--- {}\n+++ {}\n", end("a/", &change.old_blob), end("b/", &change.new_blob))
}

/// git quotes a name that it has to escape.
fn quoted(side: &str, name: &str) -> String {
    if name.contains(['\\', '"']) { format!("\"{side}{name}\"") } else { format!("{side}{name}") }
}

/// Returns the hunks of two texts with three lines of context.
///
/// On a terminal, lines are made safe like names; what goes to a file or a program stays as it is, so that it can be applied.
fn hunks(old: &[u8], new: &[u8], view: &View) -> Vec<u8> {
    let difference = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let is_for_people = view.width.is_some() || view.paint.is_on();
    let mut bytes = Vec::new();
    for hunk in difference.unified_diff().iter_hunks() {
        bytes.extend(format!("{}\n", view.paint.id(&hunk.header().to_string())).as_bytes());
        for change in hunk.iter_changes() {
            let line = change.value().strip_suffix(b"\n").unwrap_or(change.value());
            if is_for_people {
                bytes.extend(shown(change.tag(), line, view.paint).as_bytes());
            } else {
                bytes.extend(change.tag().to_string().as_bytes());
                bytes.extend(line);
            }
            bytes.push(b'\n');
            if change.missing_newline() {
                bytes.extend(b"\\ No newline at end of file\n");
            }
        }
    }
    bytes
}

fn shown(tag: ChangeTag, line: &[u8], paint: Paint) -> String {
    let line = line.split(|byte| *byte == b'\t').map(safe_bytes).collect::<Vec<_>>().join("\t");
    let line = format!("{tag}{line}");
    match tag {
        ChangeTag::Equal => line,
        ChangeTag::Delete => paint.bad(&line),
        ChangeTag::Insert => paint.good(&line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::time::Times;
    use ckpt_schema::report::PathText;
    use expect_test::expect;

    fn view(on: bool) -> View {
        let times = Times { now: 0, offset: time::UtcOffset::UTC };
        View { paint: Paint::new(on), width: None, times, verbose: false }
    }

    fn change(kind: ChangeKind, old: Option<&str>, new: Option<&str>) -> ChangeReport {
        ChangeReport {
            path: PathText { path: "a b".to_owned(), path_hex: None },
            kind,
            old_mode: old.map(str::to_owned),
            new_mode: new.map(str::to_owned),
            old_blob: old.map(|_| "1".to_owned()),
            new_blob: new.map(|_| "2".to_owned()),
            additions: Some(1),
            deletions: Some(1),
            binary: false,
            whitespace_only: false,
            attribution: None,
        }
    }

    fn text(change: &ChangeReport, old: &str, new: &str) -> String {
        let sides = Sides::Text { old: old.into(), new: new.into() };
        String::from_utf8(file(change, &sides, &view(false))).expect("text in, text out")
    }

    #[test]
    fn a_change_of_lines_is_a_hunk_that_other_tools_understand() {
        let change = change(ChangeKind::Modified, Some("100644"), Some("100644"));
        expect![[r#"
            diff --git a/a b b/a b
            --- a/a b
            +++ b/a b
            @@ -1,2 +1,2 @@
             one
            -two
            +three
            \ No newline at end of file
        "#]]
        .assert_eq(&text(&change, "one\ntwo\n", "one\nthree"));
    }

    #[test]
    fn a_file_that_was_made_starts_from_nothing() {
        expect![[r#"
            diff --git a/a b b/a b
            new file mode 100755
            --- /dev/null
            +++ b/a b
            @@ -0,0 +1 @@
            +one
        "#]]
        .assert_eq(&text(&change(ChangeKind::Added, None, Some("100755")), "", "one\n"));
    }

    #[test]
    fn a_link_that_took_a_file_s_place_is_named() {
        let change = change(ChangeKind::Type, Some("100644"), Some("120000"));
        assert!(
            text(&change, "x\n", "target").contains("# a file became a symbolic link\n"),
            "modes are not for everyone"
        );
    }

    #[test]
    fn contents_cannot_act_on_a_terminal() {
        let sides = Sides::Text { old: b"".to_vec(), new: b"\x1b[2J\tx\xff\n".to_vec() };
        let shown = file(&change(ChangeKind::Added, None, Some("100644")), &sides, &view(true));
        let shown = String::from_utf8(shown).expect("made safe");
        assert!(shown.contains("\\u{1b}[2J\tx\\xff"), "escaped, but for the tab: {shown:?}");
    }
}
