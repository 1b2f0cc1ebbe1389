//! The outbox over a socket that does everything the kernel may do, from one seed: handlers answer,
//! the reader reads and sees edges, and more of both happens while a write runs.

use super::*;
use crate::fake::{Dice, FakeSocket, for_each_seed};
use crate::mailbox::{Delivery, Wake};
use bytes::Bytes;
use std::collections::VecDeque;

struct Sleepless;

impl Wake for Sleepless {
    fn wake(&self) {}
}

fn mailbox() -> Arc<Mailbox> {
    Arc::new(Mailbox::new(1, Box::new(Sleepless)))
}

/// What the outbox was told and what it did.
struct Book {
    dice: Dice,
    /// Calls read and not answered, with their charge.
    in_flight: VecDeque<(u32, usize)>,
    /// Everything that was taken over, in order.
    appended: Vec<u8>,
    replies: u64,
    /// Replies dropped by an append or by the close.
    dropped: u64,
    flushed: Flushed,
    paused: bool,
    closed: bool,
    /// The reader may end the connection while a write runs.
    closes_during_writes: bool,
    finished: u32,
    armed: u32,
}

struct World {
    outbox: Arc<Outbox>,
    socket: FakeSocket,
    mailbox: Arc<Mailbox>,
    book: Arc<Mutex<Book>>,
}

const LIMITS: FlowLimits = FlowLimits { calls_max: 8, owed_bytes_max: 50_000, notes_idle: true };

/// Some handler answers the oldest run. Returns whether it has to flush.
fn answer(outbox: &Outbox, book: &mut Book) -> bool {
    let Some((count, charge)) = book.in_flight.pop_front() else { return false };
    let mut replies = Owed::default();
    let before = book.appended.len();
    for _ in 0..count {
        let length = match book.dice.within(0..16) {
            0 => book.dice.within(0..40_000),
            1 => 16 << 10,
            _ => book.dice.within(0..200),
        };
        let body = book.dice.bytes(length);
        let header = book.dice.bytes(16);
        book.appended.extend_from_slice(&header);
        match book.dice.within(0..3) {
            0 => {
                replies.push_repeated(&header, &body, 2 * length);
                book.appended.extend_from_slice(&body.repeat(2));
            }
            1 => {
                replies.push_large(&header, Bytes::from(body.clone()));
                book.appended.extend_from_slice(&body);
            }
            _ => {
                replies.push_small(&header, &body);
                book.appended.extend_from_slice(&body);
            }
        }
    }
    book.replies += u64::from(count);
    let appended = outbox.append(&mut replies, count, charge);
    assert!(replies.is_empty(), "the replies were taken over");
    if let Appended::Closed(dropped) = appended {
        assert_eq!(dropped, count);
        book.dropped += u64::from(dropped);
        book.appended.truncate(before);
    }
    appended == Appended::Flush
}

/// The reader takes what the bounds allow.
fn read(outbox: &Outbox, book: &mut Book) {
    if book.paused || book.closed {
        return;
    }
    let allowance = outbox.allowance_or_pause();
    book.paused = allowance.is_used_up();
    if book.paused {
        assert!(
            !book.in_flight.is_empty() || outbox.owed_bytes() > 0,
            "reading pauses for nothing"
        );
        return;
    }
    let count = 1 + book.dice.within(0..allowance.calls.min(3) as usize) as u32;
    let charge = book.dice.within(1..9000);
    outbox.begin(count, charge);
    book.in_flight.push_back((count, charge));
    let total: u32 = book.in_flight.iter().map(|(count, _)| count).sum();
    assert!(total <= LIMITS.calls_max, "{total} calls in flight");
}

fn close(outbox: &Outbox, book: &mut Book) {
    book.closed = true;
    book.dropped += u64::from(outbox.close());
}

