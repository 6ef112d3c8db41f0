//! The command line from outside: manners of the hook, exit codes, texts. What the library does is tested beside it.

mod built;
mod concurrency;
mod generated;
mod inside;
mod install;
mod manners;
mod messages;
mod outcome;
mod payload;
mod replay;
mod session;
mod settle;
mod store;
mod surroundings;
mod terminal;
mod told;
mod untouched;
mod usage;

use testing::binary as common;
