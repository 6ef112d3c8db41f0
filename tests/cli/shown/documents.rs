//! Every command line that is shown prints, with `--json`, one document that is what its schema says, today's and that of the first
//! version; and no report is one that none of them prints.

use std::collections::BTreeSet;

use ckpt_schema::documents;
use serde_json::Value;
use testing::binary::Sandbox;

use super::forms::{CHANGING, LOOKING};
use super::{Shown, file_of, on_a_pipe, world};
use crate::schema::check;
use crate::workspace::replaced;

/// What prints no document, even if that is asked for. A word that is no command is a hook's call on a pipe, which is silent.
/// `acp` prints what the agent prints, and `run` says on stderr what a shell says of a program that is not there. A query in SQL is no document.
fn has_none(form: &str) -> bool {
    form.starts_with("demo")
        || ["other", "acp"].contains(&file_of(form))
        || ["run -- no-such-program", "log --sql"].contains(&form)
}

/// Returns the reports that a command line may print where it does what it should.
fn reports(form: &str) -> &'static [&'static str] {
    let has = |option: &str| form.split(' ').any(|word| word == option);
    match file_of(form) {
        "log" if has("--graph") => &["report-timeline"],
        "log" if has("--snapshots") => &["report-snapshots"],
        "log" if has("--operations") => &["report-operations"],
        "log" => &["report-log"],
        "sessions" => &["report-sessions"],
        "export" => &["report-export"],
        "status" => &["report-status"],
        "show" => &["report-show"],
        "diff" => &["report-diff"],
        "blame" => &["report-blame"],
        "cat" => &["report-cat"],
        "branch" => &["report-branch"],
        "bisect" => &["report-bisect"],
        "push" => &["report-push"],
        "fetch" => &["report-fetch"],
        "recover" => &["report-recover"],
        "label" => &["report-label"],
        "du" => &["report-du"],
        "doctor" => &["report-doctor"],
        "workspace" if has("adopt") => &["report-adopt"],
        "workspace" => &["report-workspaces"],
        "config" if has("set") || has("unset") => &["report-config-change"],
        "config" => &["report-config"],
        "gc" => &["report-gc"],
        "forget" => &["report-forget"],
        "install" | "uninstall" if has("--list") => &["report-agents"],
        "install" => &["report-install"],
        "uninstall" => &["report-install", "report-forget"],
        "revert" | "undo" | "redo" | "unrevert" | "restore" => &["report-operation"],
        "inside" if has("status") => &["report-status"],
        "inside" => &["report-operation"],
        "snapshot" => &["report-snapshot"],
        "run" | "message" | "step-start" | "step-finish" => &["report-event"],
        "page" => &["report-page"],
        _ => &[],
    }
}

/// Checks what a command line printed. Returns the name of its document, or what was printed instead of one.
fn checked(world: &Sandbox, shown: &Shown) -> Result<String, String> {
    let text = String::from_utf8_lossy(&shown.bytes);
    let document: Value = serde_json::from_str(&text)
        .map_err(|error| format!("`{}`: {error}: {text}", shown.form))?;
    if document.get("error").is_some() {
        check(world, "report-error", &document);
        let code = document["error"]["code"].to_string();
        // An agent would take any other code of `inside` for a failure of its own shell.
        if code != shown.code && file_of(shown.form) != "inside" {
            return Err(format!(
                "`{}` exits with {}: {text}",
                shown.form, shown.code
            ));
        }
        return Ok("report-error".to_owned());
    }
    let all: Value = serde_json::from_str(documents::ALL).expect("a schema is JSON");
    let names = reports(shown.form);
    let is_it = |name: &&&str| {
        let schema = documents::document(&all, name).expect("there is such a document");
        jsonschema::is_valid(&schema, &document)
    };
    let name = names.iter().find(is_it).or_else(|| names.last());
    let name = name.ok_or_else(|| format!("`{}` prints what nobody names", shown.form))?;
    check(world, name, &document);
    Ok((*name).to_owned())
}

/// Every command line prints a document that is what its schema says.
#[test]
fn every_command_line_prints_its_document() {
    let (mut printed, mut wrong) = (BTreeSet::new(), Vec::new());
    let looking = [LOOKING, &["page --no-open --port 0 --idle 1s"]].concat();
    let all: [(_, fn() -> Sandbox); 4] = [
        (&looking[..], world::world),
        (&["cat m2:text"], world::world),
        (CHANGING, world::world),
        (&["workspace adopt --dry-run"], replaced),
    ];
    for (forms, world) in all {
        let world = world();
        let forms: Vec<&'static str> = forms
            .iter()
            .copied()
            .filter(|form| !has_none(form))
            .collect();
        for shown in on_a_pipe(&world, &forms, "--json ") {
            match checked(&world, &shown) {
                Ok(name) => drop(printed.insert(name)),
                Err(problem) => wrong.push(problem),
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    let all: Value = serde_json::from_str(documents::ALL).expect("a schema is JSON");
    let reports = documents::names(&all).into_iter();
    let missing: Vec<&str> = reports
        .filter(|name| name.starts_with("report-") && !printed.contains(*name))
        .collect();
    assert_eq!(missing, [] as [&str; 0], "nothing prints these");
}
