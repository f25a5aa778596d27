//! What workers read of each other: the chunks of a run, and requests for parts of one.

use std::cell::RefCell;
use std::sync::Arc;

use keima_cluster::probe::{blocks_of, sent, wanted_part};
use keima_runs::{BlockFeed as _, DiskBudget, LocalRun, RunHeader, RunManifest, RunOptions, RunWriter, run_path};
use tempfile::TempDir;

use crate::runs::{folder, header, id};

/// Records of the run that is asked for.
const RECORDS: u64 = 300;

/// A run that others may ask for.
struct Asked {
    run: LocalRun,
    header: RunHeader,
    _folder: TempDir,
}

thread_local! {
    static RUN: RefCell<Option<Asked>> = const { RefCell::new(None) };
}

fn asked() -> Asked {
    let (folder, header) = (folder(), header(8, 2, 2));
    let disk = Arc::new(DiskBudget::new(u64::MAX));
    let options = RunOptions { block_bytes: 400, compress_keys: true, consecutive: false, durable: false };
    let mut writer = RunWriter::<u64>::create(folder.path(), &id(), &header, options, &disk).expect("a run");
    for key in 0..RECORDS {
        writer.push(3 * key, &[key, 1, 2, 3]).expect("keys ascend");
    }
    let (manifest, _): (RunManifest, _) = writer.finish().expect("a run").expect("records");
    let path = run_path(folder.path(), &id()).expect("a sound id");
    let run = LocalRun::open(&path, &manifest, &header).expect("a run");
    Asked { run, header, _folder: folder }
}

/// A first byte that stands for messages with chunks in them.
pub(crate) const MESSAGES: u8 = 255;

/// A first byte of 0: a request for a part of a run, which is then read; of 255: the messages of a holder. Others: chunks of so
/// many bytes.
pub(crate) fn transfers(bytes: &[u8]) -> bool {
    match bytes.split_first() {
        None => false,
        Some((0, request)) => requested(request),
        Some((&MESSAGES, messages)) => {
            let (chunks, has_end) = sent(messages);
            are_blocks(chunks) & has_end
        }
        Some((&length, stream)) => are_blocks(stream.chunks(usize::from(length)).map(<[u8]>::to_vec).collect()),
    }
}

/// Whether chunks are blocks up to their end.
fn are_blocks(chunks: Vec<Vec<u8>>) -> bool {
    let bytes: usize = chunks.iter().map(Vec::len).sum();
    let (blocks, is_whole) = blocks_of(chunks);
    let told: usize = blocks.iter().map(|block| 4 + block.len()).sum();
    assert!(told <= bytes && is_whole == (told == bytes), "blocks have other bytes than the stream");
    is_whole
}

/// Reads the part that a request wants.
fn requested(bytes: &[u8]) -> bool {
    RUN.with_borrow_mut(|run| {
        let Asked { run, header, .. } = run.get_or_insert_with(asked);
        let Some(part) = wanted_part(bytes, header.lanes()) else { return false };
        let (mut feed, mut raw, mut blocks) = (run.feed(part), Vec::new(), 0);
        while feed.next_block(&mut raw).expect("a part of a sound run is read") {
            blocks += 1;
            assert!(blocks <= RECORDS, "a run has more blocks than records");
        }
        true
    })
}
