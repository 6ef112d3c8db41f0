//! The histories of directories, and which of them a directory has now.

use ckpt_schema::report::{AdoptReport, WorkspaceReport, WorkspaceState, WorkspacesReport};
use ckpt_store::model::number::count;

use super::View;
use super::paint::Paint;
use super::table::Table;
use super::text::{safe, short};

/// Returns one row per workspace.
pub fn list(report: &WorkspacesReport, view: &View) -> String {
    if report.workspaces.is_empty() {
        return "Nothing has been recorded yet.\n".to_owned();
    }
    let paint = view.paint;
    let mut table = Table::new(&[3]).dropping(&[3, 1]);
    let heads = ["workspace", "used", "directory", "messages"].map(|name| paint.faint(name));
    table.row(heads.into_iter().chain(["path".to_owned()]).collect());
    for workspace in &report.workspaces {
        table.row(vec![
            paint.id(&short(&workspace.id)),
            view.times.ago(workspace.used_at),
            state(workspace.state, paint),
            workspace.messages.to_string(),
            safe(&workspace.path).into_owned(),
        ]);
    }
    table.render(view)
}

fn state(state: WorkspaceState, paint: Paint) -> String {
    match state {
        WorkspaceState::Here => "here".to_owned(),
        WorkspaceState::Replaced => paint.warning("replaced"),
        WorkspaceState::Gone => paint.warning("gone"),
    }
}

/// Returns what was adopted.
pub fn adopt(report: &AdoptReport, view: &View) -> String {
    let paint = view.paint;
    let head = if report.dry_run {
        paint.faint("dry run: ")
    } else {
        paint.good("✓ ")
    };
    let verb = if report.dry_run { "would go" } else { "goes" };
    let mut text = format!(
        "{head}{} {verb} on with the history of {}\n",
        paint.strong(&safe(&report.workspace)),
        history(&report.adopted, view),
    );
    if let Some(aside) = &report.set_aside {
        let verb = if report.dry_run { "would be" } else { "is" };
        text.push_str(&format!(
            "Its own history {verb} set aside: {}; `ckpt-hook workspace adopt {}` takes it over again.\n",
            history(aside, view),
            short(&aside.id),
        ));
    }
    text
}

/// Describes a history in a few words.
pub fn history(workspace: &WorkspaceReport, view: &View) -> String {
    format!(
        "{} (`{}`, {}, used {})",
        view.paint.id(&short(&workspace.id)),
        safe(&workspace.path),
        count(workspace.messages, "message"),
        view.times.ago(workspace.used_at),
    )
}
