//! An emulated network: every byte takes its time, and arrives.

use crate::kit::{Ended, Peer, Talk, outcome, run};
use crate::pair::Pair;

const DELAY_US: f64 = 3000.0;

#[test]
fn a_round_trip_takes_twice_the_delay_more_and_every_reply_is_right() {
    let pair = Pair::serve("--handlers 1");
    for shape in [
        "--clients 1 -n 20",
        "--clients 7 --in-flight 3 -n 300",
        "--clients 3 -t 2 -n 30",
        "--clients 3 -n 40 --payload 100000 --payload-resp 300000",
        "--clients 2 -n 40 --rate 2000",
        "--clients 2 -n 20 --keys 10",
        "--clients 2 -n 20 --protocol hadoop",
        "--clients 2 --streams 5 -n 500",
    ] {
        let json = pair.json(&format!("--net-delay 3ms {shape}"));
        let least = json["latency_us"]["min"].as_f64().unwrap();
        assert!(least >= 2.0 * DELAY_US, "{shape}: {least}");
        assert_eq!(json["net_delay"]["one_way_us"], DELAY_US, "{shape}");
        assert_eq!(json["emulated"], true, "{shape}");
    }
}

#[test]
fn calls_in_flight_are_delayed_side_by_side() {
    // One after another they would take 10 s.
    let json = run(&Peer::echo(), "--net-delay 50ms --clients 10 --in-flight 10 -n 100").json();
    assert!(json["elapsed_s"].as_f64().unwrap() < 5.0, "{}", json["elapsed_s"]);
}

#[test]
fn what_a_full_buffer_does_not_take_waits_and_arrives() {
    let pair = Pair::serve("--handlers 1");
    for shape in [
        "--payload 50000 --payload-resp 70000 --in-flight 4 -n 60",
        "--payload 10 --in-flight 50 -n 500",
        "--streams 6 --record-size 100 -n 3000",
    ] {
        let json =
            pair.json(&format!("--net-delay 1ms --net-delay-buffer 1000 --clients 2 {shape}"));
        assert!(json["net_delay"]["buffer_full"].as_u64().unwrap() > 0, "{shape}");
    }
}

fn failed(ended: &Ended, name: &str) -> u64 {
    assert_eq!(ended.code, Some(1), "{ended:?}");
    outcome(&ended.json(), name)
}

#[test]
fn the_end_of_a_connection_comes_behind_its_last_reply() {
    let peer = Peer::start(|mut talk: Talk| {
        let (first, second) = (talk.next(), talk.next());
        if let (Some(first), Some(_)) = (first, second) {
            let _ = talk.answer(&first);
            talk.close();
        }
    });
    let ended = run(&peer, "--net-delay 5ms --clients 1 --in-flight 2 -n 2");
    assert_eq!(failed(&ended, "connection_lost"), 1);
    assert_eq!(outcome(&ended.json(), "ok"), 1);
    let peer = Peer::start(|mut talk: Talk| {
        talk.next();
        talk.reset();
    });
    let ended = run(&peer, "--net-delay 5ms --clients 2 --in-flight 3 -n 6");
    assert_eq!(failed(&ended, "connection_lost"), 6);
}

#[test]
fn a_call_may_time_out_before_it_has_arrived() {
    let ended = run(&Peer::echo(), "--net-delay 400ms --timeout 100ms --clients 1 -n 1");
    assert_eq!(failed(&ended, "timed_out"), 1);
}

#[test]
fn people_are_told_that_the_network_is_emulated() {
    let pair = Pair::serve("--handlers 1");
    let text = pair.call("--net-delay 2500us -n 20").stdout;
    assert!(text.lines().nth(2).unwrap().starts_with("emulated network delay"), "{text}");
    assert!(text.contains("every byte is held 2ms500us on its"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(pair.json("-n 20")["net_delay"].is_null());
}
