//! Recombination of published values from their residues, and of numbers that somebody has tampered with.

use keima_residue::{primes_below, residue_of};
use proptest::prelude::*;

use super::*;
use crate::plan::example::Example;
use crate::plan::{PlanLimits, plan};

/// Published L(m,n).
const KNOWN: [(u32, u32, &str); 8] = [
    (6, 7, "41945191530093646965"),
    (9, 9, "103919148791293834318983090438798793469"),
    (10, 10, "96498428501909654589630887978835098088148177857"),
    (10, 11, "5072588588647327658457862518216696854885169490987149"),
    (11, 11, "793474866816582266820936671790189132321673383112185151899"),
    (12, 12, "57774258489513238998237970307483999327287210756991189655942651331169"),
    (13, 13, "37249792307686396442294904767024517674249157948208717533254799550970595875237705"),
    (
        19,
        19,
        "2081681993819799846994786333448627702865224538845305484256394568209274196127380153785256484516985196439072599\
         16015628128546089888314427129715319317557736620397247064840935",
    ),
];

fn plan_of(example: &Example) -> Plan {
    let limits = PlanLimits {
        task_memory_bytes: 1 << 30,
        disk_bytes: None,
        residues_per_sweep: None,
        window: None,
        slots: 1,
        worker_slots: 1,
        second_copies: false,
        series: false,
    };
    plan(example, 8, &limits).unwrap()
}

fn residues(plan: &Plan, count: &Integer) -> Vec<u64> {
    plan.moduli.iter().map(|&p| residue_of(count, p)).collect()
}

/// A board with one functional only, its answer, whose published value and formula are known.
fn example(height: u32, length: u32, known: Option<&str>, tolerance: f64) -> Example {
    let mut example = Example::new(height, length);
    let mut answer = example.functionals.pop().unwrap();
    answer.known = known.map(Into::into);
    answer.formula = Some(example.formula(length, tolerance));
    example.functionals = vec![answer];
    example
}

fn check_named<'a>(checks: &'a [Check], name: &str) -> &'a Check {
    checks.iter().find(|check| check.name == name).unwrap_or_else(|| panic!("no check {name} among {checks:?}"))
}

/// The outcome must fail exactly the checks `failed`, and then show no count anywhere.
fn assert_fails(outcome: &Outcome, failed: &[&str]) {
    let got: Vec<_> = outcome.checks.iter().filter(|check| !check.ok).map(|check| check.name.as_str()).collect();
    assert_eq!(got, failed, "{:?}", outcome.checks);
    assert!(!outcome.ok);
    assert_eq!(outcome.count, "");
    assert!(outcome.counts.is_empty());
    assert!(outcome.series.iter().all(|entry| entry.count.is_empty() && entry.counts.is_empty()));
}

#[test]
fn published_values_come_back_from_their_residues() {
    for (height, length, text) in KNOWN {
        let example = example(height, length, Some(text), 1e-4);
        let plan = plan_of(&example);
        let count: Integer = text.parse().unwrap();
        let values = FunctionalValues::from([(0, vec![residues(&plan, &count)])]);
        let outcome = recombine(&example, &plan, &values);
        assert!(outcome.ok, "{:?}", outcome.checks);
        assert_eq!(outcome.count, text);
        let names: Vec<_> = outcome.checks.iter().map(|check| check.name.as_str()).collect();
        assert_eq!(names, ["spare_prime", "bound", "known_value", "formula", "column_values"]);
        assert_eq!(outcome.residues.len(), plan.moduli.len());
        for (&Residue { modulus, residue }, &p) in outcome.residues.iter().zip(&plan.moduli) {
            assert_eq!((modulus, residue), (p, residue_of(&count, p)));
        }
        assert_eq!(outcome.series[0].count, text);
        assert_eq!(outcome.series[0].index, length);
    }
}

