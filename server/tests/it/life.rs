//! The life of the process: start, stop, drain, and the ends in between.

use crate::kit::{
    Canary, Inside, Peer, Server, Tricky, arguments, call_frame, command, config, pass, payload,
    timed, until,
};
use echo_common::wire::native::Status;
use rustix::process::Signal;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A connect must be refused, not taken and dropped.
fn refused(address: SocketAddr) -> bool {
    let error = TcpStream::connect_timeout(&address, ms(1000)).err();
    error.is_some_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
}

#[test]
fn l11_a48_a_stop_at_any_moment_after_the_listening_line_ends_well_and_soon() {
    for readers in ["1", "2", "10"].iter().cycle().take(30) {
        let server = Server::start(&[("--readers", readers)]);
        let (ended, took) = timed(|| server.stop());
        assert!(took < Duration::from_secs(5), "an idle server took {took:?} to end");
        ended.check(&[("calls", 0), ("drain_cut", 0)]);
    }
}

#[test]
fn a48_a_stop_with_idle_connections_ends_them_and_itself_soon() {
    let server = Server::start(&[]);
    let mut peers: Vec<Peer> = (0..50).map(|_| Peer::open(server.address)).collect();
    peers.iter_mut().step_by(2).for_each(|peer| peer.echo(1, 10));
    let mut half = Peer::open(server.address);
    half.echo(1, 10);
    half.send(&call_frame(2, &[1; 100_000])[..50_000]);
    server.signal(Signal::TERM);
    peers.iter_mut().for_each(Peer::expect_end);
    half.expect_end();
    drop((peers, half));
    let (ended, took) = timed(|| server.wait());
    assert!(took < Duration::from_secs(3), "{took:?} without anything to drain");
    assert_eq!(ended.code, Some(0));
    ended.check(&[("drain_cut", 0), ("frame_timeouts", 0)]);
}

#[test]
fn l01_a67_what_was_read_before_the_stop_is_answered_and_every_reply_counted_arrives() {
    for changes in [&[][..], &[("--handlers", "0")], &[("--queue-capacity", "8")]] {
        let server = Server::start(changes);
        let address = server.address;
        let clients: Vec<_> = (0..30u64)
            .map(|who| {
                thread::spawn(move || {
                    let mut peer = Peer::open(address);
                    let mut sender = peer.share();
                    let bytes = call_frame(who, &payload(who, 300)).repeat(16);
                    peer.send(&bytes);
                    let mut answered = 0u64;
                    while let Some(frame) = peer.frame() {
                        assert_eq!(frame.payload, payload(who, 300));
                        answered += 1;
                        // Sixteen in flight; after the stop nobody takes them any more.
                        let _ = sender.stream.write_all(&bytes[..bytes.len() / 16]);
                    }
                    answered
                })
            })
            .collect();
        until("it is under load", || server.stats()["calls"].as_u64() > Some(3000));
        server.signal(Signal::TERM);
        until("new connects are refused", || refused(address));
        let ended = server.wait();
        let answered: u64 = clients.into_iter().map(|client| client.join().expect("fine")).sum();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let stats = ended.counter("stats_calls");
        assert_eq!(ended.counter("calls"), answered, "calls read and replies that arrived");
        assert_eq!(ended.counter("replies"), answered + stats, "replies counted as sent");
        ended.check(&[("replies_undeliverable", 0), ("drain_cut", 0)]);
    }
}

/// A server that has a peer to drain which never reads.
fn with_a_peer_to_drain(changes: &[(&str, &str)]) -> (Server, Peer) {
    let stall = [("--write-stall-timeout", "off"), ("--send-buffer", "16KiB")];
    let server = Server::start(&[changes, &stall].concat());
    let mut peer = Peer::narrow(server.address, 4096);
    peer.send_until_full(&call_frame(1, &payload(1, 500_000)).repeat(6), ms(300));
    until("it owes", || server.stats()["limits"]["reading_paused"] != 0);
    (server, peer)
}

#[test]
fn the_drain_ends_at_its_limit_whatever_is_owed() {
    let (server, peer) = with_a_peer_to_drain(&[("--drain-timeout", "300ms")]);
    let (ended, took) = timed(|| server.stop());
    assert!((ms(300)..ms(5000)).contains(&took), "{took:?} for a drain of 300 ms");
    ended.check(&[("drain_cut", 1)]);
    drop(peer);
}

