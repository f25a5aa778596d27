//! What people allow a job: so many workers at a time, so many bytes; and what it waits for the others.
//!
//! ```text
//!   workers   a worker gets a task if it has one already, or if fewer than the cap have
//!   bytes     looked at as often as workers say what they hold: beyond the cap the job pauses; tasks under way finish.
//!             It goes on when it is below again, or when the cap is raised
//!   waiting   counted while the job wants work, has no task, and a later job has one (machine/sharing.rs)
//! ```
//!
//! The cap on workers holds for tasks. A second worker makes copies of column ends, and does tasks again, when the others are
//! idle: so a cap of 1 does not stop a job that is to be checked.

use std::collections::BTreeSet;

use keima_blocks::sizes::show_bytes;
use keima_orders::WorkerId;

use crate::api::{Millis, State};
use crate::fleet::Fleet;
use crate::job::Job;

/// Growth of the waiting time after which it is stored. A restart forgets less than that.
const STORED_MILLIS: Millis = 3_600_000;

impl Job {
    /// Stores what people say of the job, and what it has had.
    pub(crate) fn store_account(&self, fleet: &mut Fleet) {
        fleet.journal.put_account(self.id, &self.account);
    }

    /// Lets time pass for a job that may be waiting for later ones.
    pub(crate) fn wait_behind(&mut self, elapsed: Millis, fleet: &mut Fleet) {
        let is_passed_by = || fleet.newest_at_work().is_some_and(|newest| newest > self.id);
        if elapsed == 0 || !self.is_live() || fleet.tasks_at_work(self.id) > 0 || !is_passed_by() {
            return;
        }
        let before = self.account.waited_millis;
        self.account.waited_millis = before.saturating_add(elapsed);
        if before / STORED_MILLIS != self.account.waited_millis / STORED_MILLIS {
            self.store_account(fleet);
        }
    }

    /// Whether the cap on workers lets a worker have a task now.
    pub(crate) fn has_room_for(&self, fleet: &Fleet, worker: &WorkerId) -> bool {
        let Some(most) = self.account.terms.max_workers else { return true };
        let workers: BTreeSet<&WorkerId> = fleet.tasks_of_job(self.id).map(|lease| &lease.worker).collect();
        workers.contains(worker) || workers.len() < most as usize
    }

    /// Whether the job has more bytes on disk than it may have.
    fn is_over_disk(&self) -> bool {
        self.account.terms.max_disk_bytes.is_some_and(|most| self.disk_seen.bytes() > most)
    }

    /// Pauses a job that is over its cap on bytes, and goes on with one that is below again.
    pub(crate) fn look_after_disk_cap(&mut self, fleet: &mut Fleet) {
        let is_over = self.is_over_disk();
        match self.record.state {
            State::Running if is_over => {
                let (id, has) = (self.id, show_bytes(self.disk_seen.bytes()));
                let most = self.account.terms.max_disk_bytes.map(show_bytes).unwrap_or_default();
                let reason = format!(
                    "its runs take {has} on all workers together, and its cap (--max-disk) is {most}; raise it with \
                     `keima change {id} --max-disk BYTES` (0 for none) and the job goes on, or cancel the job"
                );
                self.account.over_disk = true;
                self.pause(fleet, reason);
            }
            State::Paused if self.account.over_disk && !is_over => self.go_on(fleet),
            _ => {}
        }
    }
}
