//! The rooms of a crate stand in an order, and each imports only rooms below it: so no circle can come back. A type's
//! name has one meaning.
//!
//! A room is a top-level module. The roof is `lib.rs` or `main.rs`: it may import every room, and no room may import a name
//! that only the roof has.

mod circles;
mod lengths;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What the roof is called in an order: the last room.
const ROOF: &str = "roof";

/// The folders whose types' names are unique: the product, and the harness that all tests share.
const NAMED: &[&str] = &["hook", "schema/src", "store/src", "tests/testing"];

/// A crate whose rooms have an order.
struct House {
    /// Its sources, from the repository's top.
    sources: &'static str,
    /// The module that it is, from the crate's top. In a house within a room, the rooms are folders, and the files beside them are the roof.
    module: &'static [&'static str],
    /// Its rooms from the bottom up, without the roof.
    rooms: &'static [&'static str],
}

/// `docs/architecture.md` says what each room is for.
const HOUSES: &[House] = &[
    House {
        sources: "store/src",
        module: &[],
        rooms: &[
            "error", "fault", "lines", "model", "settings", "fs", "hints", "objects", "git",
            "snapshot", "sessions", "store", "timeline", "upkeep", "ids", "revert", "checkout",
            "exchange", "record", "query",
        ],
    },
    House {
        sources: "store/src/revert",
        module: &["revert"],
        rooms: &["request", "goal", "plan", "carry_out", "receipt", "report"],
    },
    House {
        sources: "hook/src",
        module: &[],
        rooms: &["log_file", "watchdog", "cli", "guard"],
    },
];

/// A source file: its path below the crate's sources, and its text.
type Source = (PathBuf, String);

/// Returns what breaks the order, a sentence for each file and name.
fn breaches(within: &[&str], rooms: &[&str], sources: &[Source]) -> Vec<String> {
    let height = |room: &str| rooms.iter().position(|other| *other == room);
    let mut breaches = Vec::new();
    for (path, text) in sources {
        let below = module_of(path);
        let is_beside_rooms = !within.is_empty() && path.components().count() == 1;
        let room = below.first().filter(|_| !is_beside_rooms);
        let room = room.map_or(ROOF, String::as_str);
        let mut module: Vec<String> = within.iter().map(|name| (*name).to_owned()).collect();
        module.extend(below.iter().cloned());
        let own = match height(room) {
            _ if room == ROOF => rooms.len(),
            Some(own) => own,
            None => {
                breaches.push(format!(
                    "{}: `{room}` has no place in the order",
                    path.display()
                ));
                continue;
            }
        };
        for name in imported(within, &module, text) {
            match height(&name) {
                Some(other) if other <= own => {}
                Some(_) => breaches.push(format!(
                    "{}: `{room}` imports `{name}`, which is above it",
                    path.display()
                )),
                None if room == ROOF => {}
                None => breaches.push(format!(
                    "{}: `{room}` imports `{name}`, which only the roof has",
                    path.display()
                )),
            }
        }
    }
    breaches
}

/// Returns the module that a file is; empty for the roof.
fn module_of(path: &Path) -> Vec<String> {
    let mut module: Vec<String> = path
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let is_folder = module.last().is_some_and(|last| last == "mod");
    let is_roof = module.len() == 1 && ["lib", "main"].contains(&module[0].as_str());
    if is_folder || is_roof {
        module.pop();
    }
    module
}

/// Returns the names directly below a module that a file's code outside tests uses by their whole paths.
fn imported(within: &[&str], module: &[String], text: &str) -> BTreeSet<String> {
    let code = without_tests(&code_of(text));
    let mut names = BTreeSet::new();
    let mut from = 0;
    while let Some((start, word)) = next_path(&code, from) {
        let mut rest = &code[start + word.len()..];
        // How many modules are left of the file's own; a path from the crate's top leaves none.
        let mut left = match word {
            "crate" => 0,
            _ => module.len().saturating_sub(1),
        };
        while let Some(above) = after(rest, "::").and_then(|rest| after(rest, "super")) {
            left = left.saturating_sub(1);
            rest = above;
        }
        if let Some(within) = within.get(left..)
            && let Some(tree) = after(rest, "::")
        {
            names.extend(names_below(within, tree));
        }
        from = start + word.len();
    }
    names
}

