//! What an operation leaves as it is, by kind: the sentence, and the way out. Every surface shows these, each with its
//! own button or command for the way. Pure.

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::{
    AuthorKind, AuthorReport, Difference, DifferenceReason, FileAction, FileReport, FileResult,
    KeptKind, KeptReport, OperationKind, PathText, PlanChoice, ReasonCode, Receipt, WayOut,
    WayParameters,
};

use crate::model::entry::is_unstored;
use crate::model::id::name_beside;
use crate::model::item::{Item, ReasonCase};
use crate::model::path::WorkspacePath;
use crate::model::request::{OnConflict, Unclear};
use crate::revert::plan::operation::Operation;
use crate::revert::request::author::OWN_SESSION;
use crate::revert::request::movement::Movement;
use crate::revert::request::scope::Part;

/// Returns the items that stay, and those that differ because another message changed them.
pub(super) fn kept(
    operation: &Operation<'_>,
    all_items: &[Item],
    receipt: Option<&Receipt>,
) -> Vec<KeptReport> {
    // What would be removed is told apart from what would be put back, and what can be overwritten from what cannot.
    let mut groups: BTreeMap<(KeptKind, String, Option<bool>), Vec<&Item>> = BTreeMap::new();
    for item in all_items {
        if let Some(kind) = kind(item) {
            let earlier = operation.plan.earlier.get(&item.path);
            let is_removed = match kind {
                KeptKind::Database => Some(earlier.is_some()),
                KeptKind::Blocked => Some(item.reason.iter().any(|reason| !reason.by.is_empty())),
                // Only overwriting leads back, and only where it has something to put there.
                KeptKind::NotCaptured if is_closed(operation, item) => Some(false),
                KeptKind::NotCaptured | KeptKind::Forgotten => earlier.map(Option::is_none),
                _ => Some(is_removed(operation, item)),
            };
            groups
                .entry((kind, why(operation, kind, item), is_removed))
                .or_default()
                .push(item);
        }
    }
    let group = |((kind, why, is_removed), items): ((_, _, Option<bool>), Vec<&Item>)| KeptReport {
        kind,
        way: is_removed.and_then(|is_removed| {
            way(
                operation,
                kind,
                is_removed,
                &items,
                asked_for(&items, all_items),
            )
        }),
        paths: items.iter().map(|item| item.path.to_report()).collect(),
        why,
    };
    let mut all: Vec<KeptReport> = groups.into_iter().map(group).collect();
    let told: BTreeSet<&PathText> = all.iter().flat_map(|kept| &kept.paths).collect();
    let others = receipt
        .map(|receipt| others(operation, receipt, &told))
        .unwrap_or_default();
    all.extend(others);
    all
}

/// Adds to each file how else it can be planned.
pub(super) fn add_choices(files: &mut [FileReport], kept: &[KeptReport]) {
    let of = |kept: &KeptReport| {
        let way = kept.way.as_ref()?;
        Some(match kept.kind {
            _ if way.first.is_some() => PlanChoice::Again,
            KeptKind::Yours
            | KeptKind::Conflict
            | KeptKind::OtherAgent
            | KeptKind::NotCaptured
            | KeptKind::Forgotten => PlanChoice::Overwrite,
            KeptKind::Moved => PlanChoice::Again,
            // The other message's is no file of this plan.
            KeptKind::OtherMessage => return None,
            _ => PlanChoice::Take,
        })
    };
    let kept = kept.iter().filter_map(|kept| Some((of(kept)?, kept)));
    let paths = kept.flat_map(|(choice, kept)| kept.paths.iter().map(move |path| (path, choice)));
    let by_path: BTreeMap<&PathText, PlanChoice> = paths.collect();
    for file in files {
        file.choices.extend(by_path.get(&file.path));
        let is_agreed = file.reason_code == Some(ReasonCode::Yours);
        let may_stay = file.action == FileAction::Merge || is_agreed;
        if may_stay && file.result == FileResult::Planned {
            file.choices.push(PlanChoice::Keep);
        }
    }
}

/// Returns whether overwriting would leave nothing at the path of an item that stays.
fn is_removed(operation: &Operation<'_>, item: &Item) -> bool {
    match operation.plan.earlier.get(&item.path) {
        Some(earlier) => earlier.is_none(),
        None => item.code() == Some(ReasonCode::Edited),
    }
}

/// Returns whether what is at the path of an item cannot be read, and so is not overwritten.
fn is_closed(operation: &Operation<'_>, item: &Item) -> bool {
    is_unstored(item.expected) && !operation.plan.earlier.contains_key(&item.path)
}

