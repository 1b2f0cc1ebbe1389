//! Who is named as the limit, from what was measured.

use super::*;

fn evidence(client: f64, reader: f64, handler: f64, host: f64) -> Evidence {
    Evidence {
        window_s: 2.0,
        client_busy_share: Some(client),
        client_cpu_share: Some(client),
        reader_busy_share: Some(reader),
        reader_cpu_share: Some(reader),
        handler_busy_share: Some(handler),
        handler_cpu_share: Some(handler),
        host_busy_share: Some(host),
        steal_share: Some(0.0),
        ..Evidence::default()
    }
}

fn check(evidence: Evidence, expected: Bound) {
    let verdict = verdict(evidence);
    assert_eq!(verdict.bound, expected, "{}", verdict.reason);
    assert!(!verdict.reason.is_empty());
}

/// Threads that were on a CPU so long, and ready to run without one so long.
fn waiting(client: (f64, f64), reader: (f64, f64), handler: (f64, f64)) -> Evidence {
    let busy = |stage: (f64, f64)| Some(stage.0 + stage.1);
    Evidence {
        client_busy_share: busy(client),
        reader_busy_share: busy(reader),
        handler_busy_share: busy(handler),
        ..evidence(client.0, reader.0, handler.0, 0.99)
    }
}

#[test]
fn a_thread_that_is_always_on_a_cpu_is_the_limit() {
    check(evidence(0.95, 0.5, 0.5, 0.7), Bound::Client);
    check(evidence(0.91, 0.99, 0.5, 0.7), Bound::ServerReader);
    check(evidence(0.5, 0.6, 0.97, 0.7), Bound::ServerHandler);
    check(evidence(0.5, 0.6, 0.4, 0.7), Bound::Unsaturated);
    // --reader-cost spin:50us --readers 1 on two CPUs that a build fills otherwise.
    check(evidence(0.06, 0.97, 0.08, 1.0), Bound::ServerReader);
    // Both at their limit: a tie is nobody's on a full host.
    check(evidence(0.97, 0.96, 0.1, 1.0), Bound::Host);
}

#[test]
fn waiting_for_a_cpu_makes_nobody_the_limit_on_a_host_that_the_pair_fills() {
    check(waiting((0.8, 0.15), (0.6, 0.35), (0.5, 0.3)), Bound::Host);
    check(waiting((0.85, 0.12), (0.3, 0.65), (0.3, 0.6)), Bound::Host);
    let others = |e| Evidence { others_cpu_share: Some(0.77), ..e };
    // Recorded beside two compilers: everybody waits, nobody stands out.
    check(others(waiting((0.214, 0.119), (0.13, 0.765), (0.116, 0.42))), Bound::Host);
    // The same neighbours, and a reader that needs ten times what the others do.
    let waits = |e| Evidence { others_cpu_share: Some(0.3), ..e };
    check(waits(waiting((0.02, 0.05), (0.60, 0.39), (0.02, 0.1))), Bound::ServerReader);
    check(waits(waiting((0.02, 0.05), (0.02, 0.1), (0.55, 0.44))), Bound::ServerHandler);
    // Recorded: --reader-cost spin:50us with ten callers, who often wait for the neighbours.
    check(others(waiting((0.078, 0.045), (0.568, 0.243), (0.093, 0.173))), Bound::ServerReader);
}

#[test]
fn a_thread_that_others_kept_off_the_cpus_is_not_the_limit() {
    let others = |e| Evidence { others_cpu_share: Some(0.817), ..e };
    check(others(waiting((0.175, 0.775), (0.05, 0.3), (0.03, 0.2))), Bound::Host);
    check(others(waiting((0.02, 0.05), (0.30, 0.69), (0.02, 0.1))), Bound::Host);
    check(others(waiting((0.02, 0.05), (0.02, 0.1), (0.25, 0.74))), Bound::Host);
    let confined = Evidence { client_confined: true, ..waiting((0.1, 0.88), (0.1, 0.1), (0., 0.)) };
    check(others(confined), Bound::Host);
}

fn limited(limits: &[(&str, u64)]) -> Evidence {
    limited_at(limits, 0.5, 0.6)
}

