//! Boundaries: what is kept, what can be read, what is lost, and how a job falls back.
//!
//! ```text
//!   boundary   b3 (copied)   b5 (durable)   b6     stage 7
//!   kept       until a       until a        it is  -----> b7
//!              later one is  later one is   the
//!              copied        durable        input
//! ```
//!
//! The list of a job's boundaries holds those of the present sweep, the oldest first; the last one is the input of the
//! stage under way, unless that begins a vector. Where two vectors meet, the forward one that is kept stays until then;
//! without it those of the transposed one are worth nothing. A run can be read when a worker that is here holds a sound
//! copy; it is lost when nobody who holds a sound copy is here or still awaited. Falling back drops everything after
//! the newest boundary without a lost run, and starts anew from there.

use std::collections::BTreeSet;

use keima_model::Direction;
use keima_orders::{AttemptId, Holder, InputRun, WorkerId};
use keima_runs::{RunId, RunManifest, Tally, TaskManifest};
use serde::{Deserialize, Serialize};

use crate::api::Millis;
use crate::fleet::Common;
use crate::job::Job;
use crate::job::stage::shards::meets;
use crate::store::journal;

/// It is somebody's fault that a copy could not be had if that came so often, over the grace time.
const MOST_STRIKES: u32 = 3;

/// A finished task as it stands in a boundary.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Committed {
    pub(crate) attempt: AttemptId,
    pub(crate) nonce: u64,
    pub(crate) writer: WorkerId,
    pub(crate) manifest: TaskManifest,
}

/// What is known of a boundary as a whole.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) sweep: u32,
    /// Number of the stage that wrote it.
    pub(crate) stage: u32,
    /// Generation of that stage.
    pub(crate) generation: u32,
    /// The vector after this many passes; of a transposed one, before the rest of them.
    pub(crate) pass: u32,
    /// Which way the vector goes.
    pub(crate) direction: Direction,
    /// Whether its runs are on stable storage.
    pub(crate) durable: bool,
    /// Whether every run once had two holders.
    pub(crate) copied: bool,
    /// Sums, fingerprint and states of what was written.
    pub(crate) totals: Tally,
    /// Whether `totals.states` counts distinct keys; otherwise it is an upper bound.
    pub(crate) exact: bool,
    pub(crate) tasks: u32,
}

impl std::fmt::Display for Head {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.direction {
            Direction::Forward => write!(f, "the boundary after {} passes", self.pass),
            Direction::Backward => write!(f, "the boundary at pass {} on the way back", self.pass),
        }
    }
}

/// The vector between two stages.
pub(crate) struct Boundary {
    pub(crate) head: Head,
    pub(crate) tasks: Vec<Committed>,
    /// Second copies that were made, and by whom.
    pub(crate) copies: BTreeSet<(RunId, WorkerId)>,
    /// Whether it stands in the store.
    pub(crate) stored: bool,
}

impl Boundary {
    pub(crate) fn runs(&self) -> impl Iterator<Item = &RunManifest> {
        self.tasks.iter().flat_map(|task| &task.manifest.runs)
    }
}

/// Trouble in getting at a copy that its holder still lists.
#[derive(Clone, Debug)]
pub(crate) struct Strike {
    pub(crate) first: Millis,
    pub(crate) last: Millis,
    pub(crate) count: u32,
    /// Whose trouble it was.
    pub(crate) readers: BTreeSet<WorkerId>,
}

/// An input could not be had from a copy.
#[derive(Clone, Copy)]
pub(crate) struct Unread<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) holder: &'a WorkerId,
    pub(crate) reader: &'a WorkerId,
    pub(crate) text: &'a str,
}

/// Runs of the input that cannot be read now, as of the state of holdings with this number.
#[derive(Default)]
pub(crate) struct Missing {
    as_of: Option<u64>,
    /// Of the stage under way.
    pub(crate) runs: Vec<RunManifest>,
    /// Of the vector that a later stage will meet.
    kept: Vec<RunManifest>,
}

