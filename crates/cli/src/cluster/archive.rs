//! The option --archive.

use keima_cluster::Archive;

use crate::exit::Failed;

/// The URL of an option; `None` if it is not given, or empty as in a compose file.
pub(super) fn archive_url(asked: Option<&str>) -> Option<&str> {
    asked.map(str::trim).filter(|url| !url.is_empty())
}

/// The archive of an option.
pub(super) fn archive(asked: Option<&str>) -> Result<Option<Archive>, Failed> {
    let opened = archive_url(asked).map(Archive::open).transpose();
    opened.map_err(|error| Failed::usage(format!("--archive: {error}")))
}
