#![no_main]

libfuzzer_sys::fuzz_target!(
    init: {
        // redb panics at some damage, and the store catches that. All other panics are findings.
        let fatal = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if panic.location().is_none_or(|place| !place.file().contains("/redb-")) {
                fatal(panic);
            }
        }));
    },
    |bytes: &[u8]| {
        let _ = keima_probes::store_file(bytes);
    }
);
