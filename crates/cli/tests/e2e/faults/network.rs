//! Workers that reach each other through their services only. They run on one machine, so the file that would show one of
//! them the folder of another is deleted before they look.

use crate::harness::cluster::{Cluster, EXECUTORS, Setup};
use crate::harness::process::keima;
use crate::numbers::golden::legal;

/// Each worker reads runs of the other through its service. The residues equal those of one process.
#[test]
fn inputs_come_over_the_network() {
    for executor in EXECUTORS {
        // Without second copies all that is sent is what tasks read.
        let cluster = Cluster::start(Setup { executor, second_copies: false, ..Setup::default() });
        let [a, b] = ["a", "b"].map(|name| {
            // Tasks take so long that each worker gets some of every stage.
            let worker = cluster.worker(name, "run_server.mid_stream=sleep:0;worker.after_pull=sleep:20");
            std::fs::remove_file(cluster.scratch(name).join("worker.id")).unwrap();
            worker
        });
        let job = cluster.submit("8x8");
        let status = cluster.counts(&job, &legal("8x8"));
        for worker in [&a, &b] {
            let chunks = worker.stderr().matches("failpoint run_server.mid_stream hit").count();
            assert!(chunks > 0, "{executor}: nothing was sent: {status}");
        }
        let alone = tempfile::tempdir().unwrap();
        let data = alone.path().to_str().unwrap();
        let alone = keima(&["count", "go", "8x8", "--executor", executor, "--json", "--quiet", "--data", data]).json();
        let found = cluster.client(&["result", &job, "--json"]).json();
        assert_eq!(found["residues"], alone["residues"], "{executor}");
    }
}
