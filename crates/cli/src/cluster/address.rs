//! Addresses that services listen on, and under which others reach them.

use std::io::ErrorKind;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::time::Duration;

use tokio::net::TcpListener;

use crate::exit::Failed;

/// Time between two looks for a route to a coordinator.
const REACHABLE_INTERVAL: Duration = Duration::from_secs(1);

/// Listens on `address`. The second value is the address with the port that was taken.
pub(super) async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Failed> {
    let failed = |error: std::io::Error| {
        let advice = match error.kind() {
            ErrorKind::AddrInUse => {
                "another program listens there; choose another port with --listen, or port 0 for any free one"
            }
            ErrorKind::AddrNotAvailable => {
                "this machine does not have that address; use one of its own, or 0.0.0.0 for all of them"
            }
            ErrorKind::PermissionDenied => "ports below 1024 need privileges; choose a higher port",
            _ => "choose another address with --listen",
        };
        Failed::other(format!("cannot listen on {address}: {error}; {advice}"))
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// The address under which others reach a service that listens on `bound`. For 0.0.0.0 it is the address of this machine
/// that leads to `peer`. `None` while `peer` has no address of the same family.
fn reachable(bound: SocketAddr, peer: &str) -> Option<SocketAddr> {
    if !bound.ip().is_unspecified() {
        return Some(bound);
    }
    let host = peer.split_once("://").map_or(peer, |(_, rest)| rest);
    let host = host.split('/').next()?;
    // Without a port it is that of HTTP.
    let mut peers = host.to_socket_addrs().or_else(|_| (host, 80).to_socket_addrs()).ok()?;
    let peer = peers.find(|a| a.is_ipv4() == bound.is_ipv4())?;
    let any: SocketAddr = if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    // Connecting a datagram socket sends nothing; it only chooses the interface.
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(peer).ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_unspecified()).then(|| SocketAddr::new(ip, bound.port()))
}

/// Waits for [`reachable`]: a worker may start before the name of its coordinator resolves, and it keeps the address that
/// it announces for life. `None` if the process is asked to stop first.
pub(super) async fn once_reachable(
    bound: SocketAddr,
    peer: &str,
    stop: &mut (impl Future<Output = ()> + Unpin),
) -> Option<SocketAddr> {
    let mut told = false;
    loop {
        if let Some(address) = reachable(bound, peer) {
            return Some(address);
        }
        if !std::mem::replace(&mut told, true) {
            tracing::warn!(
                "found no route from {bound} to the coordinator at {peer}, so this worker does not know its own address; \
                 trying again (--advertise URL sets the address)"
            );
        }
        tokio::select! {
            () = tokio::time::sleep(REACHABLE_INTERVAL) => {}
            () = &mut *stop => return None,
        }
    }
}

/// The URL of a service that listens on `bound`, for a line that people copy to other machines. For 0.0.0.0 it has the
/// name of this machine.
pub(super) fn shown_url(bound: SocketAddr) -> String {
    if !bound.ip().is_unspecified() {
        return format!("http://{bound}");
    }
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = if name.trim().is_empty() { "localhost" } else { name.trim() };
    format!("http://{name}:{}", bound.port())
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
