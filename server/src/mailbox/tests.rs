//! The mailbox: wake-ups are few and none is lost, connections wait and come back.

use super::*;
use crate::admission::Admission;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Counts wake-ups, and lets one sleep until there is one more.
#[derive(Default)]
struct Bell {
    rings: std::sync::Mutex<usize>,
    rung: std::sync::Condvar,
}

impl Wake for Arc<Bell> {
    fn wake(&self) {
        *self.rings.lock().unwrap() += 1;
        self.rung.notify_one();
    }
}

impl Bell {
    fn rings(&self) -> usize {
        *self.rings.lock().unwrap()
    }

    fn await_more_than(&self, heard: usize) -> usize {
        *self.rung.wait_while(self.rings.lock().unwrap(), |rings| *rings <= heard).unwrap()
    }
}

fn mailbox(capacity: usize) -> (Mailbox, Arc<Bell>) {
    let bell = Arc::<Bell>::default();
    (Mailbox::new(capacity, Box::new(Arc::clone(&bell))), bell)
}

/// Connections to nowhere.
struct Source {
    listener: TcpListener,
    admission: Arc<Admission>,
}

impl Source {
    fn new() -> Source {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        Source { listener, admission: Admission::new(100, None, vec![]) }
    }

    fn fresh(&self) -> Fresh {
        let address = self.listener.local_addr().unwrap();
        let stream = std::net::TcpStream::connect(address).unwrap();
        stream.set_nonblocking(true).unwrap();
        let peer = stream.local_addr().unwrap();
        let slot = self.admission.admit(peer.ip()).ok().unwrap();
        Fresh { stream: TcpStream::from_std(stream), peer, slot }
    }
}

#[test]
fn many_notices_are_one_wake_up_until_they_are_collected() {
    let (mailbox, bell) = mailbox(1);
    let mut delivery = Delivery::default();
    for round in 1..4 {
        for id in 0..5 {
            mailbox.notify(Notice::Resume(ConnectionId(id)));
        }
        assert_eq!(bell.rings(), round);
        delivery.notices.clear();
        mailbox.collect(&mut delivery);
        assert_eq!(delivery.notices, [0, 1, 2, 3, 4].map(|id| Notice::Resume(ConnectionId(id))));
    }
    delivery.notices.clear();
    mailbox.collect(&mut delivery);
    assert!(delivery.notices.is_empty() && !delivery.stopping && !delivery.cut);
}

#[test]
fn no_notice_is_lost_between_those_who_leave_them_and_one_who_sleeps() {
    const EACH: usize = 20_000;
    let (mailbox, bell) = mailbox(1);
    let mut seen = [0; 3];
    thread::scope(|scope| {
        for who in 0..seen.len() {
            let mailbox = &mailbox;
            scope.spawn(move || {
                for count in 0..EACH {
                    mailbox.notify(Notice::Armed(ConnectionId(who * EACH + count)));
                }
            });
        }
        let (mut heard, mut delivery) = (0, Delivery::default());
        while seen.iter().sum::<usize>() < 3 * EACH {
            heard = bell.await_more_than(heard);
            mailbox.collect(&mut delivery);
            for notice in delivery.notices.drain(..) {
                let Notice::Armed(ConnectionId(number)) = notice else { panic!("{notice:?}") };
                assert_eq!(number % EACH, seen[number / EACH], "out of order");
                seen[number / EACH] += 1;
            }
        }
    });
    assert_eq!(seen, [EACH; 3]);
}

#[test]
fn connections_wait_for_room_and_the_end_gives_them_back() {
    let source = Source::new();
    let (mailbox, _bell) = mailbox(2);
    assert!(matches!(mailbox.deliver(source.fresh()), Ok(false)));
    assert!(matches!(mailbox.deliver(source.fresh()), Ok(false)));
    let inside = AtomicUsize::new(0);
    thread::scope(|scope| {
        let third = scope.spawn(|| {
            inside.store(1, Ordering::Release);
            mailbox.deliver(source.fresh()).ok()
        });
        while inside.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        let mut delivery = Delivery::default();
        while delivery.fresh.len() < 3 {
            mailbox.collect(&mut delivery);
            thread::yield_now();
        }
        assert!(third.join().unwrap().is_some());
        delivery.fresh.clear();
        assert_eq!(source.admission.open(), 0, "slots come back with their connections");

        assert!(mailbox.deliver(source.fresh()).is_ok());
        assert!(mailbox.deliver(source.fresh()).is_ok());
        let late = scope.spawn(|| mailbox.deliver(source.fresh()).is_err());
        mailbox.stop();
        assert!(late.join().unwrap(), "delivered to a mailbox that is closed");
        assert!(mailbox.deliver(source.fresh()).is_err());
        mailbox.collect(&mut delivery);
        assert_eq!((delivery.fresh.len(), delivery.stopping, delivery.cut), (2, true, false));
    });
}

#[test]
fn stopping_and_cutting_wake_and_are_told() {
    let (mailbox, bell) = mailbox(1);
    let mut delivery = Delivery::default();
    mailbox.stop();
    mailbox.collect(&mut delivery);
    assert_eq!((bell.rings(), delivery.stopping, delivery.cut), (1, true, false));
    mailbox.cut();
    mailbox.collect(&mut delivery);
    assert_eq!((bell.rings(), delivery.stopping, delivery.cut), (2, true, true));
}
