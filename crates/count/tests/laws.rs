//! Whole counts of random recurrences with any number of coefficients from 1 on: what moves beyond the last coefficient is
//! dropped, every law of worker and coordinator holds, and the number is that of plain maps.
//!
//! A recurrence is drawn by hashing: in pass p the state k has one to three successors, each with a state below 50 and a shift
//! of at most `most_shift`. Batches in which nothing moves leave out their shifts, as a problem may.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use keima_coordinator::{Executor, JobSpec, State};
use keima_count::{LocalCluster, LocalConfig};
use keima_model::{
    AnyProblem, Board, Key, Problem, ProblemError, ProblemInfo, ProblemRequest, Registry, Successors, Window,
};
use proptest::prelude::*;

/// Number of different states.
const STATES: u64 = 50;

#[derive(Clone, Debug)]
struct Random {
    seed: u64,
    board: Board,
    coefficients: u32,
    most_shift: u64,
}

impl Random {
    /// (next state, shift) of each successor.
    fn successors(&self, pass: u32, state: u64) -> Vec<(u64, u8)> {
        let draw = |number: u64| (state << 16 | u64::from(pass) << 8 | number).mix(self.seed);
        // A state without successors would soon leave none.
        let degree = 1 + draw(0) % 3;
        (1..=degree).map(|i| (draw(i) % STATES, (draw(16 + i) % (self.most_shift + 1)) as u8)).collect()
    }

    /// The sum over all coefficients, by plain maps.
    fn plain_count(&self) -> u128 {
        let mut vector = BTreeMap::from([((0_u64, 0_u32), 1_u128)]);
        for pass in 0..self.board.passes() {
            let mut next = BTreeMap::new();
            for ((state, moved), count) in vector {
                for (to, shift) in self.successors(pass, state) {
                    let moved = moved + u32::from(shift);
                    if moved < self.coefficients {
                        *next.entry((to, moved)).or_insert(0) += count;
                    }
                }
            }
            vector = next;
        }
        vector.values().sum()
    }
}

impl ProblemInfo for Random {
    fn name(&self) -> &'static str {
        "random"
    }
    fn board(&self) -> Board {
        self.board
    }
    fn identity(&self) -> String {
        format!("{self:?}")
    }
    fn key_bits(&self) -> u32 {
        6
    }
    fn coefficients(&self) -> u32 {
        self.coefficients
    }
    fn bound(&self) -> Vec<(u32, u32)> {
        vec![(3, self.board.passes())]
    }
}

impl Problem<u64> for Random {
    fn expand(&self, pass: u32, _: Window, keys: &[u64], out: &mut Successors<u64>) {
        for &key in keys {
            let successors = self.successors(pass, key);
            out.degrees.push(successors.len() as u8);
            out.keys.extend(successors.iter().map(|&(to, _)| to));
            out.shifts.extend(successors.iter().map(|&(_, shift)| shift));
        }
        if out.shifts.iter().all(|&shift| shift == 0) {
            out.shifts.clear();
        }
    }
}

impl Registry for Random {
    fn open(&self, _: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
        Ok(AnyProblem::Narrow(Arc::new(self.clone())))
    }
}

/// What a count in one process ends with: the state, the number, the reason.
async fn counted(problem: &Random, window: u32) -> (State, String, String) {
    let dir = tempfile::tempdir().unwrap();
    let config = LocalConfig {
        data: dir.path().join("data"),
        scratch: dir.path().join("scratch"),
        memory_bytes: 128 << 20,
        disk_bytes: 1 << 30,
        slots: 2,
        durable_interval_millis: 60_000,
    };
    let cluster = LocalCluster::start(Arc::new(problem.clone()), config).unwrap();
    let request = ProblemRequest { name: "random".into(), size: problem.size(), options: Vec::new() };
    let spec = JobSpec {
        worker_slots: 0,
        executor: Executor::Stream,
        problem: request,
        priority: 0,
        task_memory_bytes: 16 << 20,
        disk_bytes: None,
        residues_per_sweep: None,
        window: Some(window),
        slots: 2,
        series: false,
        other_primes: false,
        follows: keima_coordinator::Follows::default(),
    };
    let job = cluster.coordinator().submit(spec).await.unwrap();
    let status = loop {
        let status = cluster.coordinator().status(job).await.unwrap();
        if status.state.is_over() || status.state == State::Paused {
            break status;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    };
    cluster.stop().await.unwrap();
    (status.state, status.outcome.map_or_else(String::new, |outcome| outcome.count), status.reason)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn shifts_beyond_the_coefficients_are_dropped_and_every_law_holds(
        seed: u64, height in 1_u32..4, length in 1_u32..4, coefficients in 1_u32..6, most_shift in 0_u64..7, window in 1_u32..4,
    ) {
        let problem = Random { seed, board: Board { height, length }, coefficients, most_shift };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (state, count, reason) = runtime.block_on(counted(&problem, window.min(height)));
        prop_assert_eq!(state, State::Done, "{:?}: {}", problem, reason);
        prop_assert_eq!(count, problem.plain_count().to_string(), "{:?}", problem);
    }
}
