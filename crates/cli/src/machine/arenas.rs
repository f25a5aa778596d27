//! Few arenas of the C library's allocator where the address space is limited (`ulimit -v`).
//!
//! glibc reserves 64 MiB of addresses for each thread that asks its allocator, as GMP and zstd do. Nobody touches most of
//! it, but it counts: with ten threads a limit of 500 MiB was gone before a count began. The number of arenas is an
//! environment variable that is read when a program starts, so the program starts itself again with it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::memory;

/// The variable that sets the number of arenas.
const VARIABLE: &str = "MALLOC_ARENA_MAX";

/// Starts the program again with one arena, if the address space is limited and nobody has chosen a number. Returns where
/// nothing is to be done, or where that fails: then there is less memory.
pub(crate) fn limit(args: &[OsString]) {
    if std::env::var_os(VARIABLE).is_some() || !memory::has_address_limit() {
        return;
    }
    let (Ok(program), Some((name, rest))) = (std::env::current_exe(), args.split_first()) else { return };
    // It returns only if it fails.
    let _ = Command::new(program).arg0(name).args(rest).env(VARIABLE, "1").exec();
}
