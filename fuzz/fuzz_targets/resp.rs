//! Feeds `weir_fuzz::resp` from libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::resp::check(data));
