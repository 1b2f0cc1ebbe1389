//! The dispatch by key: order, isolation, bounds, counters, and the drain.

use crate::kit::{
    Inside, Peer, Server, Tricky, call_frame, config, payload, resp_size_frame, timed, until,
};
use echo_common::wire::native::{
    EXECUTION_LEN, Execution, FLAG_HAS_KEY, FLAG_RESP_SIZE, FLAG_WANT_EXECUTION, FLAG_WANT_STAGES,
    Header, KEY_LEN, Key, Kind, RESP_SIZE_LEN, STAGES_LEN, Status,
};
use echo_server::key_slots::KeySlots;
use echo_server::keyed::KeyedDispatch;
use echo_server::ordered_log::ReadLimit;
use echo_server::server::Config;
use echo_server::service::Echo;
use std::collections::HashMap;
use std::sync::Arc;
use std::thread;

mod bounds;

/// A call with a key that asks for its execution.
fn keyed_frame(id: u64, key: Key, body: &[u8]) -> Vec<u8> {
    let flags = FLAG_HAS_KEY | FLAG_WANT_EXECUTION;
    let header = Header::new(Kind::Call, flags, id, KEY_LEN, body.len());
    [&header.encode()[..], &key.encode(), body].concat()
}

/// The next frame must be the echo of a keyed call; returns its id and who executed it.
#[track_caller]
fn executed(peer: &mut Peer) -> (u64, Execution, Vec<u8>) {
    let frame = peer.frame().expect("a reply");
    assert_eq!((frame.kind, frame.flags), (Kind::Reply, FLAG_WANT_EXECUTION));
    let (block, body) = frame.payload.split_first_chunk::<EXECUTION_LEN>().expect("a block");
    (frame.id, Execution::decode(block), body.to_vec())
}

fn keyed(config: Config, batch: u32, extend_reads: bool) -> Config {
    let limit = ReadLimit { calls: batch, bytes: 1 << 20 };
    Config { keyed: Some(KeyedDispatch { limit, extend_reads }), ..config }
}

fn key(key: u64, sequence: u64) -> Key {
    Key { key, sequence }
}

/// A key of each handler.
fn key_of(handler: usize, handlers: usize) -> u64 {
    let slots = KeySlots::new(handlers);
    (0..).find(|&key| slots.handler_of(key) == handler).expect("every handler has keys")
}

#[test]
fn a_call_that_asks_hears_who_executed_it() {
    for handlers in ["0", "1", "3"] {
        let server = Server::start(&[("--handlers", handlers), ("--readers", "1")]);
        let mut peer = Peer::open(server.address);
        let mut last = HashMap::new();
        for id in 0..60 {
            let body = payload(id, [0, 100, 20_000][id as usize % 3]);
            peer.send(&keyed_frame(id, key(id, 1), &body));
            let (seen, execution, echoed) = executed(&mut peer);
            assert_eq!(seen, id);
            assert!(echoed == body);
            let before = last.insert(execution.handler, execution.number).unwrap_or(0);
            assert_eq!(execution.number, before + 1, "each handler counts by itself");
        }
        assert!(last.keys().all(|handler| *handler < 3));
        server.stop();
    }
}

#[test]
fn extensions_of_calls_and_blocks_of_replies_stand_in_the_order_of_their_flags() {
    let server = Server::start(&[("--dispatch", "keyed")]);
    let mut peer = Peer::open(server.address);
    let flags = FLAG_HAS_KEY | FLAG_WANT_STAGES | FLAG_RESP_SIZE | FLAG_WANT_EXECUTION;
    let header = Header::new(Kind::Call, flags, 9, KEY_LEN + STAGES_LEN + RESP_SIZE_LEN, 3);
    let (key, room, length) = (key(5, 1).encode(), [0xee; STAGES_LEN], 7u32.to_be_bytes());
    let call = [&header.encode()[..], &key, &room, &length, b"abc"].concat();
    peer.send(&call);
    let frame = peer.frame().expect("a reply");
    assert_eq!((frame.id, frame.flags), (9, FLAG_WANT_STAGES | FLAG_WANT_EXECUTION));
    assert_eq!(&frame.payload[STAGES_LEN + EXECUTION_LEN..], b"abcabca");
    let block = frame.payload[STAGES_LEN..].first_chunk().expect("a block");
    assert_eq!(Execution::decode(block).number, 1);
    server.stop();
}

#[test]
fn a_frame_too_short_for_its_extensions_is_refused() {
    let server = Server::start(&[]);
    for (flags, rest) in [
        (FLAG_HAS_KEY, KEY_LEN - 1),
        (FLAG_HAS_KEY | FLAG_RESP_SIZE, KEY_LEN),
        (FLAG_WANT_STAGES, STAGES_LEN - 1),
        (FLAG_HAS_KEY | FLAG_WANT_STAGES, KEY_LEN),
    ] {
        let mut peer = Peer::open(server.address);
        peer.send(&Header::new(Kind::Call, flags, 1, rest, 0).encode());
        peer.expect_error(u64::MAX, Status::Malformed);
        peer.expect_end();
    }
    server.stop();
}

