//! A time that grows with a size, as people type it: `400us`, or `400us+8us/KiB`.

use crate::quantity::{QuantityError, duration, format_duration};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;

/// `fixed`, and `per_kib` for each 1024 bytes; parts of a KiB count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GrowingTime {
    /// The part that does not grow.
    pub fixed: Duration,
    /// The part that does.
    pub per_kib: Duration,
}

/// Why a text is not such a time.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GrowingTimeError {
    /// One of its parts is no time.
    #[error(transparent)]
    Part(#[from] QuantityError),
    /// What it grows by is not a time per KiB.
    #[error("behind the plus there is no time per KiB; allowed: TIME+TIME/KiB, as in 1ms+8us/KiB")]
    NotPerKib,
}

impl GrowingTimeError {
    /// What was wrong, for somebody who knows better what is allowed.
    pub fn wrong(&self) -> String {
        match self {
            GrowingTimeError::Part(error) => error.wrong(),
            GrowingTimeError::NotPerKib => "behind the plus there is no time per KiB".to_owned(),
        }
    }
}

const PER_KIB: &str = "/KiB";

impl GrowingTime {
    /// The time of `bytes`, in nanoseconds.
    pub fn of_ns(&self, bytes: f64) -> f64 {
        self.fixed.as_nanos() as f64 + bytes / 1024.0 * self.per_kib.as_nanos() as f64
    }

    /// Whether no size takes any time.
    pub fn is_zero(&self) -> bool {
        self.fixed.is_zero() && self.per_kib.is_zero()
    }
}

impl FromStr for GrowingTime {
    type Err = GrowingTimeError;

    fn from_str(text: &str) -> Result<GrowingTime, GrowingTimeError> {
        let Some((fixed, growing)) = text.split_once('+') else {
            return Ok(GrowingTime { fixed: duration(text)?, per_kib: Duration::ZERO });
        };
        let per_kib = growing.trim_end().strip_suffix(PER_KIB);
        let per_kib = duration(per_kib.ok_or(GrowingTimeError::NotPerKib)?)?;
        Ok(GrowingTime { fixed: duration(fixed)?, per_kib })
    }
}

impl fmt::Display for GrowingTime {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&format_duration(self.fixed))?;
        if self.per_kib.is_zero() {
            return Ok(());
        }
        write!(to, "+{}{PER_KIB}", format_duration(self.per_kib))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, fixed_us: u64, per_kib_us: u64) {
        let [fixed, per_kib] = [fixed_us, per_kib_us].map(Duration::from_micros);
        let time = GrowingTime { fixed, per_kib };
        assert_eq!(text.parse(), Ok(time), "{text}");
        assert_eq!(time.to_string().parse(), Ok(time), "{time}");
    }

    #[test]
    fn times_are_read_as_written() {
        check("400us", 400, 0);
        check("400us+8us/KiB", 400, 8);
        check("1m30s+1.5ms/KiB", 90_000_000, 1500);
        check("0+8us/KiB", 0, 8);
        check("8us+0/KiB", 8, 0);
        assert!("0+0/KiB".parse::<GrowingTime>().unwrap().is_zero());
    }

    #[test]
    fn what_is_no_such_time_is_refused() {
        for text in ["", "8", "+8us/KiB", "1us+8us", "1us+8us/MiB", "1us+/KiB", "1us+-8us/KiB"] {
            assert!(text.parse::<GrowingTime>().is_err(), "{text}");
        }
        for text in ["8us/KiB", "1us+8us/KiB+8us/KiB", "1us+8/KiB", "1us+8us/kib"] {
            assert!(text.parse::<GrowingTime>().is_err(), "{text}");
        }
    }

    #[test]
    fn every_byte_counts() {
        let time: GrowingTime = "400us+8us/KiB".parse().unwrap();
        for (bytes, us) in [(0.0, 400.0), (128.0, 401.0), (1024.0, 408.0), (1536.0, 412.0)] {
            assert_eq!(time.of_ns(bytes) / 1e3, us, "{bytes} bytes");
        }
    }
}
