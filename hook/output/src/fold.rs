//! Lists of files as tables, long ones folded by directory. Pure.

use std::collections::BTreeMap;

use ckpt_schema::report::PathText;
use ckpt_store::model::number::{count, grouped};

use super::View;
use super::data;
use super::diff::counts;
use super::table::Table;
use super::text::safe_bytes;

/// A list of more files than this is folded.
const LONGEST_LIST: usize = 20;

/// In one line, a list of more files than this is folded.
const LONGEST_LINE: usize = 6;

/// A file of a list.
#[derive(Clone, Debug)]
pub struct ListedFile<'a> {
    /// Its path.
    pub path: &'a PathText,
    /// The files with which it may be folded into one row; `None`: it has a row of its own.
    pub group: Option<usize>,
    /// Lines added.
    pub additions: Option<u64>,
    /// Lines removed.
    pub deletions: Option<u64>,
    /// What happened to it, in a word.
    pub word: String,
    /// Its name; of a renamed file both.
    pub name: String,
    /// The note behind it, which the files of its group share.
    pub note: String,
    /// Where it was, if it only moved.
    pub moved_from: Option<&'a PathText>,
}

impl<'a> ListedFile<'a> {
    /// A file of which only the path counts, until more is said of it.
    pub fn of(path: &'a PathText) -> Self {
        Self {
            path,
            group: Some(0),
            additions: None,
            deletions: None,
            word: String::new(),
            name: String::new(),
            note: String::new(),
            moved_from: None,
        }
    }
}

/// The table of a list, and whether some of its rows stand for all files of a directory.
pub fn table(files: &[ListedFile<'_>], view: &View) -> (Table, bool) {
    let mut table = Table::new(&[1, 2])
        .indented(2)
        .dropping(&[1])
        .together(&[1, 2])
        .ending_with_path();
    let rows = fold(files, view.verbose);
    let is_folded = rows.len() < files.len();
    for row in rows {
        let (word, name, sums, first) = match row {
            FoldedRow::One(place) => {
                let file = &files[place];
                let sums = (file.additions, file.deletions);
                (file.word.clone(), file.name.clone(), sums, file)
            }
            FoldedRow::Directory {
                name,
                first,
                files: number,
                additions,
                deletions,
                ..
            } => {
                let first = &files[first];
                let word = match first.moved_from.is_some() || first.word.is_empty() {
                    true => count(number, "file"),
                    false => format!("{} {}", grouped(number), first.word),
                };
                (word, name, (Some(additions), Some(deletions)), first)
            }
        };
        let [additions, deletions] = counts(sums.0, sums.1, view.paint);
        table.noted(vec![word, additions, deletions, name], first.note.clone());
    }
    (table, is_folded)
}

/// A row of a folded list.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FoldedRow {
    /// The file at this index of the list.
    One(usize),
    /// Several files of a directory.
    Directory {
        /// The directory, with a slash behind it, safe.
        directory: String,
        /// What its row says: the directory with the first of its files, or where they were.
        name: String,
        /// The index of the first of them in the list.
        first: usize,
        /// How many files it has in the list.
        files: u64,
        /// Their lines added.
        additions: u64,
        /// Their lines removed.
        deletions: u64,
    },
}

impl FoldedRow {
    /// The number of files that it stands for.
    fn files(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Directory { files, .. } => usize::try_from(*files).unwrap_or(usize::MAX),
        }
    }
}

