//! Every leaf of a real certificate is changed, one at a time: the hash shows it, or the form. And where somebody makes all
//! hashes anew, the laws alone show every changed sum, residue, count and number of states that a law speaks of.

use keima_verify::{hash_of, verify_value};
use serde_json::Value;

use crate::program::{by_python, certificate_of, ok};

/// The place of a leaf: names and numbers.
type Path = Vec<String>;

fn leaves(value: &Value, path: &mut Path, all: &mut Vec<Path>) {
    let mut below = |name: String, value: &Value| {
        path.push(name);
        leaves(value, path, all);
        path.pop();
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| below(name.clone(), value)),
        Value::Array(items) => items.iter().enumerate().for_each(|(number, value)| below(number.to_string(), value)),
        _ => all.push(path.clone()),
    }
}

fn at<'v>(value: &'v mut Value, path: &[String]) -> &'v mut Value {
    path.iter().fold(value, |value, name| match value {
        Value::Array(items) => &mut items[name.parse::<usize>().unwrap()],
        other => &mut other[name],
    })
}

/// Another value of the same kind: the next integer, a longer text, the other truth value.
fn change(leaf: &mut Value) {
    *leaf = match leaf {
        Value::String(text) => match text.parse::<u128>() {
            Ok(number) if number > 0 => (number - 1).to_string().into(),
            Ok(_) => "1".into(),
            Err(_) => format!("{text}x").into(),
        },
        Value::Bool(flag) => (!*flag).into(),
        _ => "1".into(),
    };
}

/// Makes the chain and the hash of a certificate anew.
fn rehash(certificate: &mut Value) {
    let mut before = hash_of(&certificate["head"]);
    for sweep in certificate["sweeps"].as_array_mut().unwrap() {
        for stage in sweep["stages"].as_array_mut().unwrap() {
            stage["before"] = before.into();
            stage.as_object_mut().unwrap().remove("hash");
            before = hash_of(stage);
            stage["hash"] = before.clone().into();
        }
    }
    certificate["result"]["before"] = before.into();
    certificate.as_object_mut().unwrap().remove("hash");
    certificate["hash"] = hash_of(certificate).into();
}

/// Whether a law speaks of a leaf. Nobody reads what the last stage of a vector wrote, and nobody wrote what the first read:
/// there only the sums in the balance of its passes, and the numbers of states, meet others.
fn has_law(certificate: &Value, path: &Path) -> bool {
    let names: Vec<&str> = path.iter().map(String::as_str).filter(|name| name.parse::<u32>().is_err()).collect();
    let by_streams = certificate["head"]["executor"] == "stream";
    match names[..] {
        ["result", "count"]
        | ["result", "functionals", "residues" | "count"]
        | ["cuts", ..]
        | ["result", "tables", "rows", "count"]
        | ["sweeps", "stages", "passes", "by_degree" | "by_shift" | "new_sums" | "states" | "successors"]
        | ["sweeps", "stages", "balance", "expected" | "got"]
        | ["sweeps", "stages", "functionals", "lanes"] => true,
        ["sweeps", "stages", end @ ("reads" | "writes"), what @ ("sums" | "fingerprint" | "states")] => {
            let stages = certificate["sweeps"][path[1].parse::<usize>().unwrap()]["stages"].as_array().unwrap();
            let number: usize = path[3].parse().unwrap();
            let meets = match end {
                "reads" => stages[number]["starts"] == false,
                _ => stages.get(number + 1).is_some_and(|next| next["starts"] == false),
            };
            meets || by_streams && what != "fingerprint"
        }
        _ => false,
    }
}

fn is_found(certificate: &Value) -> bool {
    verify_value(certificate).map_or(true, |verified| verified.iter().any(|one| !one.ok()))
}

