//! A whole vector through the windows of a column, in memory.
//!
//! ```text
//!   forward:      vector at the last step of window i-1  --exchange, w passes-->  at the last step of window i
//!   transposed:   vector at the first step of window i+1 --exchange, w passes-->  at the first step of window i
//! ```
//!
//! Families are done by threads, the largest first ([`crate::block::in_memory::family::by_block`]). One that is more than half of a thread's part
//! of the window is done by all threads together, before the others ([`crate::block::in_memory::family::by_threads`]): the largest is a sixth of all
//! states (Go, 13x13), so that more than 3 threads would wait for it otherwise.
//!
//! Memory: two vectors, and mail of the largest family and, for each further thread, of the second largest: 0.9 to 1.3
//! times their rows. Cost: the passes, and per window 3 to 10 ns a state for the exchange ([`crate::block::in_memory::family::exchange`]).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use keima_blocks::in_memory::{buffer_rows, by_pass_bytes};
use keima_model::{BlockColumn, Direction, End, Family};
use keima_runs::TaskTimes;

use crate::block::error::BlockError;
use crate::block::in_memory::family::by_pass;
use crate::block::in_memory::family::fused::Fused;
use crate::block::in_memory::family::stage::{Place, Source};
use crate::block::in_memory::family::sums::Masses;
use crate::block::in_memory::family::worker::Worker;
use crate::block::in_memory::mail::Mail;
use crate::block::rows::lanes::{MOST_WAYS, Moduli, Row};
use crate::block::rows::tables::step_at;
use crate::block::rows::threads::{crew, each};
use crate::block::rows::vector::{Rows, Ways};

/// A family of fewer states is not worth starting threads for: some 20 microseconds for each of its levels, of which it
/// has 20 to 35.
const LEAST_SHARED_STATES: u64 = 1 << 20;

/// Where the mail of each window of a column lies, for sweeps of any number of lanes.
#[derive(Clone, Debug)]
pub(crate) struct Mails {
    windows: Arc<[Mail]>,
    /// Rows of mail of the largest family, and of the second largest of a window.
    most_rows: [usize; 2],
    /// Rows of both buffers of a family that goes pass by pass.
    by_pass_rows: usize,
}

impl Mails {
    pub(crate) fn new(column: &dyn BlockColumn) -> Result<Self, BlockError> {
        let windows = column.windows().len();
        let windows: Arc<[Mail]> = crew(windows, 0..windows, |window| Mail::new(column.tables(window)))?.into();
        let (mut most_rows, mut by_pass_rows) = ([0; 2], 0);
        for (window, mail) in windows.iter().enumerate() {
            let mut rows: Vec<usize> = column.tables(window).families.iter().map(|family| mail.rows(family)).collect();
            by_pass_rows = column.tables(window).families.iter().map(by_pass::rows).fold(by_pass_rows, usize::max);
            rows.sort_unstable_by_key(|&rows| std::cmp::Reverse(rows));
            most_rows.iter_mut().zip(rows).for_each(|(most, rows)| *most = (*most).max(rows));
        }
        Ok(Self { windows, most_rows, by_pass_rows })
    }

    /// Rows of a thread's buffer: blocks that were read together, one more, and mail, or a small family's states twice
    /// over ([`crate::block::in_memory::family::by_pass`]). The first thread's has room for any family's mail. What is not needed nobody touches.
    pub(crate) fn buffer_rows(&self, thread: usize) -> usize {
        buffer_rows(self.most_rows[usize::from(thread > 0)], self.by_pass_rows)
    }
}

/// What it takes to bring vectors through a column.
pub struct Sweep<'a, const K: usize> {
    column: &'a dyn BlockColumn,
    moduli: Moduli<K>,
    mails: Mails,
    /// One for each thread.
    buffers: Vec<Rows<K>>,
    least_shared: u64,
    shared_states: u64,
    by_pass_bytes: usize,
    by_pass_states: u64,
    times: TaskTimes,
    /// Windows that the vector has gone through.
    turn: u64,
    /// Key of the fingerprints.
    salt: u64,
    stop: &'a AtomicBool,
}

