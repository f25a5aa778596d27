//! One task of the block executor out of core.

pub(crate) mod end_scan;
pub(crate) mod kept_product;
pub(crate) mod lane_slice;
pub(crate) mod stage;
pub(crate) mod write_runs;
