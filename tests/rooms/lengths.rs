//! No file is longer than a reader holds in mind, no function of the product longer than a screen, and no name of a test longer
//! than a line of a list.

use std::fs;
use std::path::{Path, PathBuf};

use super::{HOUSES, Source, is_name, repository, sources};

/// The folders with code, from the repository's top.
const CODE: &[&str] = &["bench", "fuzz", "hook", "schema", "store", "tests"];

/// The most lines of a file.
const MOST_LINES: usize = 600;

/// The most lines of a function of the product, from its name to its end.
const MOST_LINES_OF_A_FUNCTION: usize = 80;

/// The most words of a test's name. A comment above it says the rest.
const MOST_WORDS_OF_A_TEST: usize = 8;

/// Adds the files of code at or below a folder.
fn code(folder: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                code(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("code is text");
            found.push((path, text));
        }
    }
}

fn all_code() -> Vec<Source> {
    let mut found = Vec::new();
    for folder in CODE {
        code(&repository().join(folder), &mut found);
    }
    found
}

#[test]
fn no_file_is_too_long() {
    let mut long = all_code();
    long.retain(|(_, text)| text.lines().count() > MOST_LINES);
    let long: Vec<PathBuf> = long.into_iter().map(|(path, _)| path).collect();
    assert!(
        long.is_empty(),
        "more than {MOST_LINES} lines; split them by meaning: {long:#?}"
    );
}

/// The names of a file's tests.
fn tests_of(text: &str) -> impl Iterator<Item = String> {
    let functions = text.split("#[test]\n").skip(1);
    let names = functions.filter_map(|after| after.split_once("fn "));
    let name = |(_, name): (&str, &str)| name.chars().take_while(|next| is_name(*next)).collect();
    names.map(name)
}

#[test]
fn no_test_has_a_long_name() {
    let code = all_code();
    let tests = code.iter().flat_map(|(_, text)| tests_of(text));
    let is_long = |name: &String| name.split('_').count() > MOST_WORDS_OF_A_TEST;
    let long: Vec<String> = tests.filter(is_long).collect();
    assert!(
        long.is_empty(),
        "more than {MOST_WORDS_OF_A_TEST} words; a comment says the rest: {long:#?}"
    );
}

/// Returns the functions of a file that are longer than a number of lines. rustfmt ends a function with a brace that stands as
/// far in as its first line.
fn long_functions(text: &str, most: usize) -> Vec<String> {
    let mut long = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for (number, line) in lines.iter().enumerate() {
        let item = line.trim_start();
        let Some((before, after)) = item.split_once("fn ") else {
            continue;
        };
        let is_item = before
            .split_whitespace()
            .all(|word| word.starts_with("pub") || ["const", "async", "unsafe"].contains(&word));
        let end = format!("{}}}", &line[..line.len() - item.len()]);
        let rest = lines[number..].iter();
        let length = 1 + rest.take_while(|next| **next != end).count();
        let is_whole = item.ends_with([';', '}']);
        if is_item && !is_whole && length > most {
            long.push(after.chars().take_while(|next| is_name(*next)).collect());
        }
    }
    long
}

#[test]
fn no_function_of_the_product_is_too_long() {
    let mut found = Vec::new();
    for house in HOUSES.iter().filter(|house| house.module.is_empty()) {
        let top = repository().join(house.sources);
        sources(&top, &top, &mut found);
    }
    let long: Vec<(&PathBuf, Vec<String>)> = found
        .iter()
        .map(|(path, text)| (path, long_functions(text, MOST_LINES_OF_A_FUNCTION)))
        .filter(|(_, long)| !long.is_empty())
        .collect();
    assert!(
        long.is_empty(),
        "more than {MOST_LINES_OF_A_FUNCTION} lines; split them by meaning: {long:#?}"
    );
}

/// A function is as long as from its name to its end.
#[test]
fn function_ends_at_its_brace() {
    let text = "/// Like fn none {\nfn one() {\n    1;\n}\n\nimpl A {\n    pub(crate) const fn two(\n    ) {\n        2;\n    }\n\n    \
                fn three();\n    fn four() {}\n}\n";
    assert_eq!(long_functions(text, 2), ["one", "two"]);
    assert_eq!(long_functions(text, 3), ["two"]);
    assert!(long_functions(text, 4).is_empty());
}
