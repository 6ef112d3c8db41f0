//! `docs/invariants.md` is made from the comments of the tests that hold the invariants.
//!
//! A comment states an invariant once, with a key: "Invariant `work/not-stored`: What no snapshot
//! holds is never replaced." Other tests that hold it name only the key. A lint holds one, too: then
//! the comment is in the file that sets the lint.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::{files, repository};

/// The first part of a key, and the heading that its invariants are listed below.
const GROUPS: [(&str, &str); 5] = [
    ("work", "Never destroy work"),
    ("truth", "Never lie"),
    ("agent", "Never get in the agent's way"),
    ("private", "What is the user's alone"),
    ("ground", "What holds everywhere"),
];

const HEAD: &str = "# Invariants

What the code must not break, and the tests and lints that hold it. This page is made by `just invariants` from the
comments of the tests. To add a rule, write a line above its test: ``/// Invariant `work/some-key`: The rule.`` A further
test of the same rule has the line ``/// Invariant `work/some-key`.`` A search for the key finds the tests.
";

/// An invariant: what it says, and the tests and files that hold it.
#[derive(Default)]
struct Invariant {
    statement: Option<String>,
    holders: Vec<String>,
}

/// Takes the comments of a source: the lines of a comment joined, and the name of the test below it.
fn comments<'a>(text: &'a str, mark: &str) -> Vec<(Vec<String>, &'a str)> {
    let mut found = Vec::new();
    let mut paragraphs: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix(mark) {
            let comment = comment.trim();
            match paragraphs.last_mut() {
                _ if comment.is_empty() => {}
                Some(last) if goes_on && !comment.starts_with("Invariant `") => {
                    last.push(' ');
                    last.push_str(comment);
                }
                _ => paragraphs.push(comment.to_owned()),
            }
            goes_on = !comment.is_empty();
        } else if !line.starts_with("#[") && !paragraphs.is_empty() {
            found.push((std::mem::take(&mut paragraphs), line));
            goes_on = false;
        }
    }
    found
}

/// Adds the invariants of a source to the others.
fn add(all: &mut BTreeMap<String, Invariant>, text: &str, mark: &str, file: Option<&str>) {
    for (paragraphs, below) in comments(text, mark) {
        for paragraph in paragraphs {
            let Some(rest) = paragraph.strip_prefix("Invariant `") else {
                continue;
            };
            let (key, rest) = rest.split_once('`').expect("a key ends");
            let name = below
                .trim_start_matches("pub ")
                .strip_prefix("fn ")
                .and_then(|rest| rest.split_once('('));
            let holder = match (file, name) {
                (Some(file), _) => format!("[{file}](../{file})"),
                (None, Some((name, _))) => format!("`{name}`"),
                (None, None) => panic!("`{key}` stands above no test: {below}"),
            };
            let invariant = all.entry(key.to_owned()).or_default();
            invariant.holders.push(holder);
            match rest.strip_prefix(": ") {
                Some(statement) => assert!(
                    invariant.statement.replace(statement.to_owned()).is_none(),
                    "`{key}` is stated twice"
                ),
                None => assert_eq!(rest, ".", "`{key}`: a statement, or only a full stop"),
            }
        }
    }
}

fn page(all: &BTreeMap<String, Invariant>) -> String {
    let mut page = HEAD.to_owned();
    let mut number = 0;
    for (group, heading) in GROUPS {
        page.push_str(&format!("\n## {heading}\n\n"));
        for (key, invariant) in all {
            if key.split_once('/').is_some_and(|(first, _)| first == group) {
                let statement = invariant.statement.as_deref();
                let statement = statement.unwrap_or_else(|| panic!("`{key}` is stated nowhere"));
                page.push_str(&format!("- {statement} (`{key}`)\n"));
                for holder in &invariant.holders {
                    page.push_str(&format!("  - {holder}\n"));
                }
                number += 1;
            }
        }
    }
    assert_eq!(number, all.len(), "each key begins with a group");
    page
}

#[test]
fn invariants_are_the_comments_of_their_tests() {
    let mut all = BTreeMap::new();
    let mut sources: Vec<PathBuf> = Vec::new();
    for folder in ["hook", "schema", "store", "tests"] {
        files(&repository().join(folder), "rs", &mut sources);
    }
    sources.sort();
    for source in sources {
        let text = fs::read_to_string(&source).expect("code is text");
        add(&mut all, &text, "///", None);
    }
    for file in ["Cargo.toml", "clippy.toml"] {
        let text = fs::read_to_string(repository().join(file)).expect("it is text");
        add(&mut all, &text, "#", Some(file));
    }
    let made = page(&all);
    let path = repository().join("docs/invariants.md");
    if is_update() {
        fs::write(&path, &made).expect("the page can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(made == written, "docs/invariants.md: `just invariants`");
}

#[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
fn is_update() -> bool {
    std::env::var_os("UPDATE_INVARIANTS").is_some_and(|value| value == "1")
}

#[test]
fn comment_states_its_invariants_and_names_their_test() {
    let text = [
        "/// What it is.",
        "///",
        "/// Invariant `work/one`: A rule",
        "/// of two lines.",
        "/// Invariant `work/two`.",
        "#[test]",
        "fn first() {}",
        "/// Invariant `work/two`: Another.",
        "fn second() {}",
    ]
    .join("\n");
    let mut all = BTreeMap::new();
    add(&mut all, &text, "///", None);
    let told: Vec<_> = all
        .iter()
        .map(|(key, it)| (key.as_str(), it.statement.as_deref(), it.holders.join(" ")))
        .collect();
    assert_eq!(
        told,
        [
            (
                "work/one",
                Some("A rule of two lines."),
                "`first`".to_owned()
            ),
            ("work/two", Some("Another."), "`first` `second`".to_owned()),
        ]
    );
}
