//! Memory limits of the process's control group and of every group above it.
//!
//! ```text
//!   /proc/self/cgroup      0::/keima.slice/run-7.scope        the group, per hierarchy
//!   /proc/self/mountinfo   ... /docker/abc /sys/fs/cgroup ... - cgroup2 ...    where it is mounted, and from which group on
//!   version 2              memory.max, memory.high; memory.current
//!   version 1              memory.limit_in_bytes; memory.usage_in_bytes
//!   both                   memory.stat: file cache, which gives way, and in version 1 limits of groups out of sight
//! ```
//!
//! A group above the mounted one cannot be read; version 1 tells its limit all the same.

use std::path::{Component, Path};

use super::{Available, Limit, read};

/// A version of control groups.
#[derive(Clone, Copy)]
struct Version {
    limits: &'static [&'static str],
    used: &'static str,
    /// In `memory.stat`: the parts of `used` that give way.
    cache: [&'static str; 2],
    /// In `memory.stat`: the least limit of all groups above.
    above: Option<&'static str>,
}

const V1: Version = Version {
    limits: &["memory.limit_in_bytes"],
    used: "memory.usage_in_bytes",
    cache: ["total_inactive_file", "total_active_file"],
    above: Some("hierarchical_memory_limit"),
};
const V2: Version = Version {
    limits: &["memory.max", "memory.high"],
    used: "memory.current",
    cache: ["inactive_file", "active_file"],
    above: None,
};
/// Version 1 writes "no limit" as a number near 2^63.
const UNLIMITED: u64 = 1 << 62;

/// A mounted hierarchy of groups that may limit memory.
struct Mount {
    /// The group that is mounted.
    group: String,
    folder: String,
    version: Version,
}

/// What each limit on the process's groups leaves.
pub(super) fn limits(root: &Path) -> Vec<Available> {
    let own = read(root, "proc/self/cgroup").unwrap_or_default();
    let mounts = read(root, "proc/self/mountinfo").unwrap_or_default();
    of_all(&own, &mounts).flat_map(|(folder, version)| of_group(root, &folder, &version)).collect()
}

/// Folders of the process's groups, those of inner groups first, by the texts of `/proc/self/cgroup` and `mountinfo`.
fn of_all(own: &str, mounts: &str) -> impl Iterator<Item = (String, Version)> {
    mounts.lines().filter_map(mount).flat_map(move |mount| {
        let group = own.lines().find_map(|line| group(line, &mount.version));
        let folders = group.and_then(|group| below(&mount, group)).unwrap_or_default();
        folders.into_iter().rev().map(move |folder| (folder, mount.version))
    })
}

/// The number of folders by such texts.
pub(super) fn folders(own: &str, mounts: &str) -> usize {
    of_all(own, mounts).count()
}

/// A line of `/proc/self/mountinfo`, if it mounts groups that may limit memory.
fn mount(line: &str) -> Option<Mount> {
    // ID, parent, device, root, mount point, options ... - type, source, options of the file system
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3).map(unescaped);
    let mut kind = kind.split(' ');
    let version = match (kind.next()?, kind.nth(1)) {
        ("cgroup2", _) => V2,
        ("cgroup", Some(options)) if options.split(',').any(|option| option == "memory") => V1,
        _ => return None,
    };
    Some(Mount { group: place.next()?, folder: place.next()?, version })
}

/// Blanks and backslashes stand as octal numbers: `\040`.
fn unescaped(field: &str) -> String {
    ["\\040 ", "\\011\t", "\\012\n", "\\134\\"].iter().fold(field.to_owned(), |text, code| {
        let (code, character) = code.split_at(4);
        text.replace(code, character)
    })
}

/// The process's group by a line of `/proc/self/cgroup`, if the line is of this version's hierarchy for memory.
fn group<'a>(line: &'a str, version: &Version) -> Option<&'a str> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, group) = (fields.next()?, fields.next()?);
    let own = match version.above {
        None => controllers.is_empty(),
        Some(_) => controllers.split(',').any(|controller| controller == "memory"),
    };
    own.then_some(group)
}

/// Folders of the group and of all groups above it, down from the mounted one. `None` if the mount has other groups. Where
/// the process is outside what a container may see, only the mounted group is known.
fn below(mount: &Mount, group: &str) -> Option<Vec<String>> {
    let within = Path::new(group).strip_prefix(&mount.group).or_else(|other| {
        // With a namespace of its own a process sees `/` or a path beginning with `/..`.
        if group.starts_with("/..") || group == "/" { Ok(Path::new("")) } else { Err(other) }
    });
    let mut folders = vec![mount.folder.trim_end_matches('/').to_owned()];
    for part in within.ok()?.components() {
        let (Component::Normal(name), Some(last)) = (part, folders.last()) else { break };
        folders.push(format!("{last}/{}", name.to_string_lossy()));
    }
    Some(folders)
}

/// What the limits of one group leave.
fn of_group(root: &Path, folder: &str, version: &Version) -> Vec<Available> {
    let number = |file: &str| read(root, &format!("{folder}/{file}"))?.trim().parse::<u64>().ok();
    let stat = read(root, &format!("{folder}/memory.stat")).unwrap_or_default();
    let of_stat = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    let cache = version.cache.iter().filter_map(|name| of_stat(name)).fold(0, u64::saturating_add);
    let used = number(version.used).unwrap_or(0).saturating_sub(cache);
    let own = version.limits.iter().filter_map(|&file| Some((number(file)?, file)));
    let above = version.above.and_then(of_stat).map(|limit| (limit, "memory.stat"));
    own.chain(above)
        .filter(|&(limit, _)| limit < UNLIMITED)
        .map(|(limit, file)| Available {
            bytes: limit.saturating_sub(used),
            limit: Limit::Group(format!("{folder}/{file}")),
        })
        .collect()
}
