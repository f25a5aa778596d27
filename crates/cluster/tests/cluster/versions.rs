//! What another version of keima has written or says: refused, with what to do, and left byte for byte. The residues that a
//! count in memory keeps have their test in `keima-count`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::common::{coordinator, go, quick, registry, run_files, worker};
use keima_cluster::{CoordinatorHandle, JobClient, PROTOCOL_VERSION, STORE_FORMAT, Worker, WorkerConfig};
use keima_coordinator::VERSION_KEY;
use keima_wire::v1;
use prost::Message as _;
use prost_types::FileDescriptorSet;
use redb::{Database, TableDefinition};

const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const RECORDS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("records");

/// All files below a folder but the locks, with their bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.append(&mut files(&path));
        } else if path.extension().is_none_or(|ending| ending != "lock") {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}

fn edit(data: &Path, edit: impl FnOnce(&redb::WriteTransaction)) {
    let store = Database::open(data.join("coordinator.redb")).unwrap();
    let write = store.begin_write().unwrap();
    edit(&write);
    write.commit().unwrap();
}

/// Writes another version of redb's own format into the two places where that stands.
fn other_redb(data: &Path, version: u8) {
    let path = data.join("coordinator.redb");
    let mut bytes = std::fs::read(&path).unwrap();
    for slot in [64, 192] {
        bytes[slot] = version;
    }
    std::fs::write(path, bytes).unwrap();
}

/// The newest run of a folder as the next version would have written it: its header's checksum agrees.
fn other_run(scratch: &Path) {
    let path = files(scratch).into_keys().rfind(|path| path.extension().is_some_and(|e| e == "run")).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    bytes[8] += 1;
    let crc = crc32c::crc32c(&bytes[..length - 4]);
    bytes[length - 4..length].copy_from_slice(&crc.to_le_bytes());
    std::fs::write(path, bytes).unwrap();
}

fn open_coordinator(data: &Path) -> Result<(), String> {
    CoordinatorHandle::open(data, quick(), registry()).map(drop).map_err(|error| error.to_string())
}

