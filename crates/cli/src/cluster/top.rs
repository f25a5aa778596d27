//! `keima top`: jobs, the chosen one's board, workers and notes in the terminal, or once as plain text.
//!
//! ```text
//!   q, Esc, Ctrl-C   ends        Up, k / Down, j   another job
//! ```
//!
//! It asks the coordinator once a second, by the calls that `keima jobs`, `status` and `workers` use.

use std::io::IsTerminal as _;
use std::ops::ControlFlow;
use std::time::Duration;

use keima::Client;
use keima_coordinator::{JobFilter, JobId, JobStatus, WorkerStatus};
use keima_http::board::{Board, Cell};
use keima_http::share::part;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Widget, Wrap};
use tokio::sync::mpsc;

use super::client::connect;
use super::status::{aligned, job_cells};
use super::workers::workers_text;
use crate::args::{ClientArgs, TopArgs};
use crate::exit::Failed;
use crate::terminal::output::print;
use crate::terminal::progress::position;
use crate::terminal::units::{show_bytes, show_count, show_seconds};

/// Time between two looks at the coordinator.
const LOOK: Duration = Duration::from_secs(1);
/// Wait for a key, before the thread that reads them looks whether it is still wanted.
const KEY_WAIT: Duration = Duration::from_millis(100);
/// Size of the plain text.
const PLAIN: Rect = Rect { x: 0, y: 0, width: 110, height: 44 };
/// Most jobs in the list.
const MOST_JOBS: usize = 8;
/// Most jobs among which one can be chosen.
const LISTED: usize = 200;
/// Values of the chosen job, the newest.
const SHOWN_VALUES: u32 = 2;
/// Most columns of the board, and most rows.
const MOST_COLUMNS: u32 = 24;
const MOST_ROWS: u32 = 24;

/// What is shown.
#[derive(Default)]
struct View {
    jobs: Vec<JobStatus>,
    workers: Vec<WorkerStatus>,
    /// The chosen job in full.
    job: Option<JobStatus>,
    /// What the coordinator said instead.
    trouble: Option<String>,
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    End,
    Up,
    Down,
    Redraw,
}

pub(crate) async fn top(args: TopArgs) -> Result<(), Failed> {
    let TopArgs { coordinator, pass, once } = args;
    let client = connect(&ClientArgs { coordinator, pass, json: false })?;
    if once || !std::io::stdout().is_terminal() {
        let mut view = View::default();
        view.look(&client, None).await?;
        return print(&view.plain());
    }
    let mut terminal = ratatui::try_init().map_err(|error| {
        Failed::other(format!("cannot draw on this terminal: {error}; `keima top --once` prints plain text"))
    })?;
    let (sender, mut keys) = mpsc::channel(8);
    let reader = std::thread::spawn(move || read_keys(&sender));
    let mut view = View::default();
    let mut chosen = None;
    let ended = loop {
        view.trouble = view.look(&client, chosen).await.err().map(|failed| failed.text);
        let drawn = terminal.draw(|frame| frame.render_widget(&view, frame.area())).map(|_| ());
        if let Err(error) = drawn {
            break Err(Failed::other(format!("cannot draw on this terminal: {error}")));
        }
        match tokio::time::timeout(LOOK, keys.recv()).await {
            Err(_) => {}
            Ok(None) => break Ok(()),
            Ok(Some(key)) => match view.pressed(key, chosen) {
                ControlFlow::Continue(next) => chosen = next,
                ControlFlow::Break(()) => break Ok(()),
            },
        }
    };
    drop(keys);
    let _ = reader.join();
    ratatui::restore();
    ended
}

/// The lines about jobs, of which the first is chosen, before they are laid out.
pub(super) fn lines(jobs: &[JobStatus]) -> impl Iterator<Item = String> {
    let view = View { jobs: jobs.to_vec(), job: jobs.first().cloned(), ..View::default() };
    let board = view.job.as_ref().and_then(Board::of);
    let board = board.map_or_else(Vec::new, |board| cells(&board, MOST_ROWS.min(board.height) as u16));
    let chosen = view.job.as_ref().map_or_else(Vec::new, facts);
    view.jobs_lines(jobs.len()).into_iter().chain(board).chain(chosen).map(|line| line.to_string())
}

