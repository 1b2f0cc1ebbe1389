//! Connections that cannot be set up, and the line that says why.

use crate::kit::{Client, Ended, HANG, PROGRAM, Peer, outcome, run};
use socket2::{Domain, Socket, Type};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;

/// A port on which nobody listens.
fn closed_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// A listener that accepts nothing more, and whatever fills its backlog.
pub(crate) struct FullBacklog {
    pub(crate) address: SocketAddr,
    _listener: Socket,
    _waiting: Vec<Socket>,
}

/// The kernel ignores further connects to it: they stay without an answer.
pub(crate) fn full_backlog() -> FullBacklog {
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    listener.bind(&any.into()).unwrap();
    listener.listen(1).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let waiting = (0..8)
        .map(|_| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            socket.set_nonblocking(true).unwrap();
            let _ = socket.connect(&address.into());
            socket
        })
        .collect();
    FullBacklog { address, _listener: listener, _waiting: waiting }
}

fn one_error_line(ended: &Ended, code: i32) -> String {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    assert_eq!(ended.stdout, "", "{ended:?}");
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines[0].to_owned()
}

#[test]
fn a_port_without_a_server_is_named_with_the_reason() {
    let address = closed_port();
    for clients in [1, 30, 1000] {
        let ended = Client::start(&format!("--server {address} --clients {clients}")).end();
        let line = one_error_line(&ended, 69);
        assert!(line.contains(&address.to_string()), "{line}");
        assert!(line.contains("Connection refused (os error 111)"), "{line}");
        assert!(line.contains(&format!("of {clients} connections")), "{line}");
    }
}

#[test]
fn a_name_that_cannot_be_resolved_is_named() {
    let ended = Client::start("--server no-such-host.invalid:7000").end();
    let line = one_error_line(&ended, 69);
    assert!(line.contains("no-such-host.invalid"), "{line}");
}

#[test]
fn a_server_that_accepts_nothing_ends_in_the_connect_timeout() {
    let full = full_backlog();
    let arguments = format!("--server {} --connect-timeout 300ms --clients 3", full.address);
    let line = one_error_line(&Client::start(&arguments).end(), 69);
    assert!(line.contains("no answer within 300ms"), "{line}");
}

#[test]
fn the_next_address_of_a_name_is_tried() {
    // Where the name has two addresses, the peer listens on one of them only.
    let peer = Peer::echo();
    let port = peer.address.port();
    let arguments =
        format!("--server localhost:{port} --server-stats off --format json -n 20 --clients 4");
    let ended = Client::start(&arguments).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(outcome(&ended.json(), "ok"), 20);
}

#[test]
fn many_connections_are_set_up_before_the_clock_starts() {
    let peer = Peer::echo();
    let json = run(&peer, "-n 2000 --clients 600 --workers 2").json();
    assert_eq!(outcome(&json, "ok"), 2000);
    assert_eq!(json["connect_us"]["count"], 600);
    assert!(json["connect_us"]["p50"].as_f64().unwrap() > 0.0);
}

fn with_file_limit(limit: &str, arguments: &str) -> Ended {
    let script = format!("ulimit {limit}; exec \"$0\" {arguments}");
    Client::spawn(Command::new("sh").args(["-c", &script, PROGRAM])).end()
}

#[test]
fn too_few_open_files_are_named_with_limit_and_need() {
    let ended = with_file_limit("-n 20", "--clients 100");
    let line = one_error_line(&ended, 71);
    assert!(line.contains("100 connections need about 1"), "{line}");
    assert!(line.contains("the limit is 20"), "{line}");
}

#[test]
fn a_soft_limit_on_open_files_is_raised() {
    let peer = Peer::echo();
    let arguments = format!("--server {} --server-stats off -n 100 --clients 60", peer.address);
    let ended = with_file_limit("-S -n 24", &arguments);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn the_client_itself_sends_without_delay() {
    // 41 ms a call is what Nagle's algorithm and delayed acknowledgements make together.
    let peer = Peer::echo();
    for payload in [0, 128, 4096, 20_480] {
        let json = run(&peer, &format!("-n 200 --clients 1 --payload {payload}")).json();
        let median = json["latency_us"]["p50"].as_f64().unwrap();
        assert!(median < 20_000.0, "payload {payload}: {median} us");
    }
}

/// Keeps a connection that the kernel answers by itself from being taken for a server.
#[test]
fn a_connection_to_itself_is_no_server() {
    let address = closed_port();
    let tries = 64;
    for _ in 0..tries {
        // Rarely the kernel picks the same port for both ends; then this must not pass.
        if TcpStream::connect_timeout(&address, HANG).is_ok() {
            continue;
        }
        let ended = Client::start(&format!("--server {address} --clients 2")).end();
        assert_eq!(ended.code, Some(69), "{ended:?}");
        return;
    }
    panic!("the port was taken by itself {tries} times");
}

#[test]
fn a_target_elsewhere_is_warned_about() {
    // A documentation address that no route leads to, or that does not answer in time.
    let ended = Client::start("--server 192.0.2.1:9 --connect-timeout 50ms --clients 1").end();
    assert_eq!(ended.code, Some(69), "{ended:?}");
    assert!(ended.stderr.contains("warning: 192.0.2.1:9 is not this host"), "{ended:?}");
    let quiet = Client::start(&format!("--server {}", closed_port())).end();
    assert!(!quiet.stderr.contains("warning"), "{quiet:?}");
}
