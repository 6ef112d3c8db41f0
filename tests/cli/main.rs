//! The command line from outside: manners of the hook, exit codes, texts. What the library does is tested beside it.

mod built;
mod busy;
mod completions;
mod concurrency;
mod database;
mod generated;
mod inside;
mod install;
mod manners;
mod messages;
mod outcome;
mod patches;
mod payload;
mod permission;
mod picker;
mod replay;
mod schema;
mod screen;
mod session;
mod settle;
mod store;
mod strict;
mod surroundings;
mod terminal;
mod told;
mod untouched;
mod usage;
mod widths;

use testing::binary as common;
