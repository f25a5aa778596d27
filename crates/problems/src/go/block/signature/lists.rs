//! The outsides of a window, their signatures, and the lists of inside codes that go with them.
//!
//! ```text
//!   height 5, window of cells 2 and 3; f free, n needy, with flags a above, b below
//!
//!   upper: cells 0, 1      stack, last code       inside words that fit            lower: cell 4      demands, first code
//!   .  .                   -      empty      -->  (fB fB) (fB fW) (. fW) ...  <--  .                  -        empty
//!   nB nW                  -      nW         -->  (nB .)x  (nB nW) ...        <--  nB                 -        nB
//!   nBb fW                 B      fW         -->  (fW nBa)x (fW fW) ...       <--  nBa                B        nB above
//!
//!   signature = a line at the left and one at the right; its list at step s: the words that lead from the stack at the
//!   left to the demands at the right, with the kink above cell 2 + s. x: does not fit
//! ```
//!
//! Upper and lower parts are scanned once each and grouped by signature. From every upper signature the window is scanned
//! once per step; each word found joins the lists of the lower signatures that it fits.
//!
//! Cost: (upper signatures) x (steps) x (codes of the window) for the lists, and one step per outside.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use keima_model::{MOST_ENTRIES, Window};

use super::cache::{CacheView, SignatureKey};
use super::scan::{LowerSignature, Scan, ScanRules, UpperSignature, scan};
use super::tables::SignatureTables;
use crate::go::block::cells::cell_bits;
use crate::go::block::cut::in_parallel;
use crate::go::block::half_order::{Half, HalfOrder, Met, halves};
use crate::go::block::numbering::Numbering;
use crate::go::layout;
use crate::go::state::{Word, normalise};

/// The lists of one signature, or its tables.
pub(crate) struct SignatureLists<W> {
    /// `lists[step]`: inside codes, each as a word with nothing outside the window; ascending.
    pub(crate) lists: Vec<Vec<W>>,
    /// One outside of this signature.
    pub(crate) sample: W,
    /// Its tables where the cache knows them. Then there are no lists.
    pub(crate) known: Option<Arc<SignatureTables<W>>>,
}

/// Signatures that the cache did not know, each with its number, or none where no inside code fits.
pub(crate) type NewSignatures = Vec<(SignatureKey, Option<u32>)>;

/// The signatures of a window, and the outsides as (word, signature).
pub(crate) struct WindowSignatures<W> {
    pub(crate) signatures: Vec<SignatureLists<W>>,
    pub(crate) outsides: Vec<(W, u32)>,
}

/// The rules for the cells below a window.
pub(crate) fn lower_rules<W: Word>(only: W) -> ScanRules<W> {
    ScanRules { may_demand: true, most_open: 0, only, ..ScanRules::default() }
}

impl<W: Word> WindowSignatures<W> {
    /// All outsides of a window.
    pub(crate) fn new(height: u32, window: Window) -> Result<Self, String> {
        let (above, below) = (0..window.first, window.end()..height);
        let mut uppers: BTreeMap<UpperSignature, Vec<W>> = BTreeMap::new();
        scan(above, &ScanRules::default(), Scan::<W>::default(), &mut |scan| {
            uppers.entry(UpperSignature::of(scan)).or_default().push(scan.word);
        });
        let mut lowers: BTreeMap<LowerSignature, Vec<W>> = BTreeMap::new();
        scan(below.clone(), &lower_rules(W::ZERO), Scan::<W>::default(), &mut |scan| {
            lowers.entry(LowerSignature::of(scan, &below)).or_default().push(scan.word);
        });
        let (lowers, lower_words): (Vec<LowerSignature>, Vec<Vec<W>>) = lowers.into_iter().unzip();
        let lowers = LowerSignatures::new(lowers);
        let outside = layout::outside::<W>(height, window);
        let mut all = Self { signatures: Vec::new(), outsides: Vec::new() };
        for (upper, upper_words) in &uppers {
            let lists = lowers.lists::<W>(window, 0, upper)?;
            for (lists, lower_words) in lists.into_iter().zip(&lower_words).filter(|(lists, _)| !lists.is_empty()) {
                let number = all.signatures.len() as u32;
                let before = all.outsides.len();
                for &upper_word in upper_words {
                    for &lower_word in lower_words {
                        let word = upper_word | lower_word;
                        // Of an outside and its reversal the one whose first stone is black.
                        if normalise(word, outside) == word {
                            all.outsides.push((word, number));
                        }
                    }
                }
                let Some(&(sample, _)) = all.outsides.get(before) else { continue };
                all.signatures.push(SignatureLists { lists, sample, known: None });
            }
        }
        Ok(all)
    }

