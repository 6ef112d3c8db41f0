//! Finds the workspace, and the store's folder for it, that an event or a command is about.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ckpt_schema::EventKind;
use ckpt_schema::event::Event;

use super::links::NamedFile;
use super::orphans::refuse_orphans;
use super::root::{Identity, Workspace, check_apart};
use crate::error::{Context, Error, Result};
use crate::fs::layout::{self, Lock};
use crate::fs::{names, presence};
use crate::model::Milliseconds;
use crate::model::instruction::Instruction;
use crate::model::number::count;
use crate::model::path::WorkspacePath;
use crate::model::progress::SnapshotProgress;
use crate::model::repository_note::WorkspaceOrigin;
use crate::model::shell::quoted;
use crate::sessions::{self, SessionRow, WorkspaceRow};
use crate::settings::Settings;
use crate::snapshot::{Request, Snapshots, StoredSnapshot};
use crate::store::{Store, Surroundings};

/// How long a person's command waits for another process's snapshot or operation.
pub(crate) const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// How to take a snapshot of a workspace, besides what the settings say.
#[derive(Clone, Copy, Default)]
pub(crate) struct SnapshotOptions<'a> {
    /// The only paths around which to look for changes.
    pub only_around: Option<&'a BTreeSet<WorkspacePath>>,
    /// Whether to read every file, whatever the cache remembers, and to store again what the store does not hold
    /// intact.
    pub anew: bool,
    /// Whether to look only where a watcher says that something may have changed.
    pub takes_hints: bool,
    /// The time at which to give up.
    pub deadline: Option<Instant>,
    /// Called with the progress.
    pub progress: Option<&'a (dyn Fn(SnapshotProgress) + Sync)>,
}

/// A workspace, known to the store.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub row: WorkspaceRow,
    pub root: PathBuf,
    pub folder: PathBuf,
    pub settings: Settings,
    /// The directory that relative paths start from.
    pub cwd: PathBuf,
    /// When everything was last looked at for an event, if that was noted. Known once the workspace is locked.
    pub looked_at: Cell<Option<Milliseconds>>,
    /// Whether its folder was seen to be a directory of the user's own, as a lock requires.
    is_folder_checked: Cell<bool>,
    /// What the paths of tools stand for, each asked of the file system once.
    pub(super) named: RefCell<BTreeMap<PathBuf, NamedFile>>,
}

impl Place {
    /// Returns the workspace that holds a directory. It is added to the store if it is new.
    pub fn claim(store: &mut Store, cwd: &Path) -> Result<Self> {
        let workspace = workspace_of(store, cwd)?;
        let surroundings = &store.surroundings;
        // Before the row: a refused workspace leaves no trace.
        check_apart(
            &workspace.root,
            &surroundings.directory,
            &surroundings.settings,
        )?;
        let now = store.now();
        let row = store.database.write(|connection| {
            sessions::claim_workspace(connection, &workspace.root, &workspace.identity, now)
        })?;
        Ok(Self::new(&store.surroundings, row, workspace.cwd))
    }

    /// Returns the workspace that holds a directory, if anything was ever recorded there. If not, it returns a recorded
    /// directory in between, which was a workspace before a repository was made around it.
    pub fn find(store: &Store, cwd: &Path) -> Result<Option<Self>> {
        let workspace = workspace_of(store, cwd)?;
        let connection = store.database.connection();
        let row = sessions::find_workspace(connection, &workspace.root, &workspace.identity)?;
        let row = match row {
            Some(row) => Some(row),
            None => within(store, &workspace)?,
        };
        let row = match (row, &store.machine) {
            (Some(row), Some(machine)) => Some(of_machine(store, row, machine)?),
            (row, _) => row,
        };
        Ok(row.map(|row| Self::new(&store.surroundings, row, workspace.cwd)))
    }

