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

use keima_model::{MOST_ENTRIES, Window};

use super::super::layout;
use super::super::state::{ABOVE, BELOW, EDGE, NEEDY, normalise};
use super::parts::{Lower, Read, Rules, Upper, read_on};

/// What the blocks of one signature have in common.
pub(super) struct Listed {
    /// `lists[step]`: inside codes, each as a word with nothing outside the window; ascending.
    pub(super) lists: Vec<Vec<u64>>,
    /// One outside of this signature.
    pub(super) sample: u64,
}

/// The signatures of a window, and the outsides as (word, signature).
pub(super) struct Lists {
    pub(super) signatures: Vec<Listed>,
    pub(super) outsides: Vec<(u64, u32)>,
}

impl Lists {
    pub(super) fn new(height: u32, window: Window) -> Result<Self, String> {
        let mut uppers: BTreeMap<Upper, Vec<u64>> = BTreeMap::new();
        read_on(0..window.first, Rules::default(), Read::default(), &mut |read| {
            uppers.entry(Upper::of(read)).or_default().push(read.word);
        });
        let mut lowers: BTreeMap<Lower, Vec<u64>> = BTreeMap::new();
        let rules = Rules { may_demand: true, most_open: 0, ..Rules::default() };
        read_on(window.end()..height, rules, Read::default(), &mut |read| {
            let first = if window.end() < height { (read.word >> (4 * window.end()) & 0xf) as u32 } else { EDGE };
            lowers.entry(Lower { demands: read.demands, first }).or_default().push(read.word);
        });
        let lowers: Vec<(Lower, Vec<u64>)> = lowers.into_iter().collect();
        // Lower signatures by the stack that they need.
        let mut by_stack: Vec<Vec<(usize, Lower)>> = Vec::new();
        for (number, &(lower, _)) in lowers.iter().enumerate() {
            let stack = lower.demands.reversed().number();
            by_stack.resize(by_stack.len().max(stack + 1), Vec::new());
            by_stack[stack].push((number, lower));
        }
        let most_open = lowers.iter().map(|(lower, _)| lower.demands.len).max().unwrap_or(0);

        let outside = layout::outside::<u64>(height, window);
        let steps = window.len as usize + 1;
        let mut all = Self { signatures: Vec::new(), outsides: Vec::new() };
        for (upper, upper_words) in &uppers {
            // By lower signature and step.
            let mut lists: Vec<Vec<Vec<u64>>> = vec![Vec::new(); lowers.len()];
            for step in 0..steps {
                let kink = window.first + step as u32;
                let rules = Rules { kink: Some(kink), most_open, ..Rules::default() };
                read_on(window.first..window.end(), rules, upper.read(), &mut |read| {
                    for (number, lower) in by_stack.get(read.stack.number()).into_iter().flatten() {
                        if lower.fits(read, kink == window.end()) {
                            lists[*number].resize(steps, Vec::new());
                            lists[*number][step].push(read.word);
                        }
                    }
                });
            }
            for (mut lists, (_, lower_words)) in lists.into_iter().zip(&lowers).filter(|(lists, _)| !lists.is_empty()) {
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
                if let Some(most) = lists.iter().map(Vec::len).max().filter(|&most| most > MOST_ENTRIES) {
                    return Err(format!(
                        "a window of {} cells has lists of {most} codes, more than {MOST_ENTRIES}; use a shorter one",
                        window.len
                    ));
                }
                for list in &mut lists {
                    list.shrink_to_fit();
                    list.sort_unstable();
                }
                all.signatures.push(Listed { lists, sample });
            }
        }
        Ok(all)
    }
}

/// Number of connections open out of the part of `word` in `cells`, at both of its ends.
pub(super) fn open_connections(word: u64, cells: Range<u32>) -> u32 {
    let (mut unmatched, mut open) = (0, 0_u32);
    for cell in cells {
        let code = (word >> (4 * cell) & 0xf) as u32;
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
