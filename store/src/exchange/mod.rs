//! The history of a workspace on its way to another machine and back. How it travels is the caller's affair: this room
//! makes bundles of rows and objects, and takes them in.
//!
//! Each machine adds its own bundles, one a push, and reads those of the others; so there is nothing to merge. What came
//! from a machine is a workspace of its own, beside the one that it was fetched for, and its directory is never here.
//! Rows keep their ids, unless another row has one already.

mod incoming;
mod outgoing;
mod tables;
mod writing;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::git::Location;
use crate::git::config::remotes_of;
use crate::model::{Milliseconds, address};
use crate::sessions::{self, MachineRow, RemoteRow};
use crate::store::Store;
use crate::timeline::{self, Place};

pub use outgoing::Outgoing;

/// The version of what is in a bundle.
const FORMAT: u32 = 1;

/// A remote of a workspace, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// The address, as git takes it.
    pub address: String,
    /// What the workspace is called there.
    pub name: String,
    /// The commit that was about to be pushed, as git stores it, if what became of it is not known.
    pub pushing: Option<String>,
    /// The commit that was pushed last, as git stores it.
    pub tip: Option<String>,
    /// The public keys for which it is encrypted, one a line; `None` in the open.
    pub keys: Option<String>,
}

/// The first line of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct BundleHead {
    /// The version of what follows.
    format: u32,
    /// The directory there.
    path: String,
    /// The history's id there.
    workspace: String,
    /// Whether it takes the place of all bundles before it.
    anew: bool,
    /// The newest snapshot.
    last: Option<String>,
    /// When it was made.
    made_at: Milliseconds,
}

/// A bundle on its way from one machine to another.
pub struct Bundle {
    /// Its rows: a line of JSON each, after a first one about all.
    pub rows: Vec<u8>,
    /// Its objects, as git packs them; empty without any.
    pub pack: Vec<u8>,
}

impl From<RemoteRow> for Remote {
    fn from(row: RemoteRow) -> Self {
        Self {
            address: row.address,
            name: row.name,
            pushing: row.pushing,
            tip: row.tip,
            keys: row.keys,
        }
    }
}

impl Remote {
    /// Returns the address as it may be shown.
    pub fn shown(&self) -> String {
        address::shown(&self.address)
    }
}

