//! The pipeline against closed forms: M/M/1, M/M/m, M/D/1, mean value analysis, the bounds of
//! cores, and HDDS-11225's own figures.

use super::*;
use crate::model::queues::{shared_queue, single_queue};
use crate::model::readers::{CallerOrder, Demand, System};

fn outcome(setup: Setup) -> Outcome {
    run(&setup).unwrap()
}

fn close(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() <= share, "found {found}, expected {expected}");
}

fn open(calls_per_s: f64) -> Setup {
    Setup {
        load: Load::Open { calls_per_s, poisson: true },
        handler_batch: 1,
        reader_batch: 1,
        hand_over: 1,
        warmup_s: 1.0,
        measured_s: 15.0,
        ..Setup::default()
    }
}

/// Band of 5 %: 120,000 calls at 80 % load are some thousand independent busy periods.
#[test]
fn a_single_reader_is_an_m_m_1_queue_and_an_m_d_1_queue() {
    let reader = |spread| Setup { reader: StageCost::per_call(100.0, spread), ..open(8000.0) };
    let exponential = single_queue(8000.0, 100e-6, 1.0).mean_s + 100e-6;
    let found = outcome(reader(Spread::Exponential));
    close(found.response_us.unwrap().mean, exponential * 1e6, 0.05);
    // The response time of M/M/1 is exponential, too.
    close(found.response_us.unwrap().p99, 500.0 * 100f64.ln(), 0.1);
    close(found.readers.busy_share.unwrap(), 0.8, 0.02);
    close(found.calls_per_s, 8000.0, 0.02);
    let constant = single_queue(8000.0, 100e-6, 0.0).mean_s + 100e-6;
    let found = outcome(reader(Spread::Deterministic));
    close(found.response_us.unwrap().mean, constant * 1e6, 0.05);
}

#[test]
fn handlers_on_one_queue_are_an_m_m_m_queue() {
    for (handlers, calls_per_s) in [(2, 16_000.0), (10, 80_000.0)] {
        let setup = Setup {
            handlers,
            handler: StageCost::per_call(100.0, Spread::Exponential),
            measured_s: 240_000.0 / calls_per_s,
            ..open(calls_per_s)
        };
        let wait = shared_queue(u64::from(handlers), calls_per_s, 100e-6);
        let found = outcome(setup);
        close(found.response_us.unwrap().mean, (wait.mean_s + 100e-6) * 1e6, 0.04);
        close(found.handlers.busy_share.unwrap(), 0.8, 0.02);
    }
}

/// Closed loops through readers of exponential times: exact where callers stay and meet nobody
/// else's. Where they take turns it is the analysis that is not exact, which takes the order of
/// connections to be random: regular turns queue a few per cent less.
#[test]
fn closed_loops_are_those_of_mean_value_analysis() {
    for (readers, clients, turns, share) in [
        (1, 10, true, 0.01),
        (5, 10, true, 0.05),
        (3, 10, false, 0.01),
        (6, 10, false, 0.01),
        (10, 30, false, 0.01),
    ] {
        let setup = Setup {
            reader: StageCost::per_call(28.4, Spread::Exponential),
            load: Load::Closed { callers: 100, think_us: 0.0, turns },
            ..Setup::ticket(readers, clients)
        };
        let order = if turns { CallerOrder::Turns } else { CallerOrder::Fixed };
        let system = System::ticket(u64::from(readers), u64::from(clients));
        let exact = System { caller_order: order, ..system }.predict();
        let found = outcome(setup);
        close(found.calls_per_s, exact.calls_per_s, share);
        close(found.response_us.unwrap().mean, exact.response_s * 1e6, share);
    }
}

/// Handlers on one queue between them: the analysis replaces them by one fast handler and a delay,
/// which queues too much, and lets the readers' loops meet there only on average.
#[test]
fn callers_that_stay_and_share_handlers_are_nearly_those_of_the_model() {
    for readers in [1, 4, 6, 10] {
        let setup = Setup {
            handlers: 4,
            handler: StageCost::per_call(20.0, Spread::Exponential),
            reader: StageCost::per_call(28.4, Spread::Exponential),
            load: Load::Closed { callers: 100, think_us: 0.0, turns: false },
            handler_batch: 1,
            ..Setup::ticket(readers, 10)
        };
        let system = System {
            handlers: 4,
            handler: Demand::cpu(20e-6),
            caller_order: CallerOrder::Fixed,
            ..System::ticket(u64::from(readers), 10)
        };
        close(outcome(setup).calls_per_s, system.predict().calls_per_s, 0.05);
    }
}

/// HDDS-11225: 35,200 calls/s with 1 reader and 10 clients, 133,983 with 10 readers and 30.
#[test]
fn the_tickets_figures_come_out() {
    let (before, after) = (outcome(Setup::ticket(1, 10)), outcome(Setup::ticket(10, 30)));
    close(before.calls_per_s, 35_200.0, 0.1);
    close(after.calls_per_s, 133_983.0, 0.1);
    assert!(before.readers.busy_share.unwrap() > 0.99);
    close(after.readers.busy_share.unwrap(), 0.38, 0.1);
}

/// The paced form is emulated here, too, and its constant times never wait.
#[test]
fn the_paced_form_is_that_of_the_model() {
    for readers in [1, 3, 4, 5, 8, 10] {
        let setup = Setup {
            reader: StageCost { paced_us: 200.0, ..StageCost::default() },
            load: Load::Closed { callers: 100, think_us: 5000.0, turns: false },
            measured_s: 2.0,
            ..Setup { delay_us: 0.0, ..Setup::ticket(readers, 10) }
        };
        assert!(setup.is_emulated());
        let model = System::paced(u64::from(readers), 10).predict();
        close(outcome(setup).calls_per_s, model.calls_per_s, 0.02);
    }
}

