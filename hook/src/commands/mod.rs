//! The commands: arguments become a request to the library, its report becomes output. One file a command or family.

pub mod demo;
pub mod diff;
pub mod doctor;
pub mod event;
pub mod generate;
pub mod history;
pub mod install;
pub mod operation;
pub mod pick;
pub mod snapshot;
pub mod status;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

use ckpt_store::Store;

use crate::arguments::{Arguments, Command, Common};
use crate::config::{self, Config};
use crate::failure::{DONE, FAILED, Failure, is_help};
use crate::output::{self, Output};
use crate::surroundings::Surroundings;

/// What a command works with.
pub struct Invocation {
    /// The options of every command.
    pub common: Common,
    /// The outside world.
    pub surroundings: Surroundings,
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

    /// Opens the store.
    pub fn open(&self) -> Result<Store, Failure> {
        let directory = self.store_directory()?;
        Ok(Store::open(
            self.surroundings
                .for_store(directory, self.config.settings.clone()),
        )?)
    }
}

/// Runs a command that a person, or a program of theirs, gave.
pub fn run(arguments: &[OsString]) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| apologise(panic.location())));
    let code = catch_unwind(AssertUnwindSafe(|| run_to_code(arguments))).unwrap_or(FAILED);
    ExitCode::from(code)
}

/// A panic's own words may quote a file, and its exit code is none of ours.
fn apologise(place: Option<&Location<'_>>) {
    let place = place.map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    let hint = "please report it, with the output of `ckpt-hook --version`";
    output::write_error(&format!(
        "error: this is a bug of ckpt-hook, at {place}\nhint: {hint}\n"
    ));
}

fn run_to_code(words: &[OsString]) -> u8 {
    let surroundings = Surroundings::read();
    let arguments = match Arguments::read(words) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(words, &surroundings, error),
    };
    let config = config::read(
        surroundings.config_file().as_deref(),
        surroundings.home.as_deref(),
    );
    let output = Output::new(&arguments.common, &surroundings);
    let invocation = Invocation {
        common: arguments.common,
        surroundings,
        config,
        output,
    };
    match dispatch(&invocation, &arguments.command) {
        Ok(code) => code,
        Err(failure) => {
            invocation.output.failure(&failure);
            failure.code()
        }
    }
}

/// Help and version are errors to clap, too; they go to stdout.
fn refuse(words: &[OsString], surroundings: &Surroundings, error: clap::Error) -> u8 {
    let output = Output::new(&Common::glance(words), surroundings);
    if !is_help(&error) {
        let failure = Failure::Arguments(error);
        output.failure(&failure);
        return failure.code();
    }
    let text = error.render();
    let text = if output.view().paint.is_on() {
        text.ansi().to_string()
    } else {
        text.to_string()
    };
    output.text(&text).map_or(FAILED, |()| DONE)
}

fn dispatch(invocation: &Invocation, command: &Command) -> Result<u8, Failure> {
    match command {
        Command::Event(_)
        | Command::StepStart(_)
        | Command::StepFinish(_)
        | Command::Message(_) => {
            unreachable!("the guard takes what agents call")
        }
        Command::Revert(arguments) => operation::revert(invocation, arguments),
        Command::Redo(arguments) => operation::redo(invocation, &arguments.forward, arguments.all),
        Command::Unrevert(arguments) => operation::redo(invocation, arguments, true),
        Command::Restore(arguments) => operation::restore(invocation, arguments),
        Command::Status(arguments) => status::run(invocation, arguments),
        Command::Log(arguments) => history::log(invocation, arguments),
        Command::Show(arguments) => history::show(invocation, arguments),
        Command::Sessions(arguments) => history::sessions(invocation, arguments),
        Command::Diff(arguments) => diff::run(invocation, arguments),
        Command::Snapshot(arguments) => snapshot::run(invocation, arguments),
        Command::Install(arguments) => install::install(invocation, arguments),
        Command::Uninstall(arguments) => install::uninstall(invocation, arguments),
        Command::Doctor => doctor::run(invocation),
        Command::Demo => demo::run(invocation),
        Command::Completions { shell } => generate::completions(invocation, *shell),
        Command::Man { output } => generate::manual(invocation, output.as_deref()),
    }
}
