//! `keima selftest`: whether processor, memory, disk and this build of keima are sound. Takes less than a minute.
//!
//! ```text
//!   count    go 9x9 by blocks, go 7x7 by streams through the disk, against published values; the certificate of one
//!   memory   a pattern that differs at every address, written and read twice
//!   disk     a file of random numbers, flushed, read back past the cache where the system allows it
//! ```
//!
//! It is a smoke test: a machine that fails it is broken, one that passes may still be. A count checks itself all the way.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use keima_model::mix::split_mix;

use super::{Finding, conclude};
use crate::args::SelftestArgs;
use crate::exit::Failed;
use crate::machine::cores;
use crate::terminal::output::say;
use crate::terminal::units::show_decimal_bytes;

/// Legal positions (Tromp & Farnebäck 2016, table 3).
const GO_9X9: &str = "103919148791293834318983090438798793469";
const GO_7X7: &str = "83677847847984287628595";
/// Words of memory that are filled.
const WORDS: usize = 32 << 20;
/// Bytes of the file on disk.
const FILE_BYTES: usize = 256 << 20;
const CHUNK_BYTES: usize = 4 << 20;

/// One part of the test: what it found, or what is wrong.
type Step<'a> = &'a dyn Fn() -> Result<String, String>;

pub(crate) fn selftest(args: &SelftestArgs) -> Result<(), Failed> {
    let folder = args.scratch.clone().unwrap_or_else(std::env::temp_dir);
    let own = tempfile::Builder::new().prefix("keima-selftest-").tempdir_in(&folder).map_err(|error| {
        Failed::usage(format!("cannot make a folder in {}: {error}; name another one with --scratch", folder.display()))
    })?;
    let steps: [(&str, Step); 4] = [
        ("blocks", &|| counted(&["go", "9x9", "--executor", "block", "--memory", "512MiB"], GO_9X9)),
        ("streams", &|| streams(own.path())),
        ("memory", &memory),
        ("disk", &|| disk(&own.path().join("pattern"))),
    ];
    let mut findings = Vec::new();
    for (name, step) in steps {
        if !args.json {
            say(format_args!("testing {name} ..."));
        }
        findings.push(Finding::of(name, step()));
    }
    conclude(
        &findings,
        args.json,
        "this machine or this program does not work as it should; do not count on it before the cause is found",
    )
}

/// Runs a verb of this program; what it printed.
fn run(args: &[&str]) -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let ran = Command::new(program).args(args).stdin(Stdio::null()).output();
    let ran = ran.map_err(|error| format!("cannot start this program: {error}"))?;
    if ran.status.success() {
        return Ok(String::from_utf8_lossy(&ran.stdout).trim().to_owned());
    }
    Err(format!("keima {} ended with {}: {}", args.join(" "), ran.status, String::from_utf8_lossy(&ran.stderr).trim()))
}

fn counted(words: &[&str], expected: &str) -> Result<String, String> {
    let started = Instant::now();
    let threads = cores().to_string();
    let got = run(&[&["count"], words, &["--threads", &threads, "--quiet", "--fresh"]].concat())?;
    if got != expected {
        return Err(format!("{} {}: expected {expected}, got {got}", words[0], words[1]));
    }
    Ok(format!("{} {} is the published value, in {:.1} s", words[0], words[1], started.elapsed().as_secs_f64()))
}

/// A count through the disk, and its certificate.
fn streams(own: &Path) -> Result<String, String> {
    let (data, scratch, result) = (own.join("data"), own.join("scratch"), own.join("result.json"));
    let (data, scratch) = (data.to_string_lossy(), scratch.to_string_lossy());
    let on_disk = ["--executor", "stream", "--memory", "128MiB", "--data", &data, "--scratch", &scratch];
    let said = counted(&[&["go", "7x7"], &on_disk[..]].concat(), GO_7X7)?;
    let json = run(&[&["count", "go", "7x7", "--json", "--quiet"], &on_disk[..]].concat())?;
    std::fs::write(&result, json).map_err(|error| format!("cannot write {}: {error}", result.display()))?;
    run(&["verify", &result.to_string_lossy()])?;
    Ok(format!("{said}; its certificate holds"))
}

fn memory() -> Result<String, String> {
    let mut words: Vec<u64> = Vec::new();
    if words.try_reserve_exact(WORDS).is_err() {
        return Err(format!("cannot take {} of memory", show_decimal_bytes(WORDS as f64 * 8.0)));
    }
    let started = Instant::now();
    for flip in [0, u64::MAX] {
        words.clear();
        words.extend((0..WORDS as u64).map(|at| split_mix(&mut at.clone()) ^ flip));
        std::hint::black_box(&mut words);
        for (at, word) in words.iter().enumerate() {
            let expected = split_mix(&mut (at as u64)) ^ flip;
            if *word != expected {
                return Err(format!("word {at}: expected {expected:#018x}, got {word:#018x}; test it with memtest86+"));
            }
        }
    }
    let bytes = WORDS as f64 * 8.0;
    let rate = 4.0 * bytes / started.elapsed().as_secs_f64();
    Ok(format!("{} written and read back twice, {}/s", show_decimal_bytes(bytes), show_decimal_bytes(rate)))
}

/// One chunk of the file.
fn chunk(number: usize) -> Vec<u8> {
    let mut state = number as u64;
    (0..CHUNK_BYTES / 8).flat_map(|_| split_mix(&mut state).to_le_bytes()).collect()
}

fn disk(path: &Path) -> Result<String, String> {
    let failed = |action: &str, error: std::io::Error| format!("cannot {action} {}: {error}", path.display());
    let chunks: Vec<Vec<u8>> = (0..4).map(chunk).collect();
    let count = FILE_BYTES / CHUNK_BYTES;
    let of = |number: usize| chunks.get(number % chunks.len()).map(Vec::as_slice).unwrap_or_default();
    let started = Instant::now();
    let mut file = File::create(path).map_err(|error| failed("create", error))?;
    for number in 0..count {
        file.write_all(&(number as u64).to_le_bytes()).map_err(|error| failed("write", error))?;
        file.write_all(of(number)).map_err(|error| failed("write", error))?;
    }
    file.sync_all().map_err(|error| failed("flush", error))?;
    let written = started.elapsed().as_secs_f64();
    // Dropped from the cache, what is read comes from the disk. Where that is not possible, it is a test of the cache.
    let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
    let started = Instant::now();
    let mut file = File::open(path).map_err(|error| failed("open", error))?;
    let (mut head, mut body) = ([0; 8], vec![0; CHUNK_BYTES]);
    for number in 0..count {
        file.read_exact(&mut head).and_then(|()| file.read_exact(&mut body)).map_err(|error| failed("read", error))?;
        if u64::from_le_bytes(head) != number as u64 || body != of(number) {
            return Err(format!("{}: chunk {number} of {count} is not what was written", path.display()));
        }
    }
    let read = started.elapsed().as_secs_f64();
    let rate = |seconds: f64| show_decimal_bytes(FILE_BYTES as f64 / seconds);
    Ok(format!(
        "{} written and flushed at {}/s, read back at {}/s",
        show_decimal_bytes(FILE_BYTES as f64),
        rate(written),
        rate(read)
    ))
}
