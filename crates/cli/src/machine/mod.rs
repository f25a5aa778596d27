//! What the machine gives a count: cores, memory, a state folder, and signals to stop.
//!
//! ```text
//!   arenas    few arenas of the allocator where addresses are scarce
//!   memory    what this process can still take
//!   threads   whether the system gives as many as are needed
//!   stop      signals that ask the process to stop, once and twice
//! ```

pub(crate) mod arenas;
mod memory;
mod stop;
mod threads;

use std::path::PathBuf;

pub(crate) use self::memory::{MachineMemory, says_something};
pub(crate) use self::stop::{asked_to_stop, is_stopping};
pub(crate) use self::threads::Needed;

/// Number of cores that this process may use.
pub(crate) fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1024))
}

/// Folder for keima's state: `$XDG_STATE_HOME/keima` or `~/.local/state/keima`. `None` where neither `XDG_STATE_HOME`
/// nor `HOME` is set.
pub(crate) fn state_folder() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    Some(state.or_else(home)?.join("keima"))
}