/// Returns the rows of a list: all files if they are few or `all` is set, else directories with their sums.
///
/// The deepest directories are folded first, until the list is short or only the topmost are left. Files that must be
/// named are never folded.
fn fold(lines: &[ListedFile<'_>], all: bool) -> Vec<FoldedRow> {
    let deepest = lines.iter().map(|line| depth(line.path)).max();
    match deepest.unwrap_or(0) {
        0 => (0..lines.len()).map(FoldedRow::One).collect(),
        _ if all || lines.len() <= LONGEST_LIST => (0..lines.len()).map(FoldedRow::One).collect(),
        deepest => folded_to(lines, LONGEST_LIST, deepest),
    }
}

/// Folds as few directories as it takes for this many rows, the deepest first, or all of them. The rows get no more from
/// one depth to the one above, so not each depth is tried: a list may be as deep as it is long.
fn folded_to(lines: &[ListedFile<'_>], most: usize, deepest: usize) -> Vec<FoldedRow> {
    let (mut enough, mut highest) = (1, deepest);
    while enough < highest {
        let depth = (enough + highest).div_ceil(2);
        match folded_at(lines, depth).len() <= most {
            true => enough = depth,
            false => highest = depth - 1,
        }
    }
    folded_at(lines, enough)
}

/// Returns the names of paths for one line: each by itself if they are few, else directories with the number of paths
/// in them. After `most` of these comes how many paths are not named.
pub fn names(paths: &[&PathText], most: usize) -> Vec<String> {
    let lines: Vec<ListedFile<'_>> = paths.iter().map(|path| ListedFile::of(path)).collect();
    let each = || (0..lines.len()).map(FoldedRow::One).collect();
    let deepest = lines.iter().map(|line| depth(line.path)).max();
    let rows: Vec<FoldedRow> = match paths.len() {
        few if few <= LONGEST_LINE => each(),
        _ => folded_to(&lines, most, deepest.unwrap_or_default().max(1)),
    };
    let named: usize = rows.iter().take(most).map(FoldedRow::files).sum();
    let name = |row: &FoldedRow| match row {
        FoldedRow::One(place) => super::text::path(lines[*place].path),
        FoldedRow::Directory {
            directory, files, ..
        } => format!("{} in {directory}", grouped(*files)),
    };
    let mut names: Vec<String> = rows.iter().take(most).map(name).collect();
    if named < paths.len() {
        names.push(format!("and {} more", paths.len() - named));
    }
    names
}

/// Returns the depth of a path.
fn depth(path: &PathText) -> usize {
    path.path.matches('/').count()
}

/// Folds the contents of directories at this depth or deeper.
fn folded_at(lines: &[ListedFile<'_>], depth: usize) -> Vec<FoldedRow> {
    let mut directories: BTreeMap<(usize, String), Vec<usize>> = BTreeMap::new();
    for (place, line) in lines.iter().enumerate() {
        if let Some(together) = directory(line, depth) {
            directories.entry(together).or_default().push(place);
        }
    }
    directories.retain(|_, places| places.len() > 1);
    let mut parts = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        let together = directory(line, depth);
        let found = together
            .as_ref()
            .and_then(|together| directories.get_key_value(together));
        let Some(((_, name), places)) = found else {
            parts.push(FoldedRow::One(place));
            continue;
        };
        if places[0] != place {
            continue;
        }
        let sum = |lines_of: fn(&ListedFile<'_>) -> Option<u64>| {
            let counts = places.iter().filter_map(|place| lines_of(&lines[*place]));
            counts.sum()
        };
        parts.push(FoldedRow::Directory {
            directory: shown(name),
            name: named(lines, name, places),
            first: place,
            files: places.len() as u64,
            additions: sum(|line| line.additions),
            deletions: sum(|line| line.deletions),
        });
    }
    parts
}

/// Returns the name of a folded directory: where its files were, if they moved, and the first of them.
fn named(lines: &[ListedFile<'_>], name: &str, places: &[usize]) -> String {
    let moved: Option<Vec<&str>> = places
        .iter()
        .map(|place| lines[*place].moved_from.map(|from| from.path.as_str()))
        .collect();
    if let Some(moved) = moved.filter(|moved| !moved.is_empty()) {
        return format!("{} → {}", shown(common(&moved)), shown(name));
    }
    let inside = |place: &usize| lines[*place].path.path.strip_prefix(name);
    let mut names: Vec<String> = places
        .iter()
        .filter_map(inside)
        .take(NAMED)
        .map(shown)
        .collect();
    if places.len() > NAMED {
        names.push("…".to_owned());
    }
    format!("{} ({})", shown(name), names.join(", "))
}

/// Returns a name for people, or for a model that reads what is printed.
fn shown(name: &str) -> String {
    match data::is_read_by_model() {
        true => data::shown(name),
        false => safe_bytes(name.as_bytes()),
    }
}

/// Returns the directory, with a slash behind it, that holds all of some paths.
fn common<'p>(paths: &[&'p str]) -> &'p str {
    let first = paths[0];
    let ends = first.match_indices('/').map(|(at, _)| at + 1).rev();
    let holds_all = |end: &usize| paths.iter().all(|path| path.starts_with(&first[..*end]));
    ends.into_iter()
        .find(holds_all)
        .map_or("./", |end| &first[..end])
}

/// How many files of a folded directory are named.
const NAMED: usize = 3;

