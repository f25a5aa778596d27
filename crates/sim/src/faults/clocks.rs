//! Clocks that jump or stand still, and machines that sleep.
//!
//! ```text
//!   coordinator's machine   its monotonic clock stands still or jumps ahead; nothing is heard from it, nor by it
//!   worker's machine        its timers stand still; its messages, changes of files and answers wait until it wakes;
//!                           or its monotonic clock jumps ahead: waits that are under way are over, all at once
//!   any machine             its time of day is set, ahead or back
//! ```
//!
//! A worker does nothing that others can see but by messages and files, so a worker whose messages and files wait stands
//! still. When it wakes, all goes on as if no time had passed: it does not know that its leases have ended.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::scenario::Scenario;
use crate::world::{HUB, SimWorld};

/// Longest sleep of a worker's machine: several times a lease, and longer than the grace time.
const LONGEST_SLEEP: Duration = Duration::from_secs(40);

impl Scenario {
    /// A worker's machine sleeps for a while.
    pub(super) fn send_to_sleep(&mut self, name: &str) {
        let sleep = self.world.with(|state| state.chance.millis(500, LONGEST_SLEEP.as_millis() as u64));
        let since = Instant::now();
        let falls_asleep = self.world.with(|state| {
            let machine = state.machines.get_mut(name).filter(|machine| machine.up && machine.sleeps_since.is_none());
            machine.map(|machine| machine.sleeps_since = Some(since)).is_some()
        });
        if !falls_asleep {
            return;
        }
        self.told("worker slept", format!("{name}: its machine sleeps for {} ms", sleep.as_millis()));
        let (world, name) = (Arc::clone(&self.world), name.to_owned());
        tokio::spawn(async move {
            tokio::time::sleep(sleep).await;
            // It may have died, or been woken.
            let sleeps = |machine: &crate::world::Machine| machine.sleeps_since == Some(since);
            if world.with(|state| state.machines.get(&name).is_some_and(sleeps)) {
                world.wake(&name);
            }
        });
    }

    /// By up to a day, ahead or back.
    pub(super) fn set_time_of_day(&mut self, name: &str) {
        let jump = self.draw(2 * 86_400_000) as i64 - 86_400_000;
        self.world.with(|state| {
            if let Some(machine) = state.machines.get_mut(name) {
                machine.day_millis += jump;
            }
        });
        self.told("time of day set", format!("{name}: its time of day jumps by {jump} ms"));
    }

    /// A worker's clock jumps ahead, by up to ten leases, and its time of day is set. A monotonic clock never goes back.
    pub(super) fn jump_workers_clock(&mut self, name: &str) {
        let ahead = self.draw(60_000) as i64;
        self.world.with(|state| {
            if let Some(machine) = state.machines.get_mut(name) {
                machine.ahead_millis += ahead;
            }
        });
        self.world.woke.notify_waiters();
        self.told("worker's clock jumps", format!("{name}: its clock jumps ahead by {ahead} ms"));
        self.set_time_of_day(name);
    }

    /// The coordinator's clock jumps ahead, or stands still for a while: its machine sleeps, and hears nothing.
    pub(super) fn jump_clock(&mut self) {
        let ahead = self.draw(60_000) as i64;
        let kind = self.draw(3);
        let line = self.world.with(|state| {
            let machine = state.machines.get_mut(HUB)?;
            Some(match (kind, machine.sleeps_since) {
                (_, Some(since)) => {
                    machine.sleeps_since = None;
                    machine.ahead_millis -= since.elapsed().as_millis() as i64;
                    state.network.cuts.retain(|(from, to)| from != HUB && to != HUB);
                    "wakes up; its clock stood still".to_owned()
                }
                (0, None) => {
                    machine.ahead_millis += ahead;
                    format!("its clock jumps ahead by {ahead} ms")
                }
                (_, None) => {
                    machine.sleeps_since = Some(Instant::now());
                    let all: Vec<String> = state.machines.keys().filter(|name| *name != HUB).cloned().collect();
                    for name in all {
                        state.network.cuts.insert((name.clone(), HUB.to_owned()));
                        state.network.cuts.insert((HUB.to_owned(), name));
                    }
                    "its machine sleeps".to_owned()
                }
            })
        });
        self.told("clock jumps", format!("{HUB}: {}", line.unwrap_or_default()));
    }
}

impl SimWorld {
    /// Whether a worker's machine sleeps.
    pub(crate) fn sleeps(&self, name: &str) -> bool {
        name != HUB && self.with(|state| state.machines.get(name).is_some_and(|machine| machine.sleeps_since.is_some()))
    }

    /// The machine wakes up, if it sleeps: its clock stood still.
    pub(crate) fn wake(&self, name: &str) {
        let slept = self.with(|state| {
            let machine = state.machines.get_mut(name)?;
            let slept = machine.sleeps_since.take()?.elapsed();
            machine.ahead_millis -= slept.as_millis() as i64;
            Some(slept)
        });
        if slept.is_some() {
            self.log(|| format!("{name}: wakes up"));
            self.woke.notify_waiters();
        }
    }

    /// Waits until a worker's machine does not sleep.
    pub(crate) async fn awake(&self, name: &str) {
        loop {
            // Listen before looking, so that no signal in between is missed.
            let mut woke = std::pin::pin!(self.woke.notified());
            woke.as_mut().enable();
            if !self.sleeps(name) {
                return;
            }
            woke.await;
        }
    }
}
