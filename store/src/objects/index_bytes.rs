//! The bytes of an index: small ones in memory, large ones read where they are asked, until that was often. This module does
//! IO.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Context, Error, Result};

/// How many rows are read at once.
const BLOCK: u32 = 4096;

/// A page, in bytes: to read less costs as much.
const PAGE: u64 = 4096;
/// The length up to which an index that is asked often is read whole, in bytes.
const OFTEN: u64 = 64 << 20;

/// An index that was opened.
pub(crate) enum IndexBytes {
    /// All of it.
    Whole(Vec<u8>),
    /// A part at a time.
    File(Parts),
}

/// An index that is read where it is asked. Once it was asked as often as it has pages, reading on in parts costs more than
/// reading all of it would have.
pub(crate) struct Parts {
    file: File,
    length: u64,
    asked: AtomicU64,
    whole: OnceLock<Vec<u8>>,
}

impl Parts {
    fn read(&self, at: u64, buffer: &mut [u8]) -> Result<()> {
        if let Some(whole) = self.whole.get() {
            return copy(whole, at, buffer);
        }
        if self.length <= OFTEN
            && self.asked.fetch_add(1, Ordering::Relaxed) >= self.length / PAGE
            && let Ok(whole) = read_whole(&self.file, self.length)
        {
            return copy(self.whole.get_or_init(|| whole), at, buffer);
        }
        self.file
            .read_exact_at(buffer, at)
            .context(|| "cannot read the index")
    }
}

fn read_whole(file: &File, length: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).context(|| "the index is too long")?];
    file.read_exact_at(&mut bytes, 0)
        .context(|| "cannot read the index")?;
    Ok(bytes)
}

fn copy(bytes: &[u8], at: u64, buffer: &mut [u8]) -> Result<()> {
    let truncated = || Error::failed("the index is cut off");
    let at = usize::try_from(at)
        .ok()
        .and_then(|at| bytes.get(at..))
        .ok_or_else(truncated)?;
    buffer.copy_from_slice(at.get(..buffer.len()).ok_or_else(truncated)?);
    Ok(())
}

impl IndexBytes {
    /// Takes a file, and reads it whole where it is no longer than `whole` bytes.
    pub fn open(file: File, whole: u64) -> Result<Self> {
        let length = file.metadata().context(|| "cannot read the index")?.len();
        if length <= whole {
            return Ok(Self::Whole(read_whole(&file, length)?));
        }
        Ok(Self::File(Parts {
            file,
            length,
            asked: AtomicU64::new(0),
            whole: OnceLock::new(),
        }))
    }

    /// Returns how many bytes there are.
    pub fn length(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.len() as u64,
            Self::File(parts) => parts.length,
        }
    }

    /// Returns whether a file stays open for it.
    pub fn is_file(&self) -> bool {
        matches!(self, Self::File(..))
    }

    /// Fills the buffer from a position on.
    pub fn read(&self, at: u64, buffer: &mut [u8]) -> Result<()> {
        match self {
            Self::File(parts) => parts.read(at, buffer),
            Self::Whole(bytes) => copy(bytes, at, buffer),
        }
    }

    /// Returns the four bytes at a position as a number.
    pub fn u32(&self, at: u64) -> Result<u32> {
        let mut number = [0; 4];
        self.read(at, &mut number)?;
        Ok(u32::from_be_bytes(number))
    }

    /// Returns the eight bytes at a position as a number.
    pub fn u64(&self, at: u64) -> Result<u64> {
        let mut number = [0; 8];
        self.read(at, &mut number)?;
        Ok(u64::from_be_bytes(number))
    }

    /// Returns a range of bytes.
    pub fn block(&self, at: u64, length: u64) -> Result<Vec<u8>> {
        let is_inside = at
            .checked_add(length)
            .is_some_and(|end| end <= self.length());
        let length = usize::try_from(length).ok().filter(|_| is_inside);
        let mut block = vec![0; length.ok_or_else(|| Error::failed("the index is cut off"))?];
        self.read(at, &mut block)?;
        Ok(block)
    }
}

/// Rows of `WIDTH` bytes that are asked for in order: a block of them is read at a time.
pub(crate) struct Rows<'a, const WIDTH: usize> {
    bytes: &'a IndexBytes,
    start: u64,
    count: u32,
    first: u32,
    block: Vec<u8>,
}

impl<'a, const WIDTH: usize> Rows<'a, WIDTH> {
    /// Returns the rows that begin at `start`.
    pub fn new(bytes: &'a IndexBytes, start: u64, count: u32) -> Self {
        Self {
            bytes,
            start,
            count,
            first: 0,
            block: Vec::new(),
        }
    }

    /// Returns a row.
    pub fn row(&mut self, number: u32) -> Result<&[u8; WIDTH]> {
        let first = number - number % BLOCK;
        if self.block.is_empty() || first != self.first {
            let rows = BLOCK.min(self.count.saturating_sub(first));
            self.block = self.bytes.block(
                self.start + u64::from(first) * WIDTH as u64,
                u64::from(rows) * WIDTH as u64,
            )?;
            self.first = first;
        }
        let (rows, _) = self.block.as_chunks();
        rows.get((number - first) as usize)
            .ok_or_else(|| Error::failed("the index has no such row"))
    }
}
