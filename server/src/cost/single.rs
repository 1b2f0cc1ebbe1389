//! Single costs: one draw for each call, and how it is paid.

use super::{Cost, Spread};
use echo_common::cpu_time;
use echo_common::growing_time::GrowingTime;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Exp1, LogNormal};

/// How a single cost lies to its mean: a factor whose mean is 1.
enum Law {
    Constant,
    Exponential,
    LogNormal(LogNormal<f64>),
}

/// One thread's source of single costs.
pub(crate) struct Sampler {
    mean: GrowingTime,
    law: Law,
    random: SmallRng,
}

impl Sampler {
    /// Threads differ by `seed`, runs do not.
    pub(crate) fn new(cost: Cost, seed: u64) -> Sampler {
        let law = match cost.spread {
            Spread::Deterministic => Law::Constant,
            Spread::Exponential => Law::Exponential,
            Spread::LogNormal(cv) => {
                Law::LogNormal(LogNormal::from_mean_cv(1.0, cv).expect("the variation is positive"))
            }
        };
        Sampler { mean: cost.mean, law, random: SmallRng::seed_from_u64(seed) }
    }

    /// The cost of the next call, with so many bytes of payload, in nanoseconds.
    pub(crate) fn next_of_ns(&mut self, payload: usize) -> u64 {
        let factor: f64 = match &self.law {
            Law::Constant => 1.0,
            Law::Exponential => Exp1.sample(&mut self.random),
            Law::LogNormal(law) => law.sample(&mut self.random),
        };
        (self.mean.of_ns(payload as f64) * factor) as u64
    }

    /// The same at a stage that does not look at payloads.
    pub(crate) fn next_ns(&mut self) -> u64 {
        debug_assert!(self.mean.per_kib.is_zero(), "the options refuse such a cost");
        self.next_of_ns(0)
    }
}

/// Burns `ns` of the calling thread's CPU time, however often it is put aside meanwhile.
pub(crate) fn spin(ns: u64) {
    let until_ns = cpu_time::thread_cpu_ns().saturating_add(ns);
    while cpu_time::thread_cpu_ns() < until_ns {
        std::hint::spin_loop();
    }
}

/// A virtual single server: it serves in order of arrival, and is never idle while a call waits.
///
/// Being late in noticing a call's end costs the call, not the rate: the next one began when the
/// virtual server was free and not when somebody looked.
pub(crate) struct VirtualServer {
    sampler: Sampler,
    free_at_ns: u64,
}

impl VirtualServer {
    pub(crate) fn new(cost: Cost, seed: u64) -> VirtualServer {
        VirtualServer { sampler: Sampler::new(cost, seed), free_at_ns: 0 }
    }

    /// When a call that arrived at `arrived_ns`, with so many bytes of payload, is done.
    pub(crate) fn finish_of_ns(&mut self, arrived_ns: u64, payload: usize) -> u64 {
        let cost_ns = self.sampler.next_of_ns(payload);
        self.free_at_ns = self.free_at_ns.max(arrived_ns).saturating_add(cost_ns);
        self.free_at_ns
    }

    /// The same at a stage that does not look at payloads.
    pub(crate) fn finish_ns(&mut self, arrived_ns: u64) -> u64 {
        self.free_at_ns = self.free_at_ns.max(arrived_ns).saturating_add(self.sampler.next_ns());
        self.free_at_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_the_mean_and_the_variation_asked_for() {
        for (text, payload, mean_us, cv) in [
            ("spin:50us", 0, 50.0, 0.0),
            ("spin:50us:exp", 0, 50.0, 1.0),
            ("spin:50us:lognormal:0.5", 0, 50.0, 0.5),
            ("spin:50us:lognormal:0.5", 5000, 50.0, 0.5),
            ("spin:40us+8us/KiB:exp", 10 << 10, 120.0, 1.0),
            ("spin:0+8us/KiB:lognormal:0.5", 1000, 7.8125, 0.5),
        ] {
            let mut sampler = Sampler::new(text.parse().unwrap(), 7);
            let n = 200_000;
            let samples: Vec<f64> = (0..n).map(|_| sampler.next_of_ns(payload) as f64).collect();
            let mean = samples.iter().sum::<f64>() / f64::from(n);
            let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
            assert!((mean / mean_us / 1e3 - 1.0).abs() < 0.02, "{text}: mean {mean}");
            let variation = variance.sqrt() / mean;
            assert!((variation - cv).abs() < 0.03, "{text}: {variation}");
        }
    }

    #[test]
    fn a_cost_that_grows_with_the_payload_counts_every_byte() {
        let mut sampler = Sampler::new("paced:400us+8us/KiB".parse().unwrap(), 1);
        for (payload, us) in
            [(0, 400.0), (128, 401.0), (1024, 408.0), (1536, 412.0), (1 << 20, 8592.0)]
        {
            assert_eq!(sampler.next_of_ns(payload) as f64 / 1e3, us, "{payload} bytes");
        }
        let mut server = VirtualServer::new("paced:0+1us/KiB".parse().unwrap(), 1);
        assert_eq!(server.finish_of_ns(5_000, 2048), 7_000);
        assert_eq!(server.finish_of_ns(5_000, 0), 7_000, "what has no bytes costs nothing");
        assert_eq!(server.finish_of_ns(9_000, 512), 9_500);
    }

    #[test]
    fn a_virtual_server_is_busy_while_calls_wait_and_idle_otherwise() {
        let mut server = VirtualServer::new("paced:10us".parse().unwrap(), 1);
        assert_eq!(server.finish_ns(1_000), 11_000);
        assert_eq!(server.finish_ns(1_000), 21_000, "waits for the first");
        assert_eq!(server.finish_ns(50_000), 60_000, "finds the server idle");
    }

    #[test]
    fn spinning_burns_cpu_time() {
        let before_ns = cpu_time::thread_cpu_ns();
        spin(3_000_000);
        assert!(cpu_time::thread_cpu_ns() - before_ns >= 3_000_000);
    }
}
