//! How much memory this process has in use, and had at most.
//!
//! Cost: a read of `/proc/self/status`.

/// Memory of this process that is in use, as the system counts it. `None` where the system does not tell.
pub fn resident_bytes() -> Option<u64> {
    told("VmRSS:")
}

/// Most of that so far.
pub fn peak_resident_bytes() -> Option<u64> {
    told("VmHWM:")
}

fn told(name: &str) -> Option<u64> {
    parse(&std::fs::read_to_string("/proc/self/status").ok()?, name)
}

fn parse(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
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
            assert_eq!(parse(status, "VmRSS:"), expected, "{status:?}");
        }
        assert_eq!(parse("VmHWM:\t 9 kB\nVmRSS:\t 8 kB\n", "VmHWM:"), Some(9 << 10));
        let (now, most) = (resident_bytes(), peak_resident_bytes());
        assert!(now > Some(1 << 20) && most >= now, "this process: {now:?}, at most {most:?}");
    }
}
