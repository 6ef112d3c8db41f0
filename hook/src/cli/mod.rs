//! The command line of people and their programs: parses it, runs its command, shows a failure.

pub mod arguments;
/// One file a command or family: arguments become a request to the library, its report becomes output.
pub mod commands {
    pub mod acp;
    pub mod ask;
    pub mod bisect;
    pub mod blame;
    pub mod branch;
    pub mod candidates;
    pub mod cat;
    pub mod config;
    pub mod demo;
    pub mod diff;
    pub mod doctor;
    pub mod empty;
    pub mod event;
    pub mod exact;
    pub mod exchange;
    pub mod export;
    pub mod generate;
    pub mod history;
    pub mod inside;
    pub mod install;
    pub mod label;
    pub mod log;
    pub mod manual;
    pub mod meant;
    pub mod no_document;
    pub mod operation;
    pub mod parts;
    pub mod pick;
    pub mod query;
    pub mod recover;
    pub mod run;
    pub mod schema;
    pub mod short_name;
    pub mod snapshot;
    pub mod status;
    pub mod store_place;
    pub mod unrecorded;
    pub mod upkeep;
    pub mod watch;
    pub mod workspace;
}

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::process::ExitCode;
use std::sync::{Once, OnceLock};

use ckpt_command::config;
use ckpt_command::invocation::{Common, Invocation};
use ckpt_command::pager::Pages;
use ckpt_output::{Output, write_error};
use ckpt_process::failure::{DONE, FAILED, Failure, PARTIAL, is_help, place_of_panic};
use ckpt_process::posix;
use ckpt_process::surroundings::Environment;

use ckpt_serve::methods::MachineMethods;

use arguments::{Arguments, Command, Forward};
use commands::{
    acp, bisect, blame, branch, candidates, cat, demo, diff, doctor, empty, exact, exchange,
    export, generate, history, inside, install, label, log, manual, meant, no_document, operation,
    recover, run as run_command, schema, snapshot, status, upkeep, watch, workspace,
};

/// Runs a command of a person or a program.
pub fn run(arguments: &[OsString]) -> ExitCode {
    posix::outlive_file_limit();
    std::panic::set_hook(Box::new(|panic| apologise(panic.location())));
    let done = catch_unwind(AssertUnwindSafe(|| run_to_code(arguments)));
    ExitCode::from(done.unwrap_or_else(|_| after_a_panic()))
}

/// Says what a panic may have left behind, and returns the exit code for it.
fn after_a_panic() -> u8 {
    if !ckpt_store::has_begun_to_change() {
        return FAILED;
    }
    write_error(
        "note: files were changed before that; `ckpt-hook status` shows what was done, and the next command finishes the rest\n",
    );
    PARTIAL
}

/// A panic's message may quote a file, and its exit code is not ours.
fn apologise(place: Option<&Location<'_>>) {
    let is_in = |file: &str| place.is_some_and(|place| place.file().contains(file));
    // The standard library panics, and then aborts, where a new thread gets no memory for its signals.
    if is_in("stack_overflow.rs") {
        return;
    }
    // It panics for nothing else.
    if is_in("/libdeflater-") {
        return write_error("error: there is not enough memory\n");
    }
    let place = place_of_panic(place);
    let hint = "please report it, with the output of `ckpt-hook --version`";
    write_error(&format!(
        "error: this is a bug in ckpt-hook, at {place}\nhint: {hint}\n"
    ));
}

fn run_to_code(words: &[OsString]) -> u8 {
    let surroundings = Environment::read();
    let arguments = match Arguments::read(words) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(words, &surroundings, error),
    };
    let surroundings = match arguments.command {
        Command::Serve(_) | Command::Mcp(_) => surroundings.in_project(),
        _ => surroundings,
    };
    let config = config::read_or_tell(
        surroundings.config_file().as_deref(),
        surroundings.home.as_deref(),
    );
    let output = Output::new(arguments.common.wanted(), &surroundings);
    let is_for_a_person = !output.is_json() && !arguments.command.is_for_a_program();
    let is_doctor = matches!(arguments.command, Command::Doctor(_));
    let invocation = Invocation {
        common: arguments.common,
        surroundings,
        config,
        output,
        notices: OnceLock::new(),
        told: Once::new(),
        is_for_a_person,
        copy: OnceLock::new(),
        tidied: OnceLock::new(),
        brought: OnceLock::new(),
    };
    let done = foreign(&invocation, &arguments.command)
        .and_then(|()| no_document::check(&invocation, &arguments.command))
        .and_then(|()| exact::check(&invocation, &arguments.command))
        .and_then(|()| dispatch(&invocation, &arguments.command));
    let code = match done {
        Ok(code) => code,
        Err(failure) => {
            let failure = meant::explained(&invocation, &arguments.command, failure);
            let failure = empty::explained(&invocation, failure);
            invocation.output.failure(&failure);
            failure.code()
        }
    };
    invocation.show_notices();
    // `doctor` has it among its findings.
    if !is_doctor {
        invocation.tell_of_obstacle();
    }
    code
}

