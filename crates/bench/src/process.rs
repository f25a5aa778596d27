//! Figures of processes, from `/proc`: processor time and peak memory, of this process and of its children.

use std::fs::{read_to_string, write};

/// Unit of the times in `/proc/PID/stat`, the same on every Linux.
const TICKS_A_SECOND: f64 = 100.0;

/// Processor time of this process, and of its children that have ended and were waited for.
pub(crate) fn cpu_seconds() -> (f64, f64) {
    let stat = read_to_string("/proc/self/stat").unwrap_or_default();
    times(&stat).unwrap_or_default()
}

/// Processor time of another process without its children; 0 where the system does not say.
pub(crate) fn cpu_seconds_of(pid: u32) -> f64 {
    times(&read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default()).unwrap_or_default().0
}

/// Times in the text of `/proc/PID/stat`. The program's name, in brackets, may hold anything.
fn times(stat: &str) -> Option<(f64, f64)> {
    let (_, after) = stat.rsplit_once(')')?;
    let ticks: Vec<f64> = after.split_whitespace().skip(11).take(4).filter_map(|text| text.parse().ok()).collect();
    let &[user, system, children_user, children_system] = ticks.as_slice() else { return None };
    Some(((user + system) / TICKS_A_SECOND, (children_user + children_system) / TICKS_A_SECOND))
}

/// Peak memory of a process since it began or since [`forget_peak`]; 0 where the system does not say.
pub(crate) fn peak_bytes(pid: Option<u32>) -> f64 {
    let pid = pid.map_or("self".to_owned(), |pid| pid.to_string());
    kibibytes(&read_to_string(format!("/proc/{pid}/status")).unwrap_or_default(), "VmHWM:")
}

/// Bytes that this process and its ended children read from devices and wrote to them; `None` where the system does not
/// say. Pages of files that were deleted before they were written do not count.
pub(crate) fn device_bytes() -> Option<(f64, f64)> {
    device(&read_to_string("/proc/self/io").ok()?)
}

/// The same from the text of `/proc/PID/io`.
fn device(text: &str) -> Option<(f64, f64)> {
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse::<f64>().ok();
    Some((value("read_bytes:")?, value("write_bytes:")? - value("cancelled_write_bytes:")?))
}

/// Begins a new peak for this process. Where the system refuses, the peak is that of its whole life.
pub(crate) fn forget_peak() {
    let _ = write("/proc/self/clear_refs", "5");
}

/// Memory that is free or can be freed at once.
pub(crate) fn available_bytes() -> f64 {
    kibibytes(&read_to_string("/proc/meminfo").unwrap_or_default(), "MemAvailable:")
}

/// All memory of the machine.
pub(crate) fn total_bytes() -> f64 {
    kibibytes(&read_to_string("/proc/meminfo").unwrap_or_default(), "MemTotal:")
}

fn kibibytes(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0) * 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_in_the_texts() {
        let stat = "17 (a (strange) name) S 1 2 3 4 5 6 7 8 9 10 250 50 1200 300 20 0";
        assert_eq!(times(stat), Some((3.0, 15.0)));
        assert_eq!(times("17 (cut) S 1 2"), None);
        assert!((kibibytes("VmPeak:\t 9 kB\nVmHWM:\t   12 kB\n", "VmHWM:") - 12288.0).abs() < 0.5);
        assert!(kibibytes("", "VmHWM:").abs() < 0.5);
        let io = "rchar: 9\nwchar: 8\nread_bytes: 4096\nwrite_bytes: 20480\ncancelled_write_bytes: 8192\n";
        assert_eq!(device(io), Some((4096.0, 12288.0)));
        assert_eq!(device("read_bytes: 1\n"), None);
    }

    #[test]
    fn this_process_has_some() {
        assert!(peak_bytes(None) > 100_000.0);
        assert!(total_bytes() >= available_bytes());
    }
}
