//! Tests of counts in memory: the checks that they show, and kept residues that are wrong.

use keima_engine::block::ResidueStore;
use keima_model::{ProblemRequest, Registry};
use keima_problems::Problems;

use super::*;

fn go(size: &str) -> AnyProblem {
    let request = ProblemRequest { name: "go".into(), size: size.into(), options: Vec::new() };
    Problems.open(&request).unwrap()
}

/// The mass balance names the checked windows. The forward vector of the smallest board goes through none.
#[test]
fn every_count_shows_its_mass_balance() {
    for (size, shown) in [
        ("2x2", "1 window of the transposed vector"),
        ("2x3", "1 window of the forward vector, and 1 of the transposed one"),
        ("8x8", "windows of the forward vector, and "),
    ] {
        let result = InMemory::new(go(size), 1, 1 << 30, false).unwrap().count().unwrap();
        let checks = result.outcome.checks;
        let balance = checks.iter().find(|check| check.name == "mass_balance");
        assert!(balance.is_some_and(|check| check.ok && check.detail.contains(shown)), "{size}: {checks:?}");
    }
}

/// A kept residue that is intact but wrong: the result is refused and nothing is kept. The next count is right, and its
/// residues stay until it is forgotten.
#[test]
fn a_wrong_residue_is_found_out_and_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("kept");
    let one_at_a_time = |bytes: &u64| InMemory::fit(&go("9x9"), 1, *bytes).is_some_and(|fit| fit.lanes == Some(1));
    let memory_bytes = (0..2000).map(|step| (64 << 20) + step * (32 << 10)).find(one_at_a_time).unwrap();
    let new = || InMemory::new(go("9x9"), 1, memory_bytes, false).unwrap();
    let expected = new().count().unwrap();
    assert!(expected.outcome.ok);

    let modulus = new().into_plan().moduli[0];
    KeptSweeps::open(&place, "go-9x9").unwrap().keep(&[(modulus, vec![1; 9])], &[]);
    for (found, right) in [(1, false), (0, true)] {
        let counting = new();
        assert_eq!(counting.keep_in(&place, "go-9x9").unwrap().map(|(found, _)| found), Some(found));
        let result = counting.count().unwrap();
        assert_eq!(result.outcome.ok, right, "{:?}", result.outcome);
        assert_eq!(result.resumed_from.is_some(), found > 0);
        assert_eq!(place.exists(), right, "kept until the number has been told");
        if right {
            let again = new();
            let all = again.plan.moduli.len();
            assert_eq!(again.keep_in(&place, "go-9x9").unwrap(), Some((all, all)));
            let again = again.count().unwrap();
            assert!(again.outcome.ok);
            // The evidence of the first process is in the certificate of the second.
            let certificate = again.certificate.unwrap();
            assert_eq!(certificate["history"]["lives"], "2");
            let verified = keima_verify::verify_value(&certificate).unwrap();
            let failed: Vec<_> = verified[0].checks.iter().filter(|check| !check.ok).collect();
            assert!(failed.is_empty() && certificate["sweeps"].as_array().unwrap().len() == all, "{failed:?}");
            InMemory::forget(&place);
            assert!(!place.exists());
            assert_eq!(result.outcome.count, expected.outcome.count);
        }
    }
}

fn curves(name: &str, size: &str, options: &[&str]) -> AnyProblem {
    let options = options.iter().map(|&option| (option.to_owned(), String::new())).collect();
    Problems.open(&ProblemRequest { name: name.into(), size: size.into(), options }).unwrap()
}

/// The published numbers of curves, by bracket words.
#[test]
fn published_numbers_of_curves() {
    let table = include_str!("../../../../tests/golden/grid_curves.csv");
    let mut counted = 0;
    for line in table.lines() {
        let [sequence, side, expected] = line.split(',').collect::<Vec<_>>()[..] else { continue };
        let (name, options): (&str, &[&str]) = match sequence {
            "A007764" => ("grid-paths", &[]),
            "A001184" => ("grid-paths", &["hamiltonian"]),
            "A000532" => ("grid-paths", &["hamiltonian", "side"]),
            "A140517" => ("grid-cycles", &[]),
            "A003763" => ("grid-cycles", &["hamiltonian"]),
            _ => continue,
        };
        if !side.parse().is_ok_and(|side: u32| (2..=12).contains(&side)) {
            continue;
        }
        let problem = curves(name, &format!("{side}x{side}"), options);
        let result = InMemory::new(problem, 2, 1 << 30, false).unwrap().count().unwrap();
        assert!(result.outcome.ok, "{line}: {:?}", result.outcome.checks);
        assert_eq!(result.outcome.count, expected, "{line}");
        counted += 1;
    }
    assert_eq!(counted, 11 + 5 + 11 + 11 + 6);
}

/// Sweeps are kept; a kept residue that is wrong is found out and forgotten; the second count of a number cuts words
/// elsewhere and has other primes.
#[test]
fn sweeps_over_words_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("kept");
    let problem = || curves("grid-paths", "12x12", &[]);
    let all = InMemory::fit(&problem(), 1, u64::MAX).unwrap();
    let fit = |bytes| InMemory::fit(&problem(), 1, bytes);
    let one = std::iter::successors(Some(all), |last| fit(last.memory_bytes - 1)).last().unwrap();
    assert_eq!((all.lanes, one.lanes), (Some(3), Some(1)));
    let new = || InMemory::new(problem(), 1, one.memory_bytes, false).unwrap();
    let modulus = new().into_plan().moduli[0];
    KeptSweeps::open(&place, "paths").unwrap().keep(&[(modulus, vec![1; 12])], &[]);
    for (found, right) in [(1, false), (0, true), (3, true)] {
        let counting = new();
        assert_eq!(counting.keep_in(&place, "paths").unwrap(), Some((found, 3)));
        let result = counting.count().unwrap();
        assert_eq!(result.outcome.ok, right, "{:?}", result.outcome.checks);
        assert_eq!(result.certificate.is_some(), right);
        if let Some(certificate) = result.certificate {
            let verified = keima_verify::verify_value(&certificate).unwrap();
            let failed: Vec<_> = verified[0].checks.iter().filter(|check| !check.ok).collect();
            assert!(failed.is_empty(), "{failed:?}");
            let again = new().other_way();
            assert!(again.plan.moduli.iter().all(|prime| !result.plan.moduli[..2].contains(prime)));
            assert_eq!(again.count().unwrap().outcome.count, result.outcome.count);
        }
    }
}
