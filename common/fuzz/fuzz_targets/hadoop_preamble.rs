#![no_main]
//! The first bytes of a Hadoop connection.

#[allow(dead_code, reason = "shared with the tests, which use more of it")]
#[path = "../../tests/it/hadoop/kit.rs"]
mod kit;
#[allow(dead_code, reason = "as above")]
#[path = "../../tests/it/hadoop/promises.rs"]
mod promises;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| promises::check_preamble(bytes));
