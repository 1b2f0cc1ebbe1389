//! Options: what is refused is refused before any socket opens, by name and with what is allowed;
//! what is taken has its effect; threads run where they were put.

use crate::kit::{
    Inside, Peer, Server, Tricky, arguments, command, config, connect_from, pass, payload, run,
    timed,
};
use echo_common::pinning;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// Refused with exit code 2, on one line or clap's few, naming the option and what is allowed.
#[track_caller]
fn refused(option: &str, value: &str, allowed: &str) {
    let (code, stdout, stderr, took) = run(&["--listen", "127.0.0.1:0", option, value]);
    assert_eq!(code, Some(2), "{option} {value}: {stdout} {stderr}");
    assert_eq!(stdout, "", "{option} {value}");
    let name = option.trim_start_matches('-');
    assert!(stderr.contains(name), "{option} {value} is not named: {stderr}");
    assert!(stderr.contains(allowed), "{option} {value}: no `{allowed}` in {stderr}");
    assert!(took < Duration::from_secs(5), "{option} {value}: {took:?}");
}

#[test]
fn l14_a69_values_out_of_range_are_refused_with_the_range() {
    let huge = "99999999999999999999";
    for (option, allowed) in [
        ("--readers", "1 to 1,024"),
        ("--reader-batch", "1 to 1,000,000"),
        ("--queue-capacity", "1 to 100,000,000"),
        ("--calls-per-connection", "1 to 1,000,000"),
        ("--max-connections", "1 to 10,000,000"),
        ("--max-connections-per-peer", "1 to 10,000,000"),
        ("--reader-inbox", "1 to 1,000,000"),
        ("--backlog", "1 to 65,535"),
    ] {
        for value in ["0", "-1", "-5", "", "x", "1.5", "1e99", huge, "0x10", "1 2", "+3"] {
            refused(option, value, allowed);
        }
    }
    for value in ["-1", "4097", huge, "all"] {
        refused("--handlers", value, "0 to 4,096");
    }
    for (option, allowed) in [
        ("--max-frame-size", "12B to 1GiB"),
        ("--max-owed-bytes", "1B to 1TiB"),
        ("--send-buffer", "1B to 1GiB"),
        ("--receive-buffer", "1B to 1GiB"),
    ] {
        for value in ["0", "-1", "x", "5TiB", huge, "1.0001k"] {
            refused(option, value, allowed);
        }
    }
    for value in ["0", "spin", "paced:0", "spin:1us+1us", "spin:0+0/KiB", "paced:1us+11s/KiB"] {
        refused("--handler-cost", value, "TIME+TIME/KiB");
    }
    for option in ["--reader-cost", "--serial-cost", "--log-read-cost", "--dispatch-gap"] {
        refused(option, "paced:1us+1us/KiB", "does not look at payloads");
    }
    refused("--max-frame-size", "5GiB", "12B to 1GiB");
    refused("--max-frame-size", "11", "12B to 1GiB");
}

#[test]
fn words_that_hadoop_rpc_does_not_know_are_refused_with_those_it_knows() {
    refused("--hadoop", "maybe", "on, off");
    refused("--hadoop-package", "ipcs", "`ipc_` (Ozone from 2.2 on)");
    refused("--hadoop-echo", "both", "size, payload");
    refused("--hadoop-busy", "wait", "error, fatal");
    for value in ["", "x", "x:", ":1", "x:y", "x:-1", "x:99999999999999999999"] {
        refused("--hadoop-protocol", value, "NAME:VERSION");
    }
}

/// A value with a minus sign was taken for an unknown option, without a word about what is allowed.
#[test]
fn a69_times_out_of_range_are_refused_with_what_is_allowed() {
    for option in [
        "--handshake-timeout",
        "--frame-timeout",
        "--idle-timeout",
        "--write-stall-timeout",
        "--drain-timeout",
    ] {
        for value in ["-1", "-5s", "5", "s", "1.2.3s", "99999999999999999999s", "soon"] {
            refused(option, value, "off, or");
        }
    }
    for value in ["-1s", "0", "1ms", "off", "2d"] {
        refused("--stats", value, "100ms to");
    }
}

