//! Keys that are pressed, and what the screen shows then.

use std::sync::Arc;

use keima_coordinator::{Config, Coordinator, JobSpec};
use keima_model::ProblemRequest;
use keima_problems::Problems;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyEvent;

use super::*;

/// More than the list shows at a time.
const JOBS: usize = 12;

/// What a coordinator tells of its jobs, the newest first.
fn jobs() -> Vec<JobStatus> {
    let mut coordinator = Coordinator::new(Config::default(), Arc::new(Problems), 5);
    let problem = ProblemRequest { name: "go".into(), size: "9x9".into(), options: Vec::new() };
    let spec = JobSpec::of(problem, 64 << 20);
    for _ in 0..JOBS {
        let planned = coordinator.consider(&spec).plan(&Problems).unwrap();
        coordinator.admit(1_000, planned).unwrap();
    }
    let mut jobs = coordinator.jobs();
    jobs.reverse();
    jobs
}

/// What the coordinator answers, as [`View::look`] writes it down.
fn answered(jobs: &[JobStatus], chosen: Option<JobId>) -> View {
    let job = jobs.iter().find(|job| Some(job.id) == chosen).or(jobs.first()).cloned();
    View { jobs: jobs.to_vec(), job, ..View::default() }
}

/// The marked line of the list on a screen of that size, and the title of the job beside its board.
fn marked(view: &View, width: u16, height: u16) -> (String, String) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| frame.render_widget(view, frame.area())).unwrap();
    let screen = terminal.backend().to_string();
    let first_word = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
    let line = screen.lines().find_map(|line| line.split_once("> ")).map(|(_, rest)| first_word(rest));
    let title = screen.lines().find_map(|line| line.split_once(" go 9x9: ")?.0.rsplit('┌').next().map(first_word));
    (line.unwrap_or_default(), title.unwrap_or_default())
}

fn key(name: &str) -> Event {
    let (code, modifiers) = match name {
        "Esc" => (KeyCode::Esc, KeyModifiers::NONE),
        "Up" => (KeyCode::Up, KeyModifiers::NONE),
        "Down" => (KeyCode::Down, KeyModifiers::NONE),
        "Enter" => (KeyCode::Enter, KeyModifiers::NONE),
        "Ctrl-C" => (KeyCode::Char('c'), KeyModifiers::CONTROL),
        "resize" => return Event::Resize(80, 24),
        letter => (KeyCode::Char(letter.chars().next().unwrap()), KeyModifiers::NONE),
    };
    Event::Key(KeyEvent::new(code, modifiers))
}

/// Keys in the order in which they are pressed, and the job that is shown then; `None` where one of them ended it.
#[test]
fn keys_choose_a_job_or_end() {
    let all = jobs();
    let check = |number: usize, keys: &[&str], expected: Option<&str>| {
        let jobs = &all[JOBS - number..];
        let mut view = answered(jobs, None);
        let mut chosen = None;
        for name in keys {
            // Others ask for nothing.
            let Some(key) = key_of(&key(name)) else { continue };
            match view.pressed(key, chosen) {
                ControlFlow::Continue(next) => chosen = next,
                ControlFlow::Break(()) => return assert_eq!(None, expected, "{keys:?} end it"),
            }
            view = answered(jobs, chosen);
        }
        for (width, height) in [(110, 44), (80, 24)] {
            let expected = expected.unwrap_or_else(|| panic!("{keys:?} do not end it"));
            let shown = marked(&view, width, height);
            assert_eq!(shown, (expected.to_owned(), expected.to_owned()), "{keys:?}, {width} x {height}");
        }
    };
    check(JOBS, &[], Some("j12"));
    for end in ["q", "Esc", "Ctrl-C"] {
        check(JOBS, &[end], None);
        check(JOBS, &["Down", end, "Down"], None);
    }
    for (down, up) in [("Down", "Up"), ("j", "k"), ("Down", "k"), ("j", "Up")] {
        check(JOBS, &[down], Some("j11"));
        check(JOBS, &[down, down, up], Some("j11"));
        check(JOBS, &[up, up], Some("j12"));
        check(JOBS, &[down; 9], Some("j3"));
        check(JOBS, &[down; 15], Some("j1"));
        check(JOBS, &[&[down; 15][..], &[up]].concat(), Some("j2"));
    }
    // A redraw keeps the job; these keys ask for nothing.
    check(JOBS, &["Down", "resize"], Some("j11"));
    check(JOBS, &["Down", "c", "x", "Enter"], Some("j11"));
    check(1, &["Down", "Up", "j", "resize"], Some("j1"));
}

#[test]
fn a_key_that_is_let_go_asks_for_nothing() {
    let Event::Key(mut event) = key("q") else { panic!("a key") };
    event.kind = KeyEventKind::Release;
    assert_eq!(key_of(&Event::Key(event)), None);
}

#[test]
fn a_coordinator_without_jobs_is_shown() {
    let view = View::default();
    let text = view.plain();
    assert!(text.contains("none yet; `keima submit go 9x9`") && text.contains("Workers"), "{text}");
    for asked in ["Up", "Down", "resize"] {
        let next = view.pressed(key_of(&key(asked)).unwrap(), None);
        assert_eq!(next, ControlFlow::Continue(None), "{asked}");
    }
}
