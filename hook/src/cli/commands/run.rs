//! `run`: any command as a message with a step around it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use ckpt_command::config;
use ckpt_command::invocation::Invocation;
use ckpt_output::Output;
use ckpt_output::text::{safe_bytes, short};
use ckpt_process::failure::Failure;
use ckpt_process::surroundings;
use ckpt_process::{posix, signals};
use ckpt_schema::report::EventReport;
use ckpt_schema::{Event, EventKind};
use ckpt_store::model::number::count;
use ckpt_store::{Error, Store};
use rustix::io::Errno;

use super::exchange;
use crate::cli::arguments::{PushArguments, RunArguments};

/// Nothing could be recorded, and the command was not started: `env` and `timeout` exit with the same code.
const NOT_RECORDED: u8 = 125;
/// The command was found and could not be started.
const NOT_STARTED: u8 = 126;
/// There is no such command.
const NOT_FOUND: u8 = 127;

/// Records a message, runs the command as its only step, and returns the command's exit code.
pub fn run(invocation: &Invocation, arguments: &RunArguments) -> Result<u8, Failure> {
    let directory = invocation.directory()?;
    let session = Session {
        agent: &arguments.agent,
        id: format!("run-{}-{}", surroundings::now(), std::process::id()),
        cwd: &directory,
    };
    // A message that nothing was done for would only be in the way.
    if let Err(error) = is_there(&arguments.command[0]) {
        return Ok(not_started(
            &arguments.command[0],
            &error,
            &invocation.output,
        ));
    }
    let push_to = arguments.push.as_deref().map(|remote| {
        let name = arguments.push_name.as_deref();
        PushArguments::to(remote, name, &arguments.push_encrypt)
    });
    let mut store = match begin(invocation, arguments, &session, push_to.as_ref()) {
        Ok(store) => store,
        Err(failure) => {
            invocation.output.failure(&failure);
            return Ok(NOT_RECORDED);
        }
    };
    let mut command = Command::new(&arguments.command[0]);
    command.args(&arguments.command[1..]);
    let code = execute(&mut command, &invocation.output, |_| ());
    match end(&mut store, &session) {
        Ok(report) => tell(invocation, &report)?,
        // The command ran, and its exit code counts; the next event closes the step.
        Err(failure) => invocation.output.failure(&failure),
    }
    if let Some(arguments) = &push_to {
        drop(store);
        push(invocation, arguments);
    }
    Ok(code)
}

/// Pushes what the command did. The exit code is the command's, whatever becomes of it.
fn push(invocation: &Invocation, arguments: &PushArguments) {
    let output = &invocation.output;
    match exchange::send(invocation, arguments) {
        // The document of the step is the answer.
        Ok(_) if output.is_json() => {}
        Ok(sent) => {
            let report = sent.map(|outgoing| outgoing.report);
            let view = output.view();
            output.tell(&report.map_or_else(String::new, |report| {
                ckpt_output::exchange::push(&report, false, view)
            }));
        }
        Err(failure) => output.failure_beside(&failure),
    }
}

/// One run is one session.
struct Session<'a> {
    agent: &'a str,
    id: String,
    cwd: &'a Path,
}

impl Session<'_> {
    fn event(&self, kind: EventKind) -> Event {
        Event {
            cwd: Some(self.cwd.to_owned()),
            tool_use_id: matches!(kind, EventKind::ToolStart | EventKind::ToolFinish)
                .then(|| "command".to_owned()),
            ..Event::new(kind, self.agent, &self.id)
        }
    }
}

/// The workspace is captured before the command may touch it, and where to push it is known to be right.
fn begin(
    invocation: &Invocation,
    arguments: &RunArguments,
    session: &Session<'_>,
    push_to: Option<&PushArguments>,
) -> Result<Store, Failure> {
    let (_, settings) = config::of_directory(&invocation.config.settings, session.cwd);
    if !settings.enabled {
        return Err(is_turned_off());
    }
    let mut store = invocation.open_to_record()?;
    if let Some(arguments) = push_to {
        exchange::check(&store, session.cwd, arguments)?;
    }
    // A first snapshot may take longer than a hook has.
    store.snapshot(session.cwd, None, None)?;
    let prompt = arguments
        .prompt
        .clone()
        .unwrap_or_else(|| words(&arguments.command));
    let message = store.record(&Event {
        prompt: Some(prompt),
        ..session.event(EventKind::UserMessage)
    })?;
    // The settings of the workspace may differ from those of a directory in it.
    if message.message.is_none() {
        return Err(is_turned_off());
    }
    store.record(&session.event(EventKind::StepStart))?;
    store.record(&Event {
        tool_name: Some(words(&arguments.command[..1])),
        tool_command: Some(words(&arguments.command)),
        ..session.event(EventKind::ToolStart)
    })?;
    Ok(store)
}

