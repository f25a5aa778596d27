//! One pass as an index list: for each new state, the old states that lead to it.
//!
//! New states are numbered by their number of predecessors first and by their key second. So all states of a *bucket* have
//! the same number, and the inner loop over it needs no test.
//!
//! ```text
//!   buckets   (1, 2) (3, 1)        two states with 1 predecessor, one with 3
//!   sources   7 | 2 | 0 5 5        an old state that leads there twice stands there twice
//! ```
//!
//! Cost: 4 bytes a transition.

/// All passes of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// One level per pass, from the top of the column down.
    pub levels: Vec<Level>,
    /// Weight of each state after the column, for the count of the board that ends there.
    pub weights: Vec<u32>,
}

/// The transitions of one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// (number of predecessors, number of states that have so many), ascending.
    pub(crate) buckets: Vec<(u32, u32)>,
    /// Indices of the predecessors, state by state.
    pub(crate) sources: Vec<u32>,
}

impl Level {
    /// Number of states after the pass.
    pub fn states(&self) -> usize {
        self.buckets.iter().map(|&(_, states)| states as usize).sum()
    }

    /// The level of these transitions (key of the new state, index of the old one), and the new states' keys in their order.
    pub(crate) fn of_pairs<K: Copy + Ord>(mut pairs: Vec<(K, u32)>) -> (Self, Vec<K>) {
        pairs.sort_unstable();
        let mut groups: Vec<&[(K, u32)]> = pairs.chunk_by(|a, b| a.0 == b.0).collect();
        // Stable: within a bucket the keys ascend.
        groups.sort_by_key(|group| group.len());
        let buckets = groups.chunk_by(|a, b| a.len() == b.len());
        let buckets = buckets.filter_map(|same| same.first().map(|group| (group.len() as u32, same.len() as u32)));
        let level = Self {
            buckets: buckets.collect(),
            sources: groups.iter().flat_map(|group| group.iter().map(|&(_, source)| source)).collect(),
        };
        (level, groups.iter().filter_map(|group| group.first().map(|&(key, _)| key)).collect())
    }

    /// The predecessors of each state, in the order of the states.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &[u32]> {
        let mut rest = self.sources.as_slice();
        let degrees =
            self.buckets.iter().flat_map(|&(degree, states)| std::iter::repeat_n(degree as usize, states as usize));
        degrees.map(move |degree| {
            let (group, after) = rest.split_at(degree);
            rest = after;
            group
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_stand_by_their_number_of_predecessors() {
        let (level, keys) = Level::of_pairs(vec![(9_u64, 5), (4, 7), (9, 0), (6, 2), (9, 5)]);
        assert_eq!(level.buckets, [(1, 2), (3, 1)]);
        assert_eq!(level.sources, [7, 2, 0, 5, 5]);
        assert_eq!(keys, [4, 6, 9]);
        assert_eq!(level.states(), 3);
        assert_eq!(level.groups().collect::<Vec<_>>(), [&[7][..], &[2], &[0, 5, 5]]);
    }
}
