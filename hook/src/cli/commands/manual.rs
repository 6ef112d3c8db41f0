//! `man`: manual pages, made from the command line's own description. Writes them to a directory.

use std::fs::DirBuilder;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::Stdio;

use ckpt_command::invocation::Invocation;
use ckpt_command::named_file;
use ckpt_command::pager::Pages;
use ckpt_process::failure::{DONE, Failure};
use ckpt_process::surroundings::{self, is_read_by_no_person};
use ckpt_process::{posix, programs};
use ckpt_store::error::Context;
use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::arguments::Arguments;

/// Prints the manual page, shows it on a terminal, or writes a page for every command into a directory.
pub fn run(invocation: &Invocation, directory: Option<&Path>) -> Result<u8, Failure> {
    // A manual page does not list the versions of libraries, and `help` has no page.
    let mut command = Arguments::command()
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true);
    let Some(directory) = directory else {
        let help = command.render_long_help();
        let (_, page) = page(command)?;
        // As for anything else that is long, an empty pager asks for none.
        let is_paged = surroundings::pager("CKPT_HOOK_PAGER").is_none_or(|pager| !pager.is_empty());
        if invocation.output.height().is_none() || is_read_by_no_person() || !is_paged {
            invocation.output.bytes(page.as_bytes())?;
        } else if !shown_by_man(&page) {
            let mut pages = Pages::new(invocation);
            pages.text(&help.to_string())?;
            pages.end()?;
        }
        return Ok(DONE);
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(directory)
        .context(|| format!("cannot create `{}`", directory.display()))?;
    command.build();
    write(command, directory)?;
    Ok(DONE)
}

/// Shows a page as the system's `man` shows its own. Returns whether it could.
fn shown_by_man(page: &str) -> bool {
    let mut man = programs::named("man");
    man.args(["-l", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::null());
    let Ok(mut man) = man.spawn() else {
        return false;
    };
    posix::ignore_interrupts();
    // One that the reader has left reads no further.
    let _ = man
        .stdin
        .take()
        .map(|mut stream| stream.write_all(page.as_bytes()));
    man.wait().is_ok_and(|status| status.success())
}

fn write(command: Command, directory: &Path) -> Result<(), Failure> {
    for command in command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        write(command.clone(), directory)?;
    }
    let (name, page) = page(command)?;
    let file = directory.join(name);
    Ok(named_file::write(
        &file,
        page.as_bytes(),
        named_file::PUBLIC,
        named_file::Existing::Replaced,
    )?)
}

/// Returns the page of a command, and the name of its file.
fn page(command: Command) -> Result<(String, String), Failure> {
    const SOURCE: &str = concat!("ckpt-hook ", env!("CARGO_PKG_VERSION"));
    let page = Man::new(command).source(SOURCE).manual("ckpt-hook");
    let mut text = Vec::new();
    page.render(&mut text)
        .context(|| "cannot make the manual page")?;
    let text = String::from_utf8_lossy(&text);
    Ok((page.get_filename(), with_examples(&text)))
}

/// Returns a page on which every example stands on a line of its own: the generator makes one paragraph of what the
/// help says at its end.
fn with_examples(page: &str) -> String {
    const EXTRA: &str = "\n.SH EXTRA\n";
    let Some((before, extra)) = page.split_once(EXTRA) else {
        return page.to_owned();
    };
    let (extra, after) = match extra.find("\n.SH ") {
        Some(end) => extra.split_at(end + 1),
        None => (extra, ""),
    };
    let mut text = format!("{before}\n");
    let (mut is_example, mut has_notes) = (false, false);
    for line in extra.lines() {
        if line.starts_with("Example") {
            text.push_str(".SH EXAMPLES\n");
            // "Example, a script as the agent:" says more than the section's name.
            if line.contains(',') {
                text.push_str(&format!("{line}\n.br\n"));
            }
            continue;
        }
        if line.starts_with("  ") != is_example {
            is_example = !is_example;
            text.push_str(if is_example { ".nf\n" } else { ".fi\n" });
        }
        if !line.is_empty() && !is_example && !has_notes {
            has_notes = true;
            text.push_str(".SH NOTES\n");
        }
        let is_gap = line.is_empty() && !has_notes;
        if !is_gap {
            text.push_str(&format!("{line}\n"));
        }
    }
    if is_example {
        text.push_str(".fi\n");
    }
    text + after
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    /// Every example has a line and what follows has a section.
    #[test]
    fn examples_have_lines_and_the_rest_a_section() {
        let page = ".SH OPTIONS\nnone\n.SH EXTRA\nExamples:\n  one      first\n  two      second\n\nA note.\n\nAnother.\n.SH VERSION\nv1\n";
        expect![[r#"
            .SH OPTIONS
            none
            .SH EXAMPLES
            .nf
              one      first
              two      second
            .fi
            .SH NOTES
            A note.

            Another.
            .SH VERSION
            v1
        "#]]
        .assert_eq(&with_examples(page));
        assert_eq!(
            with_examples(".SH NAME\nx\n"),
            ".SH NAME\nx\n",
            "without any"
        );
    }
}
