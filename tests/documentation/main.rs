//! The documentation speaks of things that exist: files that it links to, and tests that hold what it promises.

mod invariants;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate is in the repository")
        .to_owned()
}

/// Adds every file with an ending at or below a folder.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            files(&path, ending, found);
        } else if path
            .extension()
            .is_some_and(|extension| extension == ending)
        {
            found.push(path);
        }
    }
}

/// Returns the pages for people.
fn pages() -> Vec<PathBuf> {
    let names = [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "bench/targets.md",
    ];
    let mut pages: Vec<PathBuf> = names.iter().map(|name| repository().join(name)).collect();
    files(&repository().join("docs"), "md", &mut pages);
    pages
}

/// All code of the repository as one text.
fn code() -> String {
    let mut sources = Vec::new();
    for folder in ["hook", "schema", "store", "tests"] {
        files(&repository().join(folder), "rs", &mut sources);
    }
    sources
        .iter()
        .map(|source| fs::read_to_string(source).expect("code is text"))
        .collect()
}

/// Returns what stands between two marks, each time.
fn between<'a>(text: &'a str, begin: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(begin)
        .skip(1)
        .filter_map(move |rest| Some(rest.split_once(end)?.0))
}

/// The anchors of a page: its headings in lower case, with dashes for spaces, and without punctuation.
fn anchors(page: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(page).expect("the page is there");
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let is_kept = |letter: &char| letter.is_alphanumeric() || "-_ ".contains(*letter);
    headings
        .map(|line| {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            let kept: String = heading.chars().filter(is_kept).collect();
            kept.replace(' ', "-")
        })
        .collect()
}

#[test]
fn links_lead_to_files_and_headings() {
    for page in pages() {
        let text = fs::read_to_string(&page).expect("the page is there");
        for link in between(&text, "](", ")").filter(|link| !link.contains("://")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => page.clone(),
                path => page.parent().expect("a page is in a folder").join(path),
            };
            assert!(target.exists(), "{} links to `{link}`", page.display());
            let is_page = target.extension().is_some_and(|it| it == "md");
            assert!(
                anchor.is_empty() || !is_page || anchors(&target).contains(anchor),
                "{} links to `{link}`, and there is no such heading",
                page.display()
            );
        }
    }
}

/// Every page is in the book and links to no page outside.
///
/// `packaging/book.py` puts the pages of the repository's root into the book, and names whatever is no page.
#[test]
fn every_page_is_in_the_book() {
    let docs = repository().join("docs");
    let summary = docs.join("SUMMARY.md");
    let real = |path: PathBuf| path.canonicalize().expect("the page is there");
    let text = fs::read_to_string(&summary).expect("the book has a table of contents");
    let book: BTreeSet<PathBuf> = between(&text, "](", ")")
        .map(|link| real(docs.join(link)))
        .collect();
    let targets = repository().join("bench/targets.md");
    let pages = pages().into_iter();
    let pages = pages.filter(|page| *page != summary && *page != targets);
    let pages: BTreeSet<PathBuf> = pages.map(real).collect();
    assert_eq!(book, pages, "the book is made of the pages");
    for page in &pages {
        let text = fs::read_to_string(page).expect("the page is there");
        for link in between(&text, "](", ")").filter(|link| !link.contains("://")) {
            let path = link.split('#').next().expect("one part");
            if Path::new(path).extension().is_some_and(|it| it == "md") {
                let target = real(page.parent().expect("a page is in a folder").join(path));
                assert!(
                    book.contains(&target),
                    "{} links to `{link}`",
                    page.display()
                );
            }
        }
    }
}

/// A test that does not run is listed and not only printed.
#[test]
fn tests_that_do_not_run_are_listed() {
    let mut sources = Vec::new();
    for folder in ["hook", "schema", "store", "tests"] {
        files(&repository().join(folder), "rs", &mut sources);
    }
    let harness = repository().join("tests/testing");
    for source in sources
        .iter()
        .filter(|source| !source.starts_with(&harness))
    {
        let text = fs::read_to_string(source).expect("code is text");
        for word in ["SKIPPED", "NOT RUN"] {
            assert!(
                !text.contains(&format!("!(\"{word}")),
                "{} prints `{word}`; `testing::skip` lists it as well",
                source.display()
            );
        }
    }
}

/// A test that was renamed is in no list any more, and fails CI where it cannot run.
#[test]
fn tests_that_may_be_skipped_exist() {
    let code = code();
    let list = fs::read_to_string(repository().join(".ci/may-skip")).expect("it is text");
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    for pattern in lines.filter_map(|line| line.split_whitespace().next()) {
        let (_, test) = pattern.rsplit_once("::").expect("a module and a test");
        let is_there = test == "*" || code.contains(&format!("fn {test}("));
        assert!(
            is_there,
            "`.ci/may-skip` names what is not there: {pattern}"
        );
    }
}

