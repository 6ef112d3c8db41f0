//! Differences as people know them from `git diff`: a summary, names, or unified hunks that `git apply` takes.

use std::time::Duration;

use ckpt_schema::report::{ChangeKind, ChangeReport, DiffReport};
use similar::{ChangeTag, TextDiff};

use super::binary;
use super::paint::Paint;
use super::table::Table;
use super::text::{bytes, path, safe, safe_bytes, short};
use super::view::View;

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
    /// Bytes that are not shown line by line, and why not.
    Bytes {
        /// Before.
        old: Vec<u8>,
        /// After.
        new: Vec<u8>,
        /// What people are told instead.
        why: &'static str,
    },
    /// No snapshot holds the bytes of a side.
    Missing,
}

/// Returns the names of what differs, one a line.
pub fn names(report: &DiffReport) -> String {
    report
        .files
        .iter()
        .map(|change| format!("{}\n", path(&change.path)))
        .collect()
}

/// Returns a line a file with its additions and deletions, and the sum.
pub fn stat(report: &DiffReport, view: &View) -> String {
    if report.files.is_empty() {
        return "Nothing differs.\n".to_owned();
    }
    let mut table = Table::new(&[1, 2])
        .indented(2)
        .dropping(&[1, 2])
        .ending_with_path();
    for change in &report.files {
        table.row(stat_row(change, view.paint));
    }
    let sum = |lines: fn(&ChangeReport) -> Option<u64>| {
        report.files.iter().filter_map(lines).sum::<u64>()
    };
    let (additions, deletions) = (
        sum(|change| change.additions),
        sum(|change| change.deletions),
    );
    let number = report.files.len() as u64;
    let differ = if number == 1 {
        "1 file differs".to_owned()
    } else {
        format!("{number} files differ")
    };
    let counts = format!(
        "{} {}",
        view.paint.good(&format!("+{additions}")),
        view.paint.bad(&format!("-{deletions}"))
    );
    format!("{}{differ}: {counts}\n", table.render(view))
}

fn stat_row(change: &ChangeReport, paint: Paint) -> Vec<String> {
    let [additions, deletions] = counts(change.additions, change.deletions, paint);
    vec![
        kind(change, paint),
        additions,
        deletions,
        path(&change.path),
    ]
}

