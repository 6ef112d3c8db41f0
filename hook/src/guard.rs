//! Guarantees for a process that an agent calls: whatever happens, it exits with 0, in silence and in time.
//!
//! A usage error of clap is exit code 2, which blocks the tool in Claude Code; a panic is 101, an abort 134, and some
//! agents treat anything but 0 as a refusal. So the guard starts before the first argument is read, and all work for an
//! agent is done inside it. What went wrong goes to the database's diagnostics and to the log file instead.
//!
//! `--strict` turns a failure into exit code 1 with a message, `--json` prints one line of result.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Duration;

use ckpt_process::failure::{self, DONE, FAILED, Failure};
#[cfg(debug_assertions)]
use ckpt_process::fault;
use ckpt_process::posix::OpenStreams;
use ckpt_process::stdin;
use ckpt_process::surroundings::{self, Environment};
use ckpt_process::{background, posix};

use crate::cli;
use crate::cli::commands::event::{self, Recorded};
use crate::log_file::{Level, LogFile};

use crate::watchdog::Watchdog;

/// The commands that agents call.
const HOOK_COMMANDS: [&str; 4] = ["event", "step-start", "step-finish", "message"];

/// The deadline until the settings say otherwise.
const DEADLINE: Duration = Duration::from_secs(10);

/// The log to which a panic is written: a panic hook has no other access to it.
static LOG: OnceLock<LogFile> = OnceLock::new();

/// The place of the first panic.
static PANIC: OnceLock<String> = OnceLock::new();

/// What a hook's command line says without being parsed.
#[derive(Debug, PartialEq, Eq)]
struct Glance {
    strict: bool,
    json: bool,
    help: bool,
    store: Option<PathBuf>,
}

/// Returns whether an agent is the caller.
///
/// The command is the first word that is neither an option nor an option's value. If that word is not one of our
/// commands, any word counts: a typo in an agent's settings must not block its tools.
pub fn is_hook_call(arguments: &[OsString], commands: &[&str]) -> bool {
    let is_hook = |word: &OsStr| HOOK_COMMANDS.iter().any(|command| word == *command);
    match first_word(arguments) {
        Some(word) if commands.iter().any(|command| word == *command) => is_hook(word),
        _ => arguments.iter().skip(1).any(|word| is_hook(word)),
    }
}

/// Returns whether the caller may be an agent although the command is unknown: some agents drop the arguments in their
/// settings, and settings may have a command of another version.
pub fn may_be_hook_call(arguments: &[OsString], commands: &[&str]) -> bool {
    let is_about_us = |word: &OsString| {
        ["-h", "--help", "-V", "--version"]
            .iter()
            .any(|option| word == option)
    };
    let is_ours = match first_word(arguments) {
        Some(word) => commands.iter().any(|command| word == *command),
        None => arguments.iter().any(is_about_us),
    };
    // An agent writes a payload to each hook; a script has a file or nothing there.
    !is_ours && stdin::is_from_program()
}

/// Lets an agent continue whose call is invalid: exit code 2 would erase its user's message.
pub fn accept_invalid(arguments: &[OsString]) -> ExitCode {
    posix::behave(DONE, OpenStreams::default());
    stdin::listen();
    let surroundings = Environment::read();
    let store = surroundings.store_directory(Glance::at(arguments).store.as_deref());
    if let (Ok(store), false) = (store, surroundings::is_disabled()) {
        let log = LogFile::new(&store, surroundings.log_level.as_deref(), surroundings::now);
        log.line(
            Level::Error,
            "a hook was called with arguments that make no sense: `ckpt-hook doctor` looks at the agents' settings",
        );
    }
    ExitCode::from(DONE)
}

fn first_word(arguments: &[OsString]) -> Option<&OsStr> {
    let mut words = options(arguments);
    words.find_map(|(word, _)| {
        let is_option = word.to_str().is_some_and(|word| word.starts_with('-'));
        (!is_option).then_some(word)
    })
}

/// The options that have a value. What a user wrote, or an id, may look like an option itself.
const WITH_VALUE: [&str; 10] = [
    "--store",
    "--workspace",
    "--machine",
    "--color",
    "--agent",
    "--event",
    "--session",
    "--message",
    "--step",
    "--prompt",
];

/// Returns the words of a command line, the name of the program left out, each option together with its value.
fn options(arguments: &[OsString]) -> impl Iterator<Item = (&OsStr, Option<&OsStr>)> {
    let mut words = arguments.iter().skip(1).map(OsString::as_os_str);
    std::iter::from_fn(move || {
        let word = words.next()?;
        let has_value = WITH_VALUE.iter().any(|option| word == *option);
        Some((word, has_value.then(|| words.next()).flatten()))
    })
}

impl Glance {
    fn at(arguments: &[OsString]) -> Self {
        let has = |option: &str| options(arguments).any(|(word, _)| word == option);
        let after = options(arguments).find(|(word, _)| *word == "--store");
        let after = after.and_then(|(_, value)| value.map(PathBuf::from));
        let inside = options(arguments)
            .find_map(|(word, _)| word.to_str()?.strip_prefix("--store=").map(PathBuf::from));
        let help = has("--help") || has("-h");
        Self {
            strict: has("--strict"),
            json: has("--json") || has("--json-lines"),
            help,
            store: after.or(inside),
        }
    }
}

