//! Files that are gone, and whose change removed them.

use ckpt_schema::report::{GoneReport, RecoverReport, RootGone, TakenBy};

use ckpt_store::model::number::count;

use super::View;
use super::table::Table;
use super::text::{path, safe, short, title};

/// How many files are listed by default, and how many roots that are away.
const LISTED: usize = 50;
const LISTED_AWAY: usize = 3;

/// Returns one row per file, and whose change removed it, and their number.
pub fn list(report: &RecoverReport, view: &View) -> String {
    let others: usize = report.roots.iter().map(|root| root.files.len()).sum();
    let number = report.files.len() + others;
    let shown = if view.verbose {
        report.away.len()
    } else {
        LISTED_AWAY
    };
    let named = report.away.iter().take(shown).map(|root| safe(root));
    let mut away: Vec<String> = named.map(Into::into).collect();
    if report.away.len() > shown {
        away.push(format!("{} more", report.away.len() - shown));
    }
    let away = match away.is_empty() {
        true => String::new(),
        false => format!(
            "Not looked at, because it is not there now: {}\n",
            away.join(", ")
        ),
    };
    if number == 0 {
        return format!("No captured file is gone.\n{away}");
    }
    format!(
        "{}{}\n{away}",
        rows(report, view),
        count(number as u64, "file")
    )
}

/// Returns one row per file, and whose change removed it; those of other roots below the names of these.
pub fn rows(report: &RecoverReport, view: &View) -> String {
    let of_root = |root: &RootGone| {
        let name = view.paint.strong(&safe(&root.workspace));
        format!("{name}\n{}", rows_of(&root.files, view))
    };
    let others: String = report.roots.iter().map(of_root).collect();
    rows_of(&report.files, view) + &others
}

fn rows_of(files: &[GoneReport], view: &View) -> String {
    let shown = if view.verbose { files.len() } else { LISTED };
    let mut table = Table::new(&[]).dropping(&[1]);
    let files_shown = &files[..shown.min(files.len())];
    for group in files_shown.chunk_by(|one, other| {
        folder_renamed(one) == folder_renamed(other) && folder_renamed(one).is_some()
    }) {
        let name = match (folder_renamed(&group[0]), group.len()) {
            (Some((from, to, ..)), 2..) => {
                let number = count(group.len() as u64, "file");
                format!("{number} {}/ → {}/", safe(from), safe(to))
            }
            _ => name(&group[0]),
        };
        table.row(vec![name, when(&group[0], view), taken(&group[0], view)]);
    }
    let mut text = table.render(view);
    if files.len() > shown {
        text.push_str(&format!("… {} more; -v lists all\n", files.len() - shown));
    }
    text
}

/// Returns the name of a file: with its new one, if it was renamed.
fn name(gone: &GoneReport) -> String {
    match &gone.renamed_to {
        Some(to) => format!("{} → {}", path(&gone.path), path(to)),
        None => path(&gone.path),
    }
}

/// Returns the folders between which a file moved under its name, and in what; `None` if it did not move so. Files with the
/// same are one row.
fn folder_renamed(gone: &GoneReport) -> Option<(&str, &str, Option<&str>, Option<&str>)> {
    let (from, name) = gone.path.path.rsplit_once('/')?;
    let (to, new_name) = gone.renamed_to.as_ref()?.path.rsplit_once('/')?;
    let (message, operation) = (gone.message.as_deref(), gone.operation.as_deref());
    (name == new_name).then_some((from, to, message, operation))
}

/// Returns a file as one line to choose from.
pub fn line(gone: &GoneReport, view: &View) -> String {
    format!(
        "{}  {}  {}",
        name(gone),
        when(gone, view),
        taken(gone, view)
    )
}

fn when(gone: &GoneReport, view: &View) -> String {
    let when = gone.time.map_or_else(
        || "not captured yet".to_owned(),
        |time| view.times.ago(time),
    );
    view.paint.faint(&when)
}

/// Returns the message in which a file went.
fn message(gone: &GoneReport, view: &View) -> String {
    let id = gone.message.as_deref().map(short).unwrap_or_default();
    let agent = gone.agent.as_deref().map(safe).unwrap_or_default();
    let title = title(gone.prompt.as_deref());
    format!("{} {agent} “{title}”", view.paint.id(&id))
}

fn taken(gone: &GoneReport, view: &View) -> String {
    let lost = if gone.blob.is_none() {
        format!(" ({})", view.paint.bad("its bytes are not stored"))
    } else {
        String::new()
    };
    let by = match gone.by {
        TakenBy::Agent => message(gone, view),
        TakenBy::Shared => format!("{}, or another session", message(gone, view)),
        TakenBy::Unclear => format!("{}, or you", message(gone, view)),
        TakenBy::Outside | TakenBy::Uncaptured => "you, or another program".to_owned(),
        TakenBy::Operation => {
            let id = gone.operation.as_deref().map(short).unwrap_or_default();
            format!("operation {}", view.paint.id(&id))
        }
    };
    by + &lost
}
