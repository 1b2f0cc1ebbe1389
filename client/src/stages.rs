//! Stage times: which calls ask the server for them, and what the answers add up to.

use crate::latency::{Latency, Summary};
use echo_common::wire::native::Stages;

/// Picks one call in N by counting down. The countdown varies around N, so that the calls that are
/// picked do not keep time with batches or connections; it is drawn anew for a call that is picked,
/// and costs the others one subtraction.
#[derive(Debug)]
pub(crate) struct Sampler {
    every: u64,
    left: u64,
    state: u64,
    picked: u64,
}

impl Sampler {
    /// A sampler of one call in `every`, or of none.
    pub(crate) fn new(every: Option<u64>, random: u64) -> Sampler {
        let mut sampler =
            Sampler { every: every.unwrap_or(0), left: u64::MAX, state: random, picked: 0 };
        if every.is_some() {
            sampler.left = sampler.countdown();
        }
        sampler
    }

    /// Whether the next call is picked.
    #[inline]
    pub(crate) fn pick(&mut self) -> bool {
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        self.left = self.countdown();
        self.picked += 1;
        true
    }

    /// Whether none of the next `calls` calls is picked; then they are behind.
    #[inline]
    pub(crate) fn passes(&mut self, calls: u64) -> bool {
        let passes = calls < self.left;
        self.left -= if passes { calls } else { 0 };
        passes
    }

    /// Calls that were picked.
    pub(crate) fn picked(&self) -> u64 {
        self.picked
    }

    /// 1 to 2N - 1, N on average.
    #[cold]
    fn countdown(&mut self) -> u64 {
        1 + next_random(&mut self.state) % (2 * self.every - 1).max(1)
    }
}

/// Where the sequence begins that belongs to `--seed` and to one `part` of the run.
pub(crate) fn random_from(seed: u64, part: u64) -> u64 {
    // Without a seed it is the part's own number.
    mixed(seed).wrapping_add(part)
}

/// The next number of a sequence that is the same in every run with the same seed (splitmix64).
pub(crate) fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed(*state)
}

/// Each number has another one; that of 0 is 0.
fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The parts of a call: the server's five stages in order, and the rest, which is what the server
/// did not see of it, client and network.
pub(crate) const PARTS: usize = 6;

/// Where the sampled calls spent their time.
#[derive(Clone, Debug)]
pub(crate) struct StageTimes {
    parts: [Latency; PARTS],
    total: Latency,
    /// Calls that are not in the recorders yet: by the part they were recorded, each time into a
    /// histogram that is not in the cache.
    waiting: Vec<[u64; PARTS + 1]>,
    /// Calls that asked for their stages, those of the warm-up too.
    pub(crate) asked: u64,
    /// Calls that the server cannot have had for so long; the rest counts as 0 then.
    pub(crate) overruns: u64,
    /// Calls that came while their reader was in a pass that had begun before they were sent.
    pub(crate) late: u64,
    /// Calls with a stage of the longest time that a reply can say.
    pub(crate) cut: u64,
}

impl StageTimes {
    /// Nothing sampled.
    pub(crate) fn new() -> StageTimes {
        StageTimes {
            parts: std::array::from_fn(|_| Latency::new()),
            total: Latency::new(),
            waiting: Vec::with_capacity(WAITING_MAX),
            asked: 0,
            overruns: 0,
            late: 0,
            cut: 0,
        }
    }

    /// Adds a call that took `latency_ns`, of which the server had these. A reader counts from the
    /// beginning of its pass for every call that it finds in it: of one that came later, `decoded`
    /// begins here with its sending.
    pub(crate) fn record(&mut self, stages: &Stages, latency_ns: u64) {
        let [decoded, queued, taken, served, written] = stages.all().map(u64::from);
        self.cut += u64::from(stages.all().contains(&u32::MAX));
        let (decoded, rest) = match latency_ns.checked_sub(queued + taken + served + written) {
            None => {
                self.overruns += 1;
                (decoded, 0)
            }
            Some(before) if before < decoded => {
                self.late += 1;
                (before, 0)
            }
            Some(before) => (decoded, before - decoded),
        };
        self.waiting.push([decoded, queued, taken, served, written, rest, latency_ns]);
        if self.waiting.len() == WAITING_MAX {
            self.settle();
        }
    }

    /// Completes the recorders.
    pub(crate) fn settle(&mut self) {
        for (column, recorder) in self.parts.iter_mut().chain([&mut self.total]).enumerate() {
            self.waiting.iter().for_each(|call| recorder.record(call[column]));
            recorder.settle();
        }
        self.waiting.clear();
    }

