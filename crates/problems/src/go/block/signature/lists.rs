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

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use keima_model::{MOST_ENTRIES, Window};

use super::cache::{CacheView, SignatureKey};
use super::scan::{LowerSignature, Scan, ScanRules, UpperSignature, scan};
use super::tables::SignatureTables;
use crate::go::block::cells::cell_bits;
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

    /// The outsides of some families. `patterns` has the colours of each, as a border of free stones and empty cells.
    ///
    /// Signatures that the cache knows come with their tables, the others with lists.
    pub(crate) fn of_families(
        height: u32,
        window: Window,
        patterns: &[W],
        cache: &CacheView<'_, W>,
    ) -> Result<(Self, NewSignatures), String> {
        let (above, below) = (0..window.first, window.end()..height);
        let (mut uppers, mut lowers) = (OutsideParts::default(), OutsideParts::default());
        let mut pairs = SignaturePairs::new();
        for &pattern in patterns {
            let rules = ScanRules { only: pattern, ..ScanRules::default() };
            let upper = uppers.find(&above, &rules, UpperSignature::of);
            let lower = lowers.find(&below, &lower_rules(pattern), |scan| LowerSignature::of(scan, &below));
            for &(_, upper) in upper {
                let met = pairs.entry(upper).or_default();
                met.extend(lower.iter().map(|&(_, lower)| (lower, None)));
            }
        }
        let (mut all, mut new) = (Self { signatures: Vec::new(), outsides: Vec::new() }, Vec::new());
        for (&upper, met) in &mut pairs {
            let upper = uppers.signatures[upper];
            let mut wanted = Vec::new();
            for (&lower, number) in met.iter_mut() {
                let lower = lowers.signatures[lower];
                match cache.find((upper, lower)) {
                    None => wanted.push((lower, number)),
                    Some(None) => {}
                    Some(known) => *number = Some(all.push(Vec::new(), known)),
                }
            }
            let below = LowerSignatures::new(wanted.iter().map(|&(lower, _)| lower).collect());
            let lists = if wanted.is_empty() { Vec::new() } else { below.lists(window, 0, &upper)? };
            for (lists, (lower, number)) in lists.into_iter().zip(wanted) {
                if !lists.is_empty() {
                    *number = Some(all.push(lists, None));
                }
                new.push(((upper, lower), *number));
            }
        }
        for &pattern in patterns {
            for &(upper_word, upper) in uppers.known(&above, pattern) {
                let met = &pairs[&upper];
                for &(lower_word, lower) in lowers.known(&below, pattern) {
                    if let Some(number) = met[&lower] {
                        let word = upper_word | lower_word;
                        all.signatures[number as usize].sample = word;
                        all.outsides.push((word, number));
                    }
                }
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

/// For each upper signature the lower ones that it meets, with the number of the two together.
type SignaturePairs = BTreeMap<usize, BTreeMap<usize, Option<u32>>>;

/// Upper or lower parts of outsides by their colours, each with the number of its signature.
struct OutsideParts<W, S> {
    words: FxHashMap<W, Vec<(W, usize)>>,
    numbers: FxHashMap<S, usize>,
    signatures: Vec<S>,
}

impl<W, S> Default for OutsideParts<W, S> {
    fn default() -> Self {
        Self { words: FxHashMap::default(), numbers: FxHashMap::default(), signatures: Vec::new() }
    }
}

impl<W: Word, S: Copy + Eq + std::hash::Hash> OutsideParts<W, S> {
    /// The parts in `cells` with the colours that `rules` ask for; scanned once.
    fn find(&mut self, cells: &Range<u32>, rules: &ScanRules<W>, signature: impl Fn(&Scan<W>) -> S) -> &[(W, usize)] {
        let Self { words, numbers, signatures } = self;
        words.entry(rules.only & cell_bits(cells.clone())).or_insert_with(|| {
            let mut found = Vec::new();
            scan(cells.clone(), rules, Scan::default(), &mut |scan| {
                let signature = signature(scan);
                let number = *numbers.entry(signature).or_insert_with(|| {
                    signatures.push(signature);
                    signatures.len() - 1
                });
                found.push((scan.word, number));
            });
            found
        })
    }

    /// The parts that [`OutsideParts::find`] has found before.
    fn known(&self, cells: &Range<u32>, pattern: W) -> &[(W, usize)] {
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
