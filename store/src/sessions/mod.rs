//! The session store: SQLite in WAL mode, made for many short-lived processes. It knows nothing of trees.

mod database;

pub use database::{Database, Diagnostic};