/// Connections that each have keys of their own, and many calls of each under way.
fn calls_of_a_key_stay_in_order(config: Config) {
    let handlers = config.handlers;
    let slots = KeySlots::new(handlers);
    let server = Inside::start(config);
    let address = server.address;
    let peers: Vec<_> = (0..4u64)
        .map(|number| {
            thread::spawn(move || {
                let mut peer = Peer::open(address);
                let mut sender = peer.share();
                let key_at = move |id: u64| 1000 * number + id * id % 7;
                let sending = thread::spawn(move || {
                    for first in (0..400).step_by(20) {
                        let calls = (first..first + 20)
                            .flat_map(|id| keyed_frame(id, key(key_at(id), id), &payload(id, 50)));
                        sender.send(&calls.collect::<Vec<u8>>());
                    }
                });
                let mut last: HashMap<u64, (u64, u64)> = HashMap::new();
                for _ in 0..400 {
                    let (id, execution, body) = executed(&mut peer);
                    assert!(body == payload(id, 50), "call {id}");
                    let key = key_at(id);
                    assert_eq!(execution.handler as usize, slots.handler_of(key), "key {key}");
                    let before = last.insert(key, (id, execution.number)).unwrap_or((0, 0));
                    let now = (id, execution.number);
                    assert!(now.0 >= before.0 && now.1 > before.1, "{key}: {before:?} {now:?}");
                }
                sending.join().expect("all was sent");
            })
        })
        .collect();
    peers.into_iter().for_each(|peer| peer.join().expect("a peer without complaints"));
    let last = server.stop();
    assert_eq!((last.calls, last.replies, last.calls_in_server), (1600, 1600, 0));
    let keyed = last.keyed.expect("the dispatch by key has counters");
    assert_eq!((keyed.serial.calls, keyed.backlog), (1600, 0));
    assert_eq!(keyed.dispatcher.calls + keyed.calls_on_serial, 1600);
    let batches: u64 = keyed.batch_sizes.iter().map(|(_, count)| count).sum();
    assert_eq!(batches, keyed.cycles);
    assert_eq!(last.handlers.iter().map(|handler| handler.calls).sum::<u64>(), 1600);
}

#[test]
fn calls_of_a_key_are_executed_in_order_on_one_handler_whatever_the_bounds() {
    for (handlers, batch, extend_reads) in
        [(1, 500, false), (4, 500, false), (4, 1, false), (4, 7, true), (3, 500, true)]
    {
        for small in [false, true] {
            let mut config = keyed(config(Arc::new(Echo)), batch, extend_reads);
            config.handlers = handlers;
            if small {
                config.limits.queue_capacity = 5;
                config.limits.log_capacity = 3;
                config.limits.handler_queue = 2;
            }
            calls_of_a_key_stay_in_order(config);
        }
    }
}

#[test]
fn costs_on_either_clock_change_no_order() {
    for (serial, shared) in
        [("paced:20us", "paced:10us"), ("spin:5us", "spin:2us"), ("paced:30us", "spin:2us")]
    {
        for extend_reads in [false, true] {
            let mut config = keyed(config(Arc::new(Echo)), 50, extend_reads);
            config.handlers = 4;
            config.costs.serial = Some(serial.parse().expect("a cost"));
            config.costs.log_read = Some(shared.parse().expect("a cost"));
            config.costs.log_call = config.costs.log_read;
            config.costs.dispatch = config.costs.log_read;
            config.costs.gap = Some("paced:50us".parse().expect("a cost"));
            calls_of_a_key_stay_in_order(config);
        }
    }
}

/// Calls that are held keep a handler: those of other handlers go on, and so does the dispatcher.
#[test]
fn a_key_whose_handler_is_slow_stops_neither_other_keys_nor_the_dispatcher() {
    let service = Tricky::new();
    let mut config = keyed(config(service.clone()), 500, false);
    config.handlers = 4;
    let server = Inside::start(config);
    let mut slow = Peer::open(server.address);
    slow.send(&keyed_frame(1, key(key_of(2, 4), 1), b"hold"));
    service.await_held(1);
    let mut others = Peer::open(server.address);
    for id in 0..300 {
        let handler = [0, 1, 3][id as usize % 3];
        others.send(&keyed_frame(id, key(key_of(handler, 4), id), b"x"));
        let (seen, execution, _) = executed(&mut others);
        assert_eq!((seen, execution.handler as usize), (id, handler));
    }
    service.open_gate();
    assert_eq!(executed(&mut slow).0, 1);
    server.stop();
}