fn limited_at(limits: &[(&str, u64)], client: f64, host: f64) -> Evidence {
    let limits_acted = limits.iter().map(|&(name, acted)| (name.to_owned(), acted)).collect();
    Evidence { limits_acted, server_calls: Some(700_000), ..evidence(client, 0.5, 0.5, host) }
}

#[test]
fn a_limit_of_the_server_that_acted_is_named_and_finds_no_room() {
    for (name, _, option) in CAPACITIES {
        let verdict = verdict(limited(&[(name, 1_500)]));
        assert_eq!(verdict.bound, Bound::ServerLimit, "{name}: {}", verdict.reason);
        for part in [name, option, "1,500 times"] {
            assert!(verdict.reason.contains(part), "{part}: {}", verdict.reason);
        }
        assert!(!verdict.reason.contains("would find room"), "{}", verdict.reason);
    }
    check(limited(&[("reading_paused", 3)]), Bound::Unsaturated);
    check(limited(&[("idle_closed", 700_000)]), Bound::Unsaturated);
}

/// Recorded beside three builds: --handlers 4 --calls-per-connection 2 --handler-cost paced:500us
/// and 50 calls on one connection were "host-bound", at 12 % of a CPU.
#[test]
fn a_limit_of_the_server_is_named_on_a_host_that_others_fill() {
    let paused = |e: Evidence| Evidence {
        others_cpu_share: Some(0.885),
        limits_acted: [("reading_paused".to_owned(), 5_046)].into(),
        server_calls: Some(6_982),
        ..e
    };
    check(paused(waiting((0.04, 0.078), (0.047, 0.012), (0.034, 0.035))), Bound::ServerLimit);
    // Threads that wait for a CPU are what keeps calls there.
    check(paused(waiting((0.2, 0.2), (0.2, 0.2), (0.31, 0.47))), Bound::Host);
    // And where the two programs fill the host themselves, it is full.
    let alone = paused(waiting((0.55, 0.0), (0.55, 0.0), (0.55, 0.0)));
    check(Evidence { others_cpu_share: Some(0.02), ..alone }, Bound::Host);
}

#[test]
fn a_limit_of_the_server_is_named_beside_client_and_host() {
    for (busy, host, bound) in [(0.95, 0.7, Bound::Client), (0.85, 0.99, Bound::Host)] {
        let judged = |limits| verdict(limited_at(limits, busy, host));
        let verdict = judged(&[("calls_rejected", 2_454_021)]);
        assert_eq!(verdict.bound, bound, "{}", verdict.reason);
        let words = "; besides, the call queue was full and refused calls 2,454,021 times";
        assert!(verdict.reason.contains(words), "{}", verdict.reason);
        assert!(!judged(&[]).reason.contains("besides"));
    }
}

/// --rate 40000 was "client-bound" at 92 % of a CPU, and so was 300,000/s: calls that come one by
/// one cost a wake-up each, and more of them share it.
#[test]
fn a_rate_that_was_kept_has_no_limit_while_every_thread_has_time_left() {
    for (worker, reader, handlers, host) in
        [(0.95, 0.5, 0.5, 0.6), (0.5, 0.95, 0.5, 0.6), (0.5, 0.5, 0.95, 0.6), (0.9, 0.9, 0.9, 0.99)]
    {
        let busy = evidence(worker, reader, handlers, host);
        let kept = verdict(Evidence { load: LoadKind::Rate, ..busy.clone() });
        assert_eq!(kept.bound, Bound::Unsaturated, "{}", kept.reason);
        assert!(kept.reason.starts_with("the rate was kept, although "), "{}", kept.reason);
        assert!(!kept.reason.contains("no more"), "{}", kept.reason);
        let missed = verdict(Evidence { load: LoadKind::RateMissed, ..busy });
        assert_ne!(missed.bound, Bound::Unsaturated, "{}", missed.reason);
    }
    let just_kept = Evidence { load: LoadKind::Rate, ..evidence(0.5, 0.99, 0.5, 0.6) };
    check(just_kept, Bound::ServerReader);
}

