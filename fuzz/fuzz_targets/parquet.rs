#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| halfspace_fuzz::parquet(bytes));
