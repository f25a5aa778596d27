//! Outsides of a window, their signatures, and the lists of inside codes that go with them.
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
//! Upper and lower parts are enumerated once each and grouped by signature. From every upper signature the window is
//! read once per step; what comes out is shared out to the lower signatures that it fits. Cost: (upper signatures) x
//! (steps) x (codes of the window) for the lists, and one step per outside; seconds for windows of 7 cells.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use keima_model::{MOST_ENTRIES, Window};

use crate::go::block::passes::builder::SignatureTables;
use crate::go::block::signature::cache::{SignatureCache, SignatureKey, TableKind};
use crate::go::block::signature::scan::{LowerSignature, Scan, ScanRules, UpperSignature, scan};
use crate::go::block::window::inside_of;
use crate::go::layout;
use crate::go::state::{ABOVE, BELOW, NEEDY, Word, normalise};

/// What the blocks of one signature have in common.
pub(crate) struct SignatureLists<W> {
    /// `lists[step]`: inside codes, each as a word with nothing outside the window; ascending.
    pub(crate) lists: Vec<Vec<W>>,
    /// One outside of this signature.
    pub(crate) sample: W,
    /// Its tables, if they are there already; then there are no lists.
    pub(crate) made: Option<Arc<SignatureTables<W>>>,
}

/// Signatures by their halves, with the number of each, or none where no inside code fits.
pub(crate) type NewSignatures = Vec<(SignatureKey, Option<u32>)>;

/// The signatures of a window, and the outsides as (word, signature).
pub(crate) struct WindowSignatures<W> {
    pub(crate) signatures: Vec<SignatureLists<W>>,
    pub(crate) outsides: Vec<(W, u32)>,
}

impl<W: Word> WindowSignatures<W> {
    pub(crate) fn new(height: u32, window: Window) -> Result<Self, String> {
        let mut uppers: BTreeMap<UpperSignature, Vec<W>> = BTreeMap::new();
        scan(0..window.first, &ScanRules::default(), Scan::<W>::default(), &mut |read| {
            uppers.entry(UpperSignature::of(read)).or_default().push(read.word);
        });
        let mut lowers: BTreeMap<LowerSignature, Vec<W>> = BTreeMap::new();
        let rules = ScanRules { may_demand: true, most_open: 0, ..ScanRules::default() };
        scan(window.end()..height, &rules, Scan::<W>::default(), &mut |read| {
            lowers.entry(LowerSignature::of(read, &(window.end()..height))).or_default().push(read.word);
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
                all.signatures.push(SignatureLists { lists, sample, made: None });
            }
        }
        Ok(all)
    }

