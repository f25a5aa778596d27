//! Sums that a task takes on the way to detect a wrong number: mass balance, fingerprint, functionals.
//!
//! Mass balance, for every pass and lane: sum of new values = sum of old values x successors, each moved up by its shift.
//! What moves beyond the last coefficient is dropped on both sides. The two sides come from different data at different
//! times: the old values are added when a state is expanded, the new ones when the next step reads them.
//!
//! Fingerprint: sum of h(canonical key) x value, with a keyed 48-bit hash h. The fingerprints of vectors that differ
//! in one key or one value differ too, except with probability 2^-48. Plain sums do not see a state in a wrong place.
//!
//! Cost: one addition for each lane, state and pass; one multiplication for each lane and state at the stage's two
//! ends.

use keima_model::Key;
use keima_residue::Accumulator;
use keima_runs::PassTally;

/// Bits of the fingerprint's hash, so that 2^16 products fit an [`Accumulator`].
const HASH_BITS: u32 = 48;

/// One accumulator per lane.
#[derive(Clone, Debug)]
pub(crate) struct LaneSums(Vec<Accumulator>);

impl LaneSums {
    pub(crate) fn new(lanes: usize) -> Self {
        Self(vec![Accumulator::default(); lanes])
    }
    /// Adds `weight` times the row. Weights must be below 2^48.
    #[inline]
    pub(crate) fn add(&mut self, weight: u64, row: &[u64]) {
        for (sum, &value) in self.0.iter_mut().zip(row) {
            sum.add(u128::from(weight) * u128::from(value));
        }
    }
    /// Reduces the sums. Call it at least once in 65,535 additions.
    pub(crate) fn fold(&mut self, moduli: &[u64]) {
        for (sum, &p) in self.0.iter_mut().zip(moduli.iter().cycle()) {
            sum.fold(p);
        }
    }
    /// Adds the sums of another.
    pub(crate) fn merge(&mut self, other: &Self, moduli: &[u64]) {
        self.add(1, &other.values(moduli));
        self.fold(moduli);
    }
    pub(crate) fn values(&self, moduli: &[u64]) -> Vec<u64> {
        self.0.iter().zip(moduli.iter().cycle()).map(|(sum, &p)| sum.value(p)).collect()
    }
}

/// States, sums and fingerprint at one end of a stage.
pub(crate) struct EndTally {
    salt: u64,
    pub(crate) states: u64,
    pub(crate) sums: LaneSums,
    fingerprint: LaneSums,
}

impl EndTally {
    pub(crate) fn new(salt: u64, lanes: usize) -> Self {
        Self { salt, states: 0, sums: LaneSums::new(lanes), fingerprint: LaneSums::new(lanes) }
    }

    /// Adds a batch of at most 65,535 states with their canonical keys.
    pub(crate) fn add<K: Key>(&mut self, canonical: &[K], rows: &[u64], moduli: &[u64]) {
        if canonical.is_empty() {
            return;
        }
        debug_assert!(canonical.len() < 1 << 16);
        self.states += canonical.len() as u64;
        for (&key, row) in canonical.iter().zip(rows.chunks_exact(rows.len() / canonical.len())) {
            self.sums.add(1, row);
            self.fingerprint.add(key.mix(self.salt) >> (64 - HASH_BITS), row);
        }
        self.sums.fold(moduli);
        self.fingerprint.fold(moduli);
    }

    /// Adds a sample of at most 65,535 states to the fingerprint only. The rows have the lanes from `first` on,
    /// modulo `moduli`.
    pub(crate) fn add_sample(&mut self, canonical: &[u128], rows: &[u64], first: usize, moduli: &[u64]) {
        let Some(lanes) = self.fingerprint.0.get_mut(first..first + moduli.len()) else { return };
        for (&key, row) in canonical.iter().zip(rows.chunks_exact(moduli.len())) {
            let weight = Key::mix(key, self.salt) >> (64 - HASH_BITS);
            for (sum, &value) in lanes.iter_mut().zip(row) {
                sum.add(u128::from(weight) * u128::from(value));
            }
        }
        lanes.iter_mut().zip(moduli).for_each(|(sum, &p)| sum.fold(p));
    }

