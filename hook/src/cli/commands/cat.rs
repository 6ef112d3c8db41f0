//! `cat`: a file as it was.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ckpt_command::invocation::Invocation;
use ckpt_output::text::safe_bytes;
use ckpt_output::write_error;
use ckpt_process::failure::{DONE, Failure};
use ckpt_schema::report::CandidateReport;
use ckpt_store::query::CapturedFile;
use ckpt_store::{Error, ErrorKind};

use super::meant;
use crate::cli::arguments::CatArguments;

/// Prints the bytes; on a terminal, control characters are escaped.
pub fn run(invocation: &Invocation, arguments: &CatArguments) -> Result<u8, Failure> {
    let contents = find(invocation, &arguments.file)?;
    if invocation.output.is_json() {
        let document = contents.document();
        invocation.output.report(&document, |_| String::new())?;
        return Ok(DONE);
    }
    if contents.report.link {
        write_error("note: it is a symbolic link; this is where it points\n");
    }
    if std::io::stdout().is_terminal() {
        invocation.output.bytes(shown(&contents.bytes).as_bytes())?;
    } else {
        invocation.output.bytes(&contents.bytes)?;
    }
    Ok(DONE)
}

/// A label and a path may both contain colons. The colon separates them that has an id before it, and behind it a file
/// of that state; where there are several, none is chosen.
fn find(invocation: &Invocation, file: &OsStr) -> Result<CapturedFile, Failure> {
    let directory = invocation.directory()?;
    let mut store = invocation.open()?;
    let bytes = file.as_bytes();
    let (mut found, mut unknown, mut missing) = (Vec::new(), None, None);
    for (place, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b':') {
        let (id, path) = (&bytes[..place], &bytes[place + 1..]);
        let Some(id) = std::str::from_utf8(id).ok().filter(|id| !id.is_empty()) else {
            continue;
        };
        if path.is_empty() {
            continue;
        }
        let path = directory.join(Path::new(OsStr::from_bytes(path)));
        let checked = match invocation.common.exact {
            true => store.check_exact(&directory, id),
            false => Ok(()),
        };
        match checked.and_then(|()| store.cat(&directory, id, &path)) {
            Ok(file) => found.push((id.to_owned(), file)),
            Err(error) if error.kind == ErrorKind::Unknown => unknown = unknown.or(Some(error)),
            // The longest id is the one that was meant.
            Err(error) => missing = Some(error),
        }
    }
    match (found.pop(), missing.or(unknown)) {
        (Some((_, file)), _) if found.is_empty() => Ok(file),
        (Some(last), _) => Err(ambiguous(bytes, found.into_iter().chain([last])).into()),
        (None, Some(error)) => Err(error.into()),
        (None, None) => {
            let named = safe_bytes(bytes);
            let is_file = meant::is_file(invocation, &file.to_string_lossy());
            let example = if is_file {
                named.as_str()
            } else {
                "src/main.rs"
            };
            let hint =
                format!("give both with a colon in between, as in `ckpt-hook cat last:{example}`");
            Err(Failure::usage(
                format!("`{named}` is not an id and a path"),
                hint,
            ))
        }
    }
}

/// Names the files that are meant, and the states that they are in.
fn ambiguous(named: &[u8], found: impl Iterator<Item = (String, CapturedFile)>) -> Error {
    let candidates = found.map(|(name, file)| CandidateReport {
        kind: "snapshot".to_owned(),
        id: file.report.snapshot,
        title: Some(file.report.path.path),
        name,
    });
    let candidates: Vec<CandidateReport> = candidates.collect();
    let each = candidates.iter().map(|candidate| {
        let path = candidate.title.as_deref().unwrap_or_default();
        format!("`{path}` at `{}`", candidate.name)
    });
    let each = each.collect::<Vec<_>>().join(", or ");
    let what = format!("`{}` is ambiguous: it may be {each}", safe_bytes(named));
    Error::ambiguous(what, candidates).hint("give the snapshot's id instead of the label")
}

/// Line feeds and tabs stay; everything else that acts on a terminal is escaped.
fn shown(bytes: &[u8]) -> String {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').map(|line| {
        let (body, end) = match line.strip_suffix(b"\n") {
            Some(body) => (body, "\n"),
            None => (line, ""),
        };
        let cells: Vec<String> = body.split(|byte| *byte == b'\t').map(safe_bytes).collect();
        cells.join("\t") + end
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a terminal lines and tabs stay and the rest is escaped.
    #[test]
    fn terminal_text_keeps_lines_and_tabs() {
        assert_eq!(
            shown(b"a\tb\n\x1b[2J\xff\n\nlast"),
            "a\tb\n\\u{1b}[2J\\xff\n\nlast"
        );
    }
}
