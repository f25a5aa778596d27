//! What one worker makes of a task: all that later stages and the answer rest on.

use keima_orders::WorkerId;
use keima_runs::{FunctionalSum, Tally, TaskManifest};

use super::laws::differs;

/// What one worker makes of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opinion {
    pub(super) worker: WorkerId,
    pub(super) outcome: TaskOutcome,
}

/// All of a finished task that later stages and the answer rest on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TaskOutcome {
    pub(super) input: Tally,
    pub(super) output: Tally,
    pub(super) kept: Option<Tally>,
    pub(super) functionals: Vec<FunctionalSum>,
}

impl Opinion {
    pub(super) fn of(worker: &WorkerId, manifest: &TaskManifest) -> Self {
        let (input, output, kept) = (manifest.input.clone(), manifest.output.clone(), manifest.kept.clone());
        let mut functionals = manifest.functionals.clone();
        functionals.sort_by_key(|sum| sum.functional);
        Self { worker: worker.clone(), outcome: TaskOutcome { input, output, kept, functionals } }
    }
}

impl TaskOutcome {
    /// The first thing in which two outcomes differ, in words. `moduli` are those of what is written.
    pub(super) fn difference(&self, other: &Self, moduli: &[u64]) -> String {
        let tally = |what: &str, one: &Tally, two: &Tally| {
            let states =
                (one.states != two.states).then(|| format!("states {what}: {} against {}", one.states, two.states));
            let rows = [("sums", &one.sums, &two.sums), ("fingerprint", &one.fingerprint, &two.fingerprint)];
            let rows = rows.into_iter().filter(|(_, one, two)| one != two);
            states
                .or_else(|| rows.map(|(which, one, two)| format!("{which} {what}: {}", apart(one, two, moduli))).next())
        };
        let kept = || tally("of the kept vector", self.kept.as_ref()?, other.kept.as_ref()?);
        let functionals = || {
            let mut pairs = self.functionals.iter().zip(&other.functionals);
            let (one, two) = pairs.find(|(one, two)| one != two)?;
            Some(format!("functional {}: {}", one.functional, apart(&one.lanes, &two.lanes, moduli)))
        };
        tally("read", &self.input, &other.input)
            .or_else(|| tally("written", &self.output, &other.output))
            .or_else(kept)
            .or_else(functionals)
            .unwrap_or_else(|| "what they report".to_owned())
    }
}

/// The first lane in which two rows differ.
fn apart(one: &[u64], two: &[u64], moduli: &[u64]) -> String {
    differs(one, two, moduli).unwrap_or_default().replace("expected ", "").replace(", got ", " against ")
}