    /// Of some families, told by their colours (see [`crate::go::block::parts::families`]); without passes, with the lists of the last two
    /// steps only. Signatures that the catalogue knows are taken from there. Of those that it does not know the
    /// number of each is told, or that there is none.
    pub(crate) fn of_families(
        height: u32,
        window: Window,
        patterns: &[W],
        (cache, kind): (&SignatureCache<W>, TableKind),
    ) -> Result<(Self, NewSignatures), String> {
        // The order of a list depends on the one before.
        let from_step = if kind.passes { 0 } else { window.len - 1 };
        let (above, below) = (0..window.first, window.end()..height);
        let (mut uppers, mut lowers) = (Parts::default(), Parts::default());
        // By upper signature the lower ones that it meets, and the number of the two together.
        let mut pairs: BTreeMap<usize, BTreeMap<usize, Option<u32>>> = BTreeMap::new();
        for &pattern in patterns {
            let rules = ScanRules { only: pattern, ..ScanRules::default() };
            let upper = uppers.of(&above, &rules, UpperSignature::of);
            let rules = ScanRules { may_demand: true, most_open: 0, only: pattern, ..ScanRules::default() };
            let lower = lowers.of(&below, &rules, |read| LowerSignature::of(read, &below));
            for &(_, upper) in upper {
                let met = pairs.entry(upper).or_default();
                met.extend(lower.iter().map(|&(_, lower)| (lower, None)));
            }
        }
        let (mut all, mut unknown) = (Self { signatures: Vec::new(), outsides: Vec::new() }, Vec::new());
        for (&upper, met) in &mut pairs {
            let upper = uppers.signatures[upper];
            let mut asked = Vec::new();
            for (&lower, number) in met.iter_mut() {
                let lower = lowers.signatures[lower];
                match cache.find(kind, (upper, lower)) {
                    None => asked.push((lower, number)),
                    Some(None) => {}
                    Some(made) => *number = Some(all.push(SignatureLists { lists: Vec::new(), sample: W::ZERO, made })),
                }
            }
            let below = LowerSignatures::new(asked.iter().map(|&(lower, _)| lower).collect());
            let lists = if asked.is_empty() { Vec::new() } else { below.lists(window, from_step, &upper)? };
            for (lists, (lower, number)) in lists.into_iter().zip(asked) {
                if !lists.is_empty() {
                    *number = Some(all.push(SignatureLists { lists, sample: W::ZERO, made: None }));
                }
                unknown.push(((upper, lower), *number));
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
        Ok((all, unknown))
    }

    /// One signature more; its number.
    fn push(&mut self, listed: SignatureLists<W>) -> u32 {
        self.signatures.push(listed);
        self.signatures.len() as u32 - 1
    }
}

/// Parts of outsides by their colours, each with the number of its signature.
struct Parts<W, S> {
    words: FxHashMap<W, Vec<(W, usize)>>,
    numbers: FxHashMap<S, usize>,
    signatures: Vec<S>,
}

impl<W, S> Default for Parts<W, S> {
    fn default() -> Self {
        Self { words: FxHashMap::default(), numbers: FxHashMap::default(), signatures: Vec::new() }
    }
}

impl<W: Word, S: Copy + Eq + std::hash::Hash> Parts<W, S> {
    /// Those in `cells` with the colours that `rules` ask for.
    fn of(&mut self, cells: &Range<u32>, rules: &ScanRules<W>, signature: impl Fn(&Scan<W>) -> S) -> &[(W, usize)] {
        let Self { words, numbers, signatures } = self;
        words.entry(rules.only & span(cells)).or_insert_with(|| {
            let mut found = Vec::new();
            scan(cells.clone(), rules, Scan::default(), &mut |read| {
                let signature = signature(read);
                let number = *numbers.entry(signature).or_insert_with(|| {
                    signatures.push(signature);
                    signatures.len() - 1
                });
                found.push((read.word, number));
            });
            found
        })
    }

    /// Those that were found before.
    fn known(&self, cells: &Range<u32>, pattern: W) -> &[(W, usize)] {
        self.words.get(&(pattern & span(cells))).map_or(&[], Vec::as_slice)
    }
}

/// All bits of some cells.
fn span<W: Word>(cells: &Range<u32>) -> W {
    inside_of(Window { first: cells.start, len: cells.end - cells.start })
}

/// Lower signatures, by the stack that they need.
struct LowerSignatures {
    all: Vec<LowerSignature>,
    by_stack: FxHashMap<usize, Vec<usize>>,
    most_open: u32,
}

impl LowerSignatures {
    fn new(lowers: Vec<LowerSignature>) -> Self {
        let mut by_stack: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for (number, lower) in lowers.iter().enumerate() {
            by_stack.entry(lower.demands.reversed().number()).or_default().push(number);
        }
        let most_open = lowers.iter().map(|lower| lower.demands.len).max().unwrap_or(0);
        Self { all: lowers, by_stack, most_open }
    }

    /// For each of them and each step the words that lead to it from an upper signature, ascending; nothing for those
    /// that it does not lead to.
    fn lists<W: Word>(
        &self,
        window: Window,
        from_step: u32,
        upper: &UpperSignature,
    ) -> Result<Vec<Vec<Vec<W>>>, String> {
        let mut lists: Vec<Vec<Vec<W>>> = vec![Vec::new(); self.all.len()];
        for step in from_step..=window.len {
            let kink = window.first + step;
            let rules = ScanRules { kink: Some(kink), most_open: self.most_open, ..ScanRules::default() };
            scan(window.first..window.end(), &rules, upper.read::<W>(), &mut |read| {
                for &number in self.by_stack.get(&read.stack.number()).into_iter().flatten() {
                    if self.all[number].fits(read, kink == window.end()) {
                        lists[number].resize(window.len as usize + 1, Vec::new());
                        lists[number][step as usize].push(read.word);
                    }
                }
            });
        }
        for list in lists.iter_mut().flatten() {
            if list.len() > MOST_ENTRIES {
                return Err(format!(
                    "a window of {} cells has lists of {} codes, more than {MOST_ENTRIES}; use a shorter one",
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

/// Number of connections open out of the part of `word` in `cells`, at both of its ends.
pub(crate) fn open_connections<W: Word>(word: W, cells: Range<u32>) -> u32 {
    let (mut unmatched, mut open) = (0, 0_u32);
    for cell in cells {
        let code = (word >> (4 * cell)).low() & 0xf;
        if code < NEEDY {
            continue;
        }
        if code & ABOVE != 0 {
            match open.checked_sub(1) {
                Some(rest) => open = rest,
                None => unmatched += 1,
            }
        }
        open += u32::from(code & BELOW != 0);
    }
    unmatched + open
}
