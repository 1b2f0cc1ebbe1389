//! Quantities as people type them: `5m` calls, `128KiB`, `1m30s`, `30k` a second.
//!
//! Arithmetic is exact: `1.5k` is 1500, and what is not a whole number in the end is refused.
//! Each error is one line that says what was wrong and what is allowed, without the text itself,
//! which whoever shows the error names together with the option.

use std::ops::RangeInclusive;
use std::time::Duration;
use thiserror::Error;

/// Why a text is not a quantity, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{wrong}; allowed: {allowed}")]
pub struct QuantityError {
    wrong: Wrong,
    allowed: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
enum Wrong {
    #[error("nothing was given")]
    Empty,
    #[error("a sign is not taken")]
    Sign,
    #[error("it is not a number")]
    NotANumber,
    #[error("the unit is not known")]
    UnknownUnit,
    #[error("the unit is missing")]
    NoUnit,
    #[error("units go from large to small, each at most once")]
    UnitOrder,
    #[error("it does not come to a whole number")]
    Fraction,
    #[error("it is too small")]
    TooSmall,
    #[error("it is too large")]
    TooLarge,
}

impl QuantityError {
    /// What was wrong, for somebody who knows better what is allowed.
    pub fn wrong(&self) -> String {
        self.wrong.to_string()
    }
}

/// A count: `5000000`, `5_000_000`, `5m` (millions), `10k`, `2g`, `1e6`.
pub fn count(text: &str) -> Result<u64, QuantityError> {
    whole(&COUNT, text, &(0..=u64::MAX))
}

/// A parser of counts inside `range`, for options; every error names the range.
pub fn count_in(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<u64, QuantityError> + Clone {
    move |text| whole(&COUNT, text, &range)
}

/// A size in bytes: `128`, `4k` = `4KB` = `4KiB` = 4096, `16m`, `1GiB`; case does not matter.
pub fn size(text: &str) -> Result<u64, QuantityError> {
    whole(&SIZE, text, &(0..=u64::MAX))
}

/// A parser of sizes inside `range`, for options; every error names the range.
pub fn size_in(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<u64, QuantityError> + Clone {
    move |text| whole(&SIZE, text, &range)
}

/// A duration: `500us`, `30s`, `1m30s`; a bare number is refused, except `0`.
pub fn duration(text: &str) -> Result<Duration, QuantityError> {
    duration_within(text, &(Duration::ZERO..=DURATION_MAX))
}

/// A parser of durations inside `range`, for options; every error names the range.
pub fn duration_in(
    range: RangeInclusive<Duration>,
) -> impl Fn(&str) -> Result<Duration, QuantityError> + Clone {
    move |text| duration_within(text, &range)
}

/// A duration that can be switched off: `off` and `0` are `None`.
///
/// As a clap value parser it wants the field's type written `std::option::Option<Duration>`:
/// the plain `Option` means "may be absent" to clap's derive.
pub fn optional_duration(text: &str) -> Result<Option<Duration>, QuantityError> {
    if text.trim().eq_ignore_ascii_case("off") {
        return Ok(None);
    }
    let value = duration(text).map_err(|error| QuantityError {
        allowed: format!("off, or {}", error.allowed),
        ..error
    })?;
    Ok(Some(value).filter(|value| !value.is_zero()))
}

/// Calls per second: `1000`, `30k`, `0.5`; from [`RATE_MIN`] to [`RATE_MAX`].
pub fn rate(text: &str) -> Result<f64, QuantityError> {
    let refuse = |wrong| QuantityError {
        wrong,
        allowed: "calls per second above 0 and at most 1,000,000,000, such as 1000, 30k or 0.5"
            .to_string(),
    };
    let (number, unit) = Number::read(text.trim()).map_err(refuse)?;
    let scale = COUNT.scale(unit).ok_or_else(|| refuse(Wrong::UnknownUnit))?;
    // Count units are powers of ten, so that the whole is one decimal text and is rounded once.
    let exponent = i64::from(number.exponent) - i64::from(number.decimals);
    let exponent = exponent + i64::from(scale.ilog10());
    let value: f64 =
        format!("{}e{exponent}", number.digits).parse().map_err(|_| refuse(Wrong::NotANumber))?;
    inside(value, &(RATE_MIN..=RATE_MAX)).map_err(refuse)
}

/// The count in a form that [`count`] reads back: `5_000_000`.
pub fn format_count(value: u64) -> String {
    with_separator(value, '_')
}

/// The count for people: `5,000,000`.
pub fn grouped(value: u64) -> String {
    with_separator(value, ',')
}

/// So many of what `noun` names: `1 call`, `2,000 calls`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// The size in the largest unit that divides it, as [`size`] reads it back: `16MiB`, `128B`.
pub fn format_size(bytes: u64) -> String {
    for (unit, shift) in [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if bytes != 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    format!("{bytes}B")
}

/// The duration in a form that [`duration`] reads back: `1h30m`, `500us`, `0s`.
///
/// Beyond [`DURATION_MAX`], which nothing here produces, that maximum is printed.
pub fn format_duration(value: Duration) -> String {
    let mut rest = value.min(DURATION_MAX).as_nanos();
    let mut out = String::new();
    for &(unit, ns) in DURATION_UNITS.iter().filter(|(unit, _)| PRINTED_UNITS.contains(unit)) {
        let n = rest / u128::from(ns);
        rest %= u128::from(ns);
        if n > 0 {
            out.push_str(&format!("{n}{unit}"));
        }
    }
    if out.is_empty() { "0s".to_string() } else { out }
}

/// The longest duration: what fits a `u64` of nanoseconds, 584 years.
pub const DURATION_MAX: Duration = Duration::from_nanos(u64::MAX);
/// The least rate: one call in eleven days.
pub const RATE_MIN: f64 = 1e-6;
/// The greatest rate: one call per tick of a nanosecond clock.
pub const RATE_MAX: f64 = 1e9;

/// One family of quantities: its units, and words for errors.
struct Family {
    examples: &'static str,
    print: fn(u64) -> String,
    /// Lower-case suffixes; the empty one stands for a bare number.
    units: &'static [(&'static str, u64)],
}

const COUNT: Family = Family {
    examples: "5000000, 5_000_000, 5m (millions), 10k or 1e6",
    print: grouped,
    units: &[("", 1), ("k", 1_000), ("m", 1_000_000), ("g", 1_000_000_000)],
};

const SIZE: Family = Family {
    examples: "128, 4k (4096 bytes, as 4KiB), 16MiB or 1g",
    print: format_size,
    units: &[
        ("", 1),
        ("b", 1),
        ("k", 1 << 10),
        ("kb", 1 << 10),
        ("kib", 1 << 10),
        ("m", 1 << 20),
        ("mb", 1 << 20),
        ("mib", 1 << 20),
        ("g", 1 << 30),
        ("gb", 1 << 30),
        ("gib", 1 << 30),
        ("t", 1 << 40),
        ("tb", 1 << 40),
        ("tib", 1 << 40),
    ],
};

/// From large to small, in nanoseconds; spellings of one unit stand together.
const DURATION_UNITS: [(&str, u64); 9] = [
    ("d", 86_400 * SECOND),
    ("h", 3_600 * SECOND),
    ("m", 60 * SECOND),
    ("min", 60 * SECOND),
    ("s", SECOND),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
];
const PRINTED_UNITS: [&str; 6] = ["h", "m", "s", "ms", "us", "ns"];
const SECOND: u64 = 1_000_000_000;

impl Family {
    fn scale(&self, unit: &str) -> Option<u64> {
        let unit = unit.trim();
        self.units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|&(_, scale)| scale)
    }
}

fn whole(family: &Family, text: &str, range: &RangeInclusive<u64>) -> Result<u64, QuantityError> {
    let refuse = |wrong| {
        let (least, greatest) = ((family.print)(*range.start()), (family.print)(*range.end()));
        let allowed = format!("{least} to {greatest}, such as {}", family.examples);
        QuantityError { wrong, allowed }
    };
    let (number, unit) = Number::read(text.trim()).map_err(refuse)?;
    let scale = family.scale(unit).ok_or_else(|| refuse(Wrong::UnknownUnit))?;
    let value = number.times(scale).map_err(refuse)?;
    inside(value, range).map_err(refuse)
}

fn duration_within(
    text: &str,
    range: &RangeInclusive<Duration>,
) -> Result<Duration, QuantityError> {
    let refuse = |wrong| {
        let least = format_duration(*range.start());
        let greatest = match *range.end() {
            DURATION_MAX => "584 years".to_string(),
            end => format_duration(end),
        };
        let allowed = format!(
            "{least} to {greatest}, in ns, us, ms, s, m, h or d, such as 500us, 30s or 1m30s"
        );
        QuantityError { wrong, allowed }
    };
    let value = Duration::from_nanos(read_duration_ns(text.trim()).map_err(refuse)?);
    inside(value, range).map_err(refuse)
}

fn inside<T: PartialOrd>(value: T, range: &RangeInclusive<T>) -> Result<T, Wrong> {
    match value {
        value if value < *range.start() => Err(Wrong::TooSmall),
        value if value > *range.end() => Err(Wrong::TooLarge),
        value => Ok(value),
    }
}

fn read_duration_ns(text: &str) -> Result<u64, Wrong> {
    if text == "0" {
        return Ok(0);
    }
    let mut rest = text;
    let mut total: u64 = 0;
    let mut smallest_so_far = u64::MAX;
    loop {
        let (number, behind) = Number::read(rest)?;
        let behind = behind.trim_start();
        let unit_end = behind.find(|c: char| !c.is_alphabetic()).unwrap_or(behind.len());
        let (unit, next) = behind.split_at(unit_end);
        if unit.is_empty() {
            return Err(if next.is_empty() { Wrong::NoUnit } else { Wrong::NotANumber });
        }
        let known = DURATION_UNITS.iter().find(|(name, _)| *name == unit);
        let &(_, ns) = known.ok_or(Wrong::UnknownUnit)?;
        if ns >= smallest_so_far {
            return Err(Wrong::UnitOrder);
        }
        smallest_so_far = ns;
        let part = number.times(ns)?;
        total = total.checked_add(part).ok_or(Wrong::TooLarge)?;
        rest = next.trim_start();
        if rest.is_empty() {
            return Ok(total);
        }
    }
}

/// A decimal number as written: `digits` x 10^(`exponent` - `decimals`).
struct Number {
    digits: u128,
    decimals: u32,
    exponent: u32,
}

impl Number {
    /// Reads a number at the front of `text` and returns what is behind it.
    fn read(text: &str) -> Result<(Number, &str), Wrong> {
        match text.bytes().next() {
            None => return Err(Wrong::Empty),
            Some(b'-' | b'+') => return Err(Wrong::Sign),
            Some(b'0'..=b'9') => {}
            Some(_) => return Err(Wrong::NotANumber),
        }
        let mut number = Number { digits: 0, decimals: 0, exponent: 0 };
        let mut rest = number.take_digits(text, false)?;
        if let Some(behind) = rest.strip_prefix('.') {
            if !behind.starts_with(|c: char| c.is_ascii_digit()) {
                return Err(Wrong::NotANumber);
            }
            rest = number.take_digits(behind, true)?;
        }
        let exponent = rest.strip_prefix(['e', 'E']).filter(|behind| !behind.is_empty());
        if let Some(behind) = exponent {
            let end = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
            let (digits, behind) = behind.split_at(end);
            if digits.is_empty() {
                return Err(Wrong::NotANumber);
            }
            number.exponent = digits.parse().map_err(|_| Wrong::TooLarge)?;
            rest = behind;
        }
        Ok((number, rest))
    }

