//! Who gets in, who is told that it does not, and what floods of connections leave behind.

use crate::kit::{Canary, Peer, Server, connect_from, pass, until};
use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

fn local(last: u8) -> IpAddr {
    Ipv4Addr::new(127, 0, 0, last).into()
}

/// Connections by reader.
fn spread(watch: &mut Peer) -> Vec<u64> {
    let stats = watch.stats();
    let readers = stats["readers"].as_array().expect("readers").iter();
    readers.map(|reader| reader["connections"].as_u64().expect("a count")).collect()
}

#[test]
fn a01_connections_above_the_limit_are_told_and_others_enter_when_some_leave() {
    let server = Server::start(&[("--max-connections", "33")]);
    let mut watch = Peer::open(server.address);
    let mut served: Vec<Peer> = (0..32u64)
        .map(|id| {
            let mut peer = Peer::open(server.address);
            peer.echo(id, 64);
            peer
        })
        .collect();
    for _ in 0..18 {
        // It may be closed before it has said anything.
        Peer::silent(server.address).expect_end();
    }
    assert_eq!(watch.stats()["limits"]["connections_refused"], 18);
    served.truncate(22);
    until("ten have left", || watch.stats()["connections_open"] == 23);
    for id in 0..10 {
        let mut peer = Peer::open(server.address);
        peer.echo(id, 64);
        served.push(peer);
    }
    served.iter_mut().for_each(|peer| peer.echo(1000, 64));
    Peer::silent(server.address).expect_end();
    let ended = server.stop();
    ended.check(&[("connections_refused", 19), ("replies_undeliverable", 0)]);
    let lines = ended.lines.iter().filter(|line| line.contains("--max-connections"));
    assert!(lines.count() >= 1, "nobody said why: {ended:?}");
}

#[test]
fn a03_a43_without_descriptors_the_served_go_on_and_nothing_spins() {
    let mut server = Server::start(&[("--max-connections", "1000")]);
    let canary = Canary::start(server.address);
    let mut watch = Peer::open(server.address);
    watch.echo(1, 10);
    // The server has raised its soft limit to the hard one, which is ours too.
    let maximum = getrlimit(Resource::Nofile).maximum;
    let pid = server.pid();
    let limit = |current| {
        let limit = Rlimit { current, maximum };
        prlimit(Some(pid), Resource::Nofile, limit).expect("our own child");
    };
    limit(Some(server.proc().files() as u64 + 20));
    let mut peers: Vec<Peer> = (0..70).map(|_| Peer::open(server.address)).collect();
    until("descriptors ran out", || watch.stats()["limits"]["accept_pauses"] != 0);
    let since = server.proc().cpu();
    pass(Duration::from_millis(1500));
    let used = server.proc().cpu() - since;
    assert!(used < Duration::from_millis(300), "{used:?} of CPU in 1.5 s without descriptors");
    let lines = server.said().iter().filter(|line| line.contains("accepting pauses")).count();
    assert!((1..=5).contains(&lines), "{lines} lines in some 1.5 s");
    watch.echo(2, 10);
    // No event announces those that wait: the listener must come back by itself.
    peers.drain(..10).for_each(drop);
    limit(maximum);
    for (id, peer) in (0..).zip(&mut peers) {
        peer.echo(id, 10);
    }
    canary.stop_well();
    let ended = server.stop();
    assert!(ended.counter("accept_pauses") > 0);
    ended.check(&[("connections_refused", 0), ("accept_failures", 0)]);
}

#[test]
fn a06_a42_a_burst_of_connects_is_accepted_and_answered_to_the_last() {
    let server = Server::start(&[("--max-connections", "2000")]);
    let gate = Arc::new(Barrier::new(20));
    let address = server.address;
    let crowd: Vec<_> = (0..20)
        .map(|_| {
            let gate = Arc::clone(&gate);
            thread::spawn(move || {
                gate.wait();
                let mut peers: Vec<Peer> = (0..50).map(|_| Peer::silent(address)).collect();
                // Silence first: whoever was not accepted by now would never be.
                for peer in &mut peers {
                    peer.send(&echo_common::wire::native::PREAMBLE);
                    peer.echo(1, 64);
                }
            })
        })
        .collect();
    crowd.into_iter().for_each(|one| one.join().expect("everybody is served"));
    server.stop().check(&[("calls", 1000), ("replies", 1000), ("connections_refused", 0)]);
}

#[test]
fn a08_connections_that_are_reset_at_once_do_not_stop_the_listener() {
    let server = Server::start(&[("--max-connections", "2000")]);
    let canary = Canary::start(server.address);
    let files = server.proc().files();
    for _ in 0..10 {
        let burst: Vec<Peer> = (0..100).map(|_| Peer::silent(server.address)).collect();
        burst.into_iter().for_each(Peer::reset);
    }
    let proc = server.proc();
    until("descriptors are back", || proc.files() <= files);
    canary.stop_well();
    let ended = server.stop();
    ended.check(&[("connections_refused", 0), ("handshake_timeouts", 0)]);
}

