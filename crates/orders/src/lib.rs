//! What a task is told: one [`TaskOrder`] that the coordinator makes, the wire carries and the engine carries out.
//!
//! The coordinator, a worker and the engine use the same struct. It changes form at the wire only.
//!
//! Architecture invariant: nothing here decides anything; these are words.

#![forbid(unsafe_code)]

mod ids;
mod inputs;
mod order;
mod origin;

pub use ids::{AttemptId, JobId, WorkerId};
pub use inputs::{Holder, InputRun};
pub use order::{BlockOrder, KeptOrder, Lanes, TaskOrder};
pub use origin::Origin;
