//! The client with the real echo-server in Hadoop's framing.

use crate::kit::outcome;
use crate::pair::Pair;
use serde_json::Value;

const BENCH: &str = "--hadoop-protocol bench.EchoProtocol:1";

#[test]
fn every_service_answers_every_length() {
    let pair = Pair::serve(&format!("--readers 2 --handlers 2 {BENCH}"));
    for service in ["om", "test", "bench.EchoProtocol:1"] {
        for payload in ["0", "1", "63", "64", "127", "128", "4095", "16k", "16385", "1MiB"] {
            let json = pair.json(&format!(
                "--protocol hadoop --service {service} --payload {payload} -n 60 --clients 3 \
                 --in-flight 2 --server-stats off"
            ));
            assert_eq!(outcome(&json, "ok"), 60, "{service} {payload}");
        }
    }
}

/// Sockets that take 4 KiB at a time, and replies that are far longer.
#[test]
fn short_writes_on_both_sides_lose_nothing() {
    let pair = Pair::serve("--handlers 2 --send-buffer 4k --receive-buffer 4k");
    let json = pair
        .json("--protocol hadoop --service test --payload 400k -n 20 --clients 1 --in-flight 20");
    assert_eq!(outcome(&json, "ok"), 20);
}

#[test]
fn an_ozone_managers_echo_has_the_length_that_was_asked_for() {
    let pair = Pair::serve("--handlers 1");
    for (payload, reply) in [("0", "0"), ("0", "100k"), ("100k", "0"), ("1", "1025")] {
        let json = pair
            .json(&format!("--protocol hadoop --payload {payload} --payload-resp {reply} -n 50"));
        assert_eq!((outcome(&json, "ok"), &json["settings"]["verify"]), (50, &"none".into()));
    }
}

#[test]
fn an_echo_of_the_payload_is_compared() {
    let pair = Pair::serve("--handlers 1 --hadoop-echo payload");
    let json = pair.json("--protocol hadoop --hadoop-echo payload -n 200");
    assert_eq!((outcome(&json, "ok"), &json["settings"]["verify"]), (200, &"full".into()));
}

#[test]
fn many_calls_on_many_connections_in_every_loop() {
    let pair = Pair::serve("--readers 3 --handlers 3");
    for how in [
        "--clients 20 -t 50",
        "--clients 20 -t 5",
        "--clients 3 --in-flight 64 --client-id shared",
        "--clients 8 --workers 2 --client-id shared",
        "--clients 5 --rate 20k",
        "--clients 5 --warmup 200ms",
    ] {
        let arguments = format!("--protocol hadoop --service test -n 5000 {how}");
        let json = pair.json(&arguments);
        assert_eq!(outcome(&json, "ok"), 5000, "{how}");
        assert_ne!(json["server"], Value::Null, "its counters come over a native connection");
        let checks = json["checks"].as_array().unwrap();
        let sums = checks.iter().find(|check| check["name"] == "outcomes_add_up").unwrap();
        assert_eq!(sums["ok"], true, "{how}: {checks:?}");
    }
}

#[test]
fn what_the_server_does_not_have_is_an_error_reply_and_the_report_says_so() {
    let pair = Pair::serve("--handlers 1");
    let ended = pair.call("--protocol hadoop --service no.Such:1 -n 20 --clients 2");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for part in ["RpcNoSuchProtocolException", "no.Such", "Hadoop RPC version 9, service no.Such:1"]
    {
        assert!(ended.stdout.contains(part), "{ended:?}");
    }
}
