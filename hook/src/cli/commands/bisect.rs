//! `bisect`: runs a command on recorded states, each in a scratch directory of its own.

use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use ckpt_store::checkout::{Probe, Tested};
use ckpt_store::error::Context;
use ckpt_store::{Error, Result as Outcome};

use crate::cli::arguments::BisectArguments;
use ckpt_command::invocation::Invocation;
use ckpt_output::checkout;
use ckpt_output::text::safe_bytes;
use ckpt_process::PrivateFolder;
use ckpt_process::failure::{DONE, Failure};

/// The exit code of a command that cannot tell, as `git bisect run` has it.
const UNKNOWN: i32 = 125;

/// Finds where the command began to fail, and says it.
pub fn run(invocation: &Invocation, arguments: &BisectArguments) -> Result<u8, Failure> {
    let directory = invocation.directory()?;
    let store = invocation.open()?;
    // A test that takes the folder's name from where it runs finds it.
    let name = directory
        .file_name()
        .map_or(PathBuf::from("workspace"), PathBuf::from);
    let output = &invocation.output;
    let mut test = |probe: &Probe<'_>| {
        let verdict = test(probe, &name, &arguments.command, output.is_quiet())?;
        if !output.is_quiet() && !output.is_json() {
            output.tell(&checkout::tested(&probe.what, verdict));
        }
        Ok(verdict)
    };
    let report = store.bisect(&directory, arguments.from.as_deref(), &mut test)?;
    output.report(&report, |view| checkout::bisect(&report, view))?;
    Ok(DONE)
}

/// Runs the command on one state. Its output goes to stderr: stdout is the answer's.
fn test(probe: &Probe<'_>, name: &Path, words: &[OsString], is_quiet: bool) -> Outcome<Tested> {
    let folder = PrivateFolder::new().context(|| "cannot create a temporary directory")?;
    probe.lay_out(&folder.path().join(name))?;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null());
    match is_quiet {
        true => command.stdout(Stdio::null()).stderr(Stdio::null()),
        false => command.stdout(to_stderr()?),
    };
    let error = match folder.run(name, &mut command) {
        Ok(status) => return verdict(status),
        Err(error) => error,
    };
    let program = Path::new(&words[0]);
    let what = format!("cannot start `{}`", safe_bytes(words[0].as_encoded_bytes()));
    if error.kind() != ErrorKind::NotFound {
        return Err(Error::failed(what).because(error));
    }
    // Without a slash it is looked for in `$PATH`.
    let is_path = words[0].as_encoded_bytes().contains(&b'/');
    let missing = Error::unavailable(what).because(error);
    if !is_path || program.is_absolute() {
        return Err(missing);
    }
    match folder.path().join(name).join(program).exists() {
        true => Err(missing.hint("the interpreter that its first line names is not there")),
        // A state from before there was that program.
        false => Ok(Tested::Unknown),
    }
}

fn to_stderr() -> Outcome<Stdio> {
    let stderr = std::io::stderr().as_fd().try_clone_to_owned();
    Ok(File::from(stderr.context(|| "cannot pass stderr on")?).into())
}

/// Other ends, such as by a signal, say nothing about a state: `git bisect run` stops at them as well.
fn verdict(status: ExitStatus) -> Outcome<Tested> {
    match status.code() {
        Some(0) => Ok(Tested::Succeeds),
        Some(UNKNOWN) => Ok(Tested::Unknown),
        Some(1..=127) => Ok(Tested::Fails),
        _ => Err(
            Error::failed(format!("the command ended without a verdict: {status}"))
                .hint("where such an end is the failure to find, have it exit with 1: `sh -c 'COMMAND || exit 1'`"),
        ),
    }
}