impl World {
    fn new(dice: &mut Dice) -> World {
        let socket = FakeSocket::new(dice.within(0..1 << 30) as u64);
        let mailbox = mailbox();
        let transport = Box::new(socket.clone());
        let outbox = Outbox::new(transport, ConnectionId(7), Arc::clone(&mailbox), LIMITS);
        let book = Book {
            dice: Dice::new(dice.within(0..1 << 30) as u64),
            in_flight: VecDeque::new(),
            appended: Vec::new(),
            replies: 0,
            dropped: 0,
            flushed: Flushed::default(),
            paused: false,
            closed: false,
            closes_during_writes: false,
            finished: 0,
            armed: 0,
        };
        let (outbox, book) = (Arc::new(outbox), Arc::new(Mutex::new(book)));
        let world = World { outbox, socket, mailbox, book };
        world.let_others_work_during_writes();
        world
    }

    /// While one thread is inside a write, others append, edges come, the connection may end.
    fn let_others_work_during_writes(&self) {
        let (outbox, book) = (Arc::downgrade(&self.outbox), Arc::clone(&self.book));
        let socket = self.socket.clone();
        self.socket.during_writes(move || {
            let Some(outbox) = outbox.upgrade() else { return };
            let mut book = lock(&book);
            match book.dice.within(0..8) {
                0 | 1 => assert!(!answer(&outbox, &mut book), "two writers were appointed"),
                2 => read(&outbox, &mut book),
                4 if book.closes_during_writes && book.dice.one_in(4) => close(&outbox, &mut book),
                3 => {
                    let room = book.dice.within(1..20_000);
                    if socket.drain(room) {
                        let flushed = outbox.writable(&mut Owed::default());
                        assert_eq!(flushed, Flushed::default(), "a second writer ran");
                    }
                }
                _ => {}
            }
        });
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        lock(&self.book)
    }

    fn flush(&self) {
        let mut scratch = Owed::default();
        let flushed = self.outbox.flush(&mut scratch);
        assert!(scratch.is_empty(), "something stayed in the scratch buffer");
        self.book().flushed.add(flushed);
    }

    fn edge(&self) {
        let mut scratch = Owed::default();
        let flushed = self.outbox.writable(&mut scratch);
        assert!(scratch.is_empty(), "something stayed in the scratch buffer");
        self.book().flushed.add(flushed);
    }

    fn answer(&self) {
        let must_flush = answer(&self.outbox, &mut self.book());
        if must_flush {
            self.flush();
        }
    }

    fn drain(&self, room: usize) {
        if self.socket.drain(room) {
            self.edge();
        }
    }

    fn close(&self) {
        close(&self.outbox, &mut self.book());
    }

    /// What the reader finds in its mailbox.
    fn collect(&self) {
        let mut delivery = Delivery::default();
        self.mailbox.collect(&mut delivery);
        for notice in delivery.notices {
            match notice {
                Notice::Resume(id) => {
                    assert_eq!(id, ConnectionId(7));
                    let was_paused = std::mem::take(&mut self.book().paused);
                    assert!(was_paused, "resumed without having paused");
                }
                Notice::Armed(_) => self.book().armed += 1,
                Notice::Finished(_) => self.book().finished += 1,
                Notice::Broken(_) => {
                    if !self.book().closed {
                        self.close();
                    }
                }
            }
        }
    }

    /// What must hold whenever no writer runs.
    fn check(&self) {
        let (owed, written) = (self.outbox.owed_bytes(), self.socket.written_len());
        let book = self.book();
        assert_eq!(book.flushed.bytes, written as u64);
        if book.closed {
            assert_eq!(owed, 0, "a closed connection owes nothing");
            return;
        }
        assert_eq!(book.appended.len(), written + owed, "appended, and written plus owed");
        if owed > 0 {
            assert!(self.outbox.blocked_since().is_some(), "{owed} bytes wait for nobody");
            assert!(book.armed > 0, "nobody knows that the write side is armed");
        }
        if book.paused {
            assert!(!book.in_flight.is_empty() || owed > 0, "paused, with nothing to wait for");
        }
    }

