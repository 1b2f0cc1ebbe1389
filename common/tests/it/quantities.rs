//! Quantities: the right value, or what was wrong and what is allowed.

use echo_common::quantity::{
    DURATION_MAX, QuantityError, RATE_MAX, RATE_MIN, count, count_in, duration, duration_in,
    format_count, format_duration, format_size, grouped, optional_duration, rate, size, size_in,
};
use proptest::prelude::*;
use std::fmt::Debug;
use std::time::Duration;

/// Checks a table whose right side is the value or a part of the error.
fn check<T: PartialEq + Debug>(
    parse: impl Fn(&str) -> Result<T, QuantityError>,
    table: Vec<(&str, Result<T, &str>)>,
) {
    for (text, expected) in table {
        match (parse(text), expected) {
            (Ok(value), Ok(expected)) => assert_eq!(value, expected, "{text:?}"),
            (Err(error), Err(part)) => {
                let error = error.to_string();
                assert!(error.contains(part), "{text:?} gave {error:?}, not {part:?}");
                assert!(error.contains("; allowed: "), "{text:?} gave {error:?}");
                assert!(!error.contains('\n'), "{text:?} gave {error:?}");
            }
            (found, expected) => panic!("{text:?} gave {found:?}, not {expected:?}"),
        }
    }
}

#[test]
fn counts_are_read_exactly_or_refused_with_the_range() {
    let range = "allowed: 0 to 18,446,744,073,709,551,615";
    let table = vec![
        ("0", Ok(0)),
        ("5000000", Ok(5_000_000)),
        ("5_000_000", Ok(5_000_000)),
        ("1e6", Ok(1_000_000)),
        ("10k", Ok(10_000)),
        ("5m", Ok(5_000_000)),
        ("5M", Ok(5_000_000)),
        ("2g", Ok(2_000_000_000)),
        ("1.5k", Ok(1500)),
        ("2.50e1", Ok(25)),
        (" 7 ", Ok(7)),
        ("18446744073709551615", Ok(u64::MAX)),
        ("18446744073709551616", Err("too large")),
        ("99999999999999999999", Err(range)),
        ("20e18", Err("too large")),
        ("1e4294967296", Err("too large")),
        ("99999999999g", Err("too large")),
        ("-5", Err("sign")),
        ("-5", Err(range)),
        ("+5", Err("sign")),
        ("0.5", Err("whole number")),
        ("1.2345k", Err("whole number")),
        ("", Err("nothing was given")),
        ("4KiB", Err("unit is not known")),
        ("5 apples", Err("unit is not known")),
        ("0x10", Err("unit is not known")),
        ("5_", Err("not a number")),
        ("_5", Err("not a number")),
        (".5k", Err("not a number")),
        ("5.", Err("not a number")),
        ("1e-3", Err("not a number")),
        ("1e+3", Err("not a number")),
        ("NaN", Err("not a number")),
        ("٣", Err("not a number")),
    ];
    check(count, table);
}

#[test]
fn sizes_are_powers_of_1024_whatever_the_case() {
    let table = vec![
        ("0", Ok(0)),
        ("128", Ok(128)),
        ("128B", Ok(128)),
        ("4k", Ok(4096)),
        ("4K", Ok(4096)),
        ("4kB", Ok(4096)),
        ("4KiB", Ok(4096)),
        ("4 kib", Ok(4096)),
        ("1MiB", Ok(1 << 20)),
        ("16m", Ok(16 << 20)),
        ("1GiB", Ok(1 << 30)),
        ("1t", Ok(1 << 40)),
        ("1.5k", Ok(1536)),
        ("1e6", Ok(1_000_000)),
        ("5_000_000", Ok(5_000_000)),
        ("-1", Err("sign")),
        ("0.3k", Err("whole number")),
        ("16777216t", Err("too large")),
        ("99999999999999999999", Err("too large")),
        ("1kk", Err("unit is not known")),
    ];
    check(size, table);
}

#[test]
fn durations_have_units() {
    let table = vec![
        ("0", Ok(Duration::ZERO)),
        ("0s", Ok(Duration::ZERO)),
        ("500us", Ok(Duration::from_micros(500))),
        ("500µs", Ok(Duration::from_micros(500))),
        ("1ns", Ok(Duration::from_nanos(1))),
        ("100ms", Ok(Duration::from_millis(100))),
        ("30s", Ok(Duration::from_secs(30))),
        ("2m", Ok(Duration::from_secs(120))),
        ("2min", Ok(Duration::from_secs(120))),
        ("1h", Ok(Duration::from_secs(3600))),
        ("1d", Ok(Duration::from_secs(86_400))),
        ("1m30s", Ok(Duration::from_secs(90))),
        ("1m 30s", Ok(Duration::from_secs(90))),
        ("1.5s", Ok(Duration::from_millis(1500))),
        ("5_000ms", Ok(Duration::from_secs(5))),
        ("30", Err("unit is missing")),
        ("30", Err("ns, us, ms, s, m, h or d")),
        ("1m30", Err("unit is missing")),
        ("-1s", Err("sign")),
        ("1m-30s", Err("sign")),
        ("30s1m", Err("large to small")),
        ("1s1s", Err("large to small")),
        ("1m1min", Err("large to small")),
        ("0.5ns", Err("whole number")),
        ("1fortnight", Err("unit is not known")),
        ("1M", Err("unit is not known")),
        ("1s,", Err("not a number")),
        ("s", Err("not a number")),
        ("", Err("nothing was given")),
        ("300000d", Err("too large")),
        ("213503d24h", Err("too large")),
    ];
    check(duration, table);
}

