//! What a count will take, before anything of it is run: states, bytes, core-hours and time.
//!
//! ```text
//!   problem, offer --Outline::new--> plan, stages with their states and bytes        (exact, pure)
//!                         |
//!   small boards --measure--> Speeds       Outline, Speeds, offer --Times::new--> seconds    (pure)
//! ```
//!
//! [`outline`] asks the planner that will plan the job and adds up what the plan means: the numbers of states are the
//! problem's own, and bytes follow from them. [`measure`] runs the job's executor on small boards of the same problem;
//! [`times`] multiplies, and says what it takes for granted. Nothing here is measured but by [`measure`] and
//! [`measure_disk`], so that all the rest is the same everywhere.

mod families;
mod measure;
mod outline;
mod times;

use keima_coordinator::Executor;

pub use measure::{MeasureError, measure, measure_disk};
pub use outline::{Outline, StageOutline, Way};
pub use times::{PerState, Speeds, StageTime, SweepSpeed, Times};

/// What a user has, and asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// Workers; one is `keima count`.
    pub workers: u32,
    /// Threads of each.
    pub threads: u32,
    /// Memory of each.
    pub memory_bytes: u64,
    /// Memory of each that holds what was written, beside: what is read again out of it is no disk traffic.
    pub cache_bytes: u64,
    /// Cap on the sum of all scratch folders; `None` for no cap.
    pub disk_bytes: Option<u64>,
    /// Sequential speed of each worker's disk, a second; `None` where nobody knows.
    pub disk_bytes_per_second: Option<f64>,
    /// Which executor.
    pub executor: Executor,
    /// Whether runs on disk are asked for even where memory suffices.
    pub out_of_core: bool,
    /// Residues carried at once; `None` lets the planner choose.
    pub residues_per_sweep: Option<u32>,
    /// Longest window, in cells; `None` lets the planner choose.
    pub window: Option<u32>,
    /// Whether the counts of all shorter boards are wanted.
    pub series: bool,
}

impl Offer {
    /// Runs on disks of which nothing is known, and nothing asked for but the executor.
    pub const fn with_runs(executor: Executor, workers: u32, threads: u32, memory_bytes: u64) -> Self {
        Self {
            workers,
            threads,
            memory_bytes,
            cache_bytes: 0,
            disk_bytes: None,
            disk_bytes_per_second: None,
            executor,
            out_of_core: true,
            residues_per_sweep: None,
            window: None,
            series: false,
        }
    }
}
