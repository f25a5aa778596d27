//! A door for fuzzing.

/// The number of residues in the bytes of a file of kept sweeps.
pub fn kept_sweeps(bytes: &[u8]) -> usize {
    crate::in_memory::residues(bytes, "keima sweeps 1 probe").unwrap_or(0)
}
