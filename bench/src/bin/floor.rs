//! The least that a snapshot without changes can cost: a process that opens a cached list, and does one open and `fstat` a
//! directory and one `lstat` a file, and nothing else. `bench-floor ROOT LIST THREADS`; see `ckpt_bench::list` for the list.

use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// How many directories a thread takes at a time.
const BATCH: usize = 16;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [root, list, threads] = &arguments[..] else {
        return ExitCode::from(2);
    };
    let threads = threads
        .to_str()
        .and_then(|threads| threads.parse().ok())
        .unwrap_or(1);
    let Ok(root) = rustix::fs::openat(CWD, root.as_os_str(), FLAGS, Mode::empty()) else {
        return ExitCode::FAILURE;
    };
    let Ok(list) = std::fs::read(list) else {
        return ExitCode::FAILURE;
    };
    let next = AtomicUsize::new(0);
    let allowed = sched_getaffinity(None).ok();
    std::thread::scope(|scope| {
        for number in 1..threads {
            let (root, list, next, allowed) = (&root, &list, &next, &allowed);
            scope.spawn(move || {
                spread(allowed.as_ref(), number);
                look(root.as_fd(), list, next);
            });
        }
        look(root.as_fd(), &list, &next);
    });
    ExitCode::SUCCESS
}

/// Threads of a short-lived process tend to start on one processor; the product moves its own apart in the same way.
fn spread(allowed: Option<&CpuSet>, number: usize) {
    let Some(allowed) = allowed else { return };
    let processors: Vec<_> = (0..CpuSet::MAX_CPU)
        .filter(|processor| allowed.is_set(*processor))
        .collect();
    let mut one = CpuSet::new();
    one.set(processors[number % processors.len()]);
    if sched_setaffinity(None, &one).is_ok() {
        let _ = sched_setaffinity(None, allowed);
    }
}

fn look(root: BorrowedFd<'_>, list: &[u8], next: &AtomicUsize) {
    let count = ckpt_bench::list::count(list);
    loop {
        let start = next.fetch_add(BATCH, Ordering::Relaxed);
        if start >= count {
            return;
        }
        for number in start..count.min(start + BATCH) {
            let _ = directory(root, ckpt_bench::list::directory(list, number));
        }
    }
}

fn directory(root: BorrowedFd<'_>, names: &[u8]) -> rustix::io::Result<()> {
    let mut names = names
        .split_inclusive(|byte| *byte == 0)
        .filter_map(|name| std::ffi::CStr::from_bytes_with_nul(name).ok());
    let Some(path) = names.next() else {
        return Ok(());
    };
    let directory = rustix::fs::openat(root, path, FLAGS, Mode::empty())?;
    rustix::fs::fstat(&directory)?;
    for name in names {
        rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    }
    Ok(())
}
