//! Failed calls by name.

use crate::kit::{Client, ERROR, HANG, Peer, Talk, run, with_peer};
use serde_json::Value;
use std::sync::Mutex;
use std::sync::mpsc::channel;

/// Runs against a peer that makes the run fail.
fn failed(behaviour: impl Fn(Talk) + Send + Sync + 'static, arguments: &str) -> Value {
    let ended = run(&Peer::start(behaviour), arguments);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    ended.json()
}

/// Error replies, calls on connections that are lost, and those under way when the run is stopped.
#[test]
fn failed_calls_of_every_kind_are_named_ten_of_each() {
    let check = |json: &Value, what: &str, shape: &str| {
        let calls = json["faulty_calls"].as_array().unwrap();
        assert!(calls.len() == 10 && calls.iter().all(|call| call["what"] == what), "{calls:?}");
        assert!(calls.iter().all(|call| call["record"].is_u64() != shape.is_empty()), "{calls:?}");
    };
    for shape in ["", "--streams 2 --record-size 64 --batch-bytes 64"] {
        let failing = |mut talk: Talk| {
            while let Some(call) = talk.next() {
                talk.frame(ERROR, 3, call.id, b"no");
            }
        };
        let options = format!("--clients 2 -n 200 --in-flight 5 {shape}");
        check(&failed(failing, &options), "error_reply", shape);
        let closing = |mut talk: Talk| {
            (0..20).for_each(|_| drop(talk.next()));
            talk.close();
        };
        let options = format!("--clients 1 -n 200 --in-flight 20 {shape}");
        check(&failed(closing, &options), "connection_lost", shape);
        let (came, comes) = channel();
        let came = Mutex::new(came);
        let silent = Peer::start(move |mut talk: Talk| {
            while talk.next().is_some() {
                came.lock().unwrap().send(()).unwrap();
            }
        });
        let client = Client::start(&with_peer(&silent, &options));
        (0..20).for_each(|_| comes.recv_timeout(HANG).unwrap());
        client.signal("INT");
        check(&client.end().json(), "abandoned", shape);
    }
}
