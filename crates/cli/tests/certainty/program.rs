//! `keima verify`, `--double-check` and the checker in Python, as users run them.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use keima_verify::{Verified, verify_value};
use serde_json::Value;

const LIMIT: Duration = Duration::from_mins(2);

fn keima(words: &str, state: &tempfile::TempDir, failpoint: &str) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keima"));
    command.env("XDG_STATE_HOME", state.path()).env_remove("KEIMA_FAILPOINT").args(words.split_whitespace());
    if !failpoint.is_empty() {
        command.env("KEIMA_FAILPOINT", failpoint);
    }
    assert_cmd::Command::from_std(command).timeout(LIMIT).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The result of a count as text.
fn counted(words: &str) -> String {
    let state = tempfile::tempdir().unwrap();
    let ran = keima(&format!("count {words} --json --quiet"), &state, "");
    assert!(ran.status.success(), "{words}: {}", text(&ran.stderr));
    text(&ran.stdout)
}

pub(crate) fn certificate_of(words: &str) -> Value {
    serde_json::from_str::<Value>(&counted(words)).unwrap()["certificate"].take()
}

/// Fails unless all checks of a certificate or result hold.
pub(crate) fn ok(value: &Value) -> Vec<Verified> {
    let verified = verify_value(value).unwrap();
    let failed: Vec<_> = verified.iter().flat_map(|one| &one.checks).filter(|check| !check.ok).collect();
    assert!(failed.is_empty(), "{failed:?}");
    verified
}

/// Runs `keima verify` on these texts: exit code, standard output, standard error.
fn verified(texts: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<String> = texts
        .iter()
        .enumerate()
        .map(|(number, text)| {
            let path = folder.path().join(format!("{number}.json"));
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        })
        .collect();
    let ran = keima(&format!("verify {}", files.join(" ")), &folder, "");
    (ran.status.code(), text(&ran.stdout), text(&ran.stderr))
}

#[test]
fn results_of_every_kind_verify() {
    for words in [
        "go 6x7",
        "go 5x4 --executor stream --residues-per-sweep 1",
        "go 6x6 --executor block --window 3 --residues-per-sweep 2",
        "go 1x5",
        "go 2x1",
        "hard-squares 6x9",
        "knight 5x5 --open",
        "knight 4x5 --from a1 --to b2",
        "grid-paths 5x5 -o hamiltonian",
        "grid-cycles 4x6",
        "grid-cycles 5x4 --executor stream",
        "quoridor 3",
        "quoridor-fences 4x4",
        "square-free 4",
    ] {
        let (code, out, err) = verified(&[&counted(words)]);
        assert_eq!(code, Some(0), "{words}\n{out}{err}");
        for name in ["hash", "chain", "boundaries", "mass_balance", "spare_prime", "bound", "count", "result"] {
            assert!(out.contains(&format!("ok     {name}: ")), "{words}: {name} in\n{out}");
        }
    }
}

#[test]
fn what_is_wrong_is_said_with_its_exit_code() {
    let good = counted("go 5x5");
    let older = |name: &str| {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/results").join(name);
        std::fs::read_to_string(path).unwrap()
    };
    let withheld = r#"{"problem":"go","size":"2x2","count":null,"checks":[{"name":"bound","ok":false,"detail":""}]}"#;
    for (what, texts, code, words) in [
        ("as it is", vec![good.clone()], 0, "ok     hash"),
        ("a digit of the count", vec![good.replacen("414295148741", "414295148742", 1)], 3, "FAILED"),
        (
            "a digit of a residue",
            vec![good.replacen("\"residue\":\"4", "\"residue\":\"5", 1)],
            3,
            "FAILED result: residues",
        ),
        ("a word of a check", vec![good.replace("as proved", "as hoped")], 3, "FAILED hash"),
        ("half of it", vec![good[..good.len() / 2].to_owned()], 2, "got no JSON"),
        ("nothing", vec![String::new()], 2, "empty text"),
        ("another file", vec!["[1,2]".to_owned()], 2, "expected an object"),
        ("no number", vec![withheld.to_owned()], 2, "withheld by bound"),
        (
            "another version",
            vec![good.replace("\"version\":\"1\"", "\"version\":\"9\"")],
            2,
            "certificate.version: expected",
        ),
        ("lines of several sizes", vec![format!("{}{}", counted("go 2x2"), counted("go 3x3"))], 0, "go 3x3"),
        ("an older result", vec![older("go-14x14.json")], 0, "an older keima"),
        (
            "an older result with another digit",
            vec![older("go-15x15.json").replacen("\"count\": \"", "\"count\": \"1", 1)],
            3,
            "FAILED spare_prime",
        ),
        (
            "two results of one number",
            vec![good.clone(), counted("go 5x5 --executor stream")],
            0,
            "2 results of go 5x5 agree",
        ),
    ] {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (got, out, err) = verified(&texts);
        assert_eq!(got, Some(code), "{what}\n{out}{err}");
        assert!(format!("{out}{err}").contains(words), "{what}: {words:?} in\n{out}{err}");
    }
}

