//! Bytes under way in one direction: they come out as they went in, a fixed time later.

use std::collections::VecDeque;

/// Pieces that a line tells apart; a piece is what was put in at one moment.
const PIECES_MAX: usize = 65_536;

/// See the module's text.
#[derive(Debug)]
pub(super) struct Line {
    bytes: VecDeque<u8>,
    /// When each further piece is due and how long it is; times never fall.
    pieces: VecDeque<(u64, usize)>,
    /// Bytes at the front that are due.
    due: usize,
    bytes_max: usize,
}

impl Line {
    pub(super) fn new(bytes_max: usize) -> Line {
        Line { bytes: VecDeque::new(), pieces: VecDeque::new(), due: 0, bytes_max }
    }

    /// How many bytes more it takes.
    pub(super) fn room(&self) -> usize {
        if self.pieces.len() < PIECES_MAX { self.bytes_max - self.bytes.len() } else { 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Puts in bytes, no more than there is room for, which are due at `due_ns`.
    pub(super) fn put(&mut self, bytes: &[u8], due_ns: u64) {
        assert!(bytes.len() <= self.room(), "a line is not filled beyond its bound");
        self.bytes.extend(bytes);
        self.pieces.push_back((due_ns, bytes.len()));
    }

    /// Notes what is due at `now_ns`.
    pub(super) fn ripen(&mut self, now_ns: u64) {
        while let Some(&(due_ns, len)) = self.pieces.front()
            && due_ns <= now_ns
        {
            self.due += len;
            self.pieces.pop_front();
        }
    }

    /// Bytes that are due, as far as they lie in one piece; empty if none are.
    pub(super) fn front(&self) -> &[u8] {
        let (front, _) = self.bytes.as_slices();
        &front[..front.len().min(self.due)]
    }

    /// Takes out the first `count` of the bytes that are due.
    pub(super) fn consume(&mut self, count: usize) {
        assert!(count <= self.due, "bytes stay until they are due");
        self.bytes.drain(..count);
        self.due -= count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_went_in_comes_out_in_order_and_not_before_its_time(
            steps in prop::collection::vec((0u64..50, 0usize..40), 1..60), delay in 0u64..100,
        ) {
            let mut line = Line::new(300);
            let (mut now, mut put, mut got) = (0, Vec::new(), Vec::new());
            // When each byte may come out.
            let mut due = Vec::new();
            for (wait, len) in steps {
                now += wait;
                line.ripen(now);
                while !line.front().is_empty() {
                    let taken = line.front().to_vec();
                    line.consume(taken.len());
                    got.extend(taken);
                }
                prop_assert_eq!(got.len(), due.iter().filter(|&&at| at <= now).count());
                let bytes: Vec<u8> = (put.len()..).map(|i| i as u8).take(len).collect();
                let bytes = &bytes[..len.min(line.room())];
                line.put(bytes, now + delay);
                due.resize(due.len() + bytes.len(), now + delay);
                put.extend_from_slice(bytes);
                prop_assert!(put.len() - got.len() <= 300);
            }
            prop_assert_eq!(&got[..], &put[..got.len()]);
        }
    }
}