#[test]
fn what_is_owed_leaves_during_the_drain_when_the_peer_reads_at_last() {
    let (server, mut peer) = with_a_peer_to_drain(&[("--drain-timeout", "20s")]);
    server.signal(Signal::TERM);
    until("new connects are refused", || refused(server.address));
    let mut answered = 0;
    while let Some(frame) = peer.frame() {
        assert!(frame.payload == payload(1, 500_000));
        answered += 1;
    }
    drop(peer);
    let ended = server.wait();
    assert_eq!((ended.code, ended.counter("calls")), (Some(0), answered));
    ended.check(&[("drain_cut", 0), ("replies_undeliverable", 0)]);
}

#[test]
fn l03_a_second_signal_leaves_at_once() {
    for (second, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let (server, _peer) = with_a_peer_to_drain(&[("--drain-timeout", "60s")]);
        server.signal(Signal::INT);
        until("it drains", || refused(server.address));
        let (ended, took) = timed(|| {
            server.signal(second);
            server.wait()
        });
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(took < Duration::from_secs(3), "{took:?} after the second signal");
    }
}

/// The stats line subtracted the CPU times of readers that had ended, whose times are gone: an
/// overflow in the middle of the drain.
#[test]
fn stats_lines_go_on_while_threads_end_one_by_one() {
    let more = [("--drain-timeout", "1200ms"), ("--stats", "100ms"), ("--readers", "4")];
    let (server, _peer) = with_a_peer_to_drain(&more);
    until("every reader has used CPU", || {
        let stats = server.stats();
        let mut readers = stats["readers"].as_array().expect("readers").iter();
        readers.all(|reader| reader["cpu_ns"].as_u64() > Some(0))
    });
    let ended = server.stop();
    let lines: Vec<_> = ended.lines.iter().filter(|line| line.contains("calls/s")).collect();
    assert!(lines.len() >= 5, "{ended:?}");
    for line in lines {
        let shares = line.split_whitespace().zip(line.split_whitespace().skip(1));
        for (share, _) in shares.filter(|(_, unit)| unit.starts_with('%')) {
            let share: f64 = share.parse().expect("a number");
            assert!(share < 500.0, "{share} % in {line}");
        }
    }
    ended.check(&[("drain_cut", 1)]);
}

/// The listener waited to hand a connection to a reader that waited for the call queue, and the
/// drain waited for the listener, without a limit.
#[test]
fn the_drain_limit_holds_while_the_listener_waits_for_a_reader() {
    let tricky = Tricky::new();
    let mut config = config(tricky.clone());
    (config.readers, config.handlers) = (1, 1);
    config.limits.queue_capacity = 1;
    config.limits.reader_inbox = 1;
    config.limits.drain_timeout = Some(ms(300));
    let server = Inside::start(config);
    let mut blocker = Peer::open(server.address);
    blocker.send(&[call_frame(1, b"hold"), call_frame(2, b"b"), call_frame(3, b"c")].concat());
    tricky.await_held(1);
    let _waiting: Vec<Peer> = (0..4).map(|_| Peer::open(server.address)).collect();
    until("the listener is stuck", || server.snapshots.take().connections_open >= 3);
    let (last, took) = timed(|| server.stop());
    assert!(took < Duration::from_secs(5), "the drain took {took:?}");
    assert!(last.limits["drain_cut"] >= 1);
    // The third call was still with the reader: it is told why, and the queue was not "full".
    blocker.expect_error(3, Status::Stopping);
    assert_eq!(last.limits["calls_rejected"], 0);
    tricky.open_gate();
}

#[test]
fn a_full_inbox_makes_the_listener_wait_and_nobody_is_lost() {
    let tricky = Tricky::new();
    let mut config = config(tricky.clone());
    (config.readers, config.handlers) = (1, 1);
    config.limits.queue_capacity = 1;
    config.limits.reader_inbox = 2;
    let server = Inside::start(config);
    let mut blocker = Peer::open(server.address);
    blocker.send(&[call_frame(1, b"hold"), call_frame(2, b"b"), call_frame(3, b"c")].concat());
    tricky.await_held(1);
    let mut waiting: Vec<Peer> = (0..20).map(|_| Peer::open(server.address)).collect();
    until("the listener waits", || server.snapshots.take().connections_open == 4);
    tricky.open_gate();
    waiting.iter_mut().for_each(|peer| peer.echo(1, 10));
    assert!(server.stop().limits["inbox_waits"] >= 1);
}

#[test]
fn calls_held_by_handlers_are_answered_during_the_drain() {
    let tricky = Tricky::new();
    let server = Inside::start(config(tricky.clone()));
    let mut peer = Peer::open(server.address);
    peer.send(&(0..50).flat_map(|id| call_frame(id, b"hold")).collect::<Vec<_>>());
    tricky.await_held(2);
    until("all are read", || server.snapshots.take().calls == 50);
    let address = server.address;
    server.begin_stop();
    until("new connects are refused", || refused(address));
    tricky.open_gate();
    for _ in 0..50 {
        assert_eq!(peer.frame().expect("a reply").payload, b"hold");
    }
    peer.expect_end();
    drop(peer);
    let last = server.end().expect("a good end");
    assert_eq!((last.calls, last.replies, last.limits["drain_cut"]), (50, 50, 0));
}