impl Store {
    /// Returns the name of this machine elsewhere: the host's, and a number of this store, so that two of one name are
    /// two.
    pub fn machine(&mut self, host: &str) -> Result<String> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        let host: String = host
            .chars()
            .take_while(|letter| *letter != '.')
            .filter(|letter| plain(*letter))
            .collect();
        let new = i64::from_str_radix(&sessions::new_id()[..8], 16).unwrap_or(1);
        let number = self
            .database
            .write(|connection| sessions::store_number(connection, new))?;
        let host = match host.trim_matches('-') {
            "" => "machine",
            host => host,
        };
        Ok(format!("{}-{number:08x}", host.to_ascii_lowercase()))
    }

    /// Returns the remotes of the workspace that holds a directory, in the order in which they were named.
    pub fn remotes(&self, cwd: &Path) -> Result<Vec<Remote>> {
        let Some(place) = Place::find(self, cwd)? else {
            return Ok(Vec::new());
        };
        let rows = sessions::remotes(self.database.connection(), place.row.id)?;
        Ok(rows.into_iter().map(Remote::from).collect())
    }

    /// Returns the directory of another workspace of this store that has the name of this one at a remote.
    pub fn called_so(&self, cwd: &Path, remote: &Remote) -> Result<Option<PathBuf>> {
        let place = Place::find(self, cwd)?;
        let own = place.map_or(0, |place| place.row.id);
        let connection = self.database.connection();
        sessions::called_so(connection, own, &remote.address, &remote.name)
    }

    /// Names a remote of the workspace that holds a directory, and the keys for which it is encrypted.
    pub fn name_remote(&mut self, cwd: &Path, remote: &Remote) -> Result<()> {
        let place = Place::claim(self, cwd)?;
        let Remote {
            address,
            name,
            keys,
            ..
        } = remote;
        let id = place.row.id;
        self.database.write(|connection| {
            sessions::put_remote(connection, id, address, name, keys.as_deref())
        })
    }

    /// Returns the root of the workspace that holds a directory, and the names of the remotes of its own repository.
    pub fn project(&self, cwd: &Path) -> Result<(PathBuf, Vec<String>)> {
        let root = timeline::root_of(self, cwd)?;
        let location = Location::of(&root);
        let remotes = location.as_ref().map(remotes_of).unwrap_or_default();
        Ok((root, remotes))
    }

    /// Makes a bundle of what is not at a remote yet. Objects are written below an empty directory. With `anew`, nothing
    /// counts as being there. Where the remote has no keys, ignored files are left out.
    pub fn outgoing(
        &mut self,
        cwd: &Path,
        remote: &Remote,
        anew: bool,
        scratch: &Path,
    ) -> Result<Outgoing> {
        outgoing::outgoing(self, cwd, remote, anew, scratch)
    }

    /// Returns the remotes of the workspace that holds a directory that still have what was forgotten here.
    pub fn behind_forget(&self, cwd: &Path) -> Result<Vec<Remote>> {
        let Some(place) = Place::find(self, cwd)? else {
            return Ok(Vec::new());
        };
        outgoing::behind_forget(self.database.connection(), place.row.id)
    }

    /// Notes the commit that is about to be pushed to a remote, as git stores it.
    pub fn begin_push(&mut self, cwd: &Path, address: &str, commit: &str) -> Result<()> {
        let remote = self.remote(cwd, address)?;
        self.database
            .write(|connection| sessions::begin_push(connection, remote.id, Some(commit)))
    }

    /// Notes that a bundle is at a remote, as a commit.
    pub fn end_push(&mut self, cwd: &Path, sent: &Outgoing, commit: &str) -> Result<()> {
        let remote = self.remote(cwd, &sent.address)?;
        self.database
            .write(|connection| sent.note(connection, remote.id, commit))
    }

    fn remote(&self, cwd: &Path, address: &str) -> Result<RemoteRow> {
        let place = Place::known(self, cwd)?;
        let rows = sessions::remotes(self.database.connection(), place.row.id)?;
        let row = rows.into_iter().find(|row| row.address == address);
        row.ok_or_else(|| Error::unavailable(format!("`{address}` is no remote of this workspace")))
    }

    /// Returns the commit of each machine that was fetched last from a remote, as git stores it.
    pub fn fetched(&self, cwd: &Path, address: &str) -> Result<Vec<(String, String)>> {
        let rows = self.machine_rows(cwd)?.into_iter();
        let rows = rows.filter(|row| row.address == address);
        Ok(rows.map(|row| (row.machine, row.tip)).collect())
    }

    fn machine_rows(&self, cwd: &Path) -> Result<Vec<MachineRow>> {
        match Place::find(self, cwd)? {
            Some(place) => sessions::machines(self.database.connection(), place.row.id),
            None => Ok(Vec::new()),
        }
    }

    /// Takes in bundles of a machine, in their order, up to a commit, as git stores it.
    pub fn take_in(
        &mut self,
        cwd: &Path,
        address: &str,
        machine: &str,
        bundles: &mut dyn Iterator<Item = Result<Bundle>>,
        tip: &str,
    ) -> Result<()> {
        incoming::take_in(self, cwd, address, machine, bundles, tip)
    }

    /// Returns the facts about the machines that pushed to a remote, each with the number of pushes that came now.
    pub fn machines(
        &self,
        cwd: &Path,
        address: &str,
        came: &dyn Fn(&str) -> u64,
    ) -> Result<Vec<ckpt_schema::report::FetchedMachine>> {
        let listed = sessions::listed_workspaces(self.database.connection())?;
        let rows = self.machine_rows(cwd)?.into_iter();
        let rows = rows.filter(|row| row.address == address);
        Ok(rows
            .map(|row| {
                let of_row = listed.iter().find(|one| one.row.id == row.workspace_id);
                ckpt_schema::report::FetchedMachine {
                    id: of_row.map(|one| one.row.key.clone()).unwrap_or_default(),
                    messages: of_row.map_or(0, |one| one.messages.cast_unsigned()),
                    pushes: came(&row.machine),
                    adopted: row.adopted,
                    machine: row.machine,
                }
            })
            .collect())
    }

    /// From now on, what is asked about a workspace is asked of the history that a machine has of it: by its name, or the
    /// beginning of it.
    pub fn look_at_machine(&mut self, machine: &str) {
        self.machine = Some(machine.to_owned());
    }

    /// Copies a state of a machine's into the history of the workspace that holds a directory, so that it can be restored
    /// here, and returns the id of its snapshot. What is asked from then on is about the workspace itself.
    pub fn bring(&mut self, cwd: &Path, id: &str) -> Result<String> {
        incoming::bring(self, cwd, id)
    }
}