impl Missing {
    pub(crate) fn forget(&mut self) {
        self.as_of = None;
    }
}

impl Job {
    /// Whether a copy is never to be used again.
    pub(crate) fn is_bad(&self, run: &RunId, worker: &WorkerId) -> bool {
        !self.bad.is_empty() && self.bad.contains(&(run.clone(), worker.clone()))
    }

    /// Whether there was trouble with a copy.
    pub(crate) fn is_suspect(&self, run: &RunId, worker: &WorkerId) -> bool {
        self.is_bad(run, worker)
            || (!self.strikes.is_empty() && self.strikes.contains_key(&(run.clone(), worker.clone())))
    }

    /// Whether a copy is left alone for a while.
    fn is_suspended(&self, run: &RunId, worker: &WorkerId, common: &Common) -> bool {
        !self.strikes.is_empty()
            && self.strikes.get(&(run.clone(), worker.clone())).is_some_and(|strike| {
                common.now < strike.last.saturating_add(common.config.heartbeat_millis.saturating_mul(2))
            })
    }

    /// Whether somebody who is here has a sound copy that may be tried now.
    pub(crate) fn is_readable(&self, run: &RunId, common: &Common) -> bool {
        let sound = |id| !self.is_bad(run, id) && !self.is_suspended(run, id, common);
        common.workers.iter().any(|(id, w)| w.here && w.held.contains_key(run) && sound(id))
    }

    /// Why a run is lost; `None` while there is hope, or nobody to do anything about it.
    pub(crate) fn lost(&self, run: &RunId, common: &Common) -> Option<String> {
        common.here_since?;
        let mut why = "no worker holds a sound copy".to_string();
        for (id, worker) in common.holders_of(run) {
            if self.is_bad(run, id) {
                continue;
            }
            if worker.here || common.awaited_until(worker).is_none_or(|until| until > common.now) {
                return None;
            }
            let seconds = common.now.saturating_sub(worker.away_since) / 1000;
            why = format!("worker {id}, which holds it, has been away for {seconds} s");
        }
        Some(why)
    }

    /// The boundary that a stage reads; none at the start of a way.
    pub(crate) fn input_of(&self, stage: u32) -> Option<&Boundary> {
        self.boundaries.last().filter(|_| !self.record.plan.starts(stage))
    }

    /// The end of the forward vector's way, once it has come there.
    pub(crate) fn kept(&self) -> Option<&Boundary> {
        self.place_of_kept().and_then(|at| self.boundaries.get(at))
    }

    fn place_of_kept(&self) -> Option<usize> {
        let stage = self.record.plan.kept_stage()?;
        self.boundaries.iter().position(|b| b.head.stage == stage)
    }

    /// The runs of a boundary that may hold keys of a range with their holders, the reader itself first, then those that can
    /// be read now.
    pub(crate) fn inputs(
        &self,
        boundary: Option<&Boundary>,
        (low, high): (u128, Option<u128>),
        reader: &WorkerId,
        common: &Common,
    ) -> Vec<InputRun> {
        let runs = boundary.into_iter().flat_map(Boundary::runs);
        runs.filter(|run| meets(run.first_key, run.last_key, low, high))
            .map(|run| InputRun { manifest: run.clone(), holders: self.copies_of(&run.id, reader, common) })
            .collect()
    }

    /// Holders of sound copies, best first.
    pub(crate) fn copies_of(&self, run: &RunId, reader: &WorkerId, common: &Common) -> Vec<Holder> {
        let mut holders: Vec<_> = common.holders_of(run).into_iter().filter(|(id, _)| !self.is_bad(run, id)).collect();
        holders.sort_by_key(|(id, w)| (!w.here, self.is_suspended(run, id, common), *id != reader));
        holders.into_iter().map(|(_, w)| w.holder.clone()).collect()
    }

