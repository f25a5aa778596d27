//! A column of windows, as the engine sees it.

use std::ops::Range;

use keima_model::{BlockColumn, BlockProblem, BlockTables, Directions, End, ProblemInfo, Window};

use super::super::Go;
use super::super::layout;
use super::super::state::{Word, accepts, normalise, stones, successors};
use super::HEIGHTS;
use super::exchange::{Exchange, MISSING};
use super::fold::{Fate, Fold};
use super::image::Images;
use super::memory::{self, table_bytes};
use super::window::{Finder, GoWindow, rest};

/// Windows of a column of legal Go positions, with the exchanges between them.
pub struct GoColumn {
    spans: Vec<Window>,
    windows: Vec<GoWindow>,
    /// For each window the exchange with the one before and with the one after.
    exchanges: Vec<[Exchange; 2]>,
    /// For each signature of the last window the accepting entries at its end.
    accepting: Vec<Vec<u16>>,
    folded: Option<Folded>,
}

/// What a column has where it is folded.
struct Folded {
    /// Images of the first window's entries before it, and of the last one's after it.
    images: [Images; 2],
    /// For each signature of the first window, of its entries before it those whose images are there too.
    tied: Vec<Vec<bool>>,
}

impl GoColumn {
    /// Tables for `windows`, which cut a column of `height` cells from its top to its end.
    pub fn new(height: u32, windows: &[Window], directions: Directions) -> Result<Self, String> {
        if !HEIGHTS.contains(&height) {
            return Err(format!("dense blocks are made for heights of {HEIGHTS:?}, not {height}"));
        }
        let mut next = 0;
        for window in windows {
            if window.first != next || window.len == 0 {
                return Err(format!("windows {windows:?} do not cut a column of {height} cells"));
            }
            next = window.end();
        }
        if next != height {
            return Err(format!("windows {windows:?} do not cut a column of {height} cells"));
        }
        let spans = windows.to_vec();
        let cuts: Vec<(Window, Window)> =
            windows.iter().copied().zip(windows.iter().copied().cycle().skip(windows.len() - 1)).collect();
        // Else the tables of images are large: see `image`.
        let short = windows.first().map(|window| window.len) >= windows.last().map(|window| window.len);
        let fold = (directions == Directions::Folded && short).then(|| Fold::new(height));
        let windows = in_parallel(&cuts, |&(window, before)| GoWindow::new(height, window, before, directions, fold))?;
        let windows = windows.into_iter().collect::<Result<Vec<_>, String>>()?;
        let count = windows.len();
        let numbers: Vec<usize> = (0..count).collect();
        let exchanges = in_parallel(&numbers, |&number| {
            let (before, after) = (&windows[(number + count - 1) % count], &windows[(number + 1) % count]);
            let (here, _) = &windows[number];
            let transposed = directions.transposed();
            Ok([Exchange::new(here, End::First, before, transposed)?, Exchange::new(here, End::Last, after, true)?])
        })?;
        let exchanges = exchanges.into_iter().collect::<Result<Vec<_>, String>>()?;
        let folded = fold.map(|fold| Folded::new(height, fold, &windows)).transpose()?;
        let windows: Vec<GoWindow> = windows.into_iter().map(|(window, _)| window).collect();
        let last = &windows[count - 1].lists[1];
        let accepting = last.iter().map(|list| entries(list, accepts)).collect();
        Ok(Self { spans, windows, exchanges, accepting, folded })
    }

    fn last(&self) -> &GoWindow {
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
        self.windows[window].tables.signature_of[block as usize]
    }
}

impl Folded {
    fn new(height: u32, fold: Fold, windows: &[(GoWindow, Finder)]) -> Result<Self, String> {
        let (Some(first), Some(last)) = (windows.first(), windows.last()) else { return Err("no windows".into()) };
        if first.0.lists[0].iter().any(|list| list.len() > usize::from(MISSING)) {
            return Err("a folded window has lists that are too long; use a shorter one".into());
        }
        let mut tied = vec![Vec::new(); first.0.tables.signatures.len()];
        for (&outside, &signature) in first.0.outsides.iter().zip(&first.0.tables.signature_of) {
            let tied: &mut Vec<bool> = &mut tied[signature as usize];
            if tied.is_empty() {
                let list = first.0.lists[0][signature as usize].iter();
                tied.extend(list.map(|&code| fold.fate(outside | code, 0) == Fate::Tied));
            }
        }
        let images =
            [Images::new(height, &first.0, End::First, last)?, Images::new(height, &last.0, End::Last, first)?];
        Ok(Self { images, tied })
    }
}

