//! What is counted, and how: all that the ways of counting need to know.

use std::time::Duration;

use keima_cluster::peak_resident_bytes;
use keima_count::InMemory;
use keima_model::{AnyProblem, ProblemRequest};

use super::folders::Folders;
use crate::args::{CountArgs, Executor};
use crate::exit::Failed;
use crate::machine::MachineMemory;
use crate::result::{Extra, Finished};
use crate::terminal::output::say;
use crate::terminal::progress::Shown;
use crate::terminal::units::show_bytes;

/// Default size limit of the scratch folder.
pub(crate) const DISK_BYTES: u64 = 50 << 30;
/// Default memory of a count with runs on disk, if the machine has so much.
pub(crate) const MEMORY_BYTES: u64 = 2 << 30;
/// Time between two looks at a count. Short, so that small boards end at once.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// Prints a result. An error means that nobody may have got it.
pub(super) type Tell<'a> = &'a dyn Fn(&Finished<'_>, &Extra) -> Result<(), Failed>;

/// A count that was asked for.
pub(super) struct Counting<'a> {
    pub(super) args: &'a CountArgs,
    pub(super) request: &'a ProblemRequest,
    pub(super) problem: &'a AnyProblem,
    /// Prints the result. The count keeps its state unless this succeeds.
    pub(super) tell: Tell<'a>,
    /// Problem, size and options as the name of a folder: `go-9x9`.
    pub(super) name: &'a str,
    pub(super) threads: u32,
    pub(super) machine: MachineMemory,
    /// Whether with other primes and cuts than usual: the second count of `--double-check`.
    pub(super) other_way: bool,
    /// The memory that was asked for, within what the machine can give.
    pub(super) memory_bytes: Option<u64>,
}

impl Counting<'_> {
    pub(super) fn say(&self, text: &str) {
        if !self.args.output.quiet {
            say(text);
        }
    }

    /// How much of the progress is shown.
    pub(super) fn shown(&self) -> Shown {
        self.args.output.shown()
    }

    /// Memory for a count in memory.
    pub(super) fn allowed_bytes(&self) -> u64 {
        self.memory_bytes.unwrap_or_else(|| self.machine.default_bytes(MEMORY_BYTES))
    }

    /// Memory for a count with runs on disk.
    pub(super) fn on_disk_bytes(&self) -> u64 {
        self.memory_bytes.unwrap_or_else(|| self.machine.default_of(MEMORY_BYTES))
    }

    /// Plans a count in memory. `None` if an option rules it out, if an unfinished count on disk does, or if the problem
    /// does not fit. Refuses to leave residues behind that an earlier count in memory has kept.
    pub(super) fn in_memory(&self) -> Result<Option<InMemory>, Failed> {
        let data = if self.args.data.is_none() { Folders::default_data(self.name).ok() } else { None };
        let kept = data.map_or(Ok(0), |data| InMemory::kept_in(&data, self.name))?;
        let begun_on_disk = || Folders::default_data(self.name).is_ok_and(|data| data.join("state").exists());
        let ruled_out = self.args.plan.executor == Executor::Stream || self.args.asks_for_disk() || begun_on_disk();
        let allowed_bytes = self.allowed_bytes();
        if !ruled_out && InMemory::fit(self.problem, self.threads, allowed_bytes).is_some() {
            let planned =
                InMemory::new(self.problem.clone(), self.threads, allowed_bytes, self.args.output.result.series);
            let planned = planned.map_err(|error| Failed::usage(error.to_string()))?;
            let planned = planned.with_options(&self.request.options);
            return Ok(Some(if self.other_way { planned.other_way() } else { planned }));
        }
        // These residues may have taken hours.
        match kept {
            0 => Ok(None),
            found => Err(Failed::usage(format!(
                "{found} residues of {} are kept from an interrupted count in memory, but this command would count on \
                 disk from the beginning. Repeat the earlier command with as much memory as then (now {} are allowed; \
                 see --memory), start over with --fresh, or use another folder with --data DIR",
                self.name,
                show_bytes(allowed_bytes)
            ))),
        }
    }
}

/// Fields of the JSON object that only this process knows.
pub(super) fn extra(scratch_peak_bytes: Option<u64>) -> Extra {
    let mut extra = Extra::default();
    for (name, bytes) in [("scratch_peak_bytes", scratch_peak_bytes), ("peak_memory_bytes", peak_resident_bytes())] {
        if let Some(bytes) = bytes {
            extra.0.insert(name, bytes.into());
        }
    }
    extra
}
