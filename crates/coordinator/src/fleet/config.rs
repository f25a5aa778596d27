//! The machine's few times and switches.

use crate::Millis;

/// What the coordinator's owner may choose. The defaults suit a cluster; one process (`keima count`) turns off what
/// only a cluster needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// A lease runs out this long after the grant or the last heartbeat that names the attempt; a worker that is silent
    /// for as long counts as away.
    pub lease_millis: Millis,
    /// How often workers are asked for heartbeats; a few fit into a lease.
    pub heartbeat_millis: Millis,
    /// How long runs on a worker that is away are awaited before they count as lost.
    pub grace_millis: Millis,
    /// A stage is written durably when the last durable boundary is older than this at the time when it is cut.
    pub durable_interval_millis: Millis,
    /// Whether column ends get a second copy on another worker where there is one.
    pub second_copies: bool,
    /// A column end gets one when the last that did is older than this, or the job, if none did: what a lost disk costs is
    /// time, and where columns are short copies cost more of it than they save.
    pub copy_interval_millis: Millis,
    /// Whether grants, single commits and every boundary are stored. If not, only submissions, durable boundaries,
    /// functionals and results are: a short run then hardly writes, and a restart goes back to a durable boundary.
    pub persist_grants: bool,
    /// Whether slow last tasks of a stage are granted a second time.
    pub speculate: bool,
    /// A task is slow when it takes this many times the median of its stage's finished tasks ...
    pub speculate_factor: u64,
    /// ... and more than this.
    pub speculate_min_millis: Millis,
    /// How long a worker whose scratch folder is full gets no tasks of the job.
    pub disk_wait_millis: Millis,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            lease_millis: 30_000,
            heartbeat_millis: 5_000,
            grace_millis: 60_000,
            durable_interval_millis: 60_000,
            second_copies: true,
            copy_interval_millis: 60_000,
            persist_grants: true,
            speculate: true,
            speculate_factor: 3,
            speculate_min_millis: 5_000,
            disk_wait_millis: 60_000,
        }
    }
}
