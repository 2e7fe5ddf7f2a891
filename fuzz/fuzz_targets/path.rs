//! Feeds `weir_fuzz::path` from libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::path::check(data));
