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
    let running = Arc::clone(&in_memory);
    let mut running = tokio::task::spawn_blocking(move || running.count());
    let stop = asked_to_stop();
    tokio::pin!(stop);
    let mut look = tokio::time::interval(LOOK);
    let ended = loop {
        tokio::select! {
            ended = &mut running => break ended,
            _ = look.tick() => progress.show_in_memory(counting.request, &in_memory.progress()),
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

/// `kept`: residues that are complete, and all; `None` for a count of one sweep, which keeps nothing.
fn interrupted(name: &str, kept: Option<(usize, usize)>) -> Failed {
    let next = match kept {
        Some((done @ 1.., all)) => format!("kept {done} of {all} residues, and the same command continues {name}"),
        Some((_, _)) => format!("no sweep was complete yet, and the same command counts {name} from the beginning"),
        None => format!("the same command counts {name} from the beginning (with --data DIR it could continue)"),
    };
    Failed::new(INTERRUPTED, format!("interrupted; {next}"))
}
