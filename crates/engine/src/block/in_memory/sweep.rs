//! Taking a whole vector in memory through the windows of a column.
//!
//! ```text
//!   forward:      vector at the last step of window i-1  --exchange, w passes-->  at the last step of window i
//!   transposed:   vector at the first step of window i+1 --exchange, w passes-->  at the first step of window i
//! ```
//!
//! Threads take families, the largest first (`family::by_block`). All threads together take a family that is more
//! than half of one thread's part of the window, before all others (`family::by_threads`). Without this the threads
//! would wait for the largest family.
//!
//! Memory: two vectors, the mail of the largest family, and for each further thread the mail of the second largest.
//! Cost: the passes, and one exchange a window (`family::exchange`).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use keima_blocks::in_memory::{buffer_rows, by_pass_bytes};
use keima_model::{BlockColumn, Direction, End, Family};
use keima_runs::{Balance, TaskTimes};

use crate::block::error::BlockError;
use crate::block::in_memory::family::by_pass;
use crate::block::in_memory::family::fused::Fused;
use crate::block::in_memory::family::stage::{WindowInput, WindowStage};
use crate::block::in_memory::family::sums::{Masses, WindowSums};
use crate::block::in_memory::family::worker::Worker;
use crate::block::in_memory::mail::MailLayout;
use crate::block::rows::lanes::{MOST_WAYS, Moduli, Row};
use crate::block::rows::tables::step_at;
use crate::block::rows::threads::{crew, each};
use crate::block::rows::vector::{Rows, Ways};

/// Least states of a family for which several threads pay. Each level of blocks starts threads and waits for them.
const LEAST_SHARED_STATES: u64 = 1 << 20;

/// The mail of each window of a column, for sweeps of any number of lanes.
#[derive(Clone, Debug)]
pub(crate) struct ColumnMail {
    windows: Arc<[MailLayout]>,
    /// Rows of mail of the largest family, and of a window's second largest.
    most_rows: [usize; 2],
    /// Rows of both buffers of a family that goes pass by pass.
    by_pass_rows: usize,
}

impl ColumnMail {
    pub(crate) fn new(column: &dyn BlockColumn) -> Result<Self, BlockError> {
        let windows = column.windows().len();
        let windows: Arc<[MailLayout]> =
            crew(windows, 0..windows, |window| MailLayout::new(column.tables(window)))?.into();
        let (mut most_rows, mut by_pass_rows) = ([0; 2], 0);
        for (window, mail) in windows.iter().enumerate() {
            let mut rows: Vec<usize> = column.tables(window).families.iter().map(|family| mail.rows(family)).collect();
            by_pass_rows = column.tables(window).families.iter().map(by_pass::rows).fold(by_pass_rows, usize::max);
            rows.sort_unstable_by_key(|&rows| std::cmp::Reverse(rows));
            most_rows.iter_mut().zip(rows).for_each(|(most, rows)| *most = (*most).max(rows));
        }
        Ok(Self { windows, most_rows, by_pass_rows })
    }

    /// Rows of a thread's buffer: blocks that are read together, one more block, and mail or a small family's two
    /// buffers (`family::by_pass`). The first thread has room for any family's mail. Rows that are not needed are
    /// never touched.
    pub(crate) fn buffer_rows(&self, thread: usize) -> usize {
        buffer_rows(self.most_rows[usize::from(thread > 0)], self.by_pass_rows)
    }
}

/// Takes vectors through the windows of a column.
pub struct Sweep<'a, const K: usize> {
    column: &'a dyn BlockColumn,
    moduli: Moduli<K>,
    column_mail: ColumnMail,
    /// One for each thread.
    buffers: Vec<Rows<K>>,
    least_shared: u64,
    shared_states: u64,
    by_pass_bytes: usize,
    by_pass_states: u64,
    times: TaskTimes,
    /// Of the newest window.
    balance: Balance,
    /// Windows that the vector has passed.
    windows_done: u64,
    /// Key of the fingerprints.
    salt: u64,
    stop: &'a AtomicBool,
}

impl<'a, const K: usize> Sweep<'a, K> {
    /// A sweep with buffers for `threads` threads.
    pub fn new(column: &'a dyn BlockColumn, moduli: Moduli<K>, threads: usize) -> Result<Self, BlockError> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        let column_mail = ColumnMail::new(column)?;
        let buffer = |thread| Rows::zeroed(column_mail.buffer_rows(thread));
        let buffers = (0..threads.max(1)).map(buffer).collect::<Result<_, _>>()?;
        Ok(Self::with_buffers(column, moduli, column_mail, buffers, &NEVER))
    }

    /// A sweep on given memory: a buffer of [`ColumnMail::buffer_rows`] for each thread. It looks at `stop` before
    /// each block.
    pub(crate) fn with_buffers(
        column: &'a dyn BlockColumn,
        moduli: Moduli<K>,
        column_mail: ColumnMail,
        buffers: Vec<Rows<K>>,
        stop: &'a AtomicBool,
    ) -> Self {
        Self {
            column,
            moduli,
            column_mail,
            buffers,
            least_shared: LEAST_SHARED_STATES,
            shared_states: 0,
            by_pass_bytes: by_pass_bytes(K),
            by_pass_states: 0,
            times: TaskTimes::default(),
            balance: Balance::default(),
            windows_done: 0,
            salt: 0,
            stop,
        }
    }