/// Finds the next path that starts with `crate` or `super`.
fn next_path(code: &str, from: usize) -> Option<(usize, &'static str)> {
    let is_inside = |at: usize| {
        let before = code[..at].trim_end();
        code[..at].ends_with(is_name) || before.ends_with("::")
    };
    ["crate", "super"]
        .into_iter()
        .filter_map(|word| {
            let starts = code[from..].match_indices(word).map(|(at, _)| from + at);
            let mut paths = starts.filter(|at| {
                !is_inside(*at)
                    && after(&code[*at..], word).is_some_and(|rest| after(rest, "::").is_some())
            });
            Some((paths.next()?, word))
        })
        .min()
}

/// Returns what follows a token, if the text begins with it.
fn after<'a>(text: &'a str, token: &str) -> Option<&'a str> {
    let rest = text.trim_start().strip_prefix(token)?;
    let is_word = token.ends_with(is_name);
    (!is_word || !rest.starts_with(is_name)).then_some(rest)
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns the first name below some modules of each branch of an import's tree: of `a::b`, and of `{a::{b, c}, d}`.
fn names_below(modules: &[&str], tree: &str) -> Vec<String> {
    let first =
        |branch: &str| -> String { branch.chars().take_while(|next| is_name(*next)).collect() };
    let branches = branches(tree);
    match modules {
        [] => branches
            .into_iter()
            .map(first)
            .filter(|name| !name.is_empty() && name != "self")
            .collect(),
        [module, rest @ ..] => branches
            .into_iter()
            .filter_map(|branch| after(after(branch, module)?, "::"))
            .flat_map(|below| names_below(rest, below))
            .collect(),
    }
}

/// Splits an import's tree into its branches. One without braces is one branch.
fn branches(tree: &str) -> Vec<&str> {
    let tree = tree.trim_start();
    let Some(group) = tree.strip_prefix('{') else {
        return vec![tree];
    };
    let mut branches = Vec::new();
    let (mut depth, mut start) = (0_u32, 0);
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' | ',' if depth == 0 => {
                branches.push(group[start..at].trim_start());
                start = at + 1;
                if character == '}' {
                    break;
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    branches
}

/// Takes comments and what stands between quotes out of a source.
fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let literal = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if character == '"' {
            1 + quoted(&rest[1..], '"')
        } else if character == '\'' {
            character_literal(rest)
        } else if character == 'r' && !code.ends_with(is_name) {
            raw_string(rest)
        } else {
            0
        };
        if literal > 0 {
            code.push(' ');
            rest = &rest[literal..];
        } else {
            code.push(character);
            rest = &rest[character.len_utf8()..];
        }
    }
    code
}

/// Returns the length up to the end of a literal, with its closing quote.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        if !is_escaped && character == quote {
            return at + 1;
        }
        is_escaped = !is_escaped && character == '\\';
    }
    text.len()
}

/// Returns the length of a character literal; 0 for a lifetime.
fn character_literal(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), _) => 1 + quoted(&text[1..], '\''),
        (_, Some((at, '\''))) => at + 1,
        _ => 0,
    }
}

/// Returns the length of a raw string; 0 for anything else that begins with `r`.
fn raw_string(text: &str) -> usize {
    let hashes = text[1..].chars().take_while(|next| *next == '#').count();
    let Some(body) = text[1 + hashes..].strip_prefix('"') else {
        return 0;
    };
    let end = format!("\"{}", "#".repeat(hashes));
    let begin = text.len() - body.len();
    body.find(&end)
        .map_or(text.len(), |at| begin + at + end.len())
}

