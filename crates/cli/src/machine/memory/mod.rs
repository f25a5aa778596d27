//! The memory that this process can still take: the least of what the machine has free and what each limit leaves.
//!
//! ```text
//!   free           MemAvailable of /proc/meminfo
//!   commit limit   CommitLimit - Committed_AS, where the system refuses more (vm.overcommit_memory = 2)
//!   groups         limit - use without file cache, of the process's control group and of each one above it
//!   ulimit -v, -d  the limit - what the process has
//! ```
//!
//! Files come from below a root folder, so that tests can read other machines' files. Cost: some ten small files.

mod groups;

use std::fmt;
use std::path::Path;

use crate::terminal::units::show_bytes;

/// Parts of the available memory that a default takes, in quarters. The rest is for other programs and the file cache.
const DEFAULT_QUARTERS: u64 = 3;
/// One part in this many of the available memory is never taken: the system's own estimate is not exact.
const KEPT_ONE_IN: u64 = 16;
/// One part in this many of an address space is not for counts: it holds memory that is reserved and never touched.
const RESERVED_ONE_IN: u64 = 4;

/// Name of the limit on the address space.
const ADDRESS_SPACE: &str = "Max address space";

/// What limits the memory of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Limit {
    Free,
    Commit,
    /// The file of a control group that holds the limit, as this process sees it.
    Group(String),
    /// `ulimit` with this option.
    Process(&'static str),
}

/// Memory that this process can still take.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Available {
    bytes: u64,
    limit: Limit,
}

impl fmt::Display for Available {
    /// `"12 GiB are free"`, `"the limit in /sys/fs/cgroup/memory.max leaves 1 GiB"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = show_bytes(self.bytes);
        match &self.limit {
            Limit::Free => write!(f, "{bytes} are free"),
            Limit::Commit => write!(f, "the system's commit limit leaves {bytes}"),
            Limit::Group(file) => write!(f, "the limit in {file} leaves {bytes}"),
            Limit::Process(option) => write!(f, "the limit of `ulimit {option}` leaves {bytes}"),
        }
    }
}

/// The memory of this machine, as far as the system tells.
#[derive(Clone, Debug)]
pub(crate) struct MachineMemory(Option<Available>);

/// Memory for a process, and what to tell its user.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Granted {
    bytes: u64,
    /// Why this is less than was asked for.
    lowered: Option<String>,
}

impl MachineMemory {
    /// The memory that this process can take now.
    pub(crate) fn now() -> Self {
        Self::below(Path::new("/"))
    }

    fn below(root: &Path) -> Self {
        let all = free(root).into_iter().chain(commit(root)).chain(groups::limits(root)).chain(process(root));
        Self(all.min_by_key(|available| available.bytes))
    }

    /// Memory that this process can take. `None` where the system does not tell.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.0.as_ref().map(|available| available.bytes)
    }

    /// Default memory: three quarters of what there is. `unknown_bytes` where the system does not tell.
    pub(crate) fn default_bytes(&self, unknown_bytes: u64) -> u64 {
        self.bytes().map_or(unknown_bytes, |bytes| bytes / 4 * DEFAULT_QUARTERS)
    }

    /// A default of `bytes`, or less where the machine has less.
    pub(crate) fn default_of(&self, bytes: u64) -> u64 {
        self.default_bytes(bytes).min(bytes)
    }

    /// What limits the memory, to follow a message that `needed_bytes` are needed: `"; on this machine 12 GiB are free"`. Empty
    /// where the machine can give so much.
    pub(crate) fn remark(&self, needed_bytes: u64) -> String {
        let available = self.0.as_ref().filter(|available| needed_bytes > most(available.bytes));
        available.map_or_else(String::new, |available| format!("; on this machine {available}"))
    }

    /// The memory that a command line asks for, within what the machine can give. `tell` hears why it is less.
    pub(crate) fn granted(&self, asked: Option<u64>, tell: impl FnOnce(&str)) -> Option<u64> {
        let granted = self.grant(asked?);
        granted.lowered.as_deref().map(tell);
        Some(granted.bytes)
    }

    /// `asked` bytes, or what the machine can give if that is less.
    fn grant(&self, asked: u64) -> Granted {
        match &self.0 {
            Some(available) if asked > most(available.bytes) => {
                let bytes = most(available.bytes);
                let (less, given) = (show_bytes(bytes), show_bytes(asked));
                let lowered = format!("--memory is lowered from {given} to {less}: {available}");
                Granted { bytes, lowered: Some(lowered) }
            }
            _ => Granted { bytes: asked, lowered: None },
        }
    }
}

