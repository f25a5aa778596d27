//! What the machine gives a count: cores, memory, a state folder, and signals to stop.

use std::path::PathBuf;

/// Number of cores that this process may use.
pub(crate) fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1024))
}

/// Memory that the system can give to a new process without swapping, within a container's limit. `None` where the
/// system does not tell.
pub(crate) fn available_memory_bytes() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024;
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limits = limits.iter().filter_map(|file| std::fs::read_to_string(file).ok()?.trim().parse::<u64>().ok());
    Some(limits.fold(available, u64::min))
}

/// Peak resident memory of this process. `None` where the system does not tell.
pub(crate) fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Folder for keima's state: `$XDG_STATE_HOME/keima` or `~/.local/state/keima`. `None` where neither `XDG_STATE_HOME`
/// nor `HOME` is set.
pub(crate) fn state_folder() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    Some(state.or_else(home)?.join("keima"))
}

/// Resolves when the process is asked to stop (interrupt or terminate).
pub(crate) async fn asked_to_stop() {
    use tokio::signal::unix::{SignalKind, signal};
    // Without a handler the signal ends the process, as was asked for.
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}
