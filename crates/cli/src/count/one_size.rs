//! The count of one size, in memory if that suffices, else on disk.

use std::sync::Arc;

use keima_model::Registry;

use super::counting::Counting;
use super::folders::{self, Folders};
use super::{in_memory, kept_result, on_disk};
use crate::exit::Failed;

/// Counts one size, in memory or on disk.
pub(super) async fn count_one(counting: &Counting<'_>, registry: Arc<dyn Registry>) -> Result<(), Failed> {
    if counting.args.fresh {
        folders::forget(counting.args, counting.name)?;
        if let (None, Ok(data)) = (&counting.args.data, Folders::default_data(counting.name)) {
            kept_result::forget(&data);
        }
    }
    match counting.in_memory()? {
        Some(in_memory) => in_memory::count(counting, in_memory).await,
        None => on_disk::count(counting, registry).await,
    }
}