/// Returns the group of a file, and the directory under which it is folded.
fn directory(line: &ListedFile<'_>, depth: usize) -> Option<(usize, String)> {
    let path = &line.path.path;
    let (end, _) = path.match_indices('/').nth(depth.checked_sub(1)?)?;
    line.group.map(|group| (group, path[..=end].to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: impl Iterator<Item = String>) -> Vec<PathText> {
        names
            .map(|path| PathText {
                path,
                path_hex: None,
            })
            .collect()
    }

    fn lines(paths: &[PathText]) -> Vec<ListedFile<'_>> {
        paths
            .iter()
            .map(|path| ListedFile {
                group: match path.path.as_str() {
                    "a/kept" => None,
                    path => Some(usize::from(path.contains("other"))),
                },
                additions: Some(2),
                ..ListedFile::of(path)
            })
            .collect()
    }

    /// A short list and one that is wanted whole are not folded.
    #[test]
    fn short_or_whole_list_is_not_folded() {
        let few = paths((0..20).map(|number| format!("a/{number}")));
        assert_eq!(
            fold(&lines(&few), false).len(),
            20,
            "twenty are read at once"
        );
        let many = paths((0..30).map(|number| format!("a/{number}")));
        assert_eq!(fold(&lines(&many), true).len(), 30, "all were asked for");
    }

    /// Many files are folded by directory and what matters is named.
    #[test]
    fn many_files_are_folded_by_directory() {
        let many = (0..30).map(|number| format!("a/b/{number:02}"));
        let others = ["a/kept", "top"].map(str::to_owned);
        let paths = paths(many.chain(others));
        let directory = FoldedRow::Directory {
            directory: "a/b/".to_owned(),
            name: "a/b/ (00, 01, 02, …)".to_owned(),
            first: 0,
            files: 30,
            additions: 60,
            deletions: 0,
        };
        assert_eq!(
            fold(&lines(&paths), false),
            [directory, FoldedRow::One(30), FoldedRow::One(31)],
            "one row for thirty files"
        );
    }

    #[test]
    fn files_of_two_groups_are_not_folded_together() {
        let names =
            (0..30).flat_map(|number| [format!("a/{number:02}"), format!("a/other-{number:02}")]);
        let paths = paths(names);
        let directory = |first, names: &str| FoldedRow::Directory {
            directory: "a/".to_owned(),
            name: format!("a/ ({names}, …)"),
            first,
            files: 30,
            additions: 60,
            deletions: 0,
        };
        let parts = fold(&lines(&paths), false);
        assert_eq!(
            parts,
            [
                directory(0, "00, 01, 02"),
                directory(1, "other-00, other-01, other-02")
            ],
            "each says what it is"
        );
    }

    /// A folded directory names three of its files, or where all of them were.
    #[test]
    fn folded_directory_names_files_or_their_origin() {
        let new = paths((0..30).map(|number| format!("scripts/{number:02}")));
        let old = paths((0..30).map(|number| format!("tools/sub/{number:02}")));
        let name = |rows: &[FoldedRow]| match rows {
            [FoldedRow::Directory { name, .. }] => name.clone(),
            rows => panic!("one row: {rows:?}"),
        };
        assert_eq!(name(&fold(&lines(&new), false)), "scripts/ (00, 01, 02, …)");
        let moved: Vec<ListedFile<'_>> = new
            .iter()
            .zip(&old)
            .map(|(new, old)| ListedFile {
                moved_from: Some(old),
                ..ListedFile::of(new)
            })
            .collect();
        assert_eq!(name(&fold(&moved, false)), "tools/sub/ → scripts/");
    }

    /// Many paths in one line are counted by directory.
    #[test]
    fn paths_in_one_line_are_counted_by_directory() {
        let named = |all: &[String]| {
            let paths = paths(all.iter().cloned());
            names(&paths.iter().collect::<Vec<_>>(), 3).join(", ")
        };
        let some = |count: usize, above: &str| -> Vec<String> {
            (0..count)
                .map(|number| format!("{above}{number}"))
                .collect()
        };
        assert_eq!(named(&some(6, "a/")), "a/0, a/1, a/2, and 3 more", "few");
        assert_eq!(
            named(&some(7, "")),
            "0, 1, 2, and 4 more",
            "in no directory"
        );
        let many = [some(34, "dist/"), some(2, "dist/js/"), some(1, "x")].concat();
        assert_eq!(named(&many), "36 in dist/, x0");
        let apart = [some(9, "a/b/"), some(2, "a/c/"), some(1, "a/")].concat();
        assert_eq!(
            named(&apart),
            "9 in a/b/, 2 in a/c/, a/0",
            "as deep as they fit"
        );
        let wide = [some(3, "a/"), some(3, "b/"), some(3, "c/"), some(3, "d/")].concat();
        assert_eq!(named(&wide), "3 in a/, 3 in b/, 3 in c/, and 3 more");
    }

    /// Directories are folded into those above them until the list is short.
    #[test]
    fn directories_are_folded_until_the_list_is_short() {
        let many = (0..60).map(|number| format!("a/{}/{number}", number / 2));
        let paths = paths(many);
        let parts = fold(&lines(&paths), false);
        assert_eq!(parts.len(), 1, "thirty directories are too many: {parts:?}");
    }
}
