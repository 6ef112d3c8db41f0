//! What needs the C library: signals, limits, standard streams, and an immediate exit.
//!
//! This is the binary's only `unsafe` code. Each block calls functions of the C library with arguments made here; no
//! outside input reaches it but the store's path.

#![expect(
    unsafe_code,
    reason = "handlers for SIGSEGV and its kin, _exit and alarm have no safe wrapper"
)]

use std::ffi::CString;
use std::fs::OpenOptions;
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::failure;

/// The signals of a crash; SIGALRM is the deadline if there is no watchdog.
const FATAL: [libc::c_int; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGABRT,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGALRM,
];

/// The stack for handlers, in bytes: the ordinary one may have overflowed.
const STACK: usize = 64 << 10;

/// The exit code of a crash.
static CODE: AtomicI32 = AtomicI32::new(0);

/// Which standard streams a hook may write to. An agent may take any text for an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenStreams {
    /// For what was asked for.
    pub stdout: bool,
    /// For failures.
    pub stderr: bool,
}

/// Makes the process exit with `code` on any crash, leave no core file, allocate with few system calls, and keep the
/// other streams closed.
pub fn behave(code: u8, open: OpenStreams) {
    CODE.store(i32::from(code), Ordering::Relaxed);
    keep_memory();
    // A core file would hold prompts and file contents.
    let _ = setrlimit(
        Resource::Core,
        Rlimit {
            current: Some(0),
            maximum: Some(0),
        },
    );
    // As an error of `write`, it can be reported; as a signal, it would end the hook. The standard library ignores SIGPIPE.
    ignore(libc::SIGXFSZ);
    use_own_stack();
    FATAL.into_iter().for_each(handle);
    close_others(open);
}

/// Gets memory from the kernel in large pieces, and returns none: a hook lives for some milliseconds, and each piece
/// costs a system call.
#[cfg(target_env = "gnu")]
fn keep_memory() {
    const PIECE: libc::c_int = 1 << 20;
    for (option, value) in [
        (libc::M_TOP_PAD, PIECE),
        (libc::M_TRIM_THRESHOLD, libc::c_int::MAX),
    ] {
        // SAFETY: `mallopt` takes integers; what the allocator does not know it refuses.
        unsafe { libc::mallopt(option, value) };
    }
}

#[cfg(not(target_env = "gnu"))]
fn keep_memory() {}

/// Returns a duplicate of stdout, which child processes do not inherit.
pub fn keep_stdout() -> Option<OwnedFd> {
    // Not below 3: where a standard stream is closed, the duplicate would take its number, and be closed with
    // it.
    rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3).ok()
}

/// Ends the process without unwinding, flushing or running exit handlers.
pub fn exit_now() -> ! {
    // SAFETY: `_exit` takes an integer and does not return.
    unsafe { libc::_exit(CODE.load(Ordering::Relaxed)) }
}

/// What a thread begins with.
struct ThreadStart<T: 'static> {
    shared: &'static T,
    work: fn(&'static T),
}

/// Starts a thread that lives as long as the process. Returns false if there can be none. Unlike one of the standard
/// library, it has no stack for handlers and, until it allocates, no memory of its own: that is a dozen system calls.
pub fn start_thread<T: Sync>(shared: &'static T, work: fn(&'static T)) -> bool {
    extern "C" fn begin<T: 'static>(start: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: it points to the `ThreadStart` of the same `T` that is made below and never freed.
        let start = unsafe { &*start.cast::<ThreadStart<T>>() };
        (start.work)(start.shared);
        null_mut()
    }
    let start = Box::leak(Box::new(ThreadStart { shared, work }));
    let mut thread = MaybeUninit::uninit();
    // SAFETY: `thread` outlives the call; `begin` takes what it is given here, which may be shared among threads.
    let failure = unsafe {
        libc::pthread_create(
            thread.as_mut_ptr(),
            std::ptr::null(),
            begin::<T>,
            (&raw mut *start).cast(),
        )
    };
    failure == 0
}