    /// One thing of many happens.
    fn step(&self, dice: &mut Dice) {
        match dice.within(0..10) {
            0..3 => read(&self.outbox, &mut self.book()),
            3..6 => self.answer(),
            6 | 7 => self.drain(dice.within(1..30_000)),
            // Readiness is a hint: it may come for nothing.
            8 => self.edge(),
            _ => {}
        }
        self.collect();
        self.check();
    }

    /// Everything is answered, the peer takes everything.
    fn come_to_rest(&self) {
        self.drain(usize::MAX / 4);
        while !self.book().in_flight.is_empty() {
            self.answer();
            self.drain(usize::MAX / 4);
            self.collect();
            self.check();
        }
        self.drain(usize::MAX / 4);
        self.collect();
        self.check();
    }

    fn add_up(&self) {
        let book = self.book();
        let flushed = &book.flushed;
        assert_eq!(book.replies, flushed.replies + flushed.undeliverable + book.dropped);
        let written = self.socket.written();
        assert!(book.appended.starts_with(&written), "frames were interleaved or torn");
    }
}

#[test]
fn every_reply_leaves_once_in_order_however_the_socket_takes_it() {
    for_each_seed(256, |dice| {
        let world = World::new(dice);
        (0..300).for_each(|_| world.step(dice));
        world.come_to_rest();
        world.add_up();
        let book = world.book();
        assert_eq!(book.appended.len(), world.socket.written_len());
        assert!(!book.paused, "reading was never resumed");
        assert_eq!((book.flushed.undeliverable, book.dropped), (0, 0));
        drop(book);
        assert!(world.outbox.idle_since().is_some());
        assert_eq!(world.outbox.blocked_since(), None);
    });
}

#[test]
fn replies_are_sent_or_dropped_once_whenever_the_connection_breaks() {
    for_each_seed(256, |dice| {
        let world = World::new(dice);
        let (how, end) = (dice.within(0..4), dice.within(0..200));
        match how {
            0 => world.socket.make_fragile(),
            1 => world.book().closes_during_writes = true,
            _ => {}
        }
        for step in 0..200 {
            world.step(dice);
            if step == end {
                match how {
                    2 => world.close(),
                    3 => world.socket.reset(),
                    _ => {}
                }
            }
        }
        world.come_to_rest();
        world.add_up();
    });
}

#[test]
fn the_end_is_told_once_when_the_last_reply_has_left() {
    for_each_seed(256, |dice| {
        let world = World::new(dice);
        (0..dice.within(0..100)).for_each(|_| world.step(dice));
        let idle = world.book().in_flight.is_empty() && world.outbox.owed_bytes() == 0;
        let at_once = world.outbox.finish();
        assert_eq!(at_once, idle);
        // Nothing is read any more.
        let stop_reading = |world: &World| world.book().paused = true;
        stop_reading(&world);
        let mut rounds = 0;
        while !world.book().in_flight.is_empty() || world.outbox.owed_bytes() > 0 {
            assert_eq!(world.book().finished, 0, "told too early");
            rounds += 1;
            assert!(rounds < 10_000, "what is owed never leaves");
            world.answer();
            world.drain(dice.within(1..50_000));
            world.collect();
            stop_reading(&world);
        }
        world.collect();
        assert_eq!(world.book().finished, u32::from(!at_once));
    });
}

#[test]
fn a_refusal_leaves_without_being_a_reply() {
    let world = World::new(&mut Dice::new(1));
    world.drain(1000);
    let mut refusal = Owed::default();
    refusal.push_unanswered(b"go away");
    assert_eq!(world.outbox.append_refusal(&mut refusal), Appended::Flush);
    world.flush();
    assert_eq!(world.socket.written(), b"go away");
    assert_eq!(world.book().flushed.replies, 0);
}

#[test]
fn closing_shuts_the_socket_and_tells_whoever_looks() {
    let world = World::new(&mut Dice::new(1));
    assert!(!world.outbox.has_ended());
    world.close();
    assert!(world.outbox.has_ended());
    assert_eq!(world.socket.shut(), Some(Shutdown::Both));
}
