//! Options are refused before any socket is opened, with what is allowed.

use crate::kit::{Client, PROGRAM, Peer};
use std::process::Command;

/// Refused with exit code 2 and a message that has all of `expected`.
fn refused(arguments: &str, expected: &[&str]) {
    let peer = Peer::echo();
    let ended = Client::start(&format!("--server {} {arguments}", peer.address)).end();
    assert_eq!(ended.code, Some(2), "{arguments}: {ended:?}");
    assert_eq!(ended.stdout, "");
    for part in expected {
        assert!(ended.stderr.contains(part), "{arguments}: no {part:?} in {}", ended.stderr);
    }
    assert_eq!(peer.connections.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[test]
fn counts_out_of_range_are_refused_with_the_range() {
    refused("-n 0", &["--calls", "allowed: 1 to"]);
    refused("-n -5", &["--calls", "a sign is not taken", "allowed: 1 to"]);
    refused("-n 99999999999999999999", &["--calls", "too large", "allowed: 1 to"]);
    refused("-n 1.5", &["--calls", "allowed: 1 to"]);
    refused("-n abc", &["--calls", "not a number"]);
    refused("--clients 0", &["--clients", "allowed: 1 to 1,000,000"]);
    refused("--clients -1", &["--clients", "allowed: 1 to 1,000,000"]);
    refused("-t 0", &["--threads", "allowed: 1 to"]);
    refused("--in-flight 0", &["--in-flight", "allowed: 1 to"]);
    refused("--workers 0", &["--workers", "allowed: 1 to 1,024"]);
    refused("--clients 1m --in-flight 100k", &["calls in flight", "at most 10000000"]);
}

#[test]
fn sizes_and_times_out_of_range_are_refused_with_the_range() {
    refused("--payload -1", &["--payload", "allowed:"]);
    refused("--payload 4GiB", &["--payload", "too large", "allowed:"]);
    refused("--payload-resp 5GiB", &["--payload-resp", "too large"]);
    refused("--timeout 0", &["--timeout", "too small"]);
    refused("--timeout 30", &["--timeout", "the unit is missing"]);
    refused("--duration -1s", &["--duration"]);
    refused("--duration 0", &["--duration", "too small"]);
    refused("--interval 1us", &["--interval", "too small"]);
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    refused("-t 5 --in-flight 2", &["--threads", "--in-flight", "cannot be used with"]);
    refused("--fail-fast --fail-at-end", &["cannot be used with"]);
}

/// A run was taken for one with random arrivals and was a closed loop.
#[test]
fn options_that_would_have_no_effect_are_refused() {
    refused("--arrivals poisson", &["--rate"]);
    refused("--arrivals uniform --duration 1s", &["--rate"]);
    refused("--net-delay-buffer 1MiB", &["--net-delay"]);
    for option in ["--record-size 64", "--batch-bytes 1k", "--max-call-bytes 1k"] {
        refused(option, &["--streams"]);
    }
    for option in ["--service test", "--user me", "--client-id own", "--max-reply-size 1k"] {
        refused(option, &["--protocol hadoop"]);
    }
}

#[test]
fn unknown_words_are_refused() {
    refused("--rate-of-fire 5", &["--rate-of-fire"]);
    refused("--verify maybe", &["full", "none"]);
    refused("--format xml", &["text", "json"]);
    refused("--pin 0-", &["--pin"]);
    refused("--pin 100000", &["--pin"]);
}

#[test]
fn addresses_that_are_none_are_refused() {
    for address in ["", "localhost:99999", "[::1", "1.2.3.4:port", "::1:x:y"] {
        let mut command = Command::new(PROGRAM);
        let ended = Client::spawn(command.args(["--server", address])).end();
        assert_eq!(ended.code, Some(2), "{address:?}: {ended:?}");
        assert!(ended.stderr.contains("--server"), "{ended:?}");
    }
}

#[test]
fn quantities_are_read_as_people_write_them() {
    let peer = Peer::echo();
    let arguments = format!(
        "--server {} --server-stats off --format json -n 1e2 --payload 4k --clients 2 \
         --timeout 1m30s",
        peer.address
    );
    let json = Client::start(&arguments).end().json();
    assert_eq!(json["options"]["calls"], 100);
    assert_eq!(json["options"]["payload"], 4096);
    assert_eq!(json["options"]["timeout"], "1m30s");
    assert_eq!(json["options"]["fail_at_end"], true);
}

#[test]
fn options_come_from_the_environment_too() {
    let peer = Peer::echo();
    let mut command = Command::new(PROGRAM);
    command.args(["--server-stats", "off"]);
    let client = {
        let mut client = Command::new("env");
        client
            .arg(format!("ECHO_CLIENT_SERVER={}", peer.address))
            .args(["ECHO_CLIENT_CALLS=17", "ECHO_CLIENT_FORMAT=json", "ECHO_CLIENT_CLIENTS=3"])
            .args(["ECHO_CLIENT_PROGRESS=none", PROGRAM]);
        Client::spawn(client.args(command.get_args()))
    };
    let ended = client.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.json()["options"]["calls"], 17);
    assert_eq!(peer.calls(), 17);
}

#[test]
fn help_and_version_are_no_errors() {
    for (option, expected) in [("--help", "ECHO_CLIENT_CLIENTS"), ("--version", "echo-client")] {
        let ended = Client::start(option).end();
        assert_eq!(ended.code, Some(0));
        assert!(ended.stdout.contains(expected), "{}", ended.stdout);
    }
}

#[test]
fn workers_stay_on_the_cpus_that_were_named() {
    let peer = Peer::echo();
    let cpu = echo_common::pinning::allowed_cpus()[0];
    let arguments = format!(
        "--server {} --server-stats off --format json -n 100 --workers 3 --pin {cpu}",
        peer.address
    );
    let ended = Client::start(&arguments).end();
    assert_eq!(ended.stderr, "warning: 3 workers share 1 CPU\n");
    let json = ended.json();
    assert_eq!(json["settings"]["workers"], 3);
    assert!(json["settings"]["worker_cpus"].as_str().unwrap().starts_with(&cpu.to_string()));
}