/// What `make` makes of each item, on a thread each: building tables takes seconds, and there are few windows.
fn in_parallel<T: Sync, R: Send>(items: &[T], make: impl Fn(&T) -> R + Sync) -> Result<Vec<R>, String> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = items.iter().map(|item| scope.spawn(|| make(item))).collect();
        let results = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        results.collect::<Result<_, _>>().map_err(|_| "a thread failed while tables were built".to_owned())
    })
}

/// Visits the borders after a first column, all colourings, of which there are 3^height; `border` has the cells before
/// the first of `cells`.
fn colourings(cells: Range<u32>, border: u64, visit: &mut impl FnMut(u64)) {
    if cells.is_empty() {
        return visit(border);
    }
    let (states, count) = successors(cells.start, border);
    for &state in &states[..count] {
        colourings(cells.start + 1..cells.end, state, visit);
    }
}

/// Entries of a list with codes of a kind.
fn entries(list: &[u64], kind: impl Fn(u64) -> bool) -> Vec<u16> {
    (0..=u16::MAX).zip(list).filter(|&(_, &code)| kind(code)).map(|(entry, _)| entry).collect()
}

impl BlockColumn for GoColumn {
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
        let families = &self.windows[window].tables.families;
        let outside = self.windows[window].outsides[families[family as usize].blocks.start as usize];
        rest(outside, self.exchange(window, end).rest_cells)
    }

    fn exchange_class(&self, window: usize, end: End, block: u32) -> u32 {
        self.exchange(window, end).class(block)
    }

    fn sample(&self, window: usize, end: End, block: u32, key: u64, sample: &mut Vec<u16>) {
        self.exchange(window, end).sample(block, self.signature(window, block), key, sample);
    }

    fn twins(&self, window: usize, end: End, block: u32) -> Vec<u16> {
        let here = &self.windows[window];
        if stones(here.outsides[block as usize]) == 0 {
            here.twins[usize::from(end == End::Last)].clone()
        } else {
            Vec::new()
        }
    }

    fn keys(&self, window: usize, end: End, block: u32, keys: &mut Vec<u128>) {
        keys.clear();
        let window = &self.windows[window];
        let (outside, signature) = (window.outsides[block as usize], window.tables.signature_of[block as usize]);
        let list = &window.lists[usize::from(end == End::Last)][signature as usize];
        keys.extend(list.iter().map(|&code| u128::from(normalise(outside | code, 0))));
    }

    fn keys_of(&self, window: usize, end: End, block: u32, entries: &[u16], keys: &mut Vec<u128>) {
        keys.clear();
        let here = &self.windows[window];
        let outside = here.outsides[block as usize];
        let list = &here.lists[usize::from(end == End::Last)][self.signature(window, block) as usize];
        keys.extend(entries.iter().map(|&entry| u128::from(normalise(outside | list[usize::from(entry)], 0))));
    }

    fn weight(&self, window: usize, block: u32) -> u64 {
        if stones(self.windows[window].outsides[block as usize]) == 0 { 1 } else { 2 }
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
        let height = self.last().window.end();
        let outside = layout::outside::<u64>(height, here.window);
        let finder = here.finder();
        let mut positions = Vec::new();
        colourings(0..height, 0, &mut |border| {
            // Of each pair of reversed colourings the one that is stored.
            if stones(border) & outside == 0 || normalise(border, outside) == border {
                positions.extend(here.position(&finder, end, border));
            }
        });
        positions
    }

    fn one_column(&self) -> u64 {
        let mut count = 0;
        colourings(0..self.last().window.end(), 0, &mut |border| count += u64::from(accepts(border)));
        count
    }
}

impl<K: Word> BlockProblem for Go<K> {
    fn choices(&self) -> u32 {
        3
    }

    fn table_bytes(&self, windows: &[Window], directions: Directions) -> u64 {
        table_bytes(self.board().height, windows, directions)
    }

    fn column(&self, windows: &[Window], directions: Directions) -> Result<Box<dyn BlockColumn>, String> {
        Ok(Box::new(GoColumn::new(self.board().height, windows, directions)?))
    }
}
