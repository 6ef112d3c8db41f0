//! See `ckpt_store::snapshot::fuzzing::rules`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ckpt_store::snapshot::fuzzing::rules(bytes));
