//! The mailbox and its coalesced wake-up: whatever is in it, the reader is awake or will be.

use super::kernel::Kernel;
use super::{holds, holds_large, rejects};
use crate::mailbox::{ConnectionId, Delivery, Mailbox, Notice};
use crate::mutant::Mutant;
use crate::sync::Arc;
use loom::thread::{self, JoinHandle};

/// Connections are numbers here.
type Number = u32;

/// A reader's poll and its mailbox.
struct Office {
    kernel: Kernel,
    mailbox: Arc<Mailbox<Number>>,
}

impl Office {
    fn new(capacity: usize) -> Office {
        let kernel = Kernel::new(0);
        assert!(kernel.poll().writable, "a socket's first edge, which is not what this is about");
        let mailbox = Arc::new(Mailbox::new(capacity, Box::new(kernel.clone())));
        Office { kernel, mailbox }
    }

    /// A listener that delivers `fresh`; returns those that came back.
    fn listener(&self, fresh: &'static [Number]) -> JoinHandle<Vec<Number>> {
        let mailbox = Arc::clone(&self.mailbox);
        let deliver = move |fresh: &Number| mailbox.deliver(*fresh).err();
        thread::spawn(move || fresh.iter().filter_map(deliver).collect())
    }

    /// A handler that leaves one notice.
    fn notifier(&self, notice: Notice) -> JoinHandle<()> {
        let mailbox = Arc::clone(&self.mailbox);
        thread::spawn(move || mailbox.notify(notice))
    }

    /// The reader: sleeps, and looks into the mailbox only when woken.
    fn read_until(&self, is_enough: impl Fn(&Delivery<Number>) -> bool) -> Delivery<Number> {
        let mut delivery = Delivery::default();
        while !is_enough(&delivery) {
            assert!(self.kernel.poll().woken);
            self.mailbox.collect(&mut delivery);
        }
        delivery
    }
}

fn sorted(fresh: impl IntoIterator<Item = Number>) -> Vec<Number> {
    let mut fresh: Vec<_> = fresh.into_iter().collect();
    fresh.sort_unstable();
    fresh
}

/// Two listeners with two connections each, and a mailbox for so many.
fn every_connection_arrives(capacity: usize) {
    let office = Office::new(capacity);
    let listeners = [office.listener(&[1, 2]), office.listener(&[3, 4])];
    let delivery = office.read_until(|delivery| delivery.fresh.len() == 4);
    for listener in listeners {
        assert_eq!(listener.join().unwrap(), [0; 0], "nobody stopped the reader");
    }
    assert_eq!(sorted(delivery.fresh), [1, 2, 3, 4]);
}

/// Two handlers and a listener whose connections do not fit at once.
fn every_notice_arrives() {
    const BOTH: [Notice; 2] = [Notice::Resume(ConnectionId(1)), Notice::Finished(ConnectionId(2))];
    let office = Office::new(1);
    let notifiers = BOTH.map(|notice| office.notifier(notice));
    let listener = office.listener(&[1, 2]);
    let delivery = office.read_until(|all| all.fresh.len() == 2 && all.notices.len() == 2);
    for notifier in notifiers {
        notifier.join().unwrap();
    }
    assert_eq!(listener.join().unwrap(), [0; 0], "nobody stopped the reader");
    assert_eq!(delivery.fresh, [1, 2]);
    assert!(BOTH.iter().all(|notice| delivery.notices.contains(notice)), "lost and doubled");
}

/// The reader is stopped at any time: it hears of it, no listener waits for ever, and each
/// connection is either in the reader's hands or came back.
fn a_stop_ends_everybody() {
    let office = Office::new(1);
    let listeners = [office.listener(&[1, 2]), office.listener(&[3])];
    let stopper = {
        let mailbox = Arc::clone(&office.mailbox);
        thread::spawn(move || mailbox.stop())
    };
    let delivery = office.read_until(|delivery| delivery.stopping);
    stopper.join().unwrap();
    let returned = listeners.into_iter().flat_map(|listener| listener.join().unwrap());
    assert_eq!(sorted(returned.chain(delivery.fresh)), [1, 2, 3]);
}

#[test]
fn every_connection_arrives_at_capacity_1() {
    holds_large(|| every_connection_arrives(1));
}

/// With one wake-up for two listeners that waited for the same room, the second waited for ever.
#[test]
fn every_connection_arrives_at_capacity_2() {
    holds(|| every_connection_arrives(2));
}

#[test]
fn every_notice_arrives_and_every_connection() {
    holds_large(every_notice_arrives);
}

#[test]
fn a_stop_ends_everybody_at_any_time() {
    holds_large(a_stop_ends_everybody);
}

#[test]
fn mutant_wake_answered_late() {
    rejects(Mutant::WakeAnsweredLate, "deadlock", every_notice_arrives);
}

#[test]
fn mutant_woken_before_push() {
    rejects(Mutant::WokenBeforePush, "deadlock", every_notice_arrives);
}

#[test]
fn mutant_room_for_one() {
    rejects(Mutant::RoomForOne, "deadlock", || every_connection_arrives(2));
}