/// Returns why a file stays, wholly or in part; `None` if it does not. What failed is tried again by itself.
fn kind(item: &Item) -> Option<KeptKind> {
    let stays = matches!(item.result, FileResult::Conflict | FileResult::Gap);
    let is_in_part = item.action != FileAction::None && !item.is_remarked();
    let reason = item.reason.as_ref().filter(|_| stays || is_in_part)?;
    let is_agents = reason.by.iter().any(|by| by.kind == AuthorKind::Agent);
    Some(match reason.code? {
        ReasonCode::Yours => KeptKind::Yours,
        ReasonCode::Shared => KeptKind::Shared,
        ReasonCode::Unclear => KeptKind::Unclear,
        ReasonCode::Database => KeptKind::Database,
        ReasonCode::Blocked => KeptKind::Blocked,
        ReasonCode::Moved => KeptKind::Moved,
        ReasonCode::NotCaptured => KeptKind::NotCaptured,
        ReasonCode::Forgotten => KeptKind::Forgotten,
        ReasonCode::SameLines
        | ReasonCode::Binary
        | ReasonCode::TooLarge
        | ReasonCode::Permissions
        | ReasonCode::Type
        | ReasonCode::Symlink
        | ReasonCode::Edited
        | ReasonCode::Deleted
        | ReasonCode::Recreated
        | ReasonCode::Changed => match is_agents {
            true => KeptKind::OtherAgent,
            false => KeptKind::Conflict,
        },
        ReasonCode::Failed | ReasonCode::NotDone | ReasonCode::NotSynced | ReasonCode::NotKept => {
            return None;
        }
    })
}

/// Returns the name of an agent's session beside the one that asks.
fn name(operation: &Operation<'_>, by: &AuthorReport) -> Option<String> {
    let own = operation.movement.map(|movement| &movement.session);
    let (agent, session) = (by.agent.as_deref()?, by.session.as_deref()?);
    Some(match own {
        Some(own) if own.id == session => OWN_SESSION.to_owned(),
        Some(own) => name_beside(&own.agent, agent, session),
        None => agent.to_owned(),
    })
}

/// Returns the names of the agents that a reason names.
fn agents(operation: &Operation<'_>, item: &Item) -> String {
    let by = item.reason.iter().flat_map(|reason| &reason.by);
    let mut agents: Vec<String> = by.filter_map(|by| name(operation, by)).collect();
    agents.sort_unstable();
    agents.dedup();
    match agents.is_empty() {
        true => "another agent".to_owned(),
        false => agents.join(" and "),
    }
}

fn why(operation: &Operation<'_>, kind: KeptKind, item: &Item) -> String {
    match kind {
        KeptKind::Yours => match item.reason.iter().flat_map(|reason| &reason.by).next() {
            Some(by) if by.kind == AuthorKind::Unrecorded => {
                "perhaps yours: no record says who changed it since that state"
            }
            _ => "yours, changed since that state",
        }
        .to_owned(),
        KeptKind::Conflict => "changed since by you or another program".to_owned(),
        KeptKind::OtherAgent => format!("changed since by {}", agents(operation, item)),
        KeptKind::Shared => format!(
            "{} was at work as well, and may have made the change",
            agents(operation, item)
        ),
        KeptKind::Unclear => "it is unclear whose changes these are".to_owned(),
        KeptKind::Database | KeptKind::NotCaptured => match item.case() {
            Some(case) => case.in_words(),
            None => "a database goes back as a whole or not at all",
        }
        .to_owned(),
        KeptKind::Blocked => "something else that stays is in the way".to_owned(),
        KeptKind::Moved => match item.case() {
            Some(ReasonCase::Open) => "a program has it open for writing",
            _ => "changed at that very moment",
        }
        .to_owned(),
        KeptKind::Forgotten => "the content was removed from the store with `forget`".to_owned(),
        KeptKind::OtherMessage => "changed for another message".to_owned(),
    }
}

/// Returns the way out for what another message changed. A command could not name many files, so it takes all of them.
fn of_message(message: String, paths: &[PathText]) -> WayOut {
    let parameters = WayParameters {
        message: Some(message),
        ..WayParameters::of(OperationKind::Revert)
    };
    match paths.len() <= WayParameters::NAMED {
        true => plain(
            "takes that back",
            WayParameters {
                only: paths.to_vec(),
                ..parameters
            },
        ),
        false => plain(
            "takes that message back",
            WayParameters {
                alone: true,
                ..parameters
            },
        ),
    }
}

