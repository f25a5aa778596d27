//! One thing that goes wrong: where, when and how is drawn from a seed.
//!
//! ```text
//!   in flight   Block      a bit of a run's block between two workers
//!               Manifest   a bit of a finished task's report
//!               Order      a modulus, a key range, an input or the salt of an order
//!   in memory   Written    a record changes after a task has added up what it writes, before the file's checksums
//!               Read       a record changes after the checksum of its block was verified, before it is added up
//!   on disk     Disk       a bit of a run file, its end, or another run in its place
//! ```
//!
//! A record that changes has another residue, another key, or the value of another state: it stands at the wrong place.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use keima_blocks::limits::PLACE_BITS;
use keima_model::mix::split_mix;
use keima_orders::TaskOrder;
use keima_runs::{
    Batch, DiskBudget, LocalRun, RunCursor, RunHeader, RunManifest, RunOptions, RunPart, RunWriter, TaskManifest,
    run_path,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    Block,
    Manifest,
    Order,
    Written,
    Read,
    Disk,
}

/// What a record that changes has another one of; its place is the value of another state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Residue,
    Key,
    Place,
}

pub(crate) const KINDS: &[Kind] = &[Kind::Residue, Kind::Key, Kind::Place];

pub(crate) const POINTS: [Point; 6] =
    [Point::Block, Point::Manifest, Point::Order, Point::Written, Point::Read, Point::Disk];

/// Where and when to strike.
#[derive(Clone)]
pub(crate) struct Strike {
    point: Option<Point>,
    at: u64,
    kinds: &'static [Kind],
    state: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    seen: [AtomicU64; 6],
    random: AtomicU64,
    told: Mutex<String>,
}

impl Strike {
    /// Strikes when `point` is reached for the time number `at`, from 0.
    pub(crate) fn new(point: Point, at: u64, kinds: &'static [Kind], seed: u64) -> Self {
        let state = Shared { random: AtomicU64::new(seed), ..Shared::default() };
        Self { point: Some(point), at, kinds, state: Arc::new(state) }
    }

    /// Never strikes, and counts how often each point is reached.
    pub(crate) fn none() -> Self {
        Self { point: None, at: 0, kinds: KINDS, state: Arc::default() }
    }

