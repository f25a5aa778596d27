//! The residues of a count that goes sweep by sweep, and those that an earlier, interrupted count has kept.
//!
//! Cost: nothing beside the sweeps.

use keima_runs::TaskTimes;

use crate::block::error::BlockError;
use crate::block::in_memory::count::order::{Counted, SweepEvidence, WindowEvidence};

/// Keeps the residues of finished sweeps, so that an interrupted count can go on.
pub trait ResidueStore {
    /// The residues modulo `modulus` of all boards, from one column on, if they are known.
    fn find(&self, modulus: u64) -> Option<Vec<u64>>;
    /// Keeps the residues that a sweep has found, for each of its primes, and what its windows have shown.
    fn keep(&mut self, found: &[(u64, Vec<u64>)], evidence: &[WindowEvidence]);
    /// What the windows of kept sweeps have shown, each sweep with its primes.
    fn evidence(&self) -> Vec<SweepEvidence> {
        Vec::new()
    }
}

/// Keeps nothing.
impl ResidueStore for () {
    fn find(&self, _: u64) -> Option<Vec<u64>> {
        None
    }
    fn keep(&mut self, _: &[(u64, Vec<u64>)], _: &[WindowEvidence]) {}
}

/// What a sweep has found for each of its primes, on the board and all shorter ones, and what its windows have shown.
pub(crate) type Swept = (Vec<(u64, Vec<u64>)>, Vec<WindowEvidence>);

/// Residues of the board and all shorter ones, by prime. Those that are kept are known from the start.
pub(crate) struct Residues<'a> {
    moduli: &'a [u64],
    length: u32,
    kept: &'a mut dyn ResidueStore,
    found: Vec<Option<Vec<u64>>>,
    evidence: Vec<SweepEvidence>,
}

impl<'a> Residues<'a> {
    /// Those of a board of `length` columns that `kept` has. Its evidence counts where all primes of a sweep are wanted.
    pub(crate) fn new(moduli: &'a [u64], length: u32, kept: &'a mut dyn ResidueStore) -> Self {
        let find = |&modulus: &u64| kept.find(modulus).filter(|boards| boards.len() == length as usize);
        let found: Vec<Option<Vec<u64>>> = moduli.iter().map(find).collect();
        let is_wanted = |(of_sweep, _): &SweepEvidence| {
            of_sweep.iter().all(|modulus| moduli.iter().zip(&found).any(|(m, known)| m == modulus && known.is_some()))
        };
        let evidence = kept.evidence().into_iter().filter(is_wanted).collect();
        Self { moduli, length, kept, found, evidence }
    }

    /// Number of residues that are known.
    pub(crate) fn known(&self) -> usize {
        self.found.iter().flatten().count()
    }

    /// Number of residues that are not.
    pub(crate) fn missing(&self) -> usize {
        self.found.len() - self.known()
    }

    /// Counts all missing residues by `sweep`, at most `lanes` at a time, and keeps what it finds.
    pub(crate) fn sweep(
        &mut self,
        lanes: usize,
        mut sweep: impl FnMut(&[u64]) -> Result<Swept, BlockError>,
    ) -> Result<(), BlockError> {
        let missing: Vec<usize> = (0..self.found.len()).filter(|&i| self.found[i].is_none()).collect();
        for missing in missing.chunks(lanes) {
            let moduli: Vec<u64> = missing.iter().map(|&i| self.moduli[i]).collect();
            let (boards, evidence) = sweep(&moduli)?;
            self.kept.keep(&boards, &evidence);
            self.evidence.push((moduli, evidence));
            for (&i, (_, boards)) in missing.iter().zip(boards) {
                self.found[i] = Some(boards);
            }
        }
        Ok(())
    }

    /// The count, once no residue is missing.
    pub(crate) fn counted(self, state_passes: u64, times: TaskTimes) -> Counted {
        let found: Vec<Vec<u64>> = self.found.into_iter().flatten().collect();
        let board = |columns: u32| (columns, found.iter().map(|boards| boards[columns as usize - 1]).collect());
        Counted {
            boards: (1..=self.length).map(board).collect(),
            state_passes,
            times,
            middle: self.length,
            evidence: self.evidence,
            cuts: None,
            two_cuts: String::new(),
        }
    }
}
