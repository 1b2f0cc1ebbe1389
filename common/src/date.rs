//! The wall clock, which has no other use here than a report's date.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Now, such as `2026-11-30T11:16:05Z`.
#[expect(clippy::disallowed_methods, reason = "the date of a report is the wall clock's")]
pub fn now() -> String {
    format(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn format(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The date of a day since 1970. Years are taken to begin in March, so that the odd day comes last.
fn civil(days: u64) -> (u64, u64, u64) {
    let day = days + DAYS_TO_1970;
    let (era, day) = (day / DAYS_PER_ERA, day % DAYS_PER_ERA);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = (era * 400 + year, month + 3);
    if month > 12 { (year + 1, month - 12, day_of_month) } else { (year, month, day_of_month) }
}

/// From 1 March of the year 0.
const DAYS_TO_1970: u64 = 719_468;
/// Four hundred years.
const DAYS_PER_ERA: u64 = 146_097;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_have_their_dates() {
        let check = |seconds, expected| {
            assert_eq!(format(Duration::from_secs(seconds)), expected);
        };
        check(0, "1970-01-01T00:00:00Z");
        check(951_782_399, "2000-02-28T23:59:59Z");
        check(951_782_400, "2000-02-29T00:00:00Z");
        check(1_709_251_200, "2024-03-01T00:00:00Z");
        check(1_796_037_365, "2026-11-30T11:16:05Z");
        check(4_107_542_400, "2100-03-01T00:00:00Z");
    }
}