/// The most that a process may ask for.
const fn most(bytes: u64) -> u64 {
    bytes - bytes / KEPT_ONE_IN
}

/// A file below `root`.
fn read(root: &Path, file: &str) -> Option<String> {
    std::fs::read_to_string(root.join(file.trim_start_matches('/'))).ok()
}

/// The number behind `name` in lines such as `MemAvailable:  23968704 kB`, in bytes.
fn kibibytes(lines: &str, name: &str) -> Option<u64> {
    let line = lines.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// What programs can take without swapping. Kernels before 3.14 tell its largest parts alone.
fn free(root: &Path) -> Option<Available> {
    let info = read(root, "proc/meminfo")?;
    let of = |name| kibibytes(&info, name);
    let parts = || Some(of("MemFree")?.saturating_add(of("Buffers")?).saturating_add(of("Cached")?));
    Some(Available { bytes: of("MemAvailable").or_else(parts)?, limit: Limit::Free })
}

/// What may still be reserved, where the system keeps count of it.
fn commit(root: &Path) -> Option<Available> {
    if read(root, "proc/sys/vm/overcommit_memory")?.trim() != "2" {
        return None;
    }
    let info = read(root, "proc/meminfo")?;
    let left = kibibytes(&info, "CommitLimit")?.saturating_sub(kibibytes(&info, "Committed_AS")?);
    Some(Available { bytes: left - left / RESERVED_ONE_IN, limit: Limit::Commit })
}

/// Whether a limit on the address space of this process is set.
pub(super) fn has_address_limit() -> bool {
    limit(&read(Path::new("/"), "proc/self/limits").unwrap_or_default(), ADDRESS_SPACE).is_some()
}

/// What the limits on this process leave of its address space. `None` if there is no limit.
pub(super) fn process_limit_bytes() -> Option<u64> {
    process(Path::new("/")).iter().map(|available| available.bytes).min()
}

/// The soft limit of this name in `/proc/self/limits`. `None` if there is none.
fn limit(limits: &str, name: &str) -> Option<u64> {
    limits.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

/// What the limits on this process leave.
fn process(root: &Path) -> Vec<Available> {
    let limits = read(root, "proc/self/limits").unwrap_or_default();
    let status = read(root, "proc/self/status").unwrap_or_default();
    let left = |name: &str, has: &str, option| {
        let left = limit(&limits, name)?.saturating_sub(kibibytes(&status, has).unwrap_or(0));
        Some(Available { bytes: left - left / RESERVED_ONE_IN, limit: Limit::Process(option) })
    };
    let all = [left(ADDRESS_SPACE, "VmSize", "-v"), left("Max data size", "VmData", "-d")];
    all.into_iter().flatten().collect()
}

/// Whether a text says something as one of the files that are read here.
pub(crate) fn says_something(text: &str) -> bool {
    let names = ["MemAvailable", "MemFree", "CommitLimit", "VmSize"];
    let told = names.iter().any(|name| kibibytes(text, name).is_some()) | limit(text, ADDRESS_SPACE).is_some();
    told | (groups::folders(text, text) > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const MEMINFO: &str = "MemTotal: 24000000 kB\nMemFree: 1000 kB\nMemAvailable: 2097152 kB\nBuffers: 24 kB\n\
                           Cached: 1024 kB\nCommitLimit: 1048576 kB\nCommitted_AS: 524288 kB\n";
    const V2: &str = "31 27 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n";
    const V1: &str = "31 27 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                      34 31 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

    /// The memory that the system below a root with these files has.
    fn available(files: &[(&str, &str)]) -> Option<Available> {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        MachineMemory::below(root.path()).0
    }

    fn check(what: &str, files: &[(&str, &str)], expected: Option<(u64, Limit)>) {
        let expected = expected.map(|(bytes, limit)| Available { bytes, limit });
        assert_eq!(available(files), expected, "{what}");
    }

    fn group(file: &str) -> Limit {
        Limit::Group(file.to_owned())
    }

    #[test]
    fn the_machine_and_its_processes_limit_memory() {
        check("nothing is known", &[], None);
        check("only free", &[("proc/meminfo", MEMINFO)], Some((2048 * MIB, Limit::Free)));
        let old = MEMINFO.replace("MemAvailable", "MemOther");
        check("an old kernel", &[("proc/meminfo", &old)], Some((2 * MIB, Limit::Free)));
        check("not a number", &[("proc/meminfo", "MemAvailable: many kB\n")], None);
        for (mode, expected) in [("0\n", (2048 * MIB, Limit::Free)), ("2\n", (384 * MIB, Limit::Commit))] {
            let files = [("proc/meminfo", MEMINFO), ("proc/sys/vm/overcommit_memory", mode)];
            check(mode, &files, Some(expected));
        }
        let limits = |space: &str, data: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max data size             {data}            unlimited            bytes     \n\
                 Max address space         {space}            unlimited            bytes     \n"
            )
        };
        for (space, data, expected) in [
            ("unlimited", "unlimited", (2048 * MIB, Limit::Free)),
            ("1073741824", "unlimited", (750 * MIB, Limit::Process("-v"))),
            ("1073741824", "402653184", (276 * MIB, Limit::Process("-d"))),
            ("1048576", "unlimited", (0, Limit::Process("-v"))),
        ] {
            let limits = limits(space, data);
            let status = "VmPeak:\t 99999 kB\nVmSize:\t 24576 kB\nVmData:\t 16384 kB\n";
            let files = [("proc/meminfo", MEMINFO), ("proc/self/limits", &limits), ("proc/self/status", status)];
            check(&limits, &files, Some(expected));
        }
    }

    /// Version 2: the process's own group, those above it, what they use, and what of that is file cache.
    #[test]
    fn groups_of_version_2_limit_memory() {
        let at = |path: &str| format!("0::{path}\n");
        let nested = at("/keima.slice/keima-count.slice/run-7.scope");
        let inner = "sys/fs/cgroup/keima.slice/keima-count.slice/run-7.scope";
        let outer = "sys/fs/cgroup/keima.slice";
        let all = |own: &str, mounts: &str, more: &[(String, &str)], expected: (u64, Limit)| {
            let base = [("proc/meminfo", MEMINFO), ("proc/self/cgroup", own), ("proc/self/mountinfo", mounts)];
            let more = more.iter().map(|(file, text)| (file.as_str(), *text));
            check(
                &format!("{own} {more:?}", more = more.clone().collect::<Vec<_>>()),
                &base.into_iter().chain(more).collect::<Vec<_>>(),
                Some(expected),
            );
        };
        let free = || (2048 * MIB, Limit::Free);
        all(&nested, V2, &[], free());
        all(&nested, V2, &[(format!("{inner}/memory.max"), "max\n")], free());
        all(
            &nested,
            V2,
            &[(format!("{inner}/memory.max"), "1073741824\n")],
            (1024 * MIB, group(&format!("/{inner}/memory.max"))),
        );
        all(
            &nested,
            V2,
            &[(format!("{outer}/memory.max"), "1073741824\n")],
            (1024 * MIB, group(&format!("/{outer}/memory.max"))),
        );
        all(
            &nested,
            V2,
            &[(format!("{outer}/memory.high"), "536870912\n")],
            (512 * MIB, group(&format!("/{outer}/memory.high"))),
        );
        all(
            &nested,
            V2,
            &[(format!("{inner}/memory.max"), "536870912\n"), (format!("{outer}/memory.max"), "268435456\n")],
            (256 * MIB, group(&format!("/{outer}/memory.max"))),
        );
        // Others in the group use 300 MiB, of which 200 are file cache.
        let used = [
            (format!("{outer}/memory.max"), "1073741824\n"),
            (format!("{outer}/memory.current"), "314572800\n"),
            (format!("{outer}/memory.stat"), "anon 1\ninactive_file 104857600\nactive_file 104857600\n"),
        ];
        all(&nested, V2, &used, (924 * MIB, group(&format!("/{outer}/memory.max"))));
        // A container sees its own group as the root. A limit there has a file only in a container.
        let root = [("sys/fs/cgroup/memory.max".to_owned(), "134217728\n")];
        all(&at("/"), V2, &root, (128 * MIB, group("/sys/fs/cgroup/memory.max")));
        // A group outside the container's view: what is mounted counts.
        all(&at("/../../other"), V2, &root, (128 * MIB, group("/sys/fs/cgroup/memory.max")));
        // Mounted from a group of the host, in a folder with a space.
        let part = "31 27 0:38 /docker/abc /a\\040b rw,relatime shared:1 - cgroup2 cgroup2 rw\n";
        let limit = [("a b/in/memory.max".to_owned(), "134217728\n")];
        all(&at("/docker/abc/in"), part, &limit, (128 * MIB, group("/a b/in/memory.max")));
        all(&at("/docker/abcd/in"), part, &limit, free());
    }

    #[test]
    fn groups_of_version_1_limit_memory() {
        const NONE: &str = "9223372036854771712\n";
        let dir = "sys/fs/cgroup/memory";
        let all = |own: &str, more: &[(String, &str)], expected: (u64, Limit)| {
            let own = format!("4:cpu,cpuacct:/\n3:memory:{own}\n0::/elsewhere\n");
            let base = [("proc/meminfo", MEMINFO), ("proc/self/cgroup", &own), ("proc/self/mountinfo", V1)];
            let more = more.iter().map(|(file, text)| (file.as_str(), *text));
            check(&own, &base.into_iter().chain(more).collect::<Vec<_>>(), Some(expected));
        };
        let limit = |folder: &str, text| (format!("{dir}{folder}/memory.limit_in_bytes"), text);
        let limited = |folder: &str| group(&format!("/{dir}{folder}/memory.limit_in_bytes"));
        all("/a/b", &[limit("", NONE), limit("/a", NONE), limit("/a/b", NONE)], (2048 * MIB, Limit::Free));
        all("/a/b", &[limit("", NONE), limit("/a", "1073741824\n"), limit("/a/b", NONE)], (1024 * MIB, limited("/a")));
        all("/a/b", &[limit("/a", "1073741824\n"), limit("/a/b", "536870912\n")], (512 * MIB, limited("/a/b")));
        all("/", &[limit("", "134217728\n")], (128 * MIB, limited("")));
        let used = [
            limit("/a", "1073741824\n"),
            (format!("{dir}/a/memory.usage_in_bytes"), "314572800\n"),
            (format!("{dir}/a/memory.stat"), "inactive_file 5\ntotal_inactive_file 104857600\ntotal_active_file 0\n"),
        ];
        all("/a", &used, (824 * MIB, limited("/a")));
        // The limit of a group that this process does not see.
        let hidden = [
            limit("/a", NONE),
            (format!("{dir}/a/memory.stat"), "hierarchical_memory_limit 268435456\ntotal_active_file 0\n"),
        ];
        all("/a", &hidden, (256 * MIB, group(&format!("/{dir}/a/memory.stat"))));
    }

    #[test]
    fn memory_is_granted_within_what_there_is() {
        let of = |bytes| MachineMemory(Some(Available { bytes, limit: Limit::Free }));
        let (much, none) = (of(16 << 30), MachineMemory(None));
        for (memory, asked, bytes, lowered) in [
            (&much, 15 << 30, 15 << 30, None),
            (&much, 16 << 30, 15 << 30, Some("--memory is lowered from 16 GiB to 15 GiB: 16 GiB are free")),
            (&much, 1 << 20, 1 << 20, None),
            (&none, 1 << 50, 1 << 50, None),
        ] {
            let expected = Granted { bytes, lowered: lowered.map(str::to_owned) };
            assert_eq!(memory.grant(asked), expected, "{memory:?} {asked}");
        }
        assert_eq!(much.remark(15 << 30) + &none.remark(1 << 60), "");
        assert_eq!(much.remark(16 << 30), "; on this machine 16 GiB are free");
        assert_eq!((much.default_bytes(7), none.default_bytes(7)), (12 << 30, 7));
        assert_eq!((much.default_of(2 << 30), of(1 << 30).default_of(2 << 30)), (2 << 30, 768 << 20));
        assert_eq!(none.default_of(2 << 30), 2 << 30);
    }
}
