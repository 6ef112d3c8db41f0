//! Finds the workspace of a directory: the top of its git work tree, or else the directory itself. Absurd roots are
//! refused.
//!
//! This module reads only the names and identities of directories. It finds the repository by its `.git` entry, never
//! through libgit2: a repository's configuration must not decide where its work tree is.

use std::path::{Path, PathBuf};

use crate::error::{Context, Error, Result};
pub use crate::fs::identity::Identity;
use crate::git::Location;
use crate::settings::Settings;

/// A directory that can be captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Its canonical path.
    pub root: PathBuf,
    /// The agent's directory, canonical; at or below the root.
    pub cwd: PathBuf,
    /// The identity of the root, which stays when it is moved.
    pub identity: Identity,
}

impl Workspace {
    /// Returns the workspace that holds a directory.
    ///
    /// Fails if the directory does not exist, or if the root is refused by rule and the settings do not allow it.
    pub fn of(cwd: &Path, home: Option<&Path>, store: &Path, settings: &Settings) -> Result<Self> {
        let cwd = cwd
            .canonicalize()
            .context(|| format!("cannot find the directory `{}`", cwd.display()))
            .map_err(Error::refusal)?;
        let home = home.and_then(|home| home.canonicalize().ok());
        let root = cwd
            .ancestors()
            // The innermost one: a nested repository or a submodule is a workspace of its own, and the outer one
            // captures its files, too.
            .find(|directory| is_work_tree(directory))
            .filter(|root| !is_of_dotfiles(root, &cwd, home.as_deref(), settings))
            .unwrap_or(&cwd)
            .to_owned();
        Self::at(root, cwd, home.as_deref(), store, settings)
    }

    fn at(
        root: PathBuf,
        cwd: PathBuf,
        home: Option<&Path>,
        store: &Path,
        settings: &Settings,
    ) -> Result<Self> {
        let metadata = root
            .metadata()
            .context(|| format!("cannot read the directory `{}`", root.display()))
            .map_err(Error::refusal)?;
        if !metadata.is_dir() {
            return Err(
                Error::failed(format!("`{}` is not a directory", root.display())).refusal(),
            );
        }
        // By the settings of the root and not of the agent's directory: what is captured is the whole tree.
        if !settings.for_directory(&root).allow
            && let Some(reason) = refusal(&root, &cwd, home, store)
        {
            return Err(Error::failed(format!("`{}` is not captured: {reason}", root.display()))
                .hint("start the agent in a project's directory, or set `allow = true` for this one in the settings")
                .refusal());
        }
        Ok(Self {
            root,
            cwd,
            identity: Identity::of(&metadata),
        })
    }
}

/// Returns whether a repository belongs to a home directory, or to one above it, and this directory is a project below
/// it. People keep their dotfiles in such a repository; it is not what they work on.
fn is_of_dotfiles(root: &Path, cwd: &Path, home: Option<&Path>, settings: &Settings) -> bool {
    let holds_home = home.is_some_and(|home| home.starts_with(root) && !home.starts_with(cwd));
    holds_home && !settings.for_directory(root).allow
}

/// Fails if the store is inside a workspace or its repository, unless the settings allow that: whatever `find` or `git
/// clean` does to the files there, it would do to the store. Call this before anything is recorded.
pub(crate) fn check_apart(root: &Path, store: &Path, settings: &Settings) -> Result<()> {
    if settings.for_directory(root).allow {
        return Ok(());
    }
    // The repository of a linked worktree is somewhere else.
    let git = Some(root.join(".git")).filter(|git| git.is_file());
    let repository = git.and_then(|_| Location::of(root)?.common.canonicalize().ok());
    let inside = if store.starts_with(root) {
        "it"
    } else if repository.is_some_and(|repository| store.starts_with(repository)) {
        "its repository"
    } else {
        return Ok(());
    };
    Err(Error::failed(format!(
        "`{}` is not captured: the store is inside {inside}, so whatever is done to the files there is done to the store, too",
        root.display()
    ))
    .hint("set --store or $CKPT_HOOK_HOME to a directory in which no agent works")
    .refusal())
}

/// Returns whether a directory is the top of a work tree. Its `.git` is a repository or points at one; an empty
/// directory of that name is neither.
fn is_work_tree(directory: &Path) -> bool {
    let git = directory.join(".git");
    match git.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => git.join("HEAD").symlink_metadata().is_ok(),
        Ok(metadata) => metadata.is_file(),
        Err(_) => false,
    }
}

fn refusal(root: &Path, cwd: &Path, home: Option<&Path>, store: &Path) -> Option<&'static str> {
    let system = [
        "/bin", "/boot", "/dev", "/etc", "/lib", "/proc", "/run", "/sbin", "/sys", "/usr", "/var",
    ];
    if root.parent().is_none() {
        Some("it is the root of the file system")
    } else if home == Some(root) {
        Some("it is the home directory")
    } else if home.is_some_and(|home| home.starts_with(root)) {
        Some("it holds the home directory")
    } else if system.iter().any(|path| root == Path::new(path))
        || ["/dev", "/proc", "/sys"]
            .iter()
            .any(|path| root.starts_with(path))
    {
        Some("it belongs to the system")
    // A snapshot of the store would store it in itself.
    } else if root.starts_with(store) {
        Some("it is inside the store")
    // Whatever works there, no snapshot may hold what is git's own.
    } else if cwd
        .components()
        .any(|component| component.as_os_str() == ".git")
    {
        Some("it is inside a `.git` directory")
    } else if is_bare_repository(root) {
        Some("it is a bare repository")
    } else {
        None
    }
}

/// Checks what git's `is_git_directory` checks.
fn is_bare_repository(directory: &Path) -> bool {
    directory.join("HEAD").is_file()
        && directory.join("objects").is_dir()
        && directory.join("refs").is_dir()
}
