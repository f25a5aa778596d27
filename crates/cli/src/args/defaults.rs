//! What stands below the command line: the configuration file, and variables that are set to nothing.

pub(crate) mod config;
pub(in crate::args) mod empty;
