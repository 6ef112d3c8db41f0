//! Reads what an agent writes on stdin: to its end, because an agent may fail when it writes into a closed pipe, and in
//! bounded memory, because an agent may write any amount.

mod condense;

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, IsTerminal, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, OFlags};

use condense::Condenser;

/// The most that is read, in bytes.
const MOST_READ: u64 = 1 << 30;

/// The most that is read of a file's first line, in bytes.
const LONGEST_LINE: u64 = 1 << 20;

/// The most that is read of a file's end, in bytes.
const LONGEST_END: u64 = 1 << 20;

/// How much is read at once, in bytes; a pipe rarely holds more. The buffer is on the stack, because allocating it
/// would cost a system call.
const BUFFER_SIZE: usize = 64 << 10;

/// How much is read first, in bytes. Most payloads are shorter, and the larger buffer is cleared before it is used,
/// which takes more than all else that is done with such a payload.
const FIRST_READ_SIZE: usize = 8 << 10;

/// How long to read from a writer if nothing will be recorded, so that it does not write into a closed pipe.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// The input on stdin.
#[derive(Debug, PartialEq, Eq)]
pub struct RawPayload {
    /// The payload with long values shortened.
    pub bytes: Vec<u8>,
    /// Whether its end is missing, because it is too long even so.
    pub is_cut: bool,
}

/// Reads stdin to its end, or until the payload is there and `goes_on` returns false: some programs that start a hook
/// leave its stdin open.
pub fn read_payload(
    mut stdin: impl Read,
    goes_on: impl Fn() -> bool + Copy,
) -> io::Result<RawPayload> {
    let mut condenser = Condenser::default();
    let mut read =
        condense::<FIRST_READ_SIZE>(&mut stdin, &mut condenser, FIRST_READ_SIZE as u64, goes_on)?;
    if read >= FIRST_READ_SIZE as u64 {
        read += condense::<BUFFER_SIZE>(&mut stdin, &mut condenser, MOST_READ - read, goes_on)?;
    }
    let (bytes, is_cut) = condenser.finish();
    Ok(RawPayload {
        bytes,
        is_cut: is_cut || read >= MOST_READ,
    })
}

/// Reads up to the end, or until it has read at least `most` bytes, and returns how many these were. Not inlined, so
/// that only a payload that needs the larger buffer clears it.
#[inline(never)]
fn condense<const SIZE: usize>(
    stdin: &mut impl Read,
    condenser: &mut Condenser,
    most: u64,
    goes_on: impl Fn() -> bool,
) -> io::Result<u64> {
    let (mut buffer, mut read) = ([0; SIZE], 0);
    while read < most && (!condenser.is_whole() || goes_on()) {
        match stdin.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => {
                condenser.take(&buffer[..length]);
                read += length as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// Returns the first line of a file that a payload names, up to a limit.
pub fn first_line(path: &Path) -> Option<String> {
    let file = open_named(path).ok()?;
    let mut line = Vec::new();
    BufReader::new(file.take(LONGEST_LINE))
        .read_until(b'\n', &mut line)
        .ok()?;
    String::from_utf8(line).ok()
}

/// Returns the whole lines at the end of a file that an agent appends to, up to a limit.
pub fn last_lines(path: &Path) -> Vec<String> {
    let end = whole_lines_at_the_end(path).unwrap_or_default();
    // One line that is not UTF-8 must not hide the others.
    let lines = String::from_utf8_lossy(&end);
    lines.lines().map(str::to_owned).collect()
}

fn whole_lines_at_the_end(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open_named(path)?;
    let skipped = file.metadata()?.len().saturating_sub(LONGEST_END);
    file.seek(SeekFrom::Start(skipped))?;
    let mut end = Vec::new();
    // Another process may append to it meanwhile.
    file.take(LONGEST_END).read_to_end(&mut end)?;
    if skipped > 0 {
        let cut = end.iter().position(|byte| *byte == b'\n');
        end.drain(..cut.map_or(end.len(), |cut| cut + 1));
    }
    let written = end.iter().rposition(|byte| *byte == b'\n');
    // The agent may be in the middle of writing the last line.
    end.truncate(written.unwrap_or(0));
    Ok(end)
}

/// Opens a file that a payload names. Opening a device would be an act, and a FIFO that takes its place now must not be
/// waited for.
fn open_named(path: &Path) -> io::Result<File> {
    if !path.metadata()?.is_file() {
        return Err(ErrorKind::InvalidInput.into());
    }
    File::options()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
}

/// Returns whether a person may be typing.
pub fn is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// Returns whether another program writes it, as agents do: a pipe or a socket. Scripts have a file or `/dev/null`
/// there.
pub fn is_from_program() -> bool {
    let kind = rustix::fs::fstat(io::stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::Socket))
}

/// How long to wait for the end of stdin once the payload is there.
const END_OF_STDIN: Duration = Duration::from_millis(50);

/// Returns whether stdin has more within a moment. If it ends, there is nothing to read either.
pub fn goes_on() -> bool {
    let stdin = io::stdin();
    let Ok(timeout) = Timespec::try_from(END_OF_STDIN) else {
        return true;
    };
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    match poll(&mut polled, Some(&timeout)) {
        Ok(0) => false,
        Ok(_) => polled[0].revents() != PollFlags::HUP,
        // What cannot be asked is read to its end.
        Err(_) => true,
    }
}

/// Reads and drops a payload that is not needed, for `DRAIN_TIMEOUT` or up to the end of stdin.
pub fn listen() {
    let end = Instant::now() + DRAIN_TIMEOUT;
    let stdin = io::stdin();
    let mut buffer = [0; 64 << 10];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let Ok(timeout) = Timespec::try_from(left) else {
            return;
        };
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&timeout)) {
            Ok(1..) if matches!(rustix::io::read(&stdin, &mut buffer), Ok(1..)) => {}
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A payload is read to its end however long it is.
    #[test]
    fn payload_is_read_to_its_end() {
        let begin = br#"{"session_id":"s","prompt":""#;
        let text = io::repeat(b'x').take(100 << 20);
        let mut stdin = begin
            .chain(text)
            .chain(br#"","event":"user_message"} and more"#.as_slice());
        let payload = read_payload(&mut stdin, || true).expect("readable");
        assert!(
            !payload.is_cut && payload.bytes.ends_with(br#""event":"user_message"}"#),
            "what counts is there"
        );
        assert!(
            payload.bytes.len() < 3 << 20,
            "and little else: {} bytes",
            payload.bytes.len()
        );
        assert_eq!(
            stdin.read(&mut [0]).expect("readable"),
            0,
            "the writer was heard out"
        );
    }

    /// A writer without an end is not listened to for ever.
    #[test]
    fn endless_writer_is_not_read_for_ever() {
        let mut stdin = io::repeat(b'x');
        assert!(
            read_payload(&mut stdin, || true).expect("readable").is_cut,
            "it says that the end is missing"
        );
    }
}
