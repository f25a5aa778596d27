//! The `keima` program. All of it but the allocator is in the library beside it.

#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Gives memory of tables and buffers back to the system soon, so that a count keeps to its memory limit.
#[cfg(target_arch = "x86_64")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    keima_cli::run(std::env::args_os())
}
