//! What the commands of all surfaces work with: the settings, the options and streams of an invocation, the front door of the
//! operations, and changes in the form that was asked for.

pub mod changes;
pub mod config;
pub mod invocation;
pub mod named_file;
pub mod operation;
pub mod outcome;
pub mod pager;
pub mod part;
pub mod writable;