#[test]
fn l14_words_and_lists_that_mean_nothing_are_refused() {
    refused("--when-full", "drop", "wait");
    refused("--assign", "random", "least-connections");
    refused("--pin", "some", "handlers");
    refused("--cpus", "0-", "allowed");
    refused("--cpus", "3-1", "allowed");
    refused("--cpus", "0,0", "allowed");
    refused("--cpus", "1000000", "allowed");
    refused("--cpus", "-1", "allowed");
    refused("--allow", "10.0.0.0/99", "10.0.0.0/99");
    refused("--allow", "here", "here");
    for address in ["127.0.0.1:70000", "127.0.0.1:x", "[::1", "1:2:3", "", "a b"] {
        let (code, stdout, stderr, _) = run(&["--listen", address]);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{address}: {stderr}");
        assert!(stderr.contains("allowed") && stderr.contains("--listen"), "{address}: {stderr}");
    }
    let (code, stdout, stderr, _) = run(&["--reeders", "2"]);
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains("--reeders") && stderr.contains("--readers"), "{stderr}");
}

#[test]
fn quantities_are_taken_as_people_write_them_also_from_the_environment() {
    let (code, stdout, stderr, _) = run(&[
        "--show-limits",
        "--max-frame-size=4k",
        "--max-owed-bytes=1KiB",
        "--queue-capacity=1e6",
        "--calls-per-connection=100_000",
        "--idle-timeout=1m30s",
        "--frame-timeout=0",
        "--max-connections=1k",
    ]);
    assert_eq!(code, Some(0), "{stderr}");
    for (option, value) in [
        ("--max-frame-size", "4KiB"),
        ("--max-owed-bytes", "1KiB"),
        ("--queue-capacity", "1000000"),
        ("--calls-per-connection", "100000"),
        ("--idle-timeout", "1m30s"),
        ("--frame-timeout", "off"),
        ("--max-connections", "1000"),
    ] {
        let line = stdout.lines().find(|line| line.split_whitespace().next() == Some(option));
        let line = line.unwrap_or_else(|| panic!("no {option} in {stdout}"));
        assert_eq!(line.split_whitespace().nth(1), Some(value), "{line}");
    }
    let mut from_environment = command(&["--show-limits".to_owned()]);
    from_environment.env("ECHO_SERVER_MAX_FRAME_SIZE", "8k").env("ECHO_SERVER_BACKLOG", "77");
    let output = from_environment.output().expect("the server's binary");
    let stdout = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(stdout.contains("8KiB") && stdout.contains("77"), "{stdout}");
    let mut bad = command(&arguments(&[]));
    let output = bad.env("ECHO_SERVER_BACKLOG", "0").output().expect("the server's binary");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn every_limit_has_a_counter_that_exists() {
    let (_, table, _, _) = run(&["--show-limits"]);
    let server = Server::start(&[]);
    let limits = server.stats()["limits"].clone();
    let ended = server.stop();
    let rows: Vec<_> = table.lines().skip(1).collect();
    assert!(rows.len() >= 13, "{table}");
    for row in rows {
        let counter = row.split_whitespace().last().expect("a counter");
        if counter.ends_with(')') {
            continue;
        }
        assert!(limits[counter].is_u64(), "{row}: no such counter in the stats call");
        ended.counter(counter);
    }
}

#[test]
fn p05_both_kinds_of_addresses_work() {
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        eprintln!("skipped: this host has no IPv6");
        return;
    }
    let server = Server::start(&[("--listen", "[::1]:0")]);
    assert_eq!(server.address.ip(), IpAddr::from(Ipv6Addr::LOCALHOST));
    Peer::open(server.address).echo(1, 10);
    let v4 = SocketAddr::from((Ipv4Addr::LOCALHOST, server.address.port()));
    assert!(TcpStream::connect(v4).is_err(), "[::1] took an IPv4 connection");
    server.stop();

    let server = Server::start(&[("--listen", "[::]:0"), ("--allow", "127.0.0.1/32,::1/128")]);
    for ip in [IpAddr::from(Ipv6Addr::LOCALHOST), IpAddr::from(Ipv4Addr::LOCALHOST)] {
        Peer::open(SocketAddr::new(ip, server.address.port())).echo(1, 10);
    }
    // The list holds the IPv4 address in its own spelling.
    let other = connect_from(
        Ipv4Addr::new(127, 0, 0, 9).into(),
        SocketAddr::from((Ipv4Addr::LOCALHOST, server.address.port())),
    );
    Peer::over(other.expect("a connection")).expect_end();
    server.stop().check(&[("calls", 2), ("not_allowed", 1)]);

    let server = Server::start(&[("--listen", "localhost:0")]);
    Peer::open(server.address).echo(1, 10);
    server.stop();
}

