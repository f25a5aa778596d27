//! The coordinator's times and switches.

use crate::api::Millis;
use crate::store::journal::Durability;

/// What the coordinator's owner may choose. The defaults suit a cluster; one process (`keima count`) turns off what
/// only a cluster needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// A lease ends this long after the grant or the last heartbeat that names the attempt. A worker that is silent
    /// for as long counts as away.
    pub lease_millis: Millis,
    /// Time between a worker's heartbeats; a few fit into a lease.
    pub heartbeat_millis: Millis,
    /// How long the coordinator waits for runs on a worker that is away. After that they count as lost.
    pub grace_millis: Millis,
    /// A stage writes durably if the last durable boundary is older than this when the stage is cut.
    pub durable_interval_millis: Millis,
    /// Whether column ends get a second copy on another worker, where there is one.
    pub second_copies: bool,
    /// A column end gets second copies if the last one that did is older than this. Copies save time after a lost disk;
    /// where columns are short, copying each would cost more than that.
    pub copy_interval_millis: Millis,
    /// What is stored.
    pub durability: Durability,
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
            durability: Durability::Cluster,
            speculate: true,
            speculate_factor: 3,
            speculate_min_millis: 5_000,
            disk_wait_millis: 60_000,
        }
    }
}
