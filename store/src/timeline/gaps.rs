//! Gaps as rows and back: the reason is text that people read, and its first words tell the reason again.

use crate::sessions::GapRow;
use crate::snapshot::{Gap, GapReason, SpecialFile};

const UNREADABLE: &str = "unreadable: ";
const SPECIAL: &str = "not a file: ";

/// Returns the rows of a snapshot's gaps, in the order of their paths.
pub(crate) fn to_rows(gaps: &[Gap]) -> Vec<GapRow> {
    let mut rows: Vec<GapRow> = gaps
        .iter()
        .map(|gap| GapRow {
            path: gap.path.clone(),
            reason: text(&gap.reason),
            size: gap.size,
        })
        .collect();
    rows.sort_by(|left, right| left.path.cmp(&right.path));
    rows
}

/// Returns the gaps of a snapshot's rows.
pub(crate) fn from_rows(rows: &[GapRow]) -> Vec<Gap> {
    rows.iter()
        .map(|row| Gap {
            path: row.path.clone(),
            reason: reason(&row.reason),
            size: row.size,
        })
        .collect()
}

/// Returns a gap's reason for people.
pub(crate) fn text(reason: &GapReason) -> String {
    match reason {
        GapReason::TooLarge => "larger than `max_file_size`".to_owned(),
        GapReason::Unreadable(cause) => format!("{UNREADABLE}{cause}"),
        GapReason::Changing => "changed while it was being read".to_owned(),
        GapReason::ReservedName => "its name is `.git` on some file systems".to_owned(),
        GapReason::TooDeep => "too many directories deep".to_owned(),
        GapReason::Special(kind) => format!("{SPECIAL}{}", kind.name()),
        GapReason::Mount => "another file system is mounted there".to_owned(),
    }
}

/// Returns the reason with a text. One that is not known stands for bytes that nobody stored: such a path is never taken for
/// absent.
fn reason(text: &str) -> GapReason {
    let plain = [
        GapReason::TooLarge,
        GapReason::Changing,
        GapReason::ReservedName,
        GapReason::TooDeep,
        GapReason::Mount,
    ];
    let special = SpecialFile::ALL.map(GapReason::Special);
    plain
        .into_iter()
        .chain(special)
        .find(|reason| self::text(reason) == text)
        .unwrap_or_else(|| {
            GapReason::Unreadable(text.strip_prefix(UNREADABLE).unwrap_or(text).to_owned())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_read_as_it_was_written() {
        let reasons = [
            GapReason::TooLarge,
            GapReason::Unreadable("permission denied".to_owned()),
            GapReason::Changing,
            GapReason::ReservedName,
            GapReason::TooDeep,
            GapReason::Special(SpecialFile::Pipe),
            GapReason::Special(SpecialFile::Socket),
            GapReason::Special(SpecialFile::BlockDevice),
            GapReason::Special(SpecialFile::CharacterDevice),
            GapReason::Mount,
        ];
        for expected in reasons {
            assert_eq!(
                reason(&text(&expected)),
                expected,
                "the next snapshot compares with it"
            );
        }
    }
}
