//! One task of the block executor out of core.
//!
//! [`run`] takes the task's groups through the window one after the other. A group gets memory and threads
//! ([`share`]). Its states are read ([`read_group`]) and go through the passes some lanes at a time ([`lane_slice`]).
//! Then they are written ([`write_runs`]), or multiplied with a vector that was kept ([`kept_product`]).

pub(crate) mod end_scan;
pub(crate) mod header;
pub(crate) mod kept_product;
pub(crate) mod kept_vector;
pub(crate) mod lane_slice;
pub(crate) mod read_group;
pub(crate) mod run;
pub(crate) mod share;
pub(crate) mod stage;
pub(crate) mod work;
pub(crate) mod write_runs;