/// Returns the words for the effect of overwriting so many files.
fn put(is_removed: bool, files: usize) -> &'static str {
    match (is_removed, files) {
        (false, _) => "puts the earlier version there",
        (true, 1) => "removes it",
        (true, _) => "removes them",
    }
}

/// Returns the paths that ask for some items of an operation: the files, or the folders in which it has no others if a
/// command could not name so many files.
fn asked_for(items: &[&Item], all: &[Item]) -> Vec<PathText> {
    let files = items.iter().map(|item| &item.path);
    if items.len() <= WayParameters::NAMED {
        return files.map(WorkspacePath::to_report).collect();
    }
    let own: BTreeSet<&WorkspacePath> = files.clone().collect();
    let rest = all.iter().map(|item| &item.path);
    let mixed = WorkspacePath::all_above(rest.filter(|path| !own.contains(path)));
    let folder = |path: &WorkspacePath| {
        let above = path.directories_above();
        above.filter(|folder| !mixed.contains(folder)).last()
    };
    let names = files.map(|path| folder(path).unwrap_or_else(|| path.clone()));
    let names: BTreeSet<WorkspacePath> = names.collect();
    names.iter().map(WorkspacePath::to_report).collect()
}

/// Returns the way out for files of one kind, if there is one.
fn way(
    operation: &Operation<'_>,
    kind: KeptKind,
    is_removed: bool,
    items: &[&Item],
    only: Vec<PathText>,
) -> Option<WayOut> {
    let put = put(is_removed, items.len());
    let again = again(operation)?;
    let these = WayParameters {
        only: only.clone(),
        git: false,
        ..again.clone()
    };
    // Only a revert has options that choose; the way back of others is the state itself.
    let chosen = |does: &str, option: fn(&mut WayParameters)| {
        if these.operation == OperationKind::Revert {
            let mut parameters = these.clone();
            option(&mut parameters);
            return Some(plain(does, parameters));
        }
        let id = operation.undoes.clone().or_else(|| state(operation))?;
        let parameters = WayParameters {
            id: Some(id),
            only: only.clone(),
            ..WayParameters::of(OperationKind::Restore)
        };
        let does = ["puts it there all the same", does][usize::from(is_removed)];
        Some(plain(does, parameters))
    };
    let first = |first: &str, does: &str| WayOut {
        first: Some(first.to_owned()),
        ..plain(does, these.clone())
    };
    let is_any = |case| items.iter().any(|item| item.case() == Some(case));
    match kind {
        _ if is_any(ReasonCase::Open) => Some(first("close that program", "goes ahead")),
        KeptKind::Yours => {
            let parameters = WayParameters {
                on_conflict: Some(OnConflict::Overwrite.name().to_owned()),
                ..again
            };
            let does =
                format!("{put} as well, and `ckpt-hook revert` takes back only what an agent did");
            Some(plain(&does, parameters))
        }
        KeptKind::NotCaptured if items.iter().any(|item| is_closed(operation, item)) => {
            Some(first("make it readable, or move it away", "tries again"))
        }
        KeptKind::Conflict | KeptKind::OtherAgent | KeptKind::NotCaptured | KeptKind::Forgotten => {
            let theirs = match kind == KeptKind::OtherAgent {
                true => ", without what was changed since",
                false => "",
            };
            chosen(&format!("{put}{theirs}"), |parameters| {
                parameters.on_conflict = Some(OnConflict::Overwrite.name().to_owned());
            })
        }
        KeptKind::Shared => chosen("takes that back all the same", |_| ()),
        KeptKind::Unclear if again.operation == OperationKind::Revert => {
            let parameters = WayParameters {
                unclear: Some(Unclear::Take.name().to_owned()),
                ..again
            };
            Some(plain("takes these as well", parameters))
        }
        KeptKind::Unclear => chosen("takes these as well", |_| ()),
        KeptKind::Database => of_database(these, is_any(ReasonCase::Log), is_removed),
        KeptKind::Blocked => {
            let mut way = first("move that away", "puts it there");
            // It was changed since as well, so it would stay without a word on that.
            if is_removed && these.operation == OperationKind::Revert {
                way.parameters.on_conflict = Some(OnConflict::Overwrite.name().to_owned());
            }
            Some(way)
        }
        KeptKind::Moved => chosen("tries again", |_| ()),
        KeptKind::OtherMessage => None,
    }
}

