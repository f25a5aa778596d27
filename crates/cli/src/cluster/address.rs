//! Addresses that services listen on, and under which others reach them.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::time::Duration;

use keima_cluster::service_url;
use tokio::net::TcpListener;

use crate::exit::Failed;
use crate::machine::asked_to_stop;

/// Time between two looks for a route to a coordinator.
const REACHABLE_INTERVAL: Duration = Duration::from_secs(1);
/// Time between two looks whether this machine still has the address that it announced.
const MOVED_INTERVAL: Duration = Duration::from_secs(2);

/// The URL that an option names, of HTTPS or HTTP. Other schemes, and addresses without a host, are refused.
pub(super) fn url(option: &str, address: &str) -> Result<String, Failed> {
    service_url(address).map_err(|error| Failed::usage(format!("{option} {error}")))
}

/// Listens on `address`. The second value is the address with the port that was taken.
pub(super) async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Failed> {
    listen_as("--listen", address).await
}

/// The same for pages and metrics.
pub(super) async fn listen_http(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Failed> {
    listen_as("--http", address).await
}

async fn listen_as(option: &str, address: SocketAddr) -> Result<(TcpListener, SocketAddr), Failed> {
    let failed = |error: std::io::Error| {
        let advice = match error.kind() {
            ErrorKind::AddrInUse => {
                format!("another program listens there; choose another port with {option}, or port 0 for any free one")
            }
            ErrorKind::AddrNotAvailable => {
                "this machine does not have that address; use one of its own, or 0.0.0.0 or [::] for all of them"
                    .to_owned()
            }
            ErrorKind::PermissionDenied => "ports below 1024 need privileges; choose a higher port".to_owned(),
            _ => format!("choose another address with {option}"),
        };
        Failed::other(format!("cannot listen on {address}: {error}; {advice}"))
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// Whether a socket that listens on `[::]` takes IPv4 as well, as Linux has it unless an administrator says otherwise.
fn ipv6_takes_ipv4() -> bool {
    std::fs::read_to_string("/proc/sys/net/ipv6/bindv6only").is_ok_and(|only| only.trim() == "0")
}

/// The address of this machine that leads to `peer`.
fn towards(peer: SocketAddr) -> Option<IpAddr> {
    let any: SocketAddr = if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    // Connecting a datagram socket sends nothing; it only chooses the interface.
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(peer).ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|ip| !ip.is_unspecified())
}

/// The addresses of this machine that lead to other networks.
pub(super) fn outgoing() -> Vec<IpAddr> {
    // Addresses for documentation; nothing is sent to them.
    let elsewhere: [SocketAddr; 2] = [([192, 0, 2, 1], 9).into(), ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 9).into()];
    elsewhere.into_iter().filter_map(towards).collect()
}

/// The address under which others reach a service that listens on `bound`. For 0.0.0.0 and [::] it is the address of this
/// machine that leads to `peer`. `None` while no address of `peer` has a route and a family that `bound` takes.
fn reachable(bound: SocketAddr, peer: &str) -> Option<SocketAddr> {
    if !bound.ip().is_unspecified() {
        return Some(bound);
    }
    let host = peer.split_once("://").map_or(peer, |(_, rest)| rest);
    let host = host.split('/').next()?;
    // Without a port it is that of HTTP.
    let peers: Vec<_> = host.to_socket_addrs().or_else(|_| (host, 80).to_socket_addrs()).ok()?.collect();
    let own_family = peers.iter().filter(|peer| peer.is_ipv4() == bound.is_ipv4());
    let other_family = peers.iter().filter(|peer| peer.is_ipv4() && bound.is_ipv6() && ipv6_takes_ipv4());
    own_family.chain(other_family).find_map(|peer| towards(*peer)).map(|ip| SocketAddr::new(ip, bound.port()))
}

/// Waits for [`reachable`]: a worker may start before the name of its coordinator resolves. `None` if the process is asked to stop first.
pub(super) async fn once_reachable(bound: SocketAddr, peer: &str) -> Option<SocketAddr> {
    let mut told = false;
    loop {
        if let Some(address) = reachable(bound, peer) {
            return Some(address);
        }
        if !std::mem::replace(&mut told, true) {
            tracing::warn!(
                "found no route from {bound} to the coordinator at {peer}, so this worker does not know its own address; \
                 trying again (--advertise URL sets the address; for a coordinator with IPv6 alone, listen on [::]:PORT)"
            );
        }
        tokio::select! {
            () = tokio::time::sleep(REACHABLE_INTERVAL) => {}
            () = asked_to_stop() => return None,
        }
    }
}

/// The address that a service has now, if this machine has lost the one that it announced.
fn moved(announced: SocketAddr, bound: SocketAddr, peer: &str) -> Option<SocketAddr> {
    if UdpSocket::bind(SocketAddr::new(announced.ip(), 0)).is_ok() {
        return None;
    }
    reachable(bound, peer).filter(|now| now.ip() != announced.ip())
}

/// Waits until this machine has another address towards `peer` than the one that was announced, as after a new lease of DHCP
/// or when a container is connected again. A cut, or a second route, is no move. Costs two system calls every few seconds.
pub(super) async fn once_moved(announced: SocketAddr, bound: SocketAddr, peer: &str) -> SocketAddr {
    let mut seen = None;
    loop {
        tokio::time::sleep(MOVED_INTERVAL).await;
        let peer = peer.to_owned();
        // Asking for the name of a host blocks.
        let now = tokio::task::spawn_blocking(move || moved(announced, bound, &peer)).await.ok().flatten();
        match now {
            // Twice the same: an address that only comes by is not announced.
            Some(now) if seen == Some(now) => return now,
            _ => seen = now,
        }
    }
}

/// The URL of a service that listens on `bound`, for a line that people copy to other machines. For 0.0.0.0 it has the
/// name of this machine.
pub(super) fn shown_url(scheme: &str, bound: SocketAddr) -> String {
    if !bound.ip().is_unspecified() {
        return format!("{scheme}://{bound}");
    }
    format!("{scheme}://{}:{}", host_name(), bound.port())
}

/// The name of this machine.
pub(super) fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "localhost".to_owned() } else { name.trim().to_owned() }
}

