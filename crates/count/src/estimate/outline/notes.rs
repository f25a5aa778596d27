//! Notes about a plan with runs on disk that its figures do not show.

use keima_blocks::limits::MOST_OPEN_RUNS;

use super::super::families::Families;
use super::Outline;

impl Outline {
    /// Notes how the block executor does families that are larger than a task.
    pub(super) fn note_slices(&mut self, families: &[Families]) {
        let alone = families.iter().any(|families| families.most_lanes < 1.0);
        let Some(most) = self.stages.iter().max_by_key(|stage| stage.family_slices) else { return };
        let slices = most.family_slices;
        let threads = self.stages.iter().map(|stage| stage.family_threads).max().unwrap_or(1);
        let workers = most.family_workers;
        if slices > 1 && workers > 1 {
            self.notes.push(format!(
                "the largest families are processed in {slices} rounds, a few residues each, which {workers} workers share"
            ));
        } else if slices > 1 {
            self.notes.push(format!("the largest families are processed in {slices} rounds, a few residues each"));
        }
        if alone {
            let text = "the largest families do not fit a task's memory: each takes the memory of several tasks, and other tasks wait";
            self.notes.push(text.into());
        }
        if threads > 1 {
            self.notes.push(format!(
                "up to {threads} threads of a worker process a large family together; what that gains was measured with two \
                 threads only"
            ));
        }
    }

    /// Notes that the stream executor spills families that are larger than a task, and merges many runs first.
    pub(super) fn note_spills(&mut self, family: Option<u128>) {
        let tasks = |family: u128| family > 2 * u128::from(self.plan.task_records);
        if self.plan.block().is_none()
            && self.plan.windows.iter().all(|window| window.len == 1)
            && family.is_none_or(tasks)
        {
            let text = "no window's families fit a task, so each stage is a single pass; a family that is larger than a \
                        task also writes temporary runs, which this forecast leaves out";
            self.notes.push(text.into());
        }
        let runs = self.plan.peak_states / self.plan.task_records.max(1);
        if self.plan.block().is_none() && runs > MOST_OPEN_RUNS as u64 {
            self.notes.push(format!(
                "a vector has {runs} runs or more, and a task reads at most {MOST_OPEN_RUNS} at once: if it needs more, it \
                 merges runs first; that can double the bytes read and written, and this forecast leaves it out"
            ));
        }
    }
}
