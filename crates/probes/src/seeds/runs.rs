//! Runs: as files, as blocks, as copies, and as chunks of a stream.

use std::sync::Arc;

use keima_cluster::probe::framed;
use keima_runs::{BlockFeed, DiskBudget, LocalRun, RunKey, RunOptions, RunPart, RunWriter, run_path};
use keima_wire::{Message as _, v1};

use crate::Seed;
use crate::runs::{figures, folder, header, id};
use crate::transfers::MESSAGES;

pub(super) fn all() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for shape in 0..18_u8 {
        let (moduli, coefficients) = (1 + (shape >> 1) % 3, 1 + u32::from(shape >> 3) % 3);
        let options = RunOptions {
            block_bytes: 400 + 300 * usize::from(shape % 4),
            compress_keys: shape % 3 > 0,
            consecutive: shape % 5 == 0,
            durable: false,
        };
        seeds.extend(match shape % 2 {
            0 => run::<u64>(shape, moduli, coefficients, options, |key| key as u64),
            _ => run::<u128>(shape, moduli, coefficients, options, |key| key << 64 | key),
        });
    }
    seeds
}

/// One run as a file, as blocks of another worker, in chunks of a stream and in the messages of one, and as a second copy.
fn run<K: RunKey>(shape: u8, moduli: u8, coefficients: u32, options: RunOptions, key: fn(u128) -> K) -> [Seed; 5] {
    let folder = folder();
    let header = header(K::BYTES, moduli, coefficients);
    let disk = Arc::new(DiskBudget::new(u64::MAX));
    let mut writer = RunWriter::<K>::create(folder.path(), &id(), &header, options, &disk).expect("a run");
    for number in 0..60 + u128::from(shape) {
        let row: Vec<u64> = (0..header.lanes() as u64).map(|lane| number as u64 * 77 + lane).collect();
        writer.push(key(number + number / 7 * 1000), &row).expect("keys ascend");
    }
    let (manifest, _) = writer.finish().expect("a run").expect("records");
    let path = run_path(folder.path(), &id()).expect("a sound id");
    let file = std::fs::read(&path).expect("a file");
    let mut feed = LocalRun::open(&path, &manifest, &header).expect("a run").feed(RunPart::all(&header));
    let (mut blocks, mut stream, mut raw) = (vec![shape], vec![shape + 1], Vec::new());
    while feed.next_block(&mut raw).expect("a block") {
        blocks.extend((raw.len() as u16).to_le_bytes());
        blocks.extend_from_slice(&raw);
        stream.extend((raw.len() as u32).to_le_bytes());
        stream.extend_from_slice(&raw);
    }
    let copy = [figures(&manifest), file.clone()].concat();
    let chunks = stream.get(1..).unwrap_or_default().chunks(500);
    let last = chunks.len();
    let messages = (1..).zip(chunks).map(|(number, chunk)| {
        v1::ReadRunResponse { data: chunk.to_vec().into(), end: number == last }.encode_to_vec()
    });
    let messages = [vec![MESSAGES], framed(messages)].concat();
    [("run_file", file), ("run_blocks", blocks), ("run_intake", copy), ("transfers", messages), ("transfers", stream)]
}
