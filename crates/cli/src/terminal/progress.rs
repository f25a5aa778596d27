//! Progress on stderr: a bar on a terminal that can move its cursor, else a line at intervals.
//!
//! A terminal cuts a bar's line at its width, so what matters most comes first:
//!
//! ```text
//!   42% ######----------  ETA 3m12s after 2m20s, 12,345,678 states, pass 45 of 121, column 5 of 11, ...
//! ```
//!
//! With `--progress json` each look is an event, once a second at most.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use keima_coordinator::{JobStatus, State};
use keima_http::share::share;
use keima_model::{Direction, ProblemRequest};
use serde_json::{Value, json};

use super::colour::is_dumb;
use super::events;
use super::output::say;
use super::units::{show_bytes, show_count, show_seconds};

/// Time between two lines if stderr is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);
/// Time between two events.
const EVENT_INTERVAL: Duration = Duration::from_secs(1);

/// A count that ends sooner prints no line.
const FIRST_LINE_SECONDS: f64 = 0.5;

/// How much is shown. Where standard error is JSON, all of it is, as events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Nothing at all.
    Nothing,
    /// Notes, without progress.
    Notes,
    /// Both.
    All,
}

pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    shown: Shown,
    last: Option<Instant>,
    /// The state that the last event told.
    state: Option<State>,
    /// Whether the last line told of a paused job.
    still: bool,
    /// The newest note that was printed.
    note: Option<String>,
    /// Values that were told.
    values: usize,
    /// Notes of workers that were printed.
    told: Vec<String>,
}

impl Progress {
    pub(crate) fn new(shown: Shown) -> Self {
        let has_bar = shown == Shown::All && !events::is_on() && std::io::stderr().is_terminal() && !is_dumb();
        let bar = has_bar.then(|| {
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{percent:>3}% {bar:16}  {wide_msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self { bar, shown, last: None, state: None, still: false, note: None, values: 0, told: Vec::new() }
    }

    /// Prints a line above the bar, unless nothing is to be printed.
    pub(crate) fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say(text)),
            None if self.shown != Shown::Nothing => say(text),
            None => {}
        }
    }

    /// How many of a job's values were told.
    pub(crate) fn values(&self) -> usize {
        self.values
    }

    /// Shows a job, which has the values that are new.
    pub(crate) fn show(&mut self, status: &JobStatus) {
        for note in new_notes(&status.notes, self.note.as_deref()) {
            self.say(&format!("note: {note}"));
        }
        self.note = status.notes.last().cloned();
        // Values that are complete before the job is. A short job prints none.
        self.values = self.values.min(status.values.known as usize) + status.values().len();
        if events::is_on() {
            for value in status.values() {
                let (name, index, count) = (&value.name, value.index, &value.count);
                let job = status.id.to_string();
                events::tell(
                    "value",
                    json!({ "job": job, "name": name, "index": index, "count": count, "ok": value.ok }),
                );
            }
        } else if status.usage.seconds > 10.0 && self.shown == Shown::All {
            for value in status.values() {
                self.say(&format!("{} = {}", value.name, value.count));
            }
        }
        // If no task runs, the notes of the workers say why.
        if status.progress.tasks_running == 0 {
            for worker in status.workers.iter().filter(|w| !w.note.is_empty()) {
                let line = format!("worker {}: {}", worker.worker, worker.note);
                if !self.told.contains(&line) {
                    self.say(&line);
                    self.told.push(line);
                }
            }
        }
        if events::is_on() {
            if self.event_is_due(status.state) {
                events::tell("progress", job_event(status));
            }
            return;
        }
        let (done, all) = share(status);
        let text = match status.state {
            State::Running => {
                let [place, speed] = facts(status);
                headline(status.usage.eta_seconds, status.progress.states, &place, &speed, status.usage.seconds)
            }
            other if status.reason.is_empty() => format!("{other}, {}", show_seconds(status.usage.seconds)),
            other => format!("{other}: {}, {}", status.reason, show_seconds(status.usage.seconds)),
        };
        self.draw(done / all.max(1e-9), text, status.state, status.usage.seconds);
    }