/// The README's first block has the commands of a stranger: one shows the main job, one passes the tests.
#[test]
fn ci_runs_the_first_commands_of_the_readme() {
    let read = |name: &str| fs::read_to_string(repository().join(name)).expect("it is text");
    let (readme, run) = (read("README.md"), read(".ci/run"));
    let block = between(&readme, "```console\n", "```").next();
    let commands: Vec<&str> = between(block.expect("a block"), "$ ", "\n")
        .map(|line| line.split(" #").next().expect("one part").trim())
        .collect();
    assert_eq!(commands.len(), 2, "{commands:?}");
    for command in commands {
        let runs = |line: &str| line.trim_start().starts_with("run ") && line.contains(command);
        assert!(run.lines().any(runs), "`.ci/run` runs no `{command}`");
    }
}

#[test]
fn tests_that_a_page_names_exist() {
    let code = code();
    let mut named = 0;
    // Other pages name settings and events of agents.
    let names_tests = |page: &PathBuf| {
        let agents = ["docs/agents", "docs/administrators.md"];
        !agents
            .iter()
            .any(|other| page.starts_with(repository().join(other)))
    };
    for page in pages().into_iter().filter(names_tests) {
        let text = fs::read_to_string(&page).expect("the page is there");
        // Names of tests are sentences; names of lints, settings and methods are shorter.
        let is_test = |name: &&str| {
            name.matches('_').count() >= 3
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        };
        for name in text.split('`').skip(1).step_by(2).filter(is_test) {
            named += 1;
            assert!(
                code.contains(&format!("fn {name}(")),
                "{} names a test that is not there: {name}",
                page.display()
            );
        }
    }
    assert!(named > 20, "they are found: {named}");
}

#[test]
fn every_place_that_starts_a_program_is_listed() {
    let security = fs::read_to_string(repository().join("SECURITY.md")).expect("it is there");
    let (_, list) = security
        .split_once("## The programs that are started")
        .expect("the page lists them");
    let listed: BTreeSet<&str> = list
        .split('`')
        .filter(|word| word.ends_with(".rs"))
        .collect();
    let starts = [
        "Command::new(",
        "programs::named(",
        "programs::line(",
        "programs::git(",
    ];
    let mut sources = Vec::new();
    for folder in ["hook", "schema/src", "store/src"] {
        files(&repository().join(folder), "rs", &mut sources);
    }
    let mut found = BTreeSet::new();
    for source in sources {
        let name = source.strip_prefix(repository()).expect("it is below");
        let name = name.to_str().expect("a plain path");
        let is_product = !name.contains("tests");
        let text = fs::read_to_string(&source).expect("code is text");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        // The command line is described by a type of the same name.
        let is_of_clap = code.contains("use clap::") && !code.contains("std::process");
        if is_product && !is_of_clap && starts.iter().any(|start| code.contains(start)) {
            found.insert(name.to_owned());
        }
    }
    let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(found, listed);
}

/// The rules that `tests/agents/main.rs` runs with each agent, by the agent's module.
fn stories() -> BTreeMap<String, BTreeSet<String>> {
    let roof = fs::read_to_string(repository().join("tests/agents/main.rs")).expect("it is text");
    let (macros, list) = roof.rsplit_once("\ntests! {").expect("it ends with them");
    let mut groups: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut group = "";
    let is_rule = |line: &str| {
        let is_of_name = |letter: u8| letter.is_ascii_lowercase() || b"_:".contains(&letter);
        line.contains("::") && line.bytes().all(is_of_name)
    };
    for line in macros.lines().map(str::trim) {
        if let Some((name, _)) = line
            .strip_prefix("(@")
            .and_then(|rest| rest.split_once(" $program:ident) =>"))
        {
            group = name;
        } else if let Some(rule) = line.strip_suffix(';').filter(|line| is_rule(line)) {
            groups.entry(group).or_default().insert(rule.to_owned());
        }
    }
    // Who has a terminal has its stories, too.
    let at_a_terminal = groups["stories"].clone();
    groups
        .get_mut("terminal")
        .expect("it is there")
        .extend(at_a_terminal);
    let agents = list
        .lines()
        .filter_map(|line| line.trim().strip_suffix(';'));
    agents
        .map(|line| {
            let (agent, more) = line.split_once(": ").expect("an agent and its program");
            let more = more.split(", ").skip(1);
            let rules = more.chain([""]).flat_map(|name| groups[name].clone());
            (agent.to_owned(), rules.collect())
        })
        .collect()
}

