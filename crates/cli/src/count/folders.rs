//! Folders of a count: its state and its runs. Without `--data` they lie in the user's state folder under the name of the
//! count, so that the same command finds them again after a kill.

use std::path::{Path, PathBuf};

use keima_count::{InMemory, LocalCluster};
use keima_model::ProblemRequest;

use crate::args::CountArgs;
use crate::exit::Failed;
use crate::machine::state_folder;
use crate::terminal::output::say;

/// Longest name of a folder, in characters.
const NAME_CHARS: usize = 120;

/// Problem, size and options as the name of a folder: `quoridor-fences-8x8-max-fences3`.
pub(super) fn name(request: &ProblemRequest, size: &str) -> String {
    let options = request.options.iter().map(|(option, value)| format!("-{option}{value}"));
    let name = format!("{}-{size}{}", request.name, options.collect::<String>());
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).take(NAME_CHARS).collect()
}

/// The folders of one count.
pub(super) struct Folders {
    /// Holds the state, and by default the runs.
    pub(super) data: PathBuf,
    pub(super) state: PathBuf,
    pub(super) scratch: PathBuf,
}

impl Folders {
    pub(super) fn new(args: &CountArgs, name: &str) -> Result<Self, Failed> {
        let data = args.data.clone().map_or_else(|| Self::default_data(name), Ok)?;
        let scratch = args.scratch.clone().unwrap_or_else(|| data.join("scratch"));
        Ok(Self { state: data.join("state"), scratch, data })
    }

    /// The data folder of a count without `--data`.
    pub(super) fn default_data(name: &str) -> Result<PathBuf, Failed> {
        let folder = state_folder().ok_or_else(|| {
            Failed::usage("neither XDG_STATE_HOME nor HOME is set; name a folder for the state with --data DIR")
        })?;
        Ok(folder.join(name))
    }

    /// Deletes a data folder without `--data` after its count was printed, or was refused before it began.
    pub(super) fn tidy(&self, args: &CountArgs, name: &str, refused: bool) {
        let tidied = if refused { self.leave(args) } else { forget(args, name) };
        if let Err(error) = tidied {
            say(format_args!("keima: could not delete {}: {}", self.data.display(), error.text));
        }
        let _ = std::fs::remove_dir(&self.data);
    }

    /// Deletes what a refused count has made. A scratch folder of the user's may hold runs of other counts.
    fn leave(&self, args: &CountArgs) -> Result<(), Failed> {
        if args.scratch.is_some() {
            LocalCluster::leave(&self.scratch)?;
        }
        Ok(LocalCluster::forget(&self.state, &own_scratch(&self.data))?)
    }
}

/// The scratch folder without `--scratch`.
fn own_scratch(data: &Path) -> PathBuf {
    data.join("scratch")
}

/// Deletes what earlier runs of this count left. Refuses if one of them is still running.
pub(super) fn forget(args: &CountArgs, name: &str) -> Result<(), Failed> {
    // Without any folder for state nothing was left.
    let Ok(folders) = Folders::new(args, name) else { return Ok(()) };
    LocalCluster::forget(&folders.state, &folders.scratch)?;
    LocalCluster::forget(&folders.state, &own_scratch(&folders.data))?;
    if args.data.is_none() {
        InMemory::forget(&folders.data);
    }
    Ok(())
}
