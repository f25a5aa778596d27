//! One pass of one signature while the entries of its list are gone through, and the table that it becomes.
//!
//! ```text
//!   entry 3 --expand--> same outside, place 0   --> local (0, 3)                                  in-degrees, sources
//!                       other outside, place 7  --> far operation of that outside: (3, 7)         pairs by target
//!                       both                    --> row of 3: blocks [own, the operation's], places 0 and 7
//! ```
//!
//! Cost: a sort by counting over the local successors.

use keima_model::{Far, PassTable, RowGroup};

use crate::go::block::passes::builder::FarSample;
use crate::go::state::Word;

/// One pass of one signature while its entries are gone through.
pub(crate) struct PassBuilder<W> {
    /// Entries after the pass.
    entries_after: usize,
    /// (place, source) of each local successor, the sources ascending.
    local: Vec<(u16, u16)>,
    pub(crate) far: Vec<FarBuilder<W>>,
    rows: Vec<RowGroup>,
}

pub(crate) struct FarBuilder<W> {
    /// The sample's outside after the operation.
    outside: W,
    /// Its signature.
    pub(crate) target: u32,
    pub(crate) found: FarSample<W>,
    pairs: Vec<(u16, u16)>,
}

const NO_PLACE: &str = "a successor stands in no list";

impl<W: Word> PassBuilder<W> {
    pub(crate) fn new(entries_after: usize) -> Self {
        Self { entries_after, local: Vec::new(), far: Vec::new(), rows: Vec::new() }
    }

    pub(crate) fn local(&mut self, entry: u16, place: Option<u16>) -> Result<(u8, u16), String> {
        let place = place.ok_or(NO_PLACE)?;
        self.local.push((place, entry));
        Ok((0, place))
    }

    pub(crate) fn far(
        &mut self,
        outside: W,
        (target, found): (u32, FarSample<W>),
        entry: u16,
        place: Option<u16>,
    ) -> Result<(u8, u16), String> {
        let place = place.ok_or(NO_PLACE)?;
        let known = self.far.iter().position(|far| far.outside == outside);
        let number = known.unwrap_or_else(|| {
            self.far.push(FarBuilder { outside, target, found, pairs: Vec::new() });
            self.far.len() - 1
        });
        self.far[number].pairs.push((entry, place));
        let number = u8::try_from(number + 1).map_err(|_| "more than 254 far operations in one pass")?;
        Ok((number, place))
    }

    /// All successors of an entry, sorted by the block that they lie in.
    pub(crate) fn row(&mut self, entry: u16, successors: &mut [(u8, u16)]) {
        successors.sort_unstable();
        let (mut blocks, mut row) = ([0; 3], [entry, 0, 0, 0]);
        for (i, &(block, place)) in successors.iter().enumerate() {
            (blocks[i], row[i + 1]) = (block, place);
        }
        let degree = successors.len() as u8;
        match self.rows.iter_mut().find(|group| group.blocks == blocks && group.degree == degree) {
            Some(group) => group.rows.push(row),
            None => self.rows.push(RowGroup { degree, blocks, rows: vec![row] }),
        }
    }

    pub(crate) fn finish(mut self) -> PassTable {
        self.rows.iter_mut().for_each(|group| group.rows.shrink_to_fit());
        // By place, in a sort by counting; sources of one place stay in their order.
        let mut degrees = vec![0_usize; self.entries_after];
        for &(place, _) in &self.local {
            degrees[usize::from(place)] += 1;
        }
        let mut in_degrees = vec![0; degrees.iter().max().map_or(1, |most| most + 1)];
        for &degree in &degrees {
            in_degrees[degree] += 1;
        }
        let mut free: Vec<usize> = degrees
            .iter()
            .scan(0, |end, degree| {
                *end += degree;
                Some(*end - degree)
            })
            .collect();
        let mut sources = vec![0; self.local.len()];
        for &(place, source) in &self.local {
            let free = &mut free[usize::from(place)];
            sources[*free] = source;
            *free += 1;
        }
        let far = self.far.into_iter().map(|mut far| {
            far.pairs.sort_unstable_by_key(|&(source, target)| (target, source));
            far.pairs.shrink_to_fit();
            Far { pairs: far.pairs }
        });
        PassTable { in_degrees, sources, far: far.collect(), rows: self.rows }
    }
}
