//! Passes of a large job on a cluster, watched from outside by `keima status`.
//!
//! ```text
//!   submit     | the first column, by blocks those in which  | until enough states went through    | stop
//!              | the vector grows most: not counted          | passes, from stage to stage: counted | everything
//! ```
//!
//! So rows of large boards take minutes where their counts take hours. Small boards, whose stages are over before anyone
//! looks, are counted as a whole. The board is so long that its number needs eight residues or more; a sweep carries K
//! of them. Where one sweep carries all, jobs by blocks meet in the middle, with few lanes in their first columns. So
//! eight lanes get a longer board and two sweeps.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::board;
use crate::programs::cluster::Cluster;
use crate::programs::program::{answer, count, totals, windows};
use crate::programs::whole_count::of_all_sweeps;
use crate::sample::{Kind, Label, Sample, ratio};

/// Time between two looks at a job. A look takes a core some milliseconds.
const LOOK: Duration = Duration::from_millis(100);
/// A stage that takes longer is taken for stuck.
const STUCK: Duration = Duration::from_mins(20);
/// Boards up to this height are counted as a whole, by blocks and by streams.
const WHOLE_HEIGHTS: (u32, u32) = (11, 9);
/// Cells of a board whose number needs eight residues.
const CELLS: u32 = 252;
/// Cells of a board whose number needs sixteen, by blocks.
const WIDE_CELLS: u32 = 540;
/// A vector of blocks has grown when it has this part of the states that there can be.
const GROWN: f64 = 0.95;

/// A job of which a part is watched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    pub(crate) kind: Kind,
    pub(crate) height: u32,
    /// Residues of a sweep.
    pub(crate) residues: u32,
    pub(crate) workers: u32,
    /// State-passes to watch. By blocks whole columns are watched, one at least.
    pub(crate) state_passes: f64,
}

/// Where a job stands when a stage begins.
#[derive(Clone, Copy, Debug)]
struct Mark {
    pass: usize,
    /// States of the vector, divided by those of the forecast. A vector that still grows has fewer.
    part: f64,
}

impl Watch {
    fn is_block(&self) -> bool {
        self.kind == Kind::ClusterBlockPasses
    }

    /// Whether the job runs to its end.
    pub(crate) fn is_whole(&self) -> bool {
        self.height <= if self.is_block() { WHOLE_HEIGHTS.0 } else { WHOLE_HEIGHTS.1 }
    }

    /// Length of the board.
    pub(crate) fn length(&self) -> u32 {
        let is_wide = self.is_block() && self.residues == 8;
        (if is_wide { WIDE_CELLS } else { CELLS }).div_ceil(self.height)
    }

    /// Submits the job once.
    pub(crate) fn sample(&self, keima: &Path) -> Result<(Label, Sample)> {
        let Self { kind, height, residues, workers, .. } = *self;
        let states = board::states_of(height, self.length())?;
        let folder = tempfile::tempdir().context("a folder for the cluster")?;
        let cluster = Cluster::start(keima, folder.path(), workers)?;
        let wait = if self.is_whole() { " --wait" } else { "" };
        let (length, executor) = (self.length(), kind.executor());
        let mut submit = cluster.command(
            keima,
            &format!("submit go {height}x{length} --executor {executor} --residues-per-sweep {residues} --json{wait}"),
        );
        let sample = if self.is_whole() {
            let result = count(&mut submit)?;
            let seconds = result["seconds"].as_f64().context("no time")?;
            Sample { seconds, cpu_seconds: cluster.cpu_seconds(), ..of_all_sweeps(&result, &states) }
        } else {
            let job = answer(&mut submit)?;
            let status = format!("status {} --json", job["job"].as_str().context("no job")?);
            self.watch(&states, &|| Ok((answer(&mut cluster.command(keima, &status))?, cluster.cpu_seconds())))?
        };
        let label = Label { kind, height, residues, threads: workers };
        Ok((label, Sample { peak_bytes: cluster.peak_bytes(), ..sample }))
    }

    /// Looks at the job until enough state-passes are done. `look` gives the status and the processor time so far.
    fn watch(&self, states: &[u64], look: &dyn Fn() -> Result<(Value, f64)>) -> Result<Sample> {
        let (mut last_pass, mut last_stage) = (0, Instant::now());
        // When counting began, what was done before, and where the job stood then.
        let mut begun: Option<(Instant, Sample, Mark)> = None;
        let mut mark = Mark { pass: 0, part: 1.0 };
        let mut counted = Sample::default();
        loop {
            let (status, cpu_seconds) = look()?;
            let number = |name: &str| status[name].as_u64().unwrap_or(0);
            let here = self.mark(&status, states)?;
            let is_ready = begun.is_some() || !self.is_block() || here.part >= GROWN;
            let is_counted = here.pass >= self.height as usize && number("stage_residues") == u64::from(self.residues);
            if here.pass != last_pass && is_counted && is_ready {
                let (now, totals) = (Instant::now(), Sample { cpu_seconds, ..totals(&status["statistics"]) });
                let (first, before, start) = *begun.get_or_insert((now, totals, here));
                if here.pass > start.pass {
                    let (passed, written) = between(states, &windows(&status["statistics"]), mark, here);
                    counted.state_passes += passed;
                    counted.state_boundaries += written;
                    let is_even = !self.is_block() || (here.pass - start.pass).is_multiple_of(self.height as usize);
                    if counted.state_passes >= self.state_passes && is_even {
                        let Sample { state_passes, state_boundaries, .. } = counted;
                        let seconds = (now - first).as_secs_f64();
                        return Ok(Sample { seconds, state_passes, state_boundaries, ..totals.since(before) });
                    }
                }
                mark = here;
            }
            if here.pass != last_pass {
                (last_pass, last_stage) = (here.pass, Instant::now());
            }
            ensure!(last_stage.elapsed() < STUCK, "no stage ended for {STUCK:?} after pass {last_pass}: {self:?}");
            std::thread::sleep(LOOK);
        }
    }

