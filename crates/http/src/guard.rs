//! Who may read, and what every answer says to browsers.
//!
//! ```text
//!   health                       anybody
//!   everything else              readers and clients; without credentials of its own, whoever reaches the port
//!   a stranger                   401 after REFUSAL_WAIT, and the connection closes
//!   a name that is not local     421 where only this machine may come in: else a page from elsewhere could read this one
//!                                through the reader's own browser, by a name of its own that leads to 127.0.0.1
//! ```

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use keima_cluster::{Door, Role, Visitor};

/// Wait before the answer to a call without credentials.
const REFUSAL_WAIT: Duration = Duration::from_millis(500);
/// What anybody may ask.
const HEALTH: [&str; 2] = ["/healthz", "/readyz"];
/// What browsers are told beside the content security policy of the page.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Who may come in.
pub(crate) struct Guard {
    pub(crate) door: Door,
    /// Nobody has credentials, and the port is on loopback: the only names are those of this machine.
    pub(crate) local: bool,
}

/// Stands before all routes.
pub(crate) async fn judge(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut answer = match refused(&guard, &request) {
        None => next.run(request).await,
        Some(refusal) => {
            if refusal.status() == StatusCode::UNAUTHORIZED {
                tokio::time::sleep(REFUSAL_WAIT).await;
            }
            refusal
        }
    };
    for (name, value) in HEADERS {
        answer.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    // A page that runs nothing and shows nothing from elsewhere says so itself; no other answer may do anything.
    let nothing = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    answer.headers_mut().entry(header::CONTENT_SECURITY_POLICY).or_insert(nothing);
    answer
}

pub(crate) fn refused(guard: &Guard, request: &Request) -> Option<Response> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let text = "nothing can be changed here; use the keima program\n";
        return Some((StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, HEAD")], text).into_response());
    }
    if guard.local && !is_local(request.headers()) {
        let text = "only names of this machine lead here: localhost, 127.0.0.1 or [::1]\n";
        return Some((StatusCode::MISDIRECTED_REQUEST, text).into_response());
    }
    if HEALTH.contains(&request.uri().path()) {
        return None;
    }
    match guard.door.visitor(token(request.headers()).as_deref()) {
        Visitor::Anybody | Visitor::Known(Role::Reader | Role::Client) => None,
        Visitor::Known(Role::Worker) => {
            let text = "this is for a reader or a client, and this token makes its bearer a worker; use reader.token\n";
            Some((StatusCode::FORBIDDEN, text).into_response())
        }
        Visitor::Stranger => {
            let text = "show the token of a reader: `Authorization: Bearer TOKEN`, or in a browser any name and the \
                        token as password; it stands in reader.token of the coordinator's folder tls, or in the file of a worker's \
                        --http-token-file\n";
            let mut answer = Response::new(Body::from(text));
            *answer.status_mut() = StatusCode::UNAUTHORIZED;
            let headers = answer.headers_mut();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
            headers
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"keima\", charset=\"UTF-8\""));
            headers.append(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"keima\""));
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            Some(answer)
        }
    }
}

/// The token that a request shows: a bearer's, or the password of a browser.
fn token(headers: &HeaderMap) -> Option<Vec<u8>> {
    let (scheme, shown) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(shown.trim().as_bytes().to_vec());
    }
    let pair = STANDARD.decode(shown.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
    let colon = pair.iter().position(|&byte| byte == b':')?;
    pair.get(colon + 1..).map(<[u8]>::to_vec)
}

/// Whether the request names this machine by a name that no other machine has.
fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or("", |(name, _)| name),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine() {
        let check = |host: &str, local: bool| {
            let headers: HeaderMap = [(header::HOST, HeaderValue::from_str(host).unwrap())].into_iter().collect();
            assert_eq!(is_local(&headers), local, "{host:?}");
        };
        for host in ["localhost", "LOCALHOST:1", "127.0.0.1:7780", "127.8.0.1", "[::1]:7780", "[::1]"] {
            check(host, true);
        }
        for host in
            ["", "example.org", "localhost.example.org", "10.0.0.1:7780", "[::2]", "[::1", "127.0.0.1.example.org"]
        {
            check(host, false);
        }
        assert!(!is_local(&HeaderMap::new()));
    }

    #[test]
    fn tokens_of_bearers_and_browsers() {
        let check = |value: &str, expected: Option<&str>| {
            let value = HeaderValue::from_str(value).unwrap();
            let headers: HeaderMap = [(header::AUTHORIZATION, value.clone())].into_iter().collect();
            assert_eq!(token(&headers).as_deref(), expected.map(str::as_bytes), "{value:?}");
        };
        check("Bearer abc", Some("abc"));
        check("bearer  abc ", Some("abc"));
        check(&format!("Basic {}", STANDARD.encode("me:a:b")), Some("a:b"));
        check(&format!("basic {}", STANDARD.encode(":abc")), Some("abc"));
        for nonsense in ["", "Bearer", "Basic", "Basic !", "Digest abc"] {
            check(nonsense, None);
        }
        check(&format!("Basic {}", STANDARD.encode("abc")), None);
    }
}
