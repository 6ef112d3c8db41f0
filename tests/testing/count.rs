//! Counting the system calls of a command, by `strace`.

use crate::binary::{Sandbox, finish};
use crate::strace::{self, Call};

/// What a command did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How often the session store was opened.
    pub databases: u64,
    /// System calls of all its threads, from its start to its end.
    pub calls: u64,
    /// `fsync`, `fdatasync` and `syncfs`: what waits for the disk. `sync_file_range` only begins to write.
    pub syncs: u64,
    /// Write transactions of SQLite: it locks byte 120 of the shared memory for each (`WAL_WRITE_LOCK`), and once more where
    /// it is the first to open the file, together with bytes 121 and 122.
    pub transactions: u64,
    /// Programs that were started, itself among them.
    pub programs: u64,
    /// Sockets that were connected.
    pub connections: u64,
    /// Pieces of directories' listings that were read.
    pub listings: u64,
    /// Pages of the database, or of its log, that were read.
    pub pages: u64,
    /// How often the index of the user's repository was opened.
    pub indexes: u64,
}

/// Makes every file system look as if a file server had it: what `fstatfs` tells is NFS's number.
pub const SERVED: [&str; 2] = ["-e", "inject=fstatfs:poke_exit=@arg2=6969000000000000"];

/// The same of what `statfs` tells, by which a store is known to be on a file server.
pub const SERVED_STORE: [&str; 2] = ["-e", "inject=statfs:poke_exit=@arg2=6969000000000000"];

/// Runs the binary on a payload and counts what it does; fails where `strace` does not run.
pub fn count(world: &Sandbox, payload: &str, options: &[&str]) -> Counts {
    count_run(world, &["event"], payload, options)
}

/// The same of any command that ends well.
pub fn count_run(world: &Sandbox, arguments: &[&str], stdin: &str, options: &[&str]) -> Counts {
    count_until(world, arguments, stdin, options, 0)
}

/// The same of any command that ends with this exit code.
pub fn count_until(
    world: &Sandbox,
    arguments: &[&str],
    stdin: &str,
    options: &[&str],
    code: i32,
) -> Counts {
    let trace = world.path("trace");
    let mut all = options.to_vec();
    all.extend(["-o", trace.to_str().expect("a plain path")]);
    let mut command = strace::command(world, &all, arguments);
    let run = finish(&mut command, stdin.as_bytes());
    if arguments == ["event"] {
        run.ends_silently()
    } else {
        run.exits(code)
    };
    let trace = std::fs::read_to_string(trace).expect("strace wrote its trace");
    let mut counts = Counts::default();
    trace.lines().for_each(|line| counts.add(line));
    assert!(counts.calls > 50, "the trace was read: {counts:?}");
    counts
}

impl Counts {
    /// Adds a line of a trace: `PID name(arguments) = result`, or the second half of a call that another thread interrupted.
    fn add(&mut self, line: &str) {
        let Some(Call { name, rest, .. }) = Call::read(line) else {
            return;
        };
        if rest.contains("F_GETFD") {
            // A debug build of the standard library looks so at each file that it is about to close.
            return;
        }
        self.calls += 1;
        let locks =
            |bytes: &str| name == "fcntl" && rest.contains("F_WRLCK") && rest.contains(bytes);
        if locks("l_start=120, l_len=1") {
            self.transactions += 1;
        } else if locks("l_start=121, l_len=2") {
            self.transactions -= 1;
        }
        match name {
            "fsync" | "fdatasync" | "syncfs" => self.syncs += 1,
            "execve" => self.programs += 1,
            "getdents64" => self.listings += 1,
            "connect" => self.connections += 1,
            "open" | "openat" if rest.contains("/.git/index\"") => self.indexes += 1,
            "open" | "openat" if rest.contains("/sessions.db\"") => self.databases += 1,
            "pread64" if rest.contains(", 4096, ") => self.pages += 1,
            _ => {}
        }
    }
}
