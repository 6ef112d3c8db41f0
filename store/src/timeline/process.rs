//! Other processes, as the system describes them. This module only reads.

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;

use crate::model::Milliseconds;

/// A process.
pub(super) struct Process {
    /// Its program's name, which may be cut off.
    pub name: String,
    /// The number of its parent.
    pub parent: i32,
    /// When it started, in units of the system's own: with the number, that names a process for good.
    pub started: u64,
    /// Whether it has ended, and its number is only kept until its parent asks for it.
    pub is_zombie: bool,
}

impl Process {
    /// Returns the process with a number. `None` if there is none, or if the system says nothing about it.
    pub fn of(id: i32) -> Option<Self> {
        system::process(id)
    }

    /// Returns how long ago it started, where the system tells that by the clock that [`uptime`] reads.
    pub fn age(&self) -> Option<Milliseconds> {
        system::started_after_boot(self.started).map(|started| uptime() - started)
    }
}

/// Returns how long ago the machine started, in milliseconds, its sleep included. No clock that is set has a say in
/// it, and it takes no system call on Linux.
pub(crate) fn uptime() -> Milliseconds {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let time = rustix::time::clock_gettime(clock);
    time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
}

/// Returns a name for the place where numbers of processes are unique: the PID namespace on Linux, the machine on
/// macOS. `None` if that cannot be read.
pub(super) fn namespace() -> Option<String> {
    system::namespace()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::Read;

    use super::Process;
    use crate::model::Milliseconds;

    /// Reads a process from `/proc`.
    pub fn process(id: i32) -> Option<Process> {
        // One call reads all of it: a name has up to 15 bytes, and 50 numbers have up to 20 digits each.
        let mut text = [0; 2048];
        let mut file = std::fs::File::open(format!("/proc/{id}/stat")).ok()?;
        let length = file.read(&mut text).ok()?;
        parse(&String::from_utf8_lossy(&text[..length]))
    }

    /// Reads `ID (NAME) STATE PARENT ...`, with the start time as the 22nd of the fields; the name may hold anything
    /// (proc_pid_stat(5)).
    pub fn parse(text: &str) -> Option<Process> {
        // The last parenthesis, not the first: a program may call itself `a) R 1 (b`.
        let (begin, end) = (text.find('(')?, text.rfind(')')?);
        let fields: Vec<&str> = text.get(end + 1..)?.split_whitespace().collect();
        Some(Process {
            name: text.get(begin + 1..end)?.to_owned(),
            is_zombie: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }

    /// Turns a start time into milliseconds after the machine started. The kernel tells it in hundredths of a second
    /// on every architecture that Rust's standard library knows.
    #[expect(clippy::unnecessary_wraps, reason = "other systems do not tell it")]
    pub fn started_after_boot(started: u64) -> Option<Milliseconds> {
        Some(
            i64::try_from(started)
                .unwrap_or(i64::MAX / 10)
                .saturating_mul(10),
        )
    }

    /// Returns the namespace that the numbers of processes belong to: containers use them again.
    pub fn namespace() -> Option<String> {
        let link = std::fs::read_link("/proc/self/ns/pid").ok()?;
        Some(link.to_str()?.to_owned())
    }
}

#[cfg(target_os = "macos")]
#[expect(
    unsafe_code,
    reason = "neither the standard library nor rustix has these calls"
)]
mod macos {
    use std::mem::MaybeUninit;

    use uuid::Uuid;

    use super::Process;
    use crate::model::Milliseconds;

    /// `SZOMB` of macOS's `sys/proc.h`.
    const ZOMBIE: u32 = 5;

    /// Reads what `proc_pidinfo` tells (`PROC_PIDTBSDINFO` of `libproc.h`). It tells nothing of a process of another
    /// user, nor of one that has ended.
    pub fn process(id: i32) -> Option<Process> {
        let mut info = MaybeUninit::<libc::proc_bsdinfo>::zeroed();
        let length = i32::try_from(size_of::<libc::proc_bsdinfo>()).ok()?;
        // SAFETY: the call writes at most `length` bytes to `info`, which has as many.
        let told = unsafe {
            let flavor = libc::PROC_PIDTBSDINFO;
            libc::proc_pidinfo(id, flavor, 0, info.as_mut_ptr().cast(), length)
        };
        if told != length {
            return None;
        }
        // SAFETY: all of it was written, and every pattern of bits is a value of it.
        let info = unsafe { info.assume_init() };
        let name: Vec<u8> = info
            .pbi_comm
            .iter()
            .take_while(|byte| **byte != 0)
            .map(|byte| byte.cast_unsigned())
            .collect();
        Some(Process {
            name: String::from_utf8_lossy(&name).into_owned(),
            parent: i32::try_from(info.pbi_ppid).ok()?,
            started: info.pbi_start_tvsec * 1_000_000 + info.pbi_start_tvusec,
            is_zombie: info.pbi_status == ZOMBIE,
        })
    }

    /// Returns `None`: a start time is by the clock that is set.
    pub fn started_after_boot(_started: u64) -> Option<Milliseconds> {
        None
    }

    /// A store in a home that several machines share would otherwise take the process of one for that of another.
    pub fn namespace() -> Option<String> {
        // In a sandbox that tells nothing of other processes, each of them would count as ended.
        process(rustix::process::getppid()?.as_raw_nonzero().get())?;
        let (mut id, at_once) = (
            [0; 16],
            libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
        );
        // SAFETY: `uuid_t` has 16 bytes, and so has `id`.
        let failed = unsafe { libc::gethostuuid(id.as_mut_ptr(), &raw const at_once) };
        (failed == 0).then(|| Uuid::from_bytes(id).to_string())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let fields = "S 7 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4711 1 2";
        let process = linux::parse(&format!("42 (a) b (c)) {fields}")).expect("well-formed");
        assert_eq!(
            (process.name.as_str(), process.parent, process.started),
            ("a) b (c)", 7, 4711),
            "up to the last bracket"
        );
    }
}
