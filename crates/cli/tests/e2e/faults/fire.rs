//! `scripts/chaos`, for a moment, so that it does not rot. By hand it runs for as long as one likes.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// A fire of half a minute over small boards. Where it may, it makes network namespaces and file systems; elsewhere it
/// says what it leaves out.
#[test]
fn jobs_survive_a_short_fire() {
    if !Command::new("python3").arg("--version").output().is_ok_and(|ran| ran.status.success()) {
        eprintln!("skipped: python3 is missing");
        return;
    }
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("found.json");
    let mut fire = Command::new("python3");
    fire.arg(repository.join("scripts/chaos"))
        .args(["--quick", "--minutes", "0.5", "--seed", "3", "--json"])
        .arg(&file);
    let ran = fire.args(["--keima", env!("CARGO_BIN_EXE_keima")]).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    let found = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}: {said}"));
    let found: Value = serde_json::from_str(&found).unwrap();
    for (field, expected) in [("wrong", 0), ("lost", 0), ("manual", 0)] {
        assert_eq!(found[field], expected, "{found:#}\n{said}");
    }
    assert_eq!(ran.status.code(), Some(0), "{found:#}\n{said}");
    assert!(found["right"].as_u64() > Some(0) && found["right"] == found["jobs"], "{found:#}");
    assert!(found["faults_total"].as_u64() > Some(4), "{found:#}");
    let kinds = found["faults"].as_object().unwrap();
    assert_eq!(kinds.values().filter_map(Value::as_u64).sum::<u64>(), found["faults_total"].as_u64().unwrap());
    // Nothing is left behind.
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let root = found["folder"].as_str().unwrap();
    assert!(!mounts.contains(root) && !Path::new(root).exists(), "{root}");
}
