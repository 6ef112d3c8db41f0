//! The ignore rules outside the snapshot's tree, and those that are read during the walk. This module does IO.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Mutex;

use rustix::io::Errno;

use crate::error;
use crate::fs::beneath::{self, Anchor};
use crate::fs::threads;
use crate::git::Location;
use crate::git::config::GitConfig;
use crate::git::excludes::{self, Excludes};
use crate::git::tracked::Tracked;
use crate::model::entry::ObjectId;
use crate::model::path::{PathKind, WorkspacePath};
use crate::objects::Objects;
use crate::snapshot::Request;
use crate::snapshot::cache::Cache;
use crate::snapshot::rules::{self, Rules, UNKNOWN_LINES, UNKNOWN_RULES};
use crate::snapshot::scan::directory;

/// The rules outside the snapshot's tree.
pub(crate) struct Outer {
    pub rules: Rules,
    /// The ignore files that exist but could not be read.
    pub unread: Vec<PathBuf>,
}

/// Reads the rules outside the snapshot's tree. A file that cannot be read is replaced by its last known content, from
/// `last`. If that is unknown, it may hide everything.
pub(crate) fn outer_rules(
    request: &Request<'_>,
    location: Option<&Location>,
    last: impl FnOnce() -> Option<Rules>,
) -> Outer {
    let lines = |patterns: &[String]| rules::significant_lines(patterns.join("\n").as_bytes());
    let (home, config_home) = (request.home, request.config_home);
    let config = GitConfig::read(request.root, location, home, config_home);
    let global = excludes::of_user(&config, home, config_home);
    let info = excludes::of_repository(location);
    let mut rules = Rules {
        global: significant(&global),
        ignores_case: config.ignores_case,
        info: significant(&info),
        untracked: Vec::new(),
        include: lines(request.include),
        exclude: lines(request.exclude),
        kept: lines(request.keep_ignored),
        // Without a repository there are no ignore rules, and `node_modules` would be captured.
        built_in: location.is_none(),
        forced: BTreeSet::new(),
    };
    let is_unread = [
        config.unread.is_some(),
        global.bytes.is_err(),
        info.bytes.is_err(),
    ];
    if is_unread.contains(&true) {
        // Taking it for empty would bring into view all that it hid, as new files.
        substitute(&mut rules, last(), is_unread, &global);
    }
    let files = [config.unread, global.path, info.path];
    let unread = files.into_iter().zip(is_unread);
    let unread = unread.filter_map(|(file, is_unread)| file.filter(|_| is_unread));
    Outer {
        rules,
        unread: unread.collect(),
    }
}

fn significant(excludes: &Excludes) -> Vec<u8> {
    let bytes = excludes.bytes.as_deref().unwrap_or_default();
    rules::significant_lines(bytes)
}

/// Replaces what could not be read by its last known content: the configuration, the user's file and the repository's.
fn substitute(rules: &mut Rules, last: Option<Rules>, is_unread: [bool; 3], global: &Excludes) {
    let [config, user, repository] = is_unread;
    match last {
        Some(last) => {
            // The configuration says which file is the user's.
            if config || user {
                rules.global = last.global;
            }
            if config {
                rules.ignores_case = last.ignores_case;
            }
            if repository {
                rules.info = last.info;
            }
        }
        // It was never read, so it is not known what it hid. Taken for empty, it would bring into view what the next
        // readable look takes out again, and a revert would delete that.
        None => {
            // In an unreadable home no file is known, and git uses none.
            let is_seen = global.path.as_ref().map(|path| path.symlink_metadata());
            if user && is_seen.is_some_and(|seen| seen.is_ok()) {
                rules.global = UNKNOWN_LINES.to_vec();
            }
            if repository {
                rules.info = UNKNOWN_LINES.to_vec();
            }
        }
    }
}

/// A hash that no ignore file has, so that the next snapshot looks again.
const NONE_OF_THEM: ObjectId = UNKNOWN_RULES;

/// The ignore file that decided about each directory: its hash, or `None` without one.
pub(crate) type Used = Mutex<HashMap<Vec<u8>, Option<ObjectId>>>;

