//! What we tell an agent with the user's next message: which files were put back, so that it does not rely on what it
//! remembers.

use ckpt_schema::report::{FileAction, FileReport};

/// How many files are named.
const MOST_FILES: usize = 20;

/// A longer name is cut, in characters.
const LONGEST_NAME: usize = 200;

/// Returns the line, of a bounded length. Names in it are quoted, without anything that could act on a terminal.
pub fn line(files: &[FileReport]) -> String {
    let named: Vec<String> = files.iter().take(MOST_FILES).map(name).collect();
    let more = match files.len().saturating_sub(MOST_FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "ckpt-hook: since your last turn the user took back changes in this workspace. What you remember of these files is \
         out of date, so read them again before you use them: {}{more}.",
        named.join(", ")
    )
}

fn name(file: &FileReport) -> String {
    let shown: String = file.path.path.escape_debug().take(LONGEST_NAME).collect();
    let cut = if file.path.path.escape_debug().nth(LONGEST_NAME).is_some() {
        "…"
    } else {
        ""
    };
    let what = match file.action {
        FileAction::Delete => " (removed)",
        FileAction::Merge => " (merged)",
        FileAction::Write | FileAction::Keep | FileAction::None => "",
    };
    format!("`{shown}{cut}`{what}")
}

#[cfg(test)]
mod tests {
    use ckpt_schema::report::{FileResult, PathText};

    use super::*;

    fn file(path: &str, action: FileAction) -> FileReport {
        let path = PathText {
            path: path.to_owned(),
            path_hex: None,
        };
        FileReport::new(path, action, FileResult::Done)
    }

    #[test]
    fn the_files_are_named_with_what_became_of_them() {
        let line = line(&[
            file("a b.txt", FileAction::Write),
            file("src/new.rs", FileAction::Delete),
        ]);
        assert!(
            line.ends_with("before you use them: `a b.txt`, `src/new.rs` (removed)."),
            "{line}"
        );
    }

    #[test]
    fn the_line_is_one_line_and_bounded_whatever_the_names_hold() {
        let files: Vec<FileReport> = (0..1000)
            .map(|number| {
                file(
                    &format!("\n\u{1b}[2J{}{number}", "x".repeat(4000)),
                    FileAction::Write,
                )
            })
            .collect();
        let line = line(&files);
        assert!(
            line.len() < 6000 && !line.contains(['\n', '\u{1b}']),
            "{} bytes: {line}",
            line.len()
        );
        assert!(
            line.ends_with("… and 980 more.") || line.ends_with("` and 980 more."),
            "the rest is counted: {line}"
        );
    }
}
