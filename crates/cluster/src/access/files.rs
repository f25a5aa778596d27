//! The folder with a coordinator's certificates and tokens, as `--tls-init` makes it.
//!
//! ```text
//!   DATA/tls/ca.pem  ca.key                     vouches for the coordinator's certificate; callers may trust ca.pem
//!   DATA/tls/coordinator.pem  coordinator.key   what the coordinator shows
//!   DATA/tls/reader.token  client.token  worker.token
//! ```
//!
//! The folder has mode 0700 and its files 0600. It is made under another name, flushed, and renamed: it is there whole or not
//! at all, and nothing in it is ever overwritten.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

use super::AccessError;
use super::calls::Role;
use super::secret::Secret;
use crate::folder_lock::make_folder;

/// The folder in a coordinator's data folder.
pub fn tls_folder(data: &Path) -> PathBuf {
    data.join("tls")
}

/// The certificate and the key in such a folder.
pub fn certificate_files(folder: &Path) -> (PathBuf, PathBuf) {
    (folder.join("coordinator.pem"), folder.join("coordinator.key"))
}

/// The file with the token of a role.
pub fn token_file(folder: &Path, role: Role) -> PathBuf {
    folder.join(format!("{role}.token"))
}

/// Makes the folder, unless it is there; whether it was made. `names` are host names and addresses of the coordinator, for
/// callers that know it by the CA.
pub fn make_tls_folder(data: &Path, names: &[String]) -> Result<bool, AccessError> {
    let folder = tls_folder(data);
    if folder.symlink_metadata().is_ok() {
        return Ok(false);
    }
    make_folder(data).map_err(AccessError::io("make", data))?;
    let aside = data.join(format!("tls.{}.tmp", std::process::id()));
    match std::fs::remove_dir_all(&aside) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(AccessError::io("clear", &aside)(error)),
        _ => {}
    }
    DirBuilder::new().mode(0o700).create(&aside).map_err(AccessError::io("make", &aside))?;
    let [ca, ca_key, certificate, key] = certificates(names).map_err(|error| AccessError::Tls(error.to_string()))?;
    write(&aside.join("ca.pem"), &ca)?;
    write(&aside.join("ca.key"), &ca_key)?;
    let (certificate_file, key_file) = certificate_files(&aside);
    write(&certificate_file, &certificate)?;
    write(&key_file, &key)?;
    for role in Role::ALL {
        write(&token_file(&aside, role), &format!("{}\n", Secret::random()?.expose()))?;
    }
    let sync = |folder: &Path| File::open(folder).and_then(|f| f.sync_all()).map_err(AccessError::io("flush", folder));
    sync(&aside)?;
    std::fs::rename(&aside, &folder).map_err(AccessError::io("make", &folder))?;
    sync(data)?;
    Ok(true)
}

/// A CA and a certificate that it vouches for, each followed by its key, in PEM.
fn certificates(names: &[String]) -> Result<[String; 4], rcgen::Error> {
    let ca_key = KeyPair::generate()?;
    let mut ca = CertificateParams::default();
    ca.distinguished_name.push(DnType::CommonName, "keima CA");
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let ca_certificate = ca.self_signed(&ca_key)?;
    let ca_key_text = ca_key.serialize_pem();
    let issuer = Issuer::new(ca, ca_key);
    let key = KeyPair::generate()?;
    // A name that is neither a host's nor an address would make the whole certificate fail.
    let fine = |name: &&String| {
        let host = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        name.parse::<IpAddr>().is_ok() || (!name.is_empty() && name.len() < 254 && name.chars().all(host))
    };
    let names: Vec<String> = names.iter().filter(fine).cloned().collect();
    let mut server = CertificateParams::new(names)?;
    server.distinguished_name.push(DnType::CommonName, "keima coordinator");
    let certificate = server.signed_by(&key, &issuer)?;
    Ok([ca_certificate.pem(), ca_key_text, certificate.pem(), key.serialize_pem()])
}

fn write(path: &Path, text: &str) -> Result<(), AccessError> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = file.map_err(AccessError::io("make", path))?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(AccessError::io("write", path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::access::identity::Identity;

    #[test]
    fn the_folder_is_made_once_and_for_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["head", "127.0.0.1", "not a name", "::1"].map(str::to_owned);
        assert!(make_tls_folder(dir.path(), &names).unwrap());
        let folder = tls_folder(dir.path());
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let files = || -> Vec<(PathBuf, Vec<u8>)> {
            let paths = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
            let mut files: Vec<_> = paths.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
            files.sort();
            files
        };
        let before = files();
        assert_eq!(before.len(), 7);
        assert_eq!(mode(&folder), 0o700);
        assert!(before.iter().all(|(path, _)| mode(path) == 0o600));
        let (certificate, key) = certificate_files(&folder);
        let print = Identity::read(&certificate, &key).unwrap().fingerprint();
        assert!(!make_tls_folder(dir.path(), &[]).unwrap());
        assert_eq!(files(), before);
        assert_eq!(Identity::read(&certificate, &key).unwrap().fingerprint(), print);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");
    }
}
