//! Numbers as options of `lab simulate` and `lab advise` take them.

use std::ops::RangeInclusive;

/// Microseconds with a fraction, such as `28.4`: 0 to one hour.
pub fn microseconds(text: &str) -> Result<f64, String> {
    let allowed = "allowed: microseconds from 0 to 3600000000, such as 28.4";
    match text.trim().parse::<f64>() {
        Ok(value) if (0.0..=3.6e9).contains(&value) => Ok(value),
        Ok(_) => Err(format!("it is out of range; {allowed}")),
        Err(_) => Err(format!("it is not a number; {allowed}")),
    }
}

/// Several counts, such as `1-10` or `1,2,4-8`, in the order given, each inside `range`; at most
/// [`LIST_MAX`].
pub fn list_in(
    range: RangeInclusive<u32>,
) -> impl Fn(&str) -> Result<Vec<u32>, String> + Clone + Send + Sync + 'static {
    move |text| {
        let allowed =
            format!("allowed: {} to {}, such as 4, 1-10 or 1,2,4", range.start(), range.end());
        let number = |text: &str| match text.trim().parse::<u32>() {
            Ok(value) if range.contains(&value) => Ok(value),
            Ok(_) => Err(format!("{value} is out of range; {allowed}", value = text.trim())),
            Err(_) => Err(format!("it is not a list of counts; {allowed}")),
        };
        let mut list = Vec::new();
        for part in text.split(',') {
            let (first, last) = match part.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None => (number(part)?, number(part)?),
            };
            if first > last || (last - first) as usize >= LIST_MAX {
                return Err(format!("{part} is no range from low to high; {allowed}"));
            }
            list.extend(first..=last);
            if list.len() > LIST_MAX {
                return Err(format!("more than {LIST_MAX} counts; {allowed}"));
            }
        }
        Ok(list)
    }
}

/// The longest list of counts.
pub const LIST_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_counts_and_ranges() {
        let list = list_in(1..=100);
        assert_eq!(list("4"), Ok(vec![4]));
        assert_eq!(list("1-3,8, 5-5"), Ok(vec![1, 2, 3, 8, 5]));
        for bad in ["", "0", "101", "a", "3-1", "1-", "-1", "1,,2", "1-3-5", "4294967296"] {
            let error = list(bad).unwrap_err();
            assert!(error.contains("allowed: 1 to 100, such as"), "{bad}: {error}");
        }
        assert!(list_in(0..=u32::MAX)("0-4294967295").is_err());
    }

    #[test]
    fn microseconds_have_fractions_and_limits() {
        assert_eq!(microseconds("28.4"), Ok(28.4));
        assert_eq!(microseconds("0"), Ok(0.0));
        for bad in ["", "-1", "nan", "inf", "28us", "1e99"] {
            let error = microseconds(bad).unwrap_err();
            assert!(error.contains("allowed: microseconds from 0"), "{bad}: {error}");
        }
    }
}
