//! The jobs that simulated clusters count, and their answers.

use keima_coordinator::{Executor, Follows, JobSpec};
use keima_model::ProblemRequest;

use crate::chance::Chance;

/// Problem, size, switch, count, and whether it has a block form.
const JOBS: [(&str, &str, &str, &str, bool); 13] = [
    // J. Tromp, https://tromp.github.io/go/legal.html
    ("go", "3x3", "", "12675", true),
    ("go", "3x4", "", "321689", true),
    ("go", "4x4", "", "24318165", true),
    ("go", "4x5", "", "1840058693", true),
    ("go", "5x4", "", "1840058693", true),
    // OEIS A006506
    ("hard-squares", "5x5", "", "55447", false),
    ("hard-squares", "6x6", "", "5598861", false),
    // OEIS A140517
    ("grid-cycles", "5x5", "", "9349", false),
    // OEIS A007764
    ("grid-paths", "5x5", "", "8512", false),
    // OEIS A079137
    ("knight", "4x5", "open", "82", false),
    // Several coefficients. These equal the brute force of the problem's own tests.
    ("quoridor-fences", "3x3", "", "4715", true),
    ("quoridor-fences", "3x4", "", "70944", true),
    ("quoridor-fences", "4x4", "", "2532560", true),
];

/// A job and its answer.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) spec: JobSpec,
    pub(crate) count: &'static str,
}

impl Job {
    /// Any of them.
    pub(crate) fn draw(chance: &mut Chance) -> Self {
        let (name, size, option, count, blocks) = JOBS[chance.below(JOBS.len() as u64) as usize];
        let options = if option.is_empty() { Vec::new() } else { vec![(option.to_owned(), String::new())] };
        let executor = if blocks && chance.below(2) == 0 { Executor::Block } else { Executor::Stream };
        let spec = JobSpec {
            problem: ProblemRequest { name: name.to_owned(), size: size.to_owned(), options },
            priority: chance.below(2) as i32,
            task_memory_bytes: 8 << 20,
            disk_bytes: None,
            residues_per_sweep: chance.pick(&[None, Some(1), Some(2)]).copied().flatten(),
            window: chance.pick(&[None, Some(1), Some(2)]).copied().flatten(),
            slots: 4,
            worker_slots: 1,
            executor,
            series: chance.below(3) == 0,
            other_primes: false,
            follows: Follows::default(),
        };
        Self { spec, count }
    }

    /// For the event log.
    pub(crate) fn shown(&self) -> String {
        let JobSpec { problem, executor, residues_per_sweep, window, series, .. } = &self.spec;
        format!(
            "{} {} {executor:?}, residues per sweep {residues_per_sweep:?}, window {window:?}, series {series}",
            problem.name, problem.size
        )
    }
}
