//! `doctor --repair`: rebuilds the rows of workspaces whose repositories are there but whose session store is gone.
//!
//! What a repository notes about its snapshots becomes rows again: which directory, when, and what it could not hold.
//! Sessions, prompts and attributions are only in the session store, and stay lost.

use ckpt_schema::report::{Finding, FindingLevel};

use crate::error::Result;
use crate::fs::layout;
use crate::model::instruction::Instruction;
use crate::model::number::count;
use crate::sessions::{self, Diagnostic, DiagnosticLevel};
use crate::snapshot::Snapshots;
use crate::store::Store;
use crate::timeline::LOCK_TIMEOUT;
use crate::timeline::orphans::{Orphan, orphans};

const SUBJECT: &str = "snapshots";

/// The message of the diagnostic about a workspace that was taken up.
const RECOVERED: &str = "the snapshots were recovered from their repository";

/// Rebuilds the rows of the repositories that have none. Returns a sentence for each.
pub(crate) fn rebuild(store: &mut Store) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for orphan in orphans(store)? {
        let found = take_up(store, &orphan);
        findings.extend(
            found.unwrap_or_else(|error| vec![error.finding(FindingLevel::Error, SUBJECT)]),
        );
    }
    Ok(findings)
}

fn take_up(store: &mut Store, orphan: &Orphan) -> Result<Vec<Finding>> {
    let folder = orphan.folder.display();
    let _lock = layout::lock_workspace(&orphan.folder, LOCK_TIMEOUT)?;
    let repository = Snapshots::open(&orphan.folder)?;
    let is_unswept = repository.is_forgetting()?;
    let noted = repository.noted(&orphan.key)?;
    let Some((workspace, snapshots, lost)) = noted else {
        return Ok(vec![Finding::warning(
            SUBJECT,
            format!(
                "`{folder}` holds snapshots, but nothing says of which directory or when; it stays as it is"
            ),
        )]);
    };
    let path = String::from_utf8_lossy(&workspace.path).into_owned();
    let mut findings = Vec::new();
    if lost > 0 {
        findings.push(Finding::error(
            SUBJECT,
            format!("`{path}`: snapshots that are not whole any more, and are left out: {lost}"),
        ));
    }
    if snapshots.is_empty() {
        return Ok(findings);
    }
    let now = store.now();
    let is_aside = store.database.write(|connection| {
        let (id, is_aside) = sessions::put_noted(connection, &workspace, &snapshots, now)?;
        // The objects of what was being forgotten are still there.
        if is_unswept {
            sessions::note_unswept(connection, id)?;
        }
        Ok(is_aside)
    })?;
    store.diagnose(&Diagnostic {
        level: DiagnosticLevel::Warning,
        workspace: Some(&path),
        message: RECOVERED,
        detail: Some(
            "the session store that named them is gone, and with it the prompts and who made each change",
        ),
        ..Diagnostic::default()
    })?;
    findings.push(known_again(&path, &orphan.key, snapshots.len(), is_aside));
    Ok(findings)
}

/// Says that the snapshots of a directory are there again, and how to use them.
fn known_again(path: &str, key: &str, number: usize, is_aside: bool) -> Finding {
    let hint = match is_aside {
        true => format!(
            "another history continues there: `ckpt-hook workspace adopt {key}` exchanges them"
        ),
        false => {
            format!(
                "`ckpt-hook log --snapshots` lists them, and {} goes back to one",
                Instruction::Restore("ID")
            )
        }
    };
    Finding::repaired(
            SUBJECT,
            format!(
                "`{path}`: recovered {} from the repository; the sessions and prompts, and who made each change, are lost",
                count(number as u64, "snapshot")
            ),
        ).hint(hint)
}
