#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = keima_probes::ended_jobs(bytes);
});
