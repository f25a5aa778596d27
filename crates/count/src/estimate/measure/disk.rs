//! Measures the speed of a disk: writes a file with an fsync and reads it back.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::Instant;

use super::error::MeasureError;

/// Size of the file.
const DISK_BYTES: usize = 256 << 20;

/// Sequential speed of the disk below `folder`, in bytes a second: the slower of writing and reading.
pub fn measure_disk(folder: &Path) -> Result<f64, MeasureError> {
    let path = folder.join("speed.tmp");
    let measured = disk_seconds(&path);
    // If this fails, the caller removes the folder anyway.
    let _ = std::fs::remove_file(&path);
    Ok(DISK_BYTES as f64 / measured?.max(1e-9))
}

fn disk_seconds(path: &Path) -> std::io::Result<f64> {
    // Random bytes, because some disks compress.
    let mut seed = 1_u64;
    let words = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed ^ seed >> 29
    });
    let piece: Vec<u8> = words.take(1 << 17).flat_map(u64::to_le_bytes).collect();
    let mut file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    let started = Instant::now();
    for _ in 0..DISK_BYTES / piece.len() {
        file.write_all(&piece)?;
    }
    file.sync_all()?;
    let write_seconds = started.elapsed().as_secs_f64();
    let mut piece = piece;
    // If the system keeps the file in its cache, reading is faster than writing, and writing counts.
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
    file.rewind()?;
    let started = Instant::now();
    while file.read(&mut piece)? > 0 {}
    Ok(write_seconds.max(started.elapsed().as_secs_f64()))
}