/// Asks the kernel for SIGALRM after a time, in whole seconds.
pub fn alarm(after: Duration) {
    let seconds = libc::c_uint::try_from(after.as_secs())
        .unwrap_or(libc::c_uint::MAX)
        // `alarm(0)` would set none.
        .max(1);
    // SAFETY: `alarm` takes an integer; SIGALRM is handled.
    unsafe { libc::alarm(seconds) };
}

extern "C" fn crashed(signal: libc::c_int) {
    // Only what POSIX calls async-signal-safe: atomics, system calls and `_exit`. A fault in here comes back to here.
    // The deadline is no crash. A second fault is one in `note_crash`, or in another thread.
    if signal != libc::SIGALRM && !HAS_CRASHED.swap(true, Ordering::Relaxed) {
        note_crash();
    }
    exit_now();
}

/// What a crash leaves, made beforehand: a handler cannot allocate.
struct CrashTrace {
    store: CString,
    log: CString,
    /// The line up to the process's number, and after it.
    line: [Vec<u8>; 2],
}

static TRACE: OnceLock<CrashTrace> = OnceLock::new();

static HAS_CRASHED: AtomicBool = AtomicBool::new(false);

/// The longest line that a crash leaves, in bytes.
const LONGEST_TRACE: usize = 256;

/// Lets a crash leave a line in the log of a store that is there already and is the user's own.
pub fn note_crashes_in(log: &Path, line: [Vec<u8>; 2]) {
    let path = |path: &Path| CString::new(path.as_os_str().as_bytes()).ok();
    if let (Some(store), Some(log)) = (log.parent().and_then(path), path(log)) {
        let _ = TRACE.set(CrashTrace { store, log, line });
    }
}

fn note_crash() {
    let Some(trace) = TRACE.get() else { return };
    let (mut line, mut length) = ([0; LONGEST_TRACE], 0);
    // SAFETY: `getpid` takes nothing and cannot fail.
    let mut digits = unsafe { libc::getpid() }.unsigned_abs();
    let mut number = [0; 10];
    let mut from = number.len();
    while from == number.len() || digits > 0 {
        from -= 1;
        number[from] = b'0' + (digits % 10) as u8;
        digits /= 10;
    }
    for part in [&trace.line[0][..], &number[from..], &trace.line[1]] {
        for byte in part.iter().take(LONGEST_TRACE - length) {
            line[length] = *byte;
            length += 1;
        }
    }
    // SAFETY: all bits zero is a valid `stat`.
    let mut found: libc::stat = unsafe { zeroed() };
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_NOFOLLOW;
    // A FIFO under this name must not hold up the end of the hook.
    let flags = flags | libc::O_NONBLOCK | libc::O_CLOEXEC;
    // SAFETY: the paths are C strings that are never freed; `found` and `line` outlive the calls, which are
    // async-signal-safe.
    unsafe {
        let user = libc::geteuid();
        if libc::lstat(trace.store.as_ptr(), &raw mut found) != 0 || found.st_uid != user {
            return;
        }
        let log = libc::open(trace.log.as_ptr(), flags, 0o600 as libc::c_uint);
        // Of several names, one may be a link that makes us write into another file of the user's.
        if log >= 0
            && libc::fstat(log, &raw mut found) == 0
            && (found.st_uid, found.st_nlink) == (user, 1)
        {
            libc::write(log, line.as_ptr().cast(), length);
        }
    }
}

/// Makes a command that is aborted, because memory cannot be had, say what that means and exit with a code of its own.
pub fn explain_aborts() {
    let mut action = plain_action();
    action.sa_sigaction = aborted as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: `action` is initialised and outlives the call; `aborted` is async-signal-safe; no old action is asked for.
    unsafe { libc::sigaction(libc::SIGABRT, &raw const action, null_mut()) };
}

extern "C" fn aborted(_signal: libc::c_int) {
    let (text, code) = match ckpt_store::has_begun_to_change() {
        false => (ABORTED, failure::FAILED),
        true => (ABORTED_HALFWAY, failure::PARTIAL),
    };
    // SAFETY: both are async-signal-safe, and the text is never freed.
    unsafe {
        libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
        libc::_exit(i32::from(code))
    }
}

