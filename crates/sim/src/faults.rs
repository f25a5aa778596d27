//! Faults, one after the other, drawn by seed.

mod clocks;

use std::collections::BTreeSet;
use std::time::Duration;

use keima_runs::RunId;

use crate::disk::{copy_folder, files};
use crate::machines::plain;
use crate::scenario::{ROOM_BYTES, Scenario};
use crate::world::HUB;

/// Where a run file has its format version. It is left alone: a worker with a run of another version does not start, so
/// that nobody's runs are overwritten, and a person has to look.
const VERSION: std::ops::Range<usize> = 8..12;

impl Scenario {
    /// One fault.
    pub(crate) async fn suffer(&mut self) -> anyhow::Result<()> {
        let names: Vec<String> = self.workers.keys().filter(|name| !self.clones.contains(*name)).cloned().collect();
        let (worker, what) = self.world.with(|state| {
            let worker = state.chance.pick(&names).cloned().unwrap_or_default();
            (worker, state.chance.below(100))
        });
        let machine = if self.draw(3) == 0 { HUB.to_owned() } else { worker.clone() };
        if self.vault.is_some() && self.draw(8) == 0 {
            return self.suffer_with_archive().await;
        }
        match what {
            0..=9 => self.cut_links(&machine),
            10..=14 => self.disturb_links(),
            15..=19 => self.heal_links(),
            20..=29 => self.kill(&machine, false).await,
            30..=39 => self.die_at_a_change(&machine),
            40..=49 => self.kill(&machine, true).await,
            50..=54 => self.lose_disk(&worker).await?,
            55..=58 => self.copy_disk(&worker).await?,
            59..=62 => self.move_disk(&worker).await?,
            63..=70 => self.fill_disk(&machine),
            71..=73 => self.cap_disk(&worker).await,
            74..=80 => self.damage_run(&worker),
            81..=85 => self.slow_down(&machine),
            86..=88 => self.hang(&machine),
            89..=91 => self.jump_clock(),
            92..=93 => self.send_to_sleep(&worker),
            94..=95 => self.jump_workers_clock(&worker),
            96 => self.set_time_of_day(HUB),
            97..=98 => self.stop(&worker),
            _ => tokio::time::sleep(Duration::from_secs(self.draw(20))).await,
        }
        Ok(())
    }

    pub(crate) fn draw(&self, below: u64) -> u64 {
        self.world.with(|state| state.chance.below(below))
    }

    pub(crate) fn told(&self, kind: &'static str, line: String) {
        self.world.count(kind);
        self.world.log(|| line);
    }

    /// A machine is cut off from another or from all, one way or both.
    fn cut_links(&mut self, name: &str) {
        let others: Vec<String> = self.workers.keys().cloned().chain([HUB.to_owned()]).filter(|o| o != name).collect();
        let (ways, all) = (self.draw(3), self.draw(2) == 0);
        let some = self.world.with(|state| state.chance.pick(&others).cloned());
        let with: Vec<String> = if all { others } else { some.into_iter().collect() };
        self.world.with(|state| {
            for other in &with {
                if ways != 1 {
                    state.network.cuts.insert((name.to_owned(), other.clone()));
                }
                if ways != 2 {
                    state.network.cuts.insert((other.clone(), name.to_owned()));
                }
            }
        });
        let way = ["both ways", "to it", "from it"][ways as usize];
        let kind = if ways == 0 { "links cut" } else { "links cut one way" };
        self.told(kind, format!("cut: {name} and {with:?}, {way}"));
    }

    fn heal_links(&mut self) {
        self.world.with(|state| state.network = crate::network::Network::default());
        self.world.log(|| "links are whole again".to_owned());
    }

    fn disturb_links(&mut self) {
        let (lost, twice, late) = (self.draw(100), self.draw(100), self.draw(50));
        self.world.with(|state| {
            let network = &mut state.network;
            (network.lost_permille, network.twice_permille, network.late_permille) = (lost, twice, late);
        });
        self.told("links disturbed", format!("links: {lost} of 1000 lost, {twice} twice, {late} late"));
    }

