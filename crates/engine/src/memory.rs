//! Memory that the system refuses, although the limits of the process allow it.

use keima_blocks::sizes::show_bytes;

/// The system refused memory.
#[derive(Debug, thiserror::Error)]
#[error(
    "the system refuses {} of memory: {source}; lower --memory, use fewer --threads, or free memory on this machine",
    show_bytes(*bytes)
)]
pub struct MemoryRefused {
    /// What was asked for.
    pub bytes: u64,
    /// The system's answer.
    #[source]
    pub source: std::io::Error,
}

/// A vector with room for `len` elements.
pub(crate) fn reserved<T>(len: usize) -> Result<Vec<T>, MemoryRefused> {
    let mut room = Vec::new();
    room.try_reserve_exact(len).map_err(|_| MemoryRefused {
        bytes: (len as u64).saturating_mul(size_of::<T>() as u64),
        source: std::io::ErrorKind::OutOfMemory.into(),
    })?;
    Ok(room)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than any address space.
    #[test]
    fn refused_memory_is_an_error_with_its_size() {
        let refused = reserved::<u64>(1 << 57).unwrap_err().to_string();
        assert!(refused.contains("refuses 1 EiB of memory") && refused.contains("--memory"), "{refused}");
        assert!(reserved::<u64>(usize::MAX).is_err());
        assert_eq!(reserved::<u64>(9).unwrap().capacity(), 9);
    }
}
