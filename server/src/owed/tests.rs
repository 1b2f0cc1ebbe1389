//! Replies on their way out, against a plain list of bytes.

use super::*;
use crate::fake::{Dice, for_each_seed};

/// What an [`Owed`] should hold.
#[derive(Default)]
struct Model {
    bytes: Vec<u8>,
    /// Where each reply ends, counted from the first byte ever added.
    ends: Vec<usize>,
    /// Words that are filled in at the write, by where they begin.
    words: Vec<usize>,
    gone: usize,
}

impl Model {
    fn add(&mut self, parts: &[&[u8]], is_reply: bool) {
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        if is_reply {
            self.ends.push(self.bytes.len());
        }
    }

    fn replies_left(&self) -> u32 {
        self.ends.iter().filter(|end| **end > self.gone).count() as u32
    }
}

/// Adds something of a random kind and size to both.
fn push(dice: &mut Dice, owed: &mut Owed, model: &mut Model) {
    let length = match dice.within(0..20) {
        0 => dice.within(0..80_000),
        1 => LARGE_BODY - 1 + dice.within(0..3),
        2 => 0,
        _ => dice.within(0..300),
    };
    let (header, body) = (dice.bytes(16), dice.bytes(length));
    if dice.one_in(6) {
        owed.expect_write_time(12, 0);
        model.words.push(model.bytes.len() + 12);
    }
    match dice.within(0..7) {
        0 => {
            owed.push_large(&header, Bytes::from(body.clone()));
            model.add(&[&header, &body], true);
        }
        1 => {
            let asked = dice.within(0..1000);
            owed.push_repeated(&header, &body, asked);
            let endless = if body.is_empty() { vec![0] } else { body };
            let expected: Vec<u8> = endless.into_iter().cycle().take(asked).collect();
            model.add(&[&header, &expected], true);
        }
        2 => {
            owed.push_unanswered(&header);
            model.add(&[&header], false);
        }
        3 => {
            owed.reserve(length);
            owed.push_small(&header, &body);
            model.add(&[&header, &body], true);
        }
        4 => {
            owed.push_written(|out| {
                out.extend_from_slice(&header);
                out.extend_from_slice(&body);
            });
            model.add(&[&header, &body], true);
        }
        5 if length > 0 => {
            let block_len = [1000, 20_000][dice.within(0..2)];
            let block = Bytes::from(dice.bytes(block_len));
            owed.push_filled(&header, &block, length);
            let expected: Vec<u8> = block.iter().copied().cycle().take(length).collect();
            model.add(&[&header, &expected], true);
        }
        _ if owed.segments.is_empty() => {
            owed.push_in_place(BytesMut::from(&[&header[..], &body].concat()[..]), 1);
            model.add(&[&header, &body], true);
        }
        _ => {
            owed.push_small(&header, &body);
            model.add(&[&header, &body], true);
        }
    }
}

/// Writes with random luck; checks what is reported against the model, and what left.
fn write(dice: &mut Dice, owed: &mut Owed, model: &mut Model, out: &mut Vec<u8>) {
    let before = owed.replies();
    let mut luck = dice.within(0..6);
    let (written, result) = owed.write_to(|pieces| {
        let total: usize = pieces.iter().map(|piece| piece.len()).sum();
        assert!(total > 0, "an empty write says nothing");
        if luck == 0 {
            return match dice.within(0..3) {
                0 => Ok(0),
                1 => Err(io::ErrorKind::WouldBlock.into()),
                _ => Err(io::ErrorKind::ConnectionReset.into()),
            };
        }
        if dice.one_in(4) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        luck -= 1;
        let n = if dice.one_in(2) { total } else { dice.within(1..total + 1) };
        let mut left = n;
        for piece in pieces {
            out.extend_from_slice(&piece[..left.min(piece.len())]);
            left -= left.min(piece.len());
        }
        Ok(n)
    });
    model.gone += written.bytes;
    assert_eq!(out.len(), model.gone);
    assert_eq!(owed.len(), model.bytes.len() - model.gone);
    // Replies that were gathered in one buffer count when all of it has left: never too early.
    assert_eq!(written.replies + owed.replies(), before);
    assert!(owed.replies() >= model.replies_left());
    match result {
        Ok(()) => assert!(owed.is_empty(), "it stopped without a reason"),
        Err(error) => {
            assert_ne!(error.kind(), io::ErrorKind::Interrupted);
            assert!(!owed.is_empty());
        }
    }
}

