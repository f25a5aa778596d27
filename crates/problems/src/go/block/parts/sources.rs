//! The states that enter a part: the blocks of the window before, one after the other, without tables of them.
//!
//! The halves of their outsides give the blocks of a family in order (see [`half_order`](crate::go::block::half_order)). The
//! inside codes that go to the part depend on the signature of the block and the colours of its rest.
//!
//! Cost: a step for each pair of halves, two look-ups for each block, and those of an exchange for each state. Memory: the
//! halves of one family, the lists of the signatures that were met, and the codes in them that go to the part.

use std::sync::Arc;

use keima_model::BlockSources;
use rustc_hash::FxHashMap;

use super::{GoParts, part::GoPart};
use crate::go::block::cells::colours;
use crate::go::block::half_order::{HalfOrder, Met, halves};
use crate::go::block::numbering::Numbering;
use crate::go::block::passes::builder::TableBuilder;
use crate::go::block::signature::cache::TableKind;
use crate::go::block::signature::lists::{LowerSignatures, SignatureLists, lower_rules};
use crate::go::block::signature::scan::{LowerSignature, ScanRules, UpperSignature};
use crate::go::block::signature::tables::SignatureTables;
use crate::go::state::{Word, normalise, stones};

/// Codes that are kept at most, over all signatures: a fresh start beyond that. They take six bytes each.
const MOST_CODES: usize = 1 << 18;

/// No state of the signature goes to the part.
const NONE: u32 = u32::MAX;

/// The states of a signature that go to the part.
struct Wanted<W> {
    tables: Arc<SignatureTables<W>>,
    /// Their entries, and the numbers of their codes in the part's landing.
    entries: Vec<u16>,
    codes: Vec<u32>,
}

/// Numbers of an upper and a lower signature.
type Pair = (u32, u32);

/// A reader of the blocks that have states for a part.
pub(crate) struct GoSources<'a, W> {
    parts: &'a GoParts<W>,
    part: &'a GoPart<W>,
    /// Number of the window before.
    window: usize,
    uppers: Numbering<UpperSignature>,
    lowers: Numbering<LowerSignature>,
    /// The tables of each pair of signatures; `None` where no inside code fits.
    tables: FxHashMap<Pair, Option<Arc<SignatureTables<W>>>>,
    /// Index into `wanted` by the colours of the rest and the pair, or [`NONE`].
    numbers: FxHashMap<(W, Pair), u32>,
    wanted: Vec<Wanted<W>>,
    /// Sum of the codes in `wanted`.
    code_count: usize,
    family: FamilyBlocks<W>,
}

/// The blocks of one family, and how far they were read.
#[derive(Default)]
struct FamilyBlocks<W> {
    order: HalfOrder<W>,
    /// For each pair of signatures of the halves, of the family: index into `wanted`, or [`NONE`].
    wanted: Vec<u32>,
    lower_signatures: usize,
    /// The present block and its index into the reader's `wanted`; `None` before the first block and after the last.
    word: W,
    present: Option<u32>,
}

impl<'a, W: Word> GoSources<'a, W> {
    /// For a part that is one of `parts`; `window` is the number of the window before.
    pub(crate) fn new(parts: &'a GoParts<W>, part: &'a GoPart<W>, window: usize) -> Self {
        Self {
            parts,
            part,
            window,
            uppers: Numbering::default(),
            lowers: Numbering::default(),
            tables: FxHashMap::default(),
            numbers: FxHashMap::default(),
            wanted: Vec::new(),
            code_count: 0,
            family: FamilyBlocks::default(),
        }
    }

    /// Finds the tables of the pairs of these signatures that are not known. `samples` has a half of each.
    fn find_tables(&mut self, uppers: &[(u32, W)], lowers: &[(u32, W)]) -> Result<(), String> {
        let window = self.parts.spans[self.window];
        let cache = self.parts.cache.of_kind(TableKind { window: self.window, passes: false });
        for &(upper, upper_word) in uppers {
            let upper_signature = self.uppers.items[upper as usize];
            let mut unknown = Vec::new();
            for &(lower, lower_word) in lowers {
                if self.tables.contains_key(&(upper, lower)) {
                    continue;
                }
                let lower_signature = self.lowers.items[lower as usize];
                match cache.find((upper_signature, lower_signature)) {
                    Some(known) => drop(self.tables.insert((upper, lower), known)),
                    None => unknown.push((lower, lower_signature, upper_word | lower_word)),
                }
            }
            if unknown.is_empty() {
                continue;
            }
            // The order of a list depends on the one before.
            let all = LowerSignatures::new(unknown.iter().map(|&(_, signature, _)| signature).collect());
            let lists = all.lists(window, window.len - 1, &upper_signature)?;
            let fit = lists.iter().map(|lists| !lists.is_empty()).collect::<Vec<_>>();
            let found = lists.into_iter().zip(&unknown).filter(|(lists, _)| !lists.is_empty());
            let found = found.map(|(lists, &(.., sample))| SignatureLists { lists, sample, known: None }).collect();
            let builder = TableBuilder::new(window, self.part.inside_before(), found, 1)?;
            let mut tables = builder.without_passes().into_iter();
            let mut new = Vec::with_capacity(unknown.len());
            for (fits, (lower, lower_signature, _)) in fit.into_iter().zip(unknown) {
                let tables = if fits { tables.next() } else { None };
                new.push(((upper_signature, lower_signature), tables.clone()));
                self.tables.insert((upper, lower), tables);
            }
            cache.insert(new.into_iter());
        }
        Ok(())
    }

