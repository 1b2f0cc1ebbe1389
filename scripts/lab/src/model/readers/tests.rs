//! The model against the reference's table, hand-made cases and its own laws.

use super::*;

fn close(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() <= share, "found {found}, expected {expected}");
}

/// Experiments.md, section 6: MVA with 100 callers, everything else a delay of 0.72 ms.
#[test]
fn the_tickets_curves_are_those_of_the_reference() {
    let ten = [35.2, 69.0, 88.0, 109.0, 123.0, 125.0, 126.0, 127.0, 129.0, 131.0];
    let thirty = [35.2, 69.0, 98.3, 115.0, 123.0, 127.0, 128.0, 129.0, 130.0, 131.0];
    for (clients, curve) in [(10, ten), (30, thirty)] {
        let found = System::ticket(1, clients).over_readers(1..=10);
        for ((readers, predicted), expected) in found.iter().zip(curve) {
            let found = predicted.calls_per_s / 1e3;
            assert!((found / expected - 1.0).abs() < 0.01, "{clients} {readers}: {found}");
        }
        assert_eq!(System::ticket(1, clients).knee(10), Some(5));
    }
}

#[test]
fn the_tickets_single_reader_binds_and_ten_leave_the_callers() {
    let before = System::ticket(1, 10).predict();
    assert_eq!((before.binds(), before.binds_next()), (Stage::Readers, Stage::Callers));
    assert!(before.load(Stage::Readers).busiest_share > 0.99);
    let after = System::ticket(10, 30).predict();
    assert_eq!(after.binds(), Stage::Callers);
    close(after.calls_per_s, 133_983.0, 0.03);
    close(after.load(Stage::Readers).busy_share, 0.37, 0.02);
    close(after.response_s, 100.0 / after.calls_per_s, 1e-9);
}

/// Constant times with callers that stay: 20 callers of a reader that can do 5,000 calls/s ask
/// for 20 / 5.2 ms = 3,846.
#[test]
fn the_paced_form_rises_by_whole_readers_and_then_stays() {
    let curve = System::paced(1, 10).over_readers(1..=10);
    let rates: Vec<f64> = curve.iter().map(|(_, predicted)| predicted.calls_per_s).collect();
    close(rates[0], 5_000.0, 1e-9);
    close(rates[1], 10_000.0, 1e-9);
    close(rates[2], 15_000.0, 1e-9);
    close(rates[3], 2.0 * 5_000.0 + 2.0 * 20.0 / 5.2e-3, 1e-9);
    for rate in &rates[4..] {
        close(*rate, 100.0 / 5.2e-3, 1e-9);
    }
    assert_eq!(System::paced(1, 10).knee(10), Some(4));
}

#[test]
fn callers_in_turn_are_held_up_by_the_fullest_reader_and_fixed_ones_are_not() {
    let many = System { callers: 1000, think_s: 0.0, ..System::paced(6, 10) };
    let turns = System { caller_order: CallerOrder::Turns, ..many };
    close(turns.predict().calls_per_s, 25_000.0, 1e-9);
    close(many.predict().calls_per_s, 30_000.0, 1e-9);
    let few = System { callers: 9, caller_order: CallerOrder::Fixed, ..many };
    close(few.predict().calls_per_s, 25_000.0, 1e-9);
}

#[test]
fn without_cores_enough_everything_ends_at_cores_by_cpu_per_call() {
    for times in [Times::Constant, Times::Exponential] {
        let system = System {
            reader: Demand::cpu(20e-6),
            handler: Demand::cpu(10e-6),
            client: Demand::cpu(10e-6),
            delay_s: 50e-6,
            cores: Some(2),
            caller_order: CallerOrder::Fixed,
            times,
            ..System::ticket(4, 10)
        };
        let predicted = system.predict();
        close(predicted.calls_per_s, 2.0 / 40e-6, 1e-4);
        assert_eq!(predicted.binds(), Stage::Cores);
        assert!(predicted.stretch > 1.5);
        close(predicted.load(Stage::Cores).busy_share, 1.0, 1e-4);
        let one_reader = System { readers: 1, ..system }.predict();
        assert!(one_reader.calls_per_s <= 50_000.0 * (1.0 + 1e-9));
    }
}

#[test]
fn paced_time_needs_no_core() {
    let system = System { cores: Some(1), ..System::paced(10, 10) };
    assert_eq!(system.predict().calls_per_s, System::paced(10, 10).predict().calls_per_s);
}

/// One handler of 1 ms behind a fast reader: readers buy nothing.
#[test]
fn a_slow_handler_binds_whatever_the_readers() {
    let system = System {
        handlers: 1,
        handler: Demand::cpu(1e-3),
        reader: Demand::cpu(5e-6),
        client: Demand::cpu(5e-6),
        caller_order: CallerOrder::Fixed,
        cores: Some(2),
        ..System::ticket(1, 10)
    };
    for (_, predicted) in system.over_readers([1, 2, 10]) {
        assert_eq!(predicted.binds(), Stage::Handlers);
        close(predicted.calls_per_s, 1000.0, 0.02);
    }
}

#[test]
fn without_handlers_the_readers_serve() {
    let system = System {
        handlers: 0,
        handler: Demand::cpu(60e-6),
        reader: Demand::cpu(40e-6),
        delay_s: 0.0,
        ..System::ticket(2, 10)
    };
    for caller_order in [CallerOrder::Fixed, CallerOrder::Turns] {
        let predicted = System { caller_order, ..system }.predict();
        close(predicted.calls_per_s, 20_000.0, 0.03);
        assert_eq!(predicted.load(Stage::Handlers).busy_share, 0.0);
        assert_eq!(predicted.binds(), Stage::Readers);
    }
}

#[test]
fn callers_that_stay_share_handlers_and_client_with_those_of_other_readers() {
    let system = System {
        handlers: 2,
        handler: Demand::cpu(100e-6),
        client: Demand::cpu(30e-6),
        workers: 1,
        caller_order: CallerOrder::Fixed,
        ..System::ticket(5, 10)
    };
    let predicted = system.predict();
    assert_eq!(predicted.binds(), Stage::Handlers);
    close(predicted.calls_per_s, 20_000.0, 0.03);
    close(predicted.load(Stage::Client).busy_share, 0.6, 0.04);
}

#[test]
fn every_caller_and_connection_is_dealt_to_some_reader() {
    for (readers, clients, callers) in
        [(1, 1, 1), (3, 10, 100), (7, 30, 47), (10, 4, 9), (6, 10, 3)]
    {
        let system = System { callers, ..System::ticket(readers, clients) };
        let connections: u64 = (0..readers).map(|reader| system.connections_of(reader)).sum();
        assert_eq!(connections, clients);
        let dealt: f64 = system.groups().iter().map(|g| g.readers * g.callers as f64).sum();
        assert_eq!(dealt, callers as f64, "{readers} {clients} {callers}");
    }
}

/// More readers than connections idle, and are no harm to the arithmetic.
#[test]
fn readers_without_connections_change_nothing() {
    for caller_order in [CallerOrder::Fixed, CallerOrder::Turns] {
        for times in [Times::Constant, Times::Exponential] {
            let system = System { caller_order, times, ..System::ticket(10, 10) };
            let more = System { readers: 64, ..system };
            close(more.predict().calls_per_s, system.predict().calls_per_s, 1e-9);
        }
    }
}
