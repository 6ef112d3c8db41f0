//! The SQL migrations of the session store: numbered, additive, never edited.

/// The migrations in order: the first brings an empty file to version 1, the next to 2, and so on.
pub const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_sessions.sql"),
    include_str!("../migrations/0002_git.sql"),
    include_str!("../migrations/0003_evidence.sql"),
    include_str!("../migrations/0004_labels.sql"),
    include_str!("../migrations/0005_feed.sql"),
    include_str!("../migrations/0006_upkeep.sql"),
    include_str!("../migrations/0007_views.sql"),
    include_str!("../migrations/0008_alone.sql"),
    include_str!("../migrations/0009_commands.sql"),
    include_str!("../migrations/0010_reasons.sql"),
    include_str!("../migrations/0011_goals.sql"),
    include_str!("../migrations/0012_unprotected.sql"),
    include_str!("../migrations/0013_shorter_views.sql"),
    include_str!("../migrations/0014_renamed_once.sql"),
    include_str!("../migrations/0015_totals.sql"),
    include_str!("../migrations/0016_exact_files.sql"),
    include_str!("../migrations/0017_undoes.sql"),
    include_str!("../migrations/0018_exact_steps.sql"),
    ONE_OPEN_STEP,
    include_str!("../migrations/0020_untold.sql"),
    include_str!("../migrations/0021_directories.sql"),
];

/// The migration that ends all but the newest open step of a session. A repair does that as well to the rows of an older store.
pub const ONE_OPEN_STEP: &str = include_str!("../migrations/0019_one_open_step.sql");

/// What all migrations make of an empty file, for a new store: SQLite reads the whole schema again at most of their
/// statements. A test compares the two.
pub const NEW_STORE: &str = include_str!("../new_store.sql");

/// The version of a store with all migrations, kept in SQLite's `user_version`.
pub const VERSION: u32 = MIGRATIONS.len() as u32;

/// SQLite's `application_id` of a session store: "CKPT".
pub const APPLICATION_ID: i32 = 0x434b_5054;
