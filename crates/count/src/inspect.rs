//! Reads a run file by itself, without its job: verifies the whole file and lists its records with their keys.
//!
//! Runs of the stream executor hold keys. Runs of the block executor hold places. The states at these places follow from the
//! tables of the header's problem, the windows of a column, and the size of groups:
//!
//! ```text
//!   header "go 9x9", 5+4 cells, groups of 8192 records --> tables --> for each section the keys of its rows
//!   section for group g     | rows, in the order of the tables |   -->  key, residues
//! ```
//!
//! Cost: reads the file twice; holds the tables of a column and the keys of a section in memory.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use keima_blocks::limits::PLACE_BITS;
use keima_blocks::sizes::show_bytes;
use keima_engine::TaskError;
use keima_engine::block::GroupId;
use keima_model::{AnyProblem, Direction, Directions, ProblemError, ProblemInfo, ProblemRequest, Registry, Window};
use keima_orders::BlockOrder;
use keima_runs::{Batch, LocalRun, RunCursor, RunKey, RunPart, open_verified};
pub use keima_runs::{BlockCut, KeyOrder, RunError, RunHeader, RunManifest};

use keima_cluster::Tables;

/// A verified run file.
#[derive(Debug)]
pub struct Inspected(LocalRun);

/// Why a run's records cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The file cannot be read.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The header names no problem of this program.
    #[error("the header says that the run is of {subject:?}: {source}")]
    Problem {
        /// The header's words.
        subject: String,
        /// Why they name no problem.
        #[source]
        source: ProblemError,
    },
    /// The tables need more memory than allowed.
    #[error(
        "the tables for this run need about {}, but {} are allowed; allow more with --memory",
        show_bytes(*needed_bytes),
        show_bytes(*memory_bytes)
    )]
    Memory {
        /// Their estimated size.
        needed_bytes: u64,
        /// The allowed memory.
        memory_bytes: u64,
    },
    /// The file does not match the tables of its header's problem.
    #[error("the run of {subject:?}: {why}; was it written by another version of keima?")]
    States {
        /// The header's words.
        subject: String,
        /// The mismatch.
        why: String,
    },
}

/// Called with each key and its residues; `false` ends the list.
type Each<'a> = &'a mut dyn FnMut(u128, &[u64]) -> bool;
type EachStored<'a> = &'a mut dyn FnMut(u128, &[u64]) -> Result<bool, InspectError>;

impl Inspected {
    /// Reads and verifies a whole file.
    pub fn open(path: &Path) -> Result<Self, RunError> {
        open_verified(path).map(Self)
    }

    /// The header.
    pub fn header(&self) -> &RunHeader {
        self.0.header()
    }

    /// The manifest.
    pub fn manifest(&self) -> &RunManifest {
        self.0.manifest()
    }

    /// Bytes of the keys that [`Inspected::records`] lists.
    pub fn key_bytes(&self, registry: &dyn Registry) -> Result<u32, InspectError> {
        match &self.header().cut {
            Some(_) => Ok(self.problem(registry)?.1.key_bytes()),
            None => Ok(self.header().key_bytes.into()),
        }
    }

    /// Lists the records in the order of the file. Keys are canonical, except for runs in a window's order, which list the
    /// window's keys. Tables stay within `memory_bytes`, by estimate.
    pub fn records(&self, registry: &dyn Registry, memory_bytes: u64, each: Each<'_>) -> Result<(), InspectError> {
        let mut one = |key, row: &[u64]| Ok(each(key, row));
        match (self.header().key_order, &self.header().cut) {
            (KeyOrder::Blocks { first, len } | KeyOrder::Transposed { first, len }, Some(cut)) => {
                self.block_records(registry, memory_bytes, Window { first, len }, cut, each)
            }
            _ if self.header().key_bytes == 8 => self.rows::<u64>(RunPart::all(self.header()), &mut one).map(drop),
            _ => self.rows::<u128>(RunPart::all(self.header()), &mut one).map(drop),
        }
    }

