//! What travels between users, coordinator and workers, and how: in one process or over gRPC.

pub(crate) mod convert;
pub(crate) mod grpc;
pub(crate) mod link;