/// The table of stories says what runs with which agent.
#[test]
fn table_of_stories_says_what_runs() {
    let page = fs::read_to_string(repository().join("docs/agents/README.md")).expect("it is there");
    let (_, page) = page.split_once("## What was run").expect("it says so");
    let cells = |line: &str| -> Vec<String> {
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    let rows = page.lines().filter(|line| line.starts_with('|')).map(cells);
    let mut told: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut agents = Vec::new();
    for row in rows.filter(|row| !row[0].starts_with('-')) {
        let (rule, row) = row.split_last().expect("a table of some columns");
        if rule == "test" {
            let name = |cell: &String| cell.to_lowercase().replace(' ', "_");
            agents = row[1..].iter().map(name).collect();
            continue;
        }
        for (agent, _) in agents
            .iter()
            .zip(&row[1..])
            .filter(|(_, cell)| *cell == "yes")
        {
            let rules = told.entry(agent.clone()).or_default();
            rules.insert(rule.trim_matches('`').to_owned());
        }
    }
    for (agent, rules) in stories() {
        let told: Vec<_> = told[&agent].symmetric_difference(&rules).collect();
        assert!(
            told.is_empty(),
            "{agent}: the page says `yes` where a test runs, but: {told:?}"
        );
    }
}

/// What decides, and what is only a value, neither reads nor writes anything: neither files, nor the clock, nor the environment.
#[test]
fn pure_modules_ask_nothing_of_the_outside_world() {
    const PURE: [&str; 38] = [
        "schema/src/event.rs",
        "schema/src/migration.rs",
        "schema/src/report/change.rs",
        "schema/src/report/failure.rs",
        "schema/src/report/history.rs",
        "schema/src/report/mod.rs",
        "schema/src/report/operation.rs",
        "schema/src/report/recording.rs",
        "schema/src/report/setup.rs",
        "schema/src/report/status.rs",
        "schema/src/report/workspace.rs",
        "store/src/lines.rs",
        "store/src/model/attribution.rs",
        "store/src/model/entry.rs",
        "store/src/model/gap.rs",
        "store/src/model/git_item.rs",
        "store/src/model/item.rs",
        "store/src/model/mod.rs",
        "store/src/model/path.rs",
        "store/src/model/progress.rs",
        "store/src/model/request.rs",
        "store/src/record/decide/message.rs",
        "store/src/record/decide/mod.rs",
        "store/src/record/decide/step.rs",
        "store/src/revert/goal/clash.rs",
        "store/src/revert/carry_out/git/plan.rs",
        "store/src/revert/request/history.rs",
        "store/src/revert/goal/merge.rs",
        "store/src/revert/plan/mod.rs",
        "store/src/revert/receipt/reason.rs",
        "store/src/revert/goal/rule.rs",
        "store/src/revert/goal/target.rs",
        "store/src/snapshot/rules/matcher.rs",
        "store/src/snapshot/rules/mod.rs",
        "store/src/snapshot/rules/patterns.rs",
        "store/src/timeline/attribute.rs",
        "store/src/timeline/evidence/doubt.rs",
        "store/src/timeline/evidence/mod.rs",
    ];
    for module in PURE {
        let text = fs::read_to_string(repository().join(module)).expect("the module is there");
        let code = text.split("#[cfg(test)]").next().expect("one part");
        for word in [
            "std::fs",
            "std::env",
            "std::net",
            "std::process",
            "SystemTime",
            "Instant",
            "rustix",
            "rusqlite",
        ] {
            assert!(
                !code.contains(word),
                "{module} is pure, and yet it uses `{word}`"
            );
        }
    }
}

/// Returns the lines of the workflows and scripts that reach the outside.
fn lines_for_others() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    files(&repository().join(".github/workflows"), "yml", &mut found);
    for folder in ["packaging", ".ci", "docs"] {
        let entries = fs::read_dir(repository().join(folder)).expect("a readable folder");
        let paths = entries.map(|entry| entry.expect("a readable folder").path());
        found.extend(paths.filter(|path| path.is_file()));
    }
    found.push(repository().join("README.md"));
    let lines = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.into_iter().map(move |line| (path.clone(), line))
    };
    found.into_iter().flat_map(lines).collect()
}

/// Actions are named by the hash of a commit.
#[test]
fn actions_are_named_by_hash() {
    let mut number = 0;
    for (path, line) in lines_for_others() {
        let item = line.trim_start().trim_start_matches("- ");
        let Some(action) = item.strip_prefix("uses: ") else {
            continue;
        };
        number += 1;
        let hash = action.split(['@', ' ']).nth(1).unwrap_or_default();
        assert!(
            hash.len() == 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{}: {line}",
            path.display()
        );
        // What the hash is said to be, for those who read it and for programs that replace it.
        let version = action.split_once(" # v").map_or("", |(_, version)| version);
        let parts: Vec<&str> = version.split('.').collect();
        assert!(
            parts.len() == 3 && parts.iter().all(|part| part.parse::<u32>().is_ok()),
            "{}: {line}",
            path.display()
        );
    }
    assert!(number > 4, "they are found");
}

#[test]
fn curl_follows_nobody_to_another_protocol() {
    let mut number = 0;
    for (path, line) in lines_for_others() {
        if !line.contains("curl --") {
            continue;
        }
        number += line.matches("curl --").count();
        let guarded = line.matches("curl --proto ").count();
        assert_eq!(
            line.matches("curl --").count(),
            guarded,
            "{}: {line}",
            path.display()
        );
    }
    assert!(number >= 3, "they are found");
}
