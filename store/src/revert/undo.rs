//! `undo`: sets the paths that an operation moved back to where they were before it, and the revert point with them. An
//! operation is a change like one of a step: what was changed since is merged, or stays and is named.

use std::collections::{BTreeSet, HashMap};

use ckpt_schema::report::{FileResult, OperationKind};

use super::carry_out::git::GitSide;
use super::conversation;
use super::goal::bases::{Sightings, pasts};
use super::goal::expectation::Expectation;
use super::goal::material::{Material, forgotten, only_states};
use super::goal::present::Scene;
use super::goal::states::{current_states, with_directories_above};
use super::plan::operation::Operation;
use super::plan::{Plan, plan_for};
use super::request::authors::Authors;
use super::request::chain::{chain, newest_revert, policy};
use super::request::history::{Author, Claim, PastChange, Source};
use super::request::movement::Movement;
use super::request::options::Options;
use crate::error::Result;
use crate::model::entry::Change;
use crate::model::item::Item;
use crate::model::path::WorkspacePath;
use crate::model::request::{OnConflict, Unclear};
use crate::sessions::{self, ChainOperation, OperationRow};
use crate::snapshot::Snapshot;

/// An operation that is taken back, and the present state.
pub(crate) struct UndoneOperation<'a> {
    pub scene: Scene<'a>,
    pub row: &'a OperationRow,
}

impl UndoneOperation<'_> {
    /// Returns the operation that sets its files back and moves no point.
    pub fn files_back(&self, options: Options) -> Result<Operation<'static>> {
        let before = self.row.before_snapshot_id;
        let plan = self.plan(&[])?;
        let paths: Vec<WorkspacePath> = plan.items.iter().map(|item| item.path.clone()).collect();
        let side = GitSide::of(self.scene);
        let git = before.filter(|_| options.git);
        Ok(Operation {
            undoes: Some(self.row.id.clone()),
            git: git.map(|before| side.plan_exactly(before)).transpose()?,
            conversation: conversation::of_undone(self.scene.store, self.row)?,
            on_conflict: OnConflict::default(),
            reference: self.reference()?,
            expectation: before
                .filter(|_| !paths.is_empty())
                .map(|before| Expectation::of_restore(before, &paths)),
            ..Operation::restore(plan)
        })
    }

    /// Returns the operation that also moves the point back, in a chain of reverts.
    pub fn point_back<'m>(
        &self,
        movement: &'m Movement,
        chain: &[ChainOperation],
    ) -> Result<Operation<'m>> {
        let earlier: Vec<ChainOperation> = chain
            .iter()
            .filter(|operation| operation.row.id != self.row.id)
            .cloned()
            .collect();
        Ok(Operation {
            plan: self.plan(&earlier)?,
            on_conflict: policy(&earlier),
            unclear: newest_revert(&earlier).map_or_else(Unclear::default, |it| it.row.unclear),
            reference: self.reference()?,
            expectation: match self.row.before_snapshot_id {
                Some(before) => {
                    let scopes = movement.scopes(self.scene.store, &earlier)?;
                    Some(Expectation::of_undo(movement, scopes, before))
                }
                None => None,
            },
            ..Operation::nothing(movement, movement.whole())
        })
    }

    /// Plans to set its paths back. `earlier` are the other operations of its chain.
    fn plan(&self, earlier: &[ChainOperation]) -> Result<Plan> {
        let connection = self.scene.connection();
        let mut moved = sessions::operation_items(connection, &self.row.id)?;
        moved.retain(Item::has_moved);
        let paths: BTreeSet<WorkspacePath> = moved.iter().map(|item| item.path.clone()).collect();
        let current = current_states(self.scene, &paths)?;
        let mut changes = self.changes_since(&paths)?;
        changes.extend(moved.iter().map(|item| PastChange {
            change: Change {
                path: item.path.clone(),
                old: item.expected,
                new: item.target,
            },
            author: Author::Agent(Source::default()),
            claim: Claim::Undo,
        }));
        let material = Material {
            base: only_states(&current, with_directories_above(&paths)),
            current,
            changes,
            forgotten: forgotten(self.scene.store, self.scene.place)?,
            ..Material::default()
        };
        let policies = (OnConflict::default(), OnConflict::default());
        let mut plan = plan_for(self.scene.snapshots, &material, policies)?;
        self.set_goals(&mut plan, &moved, earlier);
        Ok(plan)
    }

    /// Sets what the next move starts from: what was asked for before the operation, or by it where a path stays.
    fn set_goals(&self, plan: &mut Plan, moved: &[Item], earlier: &[ChainOperation]) {
        let none = Sightings::new();
        let pasts = pasts(earlier, OperationKind::Unrevert, &none, &none);
        let rows: HashMap<_, _> = moved.iter().map(|item| (&item.path, item)).collect();
        for item in &mut plan.items {
            let Some(row) = rows.get(&item.path) else {
                continue;
            };
            let before = pasts.get(&item.path).map(|past| past.goal);
            item.goal = match item.result {
                FileResult::Conflict | FileResult::Gap => row.goal,
                FileResult::Done | FileResult::Planned | FileResult::Failed => {
                    before.unwrap_or(row.expected)
                }
            };
        }
    }

    /// Returns the changes of paths since the operation, newest first, to name their authors.
    fn changes_since(&self, paths: &BTreeSet<WorkspacePath>) -> Result<Vec<PastChange>> {
        let connection = self.scene.connection();
        let workspace_id = self.scene.place.row.id;
        let mut authors = Authors::new(connection, workspace_id);
        let mut changes = Vec::new();
        let mut add = |change: &Change, author: Author| {
            changes.push(PastChange {
                change: change.clone(),
                author,
                claim: Claim::Keep,
            });
        };
        for row in self.scene.seen.changes.iter().rev() {
            if paths.contains(&row.change.path) {
                add(&row.change, authors.of_no_step(row)?);
            }
        }
        if let Some(after) = self.row.after_snapshot_id {
            for since in sessions::changes_since(connection, workspace_id, after, None)? {
                if paths.contains(&since.change.row.change.path) {
                    add(&since.change.row.change, authors.of(&since.change)?);
                }
            }
        }
        Ok(changes)
    }

    /// Returns the snapshot that shows which directories may stay.
    fn reference(&self) -> Result<Option<Snapshot>> {
        let connection = self.scene.connection();
        let before = self.row.before_snapshot_id;
        let row = before.map(|before| sessions::snapshot(connection, before));
        Ok(row.transpose()?.as_ref().map(|row| row.snapshot))
    }

    /// Returns the chain of reverts that a session is in.
    pub fn chain(&self, movement: &Movement) -> Result<Vec<ChainOperation>> {
        match movement.session.revert_base_id {
            Some(base) => chain(self.scene.connection(), &movement.session.id, base),
            None => Ok(Vec::new()),
        }
    }
}
