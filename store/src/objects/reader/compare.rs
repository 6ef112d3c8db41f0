//! Compares a blob's bytes, as they are written, with those of a reader.

use std::io::{ErrorKind, Read, Write};

use crate::error::{Context, Result};

/// A writer that compares a blob's bytes with those of a reader.
pub(super) struct Comparer<'a> {
    reader: &'a mut dyn Read,
    problem: Option<Mismatch>,
}

/// Why the bytes are not the same.
pub(super) enum Mismatch {
    /// The reader failed.
    Read(std::io::Error),
    /// They differ, or the reader returned fewer.
    Differs,
}

impl<'a> Comparer<'a> {
    /// Compares with this reader.
    pub fn new(reader: &'a mut dyn Read) -> Self {
        Self {
            reader,
            problem: None,
        }
    }

    /// Returns the first failure so far.
    pub fn problem(&mut self) -> Option<Mismatch> {
        self.problem.take()
    }

    /// Returns whether the reader is at its end.
    pub fn at_end(&mut self) -> Result<bool> {
        let mut more = Vec::new();
        Read::take(&mut self.reader, 1)
            .read_to_end(&mut more)
            .context(|| "cannot read the bytes to compare")?;
        Ok(more.is_empty())
    }
}

impl Write for Comparer<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut other = vec![0; bytes.len()];
        let problem = match self.reader.read_exact(&mut other) {
            Ok(()) if other == bytes => return Ok(bytes.len()),
            // A file that cannot be read is no difference, and must not become a second copy of the object.
            Err(error) if error.kind() != ErrorKind::UnexpectedEof => Mismatch::Read(error),
            _ => Mismatch::Differs,
        };
        self.problem = Some(problem);
        Err(std::io::Error::other(
            "the bytes are not those that are stored",
        ))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
