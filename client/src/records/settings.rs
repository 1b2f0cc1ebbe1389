//! What the options of records come to, and which do not go together.

use crate::options::{Options, Protocol, RecordOptions};
use crate::pacing::Pace;
use thiserror::Error;

/// Calls in flight on a connection, as Kafka's producer has them.
pub(crate) const IN_FLIGHT_DEFAULT: u64 = 5;

/// A run of records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Streams of all workers.
    pub(crate) streams: usize,
    pub(crate) record_len: usize,
    pub(crate) batch_bytes: u64,
    pub(crate) call_bytes_max: u64,
    pub(crate) buffer_bytes: u64,
    /// The schedule; each stream has its part of it.
    pub(crate) pace: Option<Pace>,
    /// Records of the run, if their number ends it.
    pub(crate) records: Option<u64>,
}

/// Why options of records are refused.
#[derive(Debug, Error)]
pub(crate) enum RecordsError {
    #[error(
        "{option} {bytes} with --record-size {record_size}: it holds at least one record; \
         allowed: at least {record_size}"
    )]
    TooSmall { option: &'static str, bytes: u64, record_size: u64 },
    #[error(
        "--buffer-bytes {bytes} with --streams {streams} and --record-size {record_size}: each \
         stream has room for a record; allowed: at least {least}"
    )]
    NoRoom { bytes: u64, streams: u64, record_size: u64, least: u64 },
    #[error("--streams with --protocol hadoop: records are sent in native calls only")]
    Hadoop,
}

impl Settings {
    /// None without --streams.
    pub(crate) fn of(
        options: &Options,
        records: Option<u64>,
    ) -> Result<Option<Settings>, RecordsError> {
        let RecordOptions { streams, record_size, batch_bytes, max_call_bytes, buffer_bytes } =
            options.records;
        let Some(streams) = streams else {
            return Ok(None);
        };
        for (option, bytes) in
            [("--batch-bytes", batch_bytes), ("--max-call-bytes", max_call_bytes)]
        {
            if bytes < record_size {
                return Err(RecordsError::TooSmall { option, bytes, record_size });
            }
        }
        let least = streams * record_size;
        if buffer_bytes < least {
            let bytes = buffer_bytes;
            return Err(RecordsError::NoRoom { bytes, streams, record_size, least });
        }
        if options.protocol == Protocol::Hadoop {
            return Err(RecordsError::Hadoop);
        }
        Ok(Some(Settings {
            streams: streams as usize,
            record_len: record_size as usize,
            batch_bytes,
            call_bytes_max: max_call_bytes,
            buffer_bytes,
            pace: options.rate.map(|calls_per_s| Pace {
                calls_per_s,
                arrivals: options.arrivals,
                // As many parts as streams.
                workers: streams,
                calls: records,
                seed: options.seed,
            }),
            records,
        }))
    }

    pub(super) fn records_per_batch(&self) -> usize {
        self.batch_bytes as usize / self.record_len
    }

    pub(super) fn records_per_call(&self) -> usize {
        self.call_bytes_max as usize / self.record_len
    }

    /// Records in `in_flight` calls of each connection and in the next one, at most.
    pub(crate) fn room_for_records(&self, connections: usize, in_flight: usize) -> usize {
        let by_call = connections * self.records_per_call();
        by_call.min(self.streams * self.records_per_batch()) * (in_flight + 1)
    }

    /// Records of one stream that wait or are in flight, at most.
    pub(crate) fn records_per_stream(&self) -> usize {
        self.buffer_bytes as usize / self.streams / self.record_len
    }
}
