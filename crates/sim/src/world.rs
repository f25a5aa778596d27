//! The simulated system: machines with disks and clocks, the network between them, the event log, and all chance.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use keima_cluster::world::{Carrier, Waiting, Work, World};
use keima_runs::watch::{self, Change, Watch};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tonic::service::Routes;

use crate::chance::Chance;
use crate::disk::{self, Disk};
use crate::network::{self, Network};
use crate::threads::{self, Threads};

/// The coordinator's machine.
pub(crate) const HUB: &str = "hub";
/// Milliseconds since the Unix epoch when each simulation begins.
const BEGINNING: i64 = 1_800_000_000_000;

/// One machine, up or down.
#[derive(Default)]
pub(crate) struct Machine {
    pub(crate) root: PathBuf,
    pub(crate) up: bool,
    /// Counts its processes.
    pub(crate) life: u64,
    /// The services of its process.
    pub(crate) routes: Option<Routes>,
    /// Calls of others that it answers.
    pub(crate) calls: Vec<AbortHandle>,
    pub(crate) disk: Disk,
    /// Its monotonic clock against the world's.
    pub(crate) ahead_millis: i64,
    /// Since when it sleeps: its clock stands still.
    pub(crate) sleeps_since: Option<Instant>,
    /// Its time of day against the world's.
    pub(crate) day_millis: i64,
    /// Cap on its scratch folder.
    pub(crate) cap_bytes: u64,
}

/// Everything that changes.
pub(crate) struct State {
    pub(crate) chance: Chance,
    pub(crate) network: Network,
    /// Whether calls to the archive fail.
    pub(crate) archive_away: bool,
    pub(crate) machines: BTreeMap<String, Machine>,
    /// Machines whose process has died, and that nobody has taken note of.
    pub(crate) fallen: BTreeSet<String>,
    /// What must not be.
    pub(crate) faults: Vec<String>,
    /// How often which thing happened.
    pub(crate) counts: BTreeMap<&'static str, u64>,
    /// Hash of the event log.
    digest: u64,
    events: u64,
}

/// The world of one simulation.
pub(crate) struct SimWorld {
    me: Weak<Self>,
    state: Mutex<State>,
    threads: Arc<Threads>,
    runtime: Handle,
    started: Instant,
    trace: bool,
    /// A machine has fallen.
    pub(crate) fell: Notify,
    /// A machine has woken up, or is gone; or its clock has jumped.
    pub(crate) woke: Notify,
}

