//! What the questions answer, on rows that the tests write by themselves.
#![expect(clippy::unwrap_used, reason = "tests")]

mod compare;
mod diff;
mod feed;
mod history;
mod ids;
mod label;
mod show;
mod status;