/// Returns what happened to a file, in a word.
pub fn kind(change: &ChangeReport, paint: Paint) -> String {
    if is_gap(change) {
        return paint.warning("not captured");
    }
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

/// Returns whether a side of it is one that no snapshot holds: a file that could not be read, or below such a directory.
fn is_gap(change: &ChangeReport) -> bool {
    let is_missing = |mode: &Option<String>, blob: &Option<String>| {
        mode.is_some() && blob.is_none() && !is_directory(mode.as_deref())
    };
    is_missing(&change.old_mode, &change.old_blob) || is_missing(&change.new_mode, &change.new_blob)
}

/// Returns "+2" and "-1", nothing for what has no lines or none of them.
pub fn counts(additions: Option<u64>, deletions: Option<u64>, paint: Paint) -> [String; 2] {
    let show = |sign: char, lines: Option<u64>| match lines {
        None | Some(0) => String::new(),
        Some(lines) => format!("{sign}{lines}"),
    };
    [
        paint.good(&show('+', additions)),
        paint.bad(&show('-', deletions)),
    ]
}

/// Returns one file's part of a diff: what `git apply` takes, and remarks that it passes over.
pub fn file(change: &ChangeReport, sides: &Sides, view: &View) -> Vec<u8> {
    let paint = view.paint;
    let text: String = remarks(change)
        .iter()
        .map(|line| format!("{}\n", paint.faint(line)))
        .collect();
    if git_mode(change.old_mode.as_deref()).is_none()
        && git_mode(change.new_mode.as_deref()).is_none()
    {
        return text.into_bytes();
    }
    if let Some(halves) = halves(change, sides) {
        let halves = halves
            .iter()
            .flat_map(|(change, sides)| patch(change, sides, view));
        return text.into_bytes().into_iter().chain(halves).collect();
    }
    text.into_bytes()
        .into_iter()
        .chain(patch(change, sides, view))
        .collect()
}

/// To git, a link that takes a file's place is a file that goes and a link that comes.
fn halves(change: &ChangeReport, sides: &Sides) -> Option<[(ChangeReport, Sides); 2]> {
    let (sides_gone, sides_come) = match sides {
        Sides::Text { old, new } => {
            let half = |old: &[u8], new: &[u8]| Sides::Text {
                old: old.to_vec(),
                new: new.to_vec(),
            };
            (half(old, b""), half(b"", new))
        }
        Sides::Bytes { old, new, why } => {
            let half = |old: &[u8], new: &[u8]| Sides::Bytes {
                old: old.to_vec(),
                new: new.to_vec(),
                why,
            };
            (half(old, b""), half(b"", new))
        }
        Sides::Equal | Sides::Missing => return None,
    };
    if is_of_one_kind(change) || change.old_mode.is_none() || change.new_mode.is_none() {
        return None;
    }
    let gone = ChangeReport {
        new_mode: None,
        new_blob: None,
        ..change.clone()
    };
    let come = ChangeReport {
        old_mode: None,
        old_blob: None,
        ..change.clone()
    };
    Some([(gone, sides_gone), (come, sides_come)])
}

fn patch(change: &ChangeReport, sides: &Sides, view: &View) -> Vec<u8> {
    let paint = view.paint;
    if git_mode(change.old_mode.as_deref()).is_none()
        && git_mode(change.new_mode.as_deref()).is_none()
    {
        return Vec::new();
    }
    if *sides == Sides::Missing {
        let name = path(&change.path);
        let remark = format!("# {name}: no snapshot holds all of its contents");
        return format!("{}\n", paint.faint(&remark)).into_bytes();
    }
    let mut text = String::new();
    text.extend(
        header(change, view)
            .iter()
            .map(|line| format!("{}\n", paint.strong(line))),
    );
    match sides {
        Sides::Text { old, new } if !(old.is_empty() && new.is_empty()) => {
            text.extend(
                ends(change)
                    .iter()
                    .map(|line| format!("{}\n", paint.strong(line))),
            );
            let mut bytes = text.into_bytes();
            bytes.extend(hunks(old, new, view));
            return bytes;
        }
        Sides::Bytes { old, new, .. } if !is_for_people(view) => {
            let mut bytes = text.into_bytes();
            bytes.extend(binary::patch(old, new));
            return bytes;
        }
        Sides::Bytes { why, .. } => text.push_str(&format!("{why}\n")),
        Sides::Equal | Sides::Text { .. } | Sides::Missing => {}
    }
    text.into_bytes()
}

/// Returns whether a file stays a file, or a link a link.
pub fn is_of_one_kind(change: &ChangeReport) -> bool {
    file_type(change.old_mode.as_deref()) == file_type(change.new_mode.as_deref())
}

/// Returns whether a mode is a directory's, which has no content.
pub fn is_directory(mode: Option<&str>) -> bool {
    file_type(mode) == Some(0o04)
}

fn file_type(mode: Option<&str>) -> Option<u32> {
    u32::from_str_radix(mode?, 8).ok().map(|mode| mode >> 12)
}

/// git knows two modes of files; the others are in the remarks.
fn git_mode(mode: Option<&str>) -> Option<&'static str> {
    let bits = u32::from_str_radix(mode?, 8).ok()?;
    match bits >> 12 {
        0o10 if bits & 0o100 != 0 => Some("100755"),
        0o10 => Some("100644"),
        0o12 => Some("120000"),
        _ => None,
    }
}

/// Returns whether somebody looks; else it is a patch for a program or a file.
fn is_for_people(view: &View) -> bool {
    view.width.is_some() || view.paint.is_on()
}