    /// The same for a count in memory.
    pub(crate) fn show_in_memory(&mut self, request: &ProblemRequest, progress: &keima_count::Progress) {
        if events::is_on() {
            if self.event_is_due(State::Running) {
                events::tell("progress", in_memory_event(request, progress));
            }
            return;
        }
        let mut place = format!("column {} of {}", progress.columns_done + 1, progress.columns);
        if progress.sweeps > 1 {
            place += &format!(", sweep {} of {}", progress.sweep + 1, progress.sweeps);
        }
        let residues = format!("{} residues", progress.residues);
        let text = headline(progress.eta_seconds, progress.states, &place, &residues, progress.seconds);
        self.draw(part_in_memory(progress), text, State::Running, progress.seconds);
    }

    /// Moves the bar, or prints a line when one is due.
    fn draw(&mut self, part: f64, text: String, state: State, seconds: f64) {
        if let Some(bar) = &self.bar {
            bar.set_length(1000);
            bar.set_position((part * 1000.0) as u64);
            bar.set_message(text);
        } else if self.shown == Shown::All && self.is_due(state, seconds) {
            // Of a job that has ended without a number no part is done.
            let ended_early = matches!(state, State::Cancelled | State::CheckFailed);
            self.say(&if ended_early { text } else { format!("{:>3.0} %  {text}", 100.0 * part) });
            self.last = Some(Instant::now());
        }
    }

