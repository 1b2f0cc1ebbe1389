//! Admits or refuses connections; a slot comes back when dropped.

use crate::mutant::Mutant;
use crate::sync::{Arc, Mutex, lock};
use std::collections::HashMap;
use std::net::IpAddr;

/// Why a connection was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `--max-connections` are open.
    Full,
    /// `--max-connections-per-peer` are open from this address.
    PeerFull,
    /// The address is in no `--allow` network.
    NotAllowed,
}

#[derive(Default)]
struct Open {
    total: usize,
    /// Since the start.
    admitted: u64,
    /// Only addresses with open connections, so never more than `total` entries.
    per_peer: HashMap<IpAddr, usize>,
}

/// The connection limits and what is open under them.
pub struct Admission {
    total_max: usize,
    per_peer_max: Option<usize>,
    allow: Vec<ipnet::IpNet>,
    open: Mutex<Open>,
}

impl Admission {
    /// Limits in connections; an empty `allow` admits every address.
    pub fn new(
        total_max: usize,
        per_peer_max: Option<usize>,
        allow: Vec<ipnet::IpNet>,
    ) -> Arc<Admission> {
        Arc::new(Admission { total_max, per_peer_max, allow, open: Mutex::default() })
    }

    /// Takes a slot for a connection from `peer`.
    pub fn admit(self: &Arc<Self>, peer: IpAddr) -> Result<Slot, Refusal> {
        let peer = peer.to_canonical();
        if !self.allow.is_empty() && !self.allow.iter().any(|net| net.contains(&peer)) {
            return Err(Refusal::NotAllowed);
        }
        let mut open = lock(&self.open);
        if open.total >= self.total_max {
            return Err(Refusal::Full);
        }
        open = Mutant::PlaceTakenLate.lets_go(&self.open, open);
        if let Some(max) = self.per_peer_max {
            let count = open.per_peer.entry(peer).or_insert(0);
            if *count >= max {
                return Err(Refusal::PeerFull);
            }
            *count += 1;
        }
        open.total += 1;
        open.admitted += 1;
        Ok(Slot { admission: Arc::clone(self), peer })
    }

    /// Connections open now.
    pub fn open(&self) -> usize {
        lock(&self.open).total
    }

    /// Connections that were ever open, in the order of the listener: who is answered on one finds
    /// all those here that came before it, whichever reader has them.
    pub fn admitted(&self) -> u64 {
        lock(&self.open).admitted
    }
}

/// One connection's place under the limits; dropping it gives the place back, exactly once.
pub struct Slot {
    admission: Arc<Admission>,
    peer: IpAddr,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = lock(&self.admission.open);
        open.total -= 1;
        if self.admission.per_peer_max.is_some()
            && let Some(count) = open.per_peer.get_mut(&self.peer)
        {
            *count -= 1;
            if *count == 0 {
                open.per_peer.remove(&self.peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    fn peer(last: u8) -> IpAddr {
        Ipv4Addr::new(127, 0, 0, last).into()
    }

    #[test]
    fn a_refused_peer_does_not_cost_the_others() {
        let admission = Admission::new(8, Some(4), vec![]);
        let kept: Vec<_> = (0..4).map(|_| admission.admit(peer(1)).ok().unwrap()).collect();
        assert_eq!(admission.admit(peer(1)).err(), Some(Refusal::PeerFull));
        let others: Vec<_> = (0..4).map(|_| admission.admit(peer(2)).ok().unwrap()).collect();
        assert_eq!(admission.admit(peer(3)).err(), Some(Refusal::Full));
        drop(kept);
        assert!(admission.admit(peer(1)).is_ok());
        drop(others);
        assert_eq!((admission.open(), admission.admitted()), (0, 9));
    }

    #[test]
    fn addresses_outside_the_allow_list_are_refused_in_both_spellings() {
        let admission = Admission::new(8, None, vec!["127.0.0.2/32".parse().unwrap()]);
        assert_eq!(admission.admit(peer(1)).err(), Some(Refusal::NotAllowed));
        assert!(admission.admit(peer(2)).is_ok());
        assert!(admission.admit("::ffff:127.0.0.2".parse().unwrap()).is_ok());
    }

    proptest! {
        #[test]
        fn free_plus_used_is_the_limit(
            steps in prop::collection::vec((any::<bool>(), 0u8..4), 0..200),
        ) {
            let admission = Admission::new(10, Some(3), vec![]);
            let mut held: Vec<Slot> = vec![];
            for (enter, who) in steps {
                if enter {
                    let of_peer = held.iter().filter(|slot| slot.peer == peer(who)).count();
                    match admission.admit(peer(who)) {
                        Ok(slot) => held.push(slot),
                        Err(Refusal::Full) => prop_assert_eq!(held.len(), 10),
                        Err(_) => prop_assert_eq!(of_peer, 3),
                    }
                } else if !held.is_empty() {
                    held.swap_remove(usize::from(who) % held.len());
                }
                prop_assert_eq!(admission.open(), held.len());
            }
        }
    }
}