    /// Adds sums over many states, in the lanes from `first` on.
    pub(crate) fn add_sums(&mut self, sums: &[u128], first: usize, moduli: &[u64]) {
        let lanes = self.sums.0.iter_mut().skip(first);
        for ((lane, &sum), &p) in lanes.zip(sums).zip(moduli) {
            lane.add(sum % u128::from(p));
            lane.fold(p);
        }
    }

    /// Adds the tally of another thread.
    pub(crate) fn merge(&mut self, other: &Self, moduli: &[u64]) {
        self.states += other.states;
        self.sums.merge(&other.sums, moduli);
        self.fingerprint.merge(&other.fingerprint, moduli);
    }

    pub(crate) fn finish(&self, moduli: &[u64]) -> keima_runs::Tally {
        keima_runs::Tally {
            states: self.states,
            sums: self.sums.values(moduli),
            fingerprint: self.fingerprint.values(moduli),
        }
    }
}

/// Sums of the states that enter one pass.
pub(crate) struct PassSums {
    lanes: usize,
    pub(crate) states: u64,
    pub(crate) successors: u64,
    /// Sum of the values of the states with `d` successors.
    by_degree: Vec<LaneSums>,
    /// Sum of n x value, where n successors move their coefficients up by `s`. Empty while no successor has a shift.
    by_shift: Vec<LaneSums>,
}

impl PassSums {
    pub(crate) fn new(lanes: usize) -> Self {
        Self { lanes, states: 0, successors: 0, by_degree: Vec::new(), by_shift: Vec::new() }
    }

    /// Adds a batch of at most 65,535 states.
    pub(crate) fn add(&mut self, degrees: &[u8], shifts: &[u8], rows: &[u64], moduli: &[u64]) {
        self.states += degrees.len() as u64;
        self.successors += degrees.iter().map(|&d| u64::from(d)).sum::<u64>();
        let lanes = self.lanes;
        if self.by_shift.is_empty() && !shifts.is_empty() {
            // Successors of earlier batches have not moved.
            let mut unmoved = LaneSums::new(lanes);
            unmoved.add(1, &self.all_successors(moduli));
            unmoved.fold(moduli);
            self.by_shift.push(unmoved);
        }
        let most = usize::from(degrees.iter().copied().max().unwrap_or(0));
        while self.by_degree.len() <= most {
            self.by_degree.push(LaneSums::new(lanes));
        }
        for (&degree, row) in degrees.iter().zip(rows.chunks_exact(lanes)) {
            self.by_degree[usize::from(degree)].add(1, row);
        }
        self.by_degree.iter_mut().for_each(|s| s.fold(moduli));
        let Some(unmoved) = self.by_shift.first_mut() else { return };
        if shifts.is_empty() {
            degrees.iter().zip(rows.chunks_exact(lanes)).for_each(|(&degree, row)| unmoved.add(degree.into(), row));
            unmoved.fold(moduli);
            return;
        }
        let most = usize::from(shifts.iter().copied().max().unwrap_or(0));
        while self.by_shift.len() <= most {
            self.by_shift.push(LaneSums::new(lanes));
        }
        let mut shifts = shifts.iter();
        for (&degree, row) in degrees.iter().zip(rows.chunks_exact(lanes)) {
            for &shift in shifts.by_ref().take(degree.into()) {
                self.by_shift[usize::from(shift)].add(1, row);
            }
            // A state has few successors. 255 of them, times a whole batch, would not fit.
            if degree > 4 {
                self.by_shift.iter_mut().for_each(|s| s.fold(moduli));
            }
        }
        self.by_shift.iter_mut().for_each(|s| s.fold(moduli));
    }

    /// The sum of the entering states, for each lane.
    pub(crate) fn old(&self, moduli: &[u64]) -> Vec<u64> {
        let mut total = vec![0; self.lanes];
        for sums in &self.by_degree {
            keima_residue::add_row(&mut total, &sums.values(moduli), moduli);
        }
        total
    }