impl SimWorld {
    /// Call it within the simulation's runtime.
    pub(crate) fn new(seed: u64, trace: bool) -> Arc<Self> {
        let state = State {
            chance: Chance::new(seed),
            network: Network::default(),
            archive_away: false,
            machines: BTreeMap::new(),
            fallen: BTreeSet::new(),
            faults: Vec::new(),
            counts: BTreeMap::new(),
            digest: 0xcbf2_9ce4_8422_2325,
            events: 0,
        };
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            state: Mutex::new(state),
            threads: Threads::new(),
            runtime: Handle::current(),
            started: Instant::now(),
            trace,
            fell: Notify::new(),
            woke: Notify::new(),
        })
    }

    /// This thread's clusters live in this world.
    pub(crate) fn enter(self: &Arc<Self>) {
        keima_cluster::world::set(Some(Arc::clone(self) as Arc<dyn World>));
        watch::set(Some(Arc::clone(self) as Arc<dyn Watch>));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the state, or changes it. It must not wait.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.lock())
    }

    /// Lets idle threads go, which hold the world.
    pub(crate) fn end_threads(&self) {
        self.threads.end();
    }

    pub(crate) fn passed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Adds a line to the event log.
    pub(crate) fn log(&self, line: impl FnOnce() -> String) {
        let line = format!("{:>10} {}", self.passed().as_millis(), line());
        let mut state = self.lock();
        state.events += 1;
        for byte in line.bytes() {
            state.digest = (state.digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if self.trace {
            println!("{line}");
        }
    }

    /// Hash and number of all events.
    pub(crate) fn digest(&self) -> (u64, u64) {
        self.with(|state| (state.digest, state.events))
    }

    pub(crate) fn count(&self, what: &'static str) {
        *self.lock().counts.entry(what).or_default() += 1;
    }

    /// Something that must not be.
    pub(crate) fn fault(&self, text: String) {
        self.log(|| format!("FAULT {text}"));
        self.with(|state| {
            if !state.faults.contains(&text) {
                state.faults.push(text);
            }
        });
    }

    pub(crate) fn is_up(&self, name: &str) -> bool {
        name == "user" || self.with(|state| state.machines.get(name).is_some_and(|machine| machine.up))
    }

    /// The number of the machine's process.
    pub(crate) fn life(&self, name: &str) -> u64 {
        self.with(|state| state.machines.get(name).map_or(0, |machine| machine.life))
    }

    pub(crate) fn root(&self, name: &str) -> PathBuf {
        self.with(|state| state.machines.get(name).map(|machine| machine.root.clone()).unwrap_or_default())
    }

    fn machine_of(&self, path: &Path) -> Option<String> {
        self.with(|state| {
            let mut all = state.machines.iter();
            all.find(|(_, machine)| path.starts_with(&machine.root)).map(|(name, _)| name.clone())
        })
    }
}

/// This thread's clusters live in the real world again.
pub(crate) fn leave() {
    keima_cluster::world::set(None);
    watch::set(None);
}

fn down() -> io::Error {
    io::Error::other("the simulated machine is down")
}

/// What the disk makes of a change.
enum Fate {
    After(Duration),
    Never,
    Dies,
}

impl Watch for SimWorld {
    fn before(&self, change: Change<'_>) -> io::Result<()> {
        let Some(name) = self.machine_of(disk::subject(&change)) else { return Ok(()) };
        // A lock is held while files are removed, and nobody may wait with it.
        let may_wait = threads::may_wait() && !matches!(change, Change::Remove(_));
        if let Some(me) = self.me.upgrade().filter(|_| may_wait && self.sleeps(&name)) {
            let name = name.clone();
            threads::wait(Box::pin(async move { me.awake(&name).await }));
        }
        let fate = self.with(|state| {
            let Some(machine) = state.machines.get_mut(&name).filter(|machine| machine.up) else { return Fate::Never };
            machine.disk.changes += 1;
            if machine.disk.dies_at.is_some_and(|at| at <= machine.disk.changes) {
                machine.up = false;
                machine.disk.dies_at = None;
                state.fallen.insert(name.clone());
                return Fate::Dies;
            }
            let longest = machine.disk.slow_millis;
            Fate::After(if may_wait { state.chance.millis(0, longest) } else { Duration::ZERO })
        });
        match fate {
            Fate::Never => return Err(down()),
            Fate::Dies => {
                self.log(|| format!("{name}: dies before {}", disk::line(change)));
                self.count("died at a change of a file");
                self.tear(&name, change);
                self.fell.notify_one();
                return Err(down());
            }
            Fate::After(delay) if !delay.is_zero() => {
                threads::wait(Box::pin(async move { tokio::time::sleep(delay).await }));
            }
            Fate::After(_) => {}
        }
        while may_wait && self.with(|state| state.machines.get(&name).is_some_and(|m| m.up && m.disk.hangs)) {
            self.count("change hung");
            threads::wait(Box::pin(async move { tokio::time::sleep(Duration::from_millis(500)).await }));
        }
        let takes_room = matches!(change, Change::Folder(_) | Change::Create(_) | Change::Write { .. });
        let full = self.with(|state| {
            let Some(machine) = state.machines.get_mut(&name).filter(|machine| machine.up) else { return Err(down()) };
            if machine.disk.full && takes_room {
                return Ok(true);
            }
            machine.disk.note(change);
            Ok(false)
        })?;
        if full {
            self.log(|| format!("{name}: no room for {}", disk::line(change)));
            self.count("disk full");
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.log(|| disk::line(change));
        Ok(())
    }
}

impl SimWorld {
    /// A process that dies while it writes may have written a part.
    fn tear(&self, name: &str, change: Change<'_>) {
        let Change::Write { path, offset, bytes } = change else { return };
        let part = self.with(|state| state.chance.below(bytes.len() as u64 + 1)) as usize;
        let Some(bytes) = bytes.get(..part).filter(|part| !part.is_empty()) else { return };
        self.with(|state| {
            if let Some(machine) = state.machines.get_mut(name) {
                machine.disk.note(Change::Write { path, offset, bytes });
            }
        });
        let _ = OpenOptions::new().write(true).open(path).and_then(|file| file.write_all_at(bytes, offset));
    }
}

impl World for SimWorld {
    fn random_bits(&self) -> u64 {
        self.with(|state| state.chance.bits())
    }

    fn time_of_day(&self, of: &Path) -> Duration {
        let machine = self.machine_of(of).unwrap_or_default();
        let ahead = self.with(|state| state.machines.get(&machine).map_or(0, |machine| machine.day_millis));
        let now = BEGINNING + self.passed().as_millis() as i64 + ahead;
        Duration::from_millis(u64::try_from(now).unwrap_or(0))
    }

    fn monotonic(&self, of: &Path, passed: Duration) -> Duration {
        let machine = self.machine_of(of).unwrap_or_default();
        let ahead = self.with(|state| {
            state.machines.get(&machine).map_or(0, |machine| {
                let asleep = machine.sleeps_since.map_or(0, |since| since.elapsed().as_millis() as i64);
                machine.ahead_millis - asleep
            })
        });
        Duration::from_millis(u64::try_from(passed.as_millis() as i64 + ahead).unwrap_or(0))
    }

    fn pause(&self, of: &Path, time: Duration) -> Waiting<()> {
        let (me, name, of) = (self.me.clone(), self.machine_of(of).unwrap_or_default(), of.to_owned());
        let end = self.monotonic(&of, self.passed()) + time;
        Box::pin(async move {
            let left = || me.upgrade().map(|me| (end.saturating_sub(me.monotonic(&of, me.passed())), me));
            while let Some((left, me)) = left().filter(|(left, _)| !left.is_zero()) {
                tokio::select! {
                    biased;
                    // The clock may have jumped: look again.
                    () = me.woke.notified() => {}
                    () = tokio::time::sleep(left) => {}
                }
                me.awake(&name).await;
            }
        })
    }

    fn run(&self, work: Work) -> Waiting<Result<(), String>> {
        let (me, runtime) = (self.me.clone(), self.runtime.clone());
        let prepare: threads::Prepare = Arc::new(move |work_off: &mut dyn FnMut()| {
            if let Some(world) = me.upgrade() {
                world.enter();
            }
            // Timers and clocks are those of the simulation.
            let _inside = runtime.enter();
            work_off();
            leave();
        });
        let (me, running) = (self.me.clone(), self.threads.run(&prepare, work));
        Box::pin(async move {
            let ran = running.await;
            if let (Err(why), Some(world)) = (&ran, me.upgrade()) {
                world.fault(format!("a thread panicked: {why}"));
            }
            ran
        })
    }

    fn wait(&self, future: Waiting<()>) {
        threads::wait(future);
    }

    fn connect(&self, from: &Path, address: &str) -> Carrier {
        let host = address.trim_start_matches("http://");
        // The coordinator's address names its caller: `http://w0.hub`.
        let (from, to) = match host.split_once('.') {
            Some((from, to)) => (from.to_owned(), to.to_owned()),
            None => (self.machine_of(from).unwrap_or_default(), host.to_owned()),
        };
        match self.me.upgrade() {
            Some(me) => network::carrier(&me, from, to),
            None => Arc::new(|_| Box::pin(async { Err(tonic::Status::unavailable("the simulation is over")) })),
        }
    }

    fn shares_folders(&self) -> bool {
        false
    }
}
