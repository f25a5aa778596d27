//! Writes the sound inputs of each target to `corpus`, and ends. It is a target so that it is built as they are: with the
//! checksums of this package.

#![no_main]

use std::collections::BTreeMap;
use std::path::Path;

fn write_seeds() -> std::io::Result<()> {
    let mut written = BTreeMap::new();
    for (name, bytes) in keima_probes::seeds::seeds() {
        let folder = Path::new("corpus").join(name);
        std::fs::create_dir_all(&folder)?;
        let number: &mut usize = written.entry(name).or_default();
        std::fs::write(folder.join(format!("seed-{number}")), bytes)?;
        *number += 1;
    }
    Ok(())
}

libfuzzer_sys::fuzz_target!(
    init: {
        if let Err(error) = write_seeds() {
            eprintln!("cannot write to fuzz/corpus: {error}");
            std::process::exit(1);
        }
        std::process::exit(0)
    },
    |_bytes: &[u8]| {}
);
