//! Differences as `git diff` prints them: a patch that `git apply` accepts, and remarks that it ignores.

use ckpt_schema::report::{ChangeReport, Rename};

use super::View;
use super::binary;
use super::lines::{self, MovedLines, Style};
use super::text::{bytes, path, safe, short};

/// The two contents of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileSides {
    /// They are the same: only the mode differs.
    Equal,
    /// Text.
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
        /// The text that people see instead.
        why: &'static str,
    },
    /// No snapshot holds the bytes of one side.
    Missing,
}

/// Returns one file's part of a diff: what `git apply` accepts, and remarks that it ignores.
pub fn file(change: &ChangeReport, sides: &FileSides, style: &Style<'_>) -> Vec<u8> {
    let paint = style.paint;
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
            .flat_map(|(change, sides)| patch(change, sides, style));
        return text.into_bytes().into_iter().chain(halves).collect();
    }
    text.into_bytes()
        .into_iter()
        .chain(patch(change, sides, style))
        .collect()
}

/// For git, a link that replaces a file is a removed file and an added link.
fn halves(change: &ChangeReport, sides: &FileSides) -> Option<[(ChangeReport, FileSides); 2]> {
    let (sides_gone, sides_come) = match sides {
        FileSides::Text { old, new } => {
            let half = |old: &[u8], new: &[u8]| FileSides::Text {
                old: old.to_vec(),
                new: new.to_vec(),
            };
            (half(old, b""), half(b"", new))
        }
        FileSides::Bytes { old, new, why } => {
            let half = |old: &[u8], new: &[u8]| FileSides::Bytes {
                old: old.to_vec(),
                new: new.to_vec(),
                why,
            };
            (half(old, b""), half(b"", new))
        }
        FileSides::Equal | FileSides::Missing => return None,
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

/// Returns the header above the hunks of a file that stays a file.
pub fn head(change: &ChangeReport, style: &Style<'_>) -> Vec<u8> {
    let lines = header(change, style.is_for_people);
    let ends = match change.old_blob == change.new_blob {
        true => Vec::new(),
        false => ends(change).to_vec(),
    };
    let lines = lines.iter().chain(&ends);
    let lines = lines.map(|line| format!("{}\n", style.paint.strong(line)));
    lines.collect::<String>().into_bytes()
}

fn patch(change: &ChangeReport, sides: &FileSides, style: &Style<'_>) -> Vec<u8> {
    let paint = style.paint;
    if git_mode(change.old_mode.as_deref()).is_none()
        && git_mode(change.new_mode.as_deref()).is_none()
    {
        return Vec::new();
    }
    if *sides == FileSides::Missing {
        let name = path(&change.path);
        let remark = format!("# {name}: no snapshot holds all of its contents");
        return format!("{}\n", paint.faint(&remark)).into_bytes();
    }
    let lines = header(change, style.is_for_people);
    if lines.len() == 1 && *sides == FileSides::Equal {
        // Only bits that git does not know differ. git would read the modes of the next file as those of a file of
        // which no more than the first line is there.
        return Vec::new();
    }
    let lines = lines.iter();
    let mut text: String = lines
        .map(|line| format!("{}\n", paint.strong(line)))
        .collect();
    match sides {
        // git prints no `---` and `+++` for an empty file either: there is no hunk that needs them.
        FileSides::Text { old, new } if !(old.is_empty() && new.is_empty()) => {
            text.extend(
                ends(change)
                    .iter()
                    .map(|line| format!("{}\n", paint.strong(line))),
            );
            let mut bytes = text.into_bytes();
            bytes.extend(lines::hunks(old, new, style));
            return bytes;
        }
        FileSides::Bytes { old, new, .. } if !style.is_for_people => {
            let mut bytes = text.into_bytes();
            bytes.extend(binary::patch(old, new));
            return bytes;
        }
        FileSides::Bytes { why, .. } => text.push_str(&format!("{why}\n")),
        FileSides::Equal | FileSides::Text { .. } | FileSides::Missing => {}
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

/// Returns the style of a difference: for people on a terminal, else for a program or a file.
pub fn style<'a>(view: &View, look: lines::DiffOptions, moved: &'a MovedLines) -> Style<'a> {
    Style {
        look,
        is_for_people: view.width.is_some() || view.paint.is_on(),
        paint: view.paint,
        moved,
    }
}

fn header(change: &ChangeReport, is_for_people: bool) -> Vec<String> {
    let (old_name, name) = names(change);
    let mut lines = vec![format!(
        "diff --git {} {}",
        quoted("a/", &old_name),
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
    if let Some(rename) = &change.renamed_from {
        lines.extend([
            format!("similarity index {}%", rename.similarity),
            format!("rename from {}", quoted("", &old_name)),
            format!("rename to {}", quoted("", &name)),
        ]);
    }
    lines.extend(index(change, is_for_people));
    lines
}

/// Returns the names on both sides.
fn names(change: &ChangeReport) -> (Vec<u8>, Vec<u8>) {
    let name = bytes(&change.path);
    match &change.renamed_from {
        Some(rename) => (bytes(&rename.path), name),
        None => (name.clone(), name),
    }
}

/// Returns a renamed file as one change from its old state to its new one; `files` are all of the difference.
pub(super) fn rename(change: &ChangeReport, files: &[ChangeReport]) -> Option<ChangeReport> {
    let rename: &Rename = change.renamed_from.as_ref()?;
    let was = files
        .iter()
        .find(|file| file.path == rename.path && file.renamed_to.as_ref() == Some(&change.path))?;
    Some(ChangeReport {
        old_mode: was.old_mode.clone(),
        old_blob: was.old_blob.clone(),
        additions: rename.additions,
        deletions: rename.deletions,
        binary: was.binary || change.binary,
        ..change.clone()
    })
}

/// Returns the line with both blobs, without which git accepts no binary patch; with the mode if it is unchanged.
fn index(change: &ChangeReport, is_for_people: bool) -> Option<String> {
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
    // `git apply` refuses a binary patch whose ids are shortened.
    let shown = |blob: &str| match is_for_people {
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

/// What git's format does not express: directories, links, permissions beyond 644 and 755, and whose change it may be.
fn remarks(change: &ChangeReport) -> Vec<String> {
    let mut remarks = of_kind(change);
    if let Some(whose) = change
        .attribution
        .as_deref()
        .filter(|word| *word != "agent")
    {
        let why = change
            .reason
            .as_deref()
            .map(|why| format!(": {}", safe(why)));
        remarks.push(format!(
            "# {}: {}{}",
            path(&change.path),
            safe(whose),
            why.unwrap_or_default()
        ));
    }
    remarks
}

fn of_kind(change: &ChangeReport) -> Vec<String> {
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
    let (old_name, name) = names(change);
    let end = |side: &str, name: &[u8], mode: Option<&str>| match git_mode(mode) {
        Some(_) => quoted(side, name),
        None => "/dev/null".to_owned(),
    };
    [
        format!("--- {}", end("a/", &old_name, change.old_mode.as_deref())),
        format!("+++ {}", end("b/", &name, change.new_mode.as_deref())),
    ]
}

/// Returns a name as git writes it: quoted with C escapes if it holds control characters or is not UTF-8.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paint::Paint;
    use ckpt_schema::report::{ChangeKind, PathText};
    use expect_test::expect;

    fn styled(on: bool, change: &ChangeReport, sides: &FileSides) -> Vec<u8> {
        let style = Style {
            look: lines::DiffOptions::default(),
            is_for_people: on,
            paint: Paint::new(on),
            moved: &MovedLines::default(),
        };
        file(change, sides, &style)
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
            renamed_from: None,
            renamed_to: None,
        }
    }

    fn text(change: &ChangeReport, old: &str, new: &str) -> String {
        let sides = FileSides::Text {
            old: old.into(),
            new: new.into(),
        };
        String::from_utf8(styled(false, change, &sides)).expect("text in, text out")
    }

    /// A change of lines is a hunk that other tools understand.
    #[test]
    fn changed_lines_are_a_hunk_for_other_tools() {
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

    /// A link that took a file's place is named.
    #[test]
    fn link_that_replaced_a_file_is_named() {
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

    /// Invariant `private/terminal`.
    #[test]
    fn contents_cannot_act_on_a_terminal() {
        let sides = FileSides::Text {
            old: b"".to_vec(),
            new: b"\x1b[2J\tx\xff\n".to_vec(),
        };
        let change = change(ChangeKind::Added, None, Some("100644"));
        let shown = styled(true, &change, &sides);
        let shown = String::from_utf8(shown).expect("made safe");
        assert!(
            shown.contains("\\u{1b}[2J\tx\\xff"),
            "escaped, but for the tab: {shown:?}"
        );
    }
}
