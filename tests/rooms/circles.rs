//! The modules of a house within a room import each other in no circle.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    HOUSES, after, branches, code_of, is_name, module_of, next_path, repository, sources,
    without_tests,
};

type Module = Vec<String>;

/// The modules that each module imports, of those that are there.
fn imports(modules: &BTreeMap<Module, String>) -> BTreeMap<Module, BTreeSet<Module>> {
    let mut all = BTreeMap::new();
    for (module, text) in modules {
        let code = without_tests(&code_of(text));
        let mut found = BTreeSet::new();
        let mut from = 0;
        while let Some((start, word)) = next_path(&code, from) {
            from = start + word.len();
            let mut rest = &code[from..];
            let mut left = match word {
                "crate" => 0,
                _ => module.len().saturating_sub(1),
            };
            while let Some(above) = after(rest, "::").and_then(|rest| after(rest, "super")) {
                left = left.saturating_sub(1);
                rest = above;
            }
            if let Some(tree) = after(rest, "::") {
                leaves(module[..left].to_vec(), tree, &mut found);
            }
        }
        let children = modules
            .keys()
            .filter(|child| child.split_last().is_some_and(|(_, above)| above == module));
        for child in children {
            let path = format!("{}::", child.last().expect("it is below"));
            let is_used = code
                .match_indices(&path)
                .any(|(at, _)| !code[..at].ends_with(is_name) && !code[..at].ends_with("::"));
            found.extend(is_used.then(|| child.clone()));
        }
        let known = |path: Module| {
            let lengths = (1..=path.len()).rev();
            let mut above = lengths.map(|length| path[..length].to_vec());
            above.find(|above| modules.contains_key(above))
        };
        let mut found: BTreeSet<Module> = found.into_iter().filter_map(known).collect();
        found.remove(module);
        all.insert(module.clone(), found);
    }
    all
}

/// Adds each whole path of an import's tree.
fn leaves(above: Module, tree: &str, found: &mut BTreeSet<Module>) {
    for branch in branches(tree) {
        let name: String = branch.chars().take_while(|next| is_name(*next)).collect();
        let mut path = above.clone();
        if name.is_empty() || name == "self" {
            found.insert(path);
            continue;
        }
        path.push(name.clone());
        match after(&branch[name.len()..], "::") {
            Some(below) => leaves(path, below, found),
            None => _ = found.insert(path),
        }
    }
}

/// The modules that import themselves by way of others.
fn in_circles(imports: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<String> {
    let reaches_itself = |module: &&Module| {
        let mut waiting: Vec<&Module> = imports[*module].iter().collect();
        let mut seen = BTreeSet::new();
        while let Some(next) = waiting.pop() {
            if next == *module {
                return true;
            }
            if seen.insert(next) {
                waiting.extend(&imports[next]);
            }
        }
        false
    };
    let found = imports.keys().filter(reaches_itself);
    found.map(|module| module.join("::")).collect()
}

#[test]
fn modules_within_a_room_form_no_circle() {
    for house in HOUSES.iter().filter(|house| !house.module.is_empty()) {
        let top = repository().join(house.sources);
        let mut found = Vec::new();
        sources(&top, &top, &mut found);
        let module = |path| {
            let above = house.module.iter().map(|name| (*name).to_owned());
            above.chain(module_of(path)).collect()
        };
        let modules = found
            .iter()
            .map(|(path, text)| (module(path), text.clone()));
        let circles = in_circles(&imports(&modules.collect()));
        assert!(circles.is_empty(), "{}: {circles:#?}", house.sources);
    }
}

/// A circle is found over files that name each other by any kind of path.
#[test]
fn circle_is_found_however_written() {
    let module = |path: &str| path.split("::").map(str::to_owned).collect::<Module>();
    let circles = |files: &[(&str, &str)]| {
        let files = files
            .iter()
            .map(|(path, text)| (module(path), (*text).to_owned()));
        in_circles(&imports(&files.collect()))
    };
    let part = ("room::part", "use super::other::Other;");
    for other in [
        "use crate::room::part::Part;",
        "use super::{third::Third, part::{self, Part}};",
        "fn f() { super::part::f() }",
    ] {
        assert_eq!(
            circles(&[part, ("room::other", other)]),
            ["room::other", "room::part"]
        );
    }
    assert!(circles(&[part, ("room::other", "use super::third::Third;")]).is_empty());
    let child = [
        ("room", "mod part; use part::Part;"),
        ("room::part", "use super::Other;"),
    ];
    assert_eq!(circles(&child), ["room", "room::part"]);
}