/// Reads keys until nobody wants them.
fn read_keys(keys: &mpsc::Sender<Key>) {
    while !keys.is_closed() {
        match event::poll(KEY_WAIT) {
            Ok(true) => {}
            Ok(false) => continue,
            Err(_) => return,
        }
        let Ok(event) = event::read() else { return };
        if let Some(key) = key_of(&event)
            && keys.blocking_send(key).is_err()
        {
            return;
        }
    }
}

fn key_of(event: &Event) -> Option<Key> {
    match event {
        Event::Resize(..) => Some(Key::Redraw),
        Event::Key(key) if key.kind != KeyEventKind::Release => match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Key::End),
            KeyCode::Char('q') | KeyCode::Esc => Some(Key::End),
            KeyCode::Up | KeyCode::Char('k') => Some(Key::Up),
            KeyCode::Down | KeyCode::Char('j') => Some(Key::Down),
            _ => None,
        },
        _ => None,
    }
}

impl View {
    /// Asks the coordinator.
    async fn look(&mut self, client: &Client, chosen: Option<JobId>) -> Result<(), Failed> {
        // The newest first, as on the page.
        self.jobs = client.list(&JobFilter { limit: LISTED, ..JobFilter::default() }).await?.jobs;
        self.workers = client.workers().await?;
        let running = self.jobs.iter().find(|job| job.progress.tasks_running > 0).or(self.jobs.first());
        let id = chosen.filter(|id| self.jobs.iter().any(|job| job.id == *id)).or(running.map(|job| job.id));
        self.job = match id {
            Some(id) => Some(client.newest(id, SHOWN_VALUES).await?),
            None => None,
        };
        Ok(())
    }

    /// What to look at after a key, where `chosen` was asked for before; a break ends it.
    fn pressed(&self, key: Key, chosen: Option<JobId>) -> ControlFlow<(), Option<JobId>> {
        let neighbour = |next: fn(usize) -> usize| {
            let shown = self.job.as_ref()?.id;
            let at = self.jobs.iter().position(|job| job.id == shown)?;
            self.jobs.get(next(at)).map_or(Some(shown), |job| Some(job.id))
        };
        ControlFlow::Continue(match key {
            Key::End => return ControlFlow::Break(()),
            Key::Redraw => chosen,
            Key::Up => neighbour(|at| at.saturating_sub(1)),
            Key::Down => neighbour(|at| at + 1),
        })
    }

    /// The same as plain text.
    fn plain(&self) -> String {
        let mut buffer = Buffer::empty(PLAIN);
        self.render(PLAIN, &mut buffer);
        let row = |y| {
            (0..PLAIN.width).filter_map(|x| buffer.cell((x, y))).map(ratatui::buffer::Cell::symbol).collect::<String>()
        };
        let rows: Vec<String> = (0..PLAIN.height).map(|y| row(y).trim_end().to_owned()).collect();
        rows.join("\n").trim_end().to_owned()
    }

    /// So many lines of the list that the chosen job is among them.
    fn jobs_lines(&self, most: usize) -> Vec<Line<'static>> {
        if self.jobs.is_empty() {
            return vec![Line::from("none yet; `keima submit go 9x9` submits one")];
        }
        let chosen = self.job.as_ref().map(|job| job.id);
        let at = self.jobs.iter().position(|job| Some(job.id) == chosen).unwrap_or(0);
        let first = (at + 1).saturating_sub(most);
        let shown = self.jobs.iter().skip(first).take(most);
        let rows: Vec<[String; 6]> = shown.clone().map(job_cells).collect();
        let lines = aligned(&rows).into_iter().zip(shown);
        lines
            .map(|(line, job)| {
                let is_chosen = Some(job.id) == chosen;
                let style = if is_chosen { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
                Line::styled(format!("{} {line}", if is_chosen { '>' } else { ' ' }), style)
            })
            .collect()
    }
}