    /// Only families of at least `states` states may be shared among threads.
    #[must_use]
    pub fn share_from(mut self, states: u64) -> Self {
        self.least_shared = states;
        self
    }

    /// Families whose two buffers take up to `bytes` go pass by pass. Others go block by block.
    #[must_use]
    pub fn by_pass_up_to(mut self, bytes: usize) -> Self {
        self.by_pass_bytes = bytes;
        self
    }

    /// Number of windows that the next vector has passed. The fingerprint's sample differs from one boundary to the next.
    /// `salt` is the key of the fingerprints.
    #[must_use]
    pub(crate) fn after_windows(self, salt: u64, windows_done: u64) -> Self {
        Self { windows_done, salt, ..self }
    }

    /// States before the window, over all windows so far, of families that went pass by pass.
    pub fn by_pass_states(&self) -> u64 {
        self.by_pass_states
    }

    /// Time of all threads in all windows so far. Reading is the exchange; mapping is the passes.
    pub fn times(&self) -> TaskTimes {
        self.times
    }

    /// Both sides of the newest window's mass balance, in each lane.
    pub(crate) fn balance(&mut self) -> Balance {
        std::mem::take(&mut self.balance)
    }

    /// States after the window, over all windows so far, of families that threads shared.
    pub fn shared_states(&self) -> u64 {
        self.shared_states
    }

    /// The buffers, for reuse.
    pub(crate) fn into_buffers(self) -> Vec<Rows<K>> {
        self.buffers
    }

    /// Takes `before` through window number `window` into `after`. A transposed vector needs the window's `arrivals`
    /// for its mass balance. Without them nothing is checked, and `read` stays 0. Returns the sums to compare with
    /// the vectors before and after.
    pub fn run(
        &mut self,
        direction: Direction,
        window: usize,
        before: &[Row<K>],
        after: &mut [Row<K>],
        arrivals: Option<&[u32]>,
    ) -> Result<Masses, BlockError> {
        self.run_from(direction, window, WindowInput::Vector(before), after, arrivals)
    }

    /// The number of ways through a window to each state at its last step.
    pub fn arrivals(&mut self, window: usize, rows: &mut [Row<K>]) -> Result<Ways, BlockError> {
        self.run_from(Direction::Forward, window, WindowInput::Ones, rows, None)?;
        let tables = self.column.tables(window);
        let states = tables.states[step_at(tables, End::Last)] as usize;
        let mut ways = Ways::zeroed(states)?;
        let threads = self.buffers.len();
        let piece = states.div_ceil(threads).max(1);
        crew(threads, rows.chunks(piece).zip(ways.chunks_mut(piece)), |(rows, ways)| {
            for (ways, row) in ways.iter_mut().zip(rows) {
                let told = u32::try_from(row[0]).ok().filter(|ways| *ways < MOST_WAYS);
                *ways = told.ok_or(BlockError::Arrivals)?;
            }
            Ok::<_, BlockError>(())
        })?;
        Ok(ways)
    }

    fn run_from(
        &mut self,
        direction: Direction,
        window: usize,
        before: WindowInput<'_, K>,
        after: &mut [Row<K>],
        arrivals: Option<&[u32]>,
    ) -> Result<Masses, BlockError> {
        let tables = self.column.tables(window);
        let step = step_at(tables, direction.leaves());
        let mut rest = after;
        let mut tasks: Vec<(&Family, &mut [Row<K>])> = Vec::with_capacity(tables.families.len());
        for family in &tables.families {
            let (own, later) = rest.split_at_mut(family.size[step] as usize);
            tasks.push((family, own));
            rest = later;
        }
        let mail = &self.column_mail.windows[window];
        if direction == Direction::Transposed && !tables.are_transposed() {
            return Err(BlockError::Order);
        }
        // Tasks are taken from the end of the list, so the largest come first.
        tasks.sort_by_key(|(family, _)| mail.rows(family));
        let fused = Fused { tables, mail, moduli: &self.moduli };
        let stage = WindowStage {
            column: self.column,
            window,
            direction,
            fused,
            before,
            arrivals,
            by_pass_bytes: self.by_pass_bytes,
            folded: self.column.tied(0).is_some(),
            windows_done: self.windows_done,
            salt: self.salt,
            stop: self.stop,
        };
        let part = tables.states[step] / self.buffers.len() as u64;
        let shared = self.least_shared.max(part.div_ceil(2));
        let workers: Option<Vec<Worker<'_, K>>> = self.buffers.iter_mut().map(|rows| Worker::new(rows)).collect();
        let mut workers = workers.ok_or(BlockError::Order)?;
        if workers.len() > 1 {
            while let Some((family, own)) = tasks.pop_if(|(family, _)| family.size[step] >= shared) {
                self.shared_states += family.size[step];
                stage.family_by_all(family, own, &mut workers)?;
            }
        }
        // Only the first worker has room for the largest family's mail.
        let first = tasks.pop();
        each(&mut workers, first, tasks, |(family, own), worker| stage.family(family, own, worker))?;
        let moduli = self.moduli.values();
        self.windows_done += 1;
        self.by_pass_states += workers.iter().map(|worker| worker.by_pass_states).sum::<u64>();
        for worker in &workers {
            self.times.add(worker.times);
        }
        let sums = workers.iter().fold(WindowSums::default(), |all, worker| all.plus(&worker.window, moduli));
        self.balance = Balance { expected: sums.expected.to_vec(), got: sums.got.to_vec() };
        Ok(sums.masses)
    }
}
