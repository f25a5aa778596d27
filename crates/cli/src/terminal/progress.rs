//! Progress on stderr: a bar on a terminal, else a line at intervals.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use keima_coordinator::{JobStatus, State};
use keima_model::Direction;

use super::output::say;
use super::units::{show_bytes, show_count, show_seconds};

/// Time between two lines if stderr is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// A count that ends sooner prints no line.
const FIRST_LINE_SECONDS: f64 = 0.5;

pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
    last: Option<Instant>,
    /// Whether the last line told of a paused job.
    still: bool,
    /// The newest note that was printed.
    note: Option<String>,
    /// Number of values that were there at the last look.
    values: usize,
    /// Notes of workers that were printed.
    told: Vec<String>,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3}%  {wide_msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self { bar, quiet, last: None, still: false, note: None, values: 0, told: Vec::new() }
    }

    fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say(text)),
            None if !self.quiet => say(text),
            None => {}
        }
    }

    pub(crate) fn show(&mut self, status: &JobStatus) {
        for note in new_notes(&status.notes, self.note.as_deref()) {
            self.say(&format!("note: {note}"));
        }
        self.note = status.notes.last().cloned();
        // Values that are complete before the job is. A short job prints none.
        let seen = std::mem::replace(&mut self.values, status.values().len());
        if status.seconds > 10.0 {
            for value in status.values().iter().skip(seen) {
                self.say(&format!("{} = {}", value.name, value.count));
            }
        }
        // If no task runs, the notes of the workers say why.
        if status.tasks_running == 0 {
            for worker in status.workers.iter().filter(|w| !w.note.is_empty()) {
                let line = format!("worker {}: {}", worker.worker, worker.note);
                if !self.told.contains(&line) {
                    self.say(&line);
                    self.told.push(line);
                }
            }
        }
        let (done, all) = share(status);
        let mut text = match status.state {
            State::Running => position(status),
            other if status.reason.is_empty() => other.to_string(),
            other => format!("{other}: {}", status.reason),
        };
        text += &format!(", {}", show_seconds(status.seconds));
        if let (Some(eta), State::Running) = (status.eta_seconds, status.state) {
            text += &format!(", ETA {}", show_seconds(eta));
        }
        self.draw(done / all.max(1e-9), text, status.state, status.seconds);
    }

    /// The same for a count in memory.
    pub(crate) fn show_in_memory(&mut self, progress: &keima_count::Progress) {
        let mut text = format!("column {} of {}", progress.columns_done + 1, progress.columns);
        if progress.sweeps > 1 {
            text += &format!(", sweep {} of {}", progress.sweep + 1, progress.sweeps);
        }
        text += &format!(", {} states, {} residues", show_count(progress.states), progress.residues);
        text += &format!(", {}", show_seconds(progress.seconds));
        if let Some(eta) = progress.eta_seconds {
            text += &format!(", ETA {}", show_seconds(eta));
        }
        let part = f64::from(progress.windows_done) / f64::from(progress.windows.max(1));
        self.draw(part.min(1.0), text, State::Running, progress.seconds);
    }

    /// Moves the bar, or prints a line when one is due.
    fn draw(&mut self, part: f64, text: String, state: State, seconds: f64) {
        if let Some(bar) = &self.bar {
            bar.set_length(1000);
            bar.set_position((part * 1000.0) as u64);
            bar.set_message(text);
        } else if self.is_due(state, seconds) {
            self.say(&format!("{:>3.0} %  {text}", 100.0 * part));
            self.last = Some(Instant::now());
        }
    }

    /// Whether a line is due. A pause is printed at once, for nothing may follow.
    fn is_due(&mut self, state: State, seconds: f64) -> bool {
        let was_still = std::mem::replace(&mut self.still, state == State::Paused);
        let stops = self.still && !was_still;
        stops || self.last.map_or(seconds > FIRST_LINE_SECONDS, |last| last.elapsed() >= LINE_INTERVAL)
    }

    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Where a job is, on one line.
pub(crate) fn position(status: &JobStatus) -> String {
    let plan = status.plan.as_ref();
    let columns = plan.map_or(0, |p| p.board.length);
    let sweeps = plan.map_or(1, |p| p.sweeps.len());
    let mut text = format!("pass {} of {}, column {} of {columns}", status.pass, status.passes, status.column + 1);
    if plan.is_some_and(|p| status.stage < p.stages() && p.stage(status.stage).direction == Direction::Transposed) {
        text += ", transposed";
    }
    if sweeps > 1 {
        text += &format!(", sweep {} of {sweeps}", (status.sweep as usize + 1).min(sweeps));
    }
    text += &format!(", {} states", show_count(status.states));
    if status.states_per_second > 0.0 {
        text += &format!(", {} states/s", show_count(status.states_per_second as u64));
    }
    let residues = plan.map_or(0, |p| p.stage_moduli(status.sweep, status.stage).len());
    if residues > 0 {
        text += &format!(", {residues} residues");
    }
    text += &format!(", {} on disk", show_bytes(status.disk_bytes));
    text
}

/// Notes after the last one that was printed. Old notes are dropped: if that one is gone, all notes are new.
fn new_notes<'a>(notes: &'a [String], told: Option<&str>) -> &'a [String] {
    let seen = told.and_then(|told| notes.iter().rposition(|note| note == told));
    notes.get(seen.map_or(0, |seen| seen + 1)..).unwrap_or_default()
}

/// Work done and total work: in state-passes if the plan has a forecast, else in passes.
fn share(status: &JobStatus) -> (f64, f64) {
    let Some(plan) = &status.plan else { return (0.0, 1.0) };
    let passes = status.passes as usize;
    let weight = |pass: usize| plan.states.get(pass).map_or(1.0, |&s| s as f64);
    let sweep: f64 = (0..passes).map(weight).sum();
    let before: f64 = (0..(status.pass as usize).min(passes)).map(weight).sum();
    let part = status.states_done as f64 / status.states_stage.max(1) as f64;
    let stage = plan.windows.iter().map(|w| w.len).max().unwrap_or(1) as usize;
    let now: f64 = (status.pass as usize..passes.min(status.pass as usize + stage)).map(weight).sum::<f64>() * part;
    let all = sweep * plan.sweeps.len() as f64;
    ((sweep * f64::from(status.sweep) + (before + now).min(sweep)).min(all), all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_printed_once() {
        let notes = |text: &str| text.split(' ').filter(|note| !note.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        let check = |all: &str, told: Option<&str>, expected: &str| {
            assert_eq!(new_notes(&notes(all), told), notes(expected), "{all} after {told:?}");
        };
        check("", None, "");
        check("a b", None, "a b");
        check("a b", Some("b"), "");
        check("a b c", Some("b"), "c");
        // The oldest notes are gone; a note may come twice.
        check("c d", Some("b"), "c d");
        check("a b a c", Some("a"), "c");
    }

    #[test]
    fn a_pause_is_printed_at_once() {
        let mut progress = Progress::new(true);
        let mut due = |state| {
            let due = progress.is_due(state, 60.0);
            progress.last = Some(Instant::now());
            due
        };
        let states = [State::Running, State::Running, State::Paused, State::Paused, State::Running, State::Paused];
        assert_eq!(states.map(&mut due), [true, false, true, false, false, true]);
    }
}