    /// Returns the workspace that holds a directory, or says that nothing was recorded there.
    pub fn known(store: &Store, cwd: &Path) -> Result<Self> {
        if let Some(place) = Self::find(store, cwd)? {
            return Ok(place);
        }
        // Before it is said that nothing was recorded: the history may be there, and only the session store lost.
        refuse_orphans(store, cwd)?;
        let what = format!("nothing has been recorded in `{}` yet", cwd.display());
        let root = workspace_of(store, cwd)?.root;
        if let Some(history) = super::offered(store, &root)?.first() {
            let messages = count(history.messages, "message");
            let hint = if Path::new(&history.path) == root {
                format!(
                    "another directory used to be at `{}`, with {messages}: `ckpt-hook workspace adopt` takes its history over",
                    root.display()
                )
            } else {
                format!(
                    "`{}`, with {messages}, is gone: if this directory was there, `ckpt-hook workspace adopt {}` takes its history over",
                    history.path, history.id
                )
            };
            return Err(Error::unavailable(what).hint(hint));
        }
        Err(match neighbour(store, cwd)? {
            Some(path) => Error::unavailable(what).hint(format!(
                "`{}` was recorded: {}",
                path.display(),
                Instruction::InWorkspace(&quoted(&path.to_string_lossy()))
            )),
            None => Error::unrecorded(what),
        })
    }

    /// Returns the workspace of an event whose session is new or moved to another directory.
    pub fn of_new_session(store: &mut Store, event: &Event) -> Result<Self> {
        let cwd = event
            .cwd
            .as_deref()
            .ok_or_else(|| Error::failed("the event does not say where the agent works").refusal())?
            .to_owned();
        if !cwd.is_absolute() {
            return Err(Error::failed(format!(
                "the agent's directory `{}` is not an absolute path",
                cwd.display()
            ))
            .refusal());
        }
        Self::claim(store, &cwd)
    }

    /// Returns the workspace of an event whose session is known and still works there.
    ///
    /// A session works where its own messages were sent. An agent may change its directory meanwhile, and a sub-agent
    /// may work in another one: only a message or a start moves a session to another workspace. What began before that
    /// ends where it began.
    pub fn of_session(store: &Store, event: &Event) -> Result<Option<Self>> {
        let ends = matches!(
            event.event,
            EventKind::ToolWait | EventKind::ToolFinish | EventKind::StepFinish
        );
        let tool = event.tool_use_id.as_deref().filter(|_| ends);
        let home = store.database.read(|connection| {
            let known =
                sessions::session_at_home(connection, &event.agent, &event.session_id, tool)?;
            known
                .map(|session| {
                    let row = sessions::workspace(connection, session.workspace_id)?;
                    let roots = match session.has_parts && begins(event.event) {
                        true => sessions::roots_beside(connection, &session)?,
                        false => Vec::new(),
                    };
                    Ok((row, session.last_event.is_some(), roots))
                })
                .transpose()
        })?;
        let cwd = event.cwd.as_deref();
        // An agent that runs `cd` into another repository in the middle of a turn still works on the message that
        // was sent here. But where a session is known only by a sub-agent of it, it may begin anywhere.
        let stays = |row: &WorkspaceRow, has_begun: bool, beside: &[WorkspaceRow]| match cwd {
            _ if has_begun && !begins(event.event) => true,
            Some(cwd) => holds(row, cwd) || beside.iter().any(|beside| holds(beside, cwd)),
            None => !begins(event.event),
        };
        let row = home
            .filter(|(row, has_begun, beside)| row.is_there() && stays(row, *has_begun, beside));
        let Some((row, ..)) = row else {
            return Ok(None);
        };
        let cwd = cwd.unwrap_or(Path::new("/"));
        let cwd = if cwd.starts_with(&row.path) {
            cwd.to_owned()
        } else {
            row.path.clone()
        };
        Ok(Some(Self::new(&store.surroundings, row, cwd)))
    }

    /// Notes when the directory was created, if no row says so yet.
    pub fn note_birth(&self, store: &mut Store) -> Result<()> {
        if self.row.born.is_none()
            && let Some(born) = Identity::at(&self.root).and_then(|it| it.believed_birth())
        {
            store
                .database
                .write(|connection| sessions::note_birth(connection, self.row.id, born))?;
        }
        Ok(())
    }