/// Runs a hook's command line. Its only results are an exit code and what `--strict` and `--json` ask for.
pub fn run(arguments: &[OsString]) -> ExitCode {
    let glance = Glance::at(arguments);
    if surroundings::is_disabled() {
        stdin::listen();
        return finish(arguments, &glance, &Ok(Recorded::nothing()));
    }
    // The text for an agent goes to a copy of standard output; the stream itself is closed, so that nothing else can
    // write to it.
    let voice = posix::keep_stdout();
    let open = OpenStreams {
        stdout: glance.json || glance.help,
        stderr: glance.strict,
    };
    posix::behave(if glance.strict { FAILED } else { DONE }, open);
    std::panic::set_hook(Box::new(note_panic));
    // Before the settings are read: reading them may be what hangs. They set the deadline anew.
    let watchdog = Watchdog::start(DEADLINE, glance.strict);
    let done = catch_unwind(AssertUnwindSafe(|| guarded(arguments, &glance, &watchdog)));
    // The panic's own value may quote a payload. Its place is known from the panic hook.
    let done = done.unwrap_or_else(|_| Err(panicked()));
    if let (
        Ok(Recorded {
            words: Some(words), ..
        }),
        Some(voice),
        false,
    ) = (&done, voice, glance.json)
    {
        // If the agent does not read it, that is not our failure.
        let _ = writeln!(std::fs::File::from(voice), "{words}");
    }
    let code = finish(arguments, &glance, &done);
    if let Ok(Recorded {
        unsettled: Some((store, cwd)),
        ..
    }) = &done
    {
        // If it cannot be started, the first tool or the next operation does the work.
        let _ = background::adopt_packs(store, cwd);
    }
    code
}

fn panicked() -> Failure {
    let place = PANIC.get().map_or(failure::UNKNOWN_PLACE, String::as_str);
    Failure::Store(ckpt_store::Error::failed(format!(
        "the hook panicked at {place}"
    )))
}

fn guarded(
    arguments: &[OsString],
    glance: &Glance,
    watchdog: &Watchdog,
) -> Result<Recorded, Failure> {
    let surroundings = Environment::read();
    let store = surroundings.store_directory(glance.store.as_deref())?;
    let log = LogFile::new(&store, surroundings.log_level.as_deref(), surroundings::now);
    watchdog.note_in(log.clone());
    let log = LOG.get_or_init(|| log);
    if let Some(line) = log.crash_line() {
        posix::note_crashes_in(log.path(), line);
    }
    #[cfg(debug_assertions)]
    fault::strike();
    event::run(arguments, &surroundings, &store, log, watchdog)
}

/// A panic's message may quote what the hook was reading, so only its place is noted.
fn note_panic(panic: &std::panic::PanicHookInfo<'_>) {
    let place = failure::place_of_panic(panic.location());
    if let Some(log) = LOG.get() {
        log.line(Level::Error, &format!("a hook panicked at {place}"));
    }
    // Set already: the first panic is the cause, and a later one often follows from it.
    let _ = PANIC.set(place);
}

fn finish(arguments: &[OsString], glance: &Glance, done: &Result<Recorded, Failure>) -> ExitCode {
    if let Err(Failure::Arguments(error)) = done
        && failure::is_help(error)
    {
        // No agent asks for this.
        return ExitCode::from(cli::help(arguments, error));
    }
    if glance.json {
        print_line(done);
    }
    match done {
        Err(failure) if glance.strict => {
            ckpt_output::write_error(&ckpt_output::failure::render(
                failure,
                ckpt_output::paint::Paint::PLAIN,
            ));
            ExitCode::from(FAILED)
        }
        Ok(_) | Err(_) => ExitCode::from(DONE),
    }
}

fn print_line(done: &Result<Recorded, Failure>) {
    let line = match done {
        Ok(recorded) => serde_json::to_string(&recorded.report),
        Err(failure) => serde_json::to_string(&ckpt_output::failure::document(failure)),
    };
    if let Ok(line) = line {
        // The output is closed.
        let _ = writeln!(
            std::io::stdout().lock(),
            "{}",
            ckpt_output::text::safe_json(&line)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    /// A hook is known by its command and nothing else.
    #[test]
    fn hook_is_known_by_its_command() {
        let commands = ["event", "message", "step-start", "log", "revert"];
        let cases = [
            ("ckpt-hook event", true),
            ("ckpt-hook --store event log", false),
            ("ckpt-hook --store /x --json event --bogus", true),
            ("ckpt-hook --store=/x -v step-start", true),
            ("ckpt-hook revert --message event", false),
            ("ckpt-hook --bogus value event", true),
            ("ckpt-hook evnt --agent claude-code", false),
            ("ckpt-hook", false),
        ];
        for (line, hook) in cases {
            assert_eq!(is_hook_call(&words(line), &commands), hook, "of `{line}`");
        }
    }

    /// What a person asks for is never taken for a hook's call.
    #[test]
    fn persons_command_is_no_hooks_call() {
        for line in [
            "ckpt-hook --help",
            "ckpt-hook -V",
            "ckpt-hook log",
            "ckpt-hook --json revert",
        ] {
            assert!(
                !may_be_hook_call(&words(line), &["log", "revert"]),
                "of `{line}`"
            );
        }
    }

    #[test]
    fn a_glance_sees_what_decides_about_manners() {
        let glance = Glance::at(&words("ckpt-hook --store=/x event --strict"));
        assert_eq!(
            glance,
            Glance {
                strict: true,
                json: false,
                help: false,
                store: Some("/x".into())
            },
            "without clap"
        );
    }
}
