//! Histograms for other programs: the interval log (version 1.3, V2 compressed) and the table of
//! percentiles that HdrHistogram's own tools write and read.

use crate::latency::Latency;
use crate::output::{Draft, OutputError, Place};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, IntervalLogWriterError};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

/// The log gives lengths in seconds with three decimals; a length of 0 is of no use to anybody.
const LENGTH_UNIT_NS: u64 = 1_000_000;
/// Rows of the table until the distance to 100 % has halved.
const TICKS_PER_HALF: u32 = 5;
/// What the other implementations write first, and above the rows.
const VERSION: &str = "[Histogram log format version 1.3]";
const UNIT: &str = "[Latencies in nanoseconds of calls that ended ok, by echo-client]";
const LEGEND: &[u8] =
    b"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";

/// An interval log that is being written.
pub(crate) struct HistogramLog {
    file: Draft,
    serializer: V2DeflateSerializer,
    /// The last row. It is held back: what ends within a millisecond behind it belongs to it.
    last: Option<Row>,
    /// The first error; nothing is written after it.
    failed: Option<io::Error>,
}

/// A row by its times behind the start of the run.
struct Row {
    latencies: Histogram<u64>,
    from_ns: u64,
    to_ns: u64,
}

impl std::fmt::Debug for HistogramLog {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("HistogramLog").field("failed", &self.failed).finish_non_exhaustive()
    }
}

impl HistogramLog {
    /// A log that will appear at `place` when it is finished.
    pub(crate) fn create(place: Place) -> Result<HistogramLog, OutputError> {
        let file = place.begin()?;
        Ok(HistogramLog { file, serializer: V2DeflateSerializer::new(), last: None, failed: None })
    }

    /// The clock of the run starts: rows count from here.
    #[expect(clippy::disallowed_methods, reason = "the log's start time is the wall clock's")]
    pub(crate) fn begin(&mut self) {
        let mut head = IntervalLogWriterBuilder::new();
        head.add_comment(VERSION).add_comment(UNIT).with_start_time(SystemTime::now());
        let begun = head.begin_log_with(&mut self.file, &mut self.serializer).map(drop);
        self.note(begun);
        let legend = self.file.write_all(LEGEND);
        self.note(legend);
    }

    /// Adds an interval, by its times behind the start of the run.
    pub(crate) fn row(&mut self, latencies: &Histogram<u64>, from_ns: u64, to_ns: u64) {
        if let Some(last) = self.last.as_mut().filter(|_| to_ns - from_ns < LENGTH_UNIT_NS) {
            last.to_ns = to_ns;
            // All rows are of one shape, so that nothing is too large for another.
            let added = last.latencies.add(latencies).map_err(io::Error::other);
            return self.note(added);
        }
        let row = Row { latencies: latencies.clone(), from_ns, to_ns };
        if let Some(before) = self.last.replace(row) {
            self.write(&before);
        }
    }

    fn write(&mut self, Row { latencies, from_ns, to_ns }: &Row) {
        if self.failed.is_some() {
            return;
        }
        // A run that was shorter than the log can say has one row.
        let length_ns = (to_ns - from_ns).max(LENGTH_UNIT_NS);
        let (from, length) = (Duration::from_nanos(*from_ns), Duration::from_nanos(length_ns));
        let plain = IntervalLogWriterBuilder::new();
        let written =
            plain.begin_log_with(&mut self.file, &mut self.serializer).and_then(|mut log| {
                log.write_histogram(latencies, from, length, None).map_err(|error| match error {
                    IntervalLogWriterError::IoError(error) => error,
                    IntervalLogWriterError::SerializeError(error) => io::Error::other(error),
                })
            });
        self.note(written);
    }

    /// Puts the log in its place.
    pub(crate) fn finish(mut self) -> Result<(), OutputError> {
        if let Some(last) = self.last.take() {
            self.write(&last);
        }
        self.file.finish(self.failed)
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failed.get_or_insert(error);
        }
    }
}

