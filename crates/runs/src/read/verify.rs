//! Verifies whole run files, or header, index and footer alone (when a worker comes back with its folder).

use std::path::Path;

use keima_residue::{add_mod, reduce_wide};

use crate::format::decode::decode;
use crate::format::header::{Shape, lane_moduli};
use crate::{Batch, BlockFeed, LocalRun, RunError, RunHeader, RunId, RunKey, RunManifest, RunPart};

/// Reads and verifies header, index and footer of a file that must be the run `id`.
pub fn read_manifest(path: &Path, id: &RunId) -> Result<(RunHeader, RunManifest), RunError> {
    let run = LocalRun::open_unknown(path, id)?;
    Ok((run.header().clone(), run.manifest().clone()))
}

/// Verifies a whole file: all that [`LocalRun::open`] checks, then each block's checksum and index entry, the order
/// of the keys, and the footer's keys and sums.
pub fn verify_run(path: &Path, expected: &RunManifest, header: &RunHeader) -> Result<(), RunError> {
    verify_opened(&LocalRun::open(path, expected, header)?, path)
}

/// Opens any run and verifies all of it.
pub fn open_verified(path: &Path) -> Result<LocalRun, RunError> {
    let run = LocalRun::open_any(path)?;
    verify_opened(&run, path)?;
    Ok(run)
}

fn verify_opened(run: &LocalRun, path: &Path) -> Result<(), RunError> {
    match run.header().key_bytes {
        8 => verify_blocks::<u64>(run, path),
        _ => verify_blocks::<u128>(run, path),
    }
}

fn verify_blocks<K: RunKey>(run: &LocalRun, path: &Path) -> Result<(), RunError> {
    let place = path.display().to_string();
    let malformed = |what, at| RunError::Malformed { place: place.clone(), what, at };
    let manifest = run.manifest();
    let shape = Shape::of::<K>(run.header(), &manifest.id, &place)?;
    let moduli = lane_moduli(run.header());
    let mut sums = vec![0; moduli.len()];
    let mut totals = vec![0_u128; moduli.len()];
    let mut batch = Batch::<K>::new();
    let mut raw = Vec::new();
    let mut feed = run.feed(RunPart::all(run.header()));
    let mut next = Some(0);
    let mut last = 0;
    for (at, entry) in (0..).zip(run.entries()) {
        let entry = entry?;
        if !feed.next_block(&mut raw)? {
            return Err(malformed("a block of the index is missing", at));
        }
        let cover = decode(&raw, &shape, 0..shape.lanes(), &mut batch, &place, at)?;
        let described = cover.crc == entry.crc
            && batch.len() == entry.records as usize
            && batch.keys.first().is_some_and(|k| k.widen() == entry.first);
        if !described {
            return Err(malformed("a block does not match its index entry", at));
        }
        // Decoding has checked the order within a block, and that the block ends below the next one's first key.
        if next != Some(cover.from) {
            return Err(malformed("a block does not begin where the one before ends", at));
        }
        next = cover.to;
        last = batch.keys.last().map_or(last, |k| k.widen());
        totals.fill(0);
        for row in batch.rows.chunks_exact(moduli.len()) {
            totals.iter_mut().zip(row).for_each(|(total, &value)| *total += u128::from(value));
        }
        for ((sum, &total), &modulus) in sums.iter_mut().zip(&totals).zip(&moduli) {
            *sum = add_mod(*sum, reduce_wide(total, modulus), modulus);
        }
    }
    if next.is_some() {
        return Err(malformed("its last block names a next one", manifest.bytes));
    }
    if last != manifest.last_key {
        return Err(malformed("its footer's last key is not that of its last block", manifest.bytes));
    }
    if sums != manifest.sums {
        return Err(malformed("its footer's sums are not those of its blocks", manifest.bytes));
    }
    Ok(())
}
