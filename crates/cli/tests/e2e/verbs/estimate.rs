//! `keima estimate`: a forecast for people and for programs, before anything is run.

use std::collections::BTreeSet;

use super::command_line::usage::check;
use crate::harness::process::keima;

#[test]
fn estimates() {
    let dir = tempfile::tempdir().unwrap();
    let scratch = dir.path().to_str().unwrap();
    for (args, texts) in [
        (
            "go 5x5 --memory 1GiB",
            &["block executor, in memory", "core time", "wall time", "measured here", "column 2"][..],
        ),
        ("go 1x9", &["stream executor", "wall time", "takes no board of this size: go has a block form"]),
        // With hundreds of coefficients the board itself takes minutes.
        ("quoridor-fences 16x16 --all", &["wall time", "speeds are extrapolated from"]),
        ("go 21x10000 --executor stream", &["unknown", "stages: bytes and time are forecast for up to"]),
        ("go 5x5 --memory 1GiB --disk 1GiB", &["with runs on disk", "disk time", "residues"]),
        (
            "go 6x6 --executor stream --disk-bandwidth 1GiB",
            &["stream executor", "1 GiB per second and worker, as given"],
        ),
        (
            "go 5x5 --workers 3 --threads 4 --disk-bandwidth 1GiB",
            &["3 workers", "on a cluster", "second copies", "largest family", "all reads come from disk"],
        ),
        (
            "go 5x5 --workers 3 --threads 4 --disk-bandwidth 1GiB --cache 5GiB",
            &["on a cluster", "files in 5 GiB of cache"],
        ),
        ("knight 6x6 --closed", &["wall time", "estimates from samples", "  answer  ", "14 bits", "standard error"]),
        // Hardly any run comes to a board that counts.
        ("square-free 6", &["wall time", "  answer  ", "sampled runs"]),
    ] {
        let args: Vec<&str> = ["estimate"].into_iter().chain(args.split(' ')).collect();
        let ran = keima(&args);
        let text = ran.ok();
        for expected in texts {
            assert!(text.contains(expected), "keima {args:?}: no {expected:?} in {text}");
        }
    }
    let json = |args: &[&str]| -> serde_json::Value {
        let args = [&["estimate", "--json"], args].concat();
        serde_json::from_str(keima(&args).ok()).unwrap()
    };
    let estimate = json(&["go", "6x6", "--scratch", scratch]);
    assert_eq!((estimate["peak_states"].as_u64(), estimate["plan"]["executor"].as_str()), (Some(2482), Some("block")));
    assert!(estimate["answer"].is_null(), "{estimate}");
    assert_eq!(estimate["states"].as_array().map(Vec::len), Some(37));
    for name in ["core_seconds", "wall_seconds", "bytes_read", "bytes_written", "disk_peak_bytes"] {
        assert!(estimate[name].as_f64().is_some_and(|number| number > 0.0), "{name}: {estimate}");
    }
    // All of a 5x5 board's states are one family: in each of four columns eleven threads wait for the twelfth.
    let estimate = json(&["go", "5x5", "--workers", "3", "--threads", "4", "--disk-bandwidth", "1GiB"]);
    let seconds = |name: &str| estimate[name].as_f64().unwrap();
    assert_eq!(estimate["stages_that_wait_for_largest_family"].as_u64(), Some(4), "{estimate}");
    assert!(seconds("largest_family_seconds") <= seconds("core_seconds"), "{estimate}");
    assert!(seconds("largest_family_seconds") <= seconds("wall_seconds"), "{estimate}");
    let estimate = json(&["go", "6x6", "--scratch", scratch, "--cache", "3MiB"]);
    assert_eq!(estimate["offer"]["cache_bytes"].as_u64(), Some(3 << 20), "{estimate}");
    let estimate = json(&["go", "5x5", "--memory", "1GiB"]);
    assert_eq!(estimate["stages_that_wait_for_largest_family"].as_u64(), Some(0), "in memory: {estimate}");
    let stages = estimate["stages"].as_array().unwrap();
    let directions: BTreeSet<&str> = stages.iter().map(|stage| stage["direction"].as_str().unwrap()).collect();
    assert_eq!(directions, BTreeSet::from(["backward", "forward"]), "{estimate}");
    // It does not know its states: they are sampled, and few are counted. So is the answer, 9862.
    let estimate = json(&["knight", "6x6", "--closed"]);
    assert_eq!(estimate["peak_states"].as_u64(), Some(39_816), "{estimate}");
    let answer = |name: &str| estimate["answer"][name].as_f64().unwrap_or(f64::NAN);
    let (found, error) = (10_f64.powf(answer("mean_log10")), answer("relative_error"));
    assert!(error > 0.0 && error < 0.3 && (found / 9862.0 - 1.0).abs() < 4.0 * error, "{estimate}");
    assert_eq!((answer("bits"), answer("runs"), answer("per_stratum")), (14.0, 32.0, 16.0), "{estimate}");
    for name in ["core_seconds", "wall_seconds", "bytes_written"] {
        assert!(estimate[name].as_f64().is_some_and(|number| number > 0.0), "{name}: {estimate}");
    }
    assert!(dir.path().read_dir().unwrap().next().is_none(), "the scratch folder was not tidied");
    let values = [("@dir", scratch)];
    for (line, code, texts) in [
        ("estimate go 22x22", 2, &["at most 21"][..]),
        ("estimate go 9x9 --workers 0", 2, &["--workers"]),
        ("estimate go 9x9 --disk-bandwidth fast", 2, &["fast", "50GB"]),
        ("estimate go 9x9 --cache much", 2, &["much", "50GB"]),
        ("estimate go 13x13 --disk 100MB --memory 2GiB", 2, &["of disk", "raise --disk"]),
        ("estimate go 9x9 --executor stream --memory 33MiB --threads 2", 2, &["each task needs at least", "--memory"]),
        ("estimate hard-squares 9x9 --executor block", 2, &["--executor stream"]),
    ] {
        check(&values, line, code, texts);
    }
}
