//! What a run of the benchmark says.

pub(crate) mod machine;
