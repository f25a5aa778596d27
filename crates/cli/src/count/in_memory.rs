//! A count in the memory of this process, by the block executor.

use std::sync::Arc;

use keima_count::InMemory;

use super::counting::{Counting, LOOK, extra};
use super::folders::Folders;
use crate::exit::{Failed, INTERRUPTED};
use crate::machine::{Needed, asked_to_stop};
use crate::result::Finished;
use crate::terminal::output::is_thrown_away;
use crate::terminal::progress::Progress;
use crate::terminal::units::show_seconds;

/// A count that keeps nothing and has more than this left says so. Ten minutes of two cores are soon spent again; a night is not.
/// The time left is known from the first window on, to a factor of two.
const LONG_SECONDS: f64 = 600.0;

/// Counts and prints the result. A count of several sweeps keeps the residues of each, so that the same command can
/// continue after a kill.
pub(super) async fn count(counting: &Counting<'_>, in_memory: InMemory) -> Result<(), Failed> {
    Needed::IN_MEMORY.check(counting.threads)?;
    let in_memory = Arc::new(in_memory);
    let name = counting.name;
    let data = Folders::default_data(name).ok();
    let kept = data.as_deref().map_or(Ok(None), |data| in_memory.keep_in(data, name))?;
    if let Some((found @ 1.., residues)) = kept {
        counting.say(&format!("continuing {name}: {found} of {residues} residues are done"));
    }
    let mut progress = Progress::new(counting.shown());
    let mut warned = kept.is_some();
    let running = Arc::clone(&in_memory);
    let mut running = tokio::task::spawn_blocking(move || running.count());
    let stop = asked_to_stop();
    tokio::pin!(stop);
    let mut look = tokio::time::interval(LOOK);
    let ended = loop {
        tokio::select! {
            ended = &mut running => break ended,
            _ = look.tick() => {
                let now = in_memory.progress();
                if let Some(warning) = warning(name, now.eta_seconds, &mut warned) {
                    progress.say(&warning);
                }
                progress.show_in_memory(counting.request, &now);
            }
            () = &mut stop => {
                in_memory.stop();
                progress.finish();
                let done = data.as_deref().map_or(Ok(0), |data| InMemory::kept_in(data, name))?;
                return Err(interrupted(name, kept.map(|(_, residues)| (done, residues))));
            }
        }
    };
    progress.finish();
    let result = ended
        .map_err(|panic| Failed::other(format!("the count failed: {panic}; please report it")))?
        .map_err(|error| Failed::other(error.to_string()))?;
    let finished = Finished::in_memory(counting.request, &result);
    (counting.tell)(&finished, &extra(None))?;
    if let Some(data) = data.filter(|_| !is_thrown_away()) {
        // An earlier count with less memory may have kept some, even if this one has a single sweep.
        InMemory::forget(&data);
    }
    Ok(())
}

/// What to say, once, of a long count that an interruption would lose; `warned` where that was said, or where it keeps residues.
fn warning(name: &str, eta_seconds: Option<f64>, warned: &mut bool) -> Option<String> {
    let left = eta_seconds.filter(|&left| left > LONG_SECONDS && left.is_finite() && !*warned)?;
    *warned = true;
    Some(format!(
        "{name} has about {} left, and an interruption would lose it all; with --data DIR it could go on afterwards, but it would \
         count on disk, which takes longer",
        show_seconds(left)
    ))
}

/// `kept`: residues that are complete, and all; `None` for a count of one sweep, which keeps nothing.
fn interrupted(name: &str, kept: Option<(usize, usize)>) -> Failed {
    let next = match kept {
        Some((done @ 1.., all)) => format!("kept {done} of {all} residues, and the same command continues {name}"),
        Some((_, _)) => format!("no sweep was complete yet, and the same command counts {name} from the beginning"),
        None => format!("the same command counts {name} from the beginning (with --data DIR it could continue)"),
    };
    Failed::new(INTERRUPTED, format!("interrupted; {next}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_count_that_keeps_nothing_says_so_once() {
        let check = |keeps: bool, etas: &[Option<f64>], expected: &[Option<&str>]| {
            let mut warned = keeps;
            let said = etas.iter().map(|&eta| warning("go-15x15", eta, &mut warned)).collect::<Vec<_>>();
            assert_eq!(said.len(), expected.len());
            for (said, expected) in said.iter().zip(expected) {
                let fits = match (said, expected) {
                    (Some(said), Some(expected)) => {
                        said.starts_with(&format!("go-15x15 has about {expected} left,")) && said.contains("--data DIR")
                    }
                    (said, expected) => said.is_none() && expected.is_none(),
                };
                assert!(fits, "{etas:?}, keeps {keeps}: {said:?}, expected {expected:?}");
            }
        };
        // Before the first window nothing is known.
        check(false, &[None, None], &[None, None]);
        check(false, &[Some(599.0), Some(600.0)], &[None, None]);
        check(false, &[None, Some(601.0), Some(5000.0)], &[None, Some("10m01s"), None]);
        // It gets slower.
        check(false, &[Some(300.0), Some(7200.0), Some(7100.0)], &[None, Some("2h00m"), None]);
        check(true, &[None, Some(601.0), Some(90_000.0)], &[None, None, None]);
    }
}