    pub(crate) fn seen(&self, point: Point) -> u64 {
        self.state.seen[point as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn is_due(&self, point: Point) -> bool {
        self.state.seen[point as usize].fetch_add(1, Ordering::Relaxed) == self.at && self.point == Some(point)
    }

    /// What was changed; empty if nothing was.
    pub(crate) fn told(&self) -> String {
        self.state.told.lock().unwrap().clone()
    }

    fn tell(&self, text: String) {
        *self.state.told.lock().unwrap() = text;
    }

    fn below(&self, end: usize) -> usize {
        let mut random = self.state.random.load(Ordering::Relaxed);
        let drawn = split_mix(&mut random);
        self.state.random.store(random, Ordering::Relaxed);
        (drawn % end.max(1) as u64) as usize
    }

    fn flip(&self, bytes: &mut [u8]) -> usize {
        let at = self.below(bytes.len());
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << self.below(8);
        }
        at
    }

    pub(crate) fn change_block(&self, raw: &mut [u8]) {
        let bytes = raw.len();
        let at = self.flip(raw);
        self.tell(format!("a bit of byte {at} of a block of {bytes}"));
    }

    /// The report of a task after its way to the coordinator; `None` if it cannot be read any more.
    pub(crate) fn manifest(&self, manifest: TaskManifest) -> Option<TaskManifest> {
        if !self.is_due(Point::Manifest) {
            return Some(manifest);
        }
        let mut bytes = postcard::to_stdvec(&manifest).unwrap();
        let at = self.flip(&mut bytes);
        let changed: Option<TaskManifest> = postcard::from_bytes(&bytes).ok();
        self.tell(format!("a bit of byte {at} of a report: {changed:?} for {manifest:?}"));
        changed
    }

    /// An order after its way to the worker.
    pub(crate) fn order(&self, mut order: TaskOrder) -> TaskOrder {
        if !self.is_due(Point::Order) {
            return order;
        }
        let bit = self.below(64);
        // By blocks the upper bits of a key are the number of a group.
        let unit = if order.block.is_some() { PLACE_BITS } else { 0 };
        let what = match self.below(6) {
            0 => {
                let lane = self.below(order.moduli.len());
                order.moduli[lane] ^= 1 << bit;
                "a modulus"
            }
            1 => {
                order.salt ^= 1 << bit;
                "the salt"
            }
            2 => {
                order.low ^= 1 << (self.below(8) as u32 + unit);
                "the lower end of the keys"
            }
            3 => {
                let high = Some(1 << (self.below(6) as u32 + unit));
                if order.high == high {
                    return order;
                }
                order.high = high;
                "the upper end of the keys"
            }
            4 if !order.inputs.is_empty() => {
                let place = self.below(order.inputs.len());
                order.inputs.remove(place);
                "an input that is left out"
            }
            _ if !order.inputs.is_empty() => {
                let place = self.below(order.inputs.len());
                let run = &mut order.inputs[place].manifest;
                match self.below(3) {
                    0 => run.first_key ^= 1 << self.below(8),
                    1 => run.sums[0] ^= 1 << self.below(59),
                    _ => run.checksum ^= 1 << self.below(32),
                }
                "what an input should be"
            }
            _ => {
                order.from_start = !order.from_start;
                "whether it begins"
            }
        };
        self.tell(format!("{what} of the order of pass {}", order.first_pass));
        order
    }

    /// Writes a run with one changed record and right checksums to `root`. `None` if no change is possible.
    pub(crate) fn change_run(
        &self,
        root: &Path,
        path: &Path,
        run: &RunManifest,
        header: &RunHeader,
        disk: &Arc<DiskBudget>,
    ) -> Option<RunManifest> {
        let local = LocalRun::open(path, run, header).ok()?;
        let part = RunPart { low: 0, high: None, lanes: 0..header.lanes() };
        let mut cursor = RunCursor::<u64>::new(Box::new(local.feed(part.clone())), header, &run.id, part);
        let (mut records, mut batch): (Vec<(u64, Vec<u64>)>, _) = (Vec::new(), Batch::new());
        while cursor.next_batch(&mut batch).ok()? {
            let rows = batch.rows.chunks_exact(header.lanes()).map(<[u64]>::to_vec);
            records.extend(batch.keys.iter().copied().zip(rows));
        }
        let place = self.below(records.len());
        let what = match self.kinds[self.below(self.kinds.len())] {
            Kind::Residue => {
                let lane = self.below(header.lanes());
                let modulus = header.moduli[lane % header.moduli.len()];
                records[place].1[lane] = (records[place].1[lane] ^ 1 << self.below(60)) % modulus;
                "the residue"
            }
            Kind::Key => {
                let key = records[place].0 ^ 1 << self.below(8);
                if records.iter().any(|(other, _)| *other == key) {
                    return None;
                }
                records[place].0 = key;
                records.sort_unstable();
                "the key"
            }
            Kind::Place => {
                let other = self.below(records.len());
                if records[other].1 == records[place].1 {
                    return None;
                }
                let value = records[place].1.clone();
                records[place].1 = std::mem::replace(&mut records[other].1, value);
                "the place"
            }
        };
        std::fs::create_dir_all(run_path(root, &run.id).ok()?.parent()?).ok()?;
        let mut writer = RunWriter::<u64>::create(root, &run.id, header, RunOptions::default(), disk).ok()?;
        for (key, row) in &records {
            writer.push(*key, row).ok()?;
        }
        let (changed, _) = writer.finish().ok()??;
        self.tell(format!("{what} of record {place} of run {}", run.id));
        Some(changed)
    }

    /// Something of the files below a folder.
    pub(crate) fn change_disk(&self, folder: &Path) {
        let mut files = Vec::new();
        find(folder, &mut files);
        files.sort();
        if files.is_empty() {
            return;
        }
        let path = &files[self.below(files.len())];
        let Ok(before) = std::fs::read(path) else { return };
        let mut bytes = before.clone();
        let what = match self.below(8) {
            0 => {
                bytes.truncate(self.below(bytes.len()));
                "is cut".to_owned()
            }
            1 => {
                let other = &files[self.below(files.len())];
                bytes = std::fs::read(other).unwrap();
                format!("has the bytes of {}", other.display())
            }
            _ => format!("has another bit in byte {}", self.flip(&mut bytes)),
        };
        if bytes != before {
            std::fs::write(path, bytes).unwrap();
            self.tell(format!("{} {what}", path.display()));
        }
    }
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "run") {
            files.push(path);
        }
    }
}
