//! The selected entry in full: what stands above its files.

use std::collections::BTreeSet;

use ckpt_schema::report::{MessageReport, OperationEntry, ShowReport, StepReport, TimelineEntry};
use ckpt_store::model::number::count;

use ckpt_output::View;
use ckpt_output::history;
use ckpt_output::show::took;
use ckpt_output::text::{safe, short, with_ids_shortened, wrap};

/// An entry in full.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// What the user wrote, or what was done.
    pub words: String,
    /// The facts, a paragraph each, with colours.
    pub facts: Vec<String>,
}

impl About {
    /// Describes an entry; `report` is what the store knows of it.
    pub fn of(entry: &TimelineEntry, report: Option<&ShowReport>, view: &View) -> Self {
        match (entry, report) {
            (_, Some(ShowReport::Message { message, steps, .. })) => {
                of_message(message, steps, view)
            }
            (TimelineEntry::Message(message), _) => of_message(message, &[], view),
            (TimelineEntry::Operation(operation), report) => {
                let notes = match report {
                    Some(ShowReport::Operation { notes, .. }) => notes.as_slice(),
                    _ => &[],
                };
                of_operation(operation, notes, view)
            }
            (TimelineEntry::Outside { time, .. }, _) => Self {
                words: "Changed outside: by you, or by a program that sends no events".to_owned(),
                facts: vec![view.paint.faint(&when(*time, view))],
            },
        }
    }

    /// Returns its lines, as many as there may be. Of a long prompt the beginning is shown.
    pub fn lines(&self, columns: usize, most: usize, view: &View) -> Vec<String> {
        let lines = |text: &str, indent| -> Vec<String> {
            let wrapped = wrap(text, columns.saturating_sub(2).max(2), indent);
            wrapped.lines().map(str::to_owned).collect()
        };
        let facts: Vec<String> = self.facts.iter().flat_map(|fact| lines(fact, 2)).collect();
        let mut words = lines(&self.words, 0);
        let room = most.saturating_sub(facts.len()).max(1);
        if words.len() > room {
            words.truncate(room);
            let rest = view.paint.faint("  … i shows all of it");
            match words.last_mut() {
                Some(last) if room == 1 => {
                    *last = format!(
                        "{}{rest}",
                        ckpt_output::text::fit(last, columns.saturating_sub(23))
                    )
                }
                Some(last) => *last = rest,
                None => {}
            }
        }
        words.extend(facts);
        words.truncate(most);
        // As the rows below it, which have room for a cursor.
        words.iter().map(|line| format!("  {line}")).collect()
    }
}

fn when(time: i64, view: &View) -> String {
    let (ago, exact) = (view.times.ago(time), view.times.exact(time));
    match exact.starts_with(&ago) {
        true => exact,
        false => format!("{ago} ({exact})"),
    }
}

fn of_message(message: &MessageReport, steps: &[StepReport], view: &View) -> About {
    let paint = view.paint;
    let tools: BTreeSet<&str> = steps
        .iter()
        .flat_map(|step| &step.tools)
        .map(String::as_str)
        .collect();
    let tools: Vec<_> = tools.into_iter().map(safe).collect();
    let number = count(message.steps, "step");
    let steps_of = match tools.is_empty() {
        true => number,
        false => format!("{number}: {}", tools.join(", ")),
    };
    let facts = [
        Some(safe(&message.agent).into_owned()),
        Some(when(message.time, view)),
        took(message.time, steps).map(|took| format!("took {took}")),
        Some(steps_of),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    let state = match history::state_unless_live(message, paint) {
        usual if usual.is_empty() => history::state(message, paint),
        state => state,
    };
    let ids = format!(
        "{} of session {}",
        paint.id(&short(&message.id)),
        paint.id(&short(&message.session))
    );
    let labels = message
        .labels
        .iter()
        .map(|label| format!(" · {}", paint.good(&format!("[{}]", safe(label)))));
    let mut facts = vec![
        facts.join(" · "),
        format!("{state} · {ids}{}", labels.collect::<String>()),
    ];
    facts.extend(message.roots.iter().map(|root| {
        let changed = count(root.files, "file");
        format!("{changed} in {}", safe(&root.workspace))
    }));
    facts.extend(
        message
            .unprotected
            .as_deref()
            .map(|why| paint.bad(&format!("unprotected: {}", safe(why)))),
    );
    let prompt = message.prompt.as_deref().map(str::trim);
    let words = match prompt {
        None => "(the prompt is not stored)".to_owned(),
        Some("") => "(no text)".to_owned(),
        Some(prompt) => prompt.lines().map(safe).collect::<Vec<_>>().join("\n"),
    };
    About { words, facts }
}

fn of_operation(operation: &OperationEntry, notes: &[String], view: &View) -> About {
    let paint = view.paint;
    let id = |id: &String| paint.id(&short(id));
    let to = match (&operation.alone, &operation.part, &operation.message) {
        (Some(alone), ..) => format!(" of {} alone", id(alone)),
        (None, Some(part), _) => format!(" of a part, since {}", id(part)),
        (None, None, Some(message)) => format!(" to just before {}", id(message)),
        (None, None, None) => String::new(),
    };
    let facts = [
        when(operation.time, view),
        history::outcome(operation, paint),
        count(operation.files, "file"),
        id(&operation.id),
    ];
    let mut facts = vec![facts.join(" · ")];
    facts.extend(notes.iter().map(|note| {
        format!(
            "{} {}",
            paint.warning("note:"),
            safe(&with_ids_shortened(note))
        )
    }));
    About {
        words: format!("{}{to}", history::kind(operation, paint)),
        facts,
    }
}
