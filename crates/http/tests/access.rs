//! Who may read what, over TLS.

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{Answer, Host, ask, over, text};
use keima_cluster::{Door, Identity, Role, Tokens, certificate_files, make_tls_folder, tls_folder, token_file};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

fn door(folder: &Path) -> Door {
    let (certificate, key) = certificate_files(folder);
    Door::guarded(&Identity::read(&certificate, &key).unwrap(), Tokens::read(folder).unwrap()).unwrap()
}

/// A caller's TLS that trusts the folder's CA.
fn trusting(folder: &Path) -> TlsConnector {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.join("ca.pem")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    TlsConnector::from(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

async fn asked(host: &Host, tls: &TlsConnector, path: &str, shown: &str) -> Answer {
    let stream = TcpStream::connect(host.at).await.unwrap();
    let stream = tls.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{shown}\r\n");
    over(stream, &request).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_as_every_role() {
    let dir = tempfile::tempdir().unwrap();
    make_tls_folder(dir.path(), &["localhost".to_owned()]).unwrap();
    let folder = tls_folder(dir.path());
    let (host, tls) = (Host::start(door(&folder)).await, trusting(&folder));
    host.handle.submit(common::go("3x3")).await.unwrap();
    let token = |role| text(&token_file(&folder, role));
    let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
    // `:` and the token, in base 64; by hand, for the tokens are hex.
    let basic = |token: &str| format!("Authorization: Basic {}\r\n", base64(&format!("me:{token}")));
    let (reader, client, worker) = (token(Role::Reader), token(Role::Client), token(Role::Worker));
    let strangers =
        [String::new(), bearer("x"), bearer(&reader[1..]), basic("x"), "Authorization: Basic\r\n".to_owned()];
    let pages = [
        "/",
        "/jobs",
        "/jobs/j1",
        "/api/v1/jobs",
        "/api/v1/jobs/j1",
        "/api/v1/jobs/j1/values",
        "/api/v1/workers",
        "/api/v1/events",
        "/metrics",
    ];
    let rest = ["/api/v1/openapi.json", "/nothing"];
    for path in pages.into_iter().chain(rest) {
        let fine = if path == "/nothing" { 404 } else { 200 };
        for shown in [bearer(&reader), basic(&reader), bearer(&client), basic(&client)] {
            assert_eq!(asked(&host, &tls, path, &shown).await.code, fine, "{path}");
        }
        let refused = asked(&host, &tls, path, &bearer(&worker)).await;
        assert_eq!(refused.code, 403, "{path}");
        assert!(refused.body.contains("reader.token") && !refused.body.contains(&worker), "{refused:?}");
        let refused = asked(&host, &tls, path, "").await;
        assert_eq!(refused.code, 401, "{path}");
        assert!(refused.header("www-authenticate").unwrap().starts_with("Basic realm=\"keima\""), "{refused:?}");
        assert!(!refused.body.contains("j1"), "{refused:?}");
    }
    for shown in &strangers {
        assert_eq!(asked(&host, &tls, "/api/v1/jobs", shown).await.code, 401, "{shown:?}");
        for path in ["/healthz", "/readyz"] {
            assert_eq!(asked(&host, &tls, path, shown).await.code, 200, "{path}");
        }
    }
    // Plain text has no answer here.
    let plain = tokio::spawn(ask(host.at, "GET", "/healthz", "")).await;
    assert!(plain.is_err(), "{plain:?}");
    host.handle.close();
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in text.as_bytes().chunks(3) {
        let bits = three.iter().chain([&0, &0]).take(3).fold(0_u32, |bits, &byte| bits << 8 | u32::from(byte));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize] as char;
            out.push(if place > three.len() { '=' } else { digit });
        }
    }
    out
}
