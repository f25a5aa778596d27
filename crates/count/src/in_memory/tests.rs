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
