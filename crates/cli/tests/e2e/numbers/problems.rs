//! The problems besides Go: published numbers, tables, options, explanations.

use serde_json::Value;

use crate::harness::process::{command, keima, run};

fn count(arguments: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let around = ["--quiet", "--data", dir.path().to_str().unwrap()];
    keima(&[&["count"], arguments, &around].concat()).ok().to_owned()
}

#[test]
fn published_numbers() {
    for (arguments, expected) in [
        // OEIS A006506.
        (&["hard-squares", "8x8"][..], "660647962955"),
        // OEIS A007764, A000532, A140517(7) and A003763(4).
        (&["grid-paths", "8x8"], "789360053252"),
        (&["grid-paths", "8x8", "-o", "side", "-o", "hamiltonian"], "8934966"),
        (&["grid-cycles", "8x8"], "603841648931"),
        (&["grid-cycles", "8x8", "-o", "hamiltonian"], "4638576"),
        (&["knight", "5x5", "--open"], "864"),
        // Tours of 6x6 between squares a knight's move apart are the closed tours through that move.
        (&["knight", "6x6", "--closed"], "9862"),
        (&["knight", "6x6", "--from", "0,0", "--to", "1,2"], "9862"),
        (&["quoridor-fences", "3x3", "--all"], "4715"),
        (&["square-free", "7"], "0"),
        (&["quoridor", "3", "--all"], "2400"),
    ] {
        let text = count(arguments);
        assert_eq!(text.lines().next(), Some(expected), "{arguments:?}: {text}");
    }
}

#[test]
fn fences_by_their_number() {
    let golden = include_str!("../../../../../tests/golden/quoridor_fences_9x9.csv");
    let rows = golden.lines().filter(|line| !line.starts_with('#')).skip(1);
    let expected: Vec<(u64, String)> = rows
        .map(|row| {
            let (fences, count) = row.split_once(',').unwrap();
            (fences.parse().unwrap(), count.to_owned())
        })
        .collect();
    let answer: Value = serde_json::from_str(&count(&["quoridor-fences", "8x8", "--json"])).unwrap();
    let got: Vec<(u64, String)> = answer["counts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["fences"].as_u64().unwrap(), row["count"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(got, expected);
    assert_eq!(answer["count"], "1375968129062134174771");
    let known = answer["checks"].as_array().unwrap().iter().find(|check| check["name"] == "known_rows").unwrap();
    assert_eq!(known["ok"], true, "{known}");
}

#[test]
fn problems_are_listed_and_explained() {
    let list = keima(&["problems"]).ok().to_owned();
    for name in
        ["go", "grid-cycles", "grid-paths", "hard-squares", "knight", "quoridor", "quoridor-fences", "square-free"]
    {
        assert!(list.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name} in {list}");
        let text = keima(&["problems", name]).ok().to_owned();
        assert!(text.contains("Examples:") && text.contains("Size:"), "{text}");
    }
    let refused = run(command(&["count", "knight", "6x6"]));
    assert_eq!(refused.code, Some(2), "{refused:?}");
}