fn header(change: &ChangeReport, view: &View) -> Vec<String> {
    let name = bytes(&change.path);
    let mut lines = vec![format!(
        "diff --git {} {}",
        quoted("a/", &name),
        quoted("b/", &name)
    )];
    match (
        git_mode(change.old_mode.as_deref()),
        git_mode(change.new_mode.as_deref()),
    ) {
        (None, Some(new)) => lines.push(format!("new file mode {new}")),
        (Some(old), None) => lines.push(format!("deleted file mode {old}")),
        (Some(old), Some(new)) if old != new => {
            lines.extend([format!("old mode {old}"), format!("new mode {new}")])
        }
        _ => {}
    }
    lines.extend(index(change, view));
    lines
}

/// Returns the line with both blobs, without which git takes no binary patch; with the mode where it stays.
fn index(change: &ChangeReport, view: &View) -> Option<String> {
    const NOTHING: &str = "0000000000000000000000000000000000000000";
    let blob = |blob: &Option<String>, mode: &Option<String>| match git_mode(mode.as_deref()) {
        Some(_) => blob.clone(),
        None => Some(NOTHING.to_owned()),
    };
    let old = blob(&change.old_blob, &change.old_mode)?;
    let new = blob(&change.new_blob, &change.new_mode)?;
    if old == new {
        return None;
    }
    let shown = |blob: &str| match is_for_people(view) {
        true => short(blob),
        false => blob.to_owned(),
    };
    let modes = (
        git_mode(change.old_mode.as_deref()),
        git_mode(change.new_mode.as_deref()),
    );
    let mode = match modes {
        (Some(old), Some(new)) if old == new => format!(" {old}"),
        _ => String::new(),
    };
    Some(format!("index {}..{}{mode}", shown(&old), shown(&new)))
}

/// What git's words do not say: directories, links, and permissions beyond 644 and 755.
fn remarks(change: &ChangeReport) -> Vec<String> {
    let name = path(&change.path);
    let (old, new) = (change.old_mode.as_deref(), change.new_mode.as_deref());
    let remark = match (kind_of(old), kind_of(new)) {
        (Some(old), Some(new)) if old != new => format!("{old} became {new}"),
        (None, Some("a file")) | (Some("a file"), None) => return Vec::new(),
        (None, Some(new)) => format!("{new} was made"),
        (Some(old), None) => format!("{old} was removed"),
        _ if old != new && git_mode(old) == git_mode(new) => {
            format!("mode {} became {}", old.unwrap_or(""), new.unwrap_or(""))
        }
        _ => return Vec::new(),
    };
    vec![format!("# {name}: {remark}")]
}

fn kind_of(mode: Option<&str>) -> Option<&'static str> {
    match file_type(mode)? {
        0o12 => Some("a symbolic link"),
        0o04 => Some("an empty directory"),
        _ => Some("a file"),
    }
}

fn ends(change: &ChangeReport) -> [String; 2] {
    let name = bytes(&change.path);
    let end = |side: &str, mode: Option<&str>| match git_mode(mode) {
        Some(_) => quoted(side, &name),
        None => "/dev/null".to_owned(),
    };
    [
        format!("--- {}", end("a/", change.old_mode.as_deref())),
        format!("+++ {}", end("b/", change.new_mode.as_deref())),
    ]
}

/// Returns a name as git writes it: in quotes, with escapes of C, where anything in it acts or is no text.
fn quoted(side: &str, name: &[u8]) -> String {
    let is_plain =
        |text: &str| safe(text) == text && !text.contains(['"', '\\']) && text.trim() == text;
    if let Some(text) = std::str::from_utf8(name).ok().filter(|text| is_plain(text)) {
        return format!("{side}{text}");
    }
    let escaped: String = name.iter().map(|byte| escape(*byte)).collect();
    format!("\"{side}{escaped}\"")
}

fn escape(byte: u8) -> String {
    match byte {
        b'"' | b'\\' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\{byte:03o}"),
    }
}