fn is_turned_off() -> Failure {
    let error =
        Error::failed("the settings say `enabled = false` here, so nothing would be recorded");
    let hint = "run the command by itself, or see `ckpt-hook config`";
    error.hint(hint).into()
}

fn end(store: &mut Store, session: &Session<'_>) -> Result<EventReport, Failure> {
    store.record(&session.event(EventKind::ToolFinish))?;
    let report = store.record(&session.event(EventKind::StepFinish))?;
    store.record(&session.event(EventKind::TurnEnd))?;
    store.record(&session.event(EventKind::SessionEnd))?;
    Ok(report)
}

fn words(command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// Runs a command, with what is to be done meanwhile, and returns its exit code. Ctrl-C goes to both processes, but ends
/// only the command.
pub fn execute(command: &mut Command, output: &Output, meanwhile: impl FnOnce(&mut Child)) -> u8 {
    posix::outlive_interrupts();
    // Catch signals before the command starts: one that comes at once is then passed on.
    let passed_on = signals::catch();
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return not_started(command.get_program(), &error, output),
    };
    let passing = passed_on.to(&child);
    meanwhile(&mut child);
    // The command keeps its process id until it is waited for, so no other process gets its signals.
    signals::wait_for_end(&child);
    drop(passing);
    child.wait().map_or(NOT_STARTED, exit_code)
}

/// Says why a program does not start, and returns the exit code for that.
fn not_started(program: &OsStr, error: &io::Error, output: &Output) -> u8 {
    let name = safe_bytes(program.as_encoded_bytes());
    output.tell(&format!("error: cannot start `{name}`: {error}\n"));
    match error.kind() {
        ErrorKind::NotFound => NOT_FOUND,
        _ => NOT_STARTED,
    }
}

/// Looks for a program as the system does when it starts one: in the folders of the `PATH`, unless its name has a slash.
fn is_there(program: &OsStr) -> io::Result<()> {
    let is_path = program.as_encoded_bytes().contains(&b'/');
    let path = surroundings::variable("PATH").filter(|_| !is_path);
    let folders: Vec<PathBuf> = match &path {
        Some(path) => std::env::split_paths(path).collect(),
        None if is_path => vec![PathBuf::new()],
        // Then the system has folders of its own.
        None => return Ok(()),
    };
    let mut error = Errno::NOENT.into();
    for folder in folders {
        let program = folder.join(program);
        match program.metadata() {
            Ok(found) if found.is_file() && found.mode() & 0o111 != 0 => {
                match missing_interpreter(&program) {
                    None => return Ok(()),
                    Some(missing) => error = missing,
                }
            }
            Ok(_) => error = Errno::ACCESS.into(),
            Err(_) => {}
        }
    }
    Err(error)
}

/// Returns why a script does not start whose first line names an interpreter that is not there. The system only says that
/// a file is missing, and the script is not.
fn missing_interpreter(program: &Path) -> Option<io::Error> {
    let mut start = Vec::new();
    let file = File::open(program).ok()?;
    file.take(LONGEST_FIRST_LINE).read_to_end(&mut start).ok()?;
    let line = start
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let interpreter = line.trim_ascii().split(u8::is_ascii_whitespace).next()?;
    let is_missing = !interpreter.is_empty() && !Path::new(OsStr::from_bytes(interpreter)).exists();
    let name = safe_bytes(interpreter);
    is_missing.then(|| {
        let what = format!("there is no `{name}`, which its first line names");
        io::Error::new(ErrorKind::NotFound, what)
    })
}

/// How much of a script the system reads for its interpreter.
const LONGEST_FIRST_LINE: u64 = 256;

/// Shells print the same about a command.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Nothing follows the command's output on stdout, except a document that was asked for.
fn tell(invocation: &Invocation, report: &EventReport) -> Result<(), Failure> {
    if invocation.output.is_json() {
        return invocation.output.report(report, |_| String::new());
    }
    let changes = report.changes.unwrap_or_default();
    if let Some(message) = report.message.as_deref().filter(|_| changes > 0)
        && invocation.output.shows_progress()
    {
        let files = count(changes, "file");
        let id = short(message);
        invocation.output.tell(&format!(
            "ckpt-hook: {files} changed; `ckpt-hook revert --message {id}` takes it back\n"
        ));
    }
    Ok(())
}
