//! An operation before it is carried out: its plan and its options.

use ckpt_schema::report::{FinishedReport, OperationKind};

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

/// What an operation leaves.
#[derive(Debug, Default)]
pub(crate) struct LeftPaths {
    pub notes: Vec<Note>,
    /// Whether something of the state that it goes to is missing, or is another.
    pub is_incomplete: bool,
}

impl LeftPaths {
    /// Returns those of which each note says that something is missing.
    pub fn missing(notes: Vec<Note>) -> Self {
        Self {
            is_incomplete: !notes.is_empty(),
            notes,
        }
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
    pub warnings: Vec<Note>,
    /// The interrupted operations that were finished first.
    pub finished: Vec<FinishedReport>,
    /// The state that the workspace is compared with afterwards.
    pub expectation: Option<Expectation>,
    /// Whether something that should be undone was never recorded, and so is not in the plan.
    pub is_incomplete: bool,
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
            warnings: Vec::new(),
            finished: Vec::new(),
            expectation: None,
            is_incomplete: false,
        }
    }
}

impl<'a> Operation<'a> {
    /// Adds what it leaves.
    pub fn leave(&mut self, left: LeftPaths) {
        self.warnings.extend(left.notes);
        self.is_incomplete |= left.is_incomplete;
    }

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
