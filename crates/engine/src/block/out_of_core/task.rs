//! The block executor out of core: one task of one stage takes groups of families through a window.
//!
//! ```text
//!   runs --gather--> states of a group --for each family: w passes in place--> states --scatter--> a run, or several
//!                    sums, fingerprint   mass balance, functionals, fingerprint       \--join--> inner product
//! ```
//!
//! A transposed vector goes through windows and columns the other way ([`crate::block::out_of_core::passes::transposed`]); where it comes to a forward
//! one that was kept, the two are multiplied ([`crate::block::out_of_core::kept_product`]).
//!
//! The same sums over the same tables as in memory ([`crate::block::in_memory::sweep`]); what is between two windows is in runs instead
//! of in a vector, so that a task's memory is that of its largest group, in one buffer ([`crate::block::out_of_core::passes::forward`]). A family
//! that is too large even so is taken through the window a few lanes at a time, down to one: lanes know nothing of each
//! other. Of its input these lanes are read (all, where lanes are made of those before), and these are written.
//!
//! A group that is a larger part of the stage than one of its threads takes as many tasks' memory and threads as it is
//! worth, so that nobody waits for it at the end. Threads share the reading of runs, the looks at states, the passes and
//! the writing, in which each writes a run.
//!
//! Laws: see [`crate::block::out_of_core::lane_slice`]. The coordinator holds sums and fingerprints of what is read against those of what was
//! written. Runs that have fewer moduli than the stage are widened on reading, and every row's spare lane is checked.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Instant;

use keima_blocks::lanes::{LANES, slices};
use keima_blocks::limits::{MODULUS_LIMIT, PLACE_BITS};
use keima_blocks::out_of_core::meeting_words;
use keima_model::{Direction, End, ProblemInfo, Sources, Window};
use keima_runs::{
    BlockCut, FunctionalSum, KeyOrder, PassTally, RunHeader, RunManifest, Split, Tally, TaskManifest, TaskTimes,
};

use zerocopy::{FromBytes as _, IntoBytes as _};

use crate::block::out_of_core::group_tables::View;
use crate::block::out_of_core::groups::ends;
use crate::block::out_of_core::kept_product::Join;
use crate::block::out_of_core::lane_slice::{Lanes, Work};
use crate::block::out_of_core::memory::pool::{NoMemory, Words};
use crate::block::out_of_core::passes::batches;
use crate::block::out_of_core::passes::forward::{Lines, Memory};
use crate::block::out_of_core::passes::transposed::{arrival_words, arrivals};
use crate::block::out_of_core::portions::boundary;
use crate::block::out_of_core::prepared::Prepared;
use crate::block::rows::lanes::Moduli;
use crate::block::rows::widen::Widen;
use crate::tally::EndTally;
use crate::{Task, TaskError, TaskOrder};

/// Steps of a share in which tables count that are made for a group.
const STEPS: usize = 16;

/// Does one task: the groups whose numbers stand in the upper bits of the order's key range.
///
/// Blocking; uses one thread, and for a group that is worth more than one task's memory and threads as many as that
/// memory would serve. On an error complete output runs may be left in the attempt's folder, for its owner to delete.
pub fn run_block_task(prepared: &Prepared, info: &dyn ProblemInfo, task: &Task<'_>) -> Result<TaskManifest, TaskError> {
    Stage::new(prepared, info, task)?.run()
}

/// One task's part of a stage.
pub(crate) struct Stage<'a> {
    pub(crate) prepared: &'a Prepared,
    pub(crate) task: &'a Task<'a>,
    /// Number of the window.
    pub(crate) window: usize,
    pub(crate) direction: Direction,
    pub(crate) widen: Widen,
    /// Where the vector meets one that was kept.
    pub(crate) join: Option<Join>,
    pub(crate) header_in: RunHeader,
    /// Functionals that fall on the window's last pass, with the sums of each lane.
    pub(crate) functionals: Vec<(u32, Vec<u64>)>,
    /// In the first stage that of the first column.
    one_column: Option<u32>,
    pub(crate) input: EndTally,
    pub(crate) output: EndTally,
    /// States before each pass.
    pub(crate) states: Vec<u64>,
    pub(crate) runs: Vec<(RunManifest, Vec<Split>)>,
    /// Number of the next one.
    pub(crate) next_run: usize,
    pub(crate) bytes_read: u64,
    pub(crate) times: TaskTimes,
}

/// What a group gets: its lines with room for its threads, slices of its lanes, words of memory, threads.
struct Share {
    lines: Lines,
    slices: Vec<Range<usize>>,
    words: Words,
    threads: usize,
}

