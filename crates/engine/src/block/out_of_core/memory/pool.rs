//! Memory of one worker's tasks: a share for each, and more for a task with a large family when others have returned
//! theirs.
//!
//! ```text
//!   all      | tables | share | share | share | share |
//!   or       | tables | a large grant        | share |       requests that do not fit wait in FIFO order
//!   a share  | its part of tables | buffer            |       where tables are made for each group
//! ```
//!
//! A task reserves its memory, makes its tables, and then knows what buffer it needs. If that is more than it has
//! reserved and others hold the rest, it gives all back and reserves what it needs. A task holds one reservation or one grant
//! at a time and never waits while it does, so there is no deadlock. Untouched padding follows each buffer, and takes no
//! memory. A returned buffer is kept for the next task, and need not be cleared again.

use keima_blocks::lanes::MOST_LANES;
use keima_blocks::pool::Shares;
use keima_blocks::rows::PADDING;

use crate::MemoryRefused;
use crate::block::out_of_core::memory::demand::Demand;
use crate::block::out_of_core::memory::fifo::FifoQueue;
use crate::block::rows::vector::Rows;

/// Padding of a buffer for rows of any number of lanes.
const PADDING_WORDS: usize = MOST_LANES as usize * PADDING;

/// Words of a buffer without its padding.
fn len(piece: &Rows<1>) -> usize {
    piece.len() - PADDING_WORDS
}

/// Memory for tasks.
pub(crate) struct MemoryPool {
    /// In words of 8 bytes.
    shares: Shares,
    state: FifoQueue<PoolState>,
}

#[derive(Default)]
struct PoolState {
    /// Words of granted buffers, of tables that tasks have beside them, and of all that is reserved.
    in_use_words: usize,
    /// The part of it for buffers that are not granted yet.
    promised_words: usize,
    kept: Vec<Rows<1>>,
}

/// Limits of one task's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolLimits {
    /// Without waiting.
    pub(crate) share_words: usize,
    /// At all.
    pub(crate) all_words: usize,
}

impl PoolState {
    /// Frees kept buffers, the oldest first, as far as they leave no room for `words` more.
    fn make_room(&mut self, words: usize, shares: Shares) {
        let touched = self.in_use_words.saturating_sub(self.promised_words) + words;
        let mut kept: usize = self.kept.iter().map(len).sum();
        self.kept.retain(|piece| {
            let fits = touched + kept <= shares.all as usize;
            kept -= if fits { 0 } else { len(piece) };
            fits
        });
    }

    /// Whether others leave room for a task. One alone always has room.
    fn has_room(&self, words: Demand, shares: Shares) -> bool {
        self.in_use_words == 0 || self.in_use_words + words.all <= shares.all as usize
    }

    /// Reserves memory. `None` while others hold too much.
    fn reserve(&mut self, words: Demand, shares: Shares) -> Option<()> {
        self.has_room(words, shares).then(|| {
            self.make_room(words.beside, shares);
            self.in_use_words += words.all;
            self.promised_words += words.own();
        })
    }

    fn release(&mut self, reserved: Demand) {
        self.in_use_words = self.in_use_words.saturating_sub(reserved.all);
        self.promised_words = self.promised_words.saturating_sub(reserved.own());
    }

    /// A kept buffer, or a new one, with the words to charge. `None` while others hold too much.
    fn grant(&mut self, words: Demand, shares: Shares) -> Option<Result<(Rows<1>, usize), MemoryRefused>> {
        if !self.has_room(words, shares) {
            return None;
        }
        let sizes = shares.kept_sizes(words.all as u64, words.beside as u64);
        let most = (shares.all as usize).saturating_sub(self.in_use_words + words.beside).max(words.own());
        let suits = |piece: &Rows<1>| len(piece) <= most && sizes.contains(&(len(piece) as u64));
        let found = self.kept.iter().position(suits).map(|place| self.kept.remove(place));
        let charged = words.beside + found.as_ref().map_or(words.own(), len);
        // What is kept besides is too small or too large.
        self.make_room(charged, shares);
        let piece = match found {
            Some(piece) => piece,
            None => match Rows::zeroed(words.own() + PADDING_WORDS) {
                Ok(piece) => piece,
                Err(error) => return Some(Err(error)),
            },
        };
        self.in_use_words += charged;
        Some(Ok((piece, charged)))
    }
}

