//! Operational laws: what holds of any system whose arrivals are its departures, whatever the
//! distributions. Denning and Buzen, "The Operational Analysis of Queueing Network Models",
//! Computing Surveys 10 (1978); Lazowska, Zahorjan, Graham and Sevcik, "Quantitative System
//! Performance" (1984), chapters 3 and 5.

/// The utilisation law: the share of time that a stage of `servers` equal servers is busy when
/// each call holds one of them for `demand_s`. Above 1 means that the rate is impossible.
pub fn busy_share(calls_per_s: f64, demand_s: f64, servers: f64) -> f64 {
    calls_per_s * demand_s / servers
}

/// The utilisation law read backwards: the time for which each call holds a stage's server.
pub fn demand_s(busy_share: f64, servers: f64, calls_per_s: f64) -> f64 {
    busy_share * servers / calls_per_s
}

/// Little's law: how many calls are inside when `calls_per_s` enter and each stays `response_s`.
pub fn calls_inside(calls_per_s: f64, response_s: f64) -> f64 {
    calls_per_s * response_s
}

/// The response time law of a closed loop: R = N / X - Z, for `callers` that think for `think_s`
/// between calls.
pub fn response_s(callers: f64, calls_per_s: f64, think_s: f64) -> f64 {
    callers / calls_per_s - think_s
}

/// The rate that a stage of `servers` equal servers cannot pass; infinite if it demands nothing.
pub fn most_calls_per_s(demand_s: f64, servers: f64) -> f64 {
    if demand_s > 0.0 { servers / demand_s } else { f64::INFINITY }
}

/// The upper bound of a closed loop's throughput: X <= min(1 / D_max, N / (D + Z)), for the
/// largest demand of a single server and the sum of all demands.
pub fn closed_loop_bound(callers: f64, think_s: f64, demand_sum_s: f64, demand_max_s: f64) -> f64 {
    most_calls_per_s(demand_max_s, 1.0).min(most_calls_per_s(demand_sum_s + think_s, callers))
}

/// N* = (D + Z) / D_max: with more callers than this some of them must queue.
pub fn callers_that_queue(think_s: f64, demand_sum_s: f64, demand_max_s: f64) -> f64 {
    (demand_sum_s + think_s) / demand_max_s
}

/// What `readers` readers are worth if `connections` are dealt to them evenly and carry equal
/// load: c / ceil(c / r). The reader with most connections is full first. 0 without either.
pub fn effective_readers(readers: u64, connections: u64) -> f64 {
    if readers == 0 || connections == 0 {
        return 0.0;
    }
    connections as f64 / connections.div_ceil(readers) as f64
}

/// The law of a window: X(k) = min(k / (RTT + S), m / S), where a connection has `window` calls in
/// flight, the server works on `at_once` of them at a time (1 is Kafka's muting), `rtt_s` is the
/// time outside the server and `service_s` the time inside. Exact if both times are constant.
pub fn window(window: f64, rtt_s: f64, service_s: f64, at_once: f64) -> f64 {
    most_calls_per_s(rtt_s + service_s, window).min(most_calls_per_s(service_s, at_once))
}

/// The window from which on the law of a window is flat: k* = m (RTT + S) / S.
pub fn window_knee(rtt_s: f64, service_s: f64, at_once: f64) -> f64 {
    at_once * (rtt_s + service_s) / service_s
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found} {expected}");
    }

    /// HDDS-11225 before: 35,200 calls/s at 2.61 ms with 100 callers; its single reader was
    /// saturated.
    #[test]
    fn the_tickets_numbers_obey_the_laws() {
        close(calls_inside(35_200.0, 2.61e-3), 91.872);
        let think_s = 100.0 / 35_200.0 - 2.61e-3;
        close(response_s(100.0, 35_200.0, think_s), 2.61e-3);
        assert!((demand_s(1.0, 1.0, 35_200.0) * 1e6 - 28.4).abs() < 0.01);
        assert!((busy_share(133_983.0, 28.4e-6, 10.0) - 0.38).abs() < 0.001);
    }

    #[test]
    fn connections_that_do_not_divide_evenly_make_a_staircase() {
        let steps = |clients| (1..=10).map(move |r| effective_readers(r, clients));
        let ten = [1.0, 2.0, 2.5, 10.0 / 3.0, 5.0, 5.0, 5.0, 5.0, 5.0, 10.0];
        let thirty = [1.0, 2.0, 3.0, 3.75, 5.0, 6.0, 6.0, 7.5, 7.5, 10.0];
        assert!(steps(10).eq(ten) && steps(30).eq(thirty));
        assert_eq!(effective_readers(64, 10), 10.0);
        assert_eq!(effective_readers(0, 10), 0.0);
        assert_eq!(effective_readers(4, 0), 0.0);
    }

    /// Lazowska et al., chapter 5: demands 0.605, 2.1 and 1.35 s, 15 s of thinking.
    #[test]
    fn asymptotes_are_those_of_the_textbook() {
        let (sum, max) = (0.605 + 2.1 + 1.35, 2.1);
        close(closed_loop_bound(1.0, 15.0, sum, max), 1.0 / 19.055);
        close(closed_loop_bound(100.0, 15.0, sum, max), 1.0 / 2.1);
        assert!((callers_that_queue(15.0, sum, max) - 9.07).abs() < 0.01);
        assert_eq!(most_calls_per_s(0.0, 1.0), f64::INFINITY);
    }

    #[test]
    fn a_muted_connection_has_its_knee_at_one_and_the_ratio_of_the_times() {
        for (ratio, gains) in [
            (0.25, [1.25, 1.25, 1.25, 1.25]),
            (1.0, [2.0, 2.0, 2.0, 2.0]),
            (2.0, [2.0, 3.0, 3.0, 3.0]),
            (4.0, [2.0, 3.0, 4.0, 5.0]),
        ] {
            let alone = window(1.0, ratio, 1.0, 1.0);
            for (k, gain) in (2..).zip(gains) {
                close(window(f64::from(k), ratio, 1.0, 1.0) / alone, gain);
            }
            close(window_knee(ratio, 1.0, 1.0), 1.0 + ratio);
        }
        close(window(8.0, 4.0, 1.0, 2.0), 8.0 / 5.0);
        close(window(20.0, 4.0, 1.0, 2.0), 2.0);
    }
}