pub(crate) fn refuse<T>(text: String) -> Result<T, TaskError> {
    Err(TaskError::Refused(text))
}

/// Header of the runs at one end of an order's window, which `window` reads.
pub(crate) fn header(
    order: &TaskOrder,
    moduli: &[u64],
    direction: Direction,
    (end, window): (End, Window),
) -> RunHeader {
    let cut = order.block.as_ref().map(|block| BlockCut {
        // Of more cells than a header holds there are no tables.
        windows: block.windows.iter().map(|window| u8::try_from(window.len).unwrap_or(u8::MAX)).collect(),
        group_records: block.group_records,
    });
    RunHeader {
        job_tag: order.job_tag,
        subject: order.subject.clone(),
        boundary: boundary(order, end),
        key_order: match direction {
            Direction::Forward => KeyOrder::Blocks { first: window.first, len: window.len },
            Direction::Backward => KeyOrder::Transposed { first: window.first, len: window.len },
        },
        cut,
        key_bytes: 8,
        moduli: moduli.to_vec(),
        coefficients: 1,
    }
}

impl<'a> Stage<'a> {
    fn new(prepared: &'a Prepared, info: &'a dyn ProblemInfo, task: &'a Task<'a>) -> Result<Self, TaskError> {
        let order = task.order;
        let windows = prepared.windows();
        let Some(window) = windows.iter().position(|&window| window == order.window) else {
            return refuse(format!("the column is cut into {windows:?}, not into {:?}", order.window));
        };
        let board = info.board();
        let end = order.first_pass.checked_add(order.window.len);
        if end.is_none_or(|end| end > board.passes()) || board.cell(order.first_pass) != order.window.first {
            return refuse(format!("passes {}.. are no stage of the {board} board", order.first_pass));
        }
        let lanes = order.moduli.len();
        if !LANES.iter().any(|&some| some as usize == lanes) {
            return refuse(format!("the block executor carries residues in rows of {LANES:?}, not of {lanes}"));
        }
        if order.moduli.iter().any(|modulus| !(2..MODULUS_LIMIT).contains(modulus)) {
            return refuse(format!("moduli {:?} are not below 2^60", order.moduli));
        }
        let moduli_in = order.moduli_in();
        let Some(widen) = Widen::new(moduli_in, &order.moduli) else {
            return refuse(format!("rows modulo {moduli_in:?} cannot be made rows modulo {:?}", order.moduli));
        };
        let direction = order.block.as_ref().map_or(Direction::Forward, |block| block.direction);
        let kept = order.block.as_ref().and_then(|block| block.kept.as_ref());
        let starts_at = match direction {
            Direction::Forward => (order.first_pass, board.height),
            Direction::Backward => (order.first_pass + order.window.len, board.passes()),
        };
        if order.from_start && starts_at.0 != starts_at.1 {
            return refuse(format!("no vector begins its way at pass {} of the {board} board", starts_at.0));
        }
        let join = kept.map(|kept| Join::new(order, kept)).transpose()?;
        let last = match (direction, kept) {
            (Direction::Forward, None) => Some(order.first_pass + order.window.len - 1),
            (Direction::Backward, Some(_)) => board.passes().checked_sub(1),
            (Direction::Backward, None) => None,
            (Direction::Forward, Some(_)) => return refuse("only a transposed vector meets one that was kept".into()),
        };
        let functionals = (0..).zip(info.functionals()).filter(|(_, functional)| Some(functional.after_pass) == last);
        let starts = order.from_start && direction == Direction::Forward;
        let before =
            (0..).zip(info.functionals()).filter(|(_, functional)| starts && functional.after_pass < order.first_pass);
        Ok(Self {
            prepared,
            task,
            window,
            direction,
            widen,
            join,
            header_in: header(order, moduli_in, direction, (direction.enters(), order.window)),
            functionals: functionals.map(|(number, _)| (number, vec![0; lanes])).collect(),
            one_column: before.map(|(number, _)| number).next(),
            input: EndTally::new(order.salt, lanes),
            output: EndTally::new(order.salt, lanes),
            states: vec![0; order.window.len as usize],
            runs: Vec::new(),
            next_run: 0,
            bytes_read: 0,
            times: TaskTimes::default(),
        })
    }

