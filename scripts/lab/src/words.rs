//! Numbers for people.

use crate::experiment::Unit;
use crate::stats::Summary;
use echo_common::quantity::grouped;

/// With as many digits as a measurement deserves: 133,983, 18.9, 0.052.
pub fn number(n: f64) -> String {
    if !n.is_finite() {
        return "n/a".to_owned();
    }
    let digits = match n.abs() {
        size if size >= 1000.0 => {
            let sign = if n < 0.0 { "-" } else { "" };
            return format!("{sign}{}", grouped(size.round() as u64));
        }
        size if size >= 100.0 || n.fract() == 0.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 0.1 => 2,
        _ => 4,
    };
    format!("{n:.digits$}")
}

/// How many times as much: 1.00, 12.5, 160.
pub fn ratio(n: f64) -> String {
    if !n.is_finite() {
        return "n/a".to_owned();
    }
    let digits = match n.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    format!("{n:.digits$}")
}

/// A share of 0 to 1.
pub fn percent(share: f64) -> String {
    let digits = usize::from(share.abs() < 0.1 && (share * 100.0).fract().abs() > 1e-9);
    format!("{:.digits$} %", share * 100.0)
}

/// A share with its sign.
pub fn signed_percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

/// The median, with the ends if there is more than one.
pub fn with_ends(summary: &Summary) -> String {
    in_unit(summary, number)
}

/// The same of a ratio.
pub fn ratio_with_ends(summary: &Summary) -> String {
    in_unit(summary, ratio)
}

/// The same in a unit.
pub fn with_ends_in(summary: &Summary, unit: Unit) -> String {
    match unit {
        Unit::Share => in_unit(summary, percent),
        Unit::CallsPerS | Unit::Us | Unit::Count => in_unit(summary, number),
    }
}

fn in_unit(summary: &Summary, text: fn(f64) -> String) -> String {
    let median = text(summary.median);
    if summary.count == 1 {
        return median;
    }
    format!("{median} ({} to {})", text(summary.min), text(summary.max))
}

/// A count of things: `1 run`, `3 runs`.
pub fn count(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// What may be missing.
pub fn or_missing(text: Option<String>) -> String {
    text.unwrap_or_else(|| "n/a".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_they_deserve() {
        for (n, expected) in [
            (133_983.2, "133,983"),
            (-1234.0, "-1,234"),
            (123.4, "123"),
            (18.94, "18.9"),
            (3.806, "3.81"),
            (0.05, "0.0500"),
            (10.0, "10"),
            (f64::NAN, "n/a"),
        ] {
            assert_eq!(number(n), expected);
        }
        assert_eq!([1.0, 9.996, 160.2, f64::NAN].map(ratio), ["1.00", "10.0", "160", "n/a"]);
        assert_eq!([percent(0.1), percent(0.025), percent(0.9)], ["10 %", "2.5 %", "90 %"]);
        assert_eq!(signed_percent(-0.0314), "-3.1 %");
        let summary = Summary::of(&[1.0, 2.0, 4.0]).unwrap();
        assert_eq!(with_ends(&summary), "2 (1 to 4)");
        assert_eq!(with_ends_in(&Summary::of(&[0.5]).unwrap(), Unit::Share), "50 %");
    }
}
