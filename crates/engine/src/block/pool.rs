//! Memory of the tasks of one worker: a share for each, and more for one whose family is large, when others have let go
//! of theirs.
//!
//! ```text
//!   all      | tables | share | share | share | share |
//!   or       | tables | one that needs more   | share |       whoever does not fit waits
//! ```
//!
//! Whoever comes first is first: one that needs much does not wait for ever while others take what becomes free.
//!
//! Pieces are followed by padding, which nobody touches and which takes no memory. A task holds one piece at a time, so
//! that nobody waits for ever. What was touched once is kept for the next task and does not have to be cleared again.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keima_model::MOST_LANES;

use super::in_place::PADDING;
use super::memory::Rows;

/// How often who waits looks whether he is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Padding of a piece: that of a buffer of rows of any number of lanes.
const PADDING_WORDS: usize = MOST_LANES as usize * PADDING;

/// Words of a piece without its padding.
fn len(piece: &Rows<1>) -> usize {
    piece.len() - PADDING_WORDS
}

/// Memory for tasks.
pub(super) struct Pool {
    /// In words of 8 bytes.
    all_words: usize,
    tasks: usize,
    most_words: usize,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    in_use_words: usize,
    kept: Vec<Rows<1>>,
    /// Who waits, in the order of their coming; and the number of the next one.
    queue: VecDeque<u64>,
    next: u64,
}

impl State {
    /// A piece that was kept, or a new one; none while others have too much.
    fn piece(&mut self, words: usize, share_words: usize, all_words: usize) -> std::io::Result<Option<Rows<1>>> {
        // One that is larger is charged as what it is, and others would wait for what nobody uses.
        let more = if words > share_words { words / 4 } else { 0 };
        let suits = |piece: &Rows<1>| (words..=words + more).contains(&len(piece));
        if let Some(place) = self.kept.iter().position(suits) {
            let piece = self.kept.swap_remove(place);
            self.in_use_words += len(&piece);
            return Ok(Some(piece));
        }
        let kept: usize = self.kept.iter().map(len).sum();
        if self.in_use_words + kept + words > all_words {
            // Too small or too large, all of them.
            self.kept.clear();
        }
        if self.in_use_words > 0 && self.in_use_words + words > all_words {
            return Ok(None);
        }
        let piece = Rows::zeroed(words + PADDING_WORDS)?;
        self.in_use_words += words;
        Ok(Some(piece))
    }
}

/// Why there is no memory.
#[derive(Debug)]
pub(super) enum NoMemory {
    Stopped,
    System(std::io::Error),
}

impl Pool {
    /// `most_words` is what the largest task needs at least.
    pub(super) fn new(bytes: u64, tasks: u32, most_words: usize) -> Self {
        let all_words = usize::try_from(bytes / 8).unwrap_or(usize::MAX);
        Self { all_words, tasks: tasks.max(1) as usize, most_words, state: Mutex::default(), freed: Condvar::new() }
    }

    /// Less by so much, where the largest task can do without.
    pub(super) fn leaving(self, bytes: u64) -> Self {
        let words = usize::try_from(bytes / 8).unwrap_or(usize::MAX);
        let left = self.all_words.saturating_sub(words).max(self.all_words.min(self.most_words));
        Self { all_words: left, ..self }
    }

    /// An even share; where the largest task needs a little more than that, shares are so much smaller that all others
    /// have theirs while it has its own: a quarter at most.
    fn share_words(&self) -> usize {
        let even = self.all_words / self.tasks;
        let beside = self.all_words.saturating_sub(self.most_words.max(even)) / (self.tasks - 1).max(1);
        if beside >= even / 4 * 3 { beside.min(even) } else { even }
    }

    /// What the largest task needs at least.
    pub(super) fn most_words(&self) -> usize {
        self.most_words
    }

    /// Most words that a task can have without waiting, and at all.
    pub(super) fn words(&self) -> (usize, usize) {
        (self.share_words(), self.all_words)
    }

    /// Threads that a task with so many words can have: with what it leaves others can do as much as there are others.
    pub(super) fn threads(&self, words: usize) -> usize {
        let beside = self.all_words.saturating_sub(words) / self.share_words().max(1);
        self.tasks.saturating_sub(beside).clamp(1, self.tasks)
    }

    /// Tasks at a time.
    pub(super) fn tasks(&self) -> usize {
        self.tasks
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees the pieces that nobody has.
    pub(super) fn let_go(&self) {
        self.lock().kept.clear();
    }

    /// A piece of at least `words`, no more than all of it, with anything in it. Waits until there is one; `stop` is
    /// asked whether to go on waiting.
    pub(super) fn take(&self, words: usize, stop: impl Fn() -> bool) -> Result<Piece<'_>, NoMemory> {
        let share_words = self.share_words();
        let words = words.clamp(share_words, self.all_words);
        let mut state = self.lock();
        let own = state.next;
        state.next += 1;
        state.queue.push_back(own);
        let taken = loop {
            if state.queue.front() == Some(&own) {
                match state.piece(words, share_words, self.all_words) {
                    Ok(Some(piece)) => break Ok(piece),
                    Ok(None) => {}
                    Err(error) => break Err(NoMemory::System(error)),
                }
            }
            if stop() {
                break Err(NoMemory::Stopped);
            }
            state = self.freed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        };
        state.queue.retain(|&waiting| waiting != own);
        drop(state);
        self.freed.notify_all();
        taken.map(|piece| Piece { rows: Some(piece), pool: self })
    }
}