/// Returns the hunks of two texts with three lines of context.
///
/// On a terminal, lines are made safe like names; what goes to a file or a program stays as it is, so that it can be applied.
fn hunks(old: &[u8], new: &[u8], view: &View) -> Vec<u8> {
    // Only a newline ends a line for git; a carriage return does not.
    let (old, new) = (lines(old), lines(new));
    let difference = TextDiff::configure()
        .timeout(PATIENCE)
        .diff_slices(&old, &new);
    let is_for_people = is_for_people(view);
    let mut bytes = Vec::new();
    for hunk in difference.unified_diff().iter_hunks() {
        bytes.extend(format!("{}\n", view.paint.id(&hunk.header().to_string())).as_bytes());
        for change in hunk.iter_changes() {
            let whole: &[u8] = change.value();
            let line = whole.strip_suffix(b"\n").unwrap_or(whole);
            if is_for_people {
                bytes.extend(shown(change.tag(), line, view.paint).as_bytes());
            } else {
                bytes.extend(change.tag().to_string().as_bytes());
                bytes.extend(line);
            }
            bytes.push(b'\n');
            if line.len() == whole.len() {
                bytes.extend(b"\\ No newline at end of file\n");
            }
        }
    }
    bytes
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

fn shown(tag: ChangeTag, line: &[u8], paint: Paint) -> String {
    let line = line
        .split(|byte| *byte == b'\t')
        .map(safe_bytes)
        .collect::<Vec<_>>()
        .join("\t");
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
        let times = Times {
            now: 0,
            offset: time::UtcOffset::UTC,
        };
        View {
            paint: Paint::new(on),
            width: None,
            times,
            verbose: false,
        }
    }

    fn change(kind: ChangeKind, old: Option<&str>, new: Option<&str>) -> ChangeReport {
        ChangeReport {
            path: PathText {
                path: "a b".to_owned(),
                path_hex: None,
            },
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
            reason: None,
        }
    }

    fn text(change: &ChangeReport, old: &str, new: &str) -> String {
        let sides = Sides::Text {
            old: old.into(),
            new: new.into(),
        };
        String::from_utf8(file(change, &sides, &view(false))).expect("text in, text out")
    }

    #[test]
    fn a_change_of_lines_is_a_hunk_that_other_tools_understand() {
        let change = change(ChangeKind::Modified, Some("100644"), Some("100644"));
        expect![[r#"
            diff --git a/a b b/a b
            index 1..2 100644
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
            index 0000000000000000000000000000000000000000..2
            --- /dev/null
            +++ b/a b
            @@ -0,0 +1 @@
            +one
        "#]]
        .assert_eq(&text(
            &change(ChangeKind::Added, None, Some("100755")),
            "",
            "one\n",
        ));
    }

    #[test]
    fn a_link_that_took_a_file_s_place_is_named() {
        let change = change(ChangeKind::Type, Some("100644"), Some("120000"));
        let text = text(&change, "x\n", "target");
        assert!(
            text.starts_with("# a b: a file became a symbolic link\n"),
            "modes are not for everyone: {text}"
        );
    }

    #[test]
    fn names_are_quoted_as_git_does() {
        assert_eq!(quoted("a/", "é b".as_bytes()), "a/é b", "text is plain");
        assert_eq!(
            quoted("a/", b"x\x1b\"\xff"),
            r#""a/x\033\"\377""#,
            "all else is escaped, byte by byte"
        );
    }

    #[test]
    fn an_empty_directory_is_a_remark() {
        let made = change(ChangeKind::Added, None, Some("040755"));
        assert_eq!(
            text(&made, "", ""),
            "# a b: an empty directory was made\n",
            "git has no words for it"
        );
    }

    #[test]
    fn contents_cannot_act_on_a_terminal() {
        let sides = Sides::Text {
            old: b"".to_vec(),
            new: b"\x1b[2J\tx\xff\n".to_vec(),
        };
        let shown = file(
            &change(ChangeKind::Added, None, Some("100644")),
            &sides,
            &view(true),
        );
        let shown = String::from_utf8(shown).expect("made safe");
        assert!(
            shown.contains("\\u{1b}[2J\tx\\xff"),
            "escaped, but for the tab: {shown:?}"
        );
    }
}
