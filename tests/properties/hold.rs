//! Holds a law against random histories. A case that fails shrinks, and is told as a script.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestError, TestRng, TestRunner};

use crate::script::Script;

/// Plays random histories: as many as a quick run can have, unless `PROPTEST_CASES` says how many.
pub fn hold<T: Debug>(few: u32, histories: impl Strategy<Value = T>, play: impl Fn(&T, &Script)) {
    run(TestRunner::new(config(few)), histories, play);
}

/// Plays the same histories in each quick run, and random ones if `PROPTEST_CASES` says how many.
pub fn hold_same<T: Debug>(
    few: u32,
    histories: impl Strategy<Value = T>,
    play: impl Fn(&T, &Script),
) {
    let runner = match is_long() {
        true => TestRunner::new(config(few)),
        false => {
            let same = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
            TestRunner::new_with_rng(config(few), same)
        }
    };
    run(runner, histories, play);
}

fn is_long() -> bool {
    std::env::var_os("PROPTEST_CASES").is_some()
}

fn config(few: u32) -> ProptestConfig {
    let config = ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 300,
        ..ProptestConfig::default()
    };
    let cases = if is_long() { config.cases } else { few };
    ProptestConfig { cases, ..config }
}

fn run<T: Debug>(
    mut runner: TestRunner,
    histories: impl Strategy<Value = T>,
    play: impl Fn(&T, &Script),
) {
    let result = runner.run(&histories, |history| {
        play(&history, &Script::default());
        Ok(())
    });
    match result {
        Ok(()) => {}
        Err(TestError::Fail(reason, history)) => {
            let script = Script::default();
            let again = catch_unwind(AssertUnwindSafe(|| play(&history, &script)));
            let end = if again.is_err() {
                "here it fails"
            } else {
                "the second time it went well"
            };
            panic!("{reason}\n\nfor {history:#?}\n\nthe same as a script:\n\n{script}# {end}\n");
        }
        Err(TestError::Abort(reason)) => panic!("no histories: {reason}"),
    }
}
