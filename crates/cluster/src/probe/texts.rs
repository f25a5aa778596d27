//! Texts: credentials, names of all kinds, and files of the system.

use std::path::Path;

use crate::access::identity::{Fingerprint, Identity, PemFile};
use crate::access::secret::Secret;
use crate::access::trust::Trust;
use crate::archive::is_object_name;
use crate::failpoint;
use crate::scratch::{is_job, is_name};
use crate::transport::convert::{plain, run_id, worker_id};
use crate::transport::grpc::{open_files, service_url};

/// Reads a text as a token, as a certificate with its key, and as a CA. Returns whether it is any of them.
pub fn credentials(text: &str) -> bool {
    let path = Path::new("probe");
    let token = Secret::of_text(path, text);
    let identity = Identity::of_texts(PemFile { path, text }, PemFile { path, text });
    let served = identity.as_ref().is_ok_and(|identity| identity.server().is_ok());
    if let Ok(identity) = &identity {
        let print = identity.fingerprint();
        assert!(print.to_string().parse::<Fingerprint>().is_ok_and(|again| again == print), "{print} is another");
    }
    token.is_ok() | served | Trust::of_text(path, text).is_ok()
}

/// Reads a text as each name that others give. Returns whether it is any of them.
pub fn name(text: &str) -> bool {
    let url = service_url(text);
    if let Ok(url) = &url {
        assert!(service_url(url).is_ok_and(|again| again == *url), "{url} is another");
    }
    let shown = plain(text.to_owned());
    assert_eq!(plain(shown.clone()), shown, "a plain text is plain");
    let taken = [
        text.parse::<Fingerprint>().is_ok(),
        url.is_ok(),
        is_object_name(text),
        is_name(text) | is_job(text),
        worker_id("probe", text.to_owned()).is_ok(),
        run_id("probe", text.to_owned()).is_ok(),
        failpoint::is_fine(text),
    ];
    taken.contains(&true)
}

/// Reads a text as `/proc/self/limits`. Returns the number of files that may be open.
pub fn system_file(text: &str) -> usize {
    open_files(text)
}