    /// The outsides of some families, in the order of their blocks.
    ///
    /// Signatures that the cache knows come with their tables, the others with lists, which `threads` threads make.
    pub(crate) fn of_families(
        height: u32,
        window: Window,
        patterns: &[W],
        cache: &CacheView<'_, W>,
        threads: usize,
    ) -> Result<(Self, NewSignatures), String> {
        let (above, below) = (0..window.first, window.end()..height);
        let (mut uppers, mut lowers) = (OutsideParts::default(), OutsideParts::default());
        let mut pairs: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for &pattern in patterns {
            let rules = ScanRules { only: pattern, ..ScanRules::default() };
            let upper = uppers.find(&above, &rules, UpperSignature::of);
            let lower = lowers.find(&below, &lower_rules(pattern), |scan| LowerSignature::of(scan, &below));
            let [upper, lower] =
                [upper, lower].map(|halves| -> FxHashSet<u32> { halves.iter().map(|half| half.signature).collect() });
            for upper in upper {
                pairs.entry(upper).or_default().extend(&lower);
            }
        }
        let (mut all, mut new) = (Self { signatures: Vec::new(), outsides: Vec::new() }, Vec::new());
        let mut numbers: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        let mut unknown = Vec::new();
        for (upper, met) in pairs {
            let key = |lower: u32| (uppers.signatures.items[upper as usize], lowers.signatures.items[lower as usize]);
            let mut wanted = Vec::new();
            for lower in met {
                match cache.find(key(lower)) {
                    None => wanted.push(lower),
                    Some(None) => {}
                    Some(known) => drop(numbers.insert((upper, lower), all.push(Vec::new(), known))),
                }
            }
            if !wanted.is_empty() {
                unknown.push((upper, wanted));
            }
        }
        let lists = in_parallel(threads, &unknown, |(upper, wanted)| {
            let signatures = wanted.iter().map(|&lower| lowers.signatures.items[lower as usize]).collect();
            LowerSignatures::new(signatures).lists(window, 0, &uppers.signatures.items[*upper as usize])
        })?;
        for ((upper, wanted), lists) in unknown.into_iter().zip(lists) {
            for (lower, lists) in wanted.into_iter().zip(lists?) {
                let number = (!lists.is_empty()).then(|| all.push(lists, None));
                numbers.extend(number.map(|number| ((upper, lower), number)));
                let key = (uppers.signatures.items[upper as usize], lowers.signatures.items[lower as usize]);
                new.push((key, number));
            }
        }
        for &pattern in patterns {
            let uppers = Met::new(uppers.known(&above, pattern).to_vec(), uppers.signatures.items.len());
            let lowers = Met::new(lowers.known(&below, pattern).to_vec(), lowers.signatures.items.len());
            let mut of_pairs = Vec::with_capacity(uppers.samples.len() * lowers.samples.len());
            for &(upper, upper_word) in &uppers.samples {
                of_pairs.extend(lowers.samples.iter().map(|&(lower, lower_word)| {
                    let number = numbers.get(&(upper, lower)).copied();
                    number.inspect(|&number| all.signatures[number as usize].sample = upper_word | lower_word)
                }));
            }
            let mut order = HalfOrder::new(uppers.halves, lowers.halves);
            while let Some((upper, lower)) = order.next() {
                let pair = upper.signature as usize * lowers.samples.len() + lower.signature as usize;
                all.outsides.extend(of_pairs[pair].map(|number| (upper.word | lower.word, number)));
            }
        }
        Ok((all, new))
    }

