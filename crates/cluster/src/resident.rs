//! How much memory this process has in use.

/// Memory of this process that is in use, as the system counts it. `None` where the system does not tell.
pub fn resident_bytes() -> Option<u64> {
    parse(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn parse(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        for (status, expected) in [
            ("Name:\tkeima\nVmHWM:\t 9 kB\nVmRSS:\t    1234 kB\nThreads:\t2\n", Some(1234 << 10)),
            ("VmRSS:\t0 kB\n", Some(0)),
            ("VmRSS:\t18446744073709551615 kB\n", None),
            ("VmRSS:\t1234 pages\n", None),
            ("VmRSS:\n", None),
            ("", None),
        ] {
            assert_eq!(parse(status), expected, "{status:?}");
        }
        assert!(resident_bytes().is_some_and(|bytes| bytes > 1 << 20), "this process: {:?}", resident_bytes());
    }
}