#[test]
fn the_formula_is_as_good_as_published() {
    // Height, and the published relative error within a factor of 2.
    for (height, length, error) in [(6, 7, 5e-6), (9, 9, 1e-8), (11, 11, 4.6e-11), (12, 12, 1.2e-11), (13, 13, 2.2e-13)]
    {
        let (_, _, text) = KNOWN.into_iter().find(|&(m, n, _)| (m, n) == (height, length)).unwrap();
        let count: Integer = text.parse().unwrap();
        let check = |count: &Integer, tolerance: f64| {
            let example = example(height, length, None, tolerance);
            let plan = plan_of(&example);
            let values = FunctionalValues::from([(0, vec![residues(&plan, count)])]);
            recombine(&example, &plan, &values)
        };
        assert!(check(&count, error * 2.0).ok, "{height}x{length}: {:?}", check(&count, error * 2.0).checks);
        assert_fails(&check(&count, error / 2.0), &["formula", "column_values"]);
        // A count that is off by ten times the tolerance, either way.
        let off = Integer::from(&count / (0.05 / error) as u64);
        assert_fails(&check(&Integer::from(&count + &off), error * 2.0), &["formula", "column_values"]);
        assert_fails(&check(&(count - off), error * 2.0), &["formula", "column_values"]);
    }
    let example = example(13, 13, None, 4e-13);
    let plan = plan_of(&example);
    let count: Integer = KNOWN[6].2.parse().unwrap();
    let outcome = recombine(&example, &plan, &FunctionalValues::from([(0, vec![residues(&plan, &count)])]));
    let detail = &check_named(&outcome.checks, "formula").detail;
    assert_eq!(detail, "relative difference 2.2e-13 from A B^(m+n) L^(mn), accepted up to 4.0e-13");
}

#[test]
fn formulas_that_make_no_sense_fail() {
    use keima_model::{Decimal, Formula};
    let check = |constant: &str, exponent, tolerance, words: &str| {
        let mut example = example(2, 2, Some("57"), 0.1);
        let factors = vec![(Decimal(constant.into()), exponent)];
        example.functionals[0].formula = Some(Formula { text: "f".into(), factors, tolerance });
        let plan = plan_of(&example);
        let outcome = recombine(&example, &plan, &FunctionalValues::from([(0, vec![vec![57; 2]])]));
        let found = check_named(&outcome.checks, "formula");
        assert!(found.detail.contains(words), "{constant}: {found:?}");
        assert_eq!(outcome.ok, words.is_empty(), "{constant}");
    };
    check("57", 1, 0.0, "");
    check("57.000", 1, 0.0, "");
    check(".5", 0, 56.0, "");
    check("56", 1, 0.017, "accepted up to");
    check("0", 3, 0.1, "estimate is 0");
    check("1e9", 1, 0.1, "decimal constant");
    check("-57", 1, 0.1, "decimal constant");
    check(".", 1, 0.1, "decimal constant");
    check("", 1, 0.1, "decimal constant");
    check("0.1", u32::MAX, 0.1, "more than 1000000 digits");
    check("0.1", 400_000, 0.1, "more than 1000000 digits");
    check("57", 1, f64::NAN, "tolerance");
    check("57", 1, -1.0, "accepted up to");
}

proptest! {
    #[test]
    fn a_wrong_residue_in_any_place_is_caught_by_the_spare(board in 0..KNOWN.len(), place: usize, wrong: u64) {
        let (height, length, text) = KNOWN[board];
        let example = example(height, length, None, 1.0);
        let plan = plan_of(&example);
        let mut row = residues(&plan, &text.parse().unwrap());
        let place = place % row.len();
        let wrong = wrong % plan.moduli[place];
        prop_assume!(wrong != row[place]);
        row[place] = wrong;
        let outcome = recombine(&example, &plan, &FunctionalValues::from([(0, vec![row])]));
        prop_assert!(!check_named(&outcome.checks, "spare_prime").ok);
        prop_assert!(!outcome.ok && outcome.count.is_empty());
    }
}

/// With primes small enough to try everything: no single wrong residue passes, since the spare is the largest.
#[test]
fn no_single_wrong_residue_passes_at_all() {
    let mut example = Example::new(1, 1);
    example.bound = Some(vec![(2, 5), (3, 1)]);
    let plan = Plan { moduli: vec![7, 5, 3, 11], ..plan_of(&example) };
    let mut tampered = 0;
    for count in 0..=96 {
        let row = residues(&plan, &Integer::from(count));
        let good = recombine(&example, &plan, &FunctionalValues::from([(0, vec![row.clone()])]));
        assert_eq!((good.ok, good.count), (true, count.to_string()));
        for place in 0..4 {
            for wrong in (0..plan.moduli[place]).filter(|&wrong| wrong != row[place]) {
                let mut row = row.clone();
                row[place] = wrong;
                let bad = recombine(&example, &plan, &FunctionalValues::from([(0, vec![row])]));
                assert!(
                    !check_named(&bad.checks, "spare_prime").ok,
                    "{count} with {wrong} modulo {}",
                    plan.moduli[place]
                );
                tampered += 1;
            }
        }
    }
    assert_eq!(tampered, 97 * (6 + 4 + 2 + 10));
    // 104 < 7*5*3 is determined by its residues, but exceeds the proved bound of 96.
    let bad = recombine(&example, &plan, &FunctionalValues::from([(0, vec![residues(&plan, &Integer::from(104))])]));
    assert_fails(&bad, &["bound", "column_values"]);
}