#[test]
fn what_there_is_room_for_is_said_in_the_terms_of_the_load() {
    for (load, words) in [
        (LoadKind::CallsInFlight, "more calls in flight"),
        (LoadKind::Rate, "a higher rate"),
        (LoadKind::RateMissed, "missed"),
        (LoadKind::Sockets, "sockets"),
        (LoadKind::Unsteady, "not steady"),
    ] {
        let verdict = verdict(Evidence { load, ..evidence(0.5, 0.5, 0.5, 0.6) });
        assert_eq!(verdict.bound, Bound::Unsaturated);
        assert!(verdict.reason.contains(words), "{}", verdict.reason);
    }
}

#[test]
fn a_client_that_was_given_less_than_the_host_is_named() {
    let confined = |e| Evidence { client_confined: true, ..e };
    check(confined(waiting((0.95, 0.04), (0.6, 0.3), (0.2, 0.1))), Bound::Client);
    check(confined(waiting((0.3, 0.69), (0.2, 0.1), (0.1, 0.1))), Bound::Client);
    check(confined(evidence(0.2, 0.97, 0.1, 0.7)), Bound::ServerReader);
    // Recorded: taskset -c 0, and the server's one handler pinned to the same CPU.
    let shared = waiting((0.529, 0.183), (0.113, 0.058), (0.4, 0.33));
    check(confined(Evidence { client_cpus_share: Some(0.929), ..shared }), Bound::Client);
}

#[test]
fn an_emulated_stage_is_named_by_its_cost() {
    let reader = Evidence { reader_emulated_share: Some(0.98), ..evidence(0.1, 0.1, 0.1, 0.2) };
    check(reader.clone(), Bound::ServerReader);
    check(Evidence { handler_emulated_share: Some(0.99), ..reader }, Bound::ServerHandler);
    let idle = Evidence { reader_emulated_share: Some(0.5), ..evidence(0.1, 0.1, 0.1, 0.2) };
    check(idle, Bound::Unsaturated);
}

#[test]
fn stolen_time_and_the_ceiling_are_the_hosts() {
    check(Evidence { steal_share: Some(0.2), ..evidence(0.2, 0.2, 0.2, 0.5) }, Bound::Host);
    let at_ceiling = Evidence { pair_cpu_share: Some(0.95), ..evidence(0.8, 0.8, 0.2, 0.9) };
    check(at_ceiling, Bound::Host);
    // Five calls in an instant, and a second of doing nothing: --think 1s -n 5 --clients 5.
    let instant = Evidence {
        cpu_ceiling_calls_per_s: Some(2_295.0),
        calls_per_s: Some(24_464.0),
        pair_cpu_share: Some(0.002),
        ..evidence(0.01, 0.01, 0.01, 0.02)
    };
    check(instant, Bound::Unsaturated);
}

#[test]
fn what_was_not_measured_is_unknown() {
    check(Evidence::default(), Bound::Unknown);
    check(Evidence { window_s: 5.0, ..Evidence::default() }, Bound::Unknown);
    let mute = Evidence { reader_busy_share: None, ..evidence(0.5, 0.0, 0.0, 0.5) };
    check(mute, Bound::Unknown);
    let busy = Evidence { reader_busy_share: None, ..evidence(0.95, 0.0, 0.0, 0.5) };
    check(busy, Bound::Client);
}

#[test]
fn the_stages_of_a_dispatch_by_key_can_be_the_limit() {
    let quiet = || evidence(0.1, 0.1, 0.1, 0.2);
    let emulated = Evidence {
        dispatcher_emulated_share: Some(0.97),
        serial_emulated_share: Some(0.92),
        ..quiet()
    };
    check(emulated, Bound::ServerDispatcher);
    let (busy, on_cpu) = (Some(0.97), Some(0.96));
    check(
        Evidence { serial_busy_share: busy, serial_cpu_share: on_cpu, ..quiet() },
        Bound::ServerSerial,
    );
    check(
        Evidence { dispatcher_busy_share: busy, dispatcher_cpu_share: on_cpu, ..quiet() },
        Bound::ServerDispatcher,
    );
}
