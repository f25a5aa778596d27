//! The gRPC types that are generated from `proto/keima/v1`. Only `cluster` uses them: it checks and converts them.

pub use prost::Message;

/// Package `keima.v1`.
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]
pub mod v1 {
    tonic::include_proto!("keima.v1");

    /// The encoded file descriptor set, for the reflection service.
    pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/keima.v1.bin"));
}
