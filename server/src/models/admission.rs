//! Places under the connection limits: never more out than there are, and each comes back once.

use super::{holds, rejects};
use crate::admission::Admission;
use crate::mutant::Mutant;
use crate::sync::Arc;
use loom::thread;
use std::net::{IpAddr, Ipv4Addr};

const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Three threads that each take the one place there is, if they get it, and give it back.
fn a_place_comes_back_once() {
    let admission = Admission::new(1, None, Vec::new());
    let visit = {
        let admission = Arc::clone(&admission);
        move || {
            let slot = admission.admit(PEER);
            assert!(admission.open() <= 1, "more connections than places");
            slot.is_ok()
        }
    };
    let threads = [thread::spawn(visit.clone()), thread::spawn(visit.clone())];
    let mut admitted = visit();
    for thread in threads {
        admitted |= thread.join().unwrap();
    }
    assert!(admitted, "there was a place for the first");
    assert_eq!(admission.open(), 0);
}

#[test]
fn a_place_comes_back_exactly_once() {
    holds(a_place_comes_back_once);
}

#[test]
fn mutant_place_taken_late() {
    rejects(Mutant::PlaceTakenLate, "more connections than places", a_place_comes_back_once);
}