impl<'a, const K: usize> Sweep<'a, K> {
    /// Buffers for `threads` threads.
    pub fn new(column: &'a dyn BlockColumn, moduli: Moduli<K>, threads: usize) -> Result<Self, BlockError> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        let mails = Mails::new(column)?;
        let buffer = |thread| Rows::zeroed(mails.buffer_rows(thread));
        let buffers = (0..threads.max(1)).map(buffer).collect::<std::io::Result<_>>()?;
        Ok(Self::with_buffers(column, moduli, mails, buffers, &NEVER))
    }

    /// The same with memory that there is: a buffer of [`Mails::buffer_rows`] for each thread; `stop` is looked at
    /// before each block.
    pub(crate) fn with_buffers(
        column: &'a dyn BlockColumn,
        moduli: Moduli<K>,
        mails: Mails,
        buffers: Vec<Rows<K>>,
        stop: &'a AtomicBool,
    ) -> Self {
        Self {
            column,
            moduli,
            mails,
            buffers,
            least_shared: LEAST_SHARED_STATES,
            shared_states: 0,
            by_pass_bytes: by_pass_bytes(K),
            by_pass_states: 0,
            times: TaskTimes::default(),
            turn: 0,
            salt: 0,
            stop,
        }
    }

    /// Families of at least `states` states may be shared among threads, others not.
    #[must_use]
    pub fn share_from(mut self, states: u64) -> Self {
        self.least_shared = states;
        self
    }

    /// Families whose states take up to `bytes`, twice over, are done pass by pass, others block by block.
    #[must_use]
    pub fn by_pass_up_to(mut self, bytes: usize) -> Self {
        self.by_pass_bytes = bytes;
        self
    }

    /// The vector that comes has gone through so many windows: from one to the next other states are fingerprinted.
    /// `salt` is the key of the fingerprints.
    #[must_use]
    pub(crate) fn at_turn(self, salt: u64, turn: u64) -> Self {
        Self { turn, salt, ..self }
    }

    /// States before a window, of all windows so far, that were done pass by pass.
    pub fn by_pass_states(&self) -> u64 {
        self.by_pass_states
    }

    /// Time of all threads in all windows so far: reading is the exchange, mapping the passes.
    pub fn times(&self) -> TaskTimes {
        self.times
    }

    /// States after a window, of all windows so far, that threads shared.
    pub fn shared_states(&self) -> u64 {
        self.shared_states
    }

    /// The buffers, for other uses.
    pub(crate) fn into_buffers(self) -> Vec<Rows<K>> {
        self.buffers
    }

    /// Takes `before` through window number `window` into `after`. `arrivals` are those of the window, for the mass
    /// balance of a transposed vector; without them it is not held, and no mass is read. Returns what to hold against the
    /// vectors before and after.
    pub fn run(
        &mut self,
        direction: Direction,
        window: usize,
        before: &[Row<K>],
        after: &mut [Row<K>],
        arrivals: Option<&[u32]>,
    ) -> Result<Masses, BlockError> {
        self.run_from(direction, window, Source::Vector(before), after, arrivals)
    }

    /// For each state at the last step of a window the number of ways through the window that lead to it.
    pub fn arrivals(&mut self, window: usize, rows: &mut [Row<K>]) -> Result<Ways, BlockError> {
        self.run_from(Direction::Forward, window, Source::Ones, rows, None)?;
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
        before: Source<'_, K>,
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
        let mail = &self.mails.windows[window];
        if direction == Direction::Backward && !tables.are_transposed() {
            return Err(BlockError::Order);
        }
        // From the end of the list the largest are taken first.
        tasks.sort_by_key(|(family, _)| mail.rows(family));
        let fused = Fused { tables, mail, moduli: &self.moduli };
        let place = Place {
            column: self.column,
            window,
            direction,
            fused,
            before,
            arrivals,
            by_pass_bytes: self.by_pass_bytes,
            folded: self.column.tied(0).is_some(),
            turn: self.turn,
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
                place.shared(family, own, &mut workers)?;
            }
        }
        // Only the first has room for the largest family's mail.
        let first = tasks.pop();
        each(&mut workers, first, tasks, |(family, own), worker| place.family(family, own, worker))?;
        let modulus = self.moduli.values()[K - 1];
        self.turn += 1;
        self.by_pass_states += workers.iter().map(|worker| worker.by_pass_states).sum::<u64>();
        for worker in &workers {
            self.times.add(worker.times);
        }
        Ok(workers.iter().fold(Masses::default(), |all, worker| all.and(worker.masses, modulus)))
    }
}
