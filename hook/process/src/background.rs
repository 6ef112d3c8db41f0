//! Work that outlives the hook: a snapshot that takes longer than an agent should wait, and the work that remains after
//! a first one.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, setpriority_process};

/// The niceness of background work: the agent and the user come first.
const NICENESS: i32 = 10;

/// Starts a snapshot of the workspace that holds `cwd`, at low priority.
pub fn take_snapshot(store: &Path, cwd: &Path) -> io::Result<()> {
    let child = start("snapshot", store, cwd)?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // A snapshot at normal priority is better than none.
    let _ = setpriority_process(pid, NICENESS);
    Ok(())
}

/// Starts to push what is new in the workspace that holds `cwd`.
pub fn push(store: &Path, cwd: &Path) -> io::Result<()> {
    start("push", store, cwd).map(drop)
}

/// Starts to copy the objects that the store borrows from the repository of the workspace that holds `cwd`. It gives
/// way by itself, once no tool waits for it any more.
pub fn adopt_packs(store: &Path, cwd: &Path) -> io::Result<()> {
    start("settle", store, cwd).map(drop)
}

/// Lowers the priority of this process, for good.
pub fn give_way() {
    // What is left is done at normal priority rather than not at all.
    let _ = setpriority_process(None, NICENESS);
}

/// Starts one of our commands. It holds none of the hook's streams, because an agent waits until they are closed, and
/// is in no process group that the agent kills.
fn start(command: &str, store: &Path, cwd: &Path) -> io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .arg("--store")
        .arg(store)
        .arg("--workspace")
        .arg(cwd)
        .args(["--quiet", command])
        // Inside the workspace it would keep the user's mount busy.
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}
