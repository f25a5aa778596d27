//! What a worker may use, and why it cannot start.

use std::path::PathBuf;

use keima_blocks::limits::LEAST_TASK_BYTES;
use keima_blocks::process::{PROCESS_OVERHEAD_BYTES, process_memory_bytes};
use keima_blocks::sizes::show_bytes;

use crate::access::identity::Fingerprint;
use crate::access::secret::Secret;
use crate::scratch::ScratchError;
use crate::transport::link::LinkError;

/// What a worker may use.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// Its scratch folder. Made if it is missing.
    pub scratch: PathBuf,
    /// Memory of the whole process.
    pub memory_bytes: u64,
    /// Cap on the scratch folder.
    pub disk_bytes: u64,
    /// Tasks at a time.
    pub slots: u32,
}

/// What a worker has in a cluster with TLS.
#[derive(Clone, Debug)]
pub struct RunGuard {
    /// Of the certificate of its run service.
    pub fingerprint: Fingerprint,
    /// The token that it shows to other workers, and that they show to it.
    pub token: Secret,
}

/// Why a worker cannot start or go on.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The scratch folder cannot be used.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// The coordinator refuses this worker for good.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The memory is too small.
    #[error(
        "{} of memory are too little: the process itself needs {}, and each of {slots} tasks at least {}; raise --memory to \
         {}{}",
        show_bytes(*memory_bytes),
        show_bytes(PROCESS_OVERHEAD_BYTES),
        show_bytes(LEAST_TASK_BYTES),
        show_bytes(process_memory_bytes(LEAST_TASK_BYTES, *slots)),
        if *slots > 1 { ", or use fewer --threads" } else { "" }
    )]
    Memory {
        /// The memory of the process.
        memory_bytes: u64,
        /// Tasks at a time.
        slots: u32,
    },
}
