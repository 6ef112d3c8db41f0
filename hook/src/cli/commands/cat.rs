//! `cat`: a file as it was.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ckpt_store::ErrorKind;
use ckpt_store::query::CapturedFile;

use crate::cli::arguments::CatArguments;
use crate::cli::invocation::Invocation;
use crate::failure::{DONE, Failure};
use crate::output::text::safe_bytes;
use crate::output::write_error;

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

/// A label and a path may both contain colons. The first colon with an id before it separates the two.
fn find(invocation: &Invocation, file: &OsStr) -> Result<CapturedFile, Failure> {
    let directory = invocation.directory()?;
    let mut store = invocation.open()?;
    let bytes = file.as_bytes();
    let mut unknown = None;
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
            Err(error) if error.kind == ErrorKind::Unknown => unknown = unknown.or(Some(error)),
            found => return Ok(found?),
        }
    }
    Err(match unknown {
        Some(error) => error.into(),
        None => Failure::usage(
            format!("`{}` is not an id and a path", safe_bytes(bytes)),
            "give both with a colon in between, as in `last:src/main.rs`",
        ),
    })
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

    #[test]
    fn on_a_terminal_lines_and_tabs_stay_and_the_rest_is_escaped() {
        assert_eq!(
            shown(b"a\tb\n\x1b[2J\xff\n\nlast"),
            "a\tb\n\\u{1b}[2J\\xff\n\nlast"
        );
    }
}
