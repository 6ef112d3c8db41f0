//! A note in the names of empty files, for where not one byte may be written (`ulimit -f 0`). This module does IO.
//!
//! ```text
//! reserve.GENERATION.NUMBER.COUNT.HEX    a part of the text; the newest generation counts of which all parts are there
//! ```

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::presence;
use crate::error::{Context, Result};
use crate::model::hex::{self, Hex};

/// What the names begin with.
pub(crate) const PREFIX: &str = "reserve.";
/// How much text is in a name, in bytes; a name has at most 255.
const PART: usize = 100;
/// How much text is kept at most, in bytes.
const LONGEST: usize = 4000;

/// A generation of the text: how many parts it has, and those that are there, by their numbers.
type SpilledParts = BTreeMap<u32, (usize, BTreeMap<usize, Vec<u8>>)>;

/// Returns the text; an empty one if there is none.
pub(crate) fn read(directory: &Path) -> Result<String> {
    let whole = generations(directory)?
        .into_values()
        .rfind(|(count, parts)| parts.len() == *count);
    let bytes: Vec<u8> = whole
        .into_iter()
        .flat_map(|(_, parts)| parts.into_values().flatten())
        .collect();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Replaces the text. The caller holds the lock of the reserve.
pub(crate) fn write(directory: &Path, text: &str) -> Result<()> {
    let text = &text.as_bytes()[..text.len().min(LONGEST)];
    let newest = generations(directory)?.into_keys().next_back();
    let generation = newest.map_or(0, |newest| newest.wrapping_add(1));
    let count = text.chunks(PART).count();
    for (number, part) in text.chunks(PART).enumerate() {
        let name = format!(
            "{PREFIX}{generation:08x}.{number:04}.{count:04}.{}",
            Hex(part)
        );
        let path = directory.join(name);
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .context(|| format!("cannot create `{}`", path.display()))?;
    }
    // After all parts of the new one are there: killed before, the old one still counts as whole.
    remove(directory, |other| other != generation)
}

/// Removes the text.
pub(crate) fn clear(directory: &Path) -> Result<()> {
    remove(directory, |_| true)
}

fn remove(directory: &Path, is_meant: impl Fn(u32) -> bool) -> Result<()> {
    for entry in presence::entries(directory)? {
        let name = entry.file_name().into_string().unwrap_or_default();
        if parse(&name).is_some_and(|(generation, ..)| is_meant(generation)) {
            presence::remove_file(&entry.path())?;
        }
    }
    Ok(())
}

fn generations(directory: &Path) -> Result<SpilledParts> {
    let mut all = SpilledParts::new();
    for entry in presence::entries(directory)? {
        let name = entry.file_name().into_string().unwrap_or_default();
        if let Some((generation, number, count, part)) = parse(&name) {
            let (expected, parts) = all.entry(generation).or_default();
            *expected = count;
            parts.insert(number, part);
        }
    }
    Ok(all)
}

fn parse(name: &str) -> Option<(u32, usize, usize, Vec<u8>)> {
    let mut words = name.strip_prefix(PREFIX)?.split('.');
    let mut next = || words.next();
    Some((
        u32::from_str_radix(next()?, 16).ok()?,
        next()?.parse().ok()?,
        next()?.parse().ok()?,
        hex::decode(next()?)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_in_names_is_read_again_and_a_part_that_is_missing_takes_its_text_with_it() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let at = directory.path();
        assert_eq!(read(at).expect("ours"), "");
        let long = "a line of text, and more\n".repeat(20);
        write(at, "short\n").expect("writable");
        write(at, &long).expect("writable");
        assert_eq!(read(at).expect("ours"), long);
        // A killed process had begun to write what comes after it.
        std::fs::write(at.join("reserve.00000009.0000.0002.61"), "").expect("writable");
        assert_eq!(read(at).expect("ours"), long);
        clear(at).expect("ours");
        assert_eq!(presence::entries(at).expect("ours").len(), 0);
    }
}