/// Memory of one task, for the next one when it is dropped.
pub(super) struct Piece<'p> {
    /// Gone only while it is dropped.
    rows: Option<Rows<1>>,
    pool: &'p Pool,
}

impl Piece<'_> {
    /// With the padding.
    pub(super) fn words(&mut self) -> &mut [u64] {
        self.rows.as_deref_mut().unwrap_or_default().as_flattened_mut()
    }
}

impl Drop for Piece<'_> {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        if let Some(rows) = self.rows.take() {
            state.in_use_words = state.in_use_words.saturating_sub(len(&rows));
            state.kept.push(rows);
        }
        drop(state);
        self.pool.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn len(piece: &Piece<'_>) -> usize {
        super::len(piece.rows.as_ref().unwrap())
    }

    #[test]
    fn who_needs_more_than_a_share_waits_for_others() {
        let pool = Pool::new(8 * 100, 2, 80);
        assert_eq!(pool.words(), (50, 100));
        let never = || false;
        let (one, two) = (pool.take(10, never).unwrap(), pool.take(50, never).unwrap());
        assert_eq!((len(&one), len(&two)), (50, 50));
        assert!(matches!(pool.take(1, || true), Err(NoMemory::Stopped)), "there is none");
        drop(one);
        assert!(matches!(pool.take(80, || true), Err(NoMemory::Stopped)), "the other half is in use");
        std::thread::scope(|scope| {
            let large = scope.spawn(|| len(&pool.take(80, never).unwrap()));
            // Whether it waits already or not, it gets its piece.
            drop(two);
            assert_eq!(large.join().unwrap(), 80);
        });
        assert_eq!(pool.lock().in_use_words, 0);
    }

    #[test]
    fn who_comes_first_is_first() {
        let pool = Pool::new(8 * 100, 2, 80);
        let never = || false;
        let (one, two) = (pool.take(50, never).unwrap(), pool.take(50, never).unwrap());
        std::thread::scope(|scope| {
            let large = scope.spawn(|| len(&pool.take(80, never).unwrap()));
            while pool.lock().queue.is_empty() {
                std::thread::yield_now();
            }
            drop(one);
            assert!(
                matches!(pool.take(1, || true), Err(NoMemory::Stopped)),
                "half is free, but another has asked for more"
            );
            drop(two);
            assert_eq!(large.join().unwrap(), 80);
        });
        assert!(pool.lock().queue.is_empty());
        assert_eq!(len(&pool.take(1, || true).unwrap()), 50);
    }

    #[test]
    fn threads_are_those_of_tasks_without_memory() {
        for (tasks, words, threads) in
            [(1, 100, 1), (2, 50, 1), (2, 51, 2), (4, 25, 1), (4, 26, 2), (4, 75, 3), (4, 100, 4)]
        {
            assert_eq!(Pool::new(8 * 100, tasks, 0).threads(words), threads, "{words} of 100 words, {tasks} tasks");
        }
    }

    #[test]
    fn shares_leave_room_for_one_that_is_a_little_larger() {
        for (tasks, most, share) in
            [(2, 0, 50), (2, 50, 50), (2, 60, 40), (2, 62, 38), (2, 70, 50), (4, 40, 20), (1, 10, 100), (1, 100, 100)]
        {
            let pool = Pool::new(8 * 100, tasks, most);
            assert_eq!(pool.words(), (share, 100), "{tasks} tasks, one of {most}");
        }
        for (most, left, all) in [(0, 30, 70), (60, 30, 70), (80, 30, 80), (200, 30, 100), (0, 200, 0)] {
            assert_eq!(
                Pool::new(8 * 100, 2, most).leaving(8 * left).words().1,
                all,
                "{left} of 100 left, one of {most}"
            );
        }
        let never = || false;
        let pool = Pool::new(8 * 100, 2, 60);
        let large = pool.take(60, never).unwrap();
        assert_eq!(len(&pool.take(1, || true).unwrap()), 40, "beside the large one");
        drop(large);
        let pool = Pool::new(8 * 100, 2, 70);
        drop(pool.take(60, never).unwrap());
        let shares = [1, 1].map(|words| pool.take(words, || true).unwrap());
        assert_eq!(shares.each_ref().map(len), [50; 2], "the larger piece that was kept is none of them");
    }

    #[test]
    fn pieces_are_kept_and_make_room() {
        let pool = Pool::new(8 * 90, 3, 30);
        let never = || false;
        drop(pool.take(1, never).unwrap());
        assert_eq!(pool.lock().kept.len(), 1);
        let same = pool.take(30, never).unwrap();
        assert_eq!(pool.lock().kept.len(), 0);
        drop(same);
        let all = pool.take(90, never).unwrap();
        assert_eq!((len(&all), pool.lock().kept.len()), (90, 0), "the kept piece gave way");
        drop(all);
        let shares = [5, 30, 7].map(|words| pool.take(words, || true).unwrap());
        assert_eq!(shares.each_ref().map(len), [30; 3], "a piece for all does not serve one of them");
        assert!(matches!(pool.take(1, || true), Err(NoMemory::Stopped)));
        drop(shares);
        assert_eq!(pool.lock().kept.len(), 3);
        assert_eq!(len(&pool.take(30, never).unwrap()), 30);
        pool.let_go();
        assert_eq!(pool.lock().kept.len(), 0);
        let large = pool.take(80, never).unwrap();
        drop(large);
        assert_eq!(len(&pool.take(70, never).unwrap()), 80, "a little larger is good enough");
    }
}
