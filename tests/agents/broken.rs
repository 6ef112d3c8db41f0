//! A hook that is broken, in every way that we could think of: the agent goes on as if there were none.
//!
//! Each message of a conversation meets another break, because starting an agent takes longer than all else here.

use std::cell::Cell;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use crate::conversation::Conversation;
use crate::program::Agent;
use testing::executable;
use testing::machine::Machine;

/// The agent goes on with a full disk with held locks and without the binary.
///
/// See its name: a message each.
///
/// Invariant `agent/same-behaviour`.
pub fn agent_goes_on_without_disk_locks_or_binary(agent: &'static Agent) {
    let holder = Cell::new(None);
    let conversation = Conversation::with_hook(agent).hold(|world, turn| match turn {
        1 => fill_disk(world),
        2 => {
            world.wait_for_hooks();
            assert_eq!(
                recorded(world),
                0,
                "there was no room for the first message"
            );
            empty_disk(world);
            holder.set(Some(hold_locks(world)));
        }
        _ => {
            end(holder.take());
            fs::remove_file(world.binary()).expect("it is there");
        }
    });
    conversation.expect_unchanged();
}

/// The agent goes on without permission to the store and with a damaged store.
///
/// See its name: the first and the last message; the second one is recorded.
///
/// Invariant `agent/same-behaviour`.
pub fn agent_goes_on_without_a_usable_store(agent: &'static Agent) {
    let conversation = Conversation::with_hook(agent).hold(|world, turn| match turn {
        1 => {
            fs::create_dir_all(world.store()).expect("a writable home");
            set_mode(&world.store(), 0o000);
            world.give_up_rights(true);
        }
        2 => {
            // Cline does not wait for each of its hooks, and one that comes late would find the door open.
            world.wait_for_hooks();
            world.give_up_rights(false);
            set_mode(&world.store(), 0o700);
            assert_eq!(recorded(world), 0, "the first message met a closed door");
        }
        _ => {
            assert_eq!(recorded(world), 1, "the second one found it open");
            damage(world);
        }
    });
    conversation.expect_unchanged();
}

/// Returns how many messages of the agent there are.
fn recorded(world: &Machine) -> usize {
    world.json(&["log"])["messages"]
        .as_array()
        .map_or(0, Vec::len)
}

/// From now on the hook can write no byte: a limit of its process plays the full disk.
fn fill_disk(world: &Machine) {
    let real = real(world);
    fs::rename(world.binary(), &real).expect("it is there");
    let script = format!(
        "#!/bin/sh\nulimit -f 0\ntrap '' XFSZ\nexec '{}' \"$@\"\n",
        real.display()
    );
    executable::write(&world.binary(), &script);
}

fn empty_disk(world: &Machine) {
    fs::rename(real(world), world.binary()).expect("it is there");
}

fn real(world: &Machine) -> PathBuf {
    world.binary().with_extension("real")
}

/// Makes every file of the store nonsense. A turn that has ended leaves a process at work in the background: what it removes
/// meanwhile cannot be damaged any more.
fn damage(world: &Machine) {
    let mut damaged = 0;
    for file in files_below(&world.store()) {
        let private = fs::Permissions::from_mode(0o600);
        let open = |()| OpenOptions::new().write(true).truncate(true).open(&file);
        match fs::set_permissions(&file, private).and_then(open) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            opened => opened
                .and_then(|mut file| file.write_all(b"this is nothing that we wrote"))
                .unwrap_or_else(|error| panic!("{}: {error}", file.display())),
        }
        damaged += 1;
    }
    assert!(damaged > 0, "there is a store");
}

/// Starts a process that holds the locks of the database and of the workspace, and waits until it does.
fn hold_locks(world: &Machine) -> Child {
    world
        .hook(&[
            "message",
            "--session",
            "somebody-else",
            "--prompt",
            "makes a store",
        ])
        .exits(0);
    let files = files_below(&world.store());
    let locks = files
        .iter()
        .filter(|file| file.file_name().is_some_and(|name| name == "lock"));
    let mut holder = world
        .command(Path::new("python3"))
        .args(["-c", HOLDER])
        .arg(world.store().join("sessions.db"))
        .args(locks)
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 starts");
    let mut line = String::new();
    let stdout = holder.stdout.take().expect("it is a pipe");
    BufReader::new(stdout)
        .read_line(&mut line)
        .expect("it speaks");
    assert_eq!(line, "held\n", "nobody else holds them");
    holder
}

/// Holds them for 30 s, which is far longer than a hook waits for a lock or for the database.
const HOLDER: &str = "
import fcntl, sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute('BEGIN EXCLUSIVE')
files = [open(path, 'r+') for path in sys.argv[2:]]
assert files
for file in files: fcntl.flock(file, fcntl.LOCK_EX)
print('held', flush=True)
time.sleep(30)
";

fn end(holder: Option<Child>) {
    let mut holder = holder.expect("it was started");
    // It fails only where the half minute is over.
    let _ = holder.kill();
    holder.wait().expect("it is our child");
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Vec::new(),
        entries => entries.expect("a readable folder"),
    };
    let below = |entry: fs::DirEntry| {
        // A folder's entry tells its type without another look, so one that is gone has it as well.
        match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => files_below(&entry.path()),
            false => vec![entry.path()],
        }
    };
    entries
        .map(|entry| entry.expect("a readable folder"))
        .flat_map(below)
        .collect()
}