    /// Adds a signature, whose sample is not known yet; its number.
    fn push(&mut self, lists: Vec<Vec<W>>, known: Option<Arc<SignatureTables<W>>>) -> u32 {
        self.signatures.push(SignatureLists { lists, sample: W::ZERO, known });
        self.signatures.len() as u32 - 1
    }
}

/// Upper or lower parts of outsides by their colours.
struct OutsideParts<W, S> {
    words: FxHashMap<W, Vec<Half<W>>>,
    signatures: Numbering<S>,
}

impl<W, S> Default for OutsideParts<W, S> {
    fn default() -> Self {
        Self { words: FxHashMap::default(), signatures: Numbering::default() }
    }
}

impl<W: Word, S: Copy + Eq + std::hash::Hash> OutsideParts<W, S> {
    /// The parts in `cells` with the colours that `rules` ask for; scanned once.
    fn find(&mut self, cells: &Range<u32>, rules: &ScanRules<W>, signature: impl Fn(&Scan<W>) -> S) -> &[Half<W>] {
        let Self { words, signatures } = self;
        words
            .entry(rules.only & cell_bits(cells.clone()))
            .or_insert_with(|| halves(cells, rules, signatures, signature))
    }

    /// The parts that [`OutsideParts::find`] has found before.
    fn known(&self, cells: &Range<u32>, pattern: W) -> &[Half<W>] {
        self.words.get(&(pattern & cell_bits(cells.clone()))).map_or(&[], Vec::as_slice)
    }
}

/// Lower signatures, by the stack that they need.
pub(crate) struct LowerSignatures {
    all: Vec<LowerSignature>,
    by_stack: FxHashMap<usize, Vec<usize>>,
    most_open: u32,
}

impl LowerSignatures {
    pub(crate) fn new(lowers: Vec<LowerSignature>) -> Self {
        let mut by_stack: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for (number, lower) in lowers.iter().enumerate() {
            by_stack.entry(lower.demands.reversed().number()).or_default().push(number);
        }
        let most_open = lowers.iter().map(|lower| lower.demands.len).max().unwrap_or(0);
        Self { all: lowers, by_stack, most_open }
    }

    /// The lists from an upper signature to each lower one: `lists[lower][step]`, ascending. A lower signature that no
    /// word leads to has no lists.
    pub(crate) fn lists<W: Word>(
        &self,
        window: Window,
        from_step: u32,
        upper: &UpperSignature,
    ) -> Result<Vec<Vec<Vec<W>>>, String> {
        let mut lists: Vec<Vec<Vec<W>>> = vec![Vec::new(); self.all.len()];
        for step in from_step..=window.len {
            let kink = window.first + step;
            let rules = ScanRules { kink: Some(kink), most_open: self.most_open, ..ScanRules::default() };
            scan(window.first..window.end(), &rules, upper.scan::<W>(), &mut |scan| {
                for &number in self.by_stack.get(&scan.stack.number()).into_iter().flatten() {
                    if self.all[number].fits(scan, kink == window.end()) {
                        lists[number].resize(window.len as usize + 1, Vec::new());
                        lists[number][step as usize].push(scan.word);
                    }
                }
            });
        }
        for list in lists.iter_mut().flatten() {
            if list.len() > MOST_ENTRIES {
                return Err(format!(
                    "a window of {} cells has lists of {} codes, more than {MOST_ENTRIES}; use a shorter window",
                    window.len,
                    list.len()
                ));
            }
            list.shrink_to_fit();
            list.sort_unstable();
        }
        Ok(lists)
    }
}
