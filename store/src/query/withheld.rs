//! Which files a model gets no contents of. This reads the index of the user's repository.

use std::path::Path;

use crate::error::Result;
use crate::git::Location;
use crate::git::tracked::Tracked;
use crate::model::path::PathKind;
use crate::settings::KEEP_IGNORED;
use crate::snapshot::PathPatterns;
use crate::store::Store;
use crate::timeline::Place;

/// The files of a workspace whose contents a model should not have from us: those that only `keep_ignored` captures,
/// which agents' own rules often keep from it, and those that the settings name.
pub struct Withheld {
    /// `hide_from_models`.
    hidden: PathPatterns,
    /// `keep_ignored`, and its default: a snapshot of before may hold what the list no longer names.
    kept: [PathPatterns; 2],
    tracked: Tracked,
}

impl Withheld {
    pub(crate) fn of(store: &Store, cwd: &Path) -> Result<Self> {
        let place = Place::known(store, cwd)?;
        let location = Location::of(&place.root);
        Ok(Self {
            hidden: PathPatterns::parse(&place.settings.hide_from_models),
            kept: [
                PathPatterns::parse(&place.settings.keep_ignored),
                PathPatterns::parse(&KEEP_IGNORED.map(str::to_owned)),
            ],
            tracked: location.as_ref().map(Tracked::read).unwrap_or_default(),
        })
    }

    /// Returns whether a file is one of them. A file that git tracks is captured anyway, whether or not `keep_ignored`
    /// names it. An ignore rule is not asked for: an agent may have removed it to see the file.
    pub fn covers(&self, path: &[u8]) -> bool {
        let is_kept = || self.kept.iter().any(|kept| kept.match_file(path));
        self.hidden.match_file_or_above(path)
            || is_kept() && !self.tracked.holds(path, PathKind::File)
    }
}
