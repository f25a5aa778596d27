//! Memory of the tasks of one worker: a share for each, and more for one whose family is large, when others have let go
//! of theirs.
//!
//! ```text
//!   all      | tables | share | share | share | share |
//!   or       | tables | one that needs more   | share |       whoever does not fit waits, in the order of their coming
//!   a share  | its part of tables | piece             |       where tables are made a part at a time
//! ```
//!
//! Pieces are followed by padding, which nobody touches and which takes no memory. A task holds one piece at a time, so
//! that nobody waits for ever. What was touched once is kept for the next task and does not have to be cleared again.

use keima_blocks::lanes::MOST_LANES;
use keima_blocks::pool::Shares;
use keima_blocks::rows::PADDING;

use crate::block::out_of_core::memory::fifo::Turns;
use crate::block::rows::vector::Rows;

/// Padding of a piece: that of a buffer of rows of any number of lanes.
const PADDING_WORDS: usize = MOST_LANES as usize * PADDING;

/// Words of a piece without its padding.
fn len(piece: &Rows<1>) -> usize {
    piece.len() - PADDING_WORDS
}

/// Memory for tasks.
pub(crate) struct Pool {
    /// In words of 8 bytes.
    shares: Shares,
    state: Turns<State>,
}

#[derive(Default)]
struct State {
    /// Of pieces, and of what tasks have beside them.
    in_use_words: usize,
    kept: Vec<Rows<1>>,
}

/// Words that a task has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    /// In all.
    pub(crate) all: usize,
    /// Of these, what is not in its piece: tables that were made for it.
    pub(crate) beside: usize,
}

impl State {
    /// A piece that was kept, or a new one; none while others have too much.
    fn piece(&mut self, words: Words, shares: Shares) -> Option<std::io::Result<(Rows<1>, usize)>> {
        let own = words.all.saturating_sub(words.beside);
        let all_words = shares.all as usize;
        let sizes = shares.kept_sizes(words.all as u64, words.beside as u64);
        let suits = |piece: &Rows<1>| sizes.contains(&(len(piece) as u64));
        let found = self.kept.iter().position(suits).map(|place| self.kept.swap_remove(place));
        let charged = words.beside + found.as_ref().map_or(own, len);
        let kept: usize = self.kept.iter().map(len).sum();
        if self.in_use_words + kept + charged > all_words {
            // Too small or too large, all of them.
            self.kept.clear();
        }
        if self.in_use_words > 0 && self.in_use_words + charged > all_words {
            self.kept.extend(found);
            return None;
        }
        let piece = match found {
            Some(piece) => piece,
            None => match Rows::zeroed(own + PADDING_WORDS) {
                Ok(piece) => piece,
                Err(error) => return Some(Err(error)),
            },
        };
        self.in_use_words += charged;
        Some(Ok((piece, charged)))
    }
}

/// Why there is no memory.
#[derive(Debug)]
pub(crate) enum NoMemory {
    Stopped,
    System(std::io::Error),
}

impl Pool {
    /// `most_words` is what the largest task needs at least.
    pub(crate) fn new(bytes: u64, tasks: u32, most_words: usize) -> Self {
        Self { shares: Shares::new(bytes / 8, tasks, most_words as u64), state: Turns::default() }
    }

    /// Less by so much, where the largest task can do without.
    pub(crate) fn leaving(self, bytes: u64) -> Self {
        Self { shares: self.shares.leaving(bytes / 8), ..self }
    }

    /// How tasks share it, in words.
    pub(crate) fn shares(&self) -> Shares {
        self.shares
    }

    /// What the largest task needs at least.
    pub(crate) fn most_words(&self) -> usize {
        self.shares.largest as usize
    }

    /// Most words that a task can have without waiting, and at all.
    pub(crate) fn words(&self) -> (usize, usize) {
        (self.shares.share() as usize, self.shares.all as usize)
    }

    /// Threads that a task with so many words can have: with what it leaves others can do as much as there are others.
    pub(crate) fn threads(&self, words: usize) -> usize {
        self.shares.threads(words as u64) as usize
    }

    /// Frees the pieces that nobody has.
    pub(crate) fn let_go(&self) {
        self.state.change(|state| state.kept.clear());
    }

    /// A piece for a task of so many `words`, of a share at least and no more than all there is, with anything in it.
    /// Waits until there is one; `stop` is asked whether to go on waiting.
    pub(crate) fn take(&self, words: Words, stop: impl Fn() -> bool) -> Result<Piece<'_>, NoMemory> {
        let (share_words, all_words) = self.words();
        let words = Words { all: words.all.clamp(share_words, all_words), ..words };
        let taken = self.state.wait(stop, |state| state.piece(words, self.shares));
        match taken {
            Some(Ok((rows, charged))) => Ok(Piece { rows: Some(rows), charged, pool: self }),
            Some(Err(error)) => Err(NoMemory::System(error)),
            None => Err(NoMemory::Stopped),
        }
    }
}