/// A turned board, other cuts, other primes: both certificates are in the result, and agree.
#[test]
fn a_double_check_counts_in_another_way() {
    for (words, way) in [
        ("go 4x5", "board 5x4, stream executor"),
        ("go 6x6 --executor block --window 3", "stream executor"),
        ("hard-squares 5x5", "windows of 2+2+1 cells"),
        ("knight 4x5 --open", "board 5x4"),
        ("quoridor-fences 4x4", "stream executor"),
    ] {
        let result: Value = serde_json::from_str(&counted(&format!("{words} --double-check"))).unwrap();
        let checks = result["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == "double_check").unwrap();
        let detail = check["detail"].as_str().unwrap();
        assert!(check["ok"] == true && detail.contains(way) && detail.contains("other primes"), "{words}: {detail}");
        let both = &result["double_check"];
        assert_eq!(both["first_hash"], result["certificate"]["hash"], "{words}");
        assert_ne!(both["first_hash"], both["hash"], "{words}");
        let verified = ok(&result);
        assert_eq!(verified.len(), 2, "{words}");
        assert!(verified[0].checks.iter().any(|check| check.name == "agreement"), "{words}");
        // What is said of the second count is held against both certificates, and they are of two counts.
        let first_again = (&result["certificate"], &result["certificate"]["hash"]);
        let cases: [(&str, &[(&str, &Value)]); 4] = [
            ("another count", &[("count", &"1".into())]),
            ("another hash", &[("hash", &"00".into())]),
            ("another first hash", &[("first_hash", &"00".into())]),
            ("the first count again", &[("certificate", first_again.0), ("hash", first_again.1)]),
        ];
        for (what, fields) in cases {
            let mut told = result.clone();
            for (name, value) in fields {
                told["double_check"][*name] = (*value).clone();
            }
            let verified = verify_value(&told).unwrap();
            let check = verified[0].checks.iter().find(|check| check.name == "second_count").unwrap();
            assert!(!check.ok, "{words}, {what}: {}", check.detail);
        }
    }
}

/// A count that was killed says so in its certificate, and verifies.
#[test]
fn a_count_of_two_lives_verifies() {
    let state = tempfile::tempdir().unwrap();
    let words = format!(
        "count go 6x6 --executor stream --checkpoint-seconds 0 --json --quiet --data {}/d",
        state.path().display()
    );
    let killed = keima(&words, &state, "worker.before_report=abort@7");
    assert!(!killed.status.success());
    let ran = keima(&words, &state, "");
    let result: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{}", text(&ran.stderr)));
    assert!(result["resumed_from"].is_string(), "{}", result["resumed_from"]);
    assert_eq!(result["certificate"]["history"]["lives"], "2");
    ok(&result);
}

/// 20 kinds of damage to a certificate.
type Damage = (&'static str, fn(&mut Value));

fn number(value: &mut Value) {
    let number: u128 = value.as_str().unwrap().parse().unwrap();
    *value = (number + 1).to_string().into();
}

const DAMAGES: [Damage; 20] = [
    ("another count", |c| number(&mut c["result"]["count"])),
    ("another residue", |c| number(&mut c["result"]["functionals"][2]["residues"][0][0])),
    ("another spare residue", |c| number(&mut c["result"]["functionals"][2]["residues"][0][1])),
    ("another prime", |c| number(&mut c["head"]["moduli"][0])),
    ("a smaller bound", |c| c["head"]["functionals"][3]["bound"] = serde_json::json!([["2", "3"]])),
    ("another name", |c| c["head"]["problem"] = "chess".into()),
    ("a sum that was read", |c| number(&mut c["sweeps"][0]["stages"][1]["reads"]["sums"][0])),
    ("a sum that was written", |c| number(&mut c["sweeps"][0]["stages"][1]["writes"]["sums"][0])),
    ("a fingerprint", |c| number(&mut c["sweeps"][0]["stages"][1]["reads"]["fingerprint"][0])),
    ("a number of states", |c| number(&mut c["sweeps"][0]["stages"][2]["reads"]["states"])),
    ("states of a pass", |c| number(&mut c["sweeps"][1]["stages"][2]["passes"][1]["states"])),
    ("a sum by degree", |c| number(&mut c["sweeps"][0]["stages"][3]["passes"][0]["by_degree"][3][0])),
    ("a sum after a pass", |c| number(&mut c["sweeps"][0]["stages"][3]["passes"][0]["new_sums"][0])),
    ("a functional", |c| number(&mut c["sweeps"][0]["stages"][3]["functionals"][0]["lanes"][0])),
    ("the hash of the runs", |c| c["sweeps"][0]["stages"][0]["manifest"]["hash"] = "0".repeat(64).into()),
    ("a stage is missing", |c| drop(c["sweeps"][0]["stages"].as_array_mut().unwrap().remove(2))),
    ("two stages change places", |c| c["sweeps"][0]["stages"].as_array_mut().unwrap().swap(1, 2)),
    ("a sweep is missing", |c| drop(c["sweeps"].as_array_mut().unwrap().pop())),
    ("less time", |c| c["history"]["milliseconds"] = "0000".into()),
    ("a field is missing", |c| drop(c["head"].as_object_mut().unwrap().remove("moduli"))),
];

/// Exit code and output of the checker in Python, which knows nothing of this code. `None` where there is no Python.
pub(crate) fn by_python(value: &Value) -> Option<(Option<i32>, String)> {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/verify/check-certificate.py");
    assert!(std::fs::read_to_string(&script).unwrap().lines().count() <= 300);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    std::fs::write(&path, value.to_string()).unwrap();
    let Ok(ran) = Command::new("python3").arg(&script).arg(&path).output() else {
        println!("python3 is missing: the checker in docs/verify is not tested");
        return None;
    };
    Some((ran.status.code(), format!("{}{}", text(&ran.stdout), text(&ran.stderr))))
}

/// It finds what is damaged, and nothing else.
#[test]
fn the_python_checker_agrees() {
    let check = |what: &str, value: &Value, good: bool| {
        let Some((code, said)) = by_python(value) else { return };
        let right = if good { code == Some(0) } else { code == Some(3) || code == Some(2) };
        assert!(right, "{what}: {code:?}\n{said}");
    };
    for words in
        ["go 5x6", "go 4x4 --executor block --window 2", "quoridor-fences 3x4", "square-free 3", "knight 4x5 --open"]
    {
        check(words, &serde_json::from_str(&counted(words)).unwrap(), true);
    }
    let certificate = certificate_of("go 3x4 --executor stream --window 2 --residues-per-sweep 1");
    check("a certificate alone", &certificate, true);
    for (what, damage) in DAMAGES {
        let mut damaged = certificate.clone();
        damage(&mut damaged);
        assert_ne!(damaged, certificate, "{what}");
        check(what, &damaged, false);
        let found = verify_value(&damaged).map_or(true, |verified| verified.iter().any(|one| !one.ok()));
        assert!(found, "keima verify does not find: {what}");
    }
}
