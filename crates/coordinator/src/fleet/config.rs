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
    /// Time without progress after which an attempt's lease ends, however often its worker is heard of: its disk may hang.
    /// Much sooner, after the time of a lease, such a task is granted once more to a worker that is idle.
    pub stall_millis: Millis,
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
    /// A column end goes to the archive if the last one there is older than this; within a column that takes longer, a boundary
    /// too. 0 for each column end and nothing within. `None` where there is no archive.
    pub archive_interval_millis: Option<Millis>,
    /// Any boundary goes to the archive if so many stages were done since the last that did. `None`: only time decides.
    pub archive_interval_stages: Option<u64>,
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
    /// Of each worker's work, roughly one part in so many is done again by another worker and compared, and all of the stages
    /// that read the answer, while two workers are there. 0 for none.
    pub recount_one_in: u64,
    /// Tasks get at most about so many records, where the plan would have given them more, and workers share the lanes of
    /// families with more; `None` for the plan's own figures. For tests: small boards have one task a stage otherwise.
    pub most_task_records: Option<u64>,
    /// Most ended jobs in the store; the first to end leave it. `None` for no limit.
    pub keep_jobs: Option<usize>,
    /// Time after its end when a job leaves the store. `None` for never.
    pub keep_millis: Option<Millis>,
    /// Build of this program; workers of another are refused. Empty where nobody says it.
    pub build: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            lease_millis: 30_000,
            stall_millis: 600_000,
            heartbeat_millis: 5_000,
            grace_millis: 60_000,
            durable_interval_millis: 60_000,
            second_copies: true,
            copy_interval_millis: 60_000,
            archive_interval_millis: None,
            archive_interval_stages: None,
            durability: Durability::Cluster,
            speculate: true,
            speculate_factor: 3,
            speculate_min_millis: 5_000,
            disk_wait_millis: 60_000,
            recount_one_in: 64,
            most_task_records: None,
            keep_jobs: None,
            keep_millis: None,
            build: String::new(),
        }
    }
}
