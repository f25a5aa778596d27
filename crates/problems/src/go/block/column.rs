//! A column of windows with the tables of all families, as the engine sees it.
//!
//! Cost: one thread for each window and each exchange while tables are built.

use keima_model::{BlockColumn, BlockTables, Directions, End, Window};

use super::cut::{check_cut, in_parallel, one_column};
use super::exchange::images::Images;
use super::exchange::route::NO_ENTRY;
use super::exchange::{Exchange, Neighbour, family_numbers};
use super::signature::fold::{Fate, Fold};
use super::window::build::WindowCut;
use super::window::{GoWindow, StateIndex};
use super::{HEIGHTS, MAX_BLOCK_HEIGHT, memory};
use crate::go::state::{Word, accepts};

/// The windows of a column of legal Go positions, with the exchanges between them.
pub struct GoColumn<W> {
    spans: Vec<Window>,
    windows: Vec<GoWindow<W>>,
    /// For each window its exchanges with the window before and the window after.
    exchanges: Vec<[Exchange; 2]>,
    /// `accepting[signature]` of the last window: the accepting entries at its last step.
    accepting: Vec<Vec<u16>>,
    folded: Option<Folded>,
}

/// The tables of a folded column.
struct Folded {
    /// The images of the first window's entries at step 0, and of the last window's at its last step.
    images: [Images; 2],
    /// `tied[signature][entry]` of the first window at step 0: whether the entry's image is an entry too.
    tied: Vec<Vec<bool>>,
}

impl<W: Word> GoColumn<W> {
    /// Builds the tables for `windows`, which cut a column of `height` cells from its top to its end.
    pub fn new(height: u32, windows: &[Window], directions: Directions) -> Result<Self, String> {
        if !(*HEIGHTS.start()..=MAX_BLOCK_HEIGHT).contains(&height) {
            let least = HEIGHTS.start();
            return Err(format!(
                "tables of all blocks need a height of {least} to {MAX_BLOCK_HEIGHT} cells, not {height}"
            ));
        }
        check_cut(height, windows)?;
        let spans = windows.to_vec();
        let befores = windows.iter().cycle().skip(windows.len() - 1);
        let cuts: Vec<WindowCut> =
            windows.iter().zip(befores).map(|(&window, &before)| WindowCut { height, window, before }).collect();
        // A short first window makes the tables of images large: see `images`.
        let short = windows.first().map(|window| window.len) >= windows.last().map(|window| window.len);
        let fold = (directions == Directions::Folded && short).then(|| Fold::new(height));
        let windows = in_parallel(cuts.len(), &cuts, |&cut| GoWindow::new(cut, directions, fold))?;
        let windows = windows.into_iter().collect::<Result<Vec<_>, String>>()?;
        let count = windows.len();
        let exchanges = in_parallel(count, 0..count, |number| {
            let [before, after] = [End::First, End::Last].map(|end| &windows[end.neighbour(number, count)]);
            let (here, _) = &windows[number];
            let new = |end, (there, index): &(GoWindow<W>, StateIndex<W>), asked: bool| {
                let families = &family_numbers(there);
                let blocks = asked.then_some((there, index));
                Exchange::new(here, end, &Neighbour { inside: there.inside, families, blocks })
            };
            Ok([new(End::First, before, directions.transposed())?, new(End::Last, after, true)?])
        })?;
        let exchanges = exchanges.into_iter().collect::<Result<Vec<_>, String>>()?;
        let folded = fold.map(|fold| Folded::new(height, fold, &windows)).transpose()?;
        let windows: Vec<GoWindow<W>> = windows.into_iter().map(|(window, _)| window).collect();
        let accepting = windows[count - 1].accepting();
        Ok(Self { spans, windows, exchanges, accepting, folded })
    }

    fn last(&self) -> &GoWindow<W> {
        &self.windows[self.windows.len() - 1]
    }

    fn exchange(&self, window: usize, end: End) -> &Exchange {
        let [before, after] = &self.exchanges[window];
        match end {
            End::First => before,
            End::Last => after,
        }
    }

    fn signature(&self, window: usize, block: u32) -> u32 {
        self.windows[window].signature(block)
    }
}

