//! The histories of directories, and which of them a directory has now.

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::{
    AdoptReport, MessageReport, WorkspaceReport, WorkspaceState, WorkspacesReport,
};
use ckpt_store::model::number::{count, grouped};

use super::View;
use super::paint::Paint;
use super::table::Table;
use super::text::{fit_end, safe, short, width};

/// What workspaces are called in a list of entries of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceNames(BTreeMap<String, String>);

impl WorkspaceNames {
    /// Returns their paths, or on a terminal that has no room for these, of each as much of its end as tells it from
    /// the others.
    fn of<'a>(paths: impl Iterator<Item = &'a str>, view: &View) -> Self {
        let paths: BTreeSet<&str> = paths.collect();
        // The prompt has half of the terminal, and other columns are needed, too.
        let most = view.width.map(|columns| columns / 5);
        let has_room = |path: &&str| most.is_none_or(|most| width(&safe(path)) <= most);
        let is_whole = paths.iter().all(has_room);
        let name = |path: &str| match most {
            Some(most) if !is_whole => {
                let end = safe(end(path, &paths)).into_owned();
                fit_end(&format!("…{end}"), most.max(MIN_PATH_WIDTH)).into_owned()
            }
            _ => safe(path).into_owned(),
        };
        Self(
            paths
                .iter()
                .map(|path| ((*path).to_owned(), name(path)))
                .collect(),
        )
    }

    /// Returns those of messages.
    pub fn of_messages(messages: &[MessageReport], view: &View) -> Self {
        Self::of(
            messages.iter().map(|message| message.workspace.as_str()),
            view,
        )
    }

    /// Returns the name of one.
    pub fn name(&self, path: &str) -> String {
        let name = self.0.get(path).cloned();
        name.unwrap_or_else(|| safe(path).into_owned())
    }
}

/// How many columns the end of a path has at least.
const MIN_PATH_WIDTH: usize = 16;

/// Returns the end of a path, from a slash on, that no other of these paths has.
fn end<'a>(path: &'a str, paths: &BTreeSet<&str>) -> &'a str {
    let ends = path.rmatch_indices('/').map(|(place, _)| &path[place..]);
    let is_only = |end: &&str| paths.iter().filter(|path| path.ends_with(end)).count() == 1;
    ends.into_iter().find(is_only).unwrap_or(path)
}

/// Returns one row per workspace.
pub fn list(report: &WorkspacesReport, view: &View) -> String {
    if report.workspaces.is_empty() {
        return "Nothing has been recorded yet.\n".to_owned();
    }
    let paint = view.paint;
    let mut table = Table::new(&[3]).dropping(&[3, 1, 2]).ending_with_path();
    let heads = ["workspace", "used", "directory", "messages"].map(|name| paint.faint(name));
    table.row(heads.into_iter().chain(["path".to_owned()]).collect());
    for workspace in &report.workspaces {
        table.row(vec![
            paint.id(&short(&workspace.id)),
            view.times.ago(workspace.used_at),
            state(workspace.state, paint),
            grouped(workspace.messages),
            place(workspace.machine.as_deref(), &workspace.path),
        ]);
    }
    let number = report.workspaces.len() as u64;
    format!("{}{}\n", table.render(view), count(number, "workspace"))
}

/// Returns the directory of a history, with the machine that it is on if that is another one.
pub(super) fn place(machine: Option<&str>, directory: &str) -> String {
    let on = machine.map(|machine| format!("{}:", safe(machine)));
    on.unwrap_or_default() + &safe(directory)
}

fn state(state: WorkspaceState, paint: Paint) -> String {
    match state {
        WorkspaceState::Here => "here".to_owned(),
        WorkspaceState::Replaced => paint.warning("replaced"),
        WorkspaceState::Gone => paint.warning("gone"),
    }
}

/// The report of an adoption.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::TimeContext;

    fn view(width: Option<usize>) -> View {
        View {
            paint: Paint::PLAIN,
            width,
            times: TimeContext {
                now: 0,
                offset: time::UtcOffset::UTC,
            },
            verbose: false,
        }
    }

    /// A path that does not fit keeps its end and the list its number.
    #[test]
    fn long_path_keeps_its_end() {
        let path = "/srv/code/a/long/way/down/project";
        let report = WorkspacesReport {
            version: 1,
            workspaces: vec![WorkspaceReport {
                id: "0123456789abcdef".to_owned(),
                path: path.to_owned(),
                state: WorkspaceState::Here,
                sessions: 1,
                messages: 2,
                used_at: 0,
                machine: None,
            }],
        };
        let text = list(&report, &view(Some(40)));
        assert!(
            text.contains("…") && text.contains("down/project\n"),
            "{text}"
        );
        assert!(text.ends_with("\n1 workspace\n"), "{text}");
    }

    fn named(columns: Option<usize>, paths: &[&str]) -> Vec<String> {
        let view = view(columns);
        let names = WorkspaceNames::of(paths.iter().copied(), &view);
        paths.iter().map(|path| names.name(path)).collect()
    }

    /// A workspace is called by as much of its path as there is room for.
    #[test]
    fn workspace_is_called_by_its_paths_end() {
        let paths = [
            "/home/ada/code/parser",
            "/home/ada/play/parser",
            "/home/ada/site",
        ];
        assert_eq!(named(None, &paths), paths, "whole on a pipe");
        assert_eq!(named(Some(200), &paths), paths, "and on a wide terminal");
        assert_eq!(
            named(Some(80), &paths),
            ["…/code/parser", "…/play/parser", "…/site"],
            "else by what tells it from the others"
        );
        assert_eq!(named(Some(80), &["/a", "/"]), ["/a", "/"], "short ones");
        assert_eq!(
            named(Some(40), &["/home/ada/a-very-long-name-of-a-project"]),
            ["…me-of-a-project"],
            "never wider than there is room"
        );
    }
}
