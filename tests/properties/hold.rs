//! Holds a law against random histories. A case that fails shrinks, and is told as a script.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};

use crate::script::Script;

/// Plays random histories: as many as a quick run can have, unless `PROPTEST_CASES` says how many.
pub fn hold<T: Debug>(few: u32, histories: impl Strategy<Value = T>, play: impl Fn(&T, &Script)) {
    let config = ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 300,
        ..ProptestConfig::default()
    };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() {
        config.cases
    } else {
        few
    };
    let mut runner = TestRunner::new(ProptestConfig { cases, ..config });
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