impl Folded {
    fn new<W: Word>(height: u32, fold: Fold, windows: &[(GoWindow<W>, StateIndex<W>)]) -> Result<Self, String> {
        let (Some(first), Some(last)) = (windows.first(), windows.last()) else { return Err("no windows".into()) };
        if first.0.lists[0].iter().any(|list| list.len() > usize::from(NO_ENTRY)) {
            return Err("the lists of a folded window are too long; use a shorter window".into());
        }
        let mut tied = vec![Vec::new(); first.0.tables.signatures.len()];
        for (&outside, &signature) in first.0.outsides.iter().zip(&first.0.tables.signature_of) {
            let tied: &mut Vec<bool> = &mut tied[signature as usize];
            if tied.is_empty() {
                let list = first.0.lists[0][signature as usize].iter();
                tied.extend(list.map(|&code| fold.fate(outside | code, 0) == Fate::Tied));
            }
        }
        let ends = [(first, End::First, last), (last, End::Last, first)];
        let images = in_parallel(ends.len(), &ends, |&((here, _), end, (there, index))| {
            Images::new(height, here, end, there, index)
        })?;
        let images = images.into_iter().collect::<Result<Vec<_>, _>>()?;
        let images = images.try_into().map_err(|_| "two ends of a column have as many tables".to_owned())?;
        Ok(Self { images, tied })
    }
}

impl<W: Word> BlockColumn for GoColumn<W> {
    fn windows(&self) -> &[Window] {
        &self.spans
    }

    fn tables(&self, window: usize) -> &BlockTables {
        &self.windows[window].tables
    }

    fn bytes(&self) -> u64 {
        let lists = self.windows.iter().map(GoWindow::list_bytes).sum::<u64>();
        let blocks = self.windows.iter().map(GoWindow::block_bytes).sum::<u64>();
        let start = memory::start_bytes(self.last().window.end());
        let folded = self.folded.iter().flat_map(|folded| &folded.images).map(Images::bytes).sum::<u64>();
        memory::with_left_over(lists)
            + start
            + blocks
            + folded
            + self.exchanges.iter().flatten().map(Exchange::bytes).sum::<u64>()
    }

    fn positions(&self, window: usize, end: End, block: u32, positions: &mut Vec<u64>) {
        let signature = self.signature(window, block);
        match &self.folded {
            Some(folded) if end == End::Last && window + 1 == self.windows.len() => {
                self.exchange(window, end).known_positions(block, signature, positions);
                let [_, images] = &folded.images;
                images.fill(block, signature, positions);
            }
            _ => self.exchange(window, end).positions(block, signature, positions),
        }
    }

    fn images(&self, block: u32, positions: &mut Vec<u64>) -> Option<&[bool]> {
        let Folded { images: [images, _], .. } = self.folded.as_ref()?;
        images.positions(block, self.signature(0, block), positions);
        self.tied(block)
    }

    fn tied(&self, block: u32) -> Option<&[bool]> {
        Some(&self.folded.as_ref()?.tied[self.signature(0, block) as usize])
    }

    fn positions_of(&self, window: usize, end: End, block: u32, entries: &[u16], positions: &mut Vec<u64>) {
        self.exchange(window, end).positions_of(block, self.signature(window, block), entries, positions);
    }

    fn families(&self, window: usize, end: End, block: u32, families: &mut Vec<u32>) {
        self.exchange(window, end).families(block, self.signature(window, block), families);
    }

    fn rest(&self, window: usize, end: End, family: u32) -> u64 {
        self.windows[window].rest(self.spans[end.neighbour(window, self.spans.len())], family)
    }

    fn exchange_class(&self, window: usize, end: End, block: u32) -> u32 {
        self.exchange(window, end).class(block)
    }

    fn sample(&self, window: usize, end: End, block: u32, key: u64, sample: &mut Vec<u16>) {
        self.exchange(window, end).sample(block, self.signature(window, block), key, sample);
    }

    fn twins(&self, window: usize, end: End, block: u32) -> Vec<u16> {
        self.windows[window].twins(end, block)
    }

    fn keys(&self, window: usize, end: End, block: u32, keys: &mut Vec<u128>) {
        self.windows[window].keys(end, block, None, keys);
    }

    fn keys_of(&self, window: usize, end: End, block: u32, entries: &[u16], keys: &mut Vec<u128>) {
        self.windows[window].keys(end, block, Some(entries), keys);
    }

    fn weight(&self, window: usize, block: u32) -> u64 {
        self.windows[window].weight(block)
    }

    fn family_keys(&self, window: usize, block: u32, entries: u64) -> u64 {
        // Without stones outside, a state and its reversal are both entries.
        if self.weight(window, block) == 1 { entries.div_ceil(2) } else { entries }
    }

    fn accepting(&self, block: u32) -> &[u16] {
        let last = self.last();
        if accepts(last.outsides[block as usize]) {
            &self.accepting[last.tables.signature_of[block as usize] as usize]
        } else {
            &[]
        }
    }

    fn start(&self, window: usize, end: End) -> Vec<u64> {
        let here = &self.windows[window];
        here.start(self.last().window.end(), &here.index(), end)
    }

    fn one_column(&self) -> u64 {
        one_column(self.last().window.end())
    }
}