/// Returns the length of a block comment, with those that it holds.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_u32;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// Takes the items out that are compiled for tests only.
fn without_tests(code: &str) -> String {
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some((before, item)) = rest.split_once("#[cfg(test)]") {
        kept.push_str(before);
        let mut depth = 0_u32;
        let mut end = item.len();
        for (at, character) in item.char_indices() {
            match character {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && (character == ';' || character == '}') {
                end = at + 1;
                break;
            }
        }
        rest = &item[end..];
    }
    kept + rest
}

/// Reads the sources of a crate at or below a folder, without the files that hold only tests.
fn sources(top: &Path, folder: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if name == "tests" || name.ends_with("_tests") {
            continue;
        }
        if path.is_dir() {
            sources(top, &path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let below = path.strip_prefix(top).expect("it is below").to_owned();
            found.push((below, fs::read_to_string(&path).expect("code is text")));
        }
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate is in the repository")
        .to_owned()
}

#[test]
fn every_room_imports_only_rooms_below_it() {
    for house in HOUSES {
        let top = repository().join(house.sources);
        let mut found = Vec::new();
        sources(&top, &top, &mut found);
        let broken = breaches(house.module, house.rooms, &found);
        assert!(broken.is_empty(), "{}: {broken:#?}", house.sources);
        let there: BTreeSet<String> = found
            .iter()
            .filter_map(|(path, _)| module_of(path).into_iter().next())
            .collect();
        for room in house.rooms {
            assert!(
                there.contains(*room),
                "{}: there is no room `{room}`",
                house.sources
            );
        }
    }
}

/// Returns the names of the types that a file's modules define. A stand-in for other systems than this one has the name of
/// what it stands in for, and a type within a function is seen by nobody else.
fn types_of(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_stand_in = false;
    for line in text.lines().filter(|line| !line.starts_with("///")) {
        let item = match line.split_once(") ") {
            Some((visibility, item)) if visibility.starts_with("pub(") => item,
            _ => line.strip_prefix("pub ").unwrap_or(line),
        };
        let name = ["struct ", "enum ", "trait ", "union ", "type "]
            .into_iter()
            .find_map(|keyword| item.strip_prefix(keyword))
            .map(|rest| rest.chars().take_while(|next| is_name(*next)).collect());
        names.extend(name.filter(|_| !is_stand_in));
        is_stand_in = line.starts_with("#[cfg(not(");
    }
    names
}

#[test]
fn the_name_of_a_type_means_one_thing() {
    let mut owners: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for folder in NAMED {
        let mut found = Vec::new();
        sources(&repository(), &repository().join(folder), &mut found);
        for (path, text) in found {
            for name in types_of(&text) {
                owners.entry(name).or_default().push(path.clone());
            }
        }
    }
    owners.retain(|_, files| files.len() > 1);
    assert!(owners.is_empty(), "defined more than once: {owners:#?}");
}

/// The types of a file are found however they are written.
#[test]
fn types_are_found_however_written() {
    let text = "/// type Told = u8;\npub struct One<'a> {}\npub(in crate::a) enum Two {}\ntrait Three: Copy {}\n\
                pub(crate) type Four<T> = T;\nfn f() {\n    struct Within;\n}\n\
                #[cfg(not(unix))]\nstruct One;\nunion Five {}\n";
    assert_eq!(types_of(text), ["One", "Two", "Three", "Four", "Five"]);
}

#[test]
fn the_documentation_lists_the_rooms_in_their_order() {
    let page = fs::read_to_string(repository().join("docs/architecture.md")).expect("the page");
    let rooms_of = |table: &str| {
        let mut listed: Vec<String> = table
            .lines()
            .take_while(|line| !line.is_empty())
            .filter_map(|line| {
                line.strip_prefix("| `")?
                    .split('`')
                    .next()
                    .map(str::to_owned)
            })
            .collect();
        listed.reverse();
        listed
    };
    let tables: Vec<Vec<String>> = page
        .split("| room | does |")
        .skip(1)
        .map(rooms_of)
        .collect();
    assert_eq!(
        tables.len(),
        HOUSES.len(),
        "a table for each crate with rooms"
    );
    for house in HOUSES {
        assert!(
            tables.iter().any(|listed| listed == house.rooms),
            "{}: no table has its rooms from the top down: {tables:#?}",
            house.sources
        );
    }
}

fn made_up(files: &[(&str, &str)]) -> Vec<Source> {
    let source = |(path, text): &(&str, &str)| (PathBuf::from(path), (*text).to_owned());
    files.iter().map(source).collect()
}

#[track_caller]
fn assert_breaches(files: &[(&str, &str)], expected: &[&str]) {
    assert_eq!(
        breaches(&[], &["ground", "middle", "top"], &made_up(files)),
        expected,
        "{files:?}"
    );
}

/// Importing downwards or from the own room is fine.
#[test]
fn importing_downwards_is_fine() {
    assert_breaches(
        &[
            (
                "lib.rs",
                "mod ground; use crate::top::Top; pub use middle::Middle;",
            ),
            ("top.rs", "use crate::{ground::Earth, middle};"),
            (
                "middle/mod.rs",
                "mod part; use crate::ground; use part::Part;",
            ),
            (
                "middle/part.rs",
                "use super::Middle; use crate::middle::Other;",
            ),
            ("ground.rs", "use std::path::Path;"),
        ],
        &[],
    );
}

#[test]
fn importing_upwards_is_found_however_it_is_written() {
    let expected = ["ground/part.rs: `ground` imports `top`, which is above it"];
    for text in [
        "use crate::top::Top;",
        "use crate::top;",
        "use crate::{ground::Earth, top::{Top, self}};",
        "use crate::{\n    ground::{Earth, Stone},\n    top,\n};",
        "pub(crate) use crate :: top :: Top as Roof;",
        "fn f() -> u8 { let text = \"//\"; crate::top::f() }",
        "fn f(quote: char) -> bool { quote == '\"' && crate::top::f() }",
        "use super::super::top::Top;",
        "use super::super::{top::Top};",
        "#[cfg(test)]\nmod tests;\nuse crate::top::Top;",
        "#[cfg(test)]\nmod tests { fn f() {} }\nuse crate::top::Top;",
    ] {
        assert_breaches(&[("ground/part.rs", text)], &expected);
    }
}

/// The folders of a room have an order like the rooms of a crate; the files beside them are the roof.
#[test]
fn folders_of_a_room_have_an_order() {
    let found = |path: &str, text: &str| {
        let files = made_up(&[(path, text)]);
        breaches(&["room"], &["ground", "top"], &files)
    };
    let upwards = ["ground/part.rs: `ground` imports `top`, which is above it"];
    for text in [
        "use crate::room::top::Top;",
        "use crate::{other::ground, room::{ground, top::Top}};",
        "use super::super::top::Top;",
        "use super::super::super::room::top;",
    ] {
        assert_eq!(found("ground/part.rs", text), upwards, "{text}");
    }
    for text in [
        "use crate::other::top;",
        "use super::top;",
        "use crate::room::ground::top;",
    ] {
        assert!(found("ground/part.rs", text).is_empty(), "{text}");
        assert!(found("road.rs", text).is_empty(), "{text}");
    }
    assert_eq!(
        found("ground/mod.rs", "use super::road::Road;"),
        ["ground/mod.rs: `ground` imports `road`, which only the roof has"]
    );
}

#[test]
fn comments_texts_and_tests_import_nothing() {
    for text in [
        "//! See [`crate::top::Top`].\n// use crate::top;",
        "/* crate::top /* and */ crate::top */",
        "const TEXT: &str = \"crate::top \\\" crate::top\";",
        "const TEXT: &str = r#\"crate::top \" crate::top\"#;",
        "#[cfg(test)]\nmod tests {\n    use crate::top::Top;\n    fn f() { crate::top::f() }\n}",
        "#[cfg(test)]\nuse crate::top::Top;",
        "use super::top::Top;",
        "pub(crate) fn crate_top() {}",
        "use other_crate::top::Top;",
        "use elsewhere::crate_::top;",
    ] {
        assert_breaches(&[("ground/part.rs", text)], &[]);
    }
}

/// A name that only the roof has is not for its rooms.
#[test]
fn roofs_names_are_not_for_rooms() {
    assert_breaches(
        &[
            ("lib.rs", "pub use top::Top; use crate::Top as Other;"),
            ("ground.rs", "use crate::Top; use super::Bottom;"),
        ],
        &[
            "ground.rs: `ground` imports `Bottom`, which only the roof has",
            "ground.rs: `ground` imports `Top`, which only the roof has",
        ],
    );
}

/// A room without a place in the order is found.
#[test]
fn room_without_a_place_is_found() {
    assert_breaches(
        &[("cellar/mod.rs", "use crate::ground;")],
        &["cellar/mod.rs: `cellar` has no place in the order"],
    );
}
