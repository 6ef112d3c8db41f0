//! Finds the files for which the user's git may store different bytes of the same length: those with a `filter` or a
//! `working-tree-encoding` attribute. This module does IO.
//!
//! Attribute files are parsed as `gitattributes` describes them, but only as far as needed to find such lines. Their
//! patterns are then matched like those of ignore files. Anything unusual counts as matching everything: this may read
//! too many files, but never too few.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::fs::beneath;
use crate::git::config::GitConfig;
use crate::git::tracked::Tracked;
use crate::git::{self, Location, excludes, read_small};
use crate::model::path::{PathKind, join};
use crate::snapshot::Request;
use crate::snapshot::rules::{Matcher, Rules};

const NAME: &[u8] = b".gitattributes";
const EVERYTHING: &[u8] = b"*\n";

/// The files that a conversion may apply to.
pub(super) struct Conversions<'a> {
    matcher: Matcher<'a>,
    tracked: &'a Tracked,
}

impl<'a> Conversions<'a> {
    /// Reads the attribute files outside the work tree. Those in it are read when they first matter.
    pub fn of(
        request: &Request<'_>,
        location: &Location,
        root: &'a OwnedFd,
        tracked: &'a Tracked,
    ) -> Self {
        let info = read_small(
            &location.common.join("info/attributes"),
            git::SMALL,
            OFlags::NOFOLLOW,
        );
        let (home, config_home) = (request.home, request.config_home);
        let config = GitConfig::read(request.root, Some(location), home, config_home);
        let rules = Rules {
            global: patterns(&excludes::attributes_of_user(&config, home, config_home)),
            info: patterns(&info.unwrap_or_default()),
            ..Rules::default()
        };
        let matcher = rules.matcher(move |directory| Some(of_directory(root, tracked, directory)));
        Self { matcher, tracked }
    }

    /// Notes a directory whose names were read.
    pub fn note_listed(&self, directory: &[u8], has: &dyn Fn(&[u8]) -> bool) {
        if !has(NAME) && !self.tracked.holds(&join(directory, NAME), PathKind::File) {
            self.matcher.note_without_rules(directory);
        }
    }

    /// Returns whether a conversion may apply to a file.
    pub fn may_apply_to(&self, path: &[u8]) -> bool {
        self.matcher.is_ignored(path)
    }
}

fn of_directory(root: &OwnedFd, tracked: &Tracked, directory: &[u8]) -> Vec<u8> {
    let opened = beneath::open_directory(root.as_fd(), directory);
    let read = opened.and_then(|opened| git::read_small_in(opened.as_fd(), NAME, git::SMALL));
    match read {
        Ok(Some(bytes)) => patterns(&bytes),
        Ok(None) => EVERYTHING.to_vec(),
        // Without a file, git uses the one in its index.
        Err(Errno::NOENT) if !tracked.holds(&join(directory, NAME), PathKind::File) => Vec::new(),
        Err(_) => EVERYTHING.to_vec(),
    }
}

/// Returns the patterns of the lines that name such an attribute, one per line.
fn patterns(attributes: &[u8]) -> Vec<u8> {
    let mut patterns = Vec::new();
    for line in attributes
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
    {
        if line.first() == Some(&b'#') || !is_conversion(line) {
            continue;
        }
        let pattern = line
            .split(|byte| byte.is_ascii_whitespace())
            .next()
            .unwrap_or_default();
        // It is quoted, or the definition of a macro that any line may use.
        let is_plain = !matches!(pattern.first(), Some(b'"' | b'!' | b'[') | None);
        patterns.extend_from_slice(if is_plain { pattern } else { b"*" });
        patterns.push(b'\n');
    }
    patterns
}

fn is_conversion(line: &[u8]) -> bool {
    let names = |name: &[u8]| line.windows(name.len()).any(|part| part == name);
    names(b"filter") || names(b"working-tree-encoding")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines with a filter or an encoding give their patterns.
    #[test]
    fn filters_and_encodings_give_their_patterns() {
        let text = b"*.txt text=auto\n  *.bin filter=lfs -text\n# *.c filter=x\n*.u working-tree-encoding=UTF-16\n";
        assert_eq!(
            patterns(text),
            b"*.bin\n*.u\n",
            "the others keep the bytes, or change their number"
        );
    }

    #[test]
    fn what_is_not_plain_matches_everything() {
        for line in [
            &b"\"a b\" filter=x"[..],
            b"[attr]lfs filter=lfs",
            b"!x filter=y",
        ] {
            assert_eq!(patterns(line), b"*\n", "{}", line.escape_ascii());
        }
    }
}