    /// Index into `wanted` of a pair of signatures with a rest of these colours.
    fn wanted(&mut self, rest: W, pair: Pair) -> u32 {
        if let Some(&number) = self.numbers.get(&(rest, pair)) {
            return number;
        }
        let Some(Some(tables)) = self.tables.get(&pair) else { return NONE };
        let [_, list] = &tables.lists;
        let (mut entries, mut codes) = (Vec::new(), Vec::new());
        let mut last = None;
        for (&code, entry) in list.iter().zip(0..=u16::MAX) {
            // Codes of one colouring stand together.
            let pattern = colours(code, W::ONES);
            let goes = match last {
                Some((seen, goes)) if seen == pattern => goes,
                _ => self.part.has(rest | pattern),
            };
            last = Some((pattern, goes));
            if let Some(code) = goes.then(|| self.part.landing.code(code)).flatten() {
                entries.push(entry);
                codes.push(code);
            }
        }
        let number = if codes.is_empty() {
            NONE
        } else {
            self.code_count += codes.len();
            self.wanted.push(Wanted { tables: Arc::clone(tables), entries, codes });
            self.wanted.len() as u32 - 1
        };
        self.numbers.insert((rest, pair), number);
        number
    }

    /// The block's entries of which each stands for a key of its own, by their places among the wanted ones; `None`: all.
    fn standing(&self, wanted: &Wanted<W>) -> Option<Vec<usize>> {
        // Without a stone outside a state and its reversal are both entries.
        (stones(self.family.word) == W::ZERO).then(|| {
            let code = |place: &usize| wanted.tables.lists[1][usize::from(wanted.entries[*place])];
            (0..wanted.codes.len()).filter(|place| normalise(code(place), W::ZERO) == code(place)).collect()
        })
    }

    fn present(&self) -> Option<&Wanted<W>> {
        self.wanted.get(self.family.present? as usize)
    }
}

impl<W: Word> BlockSources for GoSources<'_, W> {
    fn open(&mut self, family: u32) -> Result<(), String> {
        if self.code_count > MOST_CODES {
            (self.wanted, self.code_count) = (Vec::new(), 0);
            (self.numbers, self.tables) = Default::default();
        }
        let Some(&pattern) = self.parts.families[self.window].patterns.get(family as usize) else {
            return Err(format!("window {} has no family {family}", self.window));
        };
        let window = self.parts.spans[self.window];
        let (above, below) = (0..window.first, window.end()..self.parts.height);
        let rules = ScanRules { only: pattern, ..ScanRules::default() };
        let uppers = halves(&above, &rules, &mut self.uppers, UpperSignature::of);
        let lowers = halves(&below, &lower_rules(pattern), &mut self.lowers, |scan| LowerSignature::of(scan, &below));
        let uppers = Met::new(uppers, self.uppers.items.len());
        let lowers = Met::new(lowers, self.lowers.items.len());
        self.find_tables(&uppers.samples, &lowers.samples)?;
        let rest = colours(pattern, self.part.rest_cells());
        let mut wanted = Vec::with_capacity(uppers.samples.len() * lowers.samples.len());
        for &(upper, _) in &uppers.samples {
            for &(lower, _) in &lowers.samples {
                wanted.push(self.wanted(rest, (upper, lower)));
            }
        }
        let order = HalfOrder::new(uppers.halves, lowers.halves);
        self.family = FamilyBlocks { order, wanted, lower_signatures: lowers.samples.len(), ..FamilyBlocks::default() };
        Ok(())
    }

    fn advance(&mut self) -> bool {
        self.family.advance()
    }

    fn positions(&self, positions: &mut Vec<u64>) {
        positions.clear();
        let Some(wanted) = self.present() else { return };
        let (word, part) = (self.family.word, self.part);
        let (rest, other) = (word & part.rest_bits(), word & part.own.inside);
        match self.standing(wanted) {
            None => part.landing.positions(rest, other, &wanted.codes, positions),
            Some(places) => {
                let codes: Vec<u32> = places.into_iter().map(|place| wanted.codes[place]).collect();
                part.landing.positions(rest, other, &codes, positions);
            }
        }
    }

    fn keys(&self, keys: &mut Vec<u128>) {
        keys.clear();
        let Some(wanted) = self.present() else { return };
        let key =
            |&entry: &u16| normalise(self.family.word | wanted.tables.lists[1][usize::from(entry)], W::ZERO).widen();
        match self.standing(wanted) {
            None => keys.extend(wanted.entries.iter().map(key)),
            Some(places) => keys.extend(places.into_iter().map(|place| key(&wanted.entries[place]))),
        }
    }
}

impl<W: Word> FamilyBlocks<W> {
    /// Goes to the next block with states that are wanted.
    fn advance(&mut self) -> bool {
        while let Some((upper, lower)) = self.order.next() {
            let pair = upper.signature as usize * self.lower_signatures + lower.signature as usize;
            self.present = Some(self.wanted[pair]).filter(|&wanted| wanted != NONE);
            if self.present.is_some() {
                self.word = upper.word | lower.word;
                return true;
            }
        }
        self.present = None;
        false
    }
}
