//! Where the states that enter a part land in it.
//!
//! A state of the window before has the codes x in that window, the codes y in the part's own, and the rest r. The part
//! holds it at entry y of the block with the outside (x, r). Both are found by the numbers of the three, as in
//! [`exchange`](crate::go::block::exchange); here the part alone says which numbers there are.
//!
//! Memory: (rests) x (codes x) words, and (codes y) x (signatures) half-words. Cost: a step for each block and each code.

use rustc_hash::FxHashMap;

use crate::go::block::cut::{in_parallel, piece};
use crate::go::block::exchange::positions::Landing;
use crate::go::block::exchange::route::{BlockStarts, RouteCells};
use crate::go::block::numbering::Numbering;
use crate::go::block::window::GoWindow;
use crate::go::state::{Word, reverse};

/// The numbers of the states of a part before its window, and their positions.
pub(crate) struct PartLanding<W> {
    rests: FxHashMap<W, u32>,
    codes: FxHashMap<W, u32>,
    others: FxHashMap<W, u32>,
    landing: Landing,
}

impl<W: Word> PartLanding<W> {
    /// For the tables of a part. `inside_before` has all bits of the cells of the window before. Uses `threads` threads.
    pub(crate) fn new(own: &GoWindow<W>, inside_before: W, threads: usize) -> Result<Self, String> {
        let rest_cells = !(own.inside | inside_before);
        let starts = BlockStarts::new(own, 0)?;
        // An outside stands for its reversal, too.
        let parts = |word: W| [word, reverse(word)].map(|word| (word & rest_cells, word & inside_before));
        let piece = piece(own.outsides.len(), threads);
        let found = in_parallel(threads, own.outsides.chunks(piece), |outsides| {
            let (mut rests, mut codes) = (Numbering::default(), Numbering::default());
            for (rest, code) in outsides.iter().flat_map(|&word| parts(word)) {
                rests.number(rest);
                codes.number(code);
            }
            (rests.items, codes.items)
        })?;
        let [mut rests, mut codes, mut others] = std::array::from_fn(|_| Numbering::default());
        for (some_rests, some_codes) in found {
            for rest in some_rests {
                rests.number(rest);
            }
            for code in some_codes {
                codes.number(code);
            }
        }
        let code_count = codes.items.len();
        let routes = RouteCells::new(rests.items.len() * code_count);
        let [rests, codes] = [rests, codes].map(Numbering::into_numbers);
        in_parallel(threads, (0..own.outsides.len()).step_by(piece), |first| {
            for (&word, block) in own.outsides[first..].iter().take(piece).zip(first..) {
                // Without stones an outside is its own reversal: the way that is not reversed comes last, and stays.
                for ((rest, code), route) in parts(word).into_iter().zip(starts.both_ways(block)).rev() {
                    routes.set(rests[&rest] as usize * code_count + codes[&code] as usize, route);
                }
            }
        })?;
        for &code in own.lists[0].iter().flat_map(|list| list.iter()) {
            others.number(code);
            others.number(reverse(code));
        }
        let others = others.into_numbers();
        let landing = Landing::new(routes.into_routes(), code_count, &others, &own.lists[0]);
        Ok(Self { rests, codes, others, landing })
    }

    /// The number of a code of the window before, if a block of the part has it outside.
    pub(crate) fn code(&self, code: W) -> Option<u32> {
        self.codes.get(&code).copied()
    }

    /// Overwrites `positions` with those of the states of one rest, one y, and several codes by their numbers; with nothing if
    /// the part has no such state.
    pub(crate) fn positions(&self, rest: W, other: W, codes: &[u32], positions: &mut Vec<u64>) {
        match (self.rests.get(&rest), self.others.get(&other)) {
            (Some(&rest), Some(&other)) => {
                self.landing.positions::<false>(rest, other, codes.iter().copied(), positions);
            }
            _ => positions.clear(),
        }
    }

    /// Memory that the tables take.
    pub(crate) fn bytes(&self) -> u64 {
        let numbers = [&self.rests, &self.codes, &self.others].map(|map| map.capacity() * (size_of::<(W, u32)>() + 1));
        self.landing.bytes() + numbers.iter().sum::<usize>() as u64
    }
}
