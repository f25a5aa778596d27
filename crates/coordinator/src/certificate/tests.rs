//! The canonical form, and what a digest of runs depends on. Whole certificates are tested where jobs are.

use keima_runs::{RunId, RunManifest};
use serde_json::json;

use super::form::hash_of;
use super::{canonical, manifest_digest};

#[test]
fn the_canonical_form_is_sorted_and_dense() {
    let value = json!({ "b": ["1", true, null], "a": { "z": "\u{e9}\n", "B": {} } });
    assert_eq!(canonical(&value), "{\"a\":{\"B\":{},\"z\":\"\u{e9}\\n\"},\"b\":[\"1\",true,null]}");
    assert_eq!(hash_of(&json!({})), blake3::hash(b"{}").to_hex().to_string());
}

fn run(name: &str, records: u64) -> RunManifest {
    let id = RunId(name.to_owned());
    RunManifest { id, bytes: 100, records, first_key: 1, last_key: 1 << 100, sums: vec![7, 8], checksum: 9 }
}

#[test]
fn a_digest_depends_on_all_of_its_runs_and_not_on_their_order() {
    let (one, other) = (run("j1/s0/g1/t0/a0/r0", 3), run("j1/s0/g1/t1/a0/r0", 4));
    let digest = manifest_digest([&one, &other].into_iter());
    assert_eq!((digest.runs, digest.records, digest.bytes), (2, 7, 200));
    assert_eq!(digest, manifest_digest([&other, &one].into_iter()));
    let lines = "j1/s0/g1/t0/a0/r0 100 3 1 1267650600228229401496703205376 9 7 8\n\
                 j1/s0/g1/t1/a0/r0 100 4 1 1267650600228229401496703205376 9 7 8\n";
    assert_eq!(digest.hash, blake3::hash(lines.as_bytes()).to_hex().to_string());
    for change in [
        |run: &mut RunManifest| run.bytes += 1,
        |run: &mut RunManifest| run.last_key -= 1,
        |run: &mut RunManifest| run.sums[1] ^= 1,
        |run: &mut RunManifest| run.checksum ^= 1,
        |run: &mut RunManifest| run.id.0.push('0'),
    ] {
        let mut changed = other.clone();
        change(&mut changed);
        assert_ne!(digest.hash, manifest_digest([&one, &changed].into_iter()).hash);
    }
}