    /// The sum that mass balance demands of the new states, for each lane.
    pub(crate) fn expected(&self, moduli: &[u64]) -> Vec<u64> {
        if self.by_shift.is_empty() {
            return self.all_successors(moduli);
        }
        let mut total = vec![0; self.lanes];
        for (shift, sums) in self.by_shift.iter().enumerate() {
            let up = (shift * moduli.len()).min(self.lanes);
            keima_residue::add_row(&mut total[up..], &sums.values(moduli), moduli);
        }
        total
    }

    /// The sum of all successors, before any moves up.
    fn all_successors(&self, moduli: &[u64]) -> Vec<u64> {
        let mut total = vec![0; self.lanes];
        for (degree, sums) in self.by_degree.iter().enumerate() {
            for _ in 0..degree {
                keima_residue::add_row(&mut total, &sums.values(moduli), moduli);
            }
        }
        total
    }

    pub(crate) fn finish(&self, new_sums: Vec<u64>, moduli: &[u64]) -> PassTally {
        PassTally {
            states: self.states,
            successors: self.successors,
            by_degree: self.by_degree.iter().map(|s| s.values(moduli)).collect(),
            by_shift: self.by_shift.iter().map(|s| s.values(moduli)).collect(),
            new_sums,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULI: [u64; 2] = [1_000_000_007, 998_244_353];

    #[test]
    fn fingerprint_sees_what_sums_do_not() {
        let tally = |keys: &[u64], rows: &[u64]| {
            let mut t = EndTally::new(7, 2);
            t.add(keys, rows, &MODULI);
            t.finish(&MODULI)
        };
        let right = tally(&[1, 2, 3], &[5, 6, 7, 8, 9, 10]);
        let swapped = tally(&[1, 3, 2], &[5, 6, 7, 8, 9, 10]);
        let moved = tally(&[1, 2, 4], &[5, 6, 7, 8, 9, 10]);
        let reordered = tally(&[3, 1, 2], &[9, 10, 5, 6, 7, 8]);
        assert_eq!(right, reordered);
        for wrong in [swapped, moved] {
            assert_eq!((right.states, &right.sums), (wrong.states, &wrong.sums));
            assert_ne!(right.fingerprint, wrong.fingerprint);
        }
    }

    #[test]
    fn mass_balance_with_and_without_shifts() {
        let mut plain = PassSums::new(2);
        plain.add(&[2, 3, 0], &[], &[1, 10, 2, 20, 3, 30], &MODULI);
        assert_eq!(plain.old(&MODULI), [6, 60]);
        assert_eq!(plain.expected(&MODULI), [2 + 6, 20 + 60]);
        // Two coefficients, one modulus: (1, 10) and (2, 20); shifts 0, 1 | 1, 1, 2.
        let mut shifted = PassSums::new(2);
        shifted.add(&[2, 3], &[0, 1, 1, 1, 2], &[1, 10, 2, 20], &MODULI[..1]);
        assert_eq!(shifted.expected(&MODULI[..1]), [1, 10 + 1 + 2 + 2]);
        assert_eq!(shifted.successors, 5);
    }

    /// A problem may leave out the shifts of a batch in which nothing moves: any batch, in any order.
    #[test]
    fn batches_with_and_without_shifts_make_one_sum() {
        let batches: [(&[u8], &[u8], &[u64]); 3] =
            [(&[2], &[], &[1, 10]), (&[1, 1], &[0, 1], &[2, 20, 3, 30]), (&[3], &[], &[4, 40])];
        for order in [[0, 1, 2], [1, 0, 2], [2, 0, 1]] {
            let mut sums = PassSums::new(2);
            for (degrees, shifts, rows) in order.map(|i| batches[i]) {
                sums.add(degrees, shifts, rows, &MODULI[..1]);
            }
            assert_eq!(sums.expected(&MODULI[..1]), [2 + 2 + 12, 20 + 20 + 3 + 120], "{order:?}");
            assert_eq!(sums.successors, 7);
        }
    }
}