    /// Returns a workspace that the store knows, wherever its directory is now.
    pub fn of_row(store: &Store, row: WorkspaceRow) -> Self {
        let cwd = row.path.clone();
        Self::new(&store.surroundings, row, cwd)
    }

    /// Notes where its directory is now, if it was moved since the last event: a command in another root of
    /// its sessions finds it there.
    pub fn note_move(&self, store: &mut Store) -> Result<()> {
        let row = sessions::workspace(store.database.connection(), self.row.id)?;
        let identity = Identity::at(&self.root).filter(|identity| row.is_wherever(identity));
        let Some(identity) = identity.filter(|_| row.path != self.root) else {
            return Ok(());
        };
        let now = store.now();
        let claim = |connection: &_| {
            sessions::claim_workspace(connection, &self.root, &identity, now).map(drop)
        };
        store.database.write(claim)
    }

    /// Returns whether its directory is the one that was recorded.
    pub fn is_there(&self) -> bool {
        self.row.is_there()
    }

    /// Returns whether anything of it was ever stored. Fails if that cannot be found out.
    pub fn has_objects(&self) -> Result<bool> {
        presence::is_directory(&self.folder.join(names::REPOSITORY))
    }

    fn new(surroundings: &Surroundings, row: WorkspaceRow, cwd: PathBuf) -> Self {
        let settings = surroundings.settings.for_directory(&row.path).clone();
        let folder = names::workspace(&surroundings.directory, &row.key);
        Self {
            root: row.path.clone(),
            folder,
            settings,
            cwd,
            row,
            looked_at: Cell::new(None),
            is_folder_checked: Cell::new(false),
            named: RefCell::default(),
        }
    }

    /// Returns the device that the workspace is on. Its number may have changed with a restart of the machine.
    pub fn device(&self) -> Result<u64> {
        use std::os::unix::fs::MetadataExt;
        let metadata = self
            .root
            .symlink_metadata()
            .context(|| format!("cannot find `{}`", self.root.display()))?;
        Ok(metadata.dev())
    }

    /// Takes the lock of the workspace: one snapshot or operation at a time.
    pub fn lock(&self, patience: Duration) -> Result<Lock> {
        let lock = layout::lock_workspace(&self.folder, patience)?;
        self.is_folder_checked.set(true);
        Ok(lock)
    }

    /// Opens the snapshots of the workspace.
    pub fn snapshots(&self) -> Result<Snapshots> {
        if !self.is_folder_checked.replace(true) {
            layout::check_folder(&self.folder)?;
        }
        Snapshots::open(&self.folder)
    }

    /// Takes a snapshot of the workspace as the settings say.
    pub fn take(
        &self,
        store: &Store,
        snapshots: &Snapshots,
        how: SnapshotOptions<'_>,
    ) -> Result<StoredSnapshot> {
        let named = sessions::forced_paths(store.database.connection(), self.row.id)?;
        self.take_with(store, snapshots, &named, how)
    }

    /// Like [`take`](Self::take), with the paths that tools named: they are captured even if ignored.
    pub fn take_with(
        &self,
        store: &Store,
        snapshots: &Snapshots,
        named: &[WorkspacePath],
        how: SnapshotOptions<'_>,
    ) -> Result<StoredSnapshot> {
        let SnapshotOptions {
            only_around,
            anew,
            takes_hints,
            deadline,
            progress,
        } = how;
        snapshots.take(&Request {
            named,
            only_around,
            anew,
            takes_hints,
            deadline,
            progress,
            ..self.request(store)
        })
    }

    /// Takes the snapshot of the workspace as it will be with other ignore files. See [`Snapshots::foresee`].
    pub fn foresee(
        &self,
        store: &Store,
        snapshots: &Snapshots,
        ignore_files: &BTreeMap<WorkspacePath, Vec<u8>>,
    ) -> Result<StoredSnapshot> {
        let named = sessions::forced_paths(store.database.connection(), self.row.id)?;
        let request = Request {
            named: &named,
            ..self.request(store)
        };
        snapshots.foresee(&request, ignore_files)
    }

