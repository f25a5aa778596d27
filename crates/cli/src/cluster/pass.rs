//! What a caller knows of its coordinator, and shows to it: from the command line, checked against the URL.

use keima_cluster::{Pass, Secret, Trust};

use crate::args::PassArgs;
use crate::exit::Failed;

/// The fingerprint that was typed; an empty one is none, as in a compose file.
fn fingerprint(args: &PassArgs) -> Option<&str> {
    args.fingerprint.as_deref().filter(|text| !text.trim().is_empty())
}

fn usage(error: impl std::fmt::Display) -> Failed {
    Failed::usage(error.to_string())
}

/// What is brought to a coordinator at `url`. TLS needs somebody to trust and a token; plain text takes neither, so that no
/// secret ever travels openly and nobody believes to be safe who is not.
pub(super) fn pass(args: &PassArgs, url: &str) -> Result<Pass, Failed> {
    if !url.starts_with("https://") {
        let typed = [
            ("--fingerprint", fingerprint(args).is_some()),
            ("--tls-ca", args.tls_ca.is_some()),
            ("--token-file", args.token_file.is_some()),
        ];
        return match typed.iter().find(|(_, is_typed)| *is_typed) {
            None => Ok(Pass::none()),
            Some((option, _)) => Err(Failed::usage(format!(
                "{option} is for TLS, and --coordinator {url} is plain text: write https:// if the coordinator speaks TLS, or \
                 leave {option} (and its variable, see --help) away"
            ))),
        };
    }
    let trust = match (fingerprint(args), &args.tls_ca) {
        (Some(text), None) => Trust::fingerprint(text.parse().map_err(usage)?),
        (None, Some(file)) => Trust::authority(file),
        (Some(_), Some(_)) => {
            return Err(Failed::usage("--fingerprint and --tls-ca exclude each other: give one of them"));
        }
        (None, None) => {
            return Err(Failed::usage(format!(
                "--coordinator {url}: TLS needs to know the coordinator: add --fingerprint SHA256, which the coordinator prints \
                 at its start, or --tls-ca FILE with the CA of its certificate"
            )));
        }
    };
    let token = args.token_file.as_ref().ok_or_else(|| {
        Failed::usage(format!(
            "--coordinator {url}: add --token-file FILE with the token of your role: reader.token, client.token or worker.token \
             of the coordinator's folder tls"
        ))
    })?;
    Ok(Pass::new(trust.map_err(usage)?, Secret::read(token).map_err(usage)?))
}
