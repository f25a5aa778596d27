//! Memory of the tasks of one worker: shares of a [`pool`], and an [`allowance`] for tables while they are made. Requests
//! for either are served first come, first served ([`fifo`]).

pub(crate) mod allowance;
pub(crate) mod demand;
pub(crate) mod fifo;
pub(crate) mod pool;
