//! A task done in plain maps, every tally included.

use std::collections::BTreeMap;

use keima_model::{AnyProblem, Key, Problem, Registry, Successors};
use keima_orders::TaskOrder;
use keima_residue::{add_mod, mul_mod};
use keima_runs::{FunctionalSum, PassTally, RunId, RunManifest, Split, Tally, TaskManifest};

type Records = BTreeMap<u64, Vec<u64>>;

/// A run on a worker's disk.
#[derive(Clone)]
pub(crate) struct File {
    pub(crate) manifest: RunManifest,
    pub(crate) records: Records,
    /// Whether it outlives a power failure.
    pub(crate) durable: bool,
    pub(crate) damaged: bool,
}

impl File {
    /// Two states of the run exchange their values, if they differ: no sum sees it.
    pub(crate) fn swap_values(&mut self) -> bool {
        let Some((&first, value)) = self.records.first_key_value() else { return false };
        let Some((&other, _)) = self.records.iter().find(|(_, v)| *v != value) else { return false };
        let (a, b) = (self.records[&first].clone(), self.records[&other].clone());
        self.records.extend([(first, b), (other, a)]);
        true
    }
}

fn tally(records: &Records, canonical: impl Fn(u64) -> u64, salt: u64, moduli: &[u64]) -> Tally {
    let mut tally =
        Tally { states: records.len() as u64, sums: vec![0; moduli.len()], fingerprint: vec![0; moduli.len()] };
    for (&key, row) in records {
        let hash = canonical(key).mix(salt);
        for (lane, &p) in moduli.iter().enumerate() {
            tally.sums[lane] = add_mod(tally.sums[lane], row[lane], p);
            tally.fingerprint[lane] = add_mod(tally.fingerprint[lane], mul_mod(hash % p, row[lane], p), p);
        }
    }
    tally
}

/// Does a task in plain maps.
pub(crate) fn compute(
    registry: &dyn Registry,
    attempt: &str,
    order: &TaskOrder,
    inputs: Vec<BTreeMap<u64, Vec<u64>>>,
) -> (TaskManifest, Vec<File>) {
    let AnyProblem::Narrow(problem) = registry.open(&order.problem).expect("a toy") else { panic!("narrow keys") };
    let problem: &dyn Problem<u64> = &*problem;
    let moduli = &order.moduli;
    let add = |to: &mut Records, key: u64, row: &[u64]| {
        let sum = to.entry(key).or_insert_with(|| vec![0; moduli.len()]);
        for ((s, r), &p) in sum.iter_mut().zip(row).zip(moduli) {
            *s = add_mod(*s, *r, p);
        }
    };
    let mut read = Records::new();
    for (key, row) in inputs.into_iter().flatten() {
        if u128::from(key) >= order.low && order.high.is_none_or(|high| u128::from(key) < high) {
            add(&mut read, key, &row);
        }
    }
    let mut vector = Records::new();
    for (key, row) in &read {
        let mut key = [*key];
        problem.enter(order.layout_in, order.window, &mut key);
        add(&mut vector, key[0], row);
    }
    if order.from_start {
        assert!(order.inputs.is_empty() && order.low == 0 && order.high.is_none());
        problem.start().into_iter().for_each(|(key, count)| add(&mut vector, key, &vec![count; moduli.len()]));
    }
    let mut manifest = TaskManifest { input: tally(&vector, |key| key, order.salt, moduli), ..TaskManifest::default() };
    let functionals = problem.functionals();
    for pass in order.first_pass..order.first_pass + order.window.len {
        let mut next = Records::new();
        let mut told =
            PassTally { states: vector.len() as u64, by_degree: vec![vec![0; moduli.len()]; 4], ..Default::default() };
        for (&key, row) in &vector {
            let mut successors = Successors::default();
            problem.expand(pass, order.window, &[key], &mut successors);
            let sums = &mut told.by_degree[successors.keys.len()];
            (0..moduli.len()).for_each(|lane| sums[lane] = add_mod(sums[lane], row[lane], moduli[lane]));
            successors.keys.iter().for_each(|&to| add(&mut next, to, row));
        }
        vector = next;
        told.new_sums = tally(&vector, |key| key, 0, moduli).sums;
        for (functional, _) in (0..).zip(&functionals).filter(|(_, f)| f.after_pass == pass) {
            manifest.functionals.push(FunctionalSum { functional, lanes: told.new_sums.clone() });
        }
        manifest.passes.push(told);
    }
    manifest.output = tally(&vector, |key| key, order.salt, moduli);
    let mut written: Vec<(u64, Vec<u64>)> = vector
        .into_iter()
        .map(|(key, row)| {
            let mut key = [key];
            problem.leave(order.window, order.layout_out, &mut key);
            (key[0], row)
        })
        .collect();
    written.sort_unstable();
    let mut files = Vec::new();
    for (number, part) in written.chunks(7).enumerate() {
        let records: Records = part.iter().cloned().collect();
        let run = RunManifest {
            id: RunId(format!("{attempt}/r{number}")),
            bytes: 100 * part.len() as u64,
            records: part.len() as u64,
            first_key: part[0].0.into(),
            last_key: part[part.len() - 1].0.into(),
            sums: tally(&records, |key| key, 0, moduli).sums,
            checksum: 0,
        };
        manifest.runs.push(run.clone());
        files.push(File { manifest: run, records, durable: order.durable, damaged: false });
    }
    manifest.splits = written
        .chunks(2)
        .map(|part| Split { key: u128::from(part[part.len() - 1].0) + 1, records: part.len() as u64 })
        .collect();
    (manifest, files)
}