    /// Returns whether an ignore rule hides a path from snapshots.
    pub fn hides(
        &self,
        store: &Store,
        snapshots: &Snapshots,
        path: &WorkspacePath,
    ) -> Result<bool> {
        snapshots.hides(&self.request(store), path)
    }

    /// Returns which directory it is, as the store's repository notes it.
    pub fn origin(&self) -> WorkspaceOrigin<'_> {
        WorkspaceOrigin {
            key: &self.row.key,
            path: &self.root,
            device: self.row.device,
            inode: self.row.inode,
            born: self.row.born,
        }
    }

    fn request<'a>(&'a self, store: &'a Store) -> Request<'a> {
        Request {
            root: &self.root,
            named: &[],
            whatever_size: &[],
            include: &self.settings.include,
            exclude: &self.settings.exclude,
            keep_ignored: &self.settings.keep_ignored,
            max_file_size: self.settings.max_file_size,
            seed: true,
            home: store.surroundings.home.as_deref(),
            config_home: store.surroundings.config_home.as_deref(),
            store: &store.surroundings.directory,
            origin: Some(self.origin()),
            only_around: None,
            anew: false,
            takes_hints: false,
            now: (store.surroundings.file_clock)(),
            deadline: None,
            progress: None,
        }
    }

    /// Returns whether a path that a user named is the workspace itself.
    pub fn is_root(&self, named: &Path) -> bool {
        let absolute = self.cwd.join(named);
        normal(&absolute) == self.root
            || absolute.canonicalize().is_ok_and(|real| real == self.root)
    }

    /// Returns the paths in the workspace that a user's paths stand for: each one itself, and where it leads if there is a
    /// link on its way or at its end. An empty list means no limit: naming the workspace itself means all of it. Fails if
    /// a path is outside the workspace.
    pub fn paths_asked_for(&self, named: &[PathBuf]) -> Result<Vec<WorkspacePath>> {
        if named.iter().any(|path| self.is_root(path)) {
            return Ok(Vec::new());
        }
        let named = named.iter().map(|path| self.path_asked_for(path));
        let mut paths = named.collect::<Result<Vec<WorkspacePath>>>()?;
        let ends = paths.iter().flat_map(|path| self.ends_of(path));
        let ends: Vec<WorkspacePath> = ends.collect();
        paths.extend(ends);
        let mut seen = BTreeSet::new();
        paths.retain(|path| seen.insert(path.clone()));
        Ok(paths)
    }

    fn path_asked_for(&self, named: &Path) -> Result<WorkspacePath> {
        self.path_of(named).ok_or_else(|| {
            let shown = |path: &Path| path.to_string_lossy().escape_debug().to_string();
            let path = match named.is_absolute() {
                true => normal(named),
                false => named.to_owned(),
            };
            let hint = match normal(&self.cwd.join(named)).starts_with(&self.root) {
                true => "what is in `.git` is never captured".to_owned(),
                false => Instruction::OtherWorkspace.to_string(),
            };
            Error::usage(format!(
                "`{}` is not captured in the workspace `{}`",
                shown(&path),
                shown(&self.root)
            ))
            .hint(hint)
        })
    }

    /// Returns the path below the workspace that a user named, if it is below it.
    pub fn path_of(&self, named: &Path) -> Option<WorkspacePath> {
        let absolute = self.cwd.join(named);
        WorkspacePath::in_workspace(&self.root, &normal(&absolute))
            // An agent may know the workspace by a name with a link in it, such as `/tmp` on macOS.
            .or_else(|| WorkspacePath::in_workspace(&self.root, &real(&absolute)?))
    }
}

/// Returns the workspace that holds a directory, by the settings of the store.
pub(super) fn workspace_of(store: &Store, cwd: &Path) -> Result<Workspace> {
    let surroundings = &store.surroundings;
    Workspace::of(
        cwd,
        surroundings.home.as_deref(),
        &surroundings.directory,
        &surroundings.settings,
    )
}

