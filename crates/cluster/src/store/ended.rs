//! The records of jobs that have left the store: a folder of files beside it.
//!
//! ```text
//!   DIR/ended/j17-go-13x13.json      a job, see `keima_coordinator::EndedJob`; written once, whole
//!   DIR/ended/.j17-go-13x13.json     one that is being written, or what a crash left of it
//! ```
//!
//! The folder belongs to its user as well: a file that is moved away is forgotten, one that is put back is there again. So nothing of
//! it is kept in memory. Cost: a look at the folder's names for each call, and a file's first line for each job that is listed.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use keima_coordinator::{EndedJob, EndedJobError, JobFilter, JobId, JobPage, JobStatus};
use keima_runs::watch::{Change, before};

use crate::folder_lock::make_folder;

/// Name of the folder.
const FOLDER: &str = "ended";
/// Longest first line. That of a board of 10,000 columns has a tenth of it.
const MOST_LINE_BYTES: u64 = 8 << 20;

/// Why a job's file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EndedError {
    /// The file system refused.
    #[error("cannot {action} {path}: {source}; check that the disk has room and that the folder is writable")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What came.
        #[source]
        source: io::Error,
    },
    /// The file is not as expected.
    #[error("{path}: {source}")]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: EndedJobError,
    },
}

/// The folder.
#[derive(Clone, Debug)]
pub(crate) struct EndedFolder(PathBuf);

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> EndedError {
    let path = path.to_owned();
    move |source| EndedError::Io { action, path, source }
}

impl EndedFolder {
    /// That of the data folder `data`. Makes nothing.
    pub(crate) fn of(data: &Path) -> Self {
        Self(data.join(FOLDER))
    }

    /// Writes a job's file. It is whole and on stable storage when this returns.
    pub(crate) fn write(&self, job: &EndedJob) -> Result<(), EndedError> {
        let name = job.file_name();
        let (path, aside) = (self.0.join(&name), self.0.join(format!(".{name}")));
        let bytes = job.encode().map_err(|source| EndedError::Form { path: path.clone(), source })?;
        before(Change::Folder(&self.0)).and_then(|()| make_folder(&self.0)).map_err(failed("make", &self.0))?;
        // Also where it was there: a life that was cut off may have made it.
        let data = self.0.parent().unwrap_or(&self.0);
        before(Change::SyncFolder(data)).and_then(|()| File::open(data)?.sync_all()).map_err(failed("flush", data))?;
        let write = || {
            before(Change::Create(&aside))?;
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&aside)?;
            before(Change::Length { path: &aside, bytes: 0 })?;
            before(Change::Write { path: &aside, offset: 0, bytes: &bytes })?;
            file.write_all(&bytes)?;
            before(Change::Sync(&aside))?;
            file.sync_all()
        };
        write().map_err(failed("write", &aside))?;
        let rename = || {
            before(Change::Rename { from: &aside, to: &path })?;
            std::fs::rename(&aside, &path)?;
            before(Change::SyncFolder(&self.0))?;
            File::open(&self.0)?.sync_all()
        };
        rename().map_err(failed("publish", &path))
    }

    /// The files, the newest job first.
    fn files(&self) -> Result<Vec<(JobId, PathBuf)>, EndedError> {
        let entries = match std::fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed("list", &self.0))?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry.map_err(failed("list", &self.0))?;
            if let Some(job) = entry.file_name().to_str().and_then(EndedJob::job_of) {
                files.push((job, entry.path()));
            }
        }
        files.sort_by(|a, b| b.cmp(a));
        files.dedup_by_key(|(job, _)| *job);
        Ok(files)
    }

    /// The file of a job, if there is one.
    pub(crate) fn file(&self, job: JobId) -> Result<Option<PathBuf>, EndedError> {
        Ok(self.files()?.into_iter().find(|(other, _)| *other == job).map(|(_, path)| path))
    }

    /// A job, whole; `None` if it has no file.
    pub(crate) fn read(&self, job: JobId) -> Result<Option<EndedJob>, EndedError> {
        let Some(path) = self.file(job)? else { return Ok(None) };
        let bytes = std::fs::read(&path).map_err(failed("read", &path))?;
        let read = EndedJob::decode(&bytes).map_err(|source| EndedError::Form { path: path.clone(), source })?;
        if read.id() == job {
            return Ok(Some(read));
        }
        let source = EndedJobError::Form(format!("it holds job {}, and its name says {job}", read.id()));
        Err(EndedError::Form { path, source })
    }

    /// A part of the list of jobs, the newest first, without their values. A file that cannot be read is left out, and the log says
    /// why.
    pub(crate) fn list(&self, filter: &JobFilter) -> Result<JobPage, EndedError> {
        let older = self.files()?.into_iter().filter(|(job, _)| filter.after.is_none_or(|after| *job < after));
        let jobs = older.filter_map(|(job, path)| match head(&path) {
            Ok(status) => Some(status),
            Err(error) => {
                tracing::warn!(%job, %error, "a job that is over is not listed");
                None
            }
        });
        Ok(JobPage::of(jobs.filter(|job| filter.takes(job)), filter.most()))
    }
}

/// A job's status without its values.
fn head(path: &Path) -> Result<JobStatus, EndedError> {
    let form = |source| EndedError::Form { path: path.to_owned(), source };
    let mut line = String::new();
    let file = File::open(path).map_err(failed("open", path))?;
    let read = BufReader::new(file.take(MOST_LINE_BYTES)).read_line(&mut line);
    read.map_err(failed("read", path))?;
    // Somebody may have wrapped it in another way.
    if let Ok(status) = EndedJob::decode_first_line(&line) {
        return Ok(status);
    }
    let bytes = std::fs::read(path).map_err(failed("read", path))?;
    let mut status = EndedJob::decode(&bytes).map_err(form)?.view.status;
    status.set_values(Vec::new());
    Ok(status)
}