    /// Brings the list of unreadable input runs up to date.
    pub(crate) fn refresh_missing(&mut self, common: &Common) {
        if self.missing.as_of == Some(common.holdings_serial) && self.strikes.is_empty() {
            return;
        }
        let number = self.stage.as_ref().map_or_else(|| self.next_stage(), |stage| stage.number);
        let missing = |boundary: Option<&Boundary>| -> Vec<RunManifest> {
            let runs = boundary.into_iter().flat_map(Boundary::runs);
            runs.filter(|run| !self.is_readable(&run.id, common)).cloned().collect()
        };
        let (mut runs, mut kept) = (missing(self.input_of(number)), missing(self.kept()));
        if self.record.plan.meets(number) {
            runs.append(&mut kept);
        }
        self.missing = Missing { as_of: Some(common.holdings_serial), runs, kept };
    }

    /// Falls back if an input run is lost.
    pub(crate) fn fall_back_if_lost(&mut self, common: &mut Common) {
        self.refresh_missing(common);
        let missing = self.missing.runs.iter().chain(&self.missing.kept);
        let lost = missing.into_iter().find_map(|run| Some((run.id.clone(), self.lost(&run.id, common)?)));
        if let Some((run, why)) = lost {
            self.fall_back(common, &run, &why);
        }
    }

    fn fall_back(&mut self, common: &mut Common, run: &RunId, why: &str) {
        let whole = |b: &Boundary| b.runs().all(|r| self.lost(&r.id, common).is_none());
        // What came after the vector that is kept is of use only with it.
        let usable = self.place_of_kept().filter(|&at| !whole(&self.boundaries[at])).unwrap_or(self.boundaries.len());
        let kept = self.boundaries[..usable].iter().rposition(whole).map_or(0, |newest| newest + 1);
        let from = self.boundaries.last().map_or_else(|| "the start".to_owned(), |b| b.head.to_string());
        self.drop_stage(common);
        for boundary in self.boundaries.split_off(kept) {
            self.drop_boundary(common, &boundary);
        }
        self.forget_vain_copies(common);
        let to = self
            .boundaries
            .last()
            .map_or_else(|| format!("the start of sweep {}", self.record.sweep + 1), |b| b.head.to_string());
        self.note(format!("fell back from {from} to {to}, because run {run} is lost: {why}"));
        self.missing.forget();
        common.store_job(self, true);
        common.work_changed();
    }

    /// Lets go of the stage under way: its leases, its finished tasks, its records.
    pub(crate) fn drop_stage(&mut self, common: &mut Common) {
        let Some(stage) = self.stage.take() else { return };
        self.end_leases(common, |attempt| attempt.generation == stage.generation);
        if common.config.persist_grants {
            common.journal.delete(journal::stage_key(self.id));
        }
        for (number, task) in (0..).zip(&stage.tasks) {
            let Some(done) = &task.done else { continue };
            if common.config.persist_grants {
                common.journal.delete(journal::task_key(self.id, self.record.sweep, stage.generation, number));
            }
            done.manifest.runs.iter().for_each(|run| self.forget_run(&run.id));
        }
    }

    /// Lets go of a boundary: its runs are not needed any more.
    pub(crate) fn drop_boundary(&mut self, common: &mut Common, boundary: &Boundary) {
        boundary.runs().for_each(|run| self.forget_run(&run.id));
        if boundary.stored {
            let head = &boundary.head;
            common.journal.delete(journal::boundary_key(self.id, head.sweep, head.generation));
            for task in &boundary.tasks {
                common.journal.delete(journal::task_key(self.id, head.sweep, head.generation, task.attempt.task));
            }
            for (run, worker) in &boundary.copies {
                common.journal.delete(journal::copy_key(self.id, run, worker));
            }
        }
    }

    fn forget_run(&mut self, run: &RunId) {
        self.runs.remove(run);
        self.bad.retain(|(bad, _)| bad != run);
        self.strikes.retain(|(struck, _), _| struck != run);
    }