/// Returns the root of the workspace that holds a directory.
pub(crate) fn root_of(store: &Store, cwd: &Path) -> Result<PathBuf> {
    Ok(workspace_of(store, cwd)?.root)
}

/// Returns the history that a machine has of a workspace, as if its directory were the one that is here.
fn of_machine(store: &Store, here: WorkspaceRow, machine: &str) -> Result<WorkspaceRow> {
    let connection = store.database.connection();
    let known = sessions::machines(connection, here.id)?;
    let named: Vec<_> = known
        .iter()
        .filter(|row| row.machine.starts_with(machine))
        .collect();
    let [one] = named[..] else {
        let what = match named.is_empty() {
            true => format!("nothing was fetched here from a machine `{machine}`"),
            false => format!("the names of several machines begin with `{machine}`"),
        };
        let names: Vec<&str> = known.iter().map(|row| row.machine.as_str()).collect();
        return Err(Error::unknown(what).hint(match names.is_empty() {
            true => "`ckpt-hook fetch REMOTE` gets what other machines have pushed".to_owned(),
            false => format!("there are: {}", names.join(", ")),
        }));
    };
    let theirs = sessions::workspace(connection, one.workspace_id)?;
    Ok(WorkspaceRow {
        id: theirs.id,
        key: theirs.key,
        last_snapshot_id: theirs.last_snapshot_id,
        used_at: theirs.used_at,
        ..here
    })
}

/// Returns the nearest recorded directory between the current one and a workspace around it.
fn within(store: &Store, workspace: &Workspace) -> Result<Option<WorkspaceRow>> {
    let between = workspace
        .cwd
        .ancestors()
        .take_while(|above| *above != workspace.root);
    for above in between.filter(|above| above.starts_with(&workspace.root)) {
        let row = sessions::workspace_at(store.database.connection(), above)?;
        if let Some(row) = row.filter(WorkspaceRow::is_there) {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// Returns the nearest recorded directory above. If a repository was made in the middle of a session, this directory
/// became a workspace of its own, and the one above has the earlier history.
pub(crate) fn neighbour(store: &Store, cwd: &Path) -> Result<Option<PathBuf>> {
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    for above in cwd.ancestors() {
        let is_recorded = sessions::workspace_at(store.database.connection(), above)?
            .is_some_and(|row| row.is_there());
        // If the repository of that directory is further up, `--workspace` would not find it either.
        if is_recorded && workspace_of(store, above).is_ok_and(|workspace| workspace.root == above)
        {
            return Ok(Some(above.to_owned()));
        }
    }
    Ok(None)
}

/// Returns whether an event may move a session to another workspace.
fn begins(event: EventKind) -> bool {
    matches!(event, EventKind::SessionStart | EventKind::UserMessage)
}

/// Returns whether a directory is in a workspace whose directory was just found to be its own.
fn holds(row: &WorkspaceRow, cwd: &Path) -> bool {
    cwd == row.path
        || cwd
            .canonicalize()
            .is_ok_and(|cwd| cwd.starts_with(&row.path))
}

/// Removes `.` and `..` from a path, going by its text alone.
pub(crate) fn normal(path: &Path) -> PathBuf {
    use std::path::Component;
    path.components()
        .fold(PathBuf::new(), |mut path, component| {
            match component {
                Component::ParentDir => {
                    path.pop();
                }
                Component::CurDir => {}
                other => path.push(other),
            }
            path
        })
}

/// Resolves the directory of a path, whose last component may not exist.
fn real(path: &Path) -> Option<PathBuf> {
    // The last component stays as it is: of a link, the link is captured and not what it points at.
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

/// Returns the session that started an event's session, if known.
pub(crate) fn parent_of(
    connection: &rusqlite::Connection,
    event: &Event,
    workspace_id: i64,
) -> Result<Option<SessionRow>> {
    match &event.parent_session_id {
        Some(parent) => sessions::find_session(connection, &event.agent, parent, workspace_id),
        None => Ok(None),
    }
}
