//! Short texts: words that are typed, names that others give, and files of the system.

use keima_coordinator::{EndedJob, is_checkpoint_name};

/// A text as each of them.
pub(crate) fn typed(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let taken = [
        keima_cli::probe::typed(&text),
        keima_cli::probe::system_file(&text),
        keima_cluster::probe::name(&text),
        is_checkpoint_name(&text) || EndedJob::job_of(&text).is_some(),
        keima_cluster::probe::system_file(&text) < usize::MAX,
    ];
    taken[..4].contains(&true)
}