const ABORTED: &str = "error: ckpt-hook had to stop, most likely for want of memory\nnote: no file of the workspace was changed\n";
const ABORTED_HALFWAY: &str = "error: ckpt-hook had to stop, most likely for want of memory\n\
    note: files were changed before that; `ckpt-hook status` shows what was done, and the next command finishes the rest\n";

/// Leaves Ctrl-C to the program that has the terminal now.
pub fn ignore_interrupts() {
    ignore(libc::SIGINT);
}

/// Survives Ctrl-C and Ctrl-\, which still end a command that is started after this. What was ignored before stays
/// ignored, as under `nohup`.
pub fn outlive_interrupts() {
    outlive(libc::SIGINT);
    outlive(libc::SIGQUIT);
}

/// Makes a write beyond the limit on the size of files fail, as on a full disk, instead of ending the process.
pub fn outlive_file_limit() {
    outlive(libc::SIGXFSZ);
}

/// Catches a signal and does nothing: unlike an ignored signal, a caught one is not inherited.
fn outlive(signal: libc::c_int) {
    let mut action = plain_action();
    action.sa_sigaction = outlived as extern "C" fn(libc::c_int) as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    let mut before = plain_action();
    // SAFETY: both are initialised and outlive the call; `outlived` does nothing at all.
    unsafe { libc::sigaction(signal, &raw const action, &raw mut before) };
    if before.sa_sigaction == libc::SIG_IGN {
        ignore(signal);
    }
}

/// Returns whether the parent process made this one ignore a signal.
pub fn is_ignored(signal: libc::c_int) -> bool {
    let mut action = plain_action();
    // SAFETY: no action is set; `action` is initialised and outlives the call.
    unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    action.sa_sigaction == libc::SIG_IGN
}

extern "C" fn outlived(_signal: libc::c_int) {}

fn ignore(signal: libc::c_int) {
    // SAFETY: SIG_IGN is a valid disposition of a signal that can be ignored.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

/// Returns an action without flags, with an empty mask and the default handler.
fn plain_action() -> libc::sigaction {
    // SAFETY: all bits zero is a valid `sigaction`.
    unsafe { zeroed() }
}

fn handle(signal: libc::c_int) {
    let mut action = plain_action();
    action.sa_sigaction = crashed as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // Without `SA_NODEFER`, a fault in the handler would end the process by the signal, not with our code.
    action.sa_flags = libc::SA_ONSTACK | libc::SA_NODEFER;
    // SAFETY: `action` is initialised and outlives the call; `crashed` is async-signal-safe; no old action is asked
    // for.
    unsafe { libc::sigaction(signal, &raw const action, null_mut()) };
}

/// Threads that the standard library starts have a stack for handlers; this gives the main thread one that is surely
/// there.
fn use_own_stack() {
    let stack: &'static mut [MaybeUninit<u8>] = Box::leak(Box::new_uninit_slice(STACK));
    let stack = libc::stack_t {
        ss_sp: stack.as_mut_ptr().cast(),
        ss_flags: 0,
        ss_size: STACK,
    };
    // SAFETY: the memory is `STACK` bytes long, is never freed and is used by nothing else.
    unsafe { libc::sigaltstack(&raw const stack, null_mut()) };
}

/// Output of the C library or the allocator would only confuse an agent.
fn close_others(open: OpenStreams) {
    if let Ok(nowhere) = OpenOptions::new().write(true).open("/dev/null") {
        // If this fails, the streams stay as they are, and we do not write to them.
        if !open.stderr {
            let _ = rustix::stdio::dup2_stderr(&nowhere);
        }
        if !open.stdout {
            let _ = rustix::stdio::dup2_stdout(&nowhere);
        }
    }
}

/// Crashes, for tests of what `behave` promises.
#[cfg(debug_assertions)]
pub fn crash() {
    let nothing: *const u8 = std::ptr::null();
    // SAFETY: this is deliberately unsound. The fault is intended, and the handler ends the process.
    unsafe { nothing.read_volatile() };
}
