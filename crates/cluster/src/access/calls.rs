//! The table of calls: which role may call what, and how long the call's message may be.
//!
//! A call that is not in the table is refused. A test holds the table against the description of the services.

use std::fmt;

/// What a caller may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Looks at jobs and workers.
    Reader,
    /// Submits and steers jobs, and does what readers do.
    Client,
    /// Does tasks, and reads the runs of other workers.
    Worker,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 3] = [Self::Reader, Self::Client, Self::Worker];

    /// Its name, as in `reader.token`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Client => "client",
            Self::Worker => "worker",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Path of the method, as `"/keima.v1.JobService/SubmitJob"`.
    pub path: &'static str,
    /// Roles that may call it. `None`: anybody, also without credentials.
    pub roles: Option<&'static [Role]>,
    /// Most bytes of what the caller sends, all messages of the call together.
    pub most_bytes: usize,
}

impl Call {
    /// Whether a caller may call it. `None` stands for one without credentials.
    pub fn admits(&self, role: Option<Role>) -> bool {
        self.roles.is_none_or(|roles| role.is_some_and(|role| roles.contains(&role)))
    }
}

/// A request of a user: a job's specification is small.
pub(crate) const REQUEST_BYTES: usize = 64 << 10;
/// The report of a worker, in messages of at most [`MESSAGE_BYTES`]. The manifest in it is weighed before it is decoded.
pub(crate) const REPORT_BYTES: usize = 8 << 20;
/// One message of a worker. Decoded it may take some fifty times as much.
pub(crate) const MESSAGE_BYTES: usize = 512 << 10;
/// A worker's list of runs, in messages of at most [`MESSAGE_BYTES`].
pub(crate) const LIST_BYTES: usize = 32 << 20;
/// A call with a longer message waits until few others are being read.
pub(crate) const SMALL_BYTES: usize = REQUEST_BYTES;

const READERS: Option<&[Role]> = Some(&[Role::Reader, Role::Client]);
const CLIENTS: Option<&[Role]> = Some(&[Role::Client]);
const WORKERS: Option<&[Role]> = Some(&[Role::Worker]);
const ANY_ROLE: Option<&[Role]> = Some(&Role::ALL);
const ANYBODY: Option<&[Role]> = None;

const fn call(path: &'static str, roles: Option<&'static [Role]>, most_bytes: usize) -> Call {
    Call { path, roles, most_bytes }
}

/// The table.
pub const CALLS: [Call; 18] = [
    call("/keima.v1.JobService/ListJobs", READERS, REQUEST_BYTES),
    call("/keima.v1.JobService/GetJob", READERS, REQUEST_BYTES),
    call("/keima.v1.JobService/WatchJob", READERS, REQUEST_BYTES),
    call("/keima.v1.JobService/ListWorkers", READERS, REQUEST_BYTES),
    call("/keima.v1.JobService/SubmitJob", CLIENTS, REQUEST_BYTES),
    call("/keima.v1.JobService/PauseJob", CLIENTS, REQUEST_BYTES),
    call("/keima.v1.JobService/ResumeJob", CLIENTS, REQUEST_BYTES),
    call("/keima.v1.JobService/CancelJob", CLIENTS, REQUEST_BYTES),
    call("/keima.v1.JobService/ChangeJob", CLIENTS, REQUEST_BYTES),
    call("/keima.v1.CoordinatorService/SayHello", WORKERS, LIST_BYTES),
    call("/keima.v1.CoordinatorService/Heartbeat", WORKERS, LIST_BYTES),
    call("/keima.v1.CoordinatorService/PullTask", WORKERS, REQUEST_BYTES),
    call("/keima.v1.CoordinatorService/ReportTask", WORKERS, REPORT_BYTES),
    call("/keima.v1.CoordinatorService/SayGoodbye", WORKERS, REQUEST_BYTES),
    call("/keima.v1.RunService/ReadRun", WORKERS, REQUEST_BYTES),
    call("/grpc.health.v1.Health/Check", ANYBODY, 1 << 10),
    call("/grpc.health.v1.Health/Watch", ANYBODY, 1 << 10),
    call("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", ANY_ROLE, REQUEST_BYTES),
];

/// The line of a method; `None` if the table lacks it.
pub(crate) fn find(path: &str) -> Option<&'static Call> {
    static TABLE: [Call; CALLS.len()] = CALLS;
    TABLE.iter().find(|call| call.path == path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use prost::Message as _;

    use super::*;

    /// Every method of keima's own services stands in the table, once, and nothing else of keima's does.
    #[test]
    fn the_table_has_every_method() {
        let files = prost_types::FileDescriptorSet::decode(keima_wire::v1::DESCRIPTORS).unwrap().file;
        let services = files.iter().flat_map(|file| file.service.iter().map(move |service| (file.package(), service)));
        let methods: BTreeSet<String> = services
            .flat_map(|(package, service)| {
                service.method.iter().map(move |method| format!("/{package}.{}/{}", service.name(), method.name()))
            })
            .collect();
        let table: Vec<String> = CALLS.iter().map(|call| call.path.to_owned()).collect();
        let own: BTreeSet<String> = table.iter().filter(|path| path.starts_with("/keima.")).cloned().collect();
        assert!(methods.len() >= 14, "{methods:?}");
        assert_eq!(own, methods);
        assert_eq!(table.iter().collect::<BTreeSet<_>>().len(), table.len(), "a line stands twice");
    }

    /// The page for users has the same table.
    #[test]
    fn the_page_has_the_table() {
        let page = include_str!("../../../../docs/cluster/security.md");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `") && line.contains('/')).collect();
        let expected: Vec<String> = CALLS
            .iter()
            .map(|call| {
                let name = call.path.rsplit('.').next().unwrap();
                let callers = [Some(Role::Reader), Some(Role::Client), Some(Role::Worker), None];
                let cells = callers.map(|role| if call.admits(role) { "yes" } else { "-" }).join(" | ");
                format!("| `{name}` | {cells} |")
            })
            .collect();
        assert_eq!(rows, expected);
    }

    #[test]
    fn what_the_table_lacks_is_not_found() {
        for path in
            ["", "/", "/keima.v1.JobService/", "/keima.v1.JobService/listjobs", "/keima.v1.JobService/ListJobs/"]
        {
            assert_eq!(find(path), None, "{path:?}");
        }
        assert!(CALLS.iter().all(|call| find(call.path) == Some(call)));
    }
}
