//! What a call carries, and what its reply did to it.

use super::record::{Name, Shape};
use super::stream::Run;
use std::collections::{BTreeMap, HashMap};

/// The records of a call that come from one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    /// By its place among those of the worker.
    pub(super) at: usize,
    pub(super) stream: u64,
    pub(super) first: u64,
    pub(super) records: usize,
}

/// Everything in a call; it keeps its memory for the next one.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) batches: Vec<Batch>,
    /// The times of the records, in the same order.
    pub(super) runs: Vec<Run>,
    pub(super) records: usize,
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Right,
    /// It came back with other bytes.
    WrongBytes,
    /// It did not come back.
    Missing,
}

/// What a reply that is not right did to its call.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// By record, in the call's order.
    pub(super) fates: Vec<Fate>,
    /// Records that came back more often than once.
    pub(super) duplicates: u64,
    /// Records that are not of this call.
    pub(super) foreign: u64,
    /// Records that came back behind a later one of their stream.
    pub(super) out_of_order: u64,
    /// The first of all that, in words, and the record that it was about, if it was about one.
    pub(super) first: Option<String>,
    pub(super) first_name: Option<Name>,
}

impl Content {
    pub(super) fn clear(&mut self) {
        self.batches.clear();
        self.runs.clear();
        self.records = 0;
    }

    /// Cuts it to its first `records`, which are `measured` or not.
    pub(super) fn cut(&mut self, records: usize, measured: bool) {
        self.records = records;
        let (mut left, mut left_of_runs) = (records, records);
        self.batches.retain_mut(|batch| {
            batch.records = batch.records.min(left);
            left -= batch.records;
            batch.records > 0
        });
        self.runs.retain_mut(|run| {
            run.records = run.records.min(left_of_runs);
            run.measured = measured;
            left_of_runs -= run.records;
            run.records > 0
        });
    }

    /// Whether any of its records is measured; then the call is, too.
    pub(super) fn is_measured(&self) -> bool {
        self.runs.iter().any(|run| run.measured)
    }

    pub(super) fn measured_records(&self) -> u64 {
        self.runs.iter().filter(|run| run.measured).map(|run| run.records as u64).sum()
    }

    /// Appends the call's payload.
    pub(super) fn put(&self, shape: &Shape, out: &mut Vec<u8>) {
        self.names().for_each(|name| shape.put(name, out));
    }

    /// Whether `payload` is what the right reply has.
    pub(super) fn matches(&self, shape: &Shape, payload: &[u8]) -> bool {
        let came = payload.chunks_exact(shape.len());
        payload.len() == self.records * shape.len()
            && self.names().zip(came).all(|(name, bytes)| shape.matches(name, bytes))
    }

    /// Its first record.
    pub(super) fn first(&self) -> Option<Name> {
        self.names().next()
    }

    fn names(&self) -> impl Iterator<Item = Name> + '_ {
        self.batches.iter().flat_map(|batch| {
            let Batch { stream, first, records, .. } = *batch;
            (first..first + records as u64).map(move |sequence| Name { stream, sequence })
        })
    }

    /// Looks into a payload that is not right.
    #[cold]
    pub(super) fn inspect(&self, shape: &Shape, payload: &[u8]) -> Findings {
        let mut found =
            Findings { fates: vec![Fate::Missing; self.records], ..Findings::default() };
        let places: HashMap<Name, usize> =
            self.names().enumerate().map(|(place, name)| (name, place)).collect();
        let mut last: BTreeMap<u64, u64> = BTreeMap::new();
        for bytes in payload.chunks(shape.len()) {
            let name = Shape::name(bytes);
            let Some((name, &place)) = name.and_then(|name| Some((name, places.get(&name)?)))
            else {
                found.foreign += 1;
                found.say(name, || match name {
                    Some(name) => format!("{name}, which the call does not have"),
                    None => "bytes that are no record".to_owned(),
                });
                continue;
            };
            if found.fates[place] != Fate::Missing {
                found.duplicates += 1;
                found.say(Some(name), || format!("{name} twice"));
                continue;
            }
            if shape.matches(name, bytes) {
                found.fates[place] = Fate::Right;
            } else {
                found.fates[place] = Fate::WrongBytes;
                found.say(Some(name), || format!("{name} with other bytes"));
            }
            let last = last.entry(name.stream).or_default();
            if name.sequence < *last {
                found.out_of_order += 1;
                found.say(Some(name), || format!("{name} behind a later one"));
            }
            *last = name.sequence.max(*last);
        }
        if let Some((name, _)) =
            self.names().zip(&found.fates).find(|(_, fate)| **fate == Fate::Missing)
        {
            found.say(Some(name), || format!("a reply without {name}"));
        }
        found
    }
}

