//! Feeds `weir_fuzz::address` from libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::address::check(data));
