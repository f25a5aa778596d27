//! Building boxes ([`super`]): the operations that lead to a block in a pass, the entries with a row in its box, and
//! the slots of each operation. Equal lists are stored once.
//!
//! Cost: one or two table lookups for each operation of each block, and a scan of 64 KiB for each distinct list.

use std::collections::HashMap;

use keima_model::{BlockTables, Far, MOST_ENTRIES};
use rustc_hash::FxBuildHasher;

/// Lists, one after the other, each stored once.
#[derive(Debug, Default)]
pub(crate) struct EntryLists {
    pub(crate) entries: Vec<u16>,
    ends: Vec<u32>,
}

impl EntryLists {
    pub(crate) fn get(&self, list: u32) -> &[u16] {
        let start = (list as usize).checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.entries[start..self.ends[list as usize] as usize]
    }

    fn push(&mut self, list: &[u16]) -> u32 {
        self.entries.extend_from_slice(list);
        self.ends.push(self.entries.len() as u32);
        self.ends.len() as u32 - 1
    }
}

/// A far operation, seen from its target.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Incoming {
    /// The block that it leads from.
    pub(crate) source: u32,
    /// Its [`FarTargets`](keima_model::FarTargets) number.
    pub(crate) place: u32,
}

/// The operations by target: those of block `b` and pass `p` are `all[first[b * passes + p]..first[b * passes + p +
/// 1]]`.
pub(crate) struct AllIncoming {
    passes: usize,
    first: Vec<u32>,
    all: Vec<Incoming>,
}

impl AllIncoming {
    pub(crate) fn new(tables: &BlockTables) -> Self {
        let passes = tables.far.len();
        let visit = |visit: &mut dyn FnMut(usize, Incoming)| {
            for (pass, far) in tables.far.iter().enumerate() {
                for (source, range) in (0..).zip(far.first.windows(2)) {
                    for place in range[0]..range[1] {
                        visit(far.targets[place as usize] as usize * passes + pass, Incoming { source, place });
                    }
                }
            }
        };
        let mut first = vec![0; tables.signature_of.len() * passes + 1];
        visit(&mut |number, _| first[number + 1] += 1);
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let mut next = first.clone();
        let mut all = vec![Incoming::default(); first.last().map_or(0, |&all| all as usize)];
        visit(&mut |number, incoming| {
            all[next[number] as usize] = incoming;
            next[number] += 1;
        });
        Self { passes, first, all }
    }

    pub(crate) fn get(&self, block: u32, pass: usize) -> &[Incoming] {
        let number = block as usize * self.passes + pass;
        &self.all[self.first[number] as usize..self.first[number + 1] as usize]
    }
}

type Map<Key> = HashMap<Key, u32, FxBuildHasher>;

/// Builds boxes and slots, each distinct list once.
pub(crate) struct BoxBuilder<'a> {
    tables: &'a BlockTables,
    /// `targets_of[signature][pass][operation]`: number of the operation's list of target entries.
    targets_of: Vec<Vec<Vec<u32>>>,
    targets: EntryLists,
    /// Numbers of boxes' lists, by the numbers of the target lists and by entries.
    unions: Map<Box<[u32]>>,
    lists: Map<Box<[u16]>>,
    /// Start of an operation's slots, by the numbers of its target list and of the box's list.
    slots: Map<(u32, u32)>,
    /// The rank of each entry in the list number `ranked`.
    ranks: Vec<u16>,
    ranked: Option<u32>,
}

impl<'a> BoxBuilder<'a> {
    pub(crate) fn new(tables: &'a BlockTables) -> Self {
        let (mut targets, mut numbers) = (EntryLists::default(), Map::<Box<[u16]>>::default());
        let mut number = |far: &Far| {
            let list: Box<[u16]> = far.pairs.iter().map(|&(_, to)| to).collect();
            *numbers.entry(list).or_insert_with_key(|list| targets.push(list))
        };
        let targets_of = tables
            .signatures
            .iter()
            .map(|signature| signature.passes.iter().map(|pass| pass.far.iter().map(&mut number).collect()).collect());
        let targets_of = targets_of.collect();
        Self {
            tables,
            targets_of,
            targets,
            unions: Map::default(),
            lists: Map::default(),
            slots: Map::default(),
            ranks: vec![0; MOST_ENTRIES],
            ranked: None,
        }
    }

    /// Number of the operation's list of target entries.
    pub(crate) fn targets(&self, pass: usize, operation: Incoming) -> u32 {
        let signature = self.tables.signature_of[operation.source as usize];
        let number = operation.place - self.tables.far[pass].first[operation.source as usize];
        self.targets_of[signature as usize][pass][number as usize]
    }

    /// Number of the list of all entries that are in one of the given lists of targets. `which` is ascending.
    pub(crate) fn list(&mut self, which: &[u32], lists: &mut EntryLists) -> u32 {
        if let Some(&list) = self.unions.get(which) {
            return list;
        }
        let mut present = vec![0_u64; MOST_ENTRIES / 64];
        for &entry in which.iter().flat_map(|&targets| self.targets.get(targets)) {
            present[usize::from(entry / 64)] |= 1 << (entry % 64);
        }
        let of_word = |(word, &bits): (usize, &u64)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| (64 * word + bit) as u16)
        };
        let entries: Box<[u16]> = present.iter().enumerate().filter(|(_, bits)| **bits > 0).flat_map(of_word).collect();
        let list = *self.lists.entry(entries).or_insert_with_key(|entries| lists.push(entries));
        self.unions.insert(which.into(), list);
        list
    }

    /// Start of the slots of an operation with these targets in a box with this list.
    pub(crate) fn slots(&mut self, targets: u32, list: u32, lists: &EntryLists, slots: &mut Vec<u16>) -> u32 {
        *self.slots.entry((targets, list)).or_insert_with(|| {
            if self.ranked != Some(list) {
                for (rank, &entry) in (0..).zip(lists.get(list)) {
                    self.ranks[usize::from(entry)] = rank;
                }
                self.ranked = Some(list);
            }
            let start = slots.len() as u32;
            slots.extend(self.targets.get(targets).iter().map(|&to| self.ranks[usize::from(to)]));
            start
        })
    }
}
