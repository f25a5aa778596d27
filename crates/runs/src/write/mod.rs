//! Writing runs: record by record, some lanes at a time, or as a second copy; and publishing the file.

mod disk;
mod intake;
mod publish;
mod sliced;
mod writer;

pub use disk::DiskBudget;
pub use intake::{Intake, Passing};
pub use publish::{flush_runs, publish_durably, run_path, temporary_path};
pub use sliced::{Section, SlicedWriter};
pub use writer::{RunOptions, RunWriter};
