//! The cap on the bytes in a scratch folder.
//!
//! A writer charges bytes *before* it writes them. Whoever removes a file refunds its length. So the folder never
//! exceeds its cap. Files found at the start count even beyond the cap; then nothing can be written.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::RunError;

/// Counts the bytes in a scratch folder. Shared by all writers (in an `Arc`).
#[derive(Debug)]
pub struct DiskBudget {
    cap: u64,
    used: AtomicU64,
    peak: AtomicU64,
}

impl DiskBudget {
    /// An empty folder that may hold `cap_bytes`.
    pub const fn new(cap_bytes: u64) -> Self {
        Self { cap: cap_bytes, used: AtomicU64::new(0), peak: AtomicU64::new(0) }
    }

    /// Takes `bytes` from the budget, or nothing and fails ([`RunError::DiskCap`]).
    pub fn charge(&self, bytes: u64) -> Result<(), RunError> {
        let fits = |used: u64| used.checked_add(bytes).filter(|&total| total <= self.cap);
        match self.used.try_update(Ordering::Relaxed, Ordering::Relaxed, fits) {
            Ok(before) => {
                self.peak.fetch_max(before.saturating_add(bytes), Ordering::Relaxed);
                Ok(())
            }
            Err(used) => Err(RunError::DiskCap { cap: self.cap, used, wanted: bytes }),
        }
    }

    /// Counts `bytes` of files that exist already, even beyond the cap.
    pub fn found(&self, bytes: u64) {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        self.peak.fetch_max(before.saturating_add(bytes), Ordering::Relaxed);
    }

    /// Gives back `bytes` that were charged or found.
    pub fn refund(&self, bytes: u64) {
        let lower = |used: u64| Some(used.saturating_sub(bytes));
        // The closure never refuses.
        let _ = self.used.try_update(Ordering::Relaxed, Ordering::Relaxed, lower);
    }

    /// Bytes in use.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
    /// Most bytes that were ever in use.
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
    /// The cap in bytes.
    pub const fn cap(&self) -> u64 {
        self.cap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_counts_beyond_the_cap() {
        let disk = DiskBudget::new(10);
        disk.charge(4).unwrap();
        disk.found(11);
        assert_eq!((disk.used(), disk.peak()), (15, 15));
        assert!(matches!(disk.charge(1), Err(RunError::DiskCap { cap: 10, used: 15, wanted: 1 })));
        disk.refund(11);
        assert!(disk.charge(7).is_err());
        disk.charge(6).unwrap();
        assert_eq!((disk.used(), disk.peak()), (10, 15));
    }
}
