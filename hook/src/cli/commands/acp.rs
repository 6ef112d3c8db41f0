//! `acp`: an agent that speaks the Agent Client Protocol, with what it does recorded. Every byte is passed on as it came.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use ckpt_agents::acp::AcpConnection;
use ckpt_agents::install;
use ckpt_command::invocation::Invocation;
use ckpt_process::failure::Failure;
use ckpt_schema::Event;
use ckpt_store::{Error, Store};

use super::install::InstallPaths;
use super::run::execute;
use crate::cli::arguments::AcpArguments;

/// Starts the agent between the streams of this process, and returns its exit code.
pub fn run(invocation: &Invocation, arguments: &AcpArguments) -> Result<u8, Failure> {
    let program = Path::new(&arguments.command[0]).file_name();
    let program = program.unwrap_or_default().to_string_lossy();
    let agent = arguments.agent.as_deref();
    let agent = agent
        .or_else(|| install::of_program(&program))
        .unwrap_or(&program);
    let recorder = Arc::new(Mutex::new(AcpRecorder {
        store: store(invocation, agent),
        connection: AcpConnection::new(agent),
    }));
    let mut command = Command::new(&arguments.command[0]);
    command.args(&arguments.command[1..]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let code = execute(&mut command, &invocation.output, |agent| {
        if let Some(to_agent) = agent.stdin.take() {
            let recorder = Arc::clone(&recorder);
            // It may wait for the editor for longer than there is an agent.
            let started = thread::Builder::new().spawn(move || {
                relay(
                    std::io::stdin(),
                    to_agent,
                    &recorder,
                    AcpConnection::hear_editor,
                );
            });
            // The agent's input went with it, so it ends by itself.
            if let Err(error) = started {
                let failure = Error::failed("cannot start a thread").because(error);
                invocation.output.failure(&failure.into());
            }
        }
        if let Some(from_agent) = agent.stdout.take() {
            let to_editor = std::io::stdout();
            relay(from_agent, to_editor, &recorder, AcpConnection::hear_agent);
        }
    });
    note(&recorder, |connection, ()| connection.end(), ());
    Ok(code)
}

/// What is recorded, and where; nowhere, if nothing can be, or the agent's own hook does it.
struct AcpRecorder {
    store: Option<Store>,
    connection: AcpConnection,
}

fn store(invocation: &Invocation, agent: &str) -> Option<Store> {
    let states = InstallPaths::of(invocation).map(|paths| install::list(&paths.place()));
    let mut states = states.iter().flatten();
    if states.any(|state| state.agent == agent && state.works()) {
        let why =
            format!("ckpt-hook: nothing is recorded here: {agent} calls the hook by itself\n");
        invocation.output.tell(&why);
        return None;
    }
    let opened = invocation.open_to_record();
    opened
        .map_err(|failure| invocation.output.failure(&failure))
        .ok()
}

/// Records what something means. An event that cannot be recorded is left out: the agent goes on.
fn note<T>(
    recorder: &Mutex<AcpRecorder>,
    meaning: fn(&mut AcpConnection, T) -> Vec<Event>,
    told: T,
) {
    let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
    let events = meaning(&mut recorder.connection, told);
    let Some(store) = &mut recorder.store else {
        return;
    };
    for event in events {
        let _left_out = store.record(&event);
    }
}

/// Passes lines on, each after what it means was recorded, until one of the sides is gone.
fn relay(
    from: impl Read,
    mut to: impl Write,
    recorder: &Mutex<AcpRecorder>,
    meaning: fn(&mut AcpConnection, &[u8]) -> Vec<Event>,
) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        note(recorder, meaning, &line[..]);
        if to.write_all(&line).and_then(|()| to.flush()).is_err() {
            return;
        }
        line.clear();
    }
}