#[test]
fn every_changed_leaf_is_found() {
    for (words, least) in [
        ("go 3x4 --executor stream --residues-per-sweep 1", 200),
        ("go 5x5", 30),
        ("quoridor-fences 3x3 --max-fences 2 --residues-per-sweep 1", 200),
        ("square-free 3", 60),
    ] {
        let certificate = certificate_of(words);
        assert!(!is_found(&certificate), "{words}: {:?}", verify_value(&certificate));
        let mut all = Vec::new();
        leaves(&certificate, &mut Vec::new(), &mut all);
        let single = certificate["sweeps"].as_array().unwrap().len() < 2;
        let mut with_law = 0;
        for path in &all {
            let mut changed = certificate.clone();
            change(at(&mut changed, path));
            let place = path.join(".");
            assert!(is_found(&changed), "{words}: {place} was changed, and nothing shows it");
            // With one sweep there is nothing to hold these against.
            let states = ["states", "successors"].iter().any(|name| path.last().is_some_and(|last| last == name));
            if has_law(&certificate, path) && !(single && states) {
                with_law += 1;
                rehash(&mut changed);
                assert!(is_found(&changed), "{words}: {place} was changed with all hashes, and no law shows it");
            }
        }
        println!("{words}: {} leaves, all found; {with_law} of them by laws alone", all.len());
        assert!(with_law >= least, "{words}: a law speaks of {with_law} of {} leaves", all.len());
    }
}

/// Hashes made anew over an unchanged certificate are the old ones: otherwise the test above would find nothing by laws.
#[test]
fn hashes_made_anew_are_the_same() {
    let certificate = certificate_of("go 3x4");
    let mut again = certificate.clone();
    rehash(&mut again);
    assert_eq!(certificate, again);
    ok(&certificate);
}

/// A sweep that nobody counted, and numbers by coefficient that are others, with all hashes made anew. Both checkers name the
/// check that fails; and of a certificate whose hashes alone are new, neither says anything.
#[test]
fn a_sweep_that_is_left_out_is_found() {
    type Change = fn(&mut Value);
    let sweeps = |certificate: &Value| certificate["sweeps"].as_array().unwrap().len();
    let (streams, fences) = ("go 3x4 --executor stream --residues-per-sweep 1", "quoridor-fences 3x3 --max-fences 2");
    let table: [(&str, &str, Option<&str>, Change); 8] = [
        ("nothing", streams, None, |_| {}),
        ("nothing by coefficient", fences, None, |_| {}),
        ("the last sweep", streams, Some("primes"), |c| drop(c["sweeps"].as_array_mut().unwrap().pop())),
        ("the first sweep", streams, Some("primes"), |c| drop(c["sweeps"].as_array_mut().unwrap().remove(0))),
        ("all sweeps", streams, Some("stages"), |c| c["sweeps"].as_array_mut().unwrap().clear()),
        ("a sweep, with its primes to another", streams, Some("primes"), |c| {
            let all = c["head"]["moduli"].clone();
            let sweeps = c["sweeps"].as_array_mut().unwrap();
            sweeps.truncate(1);
            sweeps[0]["moduli"] = all;
        }),
        ("a sweep for another, under its name", streams, Some("primes"), |c| {
            let other = c["sweeps"][1]["moduli"].clone();
            c["sweeps"][1] = c["sweeps"][0].clone();
            c["sweeps"][1]["moduli"] = other;
        }),
        ("a number by coefficient", fences, Some("count"), |c| {
            let counts = c["result"]["counts"].as_array_mut().unwrap();
            assert_ne!(counts[0], counts[1]);
            counts.swap(0, 1);
        }),
    ];
    for (what, words, fails, change) in table {
        let mut certificate = certificate_of(words);
        assert!(words == fences || sweeps(&certificate) >= 2, "{words}: one sweep alone");
        change(&mut certificate);
        rehash(&mut certificate);
        let verified = verify_value(&certificate).unwrap();
        let failed: Vec<&str> =
            verified.iter().flat_map(|one| &one.checks).filter(|check| !check.ok).map(|check| check.name).collect();
        let (code, said) = by_python(&certificate).unwrap_or_default();
        match fails {
            None => assert!(failed.is_empty() && code.is_none_or(|code| code == 0), "{what}: {failed:?}\n{said}"),
            Some(check) => {
                assert!(failed.contains(&check), "{what}: keima verify finds {failed:?}");
                let is_named = said.contains(&format!("FAILED {check}\n"));
                assert!(code.is_none_or(|code| code == 3) && (said.is_empty() || is_named), "{what}: {code:?}\n{said}");
            }
        }
    }
}
