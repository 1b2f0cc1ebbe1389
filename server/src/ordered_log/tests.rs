//! The log between two real threads, and what one read takes.

use super::*;
use proptest::prelude::*;
use std::sync::Arc;
use std::thread;

/// A run of numbered calls of one size.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    calls: Vec<u32>,
    size: usize,
    ns: u64,
}

impl Run for Piece {
    fn count(&self) -> u32 {
        self.calls.len() as u32
    }

    fn split_front(&mut self, count: u32) -> Piece {
        let rest = self.calls.split_off(count as usize);
        Piece { calls: std::mem::replace(&mut self.calls, rest), ..*self }
    }
}

impl Entry for Piece {
    fn confirmed_ns(&self) -> u64 {
        self.ns
    }

    fn fitting(&self, calls_max: u32, bytes_max: usize) -> u32 {
        self.count().min(calls_max).min((bytes_max / self.size) as u32)
    }

    fn bytes(&self) -> usize {
        self.size * self.calls.len()
    }
}

fn piece(calls: impl IntoIterator<Item = u32>, size: usize, ns: u64) -> Piece {
    Piece { calls: calls.into_iter().collect(), size, ns }
}

fn numbers(batch: &[Piece]) -> Vec<u32> {
    batch.iter().flat_map(|piece| piece.calls.iter().copied()).collect()
}

const NO_LIMIT: ReadLimit = ReadLimit { calls: u32::MAX, bytes: usize::MAX };

fn filled(pieces: impl IntoIterator<Item = Piece>) -> OrderedLog<Piece> {
    let log = OrderedLog::new(1000);
    let mut pieces = pieces.into_iter().collect();
    assert_eq!(log.append(&mut pieces), Appended::default());
    assert!(pieces.is_empty());
    log
}

#[track_caller]
fn check_read(log: &OrderedLog<Piece>, limit: ReadLimit, until_ns: Option<u64>, calls: &[u32]) {
    let mut batch = Vec::new();
    log.read(limit, until_ns, &mut batch).expect("the log is not closed");
    assert_eq!(numbers(&batch), calls);
}

#[test]
fn a_read_takes_as_many_calls_as_it_may_and_takes_runs_apart() {
    let log = filled([piece(1..=3, 10, 0), piece(4..=6, 10, 0)]);
    check_read(&log, ReadLimit { calls: 4, ..NO_LIMIT }, None, &[1, 2, 3, 4]);
    check_read(&log, ReadLimit { calls: 9, ..NO_LIMIT }, None, &[5, 6]);
    assert_eq!(log.depth(), (0, 6));
}

#[test]
fn bytes_bound_a_read_but_for_its_first_call() {
    let log = filled([piece(1..=3, 10, 0), piece([4], 100, 0), piece([5], 1, 0)]);
    check_read(&log, ReadLimit { bytes: 25, ..NO_LIMIT }, None, &[1, 2]);
    check_read(&log, ReadLimit { bytes: 109, ..NO_LIMIT }, None, &[3]);
    check_read(&log, ReadLimit { bytes: 5, ..NO_LIMIT }, None, &[4]);
    check_read(&log, ReadLimit { bytes: 5, ..NO_LIMIT }, None, &[5]);
}

#[test]
fn a_read_ends_at_its_time_or_with_the_first_call_behind_it() {
    let log = filled([piece([1], 1, 10), piece([2], 1, 20), piece([3], 1, 30), piece([4], 1, 30)]);
    check_read(&log, NO_LIMIT, Some(20), &[1, 2]);
    check_read(&log, NO_LIMIT, Some(25), &[3, 4]);
}

#[test]
fn a_read_says_whether_its_limit_cut_it() {
    let log = filled([piece(1..=5, 10, 0), piece(6..=7, 10, 90)]);
    let is_full =
        |limit, until_ns| log.read(limit, until_ns, &mut Vec::new()).expect("open").is_full;
    assert!(is_full(ReadLimit { calls: 2, ..NO_LIMIT }, None));
    assert!(is_full(ReadLimit { bytes: 15, ..NO_LIMIT }, None));
    assert!(!is_full(NO_LIMIT, Some(0)), "the time cut it");
    assert!(!is_full(NO_LIMIT, None), "there is no more");
}

#[test]
fn a_closed_log_is_read_to_its_end() {
    let log = filled([piece([1], 1, 0)]);
    assert!(log.close());
    check_read(&log, NO_LIMIT, None, &[1]);
    assert_eq!(log.read(NO_LIMIT, None, &mut Vec::new()), None);
    let extension = Extension { batch: vec![piece([2], 1, 0)], at_ns: 0, behind: 0 };
    let refused = log.extend(extension, || panic!("there is nobody to call")).err();
    assert_eq!(numbers(&refused.expect("refused").batch), [2]);
}

#[test]
fn a_full_log_gives_back_what_does_not_fit_while_an_extension_waits() {
    let log = Arc::new(OrderedLog::new(3));
    log.append(&mut [piece(1..=3, 1, 0)].into());
    let mut batch = Vec::new();
    log.read(ReadLimit { calls: 1, ..NO_LIMIT }, None, &mut batch).expect("open");
    let dispatcher = {
        let log = Arc::clone(&log);
        let extension = Extension { batch, at_ns: 0, behind: 0 };
        thread::spawn(move || log.extend(extension, || {}))
    };
    let mut rest = [piece(4..=7, 1, 0)].into();
    // It sleeps for want of room until the extension is asked, or finds it there already.
    assert!(log.append(&mut rest).extension_asked);
    assert_eq!(numbers(rest.make_contiguous()), [5, 6, 7]);
    let extension = log.take_asked().expect("it was asked");
    assert!(!log.close(), "an extension is not done");
    let mut batch = extension.batch;
    assert!(log.read_on(ReadLimit { calls: 3, ..NO_LIMIT }, &mut batch).is_full);
    assert_eq!(numbers(&batch), [1, 2, 3]);
    batch.clear();
    log.finish(Extension { batch, at_ns: 9, behind: 0 });
    let extended = dispatcher.join().expect("no panic").ok().expect("extended");
    assert_eq!((extended.at_ns, extended.batch.len()), (9, 0));
    assert!(log.close());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn calls_come_out_as_they_went_in_between_two_threads(
        sizes in prop::collection::vec((1usize..7, 1usize..20), 1..60),
        capacity in 1usize..30,
        calls in 1u32..12,
        bytes in 1usize..60,
    ) {
        let log = Arc::new(OrderedLog::new(capacity));
        let total: usize = sizes.iter().map(|(count, _)| count).sum();
        let appender = {
            let log = Arc::clone(&log);
            thread::spawn(move || {
                let mut next = 0u32;
                for (count, size) in sizes {
                    let run = piece(next..next + count as u32, size, 0);
                    next += count as u32;
                    let mut entries = [run].into();
                    log.append(&mut entries);
                    assert!(entries.is_empty());
                }
                assert!(log.close());
            })
        };
        let mut seen = Vec::new();
        let mut batch = Vec::new();
        while log.read(ReadLimit { calls, bytes }, None, &mut batch).is_some() {
            assert!((1..=calls).contains(&count_of(&batch)));
            let in_bytes: usize = batch.iter().map(Entry::bytes).sum();
            assert!(in_bytes <= bytes || count_of(&batch) == 1, "{in_bytes} of {bytes}");
            seen.extend(numbers(&batch));
            batch.clear();
        }
        appender.join().expect("no panic");
        prop_assert_eq!(seen, (0..total as u32).collect::<Vec<_>>());
        prop_assert!(log.depth().1 <= capacity);
    }
}
