//! The laws that a task's numbers must obey before it reports them.
//!
//! For every lane:
//!
//! ```text
//!   sum read = sum into pass 0;   sum over (value x successors) of pass i = sum into pass i+1 = ... = sum of the output
//!   sum of the output = sum of the sums in the footers of the written runs
//! ```
//!
//! For every pass and modulus the problem's own law is checked too. The two sides of an equation come from different
//! data at different times, so a value that changes in memory in between shows. Cost: a few operations for each pass
//! and lane.

use keima_model::ProblemInfo;
use keima_orders::TaskOrder;
use keima_runs::{PassTally, RunManifest};

use crate::TaskError;
use crate::tally::PassSums;

/// Checks the laws of a task. Returns the tally of each pass for the report.
pub(crate) fn check(
    problem: &(impl ProblemInfo + ?Sized),
    order: &TaskOrder,
    passes: &[PassSums],
    input: &[u64],
    output: &[u64],
    runs: &[RunManifest],
) -> Result<Vec<PassTally>, TaskError> {
    let moduli = &order.moduli;
    let mut taken = input.to_vec();
    let mut tallies = Vec::new();
    let mut last = order.first_pass;
    for (pass, (i, sums)) in (order.first_pass..).zip(passes.iter().enumerate()) {
        same(order, "mass balance", pass, &taken, &sums.old(moduli))?;
        taken = sums.expected(moduli);
        let new = passes.get(i + 1).map_or_else(|| output.to_vec(), |next| next.old(moduli));
        tallies.push(sums.finish(new, moduli));
        last = pass;
    }
    same(order, "mass balance", last, &taken, output)?;
    let mut filed = vec![0; output.len()];
    for run in runs {
        keima_residue::add_row(&mut filed, &run.sums, moduli);
    }
    same(order, "sums of the written runs", last, output, &filed)?;
    if problem.coefficients() == 1 {
        for (pass, tally) in (order.first_pass..).zip(&tallies) {
            for ((lane, &modulus), &new) in moduli.iter().enumerate().zip(&tally.new_sums) {
                let by_degree: Vec<u64> = tally.by_degree.iter().filter_map(|row| row.get(lane).copied()).collect();
                let law = problem.law(pass, &by_degree, new, modulus).unwrap_or(Ok(()));
                law.map_err(|detail| TaskError::Check { check: "the problem's own law", pass, modulus, detail })?;
            }
        }
    }
    Ok(tallies)
}

fn same(order: &TaskOrder, check: &'static str, pass: u32, expected: &[u64], got: &[u64]) -> Result<(), TaskError> {
    let lanes = expected.iter().zip(got).zip(order.moduli.iter().cycle()).enumerate();
    for (lane, ((expected, got), &modulus)) in lanes {
        if expected != got {
            let attempt = &order.attempt;
            let detail = format!(
                "lane {lane} of task {attempt}: expected {expected}, got {got}; the machine or its memory may be faulty"
            );
            return Err(TaskError::Check { check, pass, modulus, detail });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use keima_model::{Board, Forecast, Functional, Layout, ProblemRequest, Window};
    use keima_orders::{AttemptId, JobId};

    /// The least problem that has a law: every state has exactly two successors.
    struct Doubling;
    impl ProblemInfo for Doubling {
        fn name(&self) -> &'static str {
            "doubling"
        }
        fn size(&self) -> String {
            "1x2".into()
        }
        fn board(&self) -> Board {
            Board { height: 2, length: 1 }
        }
        fn identity(&self) -> String {
            "doubling".into()
        }
        fn key_bits(&self) -> u32 {
            64
        }
        fn bound(&self) -> Vec<(u32, u32)> {
            vec![(2, 2)]
        }
        fn bound_after(&self, _: u32) -> Vec<(u32, u32)> {
            vec![(2, 2)]
        }
        fn functionals(&self) -> Vec<Functional> {
            Vec::new()
        }
        fn family_bits(&self, _: Layout) -> u32 {
            64
        }
        fn largest_family(&self, _: Window) -> Option<u128> {
            None
        }
        fn forecast(&self) -> Option<Forecast> {
            None
        }
        fn law(&self, _: u32, by_degree: &[u64], new: u64, modulus: u64) -> Option<Result<(), String>> {
            let expected = keima_residue::mul_mod(2, by_degree.get(2).copied().unwrap_or(0), modulus);
            let holds = by_degree.len() == 3 && expected == new;
            Some(holds.then_some(()).ok_or_else(|| format!("{by_degree:?} became {new}")))
        }
    }

    const MODULI: [u64; 2] = [1_000_000_007, 998_244_353];

    fn order() -> TaskOrder {
        let window = Window { first: 0, len: 2 };
        let attempt = AttemptId { job: JobId(1), sweep: 0, generation: 0, task: 0, attempt: 0 };
        let problem = ProblemRequest { name: "tower".into(), size: "1x1".into(), options: Vec::new() };
        TaskOrder { moduli: MODULI.to_vec(), from_start: false, ..TaskOrder::of(attempt, problem, window) }
    }

    /// Two passes that each double the value (3, 5). Returns the law that a task with these sums breaks.
    fn broken(degrees: [u8; 2], into_second: [u64; 2], input: [u64; 2], output: [u64; 2]) -> Option<&'static str> {
        let mut first = PassSums::new(2);
        first.add(&[degrees[0]], &[], &[3, 5], &MODULI);
        let mut second = PassSums::new(2);
        second.add(&[degrees[1]], &[], &into_second, &MODULI);
        let run = RunManifest {
            id: keima_runs::RunId("r".into()),
            bytes: 0,
            records: 1,
            first_key: 0,
            last_key: 0,
            sums: output.to_vec(),
            checksum: 0,
        };
        match check(&Doubling, &order(), &[first, second], &input, &output, &[run]) {
            Ok(_) => None,
            Err(TaskError::Check { check, .. }) => Some(check),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn every_law_can_be_broken() {
        assert_eq!(broken([2, 2], [6, 10], [3, 5], [12, 20]), None);
        for (what, found) in [
            ("input", broken([2, 2], [6, 10], [3, 6], [12, 20])),
            ("between the passes", broken([2, 2], [6, 11], [3, 5], [12, 22])),
            ("output", broken([2, 2], [6, 10], [3, 5], [12, 21])),
        ] {
            assert_eq!(found, Some("mass balance"), "{what}");
        }
        assert_eq!(broken([3, 2], [9, 15], [3, 5], [18, 30]), Some("the problem's own law"));
    }
}
