//! The laws of a revert, held against random histories on a real directory. A case that fails shrinks, and is printed as a
//! script that does the same. More cases: `PROPTEST_CASES=1000`.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests are scaled by the environment, and edit as rudely as agents do"
)]

mod alone;
mod day;
mod day_acts;
mod edit;
mod foreseen;
mod hold;
mod kill;
mod laws;
mod moves;
mod repositories;
mod script;
mod three;
mod together;
