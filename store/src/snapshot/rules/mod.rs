//! The rules that decide what is captured: ignore files, the user's excludes, the settings' patterns, and what is
//! captured even if ignored.
//!
//! [`Rules`] are the sources that are not files in the tree. They are stored as a blob beside it, so that a later patch
//! can find out whether a path was in view. [`Matcher`] decides, given the `.gitignore` files. Nothing here reads the
//! disk: sources are bytes.
//!
//! `gix-glob`, a port of git's own `wildmatch`, matches patterns, on bytes: braces do not mean alternatives, and names
//! need not be UTF-8.

mod matcher;
mod patterns;

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::model::entry::ObjectId;
pub(crate) use matcher::{DirectoryView, Matcher, Neighbours};
pub(crate) use patterns::{PathPattern, PathPatterns, significant_lines};

/// Outside a git repository, these are left out, too: package managers and compilers make them, and can do so again.
pub(crate) const BUILT_IN: &str = "node_modules/\nbower_components/\njspm_packages/\n.pnpm-store/\n.yarn/cache/\ntarget/\n\
    .venv/\nvenv/\n__pycache__/\n.tox/\n.nox/\n.mypy_cache/\n.pytest_cache/\n.ruff_cache/\n.eggs/\n*.egg-info/\n\
    .gradle/\n.m2/\n.terraform/\n.next/\n.nuxt/\n.svelte-kit/\n.parcel-cache/\n.turbo/\n.cache/\n.dart_tool/\n\
    .bundle/\nPods/\nDerivedData/\n.stack-work/\ndist-newstyle/\n_build/\n.elixir_ls/\nzig-cache/\n.zig-cache/\n";

const MAGIC: &[u8] = b"ckpt-hook rules 1\n";

/// The sources of rules that are not files in the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    /// The user's global excludes, without comments and blank lines.
    pub global: Vec<u8>,
    /// The repository's `info/exclude`, likewise.
    pub info: Vec<u8>,
    /// The `.gitignore` files that are not in the tree, by directory: those that ignore themselves.
    pub untracked: Vec<(Vec<u8>, Vec<u8>)>,
    /// The settings' patterns of paths that are captured even if ignored.
    pub include: Vec<u8>,
    /// The settings' patterns of paths that are never captured.
    pub exclude: Vec<u8>,
    /// The settings' patterns of small files, never directories, that are captured even if ignored.
    pub kept: Vec<u8>,
    /// Whether the built-in list of dependency and build folders applies.
    pub built_in: bool,
    /// Whether patterns ignore the case of letters.
    pub ignores_case: bool,
    /// Files that are captured even though they are ignored: the user's repository tracks them, or an edit tool named
    /// them.
    pub forced: BTreeSet<Vec<u8>>,
}

impl Rules {
    /// Returns the canonical text, or `None` without any rules.
    ///
    /// After a first line with the format's name and version, each section is `<name> <length>`, a newline, as many
    /// bytes, and a newline. An `untracked` section holds a path, a NUL byte and lines; `forced` holds paths with a
    /// NUL byte after each.
    pub fn encode(&self) -> Option<Vec<u8>> {
        if *self == Self::default() {
            return None;
        }
        // The order is fixed, because the id of this text is what tells whether two snapshots had the same rules.
        let mut text = MAGIC.to_vec();
        let mut section = |name: &str, bytes: &[u8]| {
            text.extend_from_slice(format!("{name} {}\n", bytes.len()).as_bytes());
            text.extend_from_slice(bytes);
            text.push(b'\n');
        };
        // With the list itself, so that a version of the program with another list writes another text. Only the
        // fact that it applies is read again: what such a snapshot left out is then judged by the list of the
        // version that reads.
        if self.built_in {
            section("built-in", BUILT_IN.as_bytes());
        }
        let plain = [
            ("global", &self.global),
            ("info", &self.info),
            ("include", &self.include),
            ("exclude", &self.exclude),
            ("keep-ignored", &self.kept),
        ];
        for (name, bytes) in plain.into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
            section(name, bytes);
        }
        if self.ignores_case {
            section("ignore-case", b"");
        }
        for (directory, lines) in &self.untracked {
            section("untracked", &[directory, &b"\0"[..], lines].concat());
        }
        if !self.forced.is_empty() {
            section(
                "forced",
                &self
                    .forced
                    .iter()
                    .flat_map(|path| [path, &b"\0"[..]].concat())
                    .collect::<Vec<_>>(),
            );
        }
        Some(text)
    }

    /// Reads what [`Rules::encode`] wrote.
    pub fn decode(text: &[u8]) -> Result<Self> {
        let damaged = || Error::failed("the ignore rules of a snapshot are damaged");
        let mut rest = text.strip_prefix(MAGIC).ok_or_else(damaged)?;
        let mut rules = Self::default();
        while !rest.is_empty() {
            let (name, bytes, after) = section(rest).ok_or_else(damaged)?;
            rules.set(name, bytes).ok_or_else(damaged)?;
            rest = after;
        }
        Ok(rules)
    }

    fn set(&mut self, name: &[u8], bytes: &[u8]) -> Option<()> {
        match name {
            b"built-in" => self.built_in = true,
            b"ignore-case" => self.ignores_case = true,
            b"global" => self.global = bytes.to_vec(),
            b"info" => self.info = bytes.to_vec(),
            b"include" => self.include = bytes.to_vec(),
            b"exclude" => self.exclude = bytes.to_vec(),
            b"keep-ignored" => self.kept = bytes.to_vec(),
            b"untracked" => {
                let end = bytes.iter().position(|byte| *byte == 0)?;
                self.untracked
                    .push((bytes[..end].to_vec(), bytes[end + 1..].to_vec()));
            }
            b"forced" => {
                let paths = bytes
                    .split(|byte| *byte == 0)
                    .filter(|path| !path.is_empty());
                self.forced = paths.map(<[u8]>::to_vec).collect();
            }
            _ => return None,
        }
        Some(())
    }
}

