//! Feeds `weir_fuzz::http_body` from libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::http_body::check(data));
