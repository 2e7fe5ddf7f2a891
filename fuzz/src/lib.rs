//! What must hold whatever bytes come in, one file a way in. Each `check` panics where a property fails.
//!
//! The targets in `fuzz_targets` feed these from libFuzzer; `tests/corpora.rs` feeds them from the seeds, on
//! any compiler. A check keeps nothing from one input to the next, so that what fails once fails again.

#![forbid(unsafe_code)]

pub mod address;
pub mod http_body;
pub mod key;
pub mod path;
pub mod policy_file;
pub mod resp;

mod support;