    /// The problem that the header names.
    fn problem(&self, registry: &dyn Registry) -> Result<(ProblemRequest, AnyProblem), InspectError> {
        let subject = || self.header().subject.clone();
        let request = ProblemRequest::from_words(&self.header().subject)
            .ok_or_else(|| self.states("these words name no problem with a size".to_owned()))?;
        let problem = registry.open(&request).map_err(|source| InspectError::Problem { subject: subject(), source })?;
        Ok((request, problem))
    }

    fn states(&self, why: String) -> InspectError {
        InspectError::States { subject: self.header().subject.clone(), why }
    }

    /// Lists a part with the keys in the file. Returns whether it came to the end.
    fn rows<K: RunKey>(&self, part: RunPart, each: EachStored<'_>) -> Result<bool, InspectError> {
        let (header, feed) = (self.header(), Box::new(self.0.feed(part.clone())));
        let mut cursor = RunCursor::<K>::new(feed, header, &self.manifest().id, part);
        let mut batch = Batch::new();
        while cursor.next_batch(&mut batch)? {
            for (key, row) in batch.keys.iter().zip(batch.rows.chunks(header.lanes())) {
                if !each(key.widen(), row)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn block_records(
        &self,
        registry: &dyn Registry,
        memory_bytes: u64,
        window: Window,
        cut: &BlockCut,
        each: Each<'_>,
    ) -> Result<(), InspectError> {
        let (request, problem) = self.problem(registry)?;
        let (info, run) = (problem.info(), self.manifest());
        let (windows, height) = (windows(cut), info.board().height);
        if windows.last().map(|window| window.end()) != Some(height) {
            return Err(self.states(format!("windows of {:?} cells are no column of {height}", cut.windows)));
        }
        let direction = match self.header().key_order {
            KeyOrder::Transposed { .. } => Direction::Transposed,
            _ => Direction::Forward,
        };
        // Transposed vectors enter a window at its end.
        let entered = |own: &Window| if direction == Direction::Forward { own.first } else { own.end() % height };
        let reader = windows.iter().position(|own| *own == window && self.header().boundary % height == entered(own));
        let Some(reader) = reader else {
            let boundary = self.header().boundary;
            return Err(self.states(format!(
                "after {boundary} passes no window of {} cells {} at cell {} where a column is cut into {:?}",
                window.len,
                if direction == Direction::Forward { "begins" } else { "ends that begins" },
                window.first,
                cut.windows
            )));
        };
        let directions = if direction == Direction::Forward { Directions::Forward } else { Directions::Both };
        let parted = self.is_parted(info, &windows, directions, memory_bytes)?;
        let (group_records, moduli_in) = (cut.group_records, Vec::new());
        let both_ways = directions == Directions::Both;
        let order = BlockOrder {
            parted,
            windows,
            group_records,
            moduli_in,
            slots: 1,
            both_ways,
            direction,
            lanes: None,
            kept: None,
        };
        let made = Tables::new(memory_bytes, 1).of(&request, &order).get(info, &AtomicBool::new(false));
        let prepared = made.map_err(|why| self.states(why.to_string()))?;
        let other_rows =
            |number| self.states(format!("its rows for group {number} are not those that follow from the tables"));
        let mut listed = 0_u64;
        for number in prepared.readers(reader, run) {
            let (first, keys) = prepared
                .keys(GroupId { direction, window: reader, number }, run)
                .map_err(|error: TaskError| self.states(error.to_string()))?;
            let low = u128::from(number) << PLACE_BITS;
            let part = RunPart::keys(self.header(), low, Some(low + (1 << PLACE_BITS)));
            let (mut stored_keys, mut keys) = (first.., keys.into_iter());
            let all = self.rows::<u64>(part, &mut |stored, row| {
                let (Some(place), Some(key)) = (stored_keys.next(), keys.next()) else {
                    return Err(other_rows(number));
                };
                if stored != place {
                    return Err(other_rows(number));
                }
                listed += 1;
                Ok(each(key, row))
            })?;
            if !all {
                return Ok(());
            }
            if keys.next().is_some() {
                return Err(other_rows(number));
            }
        }
        if listed == run.records {
            return Ok(());
        }
        Err(self.states(format!("it has {} rows for groups that there are not", run.records - listed)))
    }

    /// Whether to make tables a part at a time: if all of them do not fit, and parts do.
    fn is_parted(
        &self,
        info: &dyn ProblemInfo,
        windows: &[Window],
        directions: Directions,
        memory_bytes: u64,
    ) -> Result<bool, InspectError> {
        let Some(blocks) = info.blocks() else {
            return Err(self.states(format!("{} has no block form here", info.name())));
        };
        let whole_bytes = blocks.table_bytes(windows, directions);
        if whole_bytes <= memory_bytes {
            return Ok(false);
        }
        // One window has no parts, and neither have tables for both directions.
        let parts = windows.len() > 1 && directions == Directions::Forward;
        let parted = Some(blocks.parts_bytes(windows)).filter(|_| parts);
        let needed_bytes = parted.map_or(whole_bytes, |bytes| bytes.worker_bytes.saturating_add(bytes.task_bytes()));
        if needed_bytes <= memory_bytes { Ok(true) } else { Err(InspectError::Memory { needed_bytes, memory_bytes }) }
    }
}

/// The windows of a column.
fn windows(cut: &BlockCut) -> Vec<Window> {
    let mut first = 0;
    let window = |&len: &u8| {
        let window = Window { first, len: len.into() };
        first += window.len;
        window
    };
    cut.windows.iter().map(window).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use keima_problems::Problems;
    use keima_runs::{DiskBudget, RunId, RunOptions, RunWriter, run_path};

    use super::*;

    /// Intact files whose headers are wrong.
    #[test]
    fn what_does_not_follow_from_the_tables_is_an_error() {
        let (dir, id) = (tempfile::tempdir().unwrap(), RunId("r".into()));
        let disk = Arc::new(DiskBudget::new(u64::MAX));
        let check = |subject: &str, boundary, windows: &[u8], group_records, key: u64, expected: &str| {
            let (first, len) = (0, windows[0].into());
            let header = RunHeader {
                job_tag: 1,
                definition: 2,
                build: String::new(),
                subject: subject.to_owned(),
                boundary,
                key_order: KeyOrder::Blocks { first, len },
                cut: Some(BlockCut { windows: windows.to_vec(), group_records }),
                key_bytes: 8,
                moduli: vec![97],
                coefficients: 1,
            };
            let mut writer = RunWriter::create(dir.path(), &id, &header, RunOptions::default(), &disk).unwrap();
            writer.push(key, &[5]).unwrap();
            writer.finish().unwrap();
            let path = run_path(dir.path(), &id).unwrap();
            let run = Inspected::open(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            let error = run.records(&Problems, 64 << 20, &mut |_, _| true).unwrap_err().to_string();
            assert!(error.contains(expected), "{subject} {windows:?}: {error}");
        };
        check("go", 6, &[2, 1], 10, 0, "no problem with a size");
        check("chess 8x8", 6, &[2, 1], 10, 0, "known problems");
        check("go 3x3", 6, &[2, 2], 10, 0, "no column of 3");
        check("go 3x3", 7, &[2, 1], 10, 0, "after 7 passes no window of 2 cells begins at cell 0");
        check("knight 6x6 closed", 6, &[4, 2], 10, 0, "no block form");
        check("go 21x21", 21, &[20, 1], 10, 0, "allow more with --memory");
        check("go 21x21", 21, &[1; 21], 10, 0, "allow more with --memory");
        // One row where there are many, one at a place where no group begins, one of a group that there is not.
        check("go 5x5", 10, &[3, 2], u64::MAX, 0, "group 0 are not those");
        for group_records in [0, 10, u64::MAX] {
            check("go 5x5", 10, &[3, 2], group_records, 1, "group 0 are not those");
            check("go 5x5", 10, &[3, 2], group_records, 1 << 60, "groups that there are not");
        }
    }
}