    /// Lets every boundary go that is neither the newest, nor the newest durable one, nor the newest with two copies of
    /// everything, nor being copied, nor kept for another vector to meet.
    pub(crate) fn let_boundaries_go(&mut self, common: &mut Common) {
        let newest = |which: &dyn Fn(&Head) -> bool| {
            self.boundaries.iter().rev().find(|b| which(&b.head)).map(|b| b.head.generation)
        };
        let kept = [
            newest(&|_| true),
            newest(&|head| head.durable),
            newest(&|head| head.copied),
            self.copying.as_ref().map(|round| round.boundary),
            self.kept().map(|kept| kept.head.generation),
        ];
        let (keep, go) =
            std::mem::take(&mut self.boundaries).into_iter().partition(|b| kept.contains(&Some(b.head.generation)));
        self.boundaries = keep;
        let go: Vec<Boundary> = go;
        for boundary in &go {
            self.drop_boundary(common, boundary);
        }
    }

    /// A copy is damaged: it is not used any more.
    pub(crate) fn blame_copy(&mut self, common: &Common, unread: Unread<'_>) {
        if self.needs(unread.run) && common.workers.contains_key(unread.holder) {
            self.never_use(unread.run, unread.holder, unread.text);
            self.count_damage(unread.holder);
        }
    }

    /// A copy could not be had from a holder that is here. Once may be an accident, over the grace time, at the end of which
    /// the holder was heard of, it is not:
    ///
    /// ```text
    ///   the holder itself cannot read it     the copy is bad
    ///   one other worker cannot              that worker's way there: it is set aside, since the holder can do its tasks
    ///   several others cannot                the holder is set aside, and none of its copies is used any more
    /// ```
    pub(crate) fn count_unread(&mut self, common: &Common, unread: Unread<'_>) {
        let Unread { run, holder, reader, text } = unread;
        // Copies of one that is away are awaited.
        let Some(heard) = common.workers.get(holder).filter(|w| w.here && self.needs(run)).map(|w| w.last_heard) else {
            self.missing.forget();
            return;
        };
        let (now, grace) = (common.now, common.config.grace_millis);
        let fresh = || Strike { first: now, last: now, count: 0, readers: BTreeSet::new() };
        let strike = self.strikes.entry((run.clone(), holder.clone())).or_insert_with(fresh);
        if now.saturating_sub(strike.last) > grace.saturating_add(common.config.lease_millis) {
            *strike = fresh();
        }
        strike.last = now;
        strike.count += 1;
        strike.readers.insert(reader.clone());
        if strike.count >= MOST_STRIKES && heard.saturating_sub(strike.first) >= grace {
            let readers = strike.readers.clone();
            if readers.contains(holder) {
                self.never_use(run, holder, text);
            } else if readers.len() == 1 {
                let reason = format!("it cannot read from worker {holder}: {text}");
                self.set_aside_unreached(common, reader, reason, Some(holder));
            } else {
                let held = common.workers.get(holder).into_iter().flat_map(|w| w.held.keys());
                let copies: Vec<RunId> = held.filter(|run| self.needs(run)).cloned().collect();
                self.bad.extend(copies.into_iter().map(|run| (run, holder.clone())));
                let several = readers.len();
                let reason = format!("{several} workers cannot read from it; its runs are not used any more: {text}");
                self.set_aside_unreached(common, holder, reason, None);
                self.forgive_unreached(&readers);
            }
        }
        self.missing.forget();
    }

    fn never_use(&mut self, run: &RunId, holder: &WorkerId, text: &str) {
        self.note(format!("the copy of run {run} on worker {holder} is not used any more: {text}"));
        self.strikes.remove(&(run.clone(), holder.clone()));
        self.bad.insert((run.clone(), holder.clone()));
        self.missing.forget();
    }
}
