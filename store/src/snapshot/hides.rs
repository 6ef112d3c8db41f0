//! Whether ignore rules hide one path: what is asked before an edit tool touches it. This module does IO.

use std::sync::Mutex;

use super::Request;
use super::rules::UNKNOWN_LINES;
use super::take::{outer_rules, read_rules};
use crate::error::{Context, Result};
use crate::fs::beneath;
use crate::git::Location;
use crate::git::tracked::Tracked;
use crate::model::path::WorkspacePath;

/// Returns whether a snapshot passes a path over, unless somebody names it.
pub(crate) fn hides(request: &Request<'_>, path: &WorkspacePath) -> Result<bool> {
    let location = Location::of(request.root);
    let tracked = location.as_ref().map(Tracked::read).unwrap_or_default();
    if tracked.holds(path.as_bytes(), false) {
        return Ok(false);
    }
    let root = beneath::open_root(request.root)
        .map_err(std::io::Error::from)
        .context(|| format!("cannot open the directory `{}`", request.root.display()))?;
    let (used, anchor) = (Mutex::default(), Mutex::default());
    let outer = outer_rules(request, location.as_ref(), || None);
    let matcher = outer.rules.matcher(|directory| {
        // What cannot be known is looked at by itself, as what is hidden is.
        read_rules(&root, directory, &used, &anchor)
            .unwrap_or_else(|_| Some(UNKNOWN_LINES.to_vec()))
    });
    Ok(matcher.is_ignored(path.as_bytes()))
}
