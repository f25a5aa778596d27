//! Memory of the tasks of one worker: shares of a [`pool`]. Requests are served first come, first served ([`fifo`]).

pub(crate) mod demand;
pub(crate) mod fifo;
pub(crate) mod pool;
