//! Every sound input is accepted, and every input that fuzzing has once found is harmless. No input takes much memory.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use keima_probes::{PROBES, seeds::seeds};
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Most bytes of the heap that one input may take, and most for each of its bytes. The numbers of GMP are not among them; the text of
/// a panic that is caught is, with its backtrace.
const MOST_BYTES: usize = 96 << 20;
const MOST_OF_A_BYTE: usize = 64;

/// One probe at a time: the heap is everybody's.
static ONE: Mutex<()> = Mutex::new(());

/// Runs a probe, first without bytes: what it makes once is no input's.
fn run(name: &str, bytes: &[u8]) -> Option<bool> {
    keima_probes::run(name, b"");
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let accepted = keima_probes::run(name, bytes);
    let taken = HEAP.peak_usage().saturating_sub(before);
    let most = MOST_BYTES + MOST_OF_A_BYTE * bytes.len();
    assert!(taken <= most, "{name} takes {taken} bytes for {} (at most {most}): {}", bytes.len(), bytes.escape_ascii());
    accepted
}

#[test]
fn sound_inputs_are_accepted() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let seeds = seeds();
    for (name, _) in PROBES {
        let of = seeds.iter().filter(|(probe, _)| *probe == name);
        assert!(of.clone().next().is_some(), "{name} has no seed");
        // A log may be empty.
        for (_, bytes) in of.filter(|_| name != "store_log") {
            assert_eq!(run(name, bytes), Some(true), "{name} refuses {}", bytes.escape_ascii());
            // No input may spoil the next one.
            let _ = run(name, &bytes[..bytes.len() / 2]);
            assert_eq!(run(name, bytes), Some(true), "{name} refuses it the second time: {}", bytes.escape_ascii());
        }
    }
}

/// Flips, cuts and repetitions of sound inputs: a small taste of fuzzing. The seed is fixed.
#[test]
fn damaged_inputs_do_no_harm() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |end: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % end.max(1) as u64) as usize
    };
    for (name, sound) in seeds() {
        for _ in 0..60 {
            let mut bytes = sound.clone();
            for _ in 0..=below(3) {
                let at = below(bytes.len());
                match below(4) {
                    0 => bytes.truncate(at),
                    1 if !bytes.is_empty() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][below(5)],
                    2 if !bytes.is_empty() => bytes[at] ^= 1 << below(8),
                    _ => {
                        let part = bytes.get(at..(at + below(20)).min(bytes.len())).unwrap_or_default().to_vec();
                        bytes.splice(at..at, part);
                    }
                }
            }
            let _ = run(name, &bytes);
        }
    }
}

#[test]
fn what_fuzzing_found_does_no_harm() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions");
    let mut inputs = 0;
    for (name, _) in PROBES {
        let Ok(files) = std::fs::read_dir(folder.join(name)) else { continue };
        for file in files {
            let path = file.expect("a file").path();
            println!("{}", path.display());
            let _ = run(name, &std::fs::read(&path).expect("a file"));
            inputs += 1;
        }
    }
    println!("{inputs} inputs");
}
