//! Feeds `weir_fuzz::key` from libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::key::check(data));