#[test]
fn wrong_or_unreadable_published_values_fail() {
    for (known, words) in [("58", "expected the published 58, got 57"), ("many", "not a number"), ("", "not a")] {
        let example = example(2, 2, Some(known), 1.0);
        let plan = plan_of(&example);
        let outcome = recombine(&example, &plan, &FunctionalValues::from([(0, vec![vec![57; 2]])]));
        assert_fails(&outcome, &["known_value", "column_values"]);
        assert!(check_named(&outcome.checks, "known_value").detail.contains(words), "{:?}", outcome.checks);
    }
}

#[test]
fn values_that_do_not_fit_fail_with_evidence() {
    let example = example(9, 9, None, 1.0);
    let plan = plan_of(&example);
    let row = residues(&plan, &KNOWN[1].2.parse().unwrap());
    let check = |plan: &Plan, values: FunctionalValues, failed: &[&str], words: &str| {
        let outcome = recombine(&example, plan, &values);
        assert_fails(&outcome, failed);
        let text: String = outcome.checks.iter().map(|check| check.detail.as_str()).collect();
        assert!(text.contains(words), "{text:?} does not say {words:?}");
    };
    let shape = &["residues", "column_values"];
    let spare = &["spare_prime", "column_values"];
    check(&plan, [].into(), &["residues"], "L(9,9)");
    check(&plan, [(0, vec![])].into(), shape, "expected 1 coefficients, got 0");
    check(&plan, [(0, vec![row.clone(), row.clone()])].into(), shape, "expected 1 coefficients, got 2");
    check(&plan, [(0, vec![row[..3].to_vec()])].into(), shape, "modulo 4 primes, got 3");
    check(&plan, [(0, vec![row.repeat(2)])].into(), shape, "modulo 4 primes, got 8");
    check(&plan, [(0, vec![row.clone()]), (7, vec![row.clone()])].into(), &["residues"], "residues of 7");
    check(&plan, [(0, vec![vec![u64::MAX; 4]])].into(), spare, "not below its modulus");
    let with = |moduli: &[u64]| Plan { moduli: moduli.to_vec(), ..plan.clone() };
    check(&with(&[]), [(0, vec![vec![]])].into(), spare, "at least one modulus and a spare, got 0");
    check(&with(&[7]), [(0, vec![vec![1]])].into(), spare, "at least one modulus and a spare, got 1");
    check(&with(&[7, 0]), [(0, vec![vec![0, 0]])].into(), spare, "expected primes as moduli, got 0");
    check(&with(&[7, 1]), [(0, vec![vec![0, 0]])].into(), spare, "expected primes as moduli, got 1");
    check(&with(&[7, 7]), [(0, vec![vec![2, 2]])].into(), spare, "a spare of its own");
    check(&with(&[7, 7, 5]), [(0, vec![vec![2, 2, 2]])].into(), spare, "coprime");
    check(&with(&[7, 5]), [(0, vec![vec![2, 2]])].into(), &["bound", "column_values"], "does not exceed 3^81");
    let no_answer = Example { functionals: Vec::new(), ..Example::new(9, 9) };
    assert_fails(&recombine(&no_answer, &plan, &FunctionalValues::new()), &["residues"]);
}

#[test]
fn answers_of_several_parts_and_coefficients_add_up() {
    let mut example = Example::new(4, 2);
    example.coefficients = 3;
    example.functionals[0].answer = true;
    example.functionals[1].known = Some("60".into());
    let plan = plan_of(&example);
    let rows = |counts: [u64; 3]| counts.map(|count| vec![count; plan.moduli.len()]).to_vec();
    let mut values = FunctionalValues::from([(0, rows([1, 2, 3])), (1, rows([10, 20, 30]))]);
    let outcome = recombine(&example, &plan, &values);
    assert!(outcome.ok, "{:?}", outcome.checks);
    assert_eq!((outcome.count.as_str(), outcome.counts.as_slice()), ("66", &["11", "22", "33"].map(String::from)[..]));
    assert_eq!(outcome.series[1].counts, ["10", "20", "30"]);
    assert!(outcome.residues.iter().all(|residue| residue.residue == 66));
    assert!(check_named(&outcome.checks, "spare_prime").detail.contains("L(4,1): residue 3"), "{:?}", outcome.checks);
    // One wrong residue in one coefficient of one part.
    values.get_mut(&0).unwrap()[2][0] += 1;
    let outcome = recombine(&example, &plan, &values);
    assert_fails(&outcome, &["spare_prime", "column_values"]);
    assert!(
        check_named(&outcome.checks, "spare_prime").detail.contains("L(4,1): coefficient 2"),
        "{:?}",
        outcome.checks
    );
}