    /// Whether an event is due: the first, a new state, or a second later.
    fn event_is_due(&mut self, state: State) -> bool {
        let is_new = self.state.replace(state) != Some(state);
        let is_due = is_new || self.last.is_none_or(|last| last.elapsed() >= EVENT_INTERVAL);
        if is_due {
            self.last = Some(Instant::now());
        }
        is_due
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

/// The part of a count in memory that is done.
fn part_in_memory(progress: &keima_count::Progress) -> f64 {
    (f64::from(progress.windows_done) / f64::from(progress.windows.max(1))).min(1.0)
}

/// A job as the fields of an event. What is not known is null.
fn job_event(status: &JobStatus) -> Value {
    let (done, all) = share(status);
    let plan = status.plan.as_ref();
    let residues = plan.map(|plan| plan.stage_moduli(status.position.sweep, status.position.stage).len());
    json!({
        "job": status.id.to_string(),
        "problem": status.problem.name,
        "size": status.problem.size,
        "state": status.state.to_string(),
        "reason": status.reason,
        "part": (done / all.max(1e-9)).clamp(0.0, 1.0),
        "eta_seconds": status.usage.eta_seconds.filter(|eta| eta.is_finite()),
        "seconds": status.usage.seconds,
        "states": status.progress.states,
        "states_per_second": status.progress.states_per_second,
        "pass": status.position.pass,
        "passes": status.position.passes,
        "column": status.position.column,
        "columns": plan.map(|plan| plan.board.length),
        "sweep": status.position.sweep,
        "sweeps": plan.map(|plan| plan.sweeps.len()),
        "residues": residues,
        "disk_bytes": status.usage.disk_bytes,
    })
}

/// The same of a count in memory.
fn in_memory_event(request: &ProblemRequest, progress: &keima_count::Progress) -> Value {
    json!({
        "job": "j1",
        "problem": request.name,
        "size": request.size,
        "state": State::Running.to_string(),
        "reason": "",
        "part": part_in_memory(progress),
        "eta_seconds": progress.eta_seconds.filter(|eta| eta.is_finite()),
        "seconds": progress.seconds,
        "states": progress.states,
        "states_per_second": null,
        "pass": null,
        "passes": null,
        "column": progress.columns_done,
        "columns": progress.columns,
        "sweep": progress.sweep,
        "sweeps": progress.sweeps,
        "residues": progress.residues,
        "disk_bytes": 0,
    })
}

/// A running count on one line, the most important first.
fn headline(eta_seconds: Option<f64>, states: u64, place: &str, speed: &str, seconds: f64) -> String {
    let eta = eta_seconds.map_or_else(String::new, |eta| format!("ETA {} after ", show_seconds(eta)));
    format!("{eta}{}, {} states, {place}, {speed}", show_seconds(seconds), show_count(states))
}

/// Where a job is, on one line.
pub(crate) fn position(status: &JobStatus) -> String {
    let [place, speed] = facts(status);
    format!("{place}, {} states, {speed}", show_count(status.progress.states))
}

/// The place of a job, and how fast it is, with what it takes.
fn facts(status: &JobStatus) -> [String; 2] {
    let (plan, position) = (status.plan.as_ref(), &status.position);
    let columns = plan.map_or(0, |p| p.board.length);
    let sweeps = plan.map_or(1, |p| p.sweeps.len());
    let mut text = format!(
        "pass {} of {}, column {} of {columns}",
        position.pass,
        position.passes,
        u64::from(position.column) + 1
    );
    if plan.is_some_and(|p| position.stage < p.stages() && p.stage(position.stage).direction == Direction::Transposed) {
        text += ", transposed";
    }
    if sweeps > 1 {
        text += &format!(", sweep {} of {sweeps}", (position.sweep as usize + 1).min(sweeps));
    }
    let mut speed = Vec::new();
    if status.progress.states_per_second > 0.0 {
        speed.push(format!("{} states/s", show_count(status.progress.states_per_second as u64)));
    }
    let residues = plan.map_or(0, |p| p.stage_moduli(position.sweep, position.stage).len());
    if residues > 0 {
        speed.push(format!("{residues} residues"));
    }
    speed.push(format!("{} on disk", show_bytes(status.usage.disk_bytes)));
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

    #[test]
    fn time_left_and_time_come_first() {
        // Percent and bar take 23 columns.
        let check = |columns: usize, eta_seconds, states, seconds, expected: &str| {
            let line = headline(eta_seconds, states, "pass 12 of 361, column 1 of 19", "3 residues", seconds);
            assert_eq!(line.get(..columns - 23).unwrap_or(&line), expected, "{columns} columns");
        };
        let days = Some(950_000.0);
        check(46, days, 363_324_268_018, 7500.0, "ETA 10d23h after 2h05m,");
        check(60, days, 363_324_268_018, 7500.0, "ETA 10d23h after 2h05m, 363,324,268,0");
        check(30, None, 57, 3.0, "3.0 s, ");
        check(90, None, 57, 3.0, "3.0 s, 57 states, pass 12 of 361, column 1 of 19, 3 residues");
    }

    #[test]
    fn an_event_has_no_infinity() {
        let progress = keima_count::Progress {
            windows_done: 1,
            windows: 4,
            columns_done: 2,
            columns: 9,
            sweep: 0,
            sweeps: 1,
            states: 363_324_268_018,
            residues: 3,
            seconds: 1.5,
            eta_seconds: Some(f64::INFINITY),
        };
        let request = ProblemRequest { name: "go".to_owned(), size: "9x9".to_owned(), options: Vec::new() };
        let event = in_memory_event(&request, &progress);
        assert_eq!(event["part"], 0.25);
        assert!(event["eta_seconds"].is_null(), "JSON has no infinity");
    }

    #[test]
    fn a_second_or_a_new_state_makes_an_event() {
        let mut progress = Progress::new(Shown::Nothing);
        let states = [State::Queued, State::Queued, State::Running, State::Running, State::Paused];
        assert_eq!(states.map(|state| progress.event_is_due(state)), [true, false, true, false, true]);
        progress.last = Instant::now().checked_sub(EVENT_INTERVAL);
        assert!(progress.event_is_due(State::Paused));
    }

    #[test]
    fn a_pause_is_printed_at_once() {
        let mut progress = Progress::new(Shown::Nothing);
        let mut due = |state| {
            let due = progress.is_due(state, 60.0);
            progress.last = Some(Instant::now());
            due
        };
        let states = [State::Running, State::Running, State::Paused, State::Paused, State::Running, State::Paused];
        assert_eq!(states.map(&mut due), [true, false, true, false, false, true]);
    }
}