    fn run(mut self) -> Result<TaskManifest, TaskError> {
        let order = self.task.order;
        let groups = self.prepared.groups(self.window) as u128;
        let (low, high) = (order.low >> PLACE_BITS, order.high.map_or(groups, |high| (high >> PLACE_BITS).min(groups)));
        let mut last = None;
        for group in low..high {
            last = self.group(group as u32, last)?;
        }
        Ok(self.finish())
    }

    /// Takes a group through the window.
    ///
    /// `last` is what the tables for the group before have to offer; what these have is returned.
    fn group(&mut self, number: u32, last: Option<Sources>) -> Result<Option<Sources>, TaskError> {
        // Tables for the group before are nobody's memory any more: who has to wait lets them go.
        let (allowance, last) = if let Some(allowance) = self.prepared.may_make(self.window, number, || true) {
            (allowance, last)
        } else {
            drop(last);
            let allowance = self.prepared.may_make(self.window, number, || self.is_to_stop());
            (allowance.ok_or(TaskError::Stopped)?, None)
        };
        let started = Instant::now();
        let view = self.prepared.view((self.direction, self.window), number, last)?;
        let allowance = allowance.made(view.bytes());
        let lines = Lines::new(view.tables(), view.families());
        self.times.read_nanos += nanos(started);
        let Share { lines, slices, words, threads } = self.share(&view, lines)?;
        let mut arena = self.prepared.pool.take(words, || self.is_to_stop()).map_err(|error| match error {
            NoMemory::Stopped => TaskError::Stopped,
            NoMemory::System(error) => {
                TaskError::Refused(format!("no memory for a task of {} bytes: {error}", words.all * 8))
            }
        })?;
        drop(allowance);
        let (front, rest) = arena.words().split_at_mut(self.arrival_words(&view));
        let mut memory = Memory(rest);
        let arrivals = self.arrivals(&view, &lines, threads, &mut memory, front)?;
        let work = Work { view, lines, threads, arrivals };
        self.through(&work, memory, &slices)?;
        Ok(work.view.sources())
    }

    /// As many lanes at a time as its part of the memory allows; one, where not even that fits and others have to wait.
    fn share(&self, view: &View<'_>, lines: Lines) -> Result<Share, TaskError> {
        let pool = &self.prepared.pool;
        let (join_lane, join) = self.join_words(view);
        let needed = lines.rows().max(1) + join_lane;
        let (share, all) = pool.words();
        // Tables that are made for this group count as its memory, and the ways that lead to its states.
        let (made, other) = ((view.bytes() / 8) as usize, self.arrival_words(view) + join);
        let shares = self.shares(view.group.records);
        let part = share.saturating_mul(shares).min(all);
        let fit = |beside: usize| part.saturating_sub(beside + other) / needed;
        // In a few steps, so that pieces are of few sizes and serve other groups; where that costs nothing.
        let steps = made.next_multiple_of((share / STEPS).max(1));
        let beside = if needed + other + steps > all || fit(steps) < fit(made) { made } else { steps };
        let tables = beside + other;
        if needed + tables > all {
            return refuse(format!(
                "group {} of window {:?} needs {} bytes of memory for each residue, but there are {} beside the \
                 tables; use more memory, or a shorter --window",
                view.number,
                self.task.order.window,
                (needed + tables) * 8,
                all * 8
            ));
        }
        let fit = u32::try_from(fit(beside)).unwrap_or(u32::MAX);
        let slices: Vec<Range<usize>> = slices(self.task.order.moduli.len() as u32, fit)
            .into_iter()
            .map(|slice| slice.start as usize..slice.end as usize)
            .collect();
        let lanes = slices.first().map_or(1, Range::len);
        let words = needed * lanes + tables;
        // Not where it only has to take others' memory: threads need some too, and nobody waits for it.
        let threads = if shares > 1 { pool.threads(words.max(part)) } else { 1 };
        let (lines, words) = if threads > 1 {
            let each = lanes * lines.passes().max(1);
            let most = part.max(words + words / 8).min(all);
            let room = batches::room(needed).min((most - words) / each);
            (lines.with_room(room), part.max(words + room * each))
        } else {
            (lines, words)
        };
        Ok(Share { lines, slices, words: Words { all: words, beside }, threads })
    }

    /// Words for the ways that lead to a group's states, where its vector is transposed.
    fn arrival_words(&self, view: &View<'_>) -> usize {
        if self.direction == Direction::Forward {
            return 0;
        }
        arrival_words(view.tables(), view.families())
    }

