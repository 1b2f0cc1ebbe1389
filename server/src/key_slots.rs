//! Which handler a key belongs to: a public hash over 65,536 slots, which the handlers share out
//! evenly.
//!
//! As Pulsar's Key_Shared subscriptions do it: the slot is the 32-bit Murmur3 hash (seed 0) of the
//! key's 8 bytes, big-endian, modulo 65,536, and handler h of H has the slots from 65,536 h / H on.
//! Anybody can compute where a call goes, and it does not change while a server runs.

/// Slots that keys fall into.
pub const SLOTS: u32 = 1 << 16;

/// See the module's text.
#[derive(Clone, Copy, Debug)]
pub struct KeySlots {
    handlers: u32,
}

impl KeySlots {
    /// Slots for so many handlers, at least one and at most as many as there are slots.
    pub fn new(handlers: usize) -> KeySlots {
        assert!((1..=SLOTS as usize).contains(&handlers), "{handlers} handlers share the slots");
        KeySlots { handlers: handlers as u32 }
    }

    /// The handler that executes the calls of `key`.
    #[inline]
    pub fn handler_of(&self, key: u64) -> usize {
        let slot = murmur3(key) % SLOTS;
        (u64::from(slot) * u64::from(self.handlers) / u64::from(SLOTS)) as usize
    }
}

/// The 32-bit Murmur3 hash, seed 0, of the key's bytes in big-endian order.
pub fn murmur3(key: u64) -> u32 {
    let mut hash = 0u32;
    // The hash reads its input as little-endian words.
    for word in [(key >> 32) as u32, key as u32].map(u32::swap_bytes) {
        let mixed = word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        hash = (hash ^ mixed).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    hash ^= 8;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_murmur3_as_others_compute_it() {
        // By an independent implementation that gives 0x248bfa47 for "hello".
        for (key, hash) in [
            (0, 0x6385_2afc),
            (1, 0x68d9_bd7e),
            (2, 0x7296_9023),
            (999_999, 0xab1a_b6e7),
            (u64::MAX, 0x6275_64e8),
            (u64::from_be_bytes(*b"abcdefgh"), 0x49dd_ccc4),
        ] {
            assert_eq!(murmur3(key), hash, "{key}");
        }
    }

    #[test]
    fn keys_spread_evenly_over_any_number_of_handlers() {
        for handlers in [1, 2, 3, 7, 20, 100] {
            let slots = KeySlots::new(handlers);
            let mut keys = vec![0u32; handlers];
            (0..100_000).for_each(|key| keys[slots.handler_of(key)] += 1);
            let even = 100_000.0 / handlers as f64;
            let spread = keys.iter().map(|&n| (f64::from(n) / even - 1.0).abs());
            let worst = spread.fold(0.0, f64::max);
            assert!(worst < 0.15, "{handlers} handlers: {worst} off");
        }
    }

    #[test]
    fn every_handler_has_slots_as_long_as_there_are_enough() {
        let slots = KeySlots::new(4096);
        let mut has = vec![false; 4096];
        (0..200_000).for_each(|key| has[slots.handler_of(key)] = true);
        assert!(has.iter().all(|&has| has));
    }
}