/// What another machine recorded is only looked at: it is taken back there, or once a directory here goes on with it.
fn foreign(invocation: &Invocation, command: &Command) -> Result<(), Failure> {
    match &invocation.common.machine {
        Some(_) if !command.may_be_foreign() => Err(Failure::usage(
            "that cannot be done to what another machine has recorded",
            "`ckpt-hook workspace adopt ID` makes its history the one of this directory, and `ckpt-hook workspace list` has the ID; `restore ID PATH` brings files of it here",
        )),
        _ => Ok(()),
    }
}

/// Help and version are errors to clap, too; they go to stdout.
fn refuse(words: &[OsString], surroundings: &Environment, error: clap::Error) -> u8 {
    let output = Output::new(Common::glance(words).wanted(), surroundings);
    if !is_help(&error) {
        let failure = Failure::Arguments(error);
        output.failure(&failure);
        // An agent would not show the text.
        let is_inside = words.get(1).is_some_and(|word| word == "inside");
        return if is_inside { DONE } else { failure.code() };
    }
    show_help(&output, &error)
}

/// Prints help or the version on stdout.
fn show_help(output: &Output, error: &clap::Error) -> u8 {
    let text = error.render();
    let text = if output.view().paint.is_on() {
        text.ansi().to_string()
    } else {
        text.to_string()
    };
    let mut pages = Pages::on(output);
    let shown = pages.text(&text).and_then(|()| pages.end());
    shown.map_or(FAILED, |()| DONE)
}

/// Prints the help of a command that agents call. Returns the exit code.
pub fn help(words: &[OsString], error: &clap::Error) -> u8 {
    let wanted = Common::glance(words).wanted();
    show_help(&Output::new(wanted, &Environment::read()), error)
}

fn dispatch(invocation: &Invocation, command: &Command) -> Result<u8, Failure> {
    match command {
        Command::Event(_)
        | Command::StepStart(_)
        | Command::StepFinish(_)
        | Command::Message(_) => {
            unreachable!("the guard takes what agents call")
        }
        Command::Undo(arguments) => operation::undo(invocation, arguments),
        Command::Revert(arguments) => operation::revert(invocation, arguments),
        Command::Redo(arguments) => {
            operation::redo(invocation, &arguments.forward, arguments.how_far())
        }
        Command::Unrevert(arguments) => operation::redo(invocation, arguments, Forward::AllTheWay),
        Command::Restore(arguments) => operation::restore(invocation, arguments),
        Command::Status(arguments) => status::run(invocation, arguments),
        Command::Log(arguments) => log::run(invocation, arguments),
        Command::Ui(arguments) => operation::browse(invocation, arguments),
        Command::Page(arguments) => ckpt_page::run(invocation, arguments),
        Command::Show(arguments) => history::show(invocation, arguments),
        Command::Sessions(arguments) => history::sessions(invocation, arguments),
        Command::Export(arguments) => export::run(invocation, arguments),
        Command::Diff(arguments) => diff::run(invocation, arguments),
        Command::Push(arguments) => exchange::push(invocation, arguments),
        Command::Fetch(arguments) => exchange::fetch(invocation, arguments),
        Command::Snapshot(arguments) => snapshot::run(invocation, arguments),
        Command::Cat(arguments) => cat::run(invocation, arguments),
        Command::Recover(arguments) => recover::run(invocation, arguments),
        Command::Branch(arguments) => branch::run(invocation, arguments),
        Command::Bisect(arguments) => bisect::run(invocation, arguments),
        Command::Acp(arguments) => acp::run(invocation, arguments),
        Command::Run(arguments) => run_command::run(invocation, arguments),
        Command::Blame(arguments) => blame::run(invocation, arguments),
        Command::Label(arguments) => label::run(invocation, arguments),
        Command::Workspace(arguments) => workspace::run(invocation, arguments),
        Command::Install(arguments) => install::install(invocation, arguments),
        Command::Uninstall(arguments) => install::uninstall(invocation, arguments),
        Command::Settle => snapshot::adopt_packs(invocation),
        Command::Config(arguments) => commands::config::run(invocation, arguments),
        Command::Doctor(arguments) => doctor::run(invocation, arguments),
        Command::Gc(arguments) => upkeep::gc(invocation, arguments),
        Command::Du(arguments) => upkeep::du(invocation, arguments),
        Command::Forget(arguments) => upkeep::forget(invocation, arguments),
        Command::Demo => demo::run(invocation),
        Command::Inside(arguments) => inside::run(invocation, arguments),
        Command::Serve(arguments) => {
            let machine = MachineMethods {
                doctor: doctor::answer,
                install: install::answer,
            };
            ckpt_serve::run(invocation, arguments, machine)
        }
        Command::Mcp(arguments) => ckpt_serve::mcp::run(invocation, arguments),
        Command::Watch(arguments) => watch::run(invocation, arguments),
        Command::Schema { name } => schema::run(invocation, name.as_deref()),
        Command::Candidates { kind } => candidates::run(invocation, *kind),
        Command::Completions { shell } => generate::completions(invocation, *shell),
        Command::Man { output } => manual::run(invocation, output.as_deref()),
    }
}