    /// For transposed passes the ways that lead to each state of each family, in `words`.
    fn arrivals<'w>(
        &mut self,
        view: &View<'_>,
        lines: &Lines,
        threads: usize,
        memory: &mut Memory<'_>,
        words: &'w mut [u64],
    ) -> Result<Vec<&'w [u32]>, TaskError> {
        if self.direction == Direction::Forward {
            return Ok(Vec::new());
        }
        let started = Instant::now();
        let (Some((rows, aside)), Ok(mut left)) =
            (memory.rows::<1>(lines), <[u32]>::mut_from_bytes(words.as_mut_bytes()))
        else {
            return refuse(format!("there is no memory for a lane of group {}", view.number));
        };
        let mut all = Vec::with_capacity(lines.families.len());
        for (family, line) in view.families().iter().zip(&lines.families) {
            if self.is_to_stop() {
                return Err(TaskError::Stopped);
            }
            let (own, later) = left.split_at_mut(ends(view.tables(), family).1 as usize);
            arrivals(view.tables(), (family, line), rows, aside, threads, own)?;
            all.push(&*own);
            left = later;
        }
        self.times.map_nanos += nanos(started) * threads as u64;
        Ok(all)
    }

    /// What a group's meeting with a kept vector takes beside, see [`meeting_words`].
    fn join_words(&self, view: &View<'_>) -> (usize, usize) {
        let states = || view.families().iter().map(|family| ends(view.tables(), family).0 as usize).sum();
        if self.join.is_some() { meeting_words(states()) } else { (0, 0) }
    }

    /// How many tasks' memory and threads a group of so many states is worth: with them it is done when all others are.
    fn shares(&self, records: u64) -> usize {
        let slots = self.task.order.block.as_ref().map_or(1, |block| block.slots.max(1));
        self.prepared.pool.shares().worth(records, self.prepared.groups[self.window].records, slots) as usize
    }

    pub(crate) fn is_to_stop(&self) -> bool {
        self.task.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn lanes<const J: usize>(&self, first: usize) -> Result<Lanes<J>, TaskError> {
        let moduli = self.task.order.moduli.get(first..first + J);
        match moduli.and_then(|moduli| Moduli::new(moduli.try_into().ok()?)) {
            Some(moduli) => Ok(Lanes { first, moduli }),
            None => refuse(format!("lanes {first} to {} cannot be done", first + J)),
        }
    }

    fn finish(self) -> TaskManifest {
        let order = self.task.order;
        let moduli = order.moduli.as_slice();
        let narrow = |tally: Tally, kept: usize| {
            // Lanes of the runs that were read: the first ones, and the spare.
            let lanes = |row: Vec<u64>| row[..kept - 1].iter().chain(row.last()).copied().collect();
            Tally { states: tally.states, sums: lanes(tally.sums), fingerprint: lanes(tally.fingerprint) }
        };
        let (runs, mut splits): (Vec<_>, Vec<Split>) =
            self.runs.into_iter().fold((Vec::new(), Vec::new()), |(mut runs, mut splits), (run, own)| {
                runs.push(run);
                splits.extend(own);
                (runs, splits)
            });
        splits.sort_unstable_by_key(|split| split.key);
        let splits = crate::output::join_splits(merge_equal(&splits));
        let own = |(functional, lanes)| FunctionalSum { functional, lanes };
        let mut functionals: Vec<FunctionalSum> = self.functionals.into_iter().map(own).collect();
        if let Some(functional) = self.one_column {
            // The whole first column, told by whoever does the first group.
            let count = if order.low == 0 { self.prepared.one_column() } else { 0 };
            functionals.push(FunctionalSum { functional, lanes: moduli.iter().map(|p| count % p).collect() });
        }
        let bytes_written = runs.iter().map(|run| run.bytes).sum();
        TaskManifest {
            runs,
            splits,
            input: narrow(self.input.finish(moduli), order.moduli_in().len()),
            output: match self.join {
                None => self.output.finish(moduli),
                // Nothing is written.
                Some(_) => Tally::zero(moduli.len()),
            },
            kept: self.join.map(|join| narrow(join.tally.finish(moduli), join.moduli.len())),
            passes: self.states.iter().map(|&states| PassTally { states, ..PassTally::default() }).collect(),
            functionals,
            bytes_read: self.bytes_read,
            bytes_written,
            bytes_spilled: 0,
            times: self.times,
        }
    }
}

/// Splits at one key as one.
fn merge_equal(splits: &[Split]) -> Vec<Split> {
    let equal = splits.chunk_by(|a, b| a.key == b.key);
    equal.map(|same| Split { key: same[0].key, records: same.iter().map(|split| split.records).sum() }).collect()
}

pub(crate) fn nanos(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