fn section(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let space = text[..end].iter().position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(&text[space + 1..end])
        .ok()?
        .parse()
        .ok()?;
    let rest = &text[end + 1..];
    let after = rest.get(length..)?.strip_prefix(b"\n")?;
    Some((&text[..space], &rest[..length], after))
}

/// Stands for the hash of an ignore file that could not be read.
pub(crate) const UNKNOWN_RULES: ObjectId = ObjectId::new([0; 20]);

/// Stands for the lines of an ignore file that could not be read and about which nothing is remembered: it may hide
/// everything.
pub(crate) const UNKNOWN_LINES: &[u8] = b"*\n";

/// Returns whether a sorted set of paths has one below `directory`.
pub(crate) fn has_below(paths: &BTreeSet<Vec<u8>>, directory: &[u8]) -> bool {
    let start = [directory, b"/"].concat();
    paths
        .range(start.clone()..)
        .next()
        .is_some_and(|path| path.starts_with(&start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::path::PathKind;

    fn rules(info: &str) -> Rules {
        Rules {
            info: info.into(),
            ..Rules::default()
        }
    }

    #[test]
    fn rules_are_read_as_they_are_written() {
        let rules = Rules {
            global: b"*.o\n".to_vec(),
            untracked: vec![(Vec::new(), b"x\n".to_vec())],
            kept: b".env\n".to_vec(),
            built_in: true,
            ignores_case: true,
            forced: [b"a/b\n".to_vec(), b"\xff".to_vec()].into(),
            ..Rules::default()
        };
        let text = rules.encode().expect("there are rules");
        assert_eq!(
            Rules::decode(&text).expect("sound"),
            rules,
            "what went in comes out"
        );
        assert_eq!(Rules::default().encode(), None, "no rules, no blob");
        assert!(Rules::decode(&text[..text.len() - 1]).is_err(), "cut off");
    }

    /// A forced file in an ignored directory is visible alone.
    #[test]
    fn forced_file_is_visible_alone() {
        let rules = Rules {
            forced: [b"out/kept".to_vec()].into(),
            ..rules("out/\n")
        };
        let matcher = rules.matcher(|_| None);
        assert!(matcher.shows(b"out/kept", PathKind::File), "it is forced");
        assert!(
            !matcher.shows(b"out/other", PathKind::File),
            "its neighbour is not"
        );
        assert!(
            matcher.is_ignored(b"out/kept"),
            "the rules alone leave it out"
        );
    }

    #[test]
    fn settings_win_over_ignore_files() {
        let rules = Rules {
            include: b"/dist/app/*.js\n.env\n".to_vec(),
            exclude: b"secret\n".to_vec(),
            ..rules("dist\n.env\n")
        };
        let matcher = rules.matcher(|_| None);
        assert!(matcher.shows(b"a/.env", PathKind::File), "included by name");
        assert!(
            matcher.shows(b"dist/app/x.js", PathKind::File),
            "the pattern spells out the way"
        );
        assert!(
            !matcher.shows(b"dist/app/x.css", PathKind::File),
            "not included"
        );
        assert!(!matcher.shows(b"a/secret/x", PathKind::File), "excluded");
    }

    /// An ignored file is kept where its directory is not ignored.
    #[test]
    fn ignored_file_is_kept_in_a_visible_directory() {
        let rules = Rules {
            kept: b".env\n*.pem\n!ca.pem\n".to_vec(),
            exclude: b"/private/.env\n".to_vec(),
            forced: [b"out/kept".to_vec()].into(),
            ..rules(".env\n*.pem\nout/\n")
        };
        let matcher = rules.matcher(|_| None);
        assert!(
            matcher.shows(b"a/.env", PathKind::File),
            "its name is in the list"
        );
        assert!(
            !matcher.shows(b".env/bin/python", PathKind::File),
            "a directory of that name is ignored as before"
        );
        assert!(
            !matcher.shows(b"out/.env", PathKind::File),
            "nor is one entered for it"
        );
        assert!(matcher.shows(b"x.pem", PathKind::File), "a wildcard works");
        assert!(
            !matcher.shows(b"ca.pem", PathKind::File),
            "and an exception"
        );
        assert!(
            !matcher.shows(b"private/.env", PathKind::File),
            "what is excluded stays out"
        );
        assert!(
            matcher.is_ignored(b"a/.env"),
            "the ignore files alone leave it out"
        );
    }

    /// A directory that has no ignore file is not asked for one.
    #[test]
    fn directory_without_ignore_file_is_not_asked() {
        let own = |directory: &[u8]| match directory {
            b"a/b" => panic!("it was said to have none"),
            b"a" => Some(b"*.log\n".to_vec()),
            _ => None,
        };
        let matcher = Rules::default().matcher(own);
        matcher.note_without_rules(b"a/b");
        assert!(matcher.is_ignored(b"a/b/x.log"), "the one above holds");
        assert!(!matcher.is_ignored(b"a/b/x.txt"), "as far as it says");
        let untracked = Rules {
            untracked: vec![(b"c".to_vec(), b"*.log\n".to_vec())],
            ..Rules::default()
        };
        let matcher = untracked.matcher(|_| None);
        matcher.note_without_rules(b"c");
        assert!(
            matcher.is_ignored(b"c/x.log"),
            "rules that are no file of the tree hold all the same"
        );
    }
}
