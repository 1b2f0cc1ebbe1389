//! How long single things take: a mean and a spread, drawn from one seeded source.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// How single times spread around their mean, in the words of the server's synthetic costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// All alike.
    #[default]
    Deterministic,
    /// Exponential: coefficient of variation 1.
    Exponential,
    /// Log-normal with this coefficient of variation, above 0 and at most [`CV_MAX`].
    LogNormal(f64),
}

/// The largest coefficient of variation that is taken.
pub const CV_MAX: f64 = 10.0;

impl FromStr for Spread {
    type Err = String;

    fn from_str(text: &str) -> Result<Spread, String> {
        let cv = text.strip_prefix("lognormal:").map(str::parse::<f64>);
        match (text, cv) {
            ("det", _) => Ok(Spread::Deterministic),
            ("exp", _) => Ok(Spread::Exponential),
            (_, Some(Ok(cv))) if cv > 0.0 && cv <= CV_MAX => Ok(Spread::LogNormal(cv)),
            _ => Err(format!(
                "it is no spread; allowed: det, exp or lognormal:CV with CV above 0 and up to \
                 {CV_MAX}"
            )),
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spread::Deterministic => to.write_str("det"),
            Spread::Exponential => to.write_str("exp"),
            Spread::LogNormal(cv) => write!(to, "lognormal:{cv}"),
        }
    }
}

/// The source of everything random in a run. The same seed gives the same run on every machine.
#[derive(Debug)]
pub struct Chance(Xoshiro256PlusPlus);

impl Chance {
    /// A source of its own for each seed.
    pub fn new(seed: u64) -> Chance {
        Chance(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A time around `mean_us` microseconds, in nanoseconds.
    pub fn time_ns(&mut self, mean_us: f64, spread: Spread) -> u64 {
        if mean_us <= 0.0 {
            return 0;
        }
        let factor = match spread {
            Spread::Deterministic => 1.0,
            Spread::Exponential => Exp1.sample(&mut self.0),
            Spread::LogNormal(cv) => {
                // The normal law behind a log-normal one of mean 1 and this variation.
                let variance = (1.0 + cv * cv).ln();
                let normal: f64 = StandardNormal.sample(&mut self.0);
                (variance.sqrt() * normal - variance / 2.0).exp()
            }
        };
        (mean_us * 1e3 * factor).round() as u64
    }

    /// Some number below `end`, which is above 0, all equally likely.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_read_as_they_are_written() {
        for text in ["det", "exp", "lognormal:0.5"] {
            assert_eq!(text.parse::<Spread>().unwrap().to_string(), text);
        }
        for text in ["", "normal", "lognormal", "lognormal:0", "lognormal:nan", "lognormal:11"] {
            let error = text.parse::<Spread>().unwrap_err();
            assert!(error.contains("allowed: det, exp"), "{text}: {error}");
        }
    }

    #[test]
    fn times_have_the_mean_and_the_variation_asked_for() {
        for (spread, cv) in [
            (Spread::Deterministic, 0.0),
            (Spread::Exponential, 1.0),
            (Spread::LogNormal(0.5), 0.5),
            (Spread::LogNormal(2.0), 2.0),
        ] {
            let mut chance = Chance::new(3);
            let times: Vec<f64> =
                (0..400_000).map(|_| chance.time_ns(28.4, spread) as f64 / 28_400.0).collect();
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            let variance =
                times.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / times.len() as f64;
            assert!((mean - 1.0).abs() < 0.02, "{spread}: mean {mean}");
            assert!((variance.sqrt() - cv).abs() < 0.1 * cv + 1e-9, "{spread}: {variance}");
        }
        assert_eq!(Chance::new(1).time_ns(0.0, Spread::Exponential), 0);
    }
}