/// Returns the way out for databases. Where edits keep them, all of their files are overwritten.
fn of_database(these: WayParameters, force: bool, is_edited: bool) -> Option<WayOut> {
    (force || is_edited).then(|| {
        let parameters = WayParameters {
            force,
            on_conflict: match is_edited {
                true => Some(OnConflict::Overwrite.name().to_owned()),
                false => these.on_conflict,
            },
            ..these
        };
        plain("takes all of it back", parameters)
    })
}

fn plain(does: &str, parameters: WayParameters) -> WayOut {
    WayOut {
        first: None,
        does: does.to_owned(),
        parameters,
    }
}

/// Returns the parameters that ask for the same again with the options that were given; `None` for files that were chosen
/// one by one.
/// What goes forward, or takes an operation back, cannot be asked for twice: it asks for the state.
fn again(operation: &Operation<'_>) -> Option<WayParameters> {
    let state_itself = || {
        let id = operation.undoes.clone().or_else(|| state(operation))?;
        Some(WayParameters {
            id: Some(id),
            ..WayParameters::of(OperationKind::Restore)
        })
    };
    let Some(movement) = operation
        .movement
        .filter(|movement| movement.undoes.is_none())
    else {
        let restore = state_itself()?;
        return Some(match operation.undoes {
            Some(_) => restore,
            None => WayParameters {
                only: restored(operation),
                git: operation.git.is_some(),
                ..restore
            },
        });
    };
    match movement.kind {
        OperationKind::Revert => of_revert(movement, operation.git.is_some()),
        OperationKind::Redo | OperationKind::Unrevert | OperationKind::Restore => state_itself(),
    }
}

fn of_revert(movement: &Movement, git: bool) -> Option<WayParameters> {
    let on_conflict = movement
        .on_conflict
        .filter(|how| *how != OnConflict::default());
    let revert = WayParameters {
        on_conflict: on_conflict.map(|how| how.name().to_owned()),
        unclear: movement.unclear.map(|how| how.name().to_owned()),
        git,
        ..WayParameters::of(OperationKind::Revert)
    };
    Some(match &movement.part {
        None => WayParameters {
            message: Some(movement.to.as_ref()?.id.clone()),
            ..revert
        },
        Some(Part::Paths { message, only }) => WayParameters {
            message: Some(message.id.clone()),
            only: only.iter().map(|path| path.to_report()).collect(),
            ..revert
        },
        Some(Part::Message { message, only }) => WayParameters {
            message: Some(message.id.clone()),
            alone: true,
            only: only.iter().map(|path| path.to_report()).collect(),
            ..revert
        },
        Some(Part::Step { step, only }) => WayParameters {
            step: Some(step.id.clone()),
            only: only.iter().map(|path| path.to_report()).collect(),
            ..revert
        },
    })
}

/// Returns the paths that a restore is limited to.
fn restored(operation: &Operation<'_>) -> Vec<PathText> {
    let expected = operation.expectation.iter();
    let only = expected.flat_map(|expected| &expected.only);
    only.map(WorkspacePath::to_report).collect()
}

/// Returns the id of the state that an operation goes to.
fn state(operation: &Operation<'_>) -> Option<String> {
    operation.reference.map(|state| state.tree.to_string())
}

/// Returns the changes of other messages, by message. The user's own need no way out: no request is about them.
/// What stays for another reason is `told` already.
fn others(
    operation: &Operation<'_>,
    receipt: &Receipt,
    told: &BTreeSet<&PathText>,
) -> Vec<KeptReport> {
    let is_others = |difference: &&Difference| {
        let is_others = matches!(
            difference.reason,
            DifferenceReason::OtherSession | DifferenceReason::NotAsked
        );
        is_others && !told.contains(&difference.path)
    };
    let mut messages: BTreeMap<(String, String), Vec<PathText>> = BTreeMap::new();
    for difference in receipt.differences.iter().filter(is_others) {
        let by = difference.by.iter().find(|by| by.message.is_some());
        if let Some((by, message)) = by.and_then(|by| Some((by, by.message.clone()?))) {
            let agent = name(operation, by).unwrap_or_default();
            let paths = messages.entry((message, agent)).or_default();
            paths.push(difference.path.clone());
        }
    }
    let report = |((message, agent), paths): ((String, String), Vec<PathText>)| KeptReport {
        kind: KeptKind::OtherMessage,
        why: format!("changed by {agent} for another message"),
        way: Some(of_message(message, &paths)),
        paths,
    };
    // Ids come in any order.
    let mut all: Vec<KeptReport> = messages.into_iter().map(report).collect();
    all.sort_by_key(|kept| kept.paths.first().map(|first| first.path.clone()));
    all
}