#[test]
fn all_threads_share_the_cores_and_nothing_passes_them() {
    let setup = |cores, readers, client_apart| Setup {
        cores: Some(cores),
        client_apart,
        readers,
        handlers: 2,
        client: StageCost::per_call(5.0, Spread::Deterministic),
        reader: StageCost::per_call(28.0, Spread::Deterministic),
        handler: StageCost::per_call(5.0, Spread::Deterministic),
        hand_over: 1,
        load: Load::Closed { callers: 100, think_us: 0.0, turns: false },
        ..Setup::default()
    };
    let two = outcome(setup(2, 2, false));
    close(two.calls_per_s, 2.0 / 38e-6, 0.03);
    close(two.cores_busy_share.unwrap(), 1.0, 0.02);
    close(outcome(setup(2, 10, false)).calls_per_s, 2.0 / 38e-6, 0.03);
    close(outcome(setup(2, 2, true)).calls_per_s, 2.0 / 33e-6, 0.03);
    close(outcome(setup(16, 4, false)).calls_per_s, 4.0 / 28e-6, 0.03);
    close(outcome(setup(1, 1, false)).calls_per_s, 1.0 / 38e-6, 0.02);
}

/// What a pass costs is shared by its calls: the busier the server, the cheaper a call.
#[test]
fn calls_are_cheaper_the_more_of_them_come_in_one_pass() {
    let setup = |callers| Setup {
        reader: StageCost { pass_us: 6.4, call_us: 0.2, ..StageCost::default() },
        delay_us: 200.0,
        load: Load::Closed { callers, think_us: 0.0, turns: false },
        ..Setup::default()
    };
    let (few, many) = (outcome(setup(1)).readers, outcome(setup(500)).readers);
    close(few.calls_per_pass.unwrap(), 1.0, 1e-9);
    close(few.cpu_us_per_call.unwrap(), 6.6, 0.001);
    assert!(many.calls_per_pass.unwrap() > 3.0, "{many:?}");
    let expected = 0.2 + 6.4 / many.calls_per_pass.unwrap();
    close(many.cpu_us_per_call.unwrap(), expected, 0.01);
}

#[test]
fn a_handler_that_rests_uses_no_core_and_readers_serve_without_handlers() {
    let resting = Setup {
        cores: Some(1),
        handlers: 4,
        handler: StageCost { paced_us: 1000.0, ..StageCost::default() },
        load: Load::Closed { callers: 40, think_us: 0.0, turns: false },
        ..Setup::default()
    };
    close(outcome(resting).calls_per_s, 4000.0, 0.02);
    let serving = Setup {
        handlers: 0,
        handler: StageCost::per_call(60.0, Spread::Deterministic),
        reader: StageCost::per_call(40.0, Spread::Deterministic),
        ..Setup::default()
    };
    close(outcome(serving).calls_per_s, 10_000.0, 0.02);
    assert_eq!(outcome(serving).handlers, StageUse::default());
}

#[test]
fn calls_neither_vanish_nor_double_and_littles_law_holds() {
    let setup = Setup {
        cores: Some(2),
        readers: 3,
        client: StageCost { pass_us: 3.0, call_us: 1.0, ..StageCost::default() },
        reader: StageCost { pass_us: 5.0, call_us: 2.0, ..StageCost::default() },
        handler: StageCost::per_call(4.0, Spread::Exponential),
        delay_us: 50.0,
        load: Load::Closed { callers: 77, think_us: 300.0, turns: true },
        ..Setup::default()
    };
    let found = outcome(setup);
    assert!(found.left_inside <= 77, "{found:?}");
    let round_us = found.response_us.unwrap().mean + 300.0;
    close(found.calls_per_s * round_us / 1e6, 77.0, 0.01);
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_one_another() {
    let setup = Setup { measured_s: 0.3, ..Setup::ticket(3, 10) };
    assert_eq!(outcome(setup), outcome(setup));
    assert_ne!(outcome(setup), outcome(Setup { seed: 2, ..setup }));
}

#[test]
fn an_open_loop_that_overloads_its_server_leaves_calls_behind() {
    let setup = Setup { measured_s: 1.0, ..open(20_000.0) };
    let setup = Setup { reader: StageCost::per_call(100.0, Spread::Deterministic), ..setup };
    let found = outcome(setup);
    close(found.calls_per_s, 10_000.0, 0.02);
    assert!(found.left_inside > 15_000, "{found:?}");
}

#[test]
fn settings_out_of_range_are_refused_in_one_line() {
    let good = Setup::ticket(1, 10);
    for bad in [
        Setup { readers: 0, ..good },
        Setup { clients: 0, ..good },
        Setup { cores: Some(0), ..good },
        Setup { delay_us: f64::NAN, ..good },
        Setup { measured_s: 0.0, ..good },
        Setup { measured_s: -1.0, ..good },
        Setup { load: Load::Closed { callers: 0, think_us: 0.0, turns: true }, ..good },
        Setup { load: Load::Open { calls_per_s: 0.0, poisson: true }, ..good },
        Setup { client: StageCost { paced_us: 1.0, ..StageCost::default() }, ..good },
        Setup { delay_us: 0.0, reader: StageCost::default(), ..good },
    ] {
        let error = run(&bad).unwrap_err();
        assert!(!error.is_empty() && !error.contains('\n'), "{error}");
    }
    assert!(good.check().is_ok());
}
