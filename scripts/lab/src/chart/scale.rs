//! From numbers to places on paper: scales, ticks that people can read, numbers as text.

/// How an axis maps numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// Evenly, between two different ends.
    Linear {
        /// At the beginning.
        from: f64,
        /// At the end.
        to: f64,
    },
    /// Evenly from zero, with ticks at these numbers.
    At {
        /// At the end.
        to: f64,
        /// Where the ticks are.
        ticks: Vec<f64>,
    },
    /// By powers of ten, between two different ends above zero.
    Log {
        /// At the beginning.
        from: f64,
        /// At the end.
        to: f64,
    },
    /// By powers of ten, with ticks at these numbers.
    LogAt {
        /// At the beginning.
        from: f64,
        /// At the end.
        to: f64,
        /// Where the ticks are.
        ticks: Vec<f64>,
    },
    /// Percentiles (0 to 1, excluded), stretched towards 1 up to this one.
    Percentile {
        /// The last one, below 1.
        to: f64,
    },
    /// Names side by side; number i is the middle of the i-th.
    Names(Vec<String>),
}

/// Percentiles that get a tick.
const PERCENTILES: [f64; 7] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999];

impl Scale {
    /// From zero to a round number at or above `most`.
    pub fn from_zero(most: f64) -> Scale {
        let most = if most.is_finite() && most > 0.0 { most } else { 1.0 };
        let step = step(most);
        Scale::Linear { from: 0.0, to: (most / step - 1e-9).ceil() * step }
    }

    /// Powers of ten, or halves and fifths of them, around the numbers.
    pub fn log_around(least: f64, most: f64) -> Scale {
        let least = if least.is_finite() && least > 0.0 { least } else { 1.0 };
        let most = if most.is_finite() && most > least { most } else { least * 10.0 };
        let down = |x: f64| {
            let power = 10f64.powf(x.log10().floor());
            [5.0, 2.0, 1.0].into_iter().map(|m| m * power).find(|y| *y <= x * 1.000_001)
        };
        let up = |x: f64| {
            let power = 10f64.powf(x.log10().floor());
            [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|y| *y >= x * 0.999_999)
        };
        Scale::Log { from: down(least).unwrap_or(least), to: up(most).unwrap_or(most) }
    }

    /// By powers of ten with a tick at each of these numbers above zero, and a little room around.
    pub fn log_at(numbers: Vec<f64>) -> Scale {
        let most = numbers.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let least = numbers.iter().copied().fold(most, f64::min);
        let room = (most / least).max(2.0).powf(0.04);
        Scale::LogAt { from: least / room, to: most * room, ticks: numbers }
    }

    /// Where a number lies, 0 to 1; outside numbers lie at the ends.
    pub fn place(&self, number: f64) -> f64 {
        let stretched = |p: f64| -(1.0 - p.min(1.0 - 1e-12)).log10();
        let place = match self {
            Scale::Linear { from, to } => (number - from) / (to - from),
            Scale::At { to, .. } => number / to,
            Scale::Log { from, to } | Scale::LogAt { from, to, .. } => {
                (number.max(*from).log10() - from.log10()) / (to.log10() - from.log10())
            }
            Scale::Percentile { to } => stretched(number) / stretched(*to),
            Scale::Names(names) => (number + 0.5) / names.len().max(1) as f64,
        };
        place.clamp(0.0, 1.0)
    }

    /// Places and texts of the ticks.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        match self {
            Scale::Linear { from, to } => {
                let step = step(to - from);
                let first = (from / step).ceil() as i64;
                let last = (to / step + 1e-9).floor() as i64;
                (first..=last).map(|i| i as f64 * step).map(|x| (x, tick(x, step))).collect()
            }
            Scale::At { ticks, .. } | Scale::LogAt { ticks, .. } => {
                ticks.iter().map(|x| (*x, tick(*x, *x))).collect()
            }
            Scale::Log { from, to } => log_ticks(*from, *to),
            Scale::Percentile { to } => {
                let shown = PERCENTILES.into_iter().filter(|p| p <= to);
                shown.map(|p| (p, percentile(p))).collect()
            }
            Scale::Names(names) => {
                names.iter().enumerate().map(|(i, name)| (i as f64, name.clone())).collect()
            }
        }
    }
}