/// Memory of one task, for the next one when it is dropped.
pub(crate) struct Piece<'p> {
    /// Gone only while it is dropped.
    rows: Option<Rows<1>>,
    /// Words that are in use until then.
    charged: usize,
    pool: &'p Pool,
}

impl Piece<'_> {
    /// With the padding.
    pub(crate) fn words(&mut self) -> &mut [u64] {
        self.rows.as_deref_mut().unwrap_or_default().as_flattened_mut()
    }
}

impl Drop for Piece<'_> {
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

    fn len(piece: &Piece<'_>) -> usize {
        super::len(piece.rows.as_ref().unwrap())
    }

    fn in_use(pool: &Pool) -> usize {
        pool.state.change(|state| state.in_use_words)
    }

    fn kept(pool: &Pool) -> usize {
        pool.state.change(|state| state.kept.len())
    }

    /// For a task without tables of its own.
    fn take(pool: &Pool, all: usize, stop: impl Fn() -> bool) -> Result<Piece<'_>, NoMemory> {
        pool.take(Words { all, beside: 0 }, stop)
    }

    #[test]
    fn who_needs_more_than_a_share_waits_for_others() {
        let pool = Pool::new(8 * 100, 2, 80);
        assert_eq!(pool.words(), (50, 100));
        let never = || false;
        let (one, two) = (take(&pool, 10, never).unwrap(), take(&pool, 50, never).unwrap());
        assert_eq!((len(&one), len(&two)), (50, 50));
        assert!(matches!(take(&pool, 1, || true), Err(NoMemory::Stopped)), "there is none");
        drop(one);
        assert!(matches!(take(&pool, 80, || true), Err(NoMemory::Stopped)), "the other half is in use");
        std::thread::scope(|scope| {
            let large = scope.spawn(|| len(&take(&pool, 80, never).unwrap()));
            // Whether it waits already or not, it gets its piece.
            drop(two);
            assert_eq!(large.join().unwrap(), 80);
        });
        assert_eq!(in_use(&pool), 0);
    }

    #[test]
    fn who_comes_first_is_first() {
        let pool = Pool::new(8 * 100, 2, 80);
        let never = || false;
        let (one, two) = (take(&pool, 50, never).unwrap(), take(&pool, 50, never).unwrap());
        std::thread::scope(|scope| {
            let large = scope.spawn(|| len(&take(&pool, 80, never).unwrap()));
            while pool.state.waiting() == 0 {
                std::thread::yield_now();
            }
            drop(one);
            assert!(
                matches!(take(&pool, 1, || true), Err(NoMemory::Stopped)),
                "half is free, but another has asked for more"
            );
            drop(two);
            assert_eq!(large.join().unwrap(), 80);
        });
        assert!(pool.state.waiting() == 0);
        assert_eq!(len(&take(&pool, 1, || true).unwrap()), 50);
    }

    #[test]
    fn shares_leave_room_for_one_that_is_a_little_larger() {
        let never = || false;
        let pool = Pool::new(8 * 100, 2, 60);
        let large = take(&pool, 60, never).unwrap();
        assert_eq!(len(&take(&pool, 1, || true).unwrap()), 40, "beside the large one");
        drop(large);
        let pool = Pool::new(8 * 100, 2, 70);
        drop(take(&pool, 60, never).unwrap());
        let shares = [1, 1].map(|words| take(&pool, words, || true).unwrap());
        assert_eq!(shares.each_ref().map(len), [50; 2], "the larger piece that was kept is none of them");
    }

    #[test]
    fn pieces_are_kept_and_make_room() {
        let pool = Pool::new(8 * 90, 3, 30);
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
        assert!(matches!(take(&pool, 1, || true), Err(NoMemory::Stopped)));
        drop(shares);
        assert_eq!(kept(&pool), 3);
        assert_eq!(len(&take(&pool, 30, never).unwrap()), 30);
        pool.let_go();
        assert_eq!(kept(&pool), 0);
        let large = take(&pool, 80, never).unwrap();
        drop(large);
        assert_eq!(len(&take(&pool, 70, never).unwrap()), 80, "a little larger is good enough");
    }

    /// What a task has beside its piece is in use, and its piece so much smaller.
    #[test]
    fn tables_of_a_task_are_its_memory() {
        let pool = Pool::new(8 * 100, 2, 0);
        let with = |all, beside| pool.take(Words { all, beside }, || true);
        let one = with(1, 10).unwrap();
        assert_eq!((len(&one), in_use(&pool)), (40, 50));
        let two = with(60, 20);
        assert!(two.is_err(), "half is in use");
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
        // A piece of 40 would be good enough for one of 33, but not with 61 beside it.
        let all = with(94, 61).unwrap();
        assert_eq!((len(&all), in_use(&pool), kept(&pool)), (33, 94, 0));
    }
}
