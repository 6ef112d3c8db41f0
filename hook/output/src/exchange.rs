//! What goes to other machines and comes from them, as text.

use std::fmt::Write;

use bytesize::ByteSize;
use ckpt_schema::report::{FetchReport, PathText, PushReport};
use ckpt_store::model::number::count;

use super::View;
use super::table::Table;
use super::text::{path, safe, short};

/// How many paths are named.
const NAMED: usize = 10;

/// Renders a push, or the dry run of one.
pub fn push(report: &PushReport, is_planned: bool, view: &View) -> String {
    let remote = view.paint.strong(&safe(&report.remote));
    if !is_planned && !report.pushed {
        return format!("Everything is at {remote} already.\n");
    }
    let head = match is_planned {
        true => "Would send to",
        false => "Sent to",
    };
    let mut text = format!(
        "{head} {remote} as {}: {}, {}, {}, {}.\n",
        view.paint
            .strong(&format!("{}/{}", safe(&report.name), safe(&report.machine))),
        count(report.messages, "message"),
        count(report.snapshots, "snapshot"),
        count(report.changes, "change"),
        ByteSize(report.bytes)
    );
    // Writing to a string cannot fail, here and below.
    if report.anew {
        let replaces = match is_planned {
            true => "This would replace",
            false => "This replaced",
        };
        let _ = writeln!(
            text,
            "{replaces} all that was there. The server may keep the old objects until `git gc --prune=now` runs there."
        );
    }
    if let Some(former) = &report.former {
        let removed = match is_planned {
            true => "is removed there",
            false => "was removed there",
        };
        let former = view
            .paint
            .strong(&format!("{}/{}", safe(former), safe(&report.machine)));
        let _ = writeln!(text, "What was called {former} {removed}.");
    }
    if report.pruned > 0 {
        let snapshots = count(report.pruned, "snapshot");
        let _ = writeln!(
            text,
            "It still has {snapshots} pruned here, until they are the larger part."
        );
    }
    let ignored = match report.keys.len() as u64 {
        0 => "Ignored files, which are not sent",
        keys => {
            let _ = writeln!(text, "Encrypted for {}.", count(keys, "key"));
            "Ignored files, which go along"
        }
    };
    named(&mut text, ignored, &report.ignored);
    named(
        &mut text,
        "Files that look as if they held a secret",
        &report.secrets,
    );
    if report.secret_prompts > 0 {
        let messages = count(report.secret_prompts, "prompt or command");
        let _ = writeln!(text, "The text of {messages} looks as if it held a secret.");
    }
    text
}

fn named(text: &mut String, head: &str, paths: &[PathText]) {
    if paths.is_empty() {
        return;
    }
    let _ = writeln!(text, "{head}: {}", paths.len());
    for one in paths.iter().take(NAMED) {
        let _ = writeln!(text, "  {}", path(one));
    }
    if paths.len() > NAMED {
        let _ = writeln!(text, "  and {} more", paths.len() - NAMED);
    }
}

/// Returns the machines whose histories are here.
pub fn fetch(report: &FetchReport, view: &View) -> String {
    let remote = view.paint.strong(&safe(&report.remote));
    if report.machines.is_empty() {
        return format!(
            "No other machine has pushed `{}` to {remote}.\n",
            safe(&report.name)
        );
    }
    let mut table = Table::new(&[1, 2]);
    for machine in &report.machines {
        let came = match (machine.adopted, machine.pushes) {
            (true, _) => "adopted here, what came later is left out".to_owned(),
            (false, 0) => view.paint.faint("nothing new"),
            (false, pushes) => count(pushes, "push"),
        };
        table.row(vec![
            view.paint.strong(&safe(&machine.machine)),
            count(machine.messages, "message"),
            came,
            view.paint.id(&short(&machine.id)),
        ]);
    }
    let first = safe(&report.machines[0].machine);
    format!(
        "{}`ckpt-hook --machine {first} log` shows what is there.\n",
        table.render(view)
    )
}