/// The table of percentiles, in microseconds.
pub(crate) fn percentile_table(latency: &mut Latency) -> String {
    let mut out = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let summary = latency.summary();
    let mut counted = 0;
    for (value_us, quantile, count) in latency.quantiles(TICKS_PER_HALF) {
        counted += count;
        // The last row is written below, once.
        if quantile < 1.0 {
            let inverse = 1.0 / (1.0 - quantile);
            let _ = writeln!(out, "{value_us:12.3} {quantile:2.12} {counted:10} {inverse:14.2}");
        }
    }
    let s = summary.unwrap_or_default();
    if s.count > 0 {
        let _ = writeln!(out, "{:12.3} {:2.12} {:10}", s.max, 1.0, s.count);
    }
    let (buckets, sub_buckets) = latency.shape();
    let _ = write!(
        out,
        "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]\n\
         #[Max     = {:12.3}, Total count    = {:12}]\n\
         #[Buckets = {buckets:12}, SubBuckets     = {sub_buckets:12}]\n",
        s.mean, s.stddev, s.max, s.count
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    /// Base64, as far as a test needs it.
    fn decode(text: &str) -> Vec<u8> {
        let digit = |byte: u8| match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(digit).collect();
        let bytes = digits.chunks(4).flat_map(|chunk| {
            let word = chunk.iter().fold(0u32, |word, digit| word << 6 | u32::from(*digit));
            let word = word << (6 * (4 - chunk.len()));
            word.to_be_bytes()[1..chunk.len()].to_vec()
        });
        bytes.collect()
    }

    fn of(values_us: impl IntoIterator<Item = u64>) -> Latency {
        let mut latency = Latency::new();
        values_us.into_iter().for_each(|us| latency.record(us * 1000));
        latency
    }

    #[test]
    fn the_table_has_one_last_row_and_counts_everything() {
        for count in [1, 2, 3, 10, 1000, 100_000] {
            let table = percentile_table(&mut of(1..=count));
            let rows: Vec<Vec<&str>> = table
                .lines()
                .filter(|line| !line.starts_with('#'))
                .map(|line| line.split_whitespace().collect())
                .filter(|row: &Vec<&str>| !row.is_empty())
                .skip(1)
                .collect();
            let whole: Vec<_> = rows.iter().filter(|row| row[1] == "1.000000000000").collect();
            assert_eq!(whole.len(), 1, "{table}");
            let last = rows.last().unwrap();
            assert_eq!((last[2], last.len()), (count.to_string().as_str(), 3), "{table}");
            assert_eq!(last[0], format!("{count}.000"));
            let counts: Vec<u64> = rows.iter().map(|row| row[2].parse().unwrap()).collect();
            assert!(counts.windows(2).all(|w| w[0] <= w[1]), "{table}");
        }
        assert!(percentile_table(&mut Latency::new()).contains("Total count    =            0"));
    }

    /// What ended just behind the last whole interval had a row of its own, 0.000 long.
    #[test]
    fn no_row_is_without_length_and_nothing_is_lost() {
        const SECOND: u64 = 1_000_000_000;
        let check = |ends_ns: &[u64], expected: &[&str]| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("run.hlog");
            let mut log = HistogramLog::create(Place::find(&path).unwrap()).unwrap();
            log.begin();
            let mut from_ns = 0;
            for &to_ns in ends_ns {
                log.row(of([10, 20, 3000]).histogram(), from_ns, to_ns);
                from_ns = to_ns;
            }
            log.finish().unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            let rows = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
            let rows: Vec<Vec<&str>> = rows.map(|row| row.split(',').collect()).collect();
            let lengths: Vec<&str> = rows.iter().map(|row| row[1]).collect();
            assert_eq!(lengths, expected, "{text}");
            let count = rows.iter().map(|row| {
                let bytes = decode(row[3]);
                let read: Histogram<u64> =
                    Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
                read.len()
            });
            assert_eq!(count.sum::<u64>(), 3 * ends_ns.len() as u64);
        };
        check(&[SECOND, 2 * SECOND, 2 * SECOND + 400_000], &["1.000", "1.000"]);
        check(&[SECOND, SECOND], &["1.000"]);
        check(&[SECOND, SECOND + 5_000_000], &["1.000", "0.005"]);
        check(&[70_000], &["0.001"]);
    }

    #[test]
    fn the_log_gives_back_what_was_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.hlog");
        let mut log = HistogramLog::create(Place::find(&path).unwrap()).unwrap();
        assert!(!path.exists(), "it appears when it is whole");
        log.begin();
        let mut rows = [of([10, 20, 3000]), Latency::new(), of(1..=5000)];
        for (row, second) in rows.iter_mut().zip(0..) {
            log.row(row.histogram(), second * 1_000_000_000, (second + 1) * 1_000_000_000);
        }
        log.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("#[Histogram log format version 1.3]\n"), "{text}");
        let entries: Vec<_> = IntervalLogIterator::new(text.as_bytes())
            .filter_map(|entry| match entry.unwrap() {
                LogEntry::Interval(interval) => Some(interval),
                _ => None,
            })
            .collect();
        assert_eq!(entries.len(), rows.len());
        for (second, (entry, row)) in entries.iter().zip(&mut rows).enumerate() {
            assert_eq!(entry.start_timestamp(), Duration::from_secs(second as u64));
            let bytes = decode(entry.encoded_histogram());
            let read: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
            assert_eq!(&read, row.histogram());
        }
    }
}