#[test]
fn a_key_whose_calls_panic_costs_these_calls_only() {
    let server = Inside::start(keyed(config(Tricky::new()), 500, false));
    let mut peer = Peer::open(server.address);
    let calls = (0..90).flat_map(|id| match id % 3 {
        0 => keyed_frame(id, key(7, id), b"poison"),
        other => keyed_frame(id, key(6 + other, id), b"fine"),
    });
    peer.send(&calls.collect::<Vec<u8>>());
    let (mut failed, mut last) = (0, 0);
    for _ in 0..90 {
        let frame = peer.frame().expect("a frame");
        match frame.kind {
            Kind::Error => failed += 1,
            _ if frame.id % 3 == 1 => {
                assert!(frame.id > last, "of the key that panics: {} after {last}", frame.id);
                last = frame.id;
            }
            _ => {}
        }
    }
    assert_eq!(failed, 30);
    assert_eq!(server.stop().handler_panics, 30);
}

#[test]
fn calls_without_a_key_go_by_their_connection_and_stats_calls_are_answered() {
    let server = Server::start(&[("--dispatch", "keyed"), ("--handlers", "4")]);
    let mut peer = Peer::open(server.address);
    for id in 0..50 {
        let mixed = [
            call_frame(3 * id, &payload(3 * id, 40)),
            resp_size_frame(3 * id + 1, b"ab", 5),
            call_frame(3 * id + 2, &payload(3 * id + 2, 70_000)),
        ];
        peer.send(&mixed.concat());
        peer.expect_echo(3 * id, &payload(3 * id, 40));
        peer.expect_echo(3 * id + 1, b"ababa");
        peer.expect_echo(3 * id + 2, &payload(3 * id + 2, 70_000));
    }
    let stats = peer.stats();
    let served = stats["handlers"].as_array().expect("handlers").iter();
    let served: Vec<u64> = served.map(|handler| handler["calls"].as_u64().unwrap()).collect();
    assert!(served.contains(&151), "one handler had them all: {served:?}");
    server.stop();
}

#[test]
fn short_reads_are_extended_on_the_serial_stage_only_where_that_is_asked() {
    for (extend, paced) in [("on", true), ("off", true), ("on", false)] {
        let mut changes = vec![("--dispatch", "keyed"), ("--extend-reads", extend)];
        if paced {
            changes.extend([("--log-read-cost", "paced:2ms"), ("--serial-cost", "paced:100us")]);
        }
        let server = Server::start(&changes);
        let mut peer = Peer::open(server.address);
        let calls: Vec<u8> = (0..200).flat_map(|id| keyed_frame(id, key(id, 1), b"x")).collect();
        peer.send(&calls[..calls.len() / 2]);
        peer.send(&calls[calls.len() / 2..]);
        (0..200).for_each(|_| drop(executed(&mut peer)));
        let stats = server.stats();
        assert_eq!(stats["emulated"], paced);
        let keyed = &stats["keyed"];
        let extended = keyed["extended_reads"].as_u64().expect("a count");
        if paced {
            // A read takes as long as the confirmation of 20 calls: there is more to read by then.
            assert_eq!(extended > 0, extend == "on", "{keyed}");
            assert_eq!(keyed["calls_on_serial"].as_u64().unwrap() > 0, extend == "on", "{keyed}");
        }
        server.stop();
    }
}

#[test]
fn a_serial_stage_lets_calls_go_no_faster_than_its_cost_allows() {
    let mut config = keyed(config(Arc::new(Echo)), 500, false);
    config.costs.serial = Some("paced:2ms".parse().expect("a cost"));
    let server = Inside::start(config);
    let mut peer = Peer::open(server.address);
    let calls: Vec<u8> = (0..50).flat_map(|id| keyed_frame(id, key(id, 1), b"x")).collect();
    let ((), took) = timed(|| {
        peer.send(&calls);
        (0..50).for_each(|_| drop(executed(&mut peer)));
    });
    assert!(took.as_millis() >= 100, "{took:?}");
    let last = server.stop();
    assert!(last.emulated);
    assert_eq!(last.keyed.expect("counters").serial.paced_ns, 100_000_000);
}

#[test]
fn stalls_of_the_serial_stage_keep_calls_and_are_counted() {
    let changes = [("--dispatch", "keyed"), ("--stall-every", "60ms"), ("--stall", "30ms")];
    let server = Server::start(&changes);
    let mut peer = Peer::open(server.address);
    let mut id = 0;
    until("some stalls", || {
        for _ in 0..50 {
            peer.send(&keyed_frame(id, key(id, 1), b"x"));
            assert_eq!(executed(&mut peer).0, id);
            id += 1;
        }
        server.stats()["keyed"]["stalls"].as_u64().expect("a count") >= 3
    });
    let costs = server.stats()["costs"].clone();
    assert_eq!(costs, "serial stalls 30ms every 60ms");
    server.stop();
}
