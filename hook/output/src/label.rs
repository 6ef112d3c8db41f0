//! Labels as text.

use ckpt_schema::report::{LabelAction, LabelEntry, LabelledKind, LabelsReport};

use ckpt_store::model::number::count;

use super::View;
use super::table::Table;
use super::text::{safe, short, title};

/// Returns the labels, or what was done to one.
pub fn render(report: &LabelsReport, view: &View) -> String {
    let what = |entry: &LabelEntry| {
        let id = view.paint.id(&short(&entry.id));
        let label = format!("“{}”", view.paint.strong(&safe(&entry.label)));
        (format!("{} {id}", entry.kind.name()), label)
    };
    match (report.action, report.labels.first()) {
        (LabelAction::Listed, _) => list(&report.labels, view),
        (LabelAction::Added, Some(entry)) => {
            let (thing, label) = what(entry);
            format!("The {thing} is labelled {label}.\n")
        }
        (LabelAction::Unchanged, Some(entry)) => {
            let (thing, label) = what(entry);
            format!("The {thing} is already labelled {label}.\n")
        }
        (LabelAction::Deleted, Some(entry)) => {
            let (thing, label) = what(entry);
            format!("The {thing} is no longer labelled {label}.\n")
        }
        (LabelAction::Deleted, None) => "The label is gone.\n".to_owned(),
        (LabelAction::Added | LabelAction::Unchanged, None) => "The label is there.\n".to_owned(),
    }
}

fn list(labels: &[LabelEntry], view: &View) -> String {
    let mut table = Table::new(&[]).dropping(&[3, 2]);
    for entry in labels {
        let of = match entry.kind {
            LabelledKind::Message => title(entry.prompt.as_deref()),
            LabelledKind::Snapshot => view.paint.faint("a snapshot"),
        };
        table.row(vec![
            view.paint.strong(&safe(&entry.label)),
            view.paint.id(&short(&entry.id)),
            view.paint.faint(&view.times.ago(entry.of)),
            of,
        ]);
    }
    let number = count(labels.len() as u64, "label");
    format!("{}{number}\n", table.render(view))
}