/// Reads the ignore file of a directory, and notes its hash. Fails if one may exist but cannot be read.
pub(crate) fn read_rules(
    root: &impl AsFd,
    directory: &[u8],
    used: &Used,
    anchor: &Mutex<Anchor>,
) -> Result<Option<Vec<u8>>, Errno> {
    let opened = match anchor.try_lock() {
        Ok(mut anchor) => anchor.open_directory(root.as_fd(), directory),
        // Another thread uses the anchor, so start at the root.
        Err(_) => beneath::open_directory(root.as_fd(), directory),
    };
    // Nothing in a directory that cannot be opened is captured, whatever its ignore file says.
    let Ok(opened) = opened else { return Ok(None) };
    let rules = directory::rules_of(opened.as_fd())?;
    note_used(directory, rules.as_ref().map(|(_, id)| *id), used);
    Ok(rules.map(|(bytes, _)| bytes))
}

fn note_used(directory: &[u8], id: Option<ObjectId>, used: &Used) {
    let mut used = threads::lock(used);
    // Two threads may have read it, and it may have changed in between. Then none of the two counts.
    let counted = if used.get(directory).is_some_and(|other| *other != id) {
        Some(NONE_OF_THEM)
    } else {
        id
    };
    used.insert(directory.to_vec(), counted);
}

/// Stands in for ignore files that exist but cannot be read: with the remembered lines or, if there are none, with
/// lines that hide everything, so that nothing beside such a file comes into view.
pub(super) struct UnreadRules<'a> {
    cache: Option<&'a Cache>,
    objects: &'a Objects,
    lines: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
}

impl<'a> UnreadRules<'a> {
    pub(super) fn new(cache: Option<&'a Cache>, objects: &'a Objects) -> Self {
        Self {
            cache,
            objects,
            lines: Mutex::default(),
        }
    }

    /// Returns the lines that apply in a directory, and notes them, because they are not in the snapshot's tree.
    pub(super) fn rules(&self, directory: &[u8], used: &Used) -> Vec<u8> {
        let (id, lines) = self
            .remembered(directory)
            .unwrap_or_else(|| (UNKNOWN_RULES, UNKNOWN_LINES.to_vec()));
        note_used(directory, Some(id), used);
        let mut all = threads::lock(&self.lines);
        all.insert(directory.to_vec(), lines.clone());
        lines
    }

    fn remembered(&self, directory: &[u8]) -> Option<(ObjectId, Vec<u8>)> {
        let cache = self.cache?;
        let id = cache.directory(cache.find(directory)?)?.rules()?;
        let watched = &cache.header.watched;
        let lines = match watched.iter().find(|(above, _)| above == directory) {
            Some((_, lines)) => lines.clone(),
            None => rules::significant_lines(&self.objects.reader().ok()?.blob(id).ok()?),
        };
        Some((id, lines))
    }

    /// Returns the lines that applied, by directory.
    pub(super) fn lines(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let lines = threads::lock(&self.lines);
        lines.clone()
    }
}

/// Returns whether a snapshot leaves out a path that no tool named.
pub(crate) fn hides(request: &Request<'_>, path: &WorkspacePath) -> error::Result<bool> {
    let location = Location::of(request.root);
    let root = beneath::open_workspace(request.root)?;
    let (used, anchor) = (Mutex::default(), Mutex::default());
    let outer = outer_rules(request, location.as_ref(), || None);
    let matcher = outer.rules.matcher(|directory| {
        // A path that cannot be decided is captured by itself, like a hidden one.
        read_rules(&root, directory, &used, &anchor)
            .unwrap_or_else(|_| Some(UNKNOWN_LINES.to_vec()))
    });
    if !matcher.is_ignored(path.as_bytes()) {
        return Ok(false);
    }
    // This comes last, because an index is as large as the work tree, and few files are ignored.
    let tracked = location.as_ref().map(Tracked::read).unwrap_or_default();
    Ok(!tracked.holds(path.as_bytes(), PathKind::File))
}