#[test]
fn x01_other_machines_can_connect_only_when_asked_and_that_is_said() {
    let warned = |listen: &str, allow: &[(&str, &str)]| {
        let server = Server::start(&[&[("--listen", listen)], allow].concat());
        let ended = server.stop();
        ended.lines.iter().filter(|line| line.contains("warning")).count()
    };
    assert_eq!(warned("127.0.0.1:0", &[]), 0);
    assert_eq!(warned(":0", &[]), 0);
    assert_eq!(warned("0", &[]), 0);
    assert_eq!(warned("0.0.0.0:0", &[]), 1);
    assert_eq!(warned("0.0.0.0:0", &[("--allow", "10.0.0.0/8")]), 0);
    let server = Server::start(&[("--listen", "0")]);
    assert_eq!(server.address.ip(), IpAddr::from(Ipv4Addr::LOCALHOST));
    server.stop();
}

/// Starts a server whose threads may run on `cpus` only, as `taskset` does.
fn start_on(cpus: &[usize], changes: &[(&str, &str)]) -> Server {
    let all = pinning::current_mask();
    let mask = |cpus: &[usize]| {
        let mut set = CpuSet::new();
        cpus.iter().for_each(|cpu| set.set(*cpu));
        sched_setaffinity(None, &set).expect("a mask inside our own");
    };
    mask(cpus);
    let server = Server::start(changes);
    mask(&all);
    server
}

#[test]
fn p06_a62_pins_stay_inside_the_mask_of_the_process_and_sharing_is_said() {
    let cpu = *pinning::current_mask().last().expect("a CPU");
    for pin in ["all", "handlers", "none"] {
        let changes = [("--readers", "10"), ("--handlers", "4"), ("--pin", pin)];
        let server = start_on(&[cpu], &changes);
        for (name, cpus) in server.proc().placement() {
            assert_eq!(cpus, cpu.to_string(), "{name} with --pin {pin}");
        }
        Peer::open(server.address).echo(1, 10);
        let ended = server.stop();
        let said = ended.lines.join("\n");
        assert!(said.contains("14 threads") && said.contains("share 1 CPU"), "{said}");
        assert!(!said.contains("unpinned"), "{said}");
    }
    let outside = 1023;
    assert!(!pinning::current_mask().contains(&outside));
    let mut beyond = command(&arguments(&[("--cpus", &outside.to_string())]));
    let output = beyond.output().expect("the server's binary");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("1023") && said.contains("allowed"), "{said}");
}

#[test]
fn a62_a_thread_that_cannot_be_pinned_runs_unpinned_or_ends_the_start_when_asked() {
    let cpu_outside = 1023;
    let unpinnable = |strict| {
        let mut config = config(Tricky::new());
        config.handler_cpus = vec![cpu_outside; config.handlers];
        config.strict_pin = strict;
        config
    };
    let server = Inside::start(unpinnable(false));
    Peer::open(server.address).echo(1, 10);
    let last = server.stop();
    assert!(last.handlers.iter().all(|handler| handler.cpu.is_none()), "{:?}", last.handlers);
    match echo_server::server::Server::start(unpinnable(true)) {
        Ok(_) => panic!("started unpinned"),
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("handler-0") && text.contains("CPU 1023"), "{text}");
        }
    }
}

