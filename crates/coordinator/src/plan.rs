//! The planner: from a problem and a user's limits to moduli, sweeps, windows and a forecast of disk.
//!
//! Everything here is a pure function of its arguments: the same submission gives the same plan everywhere. The order
//! of choice for streams (for blocks see `plan/block.rs`): moduli, by the proved bound; then, for each number of sweeps,
//! fewest first, the windows that the task memory allows and the disk that follows from both. The first plan that fits
//! is taken. Cost: microseconds, and a search for a few primes.

pub use self::block::{block_plan, in_memory_plan};
pub use self::choice::choose_plan;
pub use self::error::PlanError;
pub use self::limits::PlanLimits;
pub(crate) use self::moduli::{bound_product, bound_text};
pub use self::refit::refit;
pub use self::stages::{BlockPlan, Execution, LARGE_VECTOR_BYTES, Plan, Stage};
pub use self::stored::PlanFlaw;
pub use self::stream::plan;

mod block;
mod choice;
mod error;
#[cfg(test)]
pub(crate) mod example;
mod forecast;
mod limits;
mod moduli;
mod refit;
mod stages;
mod stored;
mod stream;
#[cfg(test)]
mod tests;