    /// Adds what another worker sampled and settled.
    pub(crate) fn add(&mut self, other: &StageTimes) {
        for (part, more) in self.parts.iter_mut().zip(&other.parts) {
            part.add(more);
        }
        self.total.add(&other.total);
        self.asked += other.asked;
        self.overruns += other.overruns;
        self.late += other.late;
        self.cut += other.cut;
    }

    /// The figures of each part and of the calls as wholes.
    pub(crate) fn summary(&mut self) -> ([Option<Summary>; PARTS], Option<Summary>) {
        self.settle();
        let parts = self.parts.each_mut().map(Latency::summary);
        (parts, self.total.summary())
    }
}

/// Calls until the recorders are completed; 224 KiB of them.
const WAITING_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_call_in_n_is_picked_and_never_in_step() {
        let picked = |every| {
            let mut sampler = Sampler::new(every, 7);
            (0..1_000_000).filter(|_| sampler.pick()).collect::<Vec<u64>>()
        };
        assert!(picked(None).is_empty());
        assert_eq!(picked(Some(1)).len(), 1_000_000);
        let hundredth = picked(Some(100));
        assert!((9_500..=10_500).contains(&hundredth.len()), "{}", hundredth.len());
        let in_step = hundredth.iter().filter(|index| *index % 10 == 0).count();
        assert!((800..=1_200).contains(&in_step), "{in_step}");
    }

    #[test]
    fn calls_passed_over_at_once_are_those_that_are_not_picked_one_by_one() {
        for every in [None, Some(1), Some(2), Some(30), Some(100)] {
            let (mut all, mut each) = (Sampler::new(every, 7), Sampler::new(every, 7));
            for calls in (0..1_000).map(|turn| turn % 50) {
                let picked = (0..calls).filter(|_| each.pick()).count();
                let passed = all.passes(calls);
                assert_eq!(passed, picked == 0, "{every:?}, {calls} calls");
                let again = if passed { 0 } else { (0..calls).filter(|_| all.pick()).count() };
                assert_eq!(again, picked);
            }
            assert_eq!(all.picked(), each.picked());
        }
    }

    proptest! {
        #[test]
        fn the_parts_of_a_call_add_up_to_its_latency(
            calls in prop::collection::vec((any::<[u16; 5]>(), 0u64..1_000_000), 1..700),
            cut in 0usize..700,
        ) {
            let of = |calls: &[([u16; 5], u64)]| {
                let mut times = StageTimes::new();
                for (ns, rest) in calls {
                    let [a, b, c, d, e] = ns.map(u32::from);
                    let stages = Stages {
                        decoded_ns: a, queued_ns: b, taken_ns: c, served_ns: d, written_ns: e,
                    };
                    let in_server: u64 = ns.iter().map(|&ns| u64::from(ns)).sum();
                    times.record(&stages, in_server + rest);
                }
                times.settle();
                times
            };
            let (a, b) = calls.split_at(cut % calls.len());
            let mut times = of(a);
            times.add(&of(b));
            let (parts, total) = times.summary();
            let sum: f64 = parts.iter().map(|part| part.unwrap().mean).sum();
            let total = total.unwrap();
            prop_assert!((sum - total.mean).abs() < 1e-6 * total.mean.max(1.0));
            prop_assert_eq!((times.overruns, times.late, times.cut), (0, 0, 0));
            prop_assert_eq!(total.count, calls.len() as u64);
        }
    }

    #[test]
    fn a_call_that_came_within_its_readers_pass_was_decoded_from_its_sending_on() {
        let mut times = StageTimes::new();
        let stages = Stages { decoded_ns: 90, taken_ns: 10, ..Stages::default() };
        times.record(&stages, 60);
        let (parts, total) = times.summary();
        let max = |part: usize| parts[part].unwrap().max;
        assert_eq!((max(0), max(2), max(5), total.unwrap().max), (0.05, 0.01, 0.0, 0.06));
        assert_eq!((times.overruns, times.late, times.cut), (0, 1, 0));
    }

    #[test]
    fn stages_behind_the_reader_that_are_longer_than_the_call_leave_no_negative_rest() {
        let mut times = StageTimes::new();
        times.record(&Stages { decoded_ns: 1, taken_ns: 10, ..Stages::default() }, 9);
        let (parts, total) = times.summary();
        let rest = parts[5].unwrap().max;
        assert_eq!((rest, total.unwrap().count, times.overruns, times.late), (0.0, 1, 1, 0));
    }

    #[test]
    fn a_stage_as_long_as_a_reply_can_say_may_have_been_longer() {
        let mut times = StageTimes::new();
        times.record(&Stages { taken_ns: u32::MAX, ..Stages::default() }, 9_000_000_000);
        assert_eq!((times.overruns, times.late, times.cut), (0, 0, 1));
    }
}
