//! Where an archive is: a folder that machines share, or an S3-compatible bucket.
//!
//! ```text
//!   /shared/keima, file:///shared/keima    a folder; files are flushed to stable storage before they get their names, and
//!                                          folders go with their last file
//!   s3://BUCKET/PREFIX                     AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT ... say how
//! ```
//!
//! Names come from the coordinator, and were checked; see [`is_object_name`]. An object is written whole or not at all.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::aws::{AmazonS3Builder, S3ConditionalPut};
use object_store::local::LocalFileSystem;
use object_store::{ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, path};

use crate::folder_lock::make_folder;

/// Longest name of an object below an archive's root.
const MOST_NAME_BYTES: usize = 256;

/// What went wrong with an archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The URL names none.
    #[error(
        "{url} names no archive: {why}; write a folder that all machines share (/shared/keima), or s3://BUCKET/PREFIX"
    )]
    Url {
        /// What was given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The folder or bucket failed.
    #[error("archive {url}, {name}: {source}")]
    Store {
        /// The archive.
        url: String,
        /// The object.
        name: String,
        /// What its storage said.
        source: object_store::Error,
    },
    /// An object of that name is there already.
    #[error("archive {url} has {name} already; another coordinator may be at work on a copy of this one's data folder")]
    Exists {
        /// The archive.
        url: String,
        /// The object.
        name: String,
    },
    /// There is no checkpoint to go on with.
    #[error("{0}")]
    NoCheckpoint(String),
}

impl ArchiveError {
    /// Whether the object is not there.
    pub(crate) const fn is_missing(&self) -> bool {
        matches!(self, Self::Store { source: object_store::Error::NotFound { .. }, .. })
    }
}

/// An open archive. Clones are the same.
#[derive(Clone)]
pub struct Archive {
    pub(super) store: Arc<dyn ObjectStore>,
    root: path::Path,
    url: String,
    /// Its folder, where it is one.
    pub(super) folder: Option<PathBuf>,
}

impl fmt::Debug for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Archive({})", self.url)
    }
}

/// Whether a name is one that a coordinator gives to an object: a few parts of `[a-z0-9.-]`, none of which begins with a point.
pub(crate) fn is_object_name(name: &str) -> bool {
    let fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte);
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.bytes().all(fine);
    name.len() <= MOST_NAME_BYTES && name.split('/').all(is_part)
}

/// Fails where no file can be made in a folder, before a job relies on it.
fn check_writable(folder: &Path) -> std::io::Result<()> {
    let probe = folder.join(format!(".keima-{}", std::process::id()));
    std::fs::write(&probe, b"")?;
    std::fs::remove_file(probe)
}

impl Archive {
    /// Opens the archive of a URL. A folder is made if it is missing, and must be writable; a bucket must be there. Does not call a
    /// bucket yet.
    pub fn open(url: &str) -> Result<Self, ArchiveError> {
        let bad = |why: String| ArchiveError::Url { url: url.to_owned(), why };
        if let Some(folder) = url.strip_prefix("file://").or_else(|| url.starts_with('/').then_some(url)) {
            let folder = Path::new(folder);
            if !folder.is_absolute() {
                return Err(bad("a folder's path begins with /".to_owned()));
            }
            make_folder(folder).map_err(|error| bad(format!("cannot make the folder: {error}")))?;
            check_writable(folder).map_err(|error| bad(format!("cannot write to the folder: {error}")))?;
            let store = LocalFileSystem::new_with_prefix(folder).map_err(|error| bad(error.to_string()))?;
            let store = Arc::new(store.with_fsync(true).with_automatic_cleanup(true));
            let (root, url) = (path::Path::default(), url.trim_end_matches('/').to_owned());
            return Ok(Self { store, root, url, folder: Some(folder.to_owned()) });
        }
        let Some(rest) = url.strip_prefix("s3://") else {
            return Err(bad("it begins with neither / nor s3://".to_owned()));
        };
        // Two providers may be in the program; rustls does not choose. Another call may have been first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(bad("there is no bucket after s3://".to_owned()));
        }
        let root = path::Path::parse(prefix.trim_end_matches('/')).map_err(|error| bad(error.to_string()))?;
        let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
        let store = builder.with_conditional_put(S3ConditionalPut::ETagMatch).build();
        let store = Arc::new(store.map_err(|error| bad(error.to_string()))?);
        Ok(Self { store, root, url: url.trim_end_matches('/').to_owned(), folder: None })
    }

    /// An archive over an object store that is open already; `url` is what errors call it.
    pub fn over(store: Arc<dyn ObjectStore>, url: &str) -> Self {
        Self { store, root: path::Path::default(), url: url.trim_end_matches('/').to_owned(), folder: None }
    }

    /// Its URL, as it was given.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The object of a name below the archive's root.
    pub(super) fn at(&self, name: &str) -> path::Path {
        let parts = self.root.parts().map(|part| part.as_ref().to_owned());
        parts.chain(name.split('/').filter(|part| !part.is_empty()).map(str::to_owned)).collect()
    }

    pub(super) fn failed(&self, name: &str) -> impl Fn(object_store::Error) -> ArchiveError {
        let (url, name) = (self.url.clone(), name.to_owned());
        move |source| ArchiveError::Store { url: url.clone(), name: name.clone(), source }
    }

    /// Length of an object; `None` if it is not there.
    pub(super) async fn length(&self, name: &str) -> Result<Option<u64>, ArchiveError> {
        match self.store.head(&self.at(name)).await {
            Ok(meta) => Ok(Some(meta.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(name)(error)),
        }
    }

    /// Writes an object if none of its name is there.
    pub(super) async fn put_new(&self, name: &str, bytes: Vec<u8>) -> Result<(), ArchiveError> {
        let options = PutOptions::from(PutMode::Create);
        match self.store.put_opts(&self.at(name), bytes.into(), options).await {
            Ok(_) => Ok(()),
            Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => {
                Err(ArchiveError::Exists { url: self.url.clone(), name: name.to_owned() })
            }
            Err(error) => Err(self.failed(name)(error)),
        }
    }
}
