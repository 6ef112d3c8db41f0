//! The version of the tables, and the steps that lead to it. Pure.

use ckpt_schema::migration::{MIGRATIONS, VERSION};

/// Tells a debug build whether it is of the next version. A test makes a binary of that version by changing the last byte in
/// a copy of this one. A release build has none of it.
#[cfg(debug_assertions)]
static AHEAD: &[u8] = b"versions of the tables ahead of this one: 0";

/// Returns the migration that only a binary of the next version has.
#[cfg(debug_assertions)]
fn next() -> Option<&'static str> {
    let is_ahead = std::hint::black_box(AHEAD).ends_with(b"1");
    is_ahead.then_some(
        "CREATE TABLE of_the_future (x); UPDATE meta SET value = value + 1 WHERE key = 'min_writer';",
    )
}

#[cfg(not(debug_assertions))]
const fn next() -> Option<&'static str> {
    None
}

/// Returns the version of the tables that this binary writes.
pub(super) fn version() -> u32 {
    VERSION + u32::from(next().is_some())
}

/// Returns the statements that bring a store of an older version to this one; an empty file is of version 0.
pub(super) fn steps_from(version: u32) -> String {
    let steps = MIGRATIONS.iter().skip(version as usize).copied();
    steps.chain(next()).collect()
}
