//! The rules that are outside the work tree: `info/exclude`, and the user's global excludes and attributes. This module does IO.
//!
//! `core.excludesFile` is taken from the user's and the system's configuration, never from the workspace's; `include.path`
//! is not followed. The user's own files may be symbolic links (people keep them in a dotfiles folder).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::{Location, SMALL, read_small};

/// Returns the bytes of the repository's `info/exclude`.
pub(crate) fn of_repository(location: &Location) -> Vec<u8> {
    read_small(
        &location.common.join("info/exclude"),
        SMALL,
        OFlags::NOFOLLOW,
    )
    .unwrap_or_default()
}

/// Returns the bytes of the user's global excludes.
pub(crate) fn of_user(home: Option<&Path>, config_home: Option<&Path>) -> Vec<u8> {
    let path = global_path(home, config_home, "excludesfile", "git/ignore");
    path.and_then(|path| read_small(&path, SMALL, OFlags::empty()))
        .unwrap_or_default()
}

/// Returns the bytes of the user's and the system's attributes.
pub(crate) fn attributes_of_user(home: Option<&Path>, config_home: Option<&Path>) -> Vec<u8> {
    let user = global_path(home, config_home, "attributesfile", "git/attributes");
    let files = [user, Some(PathBuf::from("/etc/gitattributes"))]
        .into_iter()
        .flatten();
    let files = files.filter_map(|path| read_small(&path, SMALL, OFlags::empty()));
    files.collect::<Vec<_>>().join(&b'\n')
}

/// Returns whether a repository's own configuration names further attributes, or may do so.
pub(crate) fn has_own_attributes(location: &Location) -> bool {
    [
        location.common.join("config"),
        location.directory.join("config.worktree"),
    ]
    .iter()
    .any(|path| {
        let bytes = read_small(path, SMALL, OFlags::NOFOLLOW)
            .unwrap_or_default()
            .to_ascii_lowercase();
        let names = |name: &[u8]| bytes.windows(name.len()).any(|part| part == name);
        names(b"attributesfile") || names(b"[include")
    })
}

/// The last of git's three files that sets `core.<key>` wins; without one it is a file beside `git/config`.
fn global_path(
    home: Option<&Path>,
    config_home: Option<&Path>,
    key: &str,
    default: &str,
) -> Option<PathBuf> {
    let config_home = config_home
        .map(Path::to_owned)
        .or_else(|| Some(home?.join(".config")));
    let configurations = [
        home.map(|home| home.join(".gitconfig")),
        config_home.as_ref().map(|folder| folder.join("git/config")),
        Some(PathBuf::from("/etc/gitconfig")),
    ];
    for configuration in configurations.into_iter().flatten() {
        let bytes = read_small(&configuration, SMALL, OFlags::empty()).unwrap_or_default();
        if let Some(value) = value(&bytes, "core", key) {
            return expand(&value, home);
        }
    }
    config_home.map(|folder| folder.join(default))
}

fn expand(value: &[u8], home: Option<&Path>) -> Option<PathBuf> {
    if value.is_empty() {
        return None;
    }
    match value.strip_prefix(b"~/") {
        Some(rest) => Some(home?.join(OsStr::from_bytes(rest))),
        None => Some(PathBuf::from(OsStr::from_bytes(value))).filter(|path| path.is_absolute()),
    }
}

/// Returns the last value of `section.key` in a git configuration; both names in lower case, no subsection.
pub(crate) fn value(configuration: &[u8], section: &str, key: &str) -> Option<Vec<u8>> {
    let mut found = None;
    let mut inside = false;
    for line in configuration.split(|byte| *byte == b'\n') {
        let mut line = line.trim_ascii();
        if line.first() == Some(&b'[') {
            let end = line
                .iter()
                .position(|byte| *byte == b']')
                .unwrap_or(line.len());
            inside = line[1..end]
                .trim_ascii()
                .eq_ignore_ascii_case(section.as_bytes());
            line = line.get(end + 1..).unwrap_or_default().trim_ascii();
        }
        let Some(equals) = line.iter().position(|byte| *byte == b'=') else {
            continue;
        };
        if inside
            && line[..equals]
                .trim_ascii()
                .eq_ignore_ascii_case(key.as_bytes())
        {
            found = Some(unquote(line[equals + 1..].trim_ascii()));
        }
    }
    found
}

/// Takes quotes, escapes and the comment off a value (git's `parse_value` in `config.c`).
fn unquote(text: &[u8]) -> Vec<u8> {
    let mut value = Vec::new();
    let mut quoted = false;
    let mut kept = 0;
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => quoted = !quoted,
            b'#' | b';' if !quoted => break,
            b'\\' => match bytes.next() {
                Some(b'n') => value.push(b'\n'),
                Some(b't') => value.push(b'\t'),
                Some(other) => value.push(*other),
                None => break,
            },
            other => value.push(*other),
        }
        if quoted || !byte.is_ascii_whitespace() {
            kept = value.len();
        }
    }
    value.truncate(kept);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_as_git_reads_it() {
        let text = b"[user]\n\texcludesfile = no\n[Core] a = b\n  excludesFile = \"~/my # file\" ; comment\n[core \"x\"]\nexcludesfile=sub\n";
        assert_eq!(
            value(text, "core", "excludesfile").as_deref(),
            Some(&b"~/my # file"[..]),
            "quoted, commented"
        );
        assert_eq!(
            value(text, "core", "a").as_deref(),
            Some(&b"b"[..]),
            "beside the section's name"
        );
        assert_eq!(value(b"[core\nx", "core", "x"), None, "nonsense is nothing");
    }

    #[test]
    fn a_tilde_is_the_home_directory() {
        assert_eq!(
            expand(b"~/x", Some(Path::new("/h"))),
            Some(PathBuf::from("/h/x")),
            "git expands it"
        );
        assert_eq!(expand(b"", None), None, "an empty value means no file");
    }
}
