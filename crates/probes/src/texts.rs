//! Short texts: words that are typed, names that others give, and files of the system.

/// A text as each of them.
pub(crate) fn typed(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let taken = [
        keima_cli::probe::typed(&text),
        keima_cli::probe::system_file(&text),
        keima_cluster::probe::name(&text),
        keima_cluster::probe::system_file(&text) < usize::MAX,
    ];
    taken[..3].contains(&true)
}
