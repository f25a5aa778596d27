//! Names this build of keima by the sources that decide numbers: `KEIMA_BUILD`, the version and a hash of them.
//!
//! A revision of git would not do: an archive has none, and a changed tree has the old one. The hash needs nothing but the
//! sources, and is the same for every machine, compiler and profile. Texts of the command line do not count.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Crates whose sources count.
const CRATES: [&str; 11] =
    ["residue", "model", "blocks", "problems", "runs", "orders", "engine", "coordinator", "wire", "cluster", "count"];

fn main() -> io::Result<()> {
    // Read at run time, not at compile time: a shared target folder may hold the script of another checkout.
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("../..");
    let mut files = Vec::new();
    let sources = CRATES.map(|name| root.join("crates").join(name).join("src"));
    for folder in sources.iter().chain([&root.join("proto")]) {
        println!("cargo::rerun-if-changed={}", folder.display());
        list(folder, &mut files)?;
    }
    let mut files: Vec<(String, PathBuf)> = files.into_iter().map(|file| (name(&root, &file), file)).collect();
    files.sort();
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    for (name, file) in files {
        hash.add(name.as_bytes());
        // A checkout may have other ends of lines.
        hash.add(fs::read_to_string(file)?.replace("\r\n", "\n").as_bytes());
    }
    println!("cargo::rustc-env=KEIMA_BUILD={}+{:016x}", env!("CARGO_PKG_VERSION"), hash.0);
    Ok(())
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "proto") {
            files.push(path);
        }
    }
    Ok(())
}

/// A file's name below the root, the same on every system.
fn name(root: &Path, file: &Path) -> String {
    let below = file.strip_prefix(root).unwrap_or(file);
    below.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// The hash FNV-1a of 64 bits.
struct Fnv(u64);

impl Fnv {
    /// Adds some bytes and their number.
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&(bytes.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}