#[test]
fn off_and_zero_switch_a_duration_off() {
    let table = vec![
        ("off", Ok(None)),
        ("OFF", Ok(None)),
        ("0", Ok(None)),
        ("0ms", Ok(None)),
        ("1s", Ok(Some(Duration::from_secs(1)))),
        ("5", Err("unit is missing")),
        ("never", Err("allowed: off, or 0s to ")),
    ];
    check(optional_duration, table);
}

#[test]
fn rates_are_above_zero_and_may_be_fractions() {
    let table = vec![
        ("1000", Ok(1000.0)),
        ("30k", Ok(30_000.0)),
        ("0.5", Ok(0.5)),
        ("1.001k", Ok(1001.0)),
        ("1g", Ok(RATE_MAX)),
        ("0.000001", Ok(RATE_MIN)),
        ("0", Err("too small")),
        ("0.0000001", Err("too small")),
        ("1.1g", Err("too large")),
        ("1e4000000000", Err("too large")),
        ("-1", Err("sign")),
        ("inf", Err("not a number")),
        ("1000/s", Err("unit is not known")),
    ];
    check(rate, table);
}

#[test]
fn a_range_is_kept_and_named() {
    check(
        count_in(1..=1_000_000),
        vec![
            ("1", Ok(1)),
            ("1m", Ok(1_000_000)),
            ("0", Err("too small; allowed: 1 to 1,000,000,")),
            ("1_000_001", Err("too large; allowed: 1 to 1,000,000,")),
            ("-5", Err("allowed: 1 to 1,000,000,")),
            ("99999999999999999999", Err("allowed: 1 to 1,000,000,")),
        ],
    );
    check(
        size_in(64..=1 << 20),
        vec![("1MiB", Ok(1 << 20)), ("5GiB", Err("too large; allowed: 64B to 1MiB,"))],
    );
    check(
        duration_in(Duration::from_millis(1)..=Duration::from_secs(3600)),
        vec![("1h", Ok(Duration::from_secs(3600))), ("0", Err("allowed: 1ms to 1h,"))],
    );
}

#[test]
fn printed_forms_are_the_short_ones() {
    assert_eq!(format_count(5_000_000), "5_000_000");
    assert_eq!(grouped(0), "0");
    assert_eq!(grouped(999), "999");
    assert_eq!(grouped(5_000_000), "5,000,000");
    assert_eq!(format_size(0), "0B");
    assert_eq!(format_size(128), "128B");
    assert_eq!(format_size(1536), "1536B");
    assert_eq!(format_size(16 << 20), "16MiB");
    assert_eq!(format_duration(Duration::ZERO), "0s");
    assert_eq!(format_duration(Duration::from_micros(500)), "500us");
    assert_eq!(format_duration(Duration::from_secs(5400)), "1h30m");
    assert_eq!(format_duration(Duration::MAX), format_duration(DURATION_MAX));
}

/// Values of every magnitude, with the round ones that units are made for.
fn magnitudes() -> impl Strategy<Value = u64> {
    let power = (0u32..64).prop_map(|shift| 1u64 << shift);
    let ten = (0u32..20).prop_map(|n| 10u64.pow(n));
    prop_oneof![
        any::<u64>(),
        (any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift),
        (power, 0u64..5).prop_map(|(value, n)| value.saturating_mul(n)),
        (ten, 0u64..100).prop_map(|(value, n)| value.saturating_mul(n)),
    ]
}

/// Texts that look like quantities often enough to get past the first check.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[0-9_]{0,25}(\\.[0-9]{0,25})?(e[0-9]{0,12})?[a-zA-Zµ]{0,4}"]
}

proptest! {
    #[test]
    fn a_printed_quantity_reads_back_as_it_was(value in magnitudes()) {
        prop_assert_eq!(count(&format_count(value)), Ok(value));
        prop_assert_eq!(size(&format_size(value)), Ok(value));
        let time = Duration::from_nanos(value);
        prop_assert_eq!(duration(&format_duration(time)), Ok(time));
        prop_assert_eq!(grouped(value).replace(',', ""), value.to_string());
    }

    #[test]
    fn a_printed_rate_reads_back_as_it_was(value in RATE_MIN..=RATE_MAX) {
        prop_assert_eq!(rate(&value.to_string()), Ok(value));
    }

    #[test]
    fn any_text_is_a_quantity_or_one_clear_line(text in texts()) {
        let errors = [
            count(&text).err(),
            size(&text).err(),
            duration(&text).err(),
            optional_duration(&text).err(),
            rate(&text).err(),
        ];
        for error in errors.into_iter().flatten() {
            let line = error.to_string();
            prop_assert!(line.contains("; allowed: ") && !line.contains('\n'), "{}", line);
        }
    }

    #[test]
    fn nothing_outside_a_range_gets_through(
        value in any::<u64>(),
        a in any::<u64>(),
        b in any::<u64>(),
    ) {
        let range = a.min(b)..=a.max(b);
        let (text, inside) = (value.to_string(), range.contains(&value));
        prop_assert_eq!(count_in(range.clone())(&text).is_ok(), inside);
        prop_assert_eq!(size_in(range.clone())(&text).is_ok(), inside);
        let times = Duration::from_nanos(*range.start())..=Duration::from_nanos(*range.end());
        prop_assert_eq!(duration_in(times)(&format!("{value}ns")).is_ok(), inside);
    }

    #[test]
    fn a_sign_is_never_taken(value in any::<u64>(), sign in "[-+]", unit in "(k|m|s|ms|B)?") {
        let text = format!("{sign}{value}{unit}");
        prop_assert!(count(&text).is_err() && size(&text).is_err());
        prop_assert!(duration(&text).is_err() && rate(&text).is_err());
    }
}