impl MemoryPool {
    /// `most_words` is the least that the largest task needs.
    pub(crate) fn new(bytes: u64, tasks: u32, most_words: usize) -> Self {
        Self { shares: Shares::new(bytes / 8, tasks, most_words as u64), state: FifoQueue::default() }
    }

    /// Reserves memory for others, as far as the largest task can do without.
    pub(crate) fn reserving(self, bytes: u64) -> Self {
        Self { shares: self.shares.leaving(bytes / 8), ..self }
    }

    /// The shares of tasks, in words.
    pub(crate) fn shares(&self) -> Shares {
        self.shares
    }

    /// The least that the largest task needs.
    pub(crate) fn most_words(&self) -> usize {
        self.shares.largest as usize
    }

    /// Most words that a task can have without waiting, and at all.
    pub(crate) fn limits(&self) -> PoolLimits {
        PoolLimits { share_words: self.shares.share() as usize, all_words: self.shares.all as usize }
    }

    /// Threads for a task with so many words: all whose tasks find no memory beside it.
    pub(crate) fn threads(&self, words: usize) -> usize {
        self.shares.threads(words as u64) as usize
    }

    /// Frees the kept buffers.
    pub(crate) fn free_kept(&self) {
        self.state.change(|state| state.kept.clear());
    }

    /// At least a share, at most all.
    fn within_limits(&self, words: Demand) -> Demand {
        let limits = self.limits();
        Demand { all: words.all.clamp(limits.share_words, limits.all_words), ..words }
    }

    /// Reserves memory for a task: at least a share, at most all. Waits until there is enough. `None` if `stop` ends the
    /// wait.
    pub(crate) fn reserve(&self, words: Demand, stop: impl Fn() -> bool) -> Option<Reservation<'_>> {
        let words = self.within_limits(words);
        self.state.wait(stop, |state| state.reserve(words, self.shares))?;
        Some(Reservation { words, pool: self })
    }
}

/// Memory that a task may take. Dropping it gives it back.
pub(crate) struct Reservation<'p> {
    words: Demand,
    pool: &'p MemoryPool,
}

impl<'p> Reservation<'p> {
    /// Exchanges the reservation for memory: at least a share, at most all. The buffer's contents are arbitrary. `None` if
    /// that is more than was reserved, and others hold the rest; the reservation is given back then.
    pub(crate) fn grant(mut self, words: Demand) -> Result<Option<Grant<'p>>, MemoryRefused> {
        let pool = self.pool;
        let words = pool.within_limits(words);
        let reserved = std::mem::take(&mut self.words);
        let granted = pool.state.change(|state| {
            state.release(reserved);
            state.grant(words, pool.shares)
        });
        let Some((rows, charged)) = granted.transpose()? else { return Ok(None) };
        Ok(Some(Grant { rows: Some(rows), charged, pool }))
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.pool.state.change(|state| state.release(self.words));
    }
}

/// Memory of one task. Dropping it returns the buffer to the pool.
pub(crate) struct Grant<'p> {
    /// `None` only while it is dropped.
    rows: Option<Rows<1>>,
    /// Words in use until then.
    charged: usize,
    pool: &'p MemoryPool,
}

impl Grant<'_> {
    /// The buffer with its padding.
    pub(crate) fn words(&mut self) -> &mut [u64] {
        self.rows.as_deref_mut().unwrap_or_default().as_flattened_mut()
    }
}