    /// Where a running job stands in its first sweep.
    fn mark(&self, status: &Value, states: &[u64]) -> Result<Mark> {
        let state = status["state"].as_str().unwrap_or_default();
        ensure!(["queued", "running"].contains(&state), "the job is {state}: {}", status["reason"]);
        let number = |name: &str| status[name].as_u64().unwrap_or(0);
        let pass = number("pass") as usize;
        let is_first = number("sweep") == 0 && pass + 1 < states.len();
        ensure!(is_first, "the first sweep ended before enough of {self:?} was done");
        let forecast = states.get(pass).map_or(0.0, |&states| states as f64);
        Ok(Mark { pass, part: ratio(number("states") as f64, forecast) })
    }
}

/// State-passes between two marks, and states of the boundaries that were written there. The forecast has them for a
/// grown vector; before, the part that is there changes evenly between marks.
fn between(forecast: &[u64], windows: &[u32], from: Mark, to: Mark) -> (f64, f64) {
    let height = windows.iter().sum::<u32>().max(1) as usize;
    let ends = windows.iter().scan(0, |place, &length| {
        *place += length as usize;
        Some(*place % height)
    });
    let ends: Vec<usize> = ends.collect();
    let (mut passed, mut written) = (0.0, 0.0);
    for pass in from.pass..=to.pass {
        let way = ratio((pass - from.pass) as f64, (to.pass - from.pass) as f64);
        let states =
            forecast.get(pass).map_or(0.0, |&states| states as f64) * (to.part - from.part).mul_add(way, from.part);
        if pass < to.pass {
            passed += states;
        }
        if pass > from.pass && ends.contains(&(pass % height)) {
            written += states;
        }
    }
    (passed, written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_board_is_long_enough() {
        let bits = |kind, height, residues| {
            let watch = Watch { kind, height, residues, workers: 2, state_passes: 1.0 };
            f64::from(height * watch.length()) * 3_f64.log2()
        };
        for height in 9..=14 {
            for kind in [Kind::ClusterBlockPasses, Kind::ClusterStreamPasses] {
                // With the spare: seven of 59 bits suffice, six of 64 do not.
                let bits = bits(kind, height, 4);
                assert!(bits < 7.0 * 59.0 && bits > 6.0 * 64.0, "{height}: {bits} bits");
            }
            // Fifteen of 59 bits suffice, fourteen of 60 do not.
            let bits = bits(Kind::ClusterBlockPasses, height, 8);
            assert!(bits < 15.0 * 59.0 && bits > 14.0 * 60.0, "{height}: {bits} bits");
        }
    }

    #[test]
    fn states_between_marks_grow_evenly() {
        let check = |from: (usize, f64), to: (usize, f64), expected: (f64, f64)| {
            let mark = |(pass, part)| Mark { pass, part };
            let found = between(&[1, 2, 3, 4, 5, 6, 7, 8, 9], &[3, 1], mark(from), mark(to));
            assert!((found.0 - expected.0).abs() + (found.1 - expected.1).abs() < 1e-9, "{found:?}, not {expected:?}");
        };
        check((4, 1.0), (8, 1.0), (26.0, 17.0));
        check((3, 1.0), (7, 1.0), (22.0, 13.0));
        check((4, 0.5), (8, 1.0), (2.5 + 3.75 + 5.25 + 7.0, 7.0 + 9.0));
        check((8, 1.0), (8, 1.0), (0.0, 0.0));
    }

    #[test]
    fn jobs_are_watched_once_they_have_grown_and_from_column_to_column() {
        // Two rows, a stage each: the vector is full from pass 5 on.
        let check = |kind, state_passes, residues, expected: Result<(f64, f64), &str>| {
            let passes = Watch { kind, height: 2, residues, workers: 2, state_passes };
            let pass = std::cell::Cell::new(0_u32);
            let look = || {
                let now = pass.get();
                pass.set(now + 1);
                let states = if now < 5 { 50 } else { 100 };
                let statistics = serde_json::json!({ "windows": [1, 1], "bytes_written": 8 * now });
                let state = if now < 30 { "running" } else { "done" };
                let status = serde_json::json!({ "state": state, "reason": "", "sweep": 0, "pass": now,
                    "states": states, "stage_residues": 4, "statistics": statistics });
                Ok((status, f64::from(now)))
            };
            let found = passes.watch(&[100; 21], &look).map(|sample| (sample.state_passes, sample.bytes_written));
            match (found, expected) {
                (Ok(found), Ok(expected)) => {
                    assert!((found.0 - expected.0).abs() < 1e-9 && (found.1 - expected.1).abs() < 1e-9, "{found:?}");
                }
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (found, expected) => panic!("{found:?}, expected {expected:?}"),
            }
        };
        // From pass 5 to 7, a column; then as many as are asked for, in whole columns.
        check(Kind::ClusterBlockPasses, 1.0, 4, Ok((200.0, 16.0)));
        check(Kind::ClusterBlockPasses, 250.0, 4, Ok((400.0, 32.0)));
        // By streams from pass 2 on, and to any stage: 50 + 50 and what is between 50 and 100.
        check(Kind::ClusterStreamPasses, 80.0, 4, Ok((100.0, 16.0)));
        check(Kind::ClusterBlockPasses, 1e9, 4, Err("the first sweep ended before"));
        check(Kind::ClusterStreamPasses, 1.0, 8, Err("the first sweep ended before"));
    }
}
