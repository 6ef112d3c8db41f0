//! The store's disk usage, what `gc` removed, and what is forgotten.

use bytesize::ByteSize;
use ckpt_schema::report::{
    DuReport, ForgetReport, ForgetWorkspace, GcReport, GcSession, GcWorkspace,
};
use ckpt_store::model::number::{count, grouped};
use ckpt_store::model::shell::quoted;

use super::View;
use super::table::Table;
use super::text::{safe, short};
use super::workspace::place;

/// The report of removed sessions and files, with the reasons.
pub fn gc(report: &GcReport, view: &View) -> String {
    let paint = view.paint;
    let going: Vec<&GcSession> = report
        .sessions
        .iter()
        .filter(|session| session.goes)
        .collect();
    let mut text = String::new();
    if !going.is_empty() || report.dry_run {
        text.push_str(&sessions(report, &going, view));
    }
    for workspace in &report.workspaces {
        text.push_str(&about(workspace, report.dry_run, view));
    }
    if report.sessions.iter().any(|one| one.reason == "clock") {
        text.push_str(
            "The clock and the time for which this machine has run do not agree since an earlier run, so nothing counts as \
             older than the time since then. If the clock is right, `ckpt-hook gc --keep \"30 days\"` goes by it.\n",
        );
    }
    let pruned: usize = report
        .workspaces
        .iter()
        .map(|workspace| workspace.pruned)
        .sum();
    let what = match pruned {
        0 => "nothing".to_owned(),
        pruned => count(pruned as u64, "snapshot"),
    };
    let (before, after) = (ByteSize(report.bytes_before), ByteSize(report.bytes_after));
    text + &if report.dry_run {
        format!(
            "Nothing was changed. `ckpt-hook gc` would prune {what}: the store takes {before} now, and about {after} \
             afterwards.\n"
        )
    } else {
        let good = paint.good("✓");
        format!("{good} Pruned {what}. The store takes {after}; before, it took {before}.\n")
    }
}

fn sessions(report: &GcReport, going: &[&GcSession], view: &View) -> String {
    let paint = view.paint;
    let shown: Vec<&GcSession> = if report.dry_run {
        report.sessions.iter().collect()
    } else {
        going.to_vec()
    };
    if shown.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[3]).dropping(&[2, 3, 1]).ending_with_path();
    for session in shown {
        let what = if session.goes {
            paint.warning("goes")
        } else {
            paint.faint("stays")
        };
        let bytes = session.bytes.map(|bytes| ByteSize(bytes).to_string());
        table.row(vec![
            paint.id(&short(&session.session)),
            what,
            why(&session.reason).to_owned(),
            bytes.unwrap_or_default(),
            view.times.ago(session.used_at),
            safe(&session.workspace).into_owned(),
        ]);
    }
    table.render(view) + "\n"
}

/// Returns a reason in words.
fn why(reason: &str) -> &str {
    match reason {
        "unused" => "not used for longer than `keep`",
        "size" => "the store is larger than `max_store_size`",
        "recent" => "used since `keep`",
        "open" => "it is open",
        "reverted" => "it is reverted",
        "operation" => "an operation is not finished",
        "label" => "it has a label",
        "young" => "younger than a day",
        other => other,
    }
}

fn about(workspace: &GcWorkspace, dry_run: bool, view: &View) -> String {
    let name = safe(&workspace.workspace);
    if let Some(why) = &workspace.skipped {
        return format!(
            "{} {name}: left as it is: {}\n",
            view.paint.warning("!"),
            safe(why)
        );
    }
    if workspace.removed {
        let goes = if dry_run { "would go" } else { "went" };
        return format!("{name}: its directory is gone, and its snapshots {goes} with it\n");
    }
    String::new()
}

