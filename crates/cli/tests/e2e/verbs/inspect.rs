//! `keima inspect` on the run files of a paused job.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::harness::cluster::{Cluster, EXECUTORS, Setup};
use crate::harness::process::{keima, run_files};

/// Checks the records of a file against the sums of `inspect --json`. Adds their keys to `keys` and returns their number.
fn check_records(path: &str, more: &[&str], keys: &mut BTreeSet<String>) -> u64 {
    let told = keima(&["inspect", path, "--json"]).json();
    let ran = keima(&[&["inspect", path, "--records"], more].concat());
    let mut lines = ran.ok().lines();
    let strings = |name: &str| -> Vec<&str> {
        told[name].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
    };
    let moduli = strings("moduli");
    assert_eq!(lines.next().unwrap(), format!("key\t{}", moduli.join("\t")));
    let mut sums = vec![0_u128; moduli.len()];
    let mut records = 0;
    for line in lines {
        let mut fields = line.split('\t');
        let key = fields.next().unwrap();
        assert_eq!(key.len(), 16, "{line}");
        assert!(keys.insert(key.to_owned()), "{path}: {key} twice");
        let row: Vec<u128> = fields.map(|field| field.parse().unwrap()).collect();
        assert_eq!(row.len(), moduli.len(), "{line}");
        sums.iter_mut().zip(&row).for_each(|(sum, value)| *sum += value);
        records += 1;
    }
    let sums: Vec<String> =
        sums.iter().zip(&moduli).map(|(sum, modulus)| (sum % modulus.parse::<u128>().unwrap()).to_string()).collect();
    assert_eq!(sums, strings("sums"), "{path}");
    assert_eq!(told["records"], records, "{path}");
    records
}

/// The states of a paused job's newest boundary are listed.
#[test]
fn the_states_of_a_boundary_are_listed() {
    for executor in EXECUTORS {
        let cluster = Cluster::start(Setup { second_copies: false, executor, ..Setup::default() });
        let _worker = cluster.worker("a", "worker.after_pull=sleep:40");
        let job = cluster.submit("7x7");
        cluster.at_stage(&job, 4);
        let status = cluster.pause(&job);
        let mut listed = (0, BTreeSet::new(), BTreeSet::new());
        for path in run_files(&cluster.scratch("a")) {
            let told = keima(&["inspect", path.to_str().unwrap(), "--json"]);
            // Runs of the boundary before are deleted while this looks.
            if told.code != Some(0) && !path.exists() {
                continue;
            }
            let (told, path) = (told.json(), path.to_str().unwrap());
            assert_eq!((&told["subject"], &told["sound"]), (&"go 7x7".into(), &true.into()), "{told}");
            assert_eq!(told["key_order"], if executor == "block" { "blocks" } else { "window" }, "{told}");
            let text = keima(&["inspect", path]).ok().to_owned();
            assert!(text.contains("sound") && text.contains(told["run"].as_str().unwrap()), "{text}");
            if told["boundary"] == status["pass"] {
                listed.0 += check_records(path, &[], &mut listed.1);
                // Tables that are made a part at a time.
                check_records(path, &["--memory", "256KiB"], &mut listed.2);
                if executor == "block" {
                    let refused = keima(&["inspect", path, "--records", "--memory", "1KiB"]);
                    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:#?}");
                    assert!(refused.stderr.contains("allow more with --memory"), "{refused:#?}");
                }
            }
        }
        assert!(listed.0 > 100, "no run of the boundary was there");
        assert_eq!(status["states"], listed.0, "{executor}: {status}");
        assert_eq!(listed.1, listed.2);
        let bytes = |path: &PathBuf| std::fs::metadata(path).map_or(0, |meta| meta.len());
        harmed(&run_files(&cluster.scratch("a")).into_iter().max_by_key(bytes).unwrap());
    }
}

/// Damaged, foreign and newer files are told apart.
fn harmed(path: &Path) {
    let check = |bytes: &[u8], code: i32, said: &str| {
        let path = path.with_extension("harmed");
        std::fs::write(&path, bytes).unwrap();
        for more in [&[][..], &["--records"], &["--json"]] {
            let ran = keima(&[&["inspect", path.to_str().unwrap()], more].concat());
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{ran:#?}");
            assert!(ran.stderr.contains(said), "{said:?}: {ran:#?}");
        }
    };
    let sound = std::fs::read(path).unwrap();
    let mut bytes = sound.clone();
    let middle = bytes.len() / 3;
    bytes[middle] ^= 1;
    check(&bytes, 3, "remove this copy");
    check(&sound[..sound.len() - 1], 3, "its end is not KEIMAEND");
    check(b"key\tvalue\n and more than sixteen bytes", 2, "not a run file");
    check(b"short", 2, "not a run file");
    // Another version with a checksum that agrees; the version alone is damage.
    let mut bytes = sound;
    bytes[8] += 1;
    check(&bytes, 3, "remove this copy");
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let crc = crc32c::crc32c(&bytes[..length - 4]);
    bytes[length - 4..length].copy_from_slice(&crc.to_le_bytes());
    check(&bytes, 1, "version");
}
