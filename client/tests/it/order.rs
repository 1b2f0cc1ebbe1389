//! Replies in the order of their connection's calls: a promise of servers that serve one of them at
//! a time, and checked only there.

use crate::kit::{CALL, Client, Ended, Peer, STATS, Talk};
use crate::pair::Pair;
use serde_json::{Value, json};

const PLAIN: &str = "-n 100";
const STREAM: &str = "-n 500 --streams 1 --record-size 40 --batch-bytes 200";
/// A call of it carries a batch of one stream, another call of the other one.
const STREAMS: &str = "-n 500 --streams 2 --record-size 40 --batch-bytes 200 --max-call-bytes 200";

/// A server that answers calls by twos, the second one first, and says how many it serves at once.
fn overtaking(calls_per_connection: Option<u64>) -> Peer {
    Peer::start(move |mut talk: Talk| {
        while let Some(first) = talk.next() {
            if first.kind == STATS {
                let snapshot = json!({ "calls_per_connection": calls_per_connection }).to_string();
                talk.frame(STATS, 0, first.id, snapshot.as_bytes());
                continue;
            }
            assert_eq!(first.kind, CALL);
            let Some(second) = talk.next() else { return };
            if talk.answer(&second).and_then(|()| talk.answer(&first)).is_err() {
                return;
            }
        }
    })
}

fn run(calls_per_connection: Option<u64>, shape: &str) -> (Ended, Value) {
    let peer = overtaking(calls_per_connection);
    let options = format!("--server {} --format json --clients 1 --in-flight 2", peer.address);
    let ended = Client::start(&format!("{options} {shape}")).end();
    let json = ended.json();
    assert_eq!(json["outcomes"]["ok"], json["outcomes"]["started"], "{shape}: {ended:?}");
    (ended, json)
}

/// The check of one of these names, if the report has it.
fn order_check(json: &Value) -> Option<&Value> {
    let checks = json["checks"].as_array().unwrap();
    let names = ["replies_in_order", "records_in_order"];
    checks.iter().find(|check| names.iter().any(|name| check["name"] == *name))
}

#[test]
fn a_reply_that_was_overtaken_fails_the_run_and_is_named_where_order_is_promised() {
    for shape in [PLAIN, STREAM, STREAMS] {
        let (ended, json) = run(Some(1), shape);
        assert_eq!(ended.code, Some(1), "{shape}: {ended:?}");
        let overtaken = json["overtaken_replies"].as_u64().unwrap();
        let answered = json["outcomes"]["ok"].as_u64().unwrap();
        assert!(overtaken >= answered / 2, "{shape}: {overtaken} of {answered}");
        assert_eq!(order_check(&json).unwrap()["ok"], false, "{shape}");
        let named = json["faulty_calls"].as_array().unwrap();
        assert_eq!(named.len(), 10, "{shape}: {named:?}");
        for call in named {
            assert_eq!(call["what"], "overtaken", "{shape}");
            assert_eq!(call["stream"].is_u64(), shape.contains("streams"), "{call}");
            assert_eq!(call["record"].is_u64(), shape.contains("streams"), "{call}");
        }
    }
}

#[test]
fn a_reply_that_was_overtaken_is_counted_and_allowed_where_no_order_is_promised() {
    for (calls_per_connection, says) in
        [(Some(7), "up to 7 calls of a connection at once"), (None, "the server did not say")]
    {
        let (ended, json) = run(calls_per_connection, STREAM);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(json["records"]["out_of_order"].as_u64().unwrap() > 0);
        assert_eq!(json["overtaken_replies"], Value::Null);
        assert_eq!(json["faulty_calls"], json!([]));
        let check = order_check(&json).unwrap();
        assert_eq!(check["ok"], Value::Null);
        assert!(check["text"].as_str().unwrap().contains(says), "{check}");
        let (ended, json) = run(calls_per_connection, PLAIN);
        assert_eq!((ended.code, order_check(&json)), (Some(0), None), "{ended:?}");
    }
}

#[test]
fn a_server_that_serves_one_call_of_a_connection_at_a_time_keeps_its_promise() {
    let pair = Pair::serve("--handlers 3 --readers 2 --calls-per-connection 1");
    for shape in [
        "-n 2000 --clients 3 --in-flight 8",
        "-n 2000 --clients 3 --in-flight 8 --keys 50 --stages 3",
        "-n 2000 --clients 3 --rate 20k",
        "-n 5000 --clients 2 --streams 5 --in-flight 8 --record-size 40 --batch-bytes 200",
        "-n 2000 --clients 3 -t 20 --warmup 20ms --acks all",
    ] {
        let json = pair.json(shape);
        assert_eq!(json["overtaken_replies"], 0, "{shape}");
        assert_eq!(json["server"]["calls_per_connection"], 1, "{shape}");
        assert_eq!(order_check(&json).unwrap()["ok"], true, "{shape}");
    }
    let json = pair.json("-n 200 --in-flight 4 --protocol hadoop --service test");
    assert_eq!(json["overtaken_replies"], Value::Null, "its ids are not looked at");
}