#[test]
fn one_bad_column_withholds_the_answer_and_a_missing_one_does_not() {
    let mut example = Example::new(2, 2);
    example.functionals[0].known = Some("5".into());
    let plan = plan_of(&example);
    let good = FunctionalValues::from([(0, vec![vec![5; 2]]), (1, vec![vec![57; 2]])]);
    let outcome = recombine(&example, &plan, &good);
    assert!(outcome.ok);
    let summary = "2 of 2 intermediate counts verified (spare prime 2, published 1)";
    assert_eq!(check_named(&outcome.checks, "column_values").detail, summary);

    let bad = FunctionalValues::from([(0, vec![vec![6; 2]]), (1, vec![vec![57; 2]])]);
    let outcome = recombine(&example, &plan, &bad);
    assert_fails(&outcome, &["column_values"]);
    assert!(check_named(&outcome.checks, "column_values").detail.contains("L(2,1) fails known_value"));

    let partial = FunctionalValues::from([(1, vec![vec![57; 2]])]);
    let outcome = recombine(&example, &plan, &partial);
    assert_eq!((outcome.ok, outcome.count.as_str(), outcome.series.len()), (true, "57", 1));
    assert!(check_named(&outcome.checks, "column_values").detail.ends_with("not read: L(2,1)"));
}

#[test]
fn checks_of_the_run_withhold_too_and_json_has_strings() {
    let example = example(2, 2, Some("57"), 1.0);
    let plan = plan_of(&example);
    let mut outcome = recombine(&example, &plan, &FunctionalValues::from([(0, vec![vec![57; 2]])]));
    outcome.add_check(Check::new("mass_balance", true, "holds in 4 stages"));
    assert_eq!((outcome.ok, outcome.count.as_str()), (true, "57"));

    let json = serde_json::to_value(&outcome).unwrap();
    assert_eq!(json["count"], "57");
    assert_eq!(json["residues"][0]["modulus"], plan.moduli[0].to_string());
    assert_eq!(json["residues"][0]["residue"], "57");
    assert_eq!(json["checks"][0]["name"], "spare_prime");
    assert_eq!(serde_json::from_value::<Outcome>(json).unwrap(), outcome);
    let residue = outcome.residues[0];
    let as_text = (residue.modulus.to_string(), residue.residue.to_string());
    assert_eq!(postcard::to_stdvec(&residue).unwrap(), postcard::to_stdvec(&as_text).unwrap());
    let bytes = postcard::to_stdvec(&outcome).unwrap();
    assert_eq!(postcard::from_bytes::<Outcome>(&bytes).unwrap(), outcome);

    outcome.add_check(Check::new("fingerprint", false, "expected 1, got 2"));
    assert_fails(&outcome, &["fingerprint"]);
    outcome.add_check(Check::new("state_counts", true, "fine"));
    assert_fails(&outcome, &["fingerprint"]);
}

#[test]
fn early_values_come_with_one_modulus_to_spare() {
    let (_, _, text) = KNOWN[1];
    let count: Integer = text.parse().unwrap();
    let mut example = Example::new(9, 12);
    example.functionals[8].known = Some(text.into());
    example.functionals[8].formula = Some(example.formula(9, 2e-8));
    let plan = plan_of(&example);
    let known: Vec<_> = primes_below(1 << 60).map(|p| (p, residue_of(&count, p))).take(6).collect();
    // 3^81 needs three primes near 2^60, and one to spare.
    for moduli in 0..=3 {
        assert_eq!(early(&example, &plan, 8, &known[..moduli]), None);
    }
    for moduli in 4..=6 {
        let entry = early(&example, &plan, 8, &known[..moduli]).unwrap();
        assert_eq!((entry.ok, entry.count.as_str(), entry.index), (true, text, 9), "{:?}", entry.checks);
        assert_eq!(entry.checks.len(), 4);
    }
    // Any residue that is wrong shows, the order of the moduli notwithstanding.
    for place in 0..4 {
        let mut bad = known[..4].to_vec();
        bad[place].1 ^= 1;
        let entry = early(&example, &plan, 8, &bad).unwrap();
        assert_eq!((entry.ok, entry.count.as_str()), (false, ""));
        assert!(!check_named(&entry.checks, "spare_prime").ok);
        bad.reverse();
        assert!(!early(&example, &plan, 8, &bad).unwrap().ok);
    }
    assert_eq!(early(&example, &plan, 99, &known), None);
    assert_eq!(early(&example, &Plan { coefficients: 2, ..plan }, 8, &known), None);
}
