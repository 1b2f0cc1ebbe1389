//! The options of records, many to a call.

use super::{LIMITS, LOAD};
use clap::Args;
use echo_common::quantity::{count_in, size_in};

/// Records, many to a call.
#[derive(Clone, Debug, Args)]
pub struct RecordOptions {
    /// Send records, many to a call, on so many streams, as Kafka's producer does on partitions. -n
    /// and --rate count records then. Stream i belongs to connection i mod --clients (connections
    /// without a stream are not opened). While all --in-flight calls of a connection are under way,
    /// its records wait, and the next call carries more of them. Without --rate there are always
    /// records waiting, as many as --buffer-bytes holds, and their latency is that of the buffer
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    #[arg(value_parser = count_in(1..=STREAMS_MAX))]
    #[arg(conflicts_with_all = ["threads", "payload", "payload_resp", "think", "callers", "keys"])]
    #[arg(env = "ECHO_CLIENT_STREAMS", help_heading = LOAD)]
    pub streams: Option<u64>,

    /// Bytes of a record; 16 of them are its stream and sequence
    #[arg(long, value_name = "SIZE", default_value = "128", allow_hyphen_values = true)]
    #[arg(value_parser = size_in(RECORD_MIN..=CALL_MAX), requires = "streams")]
    #[arg(env = "ECHO_CLIENT_RECORD_SIZE", help_heading = LOAD)]
    pub record_size: u64,

    /// Bytes of a stream's records in one call at most (Kafka's batch.size)
    #[arg(long, value_name = "SIZE", default_value = "16KiB", allow_hyphen_values = true)]
    #[arg(value_parser = size_in(RECORD_MIN..=CALL_MAX), requires = "streams")]
    #[arg(env = "ECHO_CLIENT_BATCH_BYTES", help_heading = LOAD)]
    pub batch_bytes: u64,

    /// Bytes of records in one call at most, of all its streams (Kafka's max.request.size)
    #[arg(long, value_name = "SIZE", default_value = "1MiB", allow_hyphen_values = true)]
    #[arg(value_parser = size_in(RECORD_MIN..=CALL_MAX), requires = "streams")]
    #[arg(env = "ECHO_CLIENT_MAX_CALL_BYTES", help_heading = LIMITS)]
    pub max_call_bytes: u64,

    /// Bytes of records that wait or are in flight, at most (Kafka's buffer.memory); each stream
    /// has an equal part. A record that finds no room comes into being late, and the report says
    /// how late
    #[arg(long, value_name = "SIZE", default_value = "32MiB", allow_hyphen_values = true)]
    #[arg(value_parser = size_in(RECORD_MIN..=BUFFER_MAX), requires = "streams")]
    #[arg(env = "ECHO_CLIENT_BUFFER_BYTES", help_heading = LIMITS)]
    pub buffer_bytes: u64,
}

const STREAMS_MAX: u64 = 1_000_000;
/// Stream and sequence.
const RECORD_MIN: u64 = 16;
/// What a server takes by default.
const CALL_MAX: u64 = 16 << 20;
const BUFFER_MAX: u64 = 64 << 30;
