//! Running tasks on several threads, with or without memory of their own.

use std::sync::Mutex;

use crate::TaskError;
use crate::block::error::BlockError;

/// A thread failed.
#[derive(Debug)]
pub(crate) struct Poisoned;

impl From<Poisoned> for BlockError {
    fn from(_: Poisoned) -> Self {
        Self::Poisoned
    }
}

impl From<Poisoned> for TaskError {
    fn from(_: Poisoned) -> Self {
        Self::Refused(BlockError::Poisoned.to_string())
    }
}

/// Runs `act` on every task with `threads` threads, of which the caller's is one. Results keep the order of the
/// tasks.
pub(crate) fn crew<T: Send, R: Send, E: From<Poisoned> + Send>(
    threads: usize,
    tasks: impl IntoIterator<Item = T>,
    act: impl Fn(T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let mut done: Vec<Vec<(usize, R)>> = Vec::new();
    done.resize_with(threads.max(1), Vec::new);
    each(&mut done, None, tasks.into_iter().enumerate().collect(), |(number, task), own| {
        own.push((number, act(task)?));
        Ok::<_, E>(())
    })?;
    let mut done: Vec<(usize, R)> = done.into_iter().flatten().collect();
    done.sort_unstable_by_key(|&(number, _)| number);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

/// Runs `act` on all tasks. Each worker, on a thread of its own, takes the next task from the end of the list. The
/// first worker runs on the caller's thread and begins with `first`.
pub(crate) fn each<T: Send, W: Send, E: From<Poisoned> + Send>(
    workers: &mut [W],
    first: Option<T>,
    mut tasks: Vec<T>,
    act: impl Fn(T, &mut W) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let Some((caller, others)) = workers.split_first_mut() else { return Err(Poisoned.into()) };
    let first = first.or_else(|| tasks.pop());
    let others_needed = tasks.len().min(others.len());
    let tasks = Mutex::new(tasks);
    let work = |first: Option<T>, worker: &mut W| {
        let mut next = first;
        loop {
            if let Some(task) = next.take() {
                act(task, worker).inspect_err(|_| {
                    // Nobody needs the other tasks any more.
                    if let Ok(mut tasks) = tasks.lock() {
                        tasks.clear();
                    }
                })?;
            }
            next = tasks.lock().map_err(|_| Poisoned)?.pop();
            if next.is_none() {
                return Ok(());
            }
        }
    };
    std::thread::scope(|scope| {
        let work = &work;
        let others = &mut others[..others_needed];
        let threads: Vec<_> = others.iter_mut().map(|worker| scope.spawn(move || work(None, worker))).collect();
        let own = work(first, caller);
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(Poisoned.into()))).fold(own, Result::and)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tasks_are_done_once_and_the_first_worker_begins_with_the_first() {
        for (workers, tasks) in [(1, 0), (1, 5), (2, 1), (3, 2), (4, 100)] {
            let mut workers = vec![Vec::new(); workers];
            each(&mut workers, Some(1000), (0..tasks).collect(), |task, worker: &mut Vec<i32>| {
                worker.push(task);
                Ok::<_, BlockError>(())
            })
            .unwrap();
            assert_eq!(workers[0][0], 1000);
            let mut done = workers.concat();
            done.sort_unstable();
            assert_eq!(done, (0..tasks).chain([1000]).collect::<Vec<_>>());
        }
    }

    #[test]
    fn results_come_in_the_order_of_tasks() {
        for (threads, tasks) in [(0, 3), (1, 0), (1, 5), (3, 2), (4, 100)] {
            let squares = crew(threads, 0..tasks, |task| Ok::<_, BlockError>(task * task)).unwrap();
            assert_eq!(squares, (0..tasks).map(|task| task * task).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn a_failure_of_any_worker_is_told() {
        for wrong in [0, 7, 1000] {
            let mut workers = vec![(); 3];
            let act = |task, (): &mut ()| if task == wrong { Err(BlockError::Order) } else { Ok(()) };
            let result = each(&mut workers, Some(1000), (0..20).collect(), act);
            assert!(matches!(result, Err(BlockError::Order)), "{wrong}");
        }
    }
}