fn open_worker(scratch: &Path) -> Result<(), String> {
    let config = WorkerConfig { scratch: scratch.to_owned(), memory_bytes: 128 << 20, disk_bytes: 1 << 30, slots: 1 };
    Worker::open(config, registry()).map(drop).map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_another_version_are_refused_and_stay() {
    type Change = fn(&Path);
    type Open = fn(&Path) -> Result<(), String>;
    let table: [(&str, &str, Change, Open, &[&str]); 5] = [
        (
            "the store's format",
            "data",
            |data| {
                edit(data, |write| {
                    write.open_table(META).unwrap().insert("format", STORE_FORMAT + 1).unwrap();
                });
            },
            open_coordinator,
            &["have format 3, this program reads 2", "run the version of keima that wrote them"],
        ),
        (
            "the records",
            "data",
            |data| {
                edit(data, |write| {
                    write.open_table(RECORDS).unwrap().insert(VERSION_KEY, &[99_u8][..]).unwrap();
                });
            },
            open_coordinator,
            &["has layout 99", "run the program that wrote it"],
        ),
        ("an older redb", "data", |data| other_redb(data, 2), open_coordinator, &["run the version of keima"]),
        ("a later redb", "data", |data| other_redb(data, 4), open_coordinator, &["run the version of keima"]),
        ("a run", "a", other_run, open_worker, &["has format version", "use the version of keima that wrote it"]),
    ];
    for (what, folder, change, open, words) in table {
        let dir = tempfile::tempdir().unwrap();
        let hub = coordinator(&dir.path().join("data"), "127.0.0.1:0", quick()).await;
        let client = JobClient::new(&hub.address).unwrap();
        client.submit(&go("7x7")).await.unwrap();
        let at_work = worker(&dir.path().join("a"), &hub.address).await;
        while run_files(&dir.path().join("a")) < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        at_work.kill().await;
        hub.kill().await;
        let folder = dir.path().join(folder);
        change(&folder);
        let before = files(&folder);
        assert!(before.len() >= 2, "{what}: {:?}", before.keys());
        let refused = open(&folder).expect_err(what);
        for word in words {
            assert!(refused.contains(word), "{what}: {word:?} in {refused}");
        }
        let after = files(&folder);
        let changed: Vec<&PathBuf> = before.keys().filter(|path| before.get(*path) != after.get(*path)).collect();
        assert!(changed.is_empty() && after.len() == before.len(), "{what}: {changed:?} of {:?}", after.keys());
    }
}

/// The varint field that every request has which begins a conversation.
const VERSION_FIELD: &str = "protocol_version";

/// All methods of the services' description, each with whether its request has a version.
fn methods() -> Vec<(String, bool)> {
    let files = FileDescriptorSet::decode(v1::DESCRIPTORS).unwrap().file;
    let has_version = |name: &str| {
        let message = files
            .iter()
            .flat_map(|file| &file.message_type)
            .find(|message| name.rsplit('.').next() == Some(message.name()));
        let field = message.unwrap().field.iter().find(|field| field.name() == VERSION_FIELD);
        assert!(field.is_none_or(|field| field.number() == 1), "{name}");
        field.is_some()
    };
    let services = files.iter().flat_map(|file| file.service.iter().map(move |service| (file.package(), service)));
    services
        .flat_map(|(package, service)| service.method.iter().map(move |method| (package, service.name(), method)))
        .map(|(package, service, method)| {
            (format!("/{package}.{service}/{}", method.name()), has_version(method.input_type()))
        })
        .collect()
}

/// A request in which nothing stands but its version.
#[derive(Clone, PartialEq, prost::Message)]
struct Versioned {
    #[prost(uint32, tag = "1")]
    protocol_version: u32,
}

/// Every call that begins a conversation, by the description of the services: a new one is among them by itself.
#[tokio::test(flavor = "multi_thread")]
async fn another_protocol_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let hub = coordinator(&dir.path().join("data"), "127.0.0.1:0", quick()).await;
    let helper = worker(&dir.path().join("a"), &hub.address).await;
    JobClient::new(&hub.address).unwrap().submit(&go("5x5")).await.unwrap();
    let store = files(&dir.path().join("data")).len();
    let protocol_version = PROTOCOL_VERSION + 1;
    let call = async |path: &str| {
        let address = if path.contains("RunService") { &helper.address } else { &hub.address };
        let channel = tonic::transport::Endpoint::from_shared(address.clone()).unwrap().connect().await.unwrap();
        let mut grpc = tonic::client::Grpc::new(channel);
        grpc.ready().await.unwrap();
        let codec = tonic_prost::ProstCodec::<Versioned, Versioned>::default();
        let path = http::uri::PathAndQuery::try_from(path).unwrap();
        grpc.server_streaming(tonic::Request::new(Versioned { protocol_version }), path, codec).await.map(drop)
    };
    let (mut without, mut refused) = (Vec::new(), 0);
    for (path, has_version) in methods() {
        if !has_version {
            without.push(path);
            continue;
        }
        let refusal = call(&path).await.expect_err(&path);
        for words in ["protocol versions differ", &protocol_version.to_string(), "install the same version"] {
            assert!(refusal.message().contains(words), "{path}: {words} in {refusal}");
        }
        refused += 1;
    }
    // These go on with a conversation: they need the epoch that the answer to a hello tells.
    let go_on = ["Heartbeat", "PullTask", "ReportTask", "SayGoodbye"];
    assert_eq!(without, go_on.map(|method| format!("/keima.v1.CoordinatorService/{method}")));
    assert!(refused >= 11, "{refused}");
    assert_eq!(files(&dir.path().join("data")).len(), store);
    helper.stop().await;
    hub.stop().await;
}
