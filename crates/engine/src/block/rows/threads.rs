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
/// tasks. Where the system gives fewer threads, these do all tasks.
pub(crate) fn crew<T: Send, R: Send, E: From<Poisoned> + Send>(
    threads: usize,
    tasks: impl IntoIterator<Item = T>,
    act: impl Fn(T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let tasks: Vec<_> = tasks.into_iter().map(|task| Mutex::new((Some(task), None))).collect();
    take_turns(threads.max(1), tasks.len(), &|number, _| {
        let Ok(mut own) = tasks[number].lock() else { return false };
        let result = own.0.take().map(&act);
        let done = matches!(result, Some(Ok(_)));
        own.1 = result;
        done
    })?;
    let mut results = Vec::with_capacity(tasks.len());
    let mut undone = false;
    for task in tasks {
        match task.into_inner().map_err(|_| Poisoned)?.1 {
            Some(result) => results.push(result?),
            None => undone = true,
        }
    }
    if undone { Err(Poisoned.into()) } else { Ok(results) }
}

/// Runs `act` on all tasks. Each worker, on a thread of its own, takes the next task from the end of the list. The
/// first worker runs on the caller's thread and begins with `first`. Where the system gives fewer threads, these do all
/// tasks. The error is that of the task that failed first.
pub(crate) fn each<T: Send, W: Send, E: From<Poisoned> + Send>(
    workers: &mut [W],
    first: Option<T>,
    mut tasks: Vec<T>,
    act: impl Fn(T, &mut W) -> Result<(), E> + Sync,
) -> Result<(), E> {
    tasks.extend(first);
    let workers: Vec<_> = workers.iter_mut().map(Mutex::new).collect();
    let tasks: Vec<_> = tasks.into_iter().map(|task| Mutex::new(Some(task))).collect();
    let failed = Mutex::new(None);
    take_turns(workers.len(), tasks.len(), &|number, thread| {
        let task = tasks[number].lock().ok().and_then(|mut task| task.take());
        let (Some(task), Ok(mut worker)) = (task, workers[thread].lock()) else { return false };
        let Err(error) = act(task, &mut worker) else { return true };
        if let Ok(mut failed) = failed.lock() {
            failed.get_or_insert(error);
        }
        false
    })?;
    failed.into_inner().map_err(|_| Poisoned)?.map_or(Ok(()), Err)
}

/// Calls `act(task, thread)` for every task from the last to the first, until it is false for one. Thread 0 is the
/// caller's and takes the last task.
///
/// It is not generic: a copy for each kind of task and each width of rows takes minutes to build.
///
/// # Errors
///
/// A thread panicked, or there is none.
fn take_turns(threads: usize, tasks: usize, act: &(dyn Fn(usize, usize) -> bool + Sync)) -> Result<(), Poisoned> {
    let others = tasks.saturating_sub(1).min(threads.checked_sub(1).ok_or(Poisoned)?);
    let Some(first) = tasks.checked_sub(1) else { return Ok(()) };
    let left = Mutex::new(first);
    let work = |first: Option<usize>, thread: usize| {
        let mut next = first;
        loop {
            if let Some(task) = next
                && !act(task, thread)
            {
                // Nobody needs the other tasks any more.
                left.lock().map(|mut left| *left = 0).map_err(|_| Poisoned)?;
            }
            let mut left = left.lock().map_err(|_| Poisoned)?;
            let Some(task) = left.checked_sub(1) else { return Ok(()) };
            *left = task;
            next = Some(task);
        }
    };
    std::thread::scope(|scope| {
        let work = &work;
        let start = |thread| std::thread::Builder::new().spawn_scoped(scope, move || work(None, thread)).ok();
        let others: Vec<_> = (1..=others).map_while(start).collect();
        let own = work(Some(first), 0);
        others.into_iter().map(|thread| thread.join().unwrap_or(Err(Poisoned))).fold(own, Result::and)
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
