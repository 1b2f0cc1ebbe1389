//! The dispatcher against the cycle law, the published rates and the reference's model.

use super::*;
use crate::model::batch::Cycle;
use crate::stats::fit;

fn outcome(setup: Setup) -> Outcome {
    run(&setup).unwrap()
}

fn rate(setup: Setup) -> f64 {
    outcome(setup).calls_per_s
}

fn close(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() <= share, "found {found}, expected {expected}");
}

/// Pulsar's pull request 26744: 99,756 messages/s at 100 and 106,624 at 500, slower at 1,000; its
/// pull request 26743 without extension: 1,000 equals 500.
#[test]
fn the_published_rates_come_out() {
    for extend in [true, false] {
        close(rate(Setup::ticket(100, extend)), 99_756.0, 0.03);
        close(rate(Setup::ticket(500, extend)), 106_624.0, 0.03);
    }
    let [at_500, at_1000] = [500, 1000].map(|batch| outcome(Setup::ticket(batch, true)));
    assert!(at_1000.calls_per_s < 0.9 * at_500.calls_per_s, "{at_1000:?}");
    assert!(at_1000.extended_share.unwrap() > at_500.extended_share.unwrap());
    let [at_500, at_1000] = [500, 1000].map(|batch| rate(Setup::ticket(batch, false)));
    close(at_1000, at_500, 0.02);
}

/// The reference's own model, with its 8.9 us on the serial thread: 100.5k, 108.0k, 110.7k, and
/// 56.0k at 1,000 with extension, 112.0k without.
#[test]
fn the_references_model_comes_out() {
    let setup = |batch, extend| Setup { serial_us: 8.9, ..Setup::ticket(batch, extend) };
    for (batch, on, off) in
        [(100, 100.5, 100.5), (250, 108.0, 108.0), (500, 110.7, 110.7), (1000, 56.0, 112.0)]
    {
        close(rate(setup(batch, true)), on * 1e3, 0.02);
        close(rate(setup(batch, false)), off * 1e3, 0.02);
    }
}

#[test]
fn small_batches_obey_the_cycle_law() {
    let points: Vec<(f64, f64)> = [10, 20, 50, 100, 250]
        .into_iter()
        .map(|batch| (f64::from(batch), rate(Setup::ticket(batch, false))))
        .collect();
    let law = Cycle { gap_s: 115e-6, call_s: 8.8e-6, serial_s: 9.12e-6 };
    for (batch, found) in &points {
        close(*found, law.calls_per_s(*batch), 0.02);
    }
    let fit = fit::batch(&points).unwrap();
    assert!(fit.r_squared >= 0.98, "{fit:?}");
    close(fit.call_s, 8.8e-6, 0.05);
}

/// The knee sits where the batch exceeds the backlog at read time: fewer calls move it down.
#[test]
fn the_decline_begins_earlier_with_fewer_calls_in_flight() {
    let at = |batch, calls| rate(Setup { load: Load::Closed(calls), ..Setup::ticket(batch, true) });
    for (calls, last_good, first_bad) in [(500, 100, 250), (1000, 250, 500), (2000, 500, 1000)] {
        let (good, bad) = (at(last_good, calls), at(first_bad, calls));
        assert!(bad < 0.6 * good, "{calls} calls: {good} at {last_good}, {bad} at {first_bad}");
    }
}

#[test]
fn a_stall_leaves_a_backlog_that_drains() {
    let calm = Setup { load: Load::Open(30_000.0), ..Setup::ticket(500, false) };
    let stalled = Setup { stall_every_us: 1e6, stall_us: 50e3, ..calm };
    let (calm, stalled) = (outcome(calm), outcome(stalled));
    close(calm.calls_per_s, 30_000.0, 0.02);
    close(stalled.calls_per_s, 30_000.0, 0.02);
    assert!(calm.backlog_max < 200, "{calm:?}");
    assert!((1400..=2000).contains(&stalled.backlog_max), "{stalled:?}");
    assert!(stalled.response_us.unwrap().p99 > 20e3);
}

#[test]
fn the_same_seed_gives_the_same_run_and_nonsense_is_refused() {
    let setup = Setup { measured_s: 0.2, ..Setup::ticket(100, true) };
    assert_eq!(run(&setup), run(&setup));
    assert!(run(&Setup { batch: 0, ..setup }).is_err());
    assert!(run(&Setup { gap_us: -1.0, ..setup }).is_err());
    assert!(run(&Setup { load: Load::Closed(0), ..setup }).is_err());
    assert!(run(&Setup { load: Load::Open(f64::NAN), ..setup }).is_err());
}
