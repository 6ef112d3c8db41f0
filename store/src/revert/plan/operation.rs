//! An operation before it is carried out: its plan and its options.

use ckpt_schema::report::{FinishedReport, NoteReport, OperationKind};

use super::Plan;
use crate::model::git_item::GitItem;
use crate::model::note::Note;
use crate::model::request::{OnConflict, Unclear};
use crate::revert::goal::expectation::Expectation;
use crate::revert::goal::lines::Lines;
use crate::revert::goal::seen_history::SeenHistory;
use crate::revert::request::conversation::JournalledConversation;
use crate::revert::request::movement::Movement;
use crate::revert::request::scope::RevertScope;
use crate::snapshot::Snapshot;

/// Whether git's own state moves along with the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GitFate {
    /// HEAD, its branch and the index move.
    Along,
    /// They stay, and what the agent did to them is named.
    Stays,
}

impl GitFate {
    /// Returns whether a plan for it was made.
    pub fn of(git: Option<&[GitItem]>) -> Self {
        match git {
            Some(_) => Self::Along,
            None => Self::Stays,
        }
    }
}

/// What a step of an operation found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub notes: Vec<Note>,
    /// Whether something of the state that the operation goes to is missing, or is another.
    pub is_incomplete: bool,
}

impl Findings {
    /// Returns notes of which each says that something is missing.
    pub fn missing(notes: impl IntoIterator<Item = Note>) -> Self {
        let notes: Vec<Note> = notes.into_iter().collect();
        Self {
            is_incomplete: !notes.is_empty(),
            notes,
        }
    }

    /// Joins the findings of the parts of a step, in the order of their notes.
    pub fn joined(all: impl IntoIterator<Item = Self>) -> Self {
        let mut joined = Self::default();
        for one in all {
            joined.notes.extend(one.notes);
            joined.is_incomplete |= one.is_incomplete;
        }
        joined
    }
}

/// Notes that leave nothing undone.
impl FromIterator<Note> for Findings {
    fn from_iter<N: IntoIterator<Item = Note>>(notes: N) -> Self {
        Self {
            notes: notes.into_iter().collect(),
            is_incomplete: false,
        }
    }
}

/// What each step of an operation found, in the order in which its notes are told.
#[derive(Debug, Default)]
pub(crate) struct OperationFindings {
    /// What the command finished first.
    pub recovered: Findings,
    /// In the history and the plan.
    pub planned: Findings,
    /// On the disk around the plan.
    pub surroundings: Findings,
    /// Other agents at work.
    pub agents: Findings,
    /// The session's history in other roots.
    pub session: Findings,
    /// The other roots.
    pub roots: Findings,
    /// What is left out of the plan.
    pub narrowed: Findings,
    /// Before anything is written.
    pub checked: Findings,
    /// Afterwards.
    pub result: Findings,
}

impl OperationFindings {
    /// Those of an operation that is planned.
    pub fn planned(planned: Findings) -> Self {
        Self {
            planned,
            ..Self::default()
        }
    }

    fn steps(&self) -> [&Findings; 9] {
        [
            &self.recovered,
            &self.planned,
            &self.surroundings,
            &self.agents,
            &self.session,
            &self.roots,
            &self.narrowed,
            &self.checked,
            &self.result,
        ]
    }

    /// Returns the notes of the operation, for its row and its report.
    pub fn notes(&self) -> Vec<NoteReport> {
        let notes = self.steps().into_iter().flat_map(|step| &step.notes);
        notes.map(Note::report).collect()
    }

    /// Returns whether something that should be undone stays, or was never recorded.
    pub fn is_incomplete(&self) -> bool {
        self.steps().iter().any(|step| step.is_incomplete)
    }
}

/// A plan, with everything that its operation's row says.
pub(crate) struct Operation<'a> {
    pub kind: OperationKind,
    pub movement: Option<&'a Movement>,
    /// The operation that it takes back, if it is an undo.
    pub undoes: Option<String>,
    /// For a restore: the message to whose state it goes, or of whose plan it is a choice.
    pub restored: Option<String>,
    pub plan: Plan,
    /// The known counts of lines.
    pub lines: Lines,
    /// The plan for git's own state, if it moves at all.
    pub git: Option<Vec<GitItem>>,
    /// What becomes of the agent's conversation.
    pub conversation: Option<JournalledConversation>,
    pub on_conflict: OnConflict,
    pub unclear: Unclear,
    /// The state before the first revert, if it is older than the operation itself.
    pub base: Option<i64>,
    /// The snapshot that shows which directories may stay.
    pub reference: Option<Snapshot>,
    /// What the steps in question did to paths that no snapshot stores.
    pub history: SeenHistory,
    pub found: OperationFindings,
    /// The interrupted operations that were finished first.
    pub finished: Vec<FinishedReport>,
    /// The state that the workspace is compared with afterwards.
    pub expectation: Option<Expectation>,
}

impl Operation<'static> {
    /// Returns a restore: it sets paths to states, and moves no revert point.
    ///
    /// It asks for exactly these states, so nothing on the disk is in conflict with it. The snapshot before it is the way
    /// back.
    pub fn restore(plan: Plan) -> Self {
        Self {
            kind: OperationKind::Restore,
            movement: None,
            undoes: None,
            restored: None,
            plan,
            lines: Lines::new(),
            git: None,
            conversation: None,
            on_conflict: OnConflict::Overwrite,
            unclear: Unclear::default(),
            base: None,
            reference: None,
            history: SeenHistory::default(),
            found: OperationFindings::default(),
            finished: Vec::new(),
            expectation: None,
        }
    }
}

impl<'a> Operation<'a> {
    /// Returns a movement to where everything already is. `scopes` are the parts of the history that are undone there.
    pub fn nothing(movement: &'a Movement, scopes: Vec<RevertScope>) -> Self {
        let taken = match movement.unclear {
            Some(Unclear::Take) => movement.whole(),
            Some(Unclear::Keep) | None => Vec::new(),
        };
        Self {
            kind: movement.kind,
            movement: Some(movement),
            undoes: movement.undoes.clone(),
            on_conflict: movement.on_conflict.unwrap_or_default(),
            unclear: movement.unclear.unwrap_or_default(),
            base: movement.session.revert_base_id,
            expectation: Expectation::of_movement(movement, scopes, taken),
            ..Operation::restore(Plan::default())
        }
    }
}
