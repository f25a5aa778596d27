//! Forecasts a count before it runs: states, bytes, core-hours and time.
//!
//! ```text
//!   problem, offer --Outline::new--> plan, stages with their states and bytes        (exact, pure)
//!                         |
//!   small boards --measure--> Speeds       Outline, Speeds, offer --Times::new--> seconds    (pure)
//! ```
//!
//! [`outline`] asks the planner that will plan the job, and adds up states and bytes of its stages. The problem knows its
//! numbers of states; bytes follow from them. [`measure`] runs the job's executor on small boards of the same problem.
//! [`times`] multiplies, and states its assumptions. Only [`measure`] and [`measure_disk`] depend on the machine.

mod families;
mod measure;
mod outline;
mod times;

use keima_coordinator::Executor;

pub use measure::{MeasureError, measure, measure_disk};
pub use outline::{Outline, StageOutline, Way};
pub use times::{PerState, Speeds, StageTime, SweepSpeed, Times};

/// The machines that a user has, and the user's wishes.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// Number of workers; 1 stands for `keima count`.
    pub workers: u32,
    /// Threads of each.
    pub threads: u32,
    /// Memory of each.
    pub memory_bytes: u64,
    /// Memory of each that caches files besides. What is read from this cache is no disk traffic.
    pub cache_bytes: u64,
    /// Cap on the sum of all scratch folders; `None` for no cap.
    pub disk_bytes: Option<u64>,
    /// Sequential speed of each worker's disk; `None` if unknown.
    pub disk_bytes_per_second: Option<f64>,
    /// The wanted executor.
    pub executor: Executor,
    /// Whether the user wants runs on disk even if memory suffices.
    pub out_of_core: bool,
    /// Residues per sweep; `None` lets the planner choose.
    pub residues_per_sweep: Option<u32>,
    /// Longest window, in cells; `None` lets the planner choose.
    pub window: Option<u32>,
    /// Whether the user wants the counts of all shorter boards.
    pub series: bool,
}

impl Offer {
    /// Runs on disks of unknown speed, and no wish but the executor.
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
