//! The replicator's inbox: whatever is in it, the replicator is awake or will be.

use super::kernel::Kernel;
use super::{holds, holds_large, rejects};
use crate::mutant::Mutant;
use crate::replica_inbox::{Charged, NotTaken, Orders, ReplicaInbox};
use crate::sync::Arc;
use loom::thread::{self, JoinHandle};

/// Calls are numbers here, and weigh one byte each.
impl Charged for u32 {
    fn bytes(&self) -> usize {
        1
    }
}

struct Office {
    kernel: Kernel,
    inbox: Arc<ReplicaInbox<u32>>,
}

impl Office {
    fn new(bytes_max: usize) -> Office {
        let kernel = Kernel::new(0);
        assert!(kernel.poll().writable, "a socket's first edge, which is not what this is about");
        let inbox = Arc::new(ReplicaInbox::new(bytes_max, Box::new(kernel.clone())));
        Office { kernel, inbox }
    }

    /// A handler that hands over `calls` one by one; returns those that were not taken.
    fn handler(&self, calls: &'static [u32]) -> JoinHandle<Vec<u32>> {
        let inbox = Arc::clone(&self.inbox);
        thread::spawn(move || {
            let mut refused = Vec::new();
            for call in calls {
                let mut offered = vec![*call];
                if inbox.offer(&mut offered).is_err() {
                    refused.append(&mut offered);
                }
            }
            refused
        })
    }

    /// The replicator: sleeps, and looks into the inbox only when woken.
    fn replicate_until(&self, is_enough: impl Fn(&[u32], Orders) -> bool) -> Vec<u32> {
        let (mut calls, mut orders) = (Vec::new(), Orders::Serve);
        while !is_enough(&calls, orders) {
            assert!(self.kernel.poll().woken);
            orders = self.inbox.collect(&mut calls);
        }
        calls
    }
}

fn every_call_arrives() {
    let office = Office::new(10);
    let handlers = [office.handler(&[1, 2]), office.handler(&[3])];
    let mut calls = office.replicate_until(|calls, _| calls.len() == 3);
    for handler in handlers {
        assert_eq!(handler.join().unwrap(), [0; 0], "there is room for all");
    }
    calls.sort_unstable();
    assert_eq!(calls, [1, 2, 3]);
}

/// Stopped at any time: each call is with the replicator or was refused.
fn a_stop_loses_no_call() {
    let office = Office::new(10);
    let handlers = [office.handler(&[1, 2]), office.handler(&[3])];
    let stopper = {
        let inbox = Arc::clone(&office.inbox);
        thread::spawn(move || inbox.stop())
    };
    let mut calls = office.replicate_until(|_, orders| orders == Orders::End);
    stopper.join().unwrap();
    calls.extend(handlers.into_iter().flat_map(|handler| handler.join().unwrap()));
    calls.sort_unstable();
    assert_eq!(calls, [1, 2, 3]);
    assert_eq!(office.inbox.offer(&mut vec![4]), Err(NotTaken::Stopping));
}

#[test]
fn every_call_arrives_at_the_replicator() {
    holds(every_call_arrives);
}

#[test]
fn a_stop_loses_no_call_at_any_time() {
    holds_large(a_stop_loses_no_call);
}

#[test]
fn mutant_offered_after_wake() {
    rejects(Mutant::OfferedAfterWake, "deadlock", every_call_arrives);
}
