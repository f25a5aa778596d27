//! Named points in the code at which tests make a process die, fail or wait. So a test knows exactly what its fault hit.
//!
//! An environment variable sets them; the process reads it once. Without it, a point costs one load and one branch.
//!
//! ```text
//!   KEIMA_FAILPOINT="worker.before_report=abort@3;coordinator.after_commit=sleep:200"
//!                    point                action       ^ only when the point is reached for the third time; @3+ from then on
//!   actions:  abort        die at once as by kill -9: no destructors, no goodbye
//!             exit:CODE    exit with this code, without destructors of other threads
//!             panic        panic in this thread
//!             sleep:MS     wait so many milliseconds
//!             full         fail as if the disk were full; only at worker.before_durable
//!   points:   worker.after_pull            a task was granted; nothing is done yet
//!             worker.mid_task              a task opens one of its inputs
//!             worker.before_durable        a task's runs are complete; the next step is the fsync
//!             worker.before_report         a task's runs are complete; nobody knows yet
//!             worker.after_report          the coordinator has answered; the worker has not read the answer
//!             worker.before_copy           a second copy was ordered
//!             run_server.mid_stream        before each chunk of a run that goes to another worker
//!             coordinator.after_ready      it has said that it is ready; it serves nobody yet
//!             count.before_second          the second count of --double-check begins; the first one is kept
//!             coordinator.before_commit    changes are decided; nothing is on disk and no answer has left
//!             coordinator.after_commit     changes are on disk; no answer has left
//! ```
//!
//! Each hit prints a line on standard error (`failpoint worker.before_report hit`), so that a test can check for it.

use std::io;
use std::ops::RangeInclusive;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Name of the environment variable.
pub const VARIABLE: &str = "KEIMA_FAILPOINT";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Abort,
    Exit(i32),
    Panic,
    Sleep(u64),
    Full,
}

#[derive(Debug)]
struct Point {
    name: String,
    action: Action,
    /// The hits that it acts on, counted from 1.
    hits: RangeInclusive<u64>,
    reached: AtomicU64,
}

fn parse(text: &str) -> Result<Vec<Point>, String> {
    text.split(';').filter(|part| !part.trim().is_empty()).map(parse_point).collect()
}

fn parse_point(part: &str) -> Result<Point, String> {
    let wrong = |why: &str| format!("{VARIABLE}: {part:?}: {why}; expected for instance worker.before_report=abort@3");
    let (name, rest) = part.trim().split_once('=').ok_or_else(|| wrong("no '='"))?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong("no number after '@'"));
    let (action, hits) = match rest.split_once('@') {
        None => (rest, 1..=u64::MAX),
        Some((action, text)) => match text.strip_suffix('+') {
            Some(first) => (action, number(first)?..=u64::MAX),
            None => (action, number(text)?..=number(text)?),
        },
    };
    let action = match action.split_once(':').map_or((action, None), |(a, v)| (a, Some(v))) {
        ("abort", None) => Action::Abort,
        ("panic", None) => Action::Panic,
        ("full", None) => Action::Full,
        ("exit", Some(code)) => Action::Exit(code.parse().map_err(|_| wrong("the exit code is no number"))?),
        ("sleep", Some(millis)) => Action::Sleep(millis.parse().map_err(|_| wrong("the time is no number"))?),
        _ => return Err(wrong("no such action")),
    };
    Ok(Point { name: name.to_owned(), action, hits, reached: AtomicU64::new(0) })
}

/// Whether a text sets points as [`VARIABLE`] does.
pub(crate) fn is_fine(text: &str) -> bool {
    parse(text).is_ok()
}

fn points() -> &'static [Point] {
    static POINTS: OnceLock<Vec<Point>> = OnceLock::new();
    POINTS.get_or_init(|| {
        let text = std::env::var(VARIABLE).unwrap_or_default();
        parse(&text).unwrap_or_else(|why| {
            // Otherwise a test with a misspelt point would pass without its fault.
            eprintln!("{why}");
            std::process::exit(2)
        })
    })
}

/// The action for this hit of the point `name`.
fn due(points: &[Point], name: &str) -> Option<Action> {
    let point = points.iter().find(|p| p.name == name)?;
    let times = point.reached.fetch_add(1, Ordering::Relaxed) + 1;
    point.hits.contains(&times).then_some(point.action)
}

/// Does what the environment asks for at this point: usually nothing. A sleep blocks the calling thread.
pub fn hit(name: &str) {
    if hit_fallible(name).is_err() {
        // Otherwise a test that asks for this would pass without its fault.
        eprintln!("{VARIABLE}: {name} has no action full");
        std::process::exit(2);
    }
}

/// The same at a point where the next step can fail.
pub(crate) fn hit_fallible(name: &str) -> io::Result<()> {
    let points = points();
    if points.is_empty() {
        return Ok(());
    }
    let Some(action) = due(points, name) else { return Ok(()) };
    eprintln!("failpoint {name} hit");
    match action {
        Action::Abort => std::process::abort(),
        Action::Exit(code) => std::process::exit(code),
        Action::Panic => panic!("failpoint {name}"),
        Action::Sleep(millis) => std::thread::sleep(Duration::from_millis(millis)),
        Action::Full => return Err(io::ErrorKind::StorageFull.into()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read() {
        let points = parse("a=abort; b.c=exit:3@2 ;d=sleep:50;e=panic;g=full@1;h=full@2+").unwrap();
        assert_eq!([(); 3].map(|()| due(&points, "h")), [None, Some(Action::Full), Some(Action::Full)]);
        assert_eq!(due(&points, "a"), Some(Action::Abort));
        assert_eq!(due(&points, "b.c"), None);
        assert_eq!(due(&points, "b.c"), Some(Action::Exit(3)));
        assert_eq!(due(&points, "b.c"), None);
        assert_eq!(due(&points, "d"), Some(Action::Sleep(50)));
        assert_eq!(due(&points, "e"), Some(Action::Panic));
        assert_eq!(due(&points, "f"), None);
        assert_eq!([(); 2].map(|()| due(&points, "g")), [Some(Action::Full), None]);
        assert!(parse("").unwrap().is_empty());
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["a", "a=", "a=explode", "a=exit", "a=exit:x", "a=abort@x", "a=sleep", "a=full:1"] {
            let error = parse(text).unwrap_err();
            assert!(error.contains("expected"), "{text}: {error}");
        }
    }
}
