//! Calls between users, coordinator and workers: the link of a worker, the gRPC services, and their messages.

pub(crate) mod convert;
pub(crate) mod grpc;
pub(crate) mod link;
