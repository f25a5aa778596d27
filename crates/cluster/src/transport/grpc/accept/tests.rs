//! Which connections are taken, which are closed, and how many.

use tokio_stream::StreamExt as _;

use super::*;

const GREETING: &[u8; GREETING_BYTES] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#[test]
fn limits_follow_the_open_files() {
    let text = |soft: &str| format!("Max cpu time  unlimited\nMax open files            {soft}      1048576   files\n");
    for (limits, files) in
        [(text("256"), 256), (text("1024"), 1024), (text("unlimited"), usize::MAX), (String::new(), USUAL_FILES)]
    {
        assert_eq!(open_files(&limits), files, "{limits}");
    }
    assert_eq!(Limits::of(256, 75), Limits { most: 192, strangers: 48 });
    assert_eq!(Limits::of(0, 75), Limits { most: 8, strangers: 2 });
}

/// However many connections stay strangers, silent or greeting, one whose call is admitted gets in and stays, also where its
/// greeting comes in two parts. One over the limit is closed, and there is room again when another is closed.
#[tokio::test]
async fn strangers_keep_nobody_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut incoming = incoming(listener, None, Limits { most: 8, strangers: 2 });
    let mut strangers = Vec::new();
    for number in 0..30 {
        let mut peer = TcpStream::connect(address).await.unwrap();
        if number % 2 == 0 {
            peer.write_all(GREETING).await.unwrap();
        }
        strangers.push(peer);
    }
    let mut open = Vec::new();
    let mut shut = tokio::task::JoinSet::new();
    while open.len() < 6 {
        let mut peer = TcpStream::connect(address).await.unwrap();
        let (begin, end) = GREETING.split_at(open.len() * 4);
        peer.write_all(begin).await.unwrap();
        tokio::task::yield_now().await;
        peer.write_all(end).await.unwrap();
        let from = peer.local_addr().unwrap();
        loop {
            let mut connection = incoming.next().await.unwrap().unwrap();
            let Stream::Plain(stream) = &connection.stream else { panic!("no TLS was asked for") };
            if stream.peer_addr().unwrap() == from {
                connection.caller.admit();
                assert!(std::future::poll_fn(|cx| Poll::Ready(connection.check(cx))).await.is_ok());
                open.push((connection, peer));
                break;
            }
            // A stranger that has greeted. Its connection is shut to make room.
            shut.spawn(async move {
                std::future::poll_fn(|cx| connection.check(cx).map_or(Poll::Ready(()), |()| Poll::Pending)).await;
            });
        }
    }
    assert!(!shut.is_empty());
    let all_shut = async { while shut.join_next().await.is_some() {} };
    tokio::time::timeout(ADMISSION_WAIT * 3, all_shut).await.unwrap();
    drop(strangers);
    // Six stay open. Two more fit, and what comes then is closed.
    let mut extra = Vec::new();
    for _ in 0..2 {
        let mut peer = TcpStream::connect(address).await.unwrap();
        peer.write_all(GREETING).await.unwrap();
        let connection = incoming.next().await.unwrap().unwrap();
        connection.caller.admit();
        extra.push((connection, peer));
    }
    let mut closed = TcpStream::connect(address).await.unwrap();
    assert!(matches!(closed.read(&mut [0]).await, Ok(0) | Err(_)));
    drop(extra.pop());
    let mut peer = TcpStream::connect(address).await.unwrap();
    peer.write_all(GREETING).await.unwrap();
    incoming.next().await.unwrap().unwrap();
}
