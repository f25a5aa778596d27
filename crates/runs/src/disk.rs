//! The cap on what a scratch folder holds.
//!
//! Whoever writes charges the bytes *before* writing them; whoever removes a file refunds its length. So the folder
//! never exceeds its cap, not even for a moment.

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

    /// Takes `bytes` of the budget, or nothing ([`RunError::DiskCap`]).
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

    /// Gives back `bytes` that were charged before.
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
