//! A failed check: once more from an older boundary, then from the start of the sweep if there are two workers, then the end.
//!
//! ```text
//!   b3 (durable)   b5   b6 --stage 7: what it read is not what stage 6 wrote--> back to b3, with a note that names the workers
//!   the same check fails at the same place again --> the start of the sweep, where two workers can count all that is repeated
//!   and again, or there is one worker alone, or the first try began there --> the job ends with the pieces of evidence
//! ```
//!
//! One memory error must not cost weeks. The boundary that a failing stage has read may be wrong, so the job goes back behind
//! it: to the newest kept boundary that a whole stage has read and found as written, or else to the start of the sweep. What
//! was learned since then is forgotten. When the stages are repeated, each task is held against its first try; what differs
//! names the worker that erred.

use std::collections::BTreeSet;

use keima_orders::WorkerId;

use super::doubts::{StageInDoubt, TaskInDoubt};
use crate::fleet::Fleet;
use crate::job::Job;
use crate::job::stage::StageRun;
use crate::store::records::{Boundary, Committed, FailedCheck};

/// Failed checks of one job that are tried again. One whose first try begins at the start of the sweep counts twice.
const MOST_TRIES: usize = 16;
/// Most workers that a note names.
const MOST_NAMES: usize = 6;

/// A failed check.
pub(crate) struct Evidence {
    pub(crate) check: &'static str,
    /// What was expected, what came, and where.
    pub(crate) text: String,
    /// Whether it concerns the vector that another was to meet.
    pub(crate) of_kept: bool,
}

impl Evidence {
    pub(crate) const fn new(check: &'static str, text: String) -> Self {
        Self { check, text, of_kept: false }
    }
}

impl Job {
    /// A check failed in a stage. Goes back to an older boundary, then to the start of the sweep, or ends the job if that was
    /// done for the same failure before.
    pub(crate) fn check_failed(&mut self, fleet: &mut Fleet, stage: u32, evidence: &Evidence) {
        let Evidence { check, text, of_kept } = evidence;
        let sweep = self.record.sweep;
        let workers = self.workers_in_doubt(stage);
        let text = if workers.is_empty() { text.clone() } else { format!("{text} ({workers})") };
        let alike = |failed: &&FailedCheck| failed.check == *check && failed.sweep == sweep && failed.stage == stage;
        let plan = &self.record.plan;
        // The stage's input is in doubt; if it begins a vector, it has none.
        let end = if plan.starts(stage) { stage } else { stage.saturating_sub(1) };
        let end = if *of_kept { plan.kept_stage().unwrap_or(0).min(end) } else { end };
        let good = self.boundaries.iter().take_while(|boundary| boundary.head.stage < end).count();
        let mut tries = self.record.second_tries.iter().filter(alike);
        let (first, second) = (tries.next(), tries.next());
        // Two workers count all that is repeated. If that did not help, the error is older than the boundary.
        let from_start = first.is_some() && second.is_none() && good > 0 && fleet.recounts();
        if let Some(first) = first.filter(|_| !from_start) {
            let both = format!(
                "{text}; it failed before, and again when it was repeated from an older boundary: {}",
                first.evidence
            );
            return self.end_by_check(fleet, check, &both);
        }
        if self.record.second_tries.len() >= MOST_TRIES {
            let text = format!("{text}; {MOST_TRIES} other checks of this job failed before");
            return self.end_by_check(fleet, check, &text);
        }
        let begins_at_start = first.is_none() && good == 0;
        self.note_doubts(stage);
        let failed = |evidence| FailedCheck { check: (*check).to_owned(), sweep, stage, evidence };
        let keep = if from_start { 0 } else { good };
        if begins_at_start {
            // This try is the one from the start: there is no other after it.
            self.record.second_tries.push(failed("its repetition begins at the start of the sweep".to_owned()));
        }
        self.record.second_tries.push(failed(text.clone()));
        let why = format!("because a check failed; it is tried once more: {check}: {text}");
        self.go_back(fleet, keep, &why, true);
    }

    /// Who wrote what a failing stage reads, and who read it.
    fn workers_in_doubt(&self, stage: u32) -> String {
        let names = |tasks: &mut dyn Iterator<Item = &Committed>| {
            let workers: BTreeSet<&WorkerId> = tasks.map(|done| &done.writer).collect();
            let few: Vec<String> = workers.iter().take(MOST_NAMES).map(ToString::to_string).collect();
            let more = workers.len().checked_sub(MOST_NAMES).filter(|more| *more > 0);
            let more = more.map_or(String::new(), |more| format!(" and {more} more"));
            (!few.is_empty()).then(|| format!("{}{more}", few.join(", ")))
        };
        let input = self.boundaries.input_of(&self.record.plan, stage);
        let written = names(&mut input.into_iter().flat_map(|boundary| &boundary.tasks));
        let read = names(&mut self.stage.iter().flat_map(StageRun::done));
        let parts = [written.map(|names| format!("written by {names}")), read.map(|names| format!("read by {names}"))];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Keeps what the tasks of the failing stage and of the one before have made.
    fn note_doubts(&mut self, number: u32) {
        let sweep = self.record.sweep;
        let here = self.stage.iter().flat_map(|stage| &stage.tasks);
        let here = here.filter_map(|task| Some(TaskInDoubt::of(task.done.as_ref()?, Some(task.shard)))).collect();
        let of_boundary = |boundary: &Boundary| StageInDoubt {
            sweep,
            number: boundary.head.stage,
            tasks: boundary.tasks.iter().map(|done| TaskInDoubt::of(done, None)).collect(),
        };
        let before = self.boundaries.input_of(&self.record.plan, number).map(of_boundary);
        let stages = before.into_iter().chain([StageInDoubt { sweep, number, tasks: here }]);
        self.doubts.0.extend(stages);
    }

    /// Holds the tasks of a complete stage against those of the try before, and names the workers whose tasks differ.
    pub(crate) fn resolve_doubts(&mut self) {
        let Some(stage) = &self.stage else { return };
        let sweep = self.record.sweep;
        let Some(at) = self.doubts.0.iter().position(|doubt| (doubt.sweep, doubt.number) == (sweep, stage.number))
        else {
            return;
        };
        let doubt = self.doubts.0.swap_remove(at);
        let mut notes = Vec::new();
        // Only if it was cut alike do the tasks of both tries match.
        if doubt.tasks.len() == stage.tasks.len() {
            for (number, (before, task)) in doubt.tasks.iter().zip(&stage.tasks).enumerate() {
                let Some(done) = &task.done else { continue };
                let alike =
                    before.shard.is_none_or(|shard| shard.has_keys_of(&task.shard) && shard.lanes == task.shard.lanes);
                let what = match (before.input != done.manifest.input, before.output != done.manifest.output) {
                    (true, _) => "read",
                    (false, true) => "wrote",
                    _ => continue,
                };
                if alike {
                    let (worker, again) = (&before.worker, &done.writer);
                    notes.push(format!(
                        "worker {worker} {what} something else in task {number} of stage {} than worker {again} in the \
                         repetition; check its memory",
                        stage.number
                    ));
                }
            }
        }
        // If all differ, the cut or the input does, and no worker is to blame.
        if notes.len() < stage.tasks.len().max(2) {
            notes.into_iter().take(MOST_NAMES).for_each(|note| self.note(note));
        }
    }
}