#[test]
fn a10_each_address_has_its_own_limit() {
    let server = Server::start(&[("--max-connections-per-peer", "4")]);
    let mut peers = Vec::new();
    for address in [local(1), local(2)] {
        for id in 0..4 {
            let stream = connect_from(address, server.address).expect("a connection");
            let mut peer = Peer::over(stream);
            peer.send(&echo_common::wire::native::PREAMBLE);
            peer.echo(id, 64);
            peers.push(peer);
        }
    }
    for _ in 0..2 {
        let stream = connect_from(local(1), server.address).expect("a connection");
        Peer::over(stream).expect_end();
    }
    let mut last = peers.pop().expect("eight");
    drop(peers);
    until("others have left", || last.stats()["connections_open"] == 1);
    let stream = connect_from(local(1), server.address).expect("a connection");
    let mut peer = Peer::over(stream);
    peer.send(&echo_common::wire::native::PREAMBLE);
    peer.echo(9, 64);
    server.stop().check(&[("peer_connections_refused", 2), ("connections_refused", 0)]);
}

#[test]
fn a11_readers_get_equal_shares() {
    let most_apart = |spread: &[u64]| spread.iter().max().unwrap() - spread.iter().min().unwrap();
    for (assign, apart_after) in [("round-robin", 3), ("least-connections", 1)] {
        let server = Server::start(&[("--readers", "10"), ("--assign", assign)]);
        // Each connection is answered before the next one comes, so that the order is known.
        let connect = || {
            let mut peer = Peer::open(server.address);
            peer.echo(1, 10);
            peer
        };
        let mut peers: Vec<Peer> = (0..30).map(|_| connect()).collect();
        let mut watch = peers.remove(1);
        let even = spread(&mut watch);
        assert_eq!(even.iter().sum::<u64>(), 30);
        assert!(most_apart(&even) <= 1, "{assign}: {even:?}");
        if assign == "round-robin" {
            // The watch was the second, so what was dealt to the first reader is at 0, 9 and 19.
            for at in [19, 9, 0] {
                drop(peers.remove(at));
            }
            until("the first reader is empty", || spread(&mut watch)[0] == 0);
        } else {
            peers.truncate(26);
            until("three have left", || spread(&mut watch).iter().sum::<u64>() == 27);
        }
        peers.extend((0..3).map(|_| connect()));
        let after = spread(&mut watch);
        assert_eq!(after.iter().sum::<u64>(), 30);
        assert!(most_apart(&after) <= apart_after, "{assign}: {after:?}");
        server.stop();
    }
}

#[test]
fn s14_a46_a49_churn_is_answered_and_leaves_nothing() {
    let server = Server::start(&[("--readers", "3")]);
    let address = server.address;
    let churn = |rounds: u64| {
        let crowd: Vec<_> = (0..8u64)
            .map(|who| {
                thread::spawn(move || {
                    for round in 0..rounds {
                        let mut peer = Peer::open(address);
                        peer.echo(who << 32 | round, 100 + round as usize);
                        if round % 3 == 0 {
                            peer.reset();
                        }
                    }
                })
            })
            .collect();
        crowd.into_iter().for_each(|one| one.join().expect("everybody is answered"));
    };
    churn(50);
    server.await_rest();
    let proc = server.proc();
    let (files, rss, threads) = (proc.files(), proc.rss_kib(), proc.threads());
    churn(200);
    server.await_rest();
    until("descriptors are back", || proc.files() <= files + 1);
    let grown = proc.rss_kib().saturating_sub(rss);
    assert!(grown < 2048, "{grown} KiB more after 1,600 connections");
    assert_eq!(proc.threads(), threads);
    let ended = server.stop();
    ended.check(&[("calls", 2000), ("replies_undeliverable", 0)]);
    assert_eq!(ended.counter("replies"), 2000 + ended.counter("stats_calls"));
}

#[test]
fn a08_a_killed_clients_connections_are_given_back() {
    let server = Server::start(&[]);
    for _ in 0..20 {
        let mut peers: Vec<Peer> = (0..10).map(|_| Peer::open(server.address)).collect();
        // Killed in mid-run: calls are on their way, replies are not read.
        for peer in &mut peers {
            peer.send(&crate::kit::call_frame(1, &[1; 3000]).repeat(20));
        }
    }
    server.await_rest();
    server.stop();
}

#[test]
fn x02_addresses_outside_the_allow_list_are_ended_before_a_byte_is_read() {
    let server = Server::start(&[("--allow", "127.0.0.2/32")]);
    for _ in 0..3 {
        Peer::silent(server.address).expect_end();
    }
    let stream = connect_from(local(2), server.address).expect("a connection");
    let mut peer = Peer::over(stream);
    peer.send(&echo_common::wire::native::PREAMBLE);
    peer.echo(1, 64);
    let stats: Value = peer.stats();
    assert_eq!(stats["limits"]["not_allowed"], 3);
    let ended = server.stop();
    ended.check(&[("not_allowed", 3), ("calls", 1), ("connections_refused", 0)]);
    let warned = ended.lines.iter().any(|line| line.contains("warning"));
    assert!(!warned, "{ended:?}");
}