#[test]
fn a61_each_thread_runs_where_the_start_says() {
    let mask = pinning::current_mask();
    let whole = pinning::format_cpu_list(&mask);
    let ask = |pin: &str| {
        let changes = [("--readers", "3"), ("--handlers", "3"), ("--pin", pin)];
        let server = Server::start(&changes);
        // An answer shows that every thread on its way has got its name.
        let stats = server.stats();
        let placement = server.proc().placement();
        server.stop();
        (placement, stats)
    };
    for (pin, pinned) in
        [("none", &[][..]), ("handlers", &["handler"]), ("all", &["handler", "reader"])]
    {
        let (placement, stats) = ask(pin);
        let of_role =
            |role: &str| placement.iter().filter(|(name, _)| name.starts_with(role)).count();
        assert_eq!((of_role("reader-"), of_role("handler-"), of_role("listener")), (3, 3, 1));
        for (name, cpus) in &placement {
            let role = name.split('-').next().expect("a name");
            let number: Option<usize> = name.split('-').nth(1).and_then(|text| text.parse().ok());
            let expected = match number {
                Some(number) if pinned.contains(&role) => mask[number % mask.len()].to_string(),
                _ => whole.clone(),
            };
            assert_eq!(*cpus, expected, "{name} with --pin {pin}");
        }
        for (role, list) in [("reader", "readers"), ("handler", "handlers")] {
            for thread in stats[list].as_array().expect("threads") {
                assert_eq!(thread["cpu"].is_u64(), pinned.contains(&role), "{thread}, {pin}");
            }
        }
    }
}

#[test]
fn a65_idle_threads_use_no_cpu() {
    for handlers in ["10", "0"] {
        let server = Server::start(&[("--readers", "10"), ("--handlers", handlers)]);
        let mut peers: Vec<Peer> = (0..20).map(|_| Peer::open(server.address)).collect();
        peers.iter_mut().for_each(|peer| peer.echo(1, 100));
        let before = server.proc().cpu();
        pass(Duration::from_secs(2));
        let used = server.proc().cpu() - before;
        assert!(used <= Duration::from_millis(100), "{used:?} of CPU in 2 s of rest");
        server.stop();
    }
}

#[test]
fn strict_limits_refuse_what_descriptors_do_not_allow_and_others_are_told() {
    let many = "9000000";
    let (code, stdout, stderr, _) =
        run(&["--listen", "127.0.0.1:0", "--strict-limits", "--max-connections", many]);
    assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
    assert!(stderr.contains("9000064") && stderr.contains("the limit is"), "{stderr}");
    let lowered_to = |readers: &str| -> u64 {
        let server = Server::start(&[("--max-connections", many), ("--readers", readers)]);
        let ended = server.stop();
        let warnings = ended.lines.iter().filter_map(|line| line.split_once("lowered to "));
        let warnings: Vec<_> = warnings.map(|(_, count)| count.parse().expect("a count")).collect();
        assert_eq!(warnings.len(), 1, "{ended:?}");
        warnings[0]
    };
    // Each reader has a poll, a waker and a timer, which no connection may take.
    assert!(lowered_to("1") >= lowered_to("200") + 500);
}

#[test]
fn extreme_but_legal_options_still_serve() {
    for changes in [
        &[("--readers", "100"), ("--handlers", "100")][..],
        &[("--max-frame-size", "4012"), ("--max-owed-bytes", "1"), ("--max-in-flight", "1")],
        &[("--send-buffer", "1"), ("--receive-buffer", "1")],
        &[("--backlog", "1"), ("--reader-inbox", "1"), ("--reader-batch", "1")],
        &[("--queue-capacity", "100000000"), ("--max-in-flight", "1000000")],
        &[("--handshake-timeout", "off"), ("--frame-timeout", "off"), ("--drain-timeout", "off")],
        &[("--drain-timeout", "300000000s"), ("--idle-timeout", "300000000s")],
        &[("--handlers", "0"), ("--max-in-flight", "1"), ("--reader-batch", "1")],
        &[("--handlers", "1"), ("--queue-capacity", "1"), ("--when-full", "reject")],
    ] {
        let server = Server::start(changes);
        let mut peers: Vec<Peer> = (0..5).map(|_| Peer::open(server.address)).collect();
        for (id, peer) in (0..).zip(&mut peers) {
            peer.echo(id, 4000);
            assert_ne!(payload(id, 10), payload(id + 1, 10));
        }
        drop(peers);
        let (_, took) = timed(|| server.stop());
        assert!(took < Duration::from_secs(8), "{changes:?}: {took:?}");
    }
}
