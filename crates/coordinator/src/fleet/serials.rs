//! Numbers that grow when something happens. A reader keeps the number of its last look, and looks again only if it grew.

/// One number for each kind of change.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Serials {
    /// Grows whenever any run may have become unreadable.
    pub(crate) lost: u64,
    /// Grows whenever a run that could not be read may have become readable.
    pub(crate) gained: u64,
    /// Grows whenever runs of any worker may have become unneeded.
    pub(crate) unneeded: u64,
    /// Grows whenever there may be work for every worker that found none.
    pub(crate) work: u64,
    /// Grows with each single task that a worker that found none may now do.
    pub(crate) few: u64,
}