    /// A process is killed; with `power` its machine loses its power.
    async fn kill(&mut self, name: &str, power: bool) {
        if power {
            // What is durable now must outlive it.
            self.check();
        }
        self.bury(name).await;
        if power {
            // Whatever becomes known later is not looked at.
            let durable = self.durable.get(name).cloned().unwrap_or_default();
            let before = self.tainted.get(name).cloned().unwrap_or_default();
            self.taint_all(name);
            if let Some(tainted) = self.tainted.get_mut(name) {
                tainted.retain(|run| before.contains(run) || !durable.contains(run));
            }
            let lost = self.world.with(|state| {
                let disk = state.machines.get_mut(name).map(|machine| std::mem::take(&mut machine.disk));
                let Some(mut disk) = disk else { return String::new() };
                let lost = disk.lose_power(&mut state.chance);
                if let Some(machine) = state.machines.get_mut(name) {
                    machine.disk = disk.settled();
                }
                lost
            });
            if name == HUB {
                // Older records may come back.
                self.attempts.forget();
            }
            self.told("power cut", format!("power cut: {name}: {lost}"));
        } else {
            self.told("process killed", format!("killed: {name}"));
        }
        if name == HUB && self.draw(2) == 0 {
            self.set_time_of_day(name);
        }
        let pause = self.world.with(|state| *state.chance.pick(&[100, 1_000, 5_000, 15_000, 40_000]).unwrap_or(&100));
        tokio::time::sleep(Duration::from_millis(pause)).await;
        self.raise(name).await;
    }

    fn die_at_a_change(&mut self, name: &str) {
        let after = self.draw(60);
        self.world.with(|state| {
            if let Some(machine) = state.machines.get_mut(name) {
                machine.disk.dies_at = Some(machine.disk.changes + after);
            }
        });
        self.world.log(|| format!("{name} will die at its change number {after} from now"));
    }

    /// All runs that the folder holds, or may be believed to hold, count as damaged from now on.
    pub(crate) fn taint_all(&mut self, name: &str) {
        let root = self.world.root(name);
        let mut runs: BTreeSet<RunId> = run_files(&root).into_iter().map(|(_, run)| run).collect();
        // What is believed of it may be gone from the folder already.
        runs.extend(self.believed.get(name).cloned().unwrap_or_default());
        self.tainted.entry(name.to_owned()).or_default().extend(runs);
    }

    /// Replaces the disk of a machine that is down by an empty one.
    pub(crate) fn empty(&mut self, name: &str) -> anyhow::Result<()> {
        self.taint_all(name);
        let root = self.world.root(name);
        std::fs::remove_dir_all(&root)?;
        std::fs::create_dir_all(&root)?;
        self.fresh_disk(name);
        Ok(())
    }

    /// The worker comes back with an empty disk, as another one.
    async fn lose_disk(&mut self, name: &str) -> anyhow::Result<()> {
        self.bury(name).await;
        self.empty(name)?;
        self.told("disk lost", format!("{name}: its disk is lost"));
        tokio::time::sleep(Duration::from_secs(self.draw(20))).await;
        self.raise(name).await;
        Ok(())
    }

    fn fresh_disk(&mut self, name: &str) {
        self.world.with(|state| {
            if let Some(machine) = state.machines.get_mut(name) {
                machine.disk = machine.disk.settled();
                machine.disk.full = false;
            }
        });
    }

    /// A second worker starts on a copy of the folder, while the first one lives.
    async fn copy_disk(&mut self, name: &str) -> anyhow::Result<()> {
        if !self.world.is_up(name) || self.clones.len() > 2 {
            return Ok(());
        }
        let root = self.world.root(name);
        let number = self.world.with(|state| state.machines.len());
        let copy = format!("copy{number}");
        let target = root.with_file_name(&copy);
        copy_folder(&root, &target)?;
        let machine = crate::world::Machine { root: target, cap_bytes: ROOM_BYTES, ..Default::default() };
        self.world.with(|state| state.machines.insert(copy.clone(), machine));
        self.clones.insert(copy.clone());
        self.told("disk copied", format!("{copy}: a worker starts on a copy of the folder of {name}"));
        self.raise(&copy).await;
        Ok(())
    }