#[test]
fn what_was_added_leaves_once_in_order_and_is_counted_at_every_step() {
    for_each_seed(256, |dice| {
        let (mut owed, mut model, mut out) = (Owed::default(), Model::default(), Vec::new());
        for _ in 0..60 {
            match dice.within(0..4) {
                0 => write(dice, &mut owed, &mut model, &mut out),
                1 => {
                    // What somebody else has collected is moved behind.
                    let mut later = Owed::default();
                    let mut added = Model { gone: 0, ..Model::default() };
                    (0..dice.within(0..6)).for_each(|_| push(dice, &mut later, &mut added));
                    let at = model.bytes.len();
                    owed.append(&mut later);
                    assert!(later.is_empty() && later.replies() == 0);
                    model.bytes.extend_from_slice(&added.bytes);
                    model.ends.extend(added.ends.iter().map(|end| end + at));
                    model.words.extend(added.words.iter().map(|word| word + at));
                }
                _ => push(dice, &mut owed, &mut model),
            }
            assert_eq!(owed.len(), model.bytes.len() - model.gone);
        }
        let rest = owed.replies();
        let (written, result) = owed.write_to(|pieces| {
            out.extend_from_slice(&pieces[0]);
            Ok(pieces[0].len())
        });
        assert!(result.is_ok() && owed.is_empty());
        assert_eq!((written.replies, owed.replies()), (rest, 0));
        for word in model.words {
            let now = out[word..word + 4].to_vec();
            model.bytes[word..word + 4].copy_from_slice(&now);
        }
        assert!(out == model.bytes, "other bytes left than were added");
    });
}

#[test]
fn clearing_forgets_everything_and_keeps_a_buffer() {
    let mut owed = Owed::default();
    assert!(!owed.has_spare());
    owed.push_small(b"head", b"body");
    owed.push_large(b"head", Bytes::from(vec![1; 20_000]));
    owed.expect_write_time(0, 0);
    owed.clear();
    assert!((owed.len(), owed.replies(), owed.is_empty(), owed.has_spare()) == (0, 0, true, true));
    owed.push_small(b"next", b"!");
    let mut out = Vec::new();
    let (written, _) = owed.write_to(|pieces| {
        out.extend_from_slice(&pieces[0]);
        Ok(pieces[0].len())
    });
    assert_eq!((out.as_slice(), written.replies), (&b"next!"[..], 1));
}

#[test]
fn a_buffer_that_grew_large_is_not_kept() {
    let mut owed = Owed::default();
    owed.push_repeated(b"head", b"x", 4 << 20);
    owed.write_to(|pieces| Ok(pieces.iter().map(|piece| piece.len()).sum())).1.expect("written");
    assert!(!owed.has_spare(), "4 MiB are kept for the next replies");
}

/// What is kept for a peer that takes nothing held on to a block of 64 KiB for a reply of 1 KiB,
/// and to a reader's buffer of 256 KiB for one of 16 KiB.
#[test]
fn compacting_lets_go_of_shared_blocks_and_changes_no_byte() {
    let block = Bytes::from(vec![7; 256 << 10]);
    let mut owed = Owed::default();
    owed.push_in_place(BytesMut::from(&block[100..1200]), 3);
    owed.push_large(b"", block.slice(0..LARGE_BODY));
    owed.push_large(b"", block.slice(0..KEPT_MIN));
    owed.push_filled(b"", &block.slice(0..9), 13);
    owed.push_copied(b"abc", 1);
    let (bytes, replies) = (owed.len(), owed.replies());
    owed.compact();
    assert_eq!((owed.len(), owed.replies()), (bytes, replies));
    let kept = owed.segments.iter().filter(|segment| matches!(segment.bytes, Piece::Large(_)));
    assert_eq!(kept.count(), 1, "only what is not much smaller than its buffer is kept");
    let filled = owed.segments.iter().filter(|segment| matches!(segment.bytes, Piece::Block(_)));
    assert_eq!(filled.count(), 2, "a block that stays costs nothing");
    let mut written = 0;
    let (done, result) = owed.write_to(|pieces| {
        let n = pieces.iter().map(|piece| piece.len()).sum::<usize>();
        written += n;
        Ok(n)
    });
    assert!(result.is_ok());
    assert_eq!((written, done.replies), (1100 + LARGE_BODY + KEPT_MIN + 13 + 3, 7));
}
