//! What every command works with: its common options, the outside world, the settings, the streams.

use std::path::PathBuf;

use ckpt_store::Store;

use super::arguments::Common;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::Output;
use crate::output::text::{know_ids, with_ids};
use crate::surroundings::{self, Environment};

/// What a command works with.
pub struct Invocation {
    /// The options of every command.
    pub common: Common,
    /// The outside world.
    pub surroundings: Environment,
    /// The settings.
    pub config: Config,
    /// The streams.
    pub output: Output,
}

impl Invocation {
    /// Returns the directory that the command is about.
    pub fn directory(&self) -> Result<PathBuf, Failure> {
        Ok(self
            .surroundings
            .directory(self.common.workspace.as_deref())?)
    }

    /// Returns the store's directory.
    pub fn store_directory(&self) -> Result<PathBuf, Failure> {
        Ok(self
            .surroundings
            .store_directory(self.common.store.as_deref())?)
    }

    /// Opens the store. A missing one is not created.
    pub fn open(&self) -> Result<Store, Failure> {
        let store = Store::open_existing(self.for_store()?)?;
        let shows_ids = !self.output.is_json() && !self.output.is_quiet();
        if shows_ids && let Ok(prefixes) = store.prefixes() {
            know_ids(prefixes, surroundings::least_of_an_id());
        }
        Ok(store)
    }

    /// Looks up ids that are about to be shown, over the store's connection. Otherwise, each is looked up when it is
    /// shown, over another one: SQLite reads the whole schema for it.
    pub fn look_up<'i>(&self, store: &Store, ids: impl IntoIterator<Item = &'i str>) {
        let ids: Vec<&str> = ids.into_iter().collect();
        with_ids(|known| drop(store.look_up(known, &ids)));
    }

    /// Opens the store, and creates a missing one: for a command that records.
    pub fn open_to_record(&self) -> Result<Store, Failure> {
        Ok(Store::open(self.for_store()?)?)
    }

    fn for_store(&self) -> Result<ckpt_store::Surroundings, Failure> {
        let directory = self.store_directory()?;
        Ok(self
            .surroundings
            .for_store(directory, self.config.settings.clone()))
    }
}