impl Widget for &View {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let listed = self.jobs.len().clamp(1, MOST_JOBS);
        let board = self.job.as_ref().and_then(Board::of);
        let rows = board.as_ref().map_or(0, |board| board.height.min(MOST_ROWS)) as u16;
        let workers = if self.workers.is_empty() { "none yet".to_owned() } else { workers_text(&self.workers) };
        let heights = [
            Constraint::Length(listed as u16 + 2),
            Constraint::Length(rows.max(8) + 2),
            Constraint::Length((workers.lines().count() as u16 + 2).min(12)),
            Constraint::Min(3),
            Constraint::Length(1),
        ];
        let [top, middle, below, notes, foot] = Layout::vertical(heights).areas(area);
        // A low screen has fewer lines than were asked for.
        let jobs = self.jobs_lines(listed.min(usize::from(top.height.saturating_sub(2))));
        Paragraph::new(jobs).block(Block::bordered().title("Jobs")).render(top, buffer);
        if let Some(job) = &self.job {
            let width = board.as_ref().map_or(0, |board| board.length.min(MOST_COLUMNS) * 2) as u16;
            let [left, right] = Layout::horizontal([Constraint::Length(width + 3), Constraint::Min(20)]).areas(middle);
            if let Some(board) = &board {
                Paragraph::new(cells(board, rows)).block(Block::bordered().title("Board")).render(left, buffer);
            }
            let title = format!("{} {} {}: {}", job.id, job.problem.name, job.problem.size, job.state);
            Paragraph::new(facts(job))
                .wrap(Wrap { trim: true })
                .block(Block::bordered().title(title))
                .render(right, buffer);
        }
        Paragraph::new(workers).block(Block::bordered().title("Workers")).render(below, buffer);
        let told = self.job.as_ref().map_or(&[][..], |job| &job.notes);
        let told: Vec<Line<'_>> = told.iter().rev().map(|note| Line::from(note.as_str())).collect();
        Paragraph::new(told)
            .wrap(Wrap { trim: true })
            .block(Block::bordered().title("Notes of the job"))
            .render(notes, buffer);
        let foot_line = match &self.trouble {
            Some(trouble) => Line::styled(trouble.as_str(), Style::new().fg(Color::Red)),
            None => Line::from("q ends, arrows choose a job; # done, + this stage, . to come"),
        };
        foot_line.render(foot, buffer);
    }
}

/// The board, a character for each cell.
fn cells(board: &Board, rows: u16) -> Vec<Line<'static>> {
    let (first, end) = board.shown(MOST_COLUMNS);
    let cell = |row: u32, column: u32| match board.cell(row, column) {
        Cell::Done => Span::styled("# ", Style::new().fg(Color::Green)),
        Cell::Now => Span::styled("+ ", Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD)),
        Cell::ToCome => Span::styled(". ", Style::new().fg(Color::DarkGray)),
    };
    (0..u32::from(rows)).map(|row| (first..end).map(|column| cell(row, column)).collect::<Line>()).collect()
}

fn facts(job: &JobStatus) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut add = |text: String| lines.push(Line::from(text));
    if !job.reason.is_empty() {
        add(job.reason.clone());
    }
    let eta = job
        .usage
        .eta_seconds
        .filter(|_| !job.state.is_over())
        .map_or(String::new(), |eta| format!(", {} left", show_seconds(eta)));
    add(format!("{:.1} % done in {}{eta}", (part(job) * 1000.0).floor() / 10.0, show_seconds(job.usage.seconds)));
    if !job.state.is_over() {
        let progress = &job.progress;
        add(position(job));
        add(format!(
            "tasks of this stage: {} of {} done, {} running",
            progress.tasks_done, progress.tasks, progress.tasks_running
        ));
        let read = 100.0 * progress.states_done as f64 / progress.states_stage.max(1) as f64;
        add(format!("{read:.0} % of {} states of this stage read", show_count(progress.states_stage)));
    }
    add(format!("disk {}, at most {}", show_bytes(job.usage.disk_bytes), show_bytes(job.usage.disk_peak_bytes)));
    for value in job.values().iter().rev() {
        add(format!("{} = {}", value.name, value.count));
    }
    if let Some(outcome) = &job.outcome {
        if outcome.ok {
            add(format!("count {}", outcome.count));
        }
        let failed = outcome.checks.iter().filter(|check| !check.ok).count();
        add(format!("{} checks hold, {failed} failed", outcome.checks.len() - failed));
    }
    lines
}

#[cfg(test)]
mod tests;