#[test]
fn a_handler_that_never_returns_does_not_keep_the_server_from_ending() {
    let tricky = Tricky::new();
    let mut config = config(tricky.clone());
    config.limits.drain_timeout = Some(ms(200));
    let server = Inside::start(config);
    let mut peer = Peer::open(server.address);
    peer.send(&[call_frame(1, b"hold"), call_frame(2, b"hold")].concat());
    tricky.await_held(2);
    let (last, took) = timed(|| server.stop());
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(last.limits["drain_cut"], 1);
    // Nobody waits for these two, but they are not forgotten either.
    assert_eq!((last.calls, last.replies, last.calls_in_server), (2, 0, 2));
    peer.expect_end();
    tricky.open_gate();
}

/// The drain waited without a limit for a handler whose call nobody waited for any more.
#[test]
fn the_drain_limit_holds_for_calls_whose_peer_has_gone() {
    let tricky = Tricky::new();
    let mut config = config(tricky.clone());
    config.limits.drain_timeout = Some(ms(200));
    let server = Inside::start(config);
    let mut peer = Peer::open(server.address);
    peer.send(&call_frame(1, b"hold"));
    tricky.await_held(1);
    peer.reset();
    until("its end was seen", || server.snapshots.take().connections_open == 0);
    let (last, took) = timed(|| server.stop());
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!((last.calls, last.calls_in_server, last.limits["drain_cut"]), (1, 1, 0));
    tricky.open_gate();
}

#[test]
fn l09_a_taken_port_is_told_with_its_address_and_not_shared() {
    let first = Server::start(&[]);
    let address = first.address.to_string();
    let second = arguments(&[("--listen", &address)]);
    let output = command(&second).output().expect("the server's binary");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(69), "{said}");
    assert!(said.contains(&address) && said.contains("in use"), "{said}");
    assert_eq!((said.lines().count(), output.stdout.len()), (1, 0), "{said}");
    Peer::open(first.address).echo(1, 10);
    first.stop();
}

#[test]
fn l10_a_server_that_was_killed_under_load_can_be_started_again_at_once() {
    let server = Server::start(&[]);
    let address = server.address;
    let mut peers: Vec<Peer> = (0..20).map(|_| Peer::open(address)).collect();
    for peer in &mut peers {
        peer.send_until_full(&call_frame(1, &payload(1, 10_000)).repeat(50), ms(5));
    }
    server.signal(Signal::KILL);
    assert_eq!(server.wait().code, None);
    let again = Server::start(&[("--listen", &address.to_string())]);
    assert_eq!(again.address, address);
    Peer::open(address).echo(1, 10);
    peers.iter_mut().for_each(|peer| drop(peer.rest()));
    again.stop();
}

#[test]
fn l12_a68_closed_outputs_are_no_reason_to_stop_or_to_panic() {
    // The address is not known: what shows that it runs is its stderr.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut blind = command(&arguments(&[]));
    let mut child = blind.stdout(writer).spawn().expect("the server's binary");
    drop(blind);
    let stderr = std::io::BufReader::new(child.stderr.take().expect("piped"));
    let mut lines = std::io::BufRead::lines(stderr);
    let first = lines.next().expect("a line about placement").expect("UTF-8");
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), Signal::TERM)
        .expect("our own child");
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert_eq!(child.wait().expect("our own child").code(), Some(0), "{first} {rest:?}");
    assert!(rest.iter().any(|line| line.starts_with("counters:")), "{rest:?}");

    for option in ["--help", "--version", "--show-limits"] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = command(&[option.to_owned()]);
        let child = command.stdout(writer).spawn().expect("the server's binary");
        drop(command);
        let output = child.wait_with_output().expect("our own child");
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert_ne!(output.status.code(), Some(101), "{option}: {said}");
        assert!(!said.contains("panicked"), "{option}: {said}");
    }
}

#[test]
fn a_closed_stderr_is_no_reason_to_stop() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut silent = command(&arguments(&[("--stats", "100ms")]));
    silent.stderr(Stdio::from(writer));
    let server = Server::start_command(silent);
    drop(reader);
    let canary = Canary::start(server.address);
    for _ in 0..20 {
        let mut bad = Peer::silent(server.address);
        bad.send(b"none\0\0sense");
        bad.expect_end();
    }
    pass(ms(300));
    canary.stop_well();
    server.signal(Signal::TERM);
    assert_eq!(server.wait().code, Some(0));
}
