//! What the client puts on the wire is what Hadoop's own client would.

use super::peer::{Packet, Peer, right};
use crate::kit::outcome;
use echo_common::wire::hadoop::context::Context;
use echo_common::wire::hadoop::om::OmCall;
use echo_common::wire::hadoop::reply::ReplyTo;
use std::collections::BTreeSet;

const BENCH: &str = "--service bench.EchoProtocol:1";

/// Byte for byte the call of `freon ome` without payload, but for ids and the client's name.
#[test]
fn a_call_to_an_ozone_manager_is_that_of_freon() {
    let (peer, seen) = Peer::echo();
    peer.run("-n 1 --clients 1 --payload 0 --user alice");
    let opening = peer.openings.recv().unwrap();
    let client_id = &opening[20..36];
    let mut expected = b"hrpc\x09\0\0\0\0\0\x5f\x1a\x08\x02\x10\0\x18\x05\x22\x10".to_vec();
    expected.extend_from_slice(client_id);
    expected.extend_from_slice(b"\x28\x01\x43\x12\x07\x0a\x05alice\x1a\x38");
    expected.extend_from_slice(b"org.apache.hadoop.ozone.om.protocol.OzoneManagerProtocol");
    assert_eq!(opening, expected);

    let call = seen.lock().unwrap()[0].bytes.clone();
    let mut expected = b"\x1a\x08\x02\x10\0\x18\0\x22\x10".to_vec();
    expected.extend_from_slice(client_id);
    expected.extend_from_slice(b"\x28\0\x4b\x0a\x0dsubmitRequest\x12\x38");
    expected.extend_from_slice(b"org.apache.hadoop.ozone.om.protocol.OzoneManagerProtocol\x18\x01");
    let name = &call[call.len() - 30..call.len() - 11];
    assert!(name.starts_with(b"client-"), "{name:?}");
    expected.extend_from_slice(b"\x24\x08\x6e\x12\0\x1a\x13");
    expected.extend_from_slice(name);
    expected.extend_from_slice(b"\x28\x03\xf2\x06\x06\x0a\0\x10\0\x18\x01");
    assert_eq!(call, expected);
    assert_eq!(call.len(), 140);
}

#[test]
fn payload_lengths_of_an_ozone_managers_echo_are_bytes_as_asked() {
    let (peer, seen) = Peer::echo();
    peer.run("-n 1 --clients 1 --payload-req 1k --payload-resp 70000");
    let packet = seen.lock().unwrap()[0].clone();
    let call = packet.call();
    let echo = OmCall::decode(call.message().unwrap()).unwrap().echo.unwrap();
    assert_eq!((echo.payload.len(), echo.reply_len, echo.read_only), (1024, 70_000, true));
}

#[test]
fn the_context_names_user_and_protocol() {
    let (peer, seen) = Peer::echo();
    let ended = peer.run(&format!("-n 5 --clients 2 --user someone {BENCH}"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for _ in 0..2 {
        let opening = peer.openings.recv().unwrap();
        let context = Context::decode(&opening[opening.len() - 31..]).unwrap();
        assert_eq!(context.effective_user, Some(&b"someone"[..]));
        assert_eq!(context.protocol, Some(&b"bench.EchoProtocol"[..]));
    }
    let packet = seen.lock().unwrap()[0].clone();
    let method = packet.call().method;
    assert_eq!((method.method, method.version), (&b"echo"[..], 1));
    let settings = &ended.json()["settings"]["hadoop"];
    assert_eq!((&settings["user"], &settings["client_id"]), (&"someone".into(), &"own".into()));
}

/// The client ids of the calls, and for each the ids of its calls in order.
fn ids(seen: &[Packet]) -> Vec<(Vec<u8>, Vec<i32>)> {
    let clients: BTreeSet<Vec<u8>> =
        seen.iter().map(|packet| packet.call().header.client_id.to_vec()).collect();
    let of = |client: &[u8]| {
        let mine = seen.iter().filter(|packet| packet.call().header.client_id == client);
        let mut ids: Vec<i32> = mine.map(Packet::id).collect();
        ids.sort_unstable();
        ids
    };
    clients.into_iter().map(|client| (client.clone(), of(&client))).collect()
}

#[test]
fn call_ids_are_counted_for_each_client_id() {
    for (how, clients) in [("own", 4), ("shared", 1)] {
        let (peer, seen) = Peer::echo();
        let ended = peer.run(&format!(
            "-n 10000 --clients 4 --in-flight 25 --workers 2 --client-id {how} {BENCH}"
        ));
        assert_eq!(ended.code, Some(0), "{how}: {ended:?}");
        let seen = seen.lock().unwrap();
        assert!(seen.iter().all(|packet| packet.call().header.retry_count == 0));
        let by_client = ids(&seen);
        assert_eq!(by_client.len(), clients, "{how}");
        for (client, ids) in by_client {
            assert_eq!(client.len(), 16);
            if how == "own" {
                assert_eq!(ids, (0..ids.len() as i32).collect::<Vec<_>>());
            } else {
                assert!(ids.is_sorted_by(|one, next| one < next), "an id was given out twice");
                assert_eq!(ids[0], 0);
            }
        }
    }
}

/// On one connection: over several, the calls are not dealt in eights.
#[test]
fn replies_may_come_in_any_order() {
    let peer = Peer::start(|mut talk| {
        loop {
            let Some(first) = talk.next() else { return };
            let mut packets = vec![first];
            while packets.len() < 8 {
                let Some(packet) = talk.next() else { return };
                packets.push(packet);
            }
            packets.reverse();
            for packet in packets {
                talk.send(&right(&packet));
            }
        }
    });
    let ended = peer.run(&format!("-n 800 --clients 1 --in-flight 8 {BENCH}"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(outcome(&ended.json(), "ok"), 800);
}

/// The first call waits while hundreds after it are answered.
#[test]
fn a_slow_call_does_not_hold_up_others() {
    let peer = Peer::start(|mut talk| {
        let Some(slow) = talk.next() else { return };
        for _ in 0..499 {
            let Some(packet) = talk.next() else { return };
            talk.send(&right(&packet));
        }
        talk.send(&right(&slow));
        talk.answer_all();
    });
    for ids in ["own", "shared"] {
        let ended =
            peer.run(&format!("-n 1000 --clients 1 --in-flight 3 --client-id {ids} {BENCH}"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
}

#[test]
fn replies_in_single_bytes_or_without_a_client_id_are_whole() {
    let peer = Peer::start(|mut talk| {
        while let Some(packet) = talk.next() {
            let call = packet.call();
            let to = ReplyTo { client_id: &[], ..call.reply_to() };
            for byte in super::peer::success(to, call.message().unwrap()) {
                if !talk.send(&[byte]) {
                    return;
                }
            }
        }
    });
    let ended = peer.run(&format!("-n 20 --clients 2 --payload 200 {BENCH}"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
}
