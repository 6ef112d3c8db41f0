//! The ignore rules that stand outside the snapshot's tree, and those that are read on the way. This module does IO.

use std::collections::{BTreeSet, HashMap};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::fs::disk::{self, Anchor};
use crate::git::{Location, excludes};
use crate::model::entry::ObjectId;
use crate::snapshot::Request;
use crate::snapshot::rules::{self, Rules};
use crate::snapshot::scan::directory;

pub(crate) fn outer_rules(request: &Request<'_>, location: Option<&Location>) -> Rules {
    let lines = |patterns: &[String]| rules::significant_lines(patterns.join("\n").as_bytes());
    Rules {
        global: rules::significant_lines(&excludes::of_user(request.home, request.config_home)),
        info: rules::significant_lines(&location.map(excludes::of_repository).unwrap_or_default()),
        untracked: request
            .scope
            .map(|scope| rules_above(request.root, scope.as_bytes()))
            .unwrap_or_default(),
        scope: request.scope.map(|scope| scope.as_bytes().to_vec()),
        include: lines(request.include),
        exclude: lines(request.exclude),
        built_in: location.is_none(),
        forced: BTreeSet::new(),
    }
}

/// The ignore files of the directories above the scope are not files of the tree.
fn rules_above(root: &Path, scope: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let Ok(root) = disk::open_root(root) else {
        return Vec::new();
    };
    let ends = std::iter::once(0).chain((0..scope.len()).filter(|end| scope[*end] == b'/'));
    let read = |end| {
        let directory = disk::open_directory(root.as_fd(), &scope[..end]).ok()?;
        let lines = rules::significant_lines(&directory::rules_of(directory.as_fd())?.0);
        (!lines.is_empty()).then(|| (scope[..end].to_vec(), lines))
    };
    ends.filter_map(read).collect()
}

/// The hash of no ignore file: the next snapshot looks again.
const NONE_OF_THEM: ObjectId = ObjectId::new([0; 20]);

/// Reads the ignore file of a directory, and notes which it was.
pub(crate) fn read_rules(
    root: &impl AsFd,
    directory: &[u8],
    used: &Mutex<HashMap<Vec<u8>, Option<ObjectId>>>,
    anchor: &Mutex<Anchor>,
) -> Option<Vec<u8>> {
    let opened = match anchor.try_lock() {
        Ok(mut anchor) => anchor.open_directory(root.as_fd(), directory).ok()?,
        // Another thread has it: from the root it is, then.
        Err(_) => disk::open_directory(root.as_fd(), directory).ok()?,
    };
    let rules = directory::rules_of(opened.as_fd());
    let id = rules.as_ref().map(|(_, id)| *id);
    let mut used = used.lock().unwrap_or_else(PoisonError::into_inner);
    // Two threads may have read it, and it may have changed in between: then no file is the one that counted.
    let counted = if used.get(directory).is_some_and(|other| *other != id) {
        Some(NONE_OF_THEM)
    } else {
        id
    };
    used.insert(directory.to_vec(), counted);
    rules.map(|(bytes, _)| bytes)
}
