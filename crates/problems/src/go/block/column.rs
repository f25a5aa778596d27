//! A column of windows, as the engine sees it.

use keima_model::{
    BlockColumn, BlockParts, BlockProblem, BlockTables, Directions, End, FamilyBounds, PartedBytes, ProblemInfo, Window,
};

use super::super::Go;
use super::super::border;
use super::super::state::{Word, accepts};
use super::exchange::{Exchange, MISSING, Side, family_numbers};
use super::fold::{Fate, Fold};
use super::image::Images;
use super::memory::{self, table_bytes};
use super::parted::GoParts;
use super::window::{Finder, GoWindow};
use super::{HEIGHTS, MAX_BLOCK_HEIGHT};

/// Windows of a column of legal Go positions, with the exchanges between them.
pub struct GoColumn<W> {
    spans: Vec<Window>,
    windows: Vec<GoWindow<W>>,
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

impl<W: Word> GoColumn<W> {
    /// Tables for `windows`, which cut a column of `height` cells from its top to its end.
    pub fn new(height: u32, windows: &[Window], directions: Directions) -> Result<Self, String> {
        if !(*HEIGHTS.start()..=MAX_BLOCK_HEIGHT).contains(&height) {
            let least = HEIGHTS.start();
            return Err(format!(
                "tables of all blocks are made for {least} to {MAX_BLOCK_HEIGHT} cells, not for {height}"
            ));
        }
        check_cut(height, windows)?;
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
            let [before, after] = [End::First, End::Last].map(|end| &windows[end.neighbour(number, count)]);
            let (here, _) = &windows[number];
            let new = |end, (there, finder): &(GoWindow<W>, Finder<W>), asked: bool| {
                let families = &family_numbers(there);
                let blocks = asked.then_some((there, finder));
                Exchange::new(here, end, &Side { inside: there.inside, families, blocks })
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
    fn new<W: Word>(height: u32, fold: Fold, windows: &[(GoWindow<W>, Finder<W>)]) -> Result<Self, String> {
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
        let ends = [(first, End::First, last), (last, End::Last, first)];
        let images = in_parallel(&ends, |&((here, _), end, there)| Images::new(height, here, end, there))?;
        let images = images.into_iter().collect::<Result<Vec<_>, _>>()?;
        let images = images.try_into().map_err(|_| "two ends of a column have as many tables".to_owned())?;
        Ok(Self { images, tied })
    }
}

/// What `make` makes of each item, on a thread each: building tables takes seconds, and there are few windows.
pub(super) fn in_parallel<T: Sync, R: Send>(items: &[T], make: impl Fn(&T) -> R + Sync) -> Result<Vec<R>, String> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = items.iter().map(|item| scope.spawn(|| make(item))).collect();
        let results = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        results.collect::<Result<_, _>>().map_err(|_| "a thread failed while tables were built".to_owned())
    })
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
        here.start(self.last().window.end(), &here.finder(), end)
    }

    fn one_column(&self) -> u64 {
        one_column(self.last().window.end())
    }
}

/// Legal positions of a single column.
pub(super) fn one_column(height: u32) -> u64 {
    border::series(1, height as usize).last().copied().unwrap_or(0)
}

/// Cells of a window beyond which nobody needs to look. Lists of eight have up to 59,608 codes at an end of the column, and
/// are refused as too long with two cells on each side (one has 72,411), and for a whole column (75,571); those of nine are
/// four times as long.
const MOST_CELLS: u32 = 8;

/// `Err` unless `windows` cut a column of `height` cells.
pub(super) fn check_cut(height: u32, windows: &[Window]) -> Result<(), String> {
    let mut next = 0;
    let fits = windows.iter().all(|window| {
        let fits = window.first == next && window.len > 0;
        next = window.end();
        fits
    });
    if !fits || next != height {
        return Err(format!("windows {windows:?} do not cut a column of {height} cells"));
    }
    match windows.iter().find(|window| window.len > MOST_CELLS) {
        None => Ok(()),
        // Their lists would be too long, and what finds that out would take too much memory before it did.
        Some(window) => Err(format!("a window of {} cells; tables are made for {MOST_CELLS} at most", window.len)),
    }
}

impl<K: Word> BlockProblem for Go<K> {
    fn choices(&self) -> u32 {
        3
    }

    fn table_bytes(&self, windows: &[Window], directions: Directions) -> u64 {
        let height = self.board().height;
        if height > MAX_BLOCK_HEIGHT { u64::MAX } else { table_bytes(height, windows, directions) }
    }

    fn parted_bytes(&self, windows: &[Window]) -> PartedBytes {
        memory::parted_bytes(self.board().height, windows)
    }

    fn parted_seconds(&self, windows: &[Window], window: usize, states: u64, group_records: u64) -> f64 {
        memory::parted_seconds(self.board().height, windows, window, states, group_records)
    }

    fn family_bounds(&self) -> FamilyBounds {
        memory::FAMILY_BOUNDS
    }

    /// Heights 8 to 15, windows of 3 to 7 cells: 0.28 to 0.39. Families with empty cells outside are smaller still.
    fn pair_ratio(&self) -> f64 {
        0.31
    }

    fn column(&self, windows: &[Window], directions: Directions) -> Result<Box<dyn BlockColumn>, String> {
        Ok(Box::new(GoColumn::<u64>::new(self.board().height, windows, directions)?))
    }

    fn parts(&self, windows: &[Window], kept_bytes: u64) -> Result<Box<dyn BlockParts>, String> {
        let height = self.board().height;
        if height <= MAX_BLOCK_HEIGHT {
            Ok(Box::new(GoParts::<u64>::new(height, windows, kept_bytes)?))
        } else {
            Ok(Box::new(GoParts::<u128>::new(height, windows, kept_bytes)?))
        }
    }
}