fn log_ticks(from: f64, to: f64) -> Vec<(f64, String)> {
    let decades = (to / from).log10();
    let steps: &[f64] = if decades > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let (first, last) = (from.log10().floor() as i32, to.log10().ceil() as i32);
    let all = (first..=last).flat_map(|power| steps.iter().map(move |m| m * 10f64.powi(power)));
    let inside = all.filter(|x| (from * 0.999..=to * 1.001).contains(x));
    inside.map(|x| (x, tick(x, x))).collect()
}

/// A round step that divides `span` into four to eight parts.
fn step(span: f64) -> f64 {
    let raw = span.abs().max(f64::MIN_POSITIVE) / 5.0;
    let power = 10f64.powf(raw.log10().floor());
    let found = [1.0, 2.0, 2.5, 5.0].into_iter().find(|m| m * power >= raw * 0.999);
    found.unwrap_or(10.0) * power
}

/// A tick's number, with as many digits as the step needs; thousands and millions in short.
fn tick(x: f64, step: f64) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    let (x, step, unit) = match x.abs() {
        size if size >= 1e6 => (x / 1e6, step / 1e6, "M"),
        size if size >= 1e4 => (x / 1e3, step / 1e3, "k"),
        _ => (x, step, ""),
    };
    let digits = (0..6).find(|digits| {
        let scaled = step * 10f64.powi(*digits);
        (scaled - scaled.round()).abs() < 1e-6 * scaled.max(1.0)
    });
    format!("{x:.*}{unit}", digits.unwrap_or(6) as usize)
}

fn percentile(p: f64) -> String {
    let text = format!("{:.6}", p * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(scale: &Scale) -> Vec<String> {
        scale.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_and_reach_beyond_the_largest_number() {
        assert_eq!(texts(&Scale::from_zero(18_900.0)), ["0", "5000", "10k", "15k", "20k"]);
        assert_eq!(texts(&Scale::from_zero(1.0)), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        let scale = Scale::from_zero(133_983.0);
        assert_eq!(texts(&scale), ["0", "50k", "100k", "150k"]);
        assert!(scale.place(133_983.0) < 1.0);
        for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(!Scale::from_zero(odd).ticks().is_empty(), "{odd}");
        }
    }

    #[test]
    fn powers_of_ten_are_at_equal_distances() {
        let scale = Scale::log_around(120.0, 9_000.0);
        assert_eq!(texts(&scale), ["100", "200", "500", "1000", "2000", "5000", "10k"]);
        let distance = scale.place(1000.0) - scale.place(100.0);
        assert!((scale.place(10_000.0) - scale.place(1000.0) - distance).abs() < 1e-9);
        assert!(!Scale::log_around(0.0, f64::NAN).ticks().is_empty());
    }

    #[test]
    fn the_values_of_a_knob_are_its_ticks() {
        let scale = Scale::At { to: 10.4, ticks: vec![1.0, 2.0, 10.0] };
        assert_eq!(texts(&scale), ["1", "2", "10"]);
        assert!((scale.place(5.2) - 0.5).abs() < 1e-9);
        let scale = Scale::log_at(vec![1.0, 3.0, 9.0, 64.0]);
        assert_eq!(texts(&scale), ["1", "3", "9", "64"]);
        let step = scale.place(3.0) - scale.place(1.0);
        assert!((scale.place(9.0) - scale.place(3.0) - step).abs() < 1e-9);
        assert!(scale.place(1.0) > 0.0 && scale.place(64.0) < 1.0);
        assert_eq!(texts(&Scale::log_at(vec![5.0])), ["5"]);
    }

    #[test]
    fn percentiles_are_stretched_towards_the_end() {
        let scale = Scale::Percentile { to: 0.999 };
        assert_eq!(texts(&scale), ["50%", "90%", "99%", "99.9%"]);
        assert!((scale.place(0.9) - 1.0 / 3.0).abs() < 1e-9);
        assert!((scale.place(0.99) - 2.0 / 3.0).abs() < 1e-9);
    }
}