impl Findings {
    fn say(&mut self, name: Option<Name>, what: impl FnOnce() -> String) {
        if self.first.is_none() {
            (self.first, self.first_name) = (Some(what()), name);
        }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "record {} of stream {}", self.sequence, self.stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content() -> Content {
        let batch = |stream, first, records| Batch { at: 0, stream, first, records };
        Content { batches: vec![batch(4, 10, 3), batch(9, 0, 2)], runs: Vec::new(), records: 5 }
    }

    fn payload(change: impl FnOnce(&mut Vec<Vec<u8>>)) -> (Shape, Vec<u8>) {
        let shape = Shape::new(40);
        let mut bytes = Vec::new();
        content().put(&shape, &mut bytes);
        let mut records: Vec<Vec<u8>> = bytes.chunks(40).map(<[u8]>::to_vec).collect();
        change(&mut records);
        (shape, records.concat())
    }

    fn check(change: impl FnOnce(&mut Vec<Vec<u8>>), expected: (usize, u64, u64, u64), says: &str) {
        let (shape, payload) = payload(change);
        assert!(!content().matches(&shape, &payload), "{says}");
        let found = content().inspect(&shape, &payload);
        let right = found.fates.iter().filter(|fate| **fate == Fate::Right).count();
        let numbers = (right, found.duplicates, found.foreign, found.out_of_order);
        assert_eq!(numbers, expected, "{says}");
        assert_eq!(found.first.as_deref(), Some(says));
        let named = found.first_name.map(|name| name.to_string());
        assert_eq!(named.is_some_and(|name| says.contains(&name)), !says.contains("no record"));
    }

    #[test]
    fn a_call_that_is_cut_keeps_its_first_records() {
        let run = |due_ns, records, measured| Run { due_ns, records, measured };
        let mut call = content();
        call.runs = vec![run(1, 2, false), run(2, 2, false), run(3, 1, false)];
        call.cut(4, true);
        assert_eq!(call.batches.iter().map(|b| b.records).collect::<Vec<_>>(), [3, 1]);
        assert_eq!(call.runs, [run(1, 2, true), run(2, 2, true)]);
        call.cut(1, true);
        assert_eq!((call.records, call.batches.len(), call.measured_records()), (1, 1, 1));
        call.cut(0, true);
        assert!(call.batches.is_empty() && call.runs.is_empty());
    }

    #[test]
    fn the_right_reply_is_right() {
        let (shape, payload) = payload(|_| {});
        assert!(content().matches(&shape, &payload));
    }

    #[test]
    fn every_fault_is_told_from_the_others() {
        check(|r| r[1][20] ^= 1, (4, 0, 0, 0), "record 11 of stream 4 with other bytes");
        check(|r| drop(r.remove(3)), (4, 0, 0, 0), "a reply without record 0 of stream 9");
        check(|r| r.push(r[4].clone()), (5, 1, 0, 0), "record 1 of stream 9 twice");
        check(|r| r.swap(0, 2), (5, 0, 0, 2), "record 11 of stream 4 behind a later one");
        check(|r| r[0][7] = 5, (4, 0, 1, 0), "record 10 of stream 5, which the call does not have");
        check(|r| r[4].truncate(9), (4, 0, 1, 0), "bytes that are no record");
        check(Vec::clear, (0, 0, 0, 0), "a reply without record 10 of stream 4");
    }
}
