//! Feeds `weir_fuzz::policy_file` from libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::policy_file::check(data));