/// Whether a URL stays on this machine, as far as its text tells.
pub(super) fn is_local(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_on_this_machine() {
        for (url, expected) in [
            ("http://127.0.0.1:7700", true),
            ("http://127.9.8.7", true),
            ("http://[::1]:7700/", true),
            ("http://LocalHost:7700", true),
            ("http://head:7700", false),
            ("http://localhost.example:7700", false),
            ("http://127.0.0.1.example/", false),
            ("http://127.0.0.1@head:7700", false),
            ("http://0.0.0.0:7700", false),
            ("http://[::]:7700", false),
            ("http://head/127.0.0.1", false),
        ] {
            assert_eq!(is_local(url), expected, "{url}");
        }
    }

    #[test]
    fn a_machine_moves_where_it_has_lost_its_address() {
        let check = |announced: &str, peer: &str, expected: Option<&str>| {
            let got = moved(announced.parse().unwrap(), "0.0.0.0:7702".parse().unwrap(), peer);
            assert_eq!(got.map(|a| a.to_string()).as_deref(), expected, "{announced} towards {peer}");
        };
        // 192.0.2.1 is an address of documents, which no machine has.
        check("192.0.2.1:7702", "http://127.0.0.1:7700", Some("127.0.0.1:7702"));
        check("192.0.2.1:7702", "no host at all", None);
        check("127.0.0.1:7702", "http://127.0.0.1:7700", None);
        // Another route, but the address is there.
        check("127.0.0.5:7702", "http://127.0.0.1:7700", None);
    }

    #[test]
    fn an_address_leads_somewhere_or_is_not_known() {
        let check = |bound: &str, peer: &str, expected: Option<&str>| {
            let got = reachable(bound.parse().unwrap(), peer).map(|address| address.to_string());
            assert_eq!(got.as_deref(), expected, "{bound} towards {peer}");
        };
        check("127.0.0.1:7702", "http://127.0.0.1:7700", Some("127.0.0.1:7702"));
        check("127.0.0.1:7702", "no host at all", Some("127.0.0.1:7702"));
        check("0.0.0.0:7702", "http://127.0.0.1:7700", Some("127.0.0.1:7702"));
        check("0.0.0.0:7702", "http://127.0.0.1/", Some("127.0.0.1:7702"));
        check("0.0.0.0:7702", "no host at all", None);
        // No address of the family that the worker listens on.
        check("0.0.0.0:7702", "http://[::1]:7700", None);
        // [::] takes both.
        check("[::1]:7702", "http://127.0.0.1:7700", Some("[::1]:7702"));
        if ipv6_takes_ipv4() {
            check("[::]:7702", "http://127.0.0.1:7700", Some("127.0.0.1:7702"));
            check("[::]:7702", "http://[::1]:7700", Some("[::1]:7702"));
        }
    }
}
