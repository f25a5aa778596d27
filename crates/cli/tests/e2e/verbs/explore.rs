//! `keima sample` and `keima games`, and what `keima verify` says of cycles.

use crate::harness::process::keima;

#[test]
fn games_are_counted_and_their_graph_written() {
    let folder = tempfile::tempdir().unwrap();
    for (name, mark) in [("g.dot", "digraph"), ("g.graphml", "<graphml"), ("g.json", "keima-go-graph")] {
        let path = folder.path().join(name);
        let told = keima(&["games", "3x1", "--graph", path.to_str().unwrap(), "--json"]).json();
        assert_eq!((told["games"].as_str(), told["edges"].as_str()), (Some("907"), Some("42")), "{told}");
        assert!(std::fs::read_to_string(&path).unwrap().contains(mark), "{name}");
    }
    for args in [
        &["games", "5x5"][..],
        &["games", "x"],
        &["games", "1x3", "--graph", "g.png"],
        &["games", "2x2", "--hamiltonian"],
    ] {
        let ran = keima(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}: {ran:?}");
    }
}

#[test]
fn found_cycles_verify_and_changed_ones_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cycle.json");
    let file = path.to_str().unwrap();
    keima(&["games", "1x6", "--hamiltonian", "--out", file]).ok();
    assert_eq!(keima(&["verify", file, "--json"]).json()["ok"], true);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"X.....\"", "\".X....\"")).unwrap();
    let ran = keima(&["verify", file]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    std::fs::write(&path, text.replace("\"version\": 1", "\"version\": 2")).unwrap();
    assert_eq!(keima(&["verify", file]).code, Some(2));
}

/// The cycles that stand in the repository.
#[test]
fn stored_cycles_verify() {
    for length in [8, 9, 10] {
        let path = format!("{}/../../docs/results/go-cycle-1x{length}.json", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(keima(&["verify", &path, "--json"]).json()["ok"], true, "{path}");
    }
}

#[test]
fn samples_do_not_depend_on_threads() {
    let told = |threads: &str| keima(&["sample", "go", "25x25", "--runs", "20", "--threads", threads, "--json"]).json();
    let one = told("1");
    assert_eq!(one, told("3"));
    assert!(one["relative_error"].as_f64().is_some_and(|error| error > 0.0), "{one}");
    assert_eq!(keima(&["sample", "go", "1001x1001"]).code, Some(2));
}
