//! What every command works with: its common options, the outside world, the settings, the streams.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Once, OnceLock};
use std::time::SystemTime;

use ckpt_agents::conversations::AgentConversations;
use ckpt_output::paint::When;
use ckpt_output::text::know_ids;
use ckpt_output::{Output, OutputOptions};
use ckpt_process::PrivateFolder;
use ckpt_process::failure::Failure;
use ckpt_process::surroundings::{self, Environment};
use ckpt_store::Store;
use ckpt_store::error::Context;
use ckpt_store::sessions::Notices;
use clap::{ArgAction, Args, ValueEnum as _};

use crate::config::Config;
use crate::writable;

/// Options of every command.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct Common {
    /// The store's directory [default: $CKPT_HOOK_HOME, else ckpt-hook in your data folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// A directory in the workspace to use [default: the current one]
    #[arg(long, global = true, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Look at what was fetched from this machine, and not at this one's own
    #[arg(long, global = true, value_name = "NAME")]
    pub machine: Option<String>,
    /// Print one JSON document, and ignore other options for the output
    #[arg(long, global = true)]
    pub json: bool,
    /// Print JSON line by line: progress as it happens, then the document
    #[arg(long, global = true)]
    pub json_lines: bool,
    /// Take ids only in full: no prefix, no label, no `last`
    #[arg(long, global = true)]
    pub exact: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    pub color: When,
    /// Print more
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    pub verbose: u8,
    /// Print less
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

impl Common {
    /// The requests about the output.
    pub fn wanted(&self) -> OutputOptions {
        OutputOptions {
            json: self.json || self.json_lines,
            json_lines: self.json_lines,
            quiet: self.quiet,
            verbose: self.verbose > 0,
            color: self.color,
            workspace: self.workspace.clone(),
        }
    }

    /// The output for arguments that cannot be read.
    pub fn glance(arguments: &[OsString]) -> Self {
        // What follows is data: an id, a path, or another program's options.
        let data = arguments.iter().position(|word| word == "--");
        let arguments = &arguments[..data.unwrap_or(arguments.len())];
        let json = arguments
            .iter()
            .any(|word| word == "--json" || word == "--json-lines");
        let after = arguments
            .iter()
            .skip_while(|word| *word != "--color")
            .nth(1)
            .and_then(|word| word.to_str());
        let inside = arguments
            .iter()
            .find_map(|word| word.to_str()?.strip_prefix("--color="));
        let color = after
            .or(inside)
            .and_then(|word| When::from_str(word, true).ok())
            .unwrap_or_default();
        Self {
            json,
            color,
            ..Self::default()
        }
    }
}

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
    /// What is to be told once the command is done, if a person gave it; read when the store is first opened.
    pub notices: OnceLock<Notices>,
    /// Done once that was told.
    pub told: Once,
    /// Whether a person gave the command, and reads what it says.
    pub is_for_a_person: bool,
    /// The copy of a store that cannot be written to; it goes with the command.
    pub copy: OnceLock<PrivateFolder>,
    /// When the store was last tidied up before it was first opened.
    pub tidied: OnceLock<Option<SystemTime>>,
    /// Set once a state of another machine's is in this one's own history.
    pub brought: OnceLock<()>,
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
        let given = self.for_store()?;
        self.tidied
            .get_or_init(|| ckpt_store::last_tidied(&given.directory));
        let mut store = Store::open_existing(given)?;
        self.serve_person(&mut store);
        self.tell_of_forgetting(&store)?;
        if let (Some(machine), None) = (&self.common.machine, self.brought.get()) {
            store.look_at_machine(machine);
        }
        let shows_ids = !self.output.is_json() && !self.output.is_quiet();
        if shows_ids && let Ok(prefixes) = store.prefixes() {
            know_ids(prefixes, surroundings::least_of_an_id());
        }
        Ok(store)
    }

    /// Opens the store, and creates a missing one: for a command that records.
    pub fn open_to_record(&self) -> Result<Store, Failure> {
        let mut store = Store::open(self.for_store()?)?;
        self.serve_person(&mut store);
        self.tell_of_forgetting(&store)?;
        Ok(store)
    }

    /// Opens the store for a question about what is in the workspace now, which takes a lock and a snapshot: of a store
    /// that cannot be written to, a private copy. Never for what changes the workspace: its way back would go with the
    /// copy.
    pub fn open_to_compare(&self) -> Result<Store, Failure> {
        let store = self.open()?;
        if !store.is_read_only() {
            return Ok(store);
        }
        let what = || "cannot create a temporary directory";
        let copy = PrivateFolder::new().context(what)?;
        copy.make(Path::new("store")).context(what)?;
        let directory = copy.path().join("store");
        store.copy(&self.directory()?, &directory)?;
        let given = self.surroundings.for_store(
            directory,
            self.config.settings.clone(),
            &AgentConversations,
        );
        let _ = self.copy.set(copy);
        Ok(Store::open_existing(given)?)
    }

    /// Opens the store for an operation, or for its plan alone.
    pub fn open_to_operate(&self, is_dry_run: bool) -> Result<Store, Failure> {
        let mut store = match is_dry_run {
            true => self.open_to_compare(),
            false => self.open(),
        }?;
        if self.common.workspace.is_some() {
            store.limit_to_workspace();
        }
        Ok(store)
    }

    /// Reads what is to be told to a person, and adds the views for what a person may ask next.
    fn serve_person(&self, store: &mut Store) {
        if self.is_for_a_person {
            if !store.is_missing() {
                store.add_views();
            }
            self.notices.get_or_init(|| store.notices());
        }
    }

    /// Tells a person of events that were lost for a reason of the store's own, once.
    pub fn show_notices(&self) {
        let Some(notices) = self
            .notices
            .get()
            .filter(|notices| !notices.sentences.is_empty())
        else {
            return;
        };
        self.told.call_once(|| {
            self.output.warn(notices);
            let opened = self.for_store().map(Store::open_existing);
            if let Ok(Ok(mut store)) = opened {
                store.mark_shown(notices);
            }
        });
    }

    /// Tells a person, after a command that looked into the store, that hooks cannot write to it: they are silent.
    pub fn tell_of_obstacle(&self) {
        let is_asked = self.notices.get().is_some() && !self.output.is_quiet();
        let directory = self.store_directory().ok().filter(|_| is_asked);
        if let Some(obstacle) = directory.and_then(|directory| writable::look(&directory)) {
            self.output.warn_of(&obstacle.message, obstacle.hint);
        }
    }

    /// Says that something that was to be forgotten is still stored.
    fn tell_of_forgetting(&self, store: &Store) -> Result<(), Failure> {
        if !self.output.is_quiet() && store.is_forgetting()? {
            self.output.tell(
                "note: a `forget` was interrupted, and what it was to remove may still be stored: \
                 `ckpt-hook gc` finishes what was begun\n",
            );
        }
        Ok(())
    }

    fn for_store(&self) -> Result<ckpt_store::Surroundings, Failure> {
        let directory = self.store_directory()?;
        Ok(self.surroundings.for_store(
            directory,
            self.config.settings.clone(),
            &AgentConversations,
        ))
    }
}