impl Drop for Grant<'_> {
    fn drop(&mut self) {
        let rows = self.rows.take();
        self.pool.state.change(|state| {
            state.in_use_words = state.in_use_words.saturating_sub(self.charged);
            state.kept.extend(rows);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn len(piece: &Grant<'_>) -> usize {
        super::len(piece.rows.as_ref().unwrap())
    }

    fn in_use(pool: &MemoryPool) -> usize {
        pool.state.change(|state| state.in_use_words)
    }
    fn kept(pool: &MemoryPool) -> usize {
        pool.state.change(|state| state.kept.len())
    }

    /// For a task without tables of its own. `None` if it is to stop while it waits.
    fn take(pool: &MemoryPool, all: usize, stop: impl Fn() -> bool) -> Option<Grant<'_>> {
        take_beside(pool, Demand { all, beside: 0 }, stop)
    }

    /// Reserves, and is granted the same.
    fn take_beside(pool: &MemoryPool, words: Demand, stop: impl Fn() -> bool) -> Option<Grant<'_>> {
        let grant = pool.reserve(words, stop)?.grant(words).unwrap();
        assert!(grant.is_some(), "what was reserved is granted");
        assert_eq!(pool.state.change(|state| state.promised_words), 0);
        grant
    }

    #[test]
    fn who_needs_more_than_a_share_waits_for_others() {
        let pool = MemoryPool::new(8 * 100, 2, 80);
        assert_eq!(pool.limits(), PoolLimits { share_words: 50, all_words: 100 });
        let never = || false;
        let (one, two) = (take(&pool, 10, never).unwrap(), take(&pool, 50, never).unwrap());
        assert_eq!((len(&one), len(&two)), (50, 50));
        assert!(take(&pool, 1, || true).is_none(), "there is none");
        drop(one);
        assert!(take(&pool, 80, || true).is_none(), "the other half is in use");
        std::thread::scope(|scope| {
            let large = scope.spawn(|| len(&take(&pool, 80, never).unwrap()));
            // It gets its memory, whether it already waits or not.
            drop(two);
            assert_eq!(large.join().unwrap(), 80);
        });
        assert_eq!(in_use(&pool), 0);
    }

    #[test]
    fn who_comes_first_is_first() {
        let pool = MemoryPool::new(8 * 100, 2, 80);
        let never = || false;
        let (one, two) = (take(&pool, 50, never).unwrap(), take(&pool, 50, never).unwrap());
        std::thread::scope(|scope| {
            let large = scope.spawn(|| len(&take(&pool, 80, never).unwrap()));
            while pool.state.waiting() == 0 {
                std::thread::yield_now();
            }
            drop(one);
            assert!(take(&pool, 1, || true).is_none(), "half is free, but another has asked for more");
            drop(two);
            assert_eq!(large.join().unwrap(), 80);
        });
        assert!(pool.state.waiting() == 0);
        assert_eq!(len(&take(&pool, 1, || true).unwrap()), 50);
    }

    #[test]
    fn shares_leave_room_for_one_that_is_a_little_larger() {
        let never = || false;
        let pool = MemoryPool::new(8 * 100, 2, 60);
        let large = take(&pool, 60, never).unwrap();
        assert_eq!(len(&take(&pool, 1, || true).unwrap()), 40, "beside the large one");
        drop(large);
        let pool = MemoryPool::new(8 * 100, 2, 70);
        drop(take(&pool, 60, never).unwrap());
        let shares = [1, 1].map(|words| take(&pool, words, || true).unwrap());
        assert_eq!(shares.each_ref().map(len), [50; 2], "the larger piece that was kept is none of them");
    }

    #[test]
    fn pieces_are_kept_and_make_room() {
        let pool = MemoryPool::new(8 * 90, 3, 30);
        let never = || false;
        drop(take(&pool, 1, never).unwrap());
        assert_eq!(kept(&pool), 1);
        let same = take(&pool, 30, never).unwrap();
        assert_eq!(kept(&pool), 0);
        drop(same);
        let all = take(&pool, 90, never).unwrap();
        assert_eq!((len(&all), kept(&pool)), (90, 0), "the kept piece gave way");
        drop(all);
        let shares = [5, 30, 7].map(|words| take(&pool, words, || true).unwrap());
        assert_eq!(shares.each_ref().map(len), [30; 3], "a piece for all does not serve one of them");
        assert!(take(&pool, 1, || true).is_none());
        drop(shares);
        assert_eq!(kept(&pool), 3);
        assert_eq!(len(&take(&pool, 30, never).unwrap()), 30);
        pool.free_kept();
        assert_eq!(kept(&pool), 0);
        let large = take(&pool, 80, never).unwrap();
        drop(large);
        assert_eq!(len(&take(&pool, 70, never).unwrap()), 80, "a little larger is good enough");
    }

    /// Tables beside the buffer are in use, and make the buffer smaller.
    #[test]
    fn tables_of_a_task_are_its_memory() {
        let pool = MemoryPool::new(8 * 100, 2, 0);
        let with = |all, beside| take_beside(&pool, Demand { all, beside }, || true);
        let one = with(1, 10).unwrap();
        assert_eq!((len(&one), in_use(&pool)), (40, 50));
        let two = with(60, 20);
        assert!(two.is_none(), "half is in use");
        drop(one);
        assert_eq!((in_use(&pool), kept(&pool)), (0, 1));
        let again = with(50, 10).unwrap();
        assert_eq!((len(&again), in_use(&pool), kept(&pool)), (40, 50, 0), "the same piece");
        let other = with(50, 30).unwrap();
        assert_eq!((len(&other), in_use(&pool)), (20, 100));
        drop(again);
        drop(other);
        assert_eq!((in_use(&pool), kept(&pool)), (0, 2));
        let large = with(100, 60).unwrap();
        assert_eq!((len(&large), in_use(&pool), kept(&pool)), (40, 100, 0), "kept, and the other one makes room");
        drop(large);
        // A buffer of 40 would do for one of 33, but not with 61 words beside it.
        let all = with(94, 61).unwrap();
        assert_eq!((len(&all), in_use(&pool), kept(&pool)), (33, 94, 0));
    }

    /// What is not reserved yet is granted where nobody holds it; else the reservation is given back.
    #[test]
    fn reservations_become_what_is_needed() {
        // All is 100, others hold `others`; reserved and needed words (in all, tables); words of the buffer, and in use.
        for (others, reserved, needed, expected) in [
            (0, (50, 10), (50, 10), Some((40, 50))),
            (50, (50, 20), (50, 10), Some((40, 100))),
            (30, (70, 20), (60, 10), Some((50, 90))),
            (30, (50, 10), (70, 10), Some((60, 100))),
            (50, (50, 10), (51, 10), None),
            (0, (50, 10), (200, 10), Some((90, 100))),
        ] {
            let pool = MemoryPool::new(8 * 100, 4, 0);
            let demand = |(all, beside)| Demand { all, beside };
            let other = (others > 0).then(|| take(&pool, others, || true).unwrap());
            let reservation = pool.reserve(demand(reserved), || true).unwrap();
            assert_eq!(in_use(&pool), others + reserved.0);
            let grant = reservation.grant(demand(needed)).unwrap();
            let got = grant.as_ref().map(|grant| (len(grant), in_use(&pool)));
            assert_eq!(got, expected, "{others} {reserved:?} {needed:?}");
            drop((other, grant));
            assert_eq!(in_use(&pool), 0, "{others} {reserved:?} {needed:?}");
        }
    }

    /// Buffers are kept through the reservations of the tasks that will take them.
    #[test]
    fn tasks_that_make_tables_leave_the_buffers_kept() {
        let pool = MemoryPool::new(8 * 100, 2, 0);
        let words = Demand { all: 50, beside: 10 };
        let grants = [0, 1].map(|_| take_beside(&pool, words, || true).unwrap());
        drop(grants);
        let reservations = [0, 1].map(|_| pool.reserve(words, || true).unwrap());
        assert_eq!((in_use(&pool), kept(&pool)), (100, 2));
        let grants = reservations.map(|reservation| reservation.grant(words).unwrap().unwrap());
        assert_eq!((in_use(&pool), kept(&pool)), (100, 0), "both were taken");
        drop(grants);
        let _large = pool.reserve(Demand { all: 100, beside: 30 }, || true).unwrap();
        assert_eq!(kept(&pool), 1, "tables need the room of one");
    }
}
