//! The SQL migrations of the session store: numbered, additive, never edited once they are released.

/// The migrations in order: the first brings an empty file to version 1, the next to 2, and so on.
pub const MIGRATIONS: &[&str] = &[include_str!("../migrations/0001_sessions.sql")];

/// The views, which people ask, and which no migration changes.
pub const VIEWS: &str = include_str!("../views.sql");

/// The version of a store with all migrations, kept in SQLite's `user_version`.
pub const VERSION: u32 = MIGRATIONS.len() as u32;

/// SQLite's `application_id` of a session store: "ckpt".
pub const APPLICATION_ID: i32 = 0x636b_7074;

/// The one of builds before the first release, "CKPT". Their versions count other migrations.
pub const OLDER_APPLICATION_ID: i32 = 0x434b_5054;
