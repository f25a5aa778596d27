//! A toy problem with everything that Go lacks: several coefficients, and nothing conserved.
//!
//! Independent sets of the m x n grid graph by number of occupied cells. State: the m cells last added, one bit each.

use std::sync::Arc;

use keima_model::{AnyProblem, Board, Forecast, Functional, Key, Layout, Problem, ProblemInfo, Successors, Window};

pub(crate) struct HardSquares {
    pub(crate) board: Board,
    pub(crate) coefficients: u32,
}

impl HardSquares {
    pub(crate) fn narrow(height: u32, length: u32, coefficients: u32) -> AnyProblem {
        AnyProblem::Narrow(Arc::new(Self { board: Board { height, length }, coefficients }))
    }
    pub(crate) fn wide(height: u32, length: u32, coefficients: u32) -> AnyProblem {
        AnyProblem::Wide(Arc::new(Self { board: Board { height, length }, coefficients }))
    }
    /// Counts by definition: every set of cells.
    pub(crate) fn brute(&self) -> Vec<u64> {
        let (m, cells) = (self.board.height, self.board.passes());
        let mut counts = vec![0; self.coefficients as usize];
        for set in 0_u64..1 << cells {
            let at = |c: u32| set >> c & 1 == 1;
            let clash = (0..cells).any(|c| at(c) && ((c % m > 0 && at(c - 1)) || (c >= m && at(c - m))));
            if let (false, Some(count)) = (clash, counts.get_mut(set.count_ones() as usize)) {
                *count += 1;
            }
        }
        counts
    }
}

impl ProblemInfo for HardSquares {
    fn name(&self) -> &'static str {
        "hard-squares"
    }
    fn size(&self) -> String {
        self.board.to_string()
    }
    fn board(&self) -> Board {
        self.board
    }
    fn identity(&self) -> String {
        format!("hard squares {} to {}", self.board, self.coefficients)
    }
    fn key_bits(&self) -> u32 {
        self.board.height
    }
    fn coefficients(&self) -> u32 {
        self.coefficients
    }
    fn bound(&self) -> Vec<(u32, u32)> {
        vec![(2, self.board.passes())]
    }
    fn bound_after(&self, pass: u32) -> Vec<(u32, u32)> {
        vec![(2, pass + 1)]
    }
    fn functionals(&self) -> Vec<Functional> {
        let last = self.board.passes() - 1;
        vec![Functional {
            after_pass: last,
            name: "total".into(),
            index: self.board.length,
            answer: true,
            known: None,
            formula: None,
        }]
    }
    fn family_bits(&self, _: Layout) -> u32 {
        128
    }
    fn largest_family(&self, _: Window) -> Option<u128> {
        None
    }
    fn forecast(&self) -> Option<Forecast> {
        None
    }
}

impl<K: Key> Problem<K> for HardSquares {
    fn start(&self) -> Vec<(K, u64)> {
        vec![(K::default(), 1)]
    }
    fn leave(&self, _: Window, _: Layout, _: &mut [K]) {}
    fn enter(&self, _: Layout, _: Window, _: &mut [K]) {}
    fn expand(&self, pass: u32, _: Window, keys: &[K], out: &mut Successors<K>) {
        let cell = self.board.cell(pass);
        let bit = K::truncate(1 << cell);
        for &key in keys {
            out.keys.push(key & !bit);
            out.shifts.push(0);
            let above = cell > 0 && key.widen() >> (cell - 1) & 1 == 1;
            let free = !above && key & bit == K::default();
            if free {
                out.keys.push(key | bit);
                out.shifts.push(1);
            }
            out.degrees.push(1 + u8::from(free));
        }
    }
    fn weigh(&self, _: usize, _: Window, _: &[K], weights: &mut [u32]) {
        weights.fill(1);
    }
}
