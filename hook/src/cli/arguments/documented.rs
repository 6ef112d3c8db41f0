//! Checks that the program accepts the command lines in the documentation.

use std::path::{Path, PathBuf};

use clap::CommandFactory;

use super::Arguments;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns README.md, and every page at or below a folder.
fn pages() -> Vec<PathBuf> {
    let mut folders = vec![root().join("docs")];
    let mut found = vec![root().join("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a readable folder") {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// Returns the words of a shell's line, up to a comment or an operator.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for letter in line.chars() {
        match letter {
            _ if quote == Some(letter) => quote = None,
            '"' | '\'' if quote.is_none() => quote = Some(letter),
            ' ' if quote.is_none() => words.push(String::new()),
            _ => words.last_mut().expect("one is there").push(letter),
        }
    }
    let is_end = |word: &String| ["|", "&&", "||", ";", ">", "#", "<"].contains(&word.as_str());
    words
        .into_iter()
        .take_while(|word| !is_end(word))
        .filter(|word| !word.is_empty())
        .collect()
}

#[test]
fn every_command_line_of_the_documentation_is_one_that_the_program_takes() {
    let mut seen = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("the page is there");
        let mut is_in_block = false;
        for line in text.lines() {
            if line.starts_with("```") {
                is_in_block = line == "```console";
            }
            let Some(line) = line
                .strip_prefix("$ ")
                .filter(|line| is_in_block && line.starts_with("ckpt-hook "))
            else {
                continue;
            };
            let parsed = Arguments::command().try_get_matches_from(words(line));
            if let Err(error) = parsed {
                assert!(!error.use_stderr(), "{}: {line}\n{error}", page.display());
            }
            seen += 1;
        }
    }
    assert!(seen > 50, "the pages have such lines: {seen}");
}
