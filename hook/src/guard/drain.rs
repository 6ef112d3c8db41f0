//! Reads what an agent writes on stdin: to its end, bounded.
//!
//! An agent that writes into a closed pipe may fall over it, so what is too long is read and dropped, within bounds.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use ckpt_schema::event::MAX_PAYLOAD;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// No more than this is read and dropped, in bytes.
const MOST_DROPPED: u64 = 1 << 30;

/// What stood on stdin.
#[derive(Debug, PartialEq, Eq)]
pub enum Payload {
    /// All of it.
    Whole(Vec<u8>),
    /// More than is read.
    TooLong,
}

/// Reads stdin to its end.
pub fn read_payload(mut stdin: impl Read) -> io::Result<Payload> {
    let mut bytes = Vec::new();
    stdin.by_ref().take(MAX_PAYLOAD + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 <= MAX_PAYLOAD {
        return Ok(Payload::Whole(bytes));
    }
    drop(bytes);
    io::copy(&mut stdin.take(MOST_DROPPED), &mut io::sink())?;
    Ok(Payload::TooLong)
}

/// Reads and drops what comes within a time, or up to the end of stdin.
pub fn listen(patience: Duration) {
    let end = Instant::now() + patience;
    let stdin = io::stdin();
    let mut buffer = [0; 64 << 10];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let Ok(timeout) = Timespec::try_from(left) else { return };
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&timeout)) {
            Ok(1..) if matches!(rustix::io::read(&stdin, &mut buffer), Ok(1..)) => {}
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_of_the_longest_kind_is_read_and_a_longer_one_is_drained() {
        let longest = io::repeat(b'x').take(MAX_PAYLOAD);
        assert!(
            matches!(read_payload(longest).expect("readable"), Payload::Whole(bytes) if bytes.len() as u64 == MAX_PAYLOAD),
            "the limit itself is allowed"
        );
        let mut longer = io::repeat(b'x').take(MAX_PAYLOAD + 100);
        assert_eq!(read_payload(&mut longer).expect("readable"), Payload::TooLong, "one byte more is not");
        assert_eq!(longer.limit(), 0, "and the writer was heard out");
    }
}
