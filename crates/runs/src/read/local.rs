//! A published run in a local or shared file: verified when it is opened, read block by block.

use std::path::Path;
use std::sync::Arc;

use super::feed::LocalFeed;
use super::index::Window;
use super::opened::Opened;
use crate::format::footer::Entry;
use crate::{RunError, RunHeader, RunId, RunManifest, RunPart};

/// A published run whose header, index and footer are sound and are the expected ones. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LocalRun(Arc<Opened>);

impl LocalRun {
    /// Opens a run. Verifies header, index and footer, in themselves and against `expected` and `header`. Blocks are
    /// verified when they are read.
    pub fn open(path: &Path, expected: &RunManifest, header: &RunHeader) -> Result<Self, RunError> {
        Ok(Self(Arc::new(Opened::open(path, Some(&expected.id), Some((expected, header)))?)))
    }

    /// Opens a run whose id alone is known.
    pub(crate) fn open_unknown(path: &Path, id: &RunId) -> Result<Self, RunError> {
        Ok(Self(Arc::new(Opened::open(path, Some(id), None)?)))
    }

    /// Opens any run.
    pub(crate) fn open_any(path: &Path) -> Result<Self, RunError> {
        Ok(Self(Arc::new(Opened::open(path, None, None)?)))
    }

    /// The run's manifest, as its footer says.
    pub fn manifest(&self) -> &RunManifest {
        &self.0.manifest
    }

    /// The run's header.
    pub fn header(&self) -> &RunHeader {
        &self.0.header
    }

    /// The blocks that may hold keys of `part`, with its lanes. A key range that is not empty has at least one block,
    /// since blocks also answer for the gaps between them.
    pub fn feed(&self, part: RunPart) -> LocalFeed {
        LocalFeed::new(Arc::clone(&self.0), part)
    }

    /// The entries of the index, in order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Result<Entry, RunError>> {
        let run = Arc::clone(&self.0);
        let mut window = Window::default();
        (0..run.index.blocks).map(move |number| window.entry(&run.source, &run.index, number))
    }
}