    /// The worker's folder goes back to what it was some seconds ago, or moves to another folder.
    async fn move_disk(&mut self, name: &str) -> anyhow::Result<()> {
        let root = self.world.root(name);
        let aside = root.with_file_name(format!("{name}-aside"));
        let back = self.draw(2) == 0;
        if back {
            copy_folder(&root, &aside)?;
            tokio::time::sleep(Duration::from_millis(self.draw(10_000))).await;
        }
        self.bury(name).await;
        self.taint_all(name);
        if !back {
            copy_folder(&root, &aside)?;
        }
        std::fs::remove_dir_all(&root)?;
        std::fs::rename(&aside, &root)?;
        self.fresh_disk(name);
        let (kind, what) = if back { ("disk rolled back", "is rolled back") } else { ("disk moved", "is moved") };
        self.told(kind, format!("{name}: its folder {what}"));
        self.raise(name).await;
        Ok(())
    }

    /// There is no room any more, or there is again.
    fn fill_disk(&mut self, name: &str) {
        let full = self.world.with(|state| {
            let machine = state.machines.get_mut(name)?;
            machine.disk.full = !machine.disk.full;
            Some(machine.disk.full)
        });
        let what = if full == Some(true) { "is full" } else { "has room again" };
        self.told("disk filled or freed", format!("{name}: its disk {what}"));
    }

    /// The worker starts again with a small cap, or with a large one.
    async fn cap_disk(&mut self, name: &str) {
        let cap = self.world.with(|state| *state.chance.pick(&[2_000, 20_000, ROOM_BYTES]).unwrap_or(&ROOM_BYTES));
        self.bury(name).await;
        self.world.with(|state| {
            if let Some(machine) = state.machines.get_mut(name) {
                machine.cap_bytes = cap;
            }
        });
        self.told("disk capped", format!("{name}: starts with a cap of {cap} bytes"));
        self.raise(name).await;
    }

    /// A byte of a run is flipped, or the file is cut short.
    fn damage_run(&mut self, name: &str) {
        let root = self.world.root(name);
        let runs = run_files(&root);
        let Some((path, run)) = self.world.with(|state| state.chance.pick(&runs).cloned()) else { return };
        let Ok(mut bytes) = std::fs::read(&path) else { return };
        let mut at = self.draw(bytes.len() as u64) as usize;
        if VERSION.contains(&at) {
            at = VERSION.end;
        }
        if self.draw(3) == 0 {
            bytes.truncate(at);
            self.told("run cut short", format!("{name}: {run} is cut short at {at}"));
        } else {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << self.world.with(|state| state.chance.below(8));
            }
            self.told("byte flipped", format!("{name}: byte {at} of {run} is flipped"));
        }
        self.tainted.entry(name.to_owned()).or_default().insert(run);
        if let Err(error) = std::fs::write(&path, bytes) {
            self.world.log(|| format!("{name}: cannot damage: {}", plain(&error.to_string())));
        }
    }

    fn slow_down(&mut self, name: &str) {
        let most = if name == HUB { 50 } else { 1_500 };
        let slow = self.world.with(|state| *state.chance.pick(&[1, 10, 100, most]).unwrap_or(&1)).min(most);
        self.world.with(|state| {
            if let Some(machine) = state.machines.get_mut(name) {
                machine.disk.slow_millis = slow;
            }
        });
        self.told("slow disk", format!("{name}: each change of a file takes up to {slow} ms"));
    }

    /// Changes of files wait, while heartbeats go on.
    fn hang(&mut self, name: &str) {
        let hangs = self.world.with(|state| {
            let machine = state.machines.get_mut(name)?;
            machine.disk.hangs = !machine.disk.hangs;
            Some(machine.disk.hangs)
        });
        let what = if hangs == Some(true) { "hangs" } else { "goes on" };
        self.told("disk hangs or goes on", format!("{name}: its disk {what}"));
    }

    fn stop(&mut self, name: &str) {
        if let Some(Some(process)) = self.workers.get(name) {
            process.ask_to_stop();
            self.told("worker stopped", format!("{name}: is asked to stop"));
        }
    }
}

/// Published runs below a scratch folder.
fn run_files(root: &std::path::Path) -> Vec<(std::path::PathBuf, RunId)> {
    let named = |path: &std::path::Path| {
        let name = path.strip_prefix(root).ok()?.to_str()?;
        name.strip_suffix(".run").map(|id| RunId(id.to_owned()))
    };
    files(root).into_iter().filter_map(|(path, _)| Some((path.clone(), named(&path)?))).collect()
}