/// Returns the store's disk usage.
pub fn du(report: &DuReport, view: &View) -> String {
    let paint = view.paint;
    let mut table = Table::new(&[0]);
    for (bytes, what) in [
        (report.objects, "snapshots"),
        (report.database, "session store"),
        (report.caches, "caches"),
        (report.other, "the rest"),
    ] {
        table.row(vec![ByteSize(bytes).to_string(), what.to_owned()]);
    }
    table.row(vec![
        paint.strong(&ByteSize(report.bytes).to_string()),
        format!("altogether, in {}", count(report.files, "file")),
    ]);
    let mut text = table.render(view);
    if report.shared > 0 {
        text.push_str(&format!(
            "{} more are shared with your repository by links: they take no extra space.\n",
            ByteSize(report.shared)
        ));
    }
    if report.reclaimable > 0 {
        text.push_str(&format!(
            "`ckpt-hook gc` frees about {}.\n",
            ByteSize(report.reclaimable)
        ));
    }
    for one in &report.unmeasured {
        text.push_str(&format!(
            "{} {}: not measured: {}\n",
            paint.warning("!"),
            safe(&one.workspace),
            safe(&one.reason)
        ));
    }
    if report.rows.is_empty() {
        return text;
    }
    let mut table = Table::new(&[0, 1]).ending_with_path();
    table.row(vec![
        paint.faint("size"),
        paint.faint("snapshots"),
        report.by.clone(),
    ]);
    for row in &report.rows {
        let name = match (&row.name, report.by.as_str()) {
            (Some(id), "session" | "message") => short(id),
            (Some(name), _) => safe(name).into_owned(),
            (None, _) => "outside of sessions".to_owned(),
        };
        table.row(vec![
            ByteSize(row.bytes).to_string(),
            grouped(row.snapshots),
            name,
        ]);
    }
    text + "\n" + &table.render(view)
}

/// How many files are named without `--verbose`.
const NAMED: usize = 20;

/// Returns the numbers of a workspace's rows and objects that are forgotten.
fn what_goes(of: &ForgetWorkspace) -> String {
    let (snapshots, prompts) = (count(of.snapshots, "snapshot"), count(of.prompts, "prompt"));
    if of.removed {
        return format!("its whole history, {snapshots} and {prompts}");
    }
    let stay = match of.snapshots {
        1 => "which stays",
        _ => "which stay",
    };
    let paths = count(of.files.len() as u64, "path");
    let paths = (of.snapshots > 0).then(|| format!("{paths} from {snapshots}, {stay}"));
    let prompts = (of.prompts > 0).then_some(prompts);
    let parts: Vec<String> = [prompts, paths].into_iter().flatten().collect();
    match parts.is_empty() {
        true => "only names of files".to_owned(),
        false => parts.join(", and "),
    }
}

/// The report of a `forget`.
pub fn forget(report: &ForgetReport, view: &View) -> String {
    let mut text = String::new();
    for workspace in &report.workspaces {
        let name = place(workspace.machine.as_deref(), &workspace.workspace);
        text.push_str(&format!("{name}: {}\n", what_goes(workspace)));
        if workspace.busy {
            text.push_str(&format!(
                "  {} an agent or an operation is at work here, and this would be refused: try again when it has ended.\n",
                view.paint.warning("busy:")
            ));
        }
        let shown = if view.verbose { usize::MAX } else { NAMED };
        for file in workspace.files.iter().take(shown) {
            text.push_str(&format!("  {}\n", safe(&file.path)));
        }
        let more = workspace.files.len().saturating_sub(shown);
        if more > 0 {
            text.push_str(&format!("  and {more} more (--verbose)\n"));
        }
        for remote in &workspace.remotes {
            let (address, name) = (safe(&remote.address), safe(&remote.name));
            let until = match workspace.removed {
                true => format!("until `refs/ckpt-hook/{name}/*` is removed there"),
                false => format!("until the next `ckpt-hook push {}`", quoted(&address)),
            };
            text.push_str(&format!("  {address} still has it, {until}\n"));
        }
    }
    for copy in &report.copies {
        text.push_str(&format!("{}, an old session store\n", safe(copy)));
    }
    text + &if report.dry_run {
        "This is a plan; nothing was removed from the store.\n".to_owned()
    } else {
        format!(
            "{} Forgotten. The store takes {}; before, it took {}.\n",
            view.paint.good("✓"),
            ByteSize(report.bytes_after),
            ByteSize(report.bytes_before)
        )
    }
}
