//! Who may come in at a coordinator or worker: the options are checked, certificates and tokens read or made.
//!
//! Without TLS and credentials a service listens on loopback only, unless somebody writes `--insecure`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use keima_cluster::{
    AccessError, Door, Fingerprint, Identity, Role, RunGuard, Secret, Tokens, certificate_files, make_tls_folder,
    tls_folder, token_file,
};

use super::address::{host_name, is_local, outgoing};
use crate::args::{CoordinatorArgs, WorkerArgs};
use crate::exit::Failed;

/// A coordinator's door, and what callers need to come in.
pub(super) struct Entrance {
    pub(super) door: Door,
    /// `None` without TLS.
    pub(super) guarded: Option<Guarded>,
}

pub(super) struct Guarded {
    pub(super) fingerprint: Fingerprint,
    /// Folder with the token files.
    pub(super) tokens: PathBuf,
}

// By value, for `map_err`.
#[allow(clippy::needless_pass_by_value)]
fn usage(error: AccessError) -> Failed {
    Failed::usage(error.to_string())
}

impl Entrance {
    /// As the command line says. Makes certificates and tokens if it asks for them.
    pub(super) fn of(args: &CoordinatorArgs) -> Result<Self, Failed> {
        let (door, listen) = (&args.door, args.listen);
        let beyond = [("--listen", Some(listen)), ("--http", args.http)];
        let beyond =
            beyond.into_iter().find_map(|(option, at)| Some((option, at.filter(|at| !at.ip().is_loopback())?)));
        let folder = tls_folder(&args.data);
        if door.insecure {
            if door.tls_init || door.tls_cert.is_some() {
                return Err(Failed::usage("--insecure is without TLS: leave it away, or --tls-init and --tls-cert"));
            }
            let anybody = if beyond.is_none() { "on this machine" } else { "who reaches its port" };
            tracing::warn!(
                "--insecure: anybody {anybody} can do everything with this coordinator, and nothing is encrypted"
            );
            return Ok(Self { door: Door::open(), guarded: None });
        }
        if door.tls_init {
            let made = make_tls_folder(&args.data, &names(&door.tls_name, listen.ip())).map_err(usage)?;
            if made {
                tracing::info!("made a CA, a certificate and three tokens in {}", folder.display());
            } else if !door.tls_name.is_empty() {
                tracing::info!(
                    "the certificate in {} was made before, and stays without a --tls-name that is new",
                    folder.display()
                );
            }
        }
        let own = door.tls_cert.clone().zip(door.tls_key.clone());
        let made = || folder.exists().then(|| certificate_files(&folder));
        let Some((certificate, key)) = own.or_else(made) else {
            if let Some((option, at)) = beyond {
                return Err(Failed::usage(format!(
                    "{option} {at}: others could reach this coordinator, and it has no TLS and no credentials. Add \
                     --tls-init, which makes them in {}; or --tls-cert and --tls-key with your own. On a network where \
                     everybody may do everything, write --insecure",
                    folder.display()
                )));
            }
            return Ok(Self { door: Door::open(), guarded: None });
        };
        let tokens = door.tokens.clone().unwrap_or(folder);
        let identity = Identity::read(&certificate, &key).map_err(usage)?;
        let known = Tokens::read(&tokens).map_err(|error| {
            Failed::usage(format!("{error}; the folder of tokens is --tokens DIR, and --tls-init makes one"))
        })?;
        tracing::info!("TLS with the certificate {} and the tokens in {}", certificate.display(), tokens.display());
        let fingerprint = identity.fingerprint();
        let door = Door::guarded(&identity, known).map_err(usage)?;
        Ok(Self { door, guarded: Some(Guarded { fingerprint, tokens }) })
    }

    /// How its URL begins.
    pub(super) const fn scheme(&self) -> &'static str {
        if self.guarded.is_some() { "https" } else { "http" }
    }

    /// The options by which callers of a role come in, with a space before them.
    pub(super) fn options_of(&self, role: Role) -> String {
        self.guarded.as_ref().map_or_else(String::new, |guarded| {
            let token = token_file(&guarded.tokens, role);
            format!(" --fingerprint {} --token-file {}", guarded.fingerprint, token.display())
        })
    }
}

/// Names of this machine, for the certificate.
fn names(more: &[String], listen: IpAddr) -> Vec<String> {
    let mut names = vec![host_name(), "localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    if listen.is_unspecified() {
        names.extend(outgoing().iter().map(IpAddr::to_string));
    } else {
        names.push(listen.to_string());
    }
    names.extend_from_slice(more);
    names.sort();
    names.dedup();
    names
}

/// The door of a worker's metrics: open on loopback, or with a token for readers and a certificate of its own.
pub(super) fn worker_http_door(args: &WorkerArgs, address: SocketAddr) -> Result<Door, Failed> {
    if let Some(file) = &args.http_token_file {
        let (identity, token) = (Identity::self_signed().map_err(usage)?, Secret::read(file).map_err(usage)?);
        let tokens = Tokens::default().with(Role::Reader, &token).map_err(usage)?;
        return Door::guarded(&identity, tokens).map_err(usage);
    }
    if !address.ip().is_loopback() && !args.insecure {
        return Err(Failed::usage(format!(
            "--http {address}: others could read this worker's metrics without credentials. Add --http-token-file FILE with the \
             token that they are to show; or write --insecure on a network where everybody may do everything"
        )));
    }
    Ok(Door::open())
}

/// A worker's door for other workers, and what it needs to come in at theirs. TLS where the coordinator has it.
pub(super) fn worker_door(args: &WorkerArgs, coordinator: &str) -> Result<(Door, Option<RunGuard>), Failed> {
    if coordinator.starts_with("https://") {
        let Some(file) = &args.pass.token_file else {
            // The check of the caller's side says what to do.
            return args.pass.access().pass(coordinator).map(|_| (Door::open(), None)).map_err(Failed::from);
        };
        let (identity, token) = (Identity::self_signed().map_err(usage)?, Secret::read(file).map_err(usage)?);
        let tokens = Tokens::default().with(Role::Worker, &token).map_err(usage)?;
        let guard = RunGuard { fingerprint: identity.fingerprint(), token };
        return Ok((Door::guarded(&identity, tokens).map_err(usage)?, Some(guard)));
    }
    if args.insecure {
        tracing::warn!(
            "--insecure: anybody who reaches this worker's port can read its runs, and nothing is encrypted"
        );
    } else if !is_local(coordinator) {
        return Err(Failed::usage(format!(
            "--coordinator {coordinator}: it is beyond this machine, and http:// has no TLS. Write https:// with --fingerprint \
             and --token-file, as the coordinator prints them; or --insecure on a network where everybody may do everything"
        )));
    } else if !args.listen.ip().is_loopback() {
        return Err(Failed::usage(format!(
            "--listen {}: others could read this worker's runs, and without a coordinator that speaks TLS there are no \
             credentials. Start the coordinator with --tls-init; or write --insecure on a network where everybody may do \
             everything",
            args.listen
        )));
    }
    Ok((Door::open(), None))
}