    fn take_digits<'a>(&mut self, text: &'a str, decimals: bool) -> Result<&'a str, Wrong> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(text.len());
        let (digits, rest) = text.split_at(end);
        if digits.ends_with('_') {
            return Err(Wrong::NotANumber);
        }
        for digit in digits.bytes().filter(|&byte| byte != b'_') {
            let next = self.digits.checked_mul(10);
            let next = next.and_then(|value| value.checked_add(u128::from(digit - b'0')));
            self.digits = next.ok_or(Wrong::TooLarge)?;
            self.decimals += u32::from(decimals);
        }
        Ok(rest)
    }

    fn times(&self, scale: u64) -> Result<u64, Wrong> {
        if self.digits == 0 {
            return Ok(0);
        }
        let scaled = self.digits.checked_mul(u128::from(scale)).ok_or(Wrong::TooLarge)?;
        let up = self.exponent.saturating_sub(self.decimals);
        let down = self.decimals.saturating_sub(self.exponent);
        let value = power_of_ten(up).and_then(|power| scaled.checked_mul(power));
        let value = value.ok_or(Wrong::TooLarge)?;
        // A divisor beyond u128 is beyond every numerator, too.
        let divisor = power_of_ten(down).ok_or(Wrong::Fraction)?;
        if !value.is_multiple_of(divisor) {
            return Err(Wrong::Fraction);
        }
        u64::try_from(value / divisor).map_err(|_| Wrong::TooLarge)
    }
}

fn power_of_ten(n: u32) -> Option<u128> {
    10u128.checked_pow(n)
}

fn with_separator(value: u64, separator: char) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(separator);
        }
        out.push(digit);
    }
    out
}
