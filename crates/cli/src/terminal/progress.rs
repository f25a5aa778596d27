//! Progress on stderr: a bar on a terminal that can move its cursor, else a line at intervals.
//!
//! A terminal cuts a bar's line at its width, so what matters most comes first:
//!
//! ```text
//!   42% ######----------  ETA 3m12s, 12,345,678 states, pass 45 of 121, column 5 of 11, ...
//! ```

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use keima_coordinator::{JobStatus, State};
use keima_http::share::share;
use keima_model::Direction;

use super::colour::is_dumb;
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
        let bar = (!quiet && std::io::stderr().is_terminal() && !is_dumb()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{percent:>3}% {bar:16}  {wide_msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self { bar, quiet, last: None, still: false, note: None, values: 0, told: Vec::new() }
    }

    /// Prints a line above the bar, unless nothing is to be printed.
    pub(crate) fn say(&self, text: &str) {
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
        let text = match status.state {
            State::Running => {
                let [place, speed] = facts(status);
                headline(status.eta_seconds, status.states, &place, &speed, status.seconds)
            }
            other if status.reason.is_empty() => format!("{other}, {}", show_seconds(status.seconds)),
            other => format!("{other}: {}, {}", status.reason, show_seconds(status.seconds)),
        };
        self.draw(done / all.max(1e-9), text, status.state, status.seconds);
    }

    /// The same for a count in memory.
    pub(crate) fn show_in_memory(&mut self, progress: &keima_count::Progress) {
        let mut place = format!("column {} of {}", progress.columns_done + 1, progress.columns);
        if progress.sweeps > 1 {
            place += &format!(", sweep {} of {}", progress.sweep + 1, progress.sweeps);
        }
        let residues = format!("{} residues", progress.residues);
        let text = headline(progress.eta_seconds, progress.states, &place, &residues, progress.seconds);
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
            // Of a job that has ended without a number no part is done.
            let ended_early = matches!(state, State::Cancelled | State::CheckFailed);
            self.say(&if ended_early { text } else { format!("{:>3.0} %  {text}", 100.0 * part) });
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

/// A running count on one line, the most important first.
fn headline(eta_seconds: Option<f64>, states: u64, place: &str, speed: &str, seconds: f64) -> String {
    let eta = eta_seconds.map_or_else(String::new, |eta| format!("ETA {}, ", show_seconds(eta)));
    format!("{eta}{} states, {place}, {speed}, {}", show_count(states), show_seconds(seconds))
}

/// Where a job is, on one line.
pub(crate) fn position(status: &JobStatus) -> String {
    let [place, speed] = facts(status);
    format!("{place}, {} states, {speed}", show_count(status.states))
}

/// The place of a job, and how fast it is, with what it takes.
fn facts(status: &JobStatus) -> [String; 2] {
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
    let mut speed = Vec::new();
    if status.states_per_second > 0.0 {
        speed.push(format!("{} states/s", show_count(status.states_per_second as u64)));
    }
    let residues = plan.map_or(0, |p| p.stage_moduli(status.sweep, status.stage).len());
    if residues > 0 {
        speed.push(format!("{residues} residues"));
    }
    speed.push(format!("{} on disk", show_bytes(status.disk_bytes)));
    [text, speed.join(", ")]
}

/// Notes after the last one that was printed. Old notes are dropped: if that one is gone, all notes are new.
fn new_notes<'a>(notes: &'a [String], told: Option<&str>) -> &'a [String] {
    let seen = told.and_then(|told| notes.iter().rposition(|note| note == told));
    notes.get(seen.map_or(0, |seen| seen + 1)..).unwrap_or_default()
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

    /// What a terminal of 60 columns shows beside percent and bar.
    #[test]
    fn the_end_and_the_states_come_first() {
        let line = headline(Some(950_000.0), 363_324_268_018, "pass 12 of 361, column 1 of 19", "3 residues", 7500.0);
        assert_eq!(&line[..37], "ETA 10d23h, 363,324,268,018 states, p");
        let line = headline(None, 57, "column 1 of 9", "3 residues", 3.0);
        assert_eq!(line, "57 states, column 1 of 9, 3 residues, 3.0 s");
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
