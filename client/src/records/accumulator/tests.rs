//! What the accumulator does, by its numbers.

use super::*;
use crate::options::Arrivals;
use crate::pacing::Pace;
use proptest::prelude::*;

fn settings(streams: usize, batch: u64, call: u64, buffer: u64, rate: Option<f64>) -> Settings {
    let pace = rate.map(|calls_per_s| Pace {
        calls_per_s,
        arrivals: Arrivals::Uniform,
        workers: streams as u64,
        calls: None,
        seed: 0,
    });
    Settings {
        streams,
        record_len: 16,
        batch_bytes: 16 * batch,
        call_bytes_max: 16 * call,
        buffer_bytes: 16 * buffer,
        pace,
        records: None,
    }
}

fn alone(settings: &Settings, connections: usize) -> Accumulator {
    let place = WorkerPlace { index: 0, workers: 1, connections, all_connections: connections };
    Accumulator::new(settings, place, 0)
}

fn call(accumulator: &mut Accumulator, connection: usize) -> Content {
    let mut call = Content::default();
    accumulator.fill(connection, &mut call);
    call
}

/// Stream, first record and number of each batch.
fn shape(call: &Content) -> Vec<(u64, u64, usize)> {
    call.batches.iter().map(|batch| (batch.stream, batch.first, batch.records)).collect()
}

#[test]
fn streams_and_connections_are_dealt_to_workers_as_connections_are() {
    let settings = settings(10, 1, 1, 100, None);
    let homes = |index| {
        let connections = (index..3).step_by(2).count();
        let place = WorkerPlace { index, workers: 2, connections, all_connections: 3 };
        let accumulator = Accumulator::new(&settings, place, 0);
        let homes = accumulator.streams.iter().map(|stream| (stream.id, stream.connection));
        homes.collect::<Vec<_>>()
    };
    assert_eq!(homes(0), [(0, 0), (2, 1), (3, 0), (5, 1), (6, 0), (8, 1), (9, 0)]);
    assert_eq!(homes(1), [(1, 0), (4, 0), (7, 0)]);
}

#[test]
fn where_there_is_always_one_more_the_buffer_is_filled_and_filled_again() {
    let mut streams = alone(&settings(3, 4, 10, 21, None), 1);
    assert!(streams.create(5, |_| (true, true)));
    assert_eq!((streams.waiting(), streams.held()), (21, 21));
    let first = call(&mut streams, 0);
    assert_eq!(shape(&first), [(0, 0, 4), (1, 0, 4)], "a third batch has no room as a whole");
    let second = call(&mut streams, 0);
    assert_eq!(shape(&second), [(2, 0, 4), (0, 4, 3), (1, 4, 3)]);
    streams.create(6, |_| (true, true));
    assert_eq!((streams.waiting(), streams.held()), (3, 21), "what is in flight is held");
    assert_eq!(streams.ended(&first, true), 0);
    streams.create(7, |_| (true, true));
    assert_eq!((streams.waiting(), streams.held()), (11, 21));
    assert_eq!(shape(&call(&mut streams, 0)), [(2, 4, 3), (0, 7, 4)]);
}

#[test]
fn due_records_that_find_no_room_come_late_and_count_from_when_they_were_due() {
    // One record of each of two streams every 200 ns; two of a stream are held at most.
    let mut streams = alone(&settings(2, 4, 8, 4, Some(1e7)), 1);
    assert!(streams.create(1000, |due_ns| (true, due_ns >= 200)));
    assert_eq!((streams.waiting(), streams.next_due_ns()), (4, u64::MAX), "both are full");
    let first = call(&mut streams, 0);
    let run = |due_ns, measured| Run { due_ns, records: 1, measured };
    assert_eq!(first.runs, [run(0, false), run(200, true), run(100, false), run(300, true)]);
    streams.ended(&first, true);
    assert_eq!((streams.next_due_ns(), streams.owed(1000)), (400, 6));
    streams.create(1500, |_| (true, true));
    assert_eq!((streams.waiting(), streams.held_back()), (4, (4, 1100)));
}

#[test]
fn streams_of_a_lost_connection_end_with_it() {
    for rate in [None, Some(1e9)] {
        let mut streams = alone(&settings(4, 2, 8, 40, rate), 2);
        streams.create(1000, |_| (true, true));
        let under_way = call(&mut streams, 1);
        let waiting = streams.waiting();
        let unsent = streams.lose(1);
        assert!(waiting - unsent >= streams.waiting());
        assert_eq!(unsent > 0, rate.is_some(), "where there is always one more, none is missing");
        assert!(!streams.is_ready(1));
        streams.ended(&under_way, false);
        streams.create(2000, |_| (true, true));
        assert!(!streams.is_ready(1), "{rate:?}");
        assert_eq!(streams.lose(1), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_record_leaves_once_in_order_within_all_bounds(
        streams in 1usize..6, batch in 1u64..5, call_max in 5u64..12, per_stream in 1u64..9,
        scheduled: bool, steps in prop::collection::vec((0u64..400, any::<bool>()), 1..60),
    ) {
        let buffer = per_stream * streams as u64;
        let rate = scheduled.then_some(2e7);
        let mut accumulator = alone(&settings(streams, batch, call_max, buffer, rate), 1);
        let (mut now, mut created, mut sent) = (0, 0, 0);
        let mut next = vec![0; streams];
        let mut under_way = VecDeque::new();
        for (wait, answer) in steps {
            now += wait;
            let before = accumulator.waiting();
            accumulator.create(now, |_| (true, true));
            created += accumulator.waiting() - before;
            prop_assert!(accumulator.held() <= buffer);
            let call = call(&mut accumulator, 0);
            prop_assert!(call.records as u64 <= call_max);
            prop_assert_eq!(call.runs.iter().map(|run| run.records).sum::<usize>(), call.records);
            for batch_of in &call.batches {
                prop_assert!(batch_of.records as u64 <= batch);
                prop_assert_eq!(batch_of.first, next[batch_of.stream as usize]);
                next[batch_of.stream as usize] += batch_of.records as u64;
            }
            sent += call.records as u64;
            under_way.push_back(call);
            if answer {
                prop_assert_eq!(accumulator.ended(&under_way.pop_front().unwrap(), true), 0);
            }
            let held: u64 = under_way.iter().map(|call| call.records as u64).sum();
            prop_assert_eq!(accumulator.waiting(), created - sent);
            prop_assert_eq!(accumulator.held(), accumulator.waiting() + held);
        }
    }
}
