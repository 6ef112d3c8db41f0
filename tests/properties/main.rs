//! The laws of a revert, held against random histories on a real directory. A case that fails shrinks to a script of what
//! happened, printed step by step. More cases: `PROPTEST_CASES=1000`.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests are scaled by the environment, and edit as rudely as agents do"
)]

#[path = "../scenarios/world.rs"]
#[allow(dead_code, clippy::allow_attributes, reason = "the scenarios use the rest of the harness")]
mod world;

mod alone;
mod edit;
mod laws;
mod together;

use proptest::prelude::ProptestConfig;

/// As many cases as a quick run can have, unless `PROPTEST_CASES` says more.
fn cases(few: u32) -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, max_shrink_iters: 300, ..ProptestConfig::default() };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { config.cases } else { few };
    ProptestConfig { cases, ..config }
}
