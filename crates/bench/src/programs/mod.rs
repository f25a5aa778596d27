//! Programs that are measured from outside: keima's counts and clusters, and golegal.

pub(crate) mod cluster;
pub(crate) mod golegal;
pub(crate) mod program;
pub(crate) mod watch;
pub(crate) mod whole_count;
