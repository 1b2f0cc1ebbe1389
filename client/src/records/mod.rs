//! Records, many to a call, as Kafka's producer sends them (`--streams`). A client that batches
//! does not feel the server's fixed cost per call: while its window is full, records wait, and the
//! next call carries more of them.
//!
//! ```text
//!  schedule or room -> accumulator (stream 1..P) -> call (a batch of each stream) -> connection
//!       create              wait                       window: --in-flight           check, count
//! ```
//!
//! - `settings`: what the options come to.
//! - `record`: the bytes of a record, from its stream and sequence alone.
//! - `stream`: the records of a stream that wait; no bytes are kept of them.
//! - `accumulator`: the streams of a worker, when records come into being, what a call takes.
//! - `call`: what a call carries, and what a reply did to it.
//! - `connection`: window, bytes owed, replies.
//! - `desk`: what a worker lends to the connection it serves.
//! - `tally`: every record ends in exactly one outcome, and how long it took.
//! - `worker`: the event loop. The one of plain calls (`crate::worker`) knows nothing of records.

mod accumulator;
mod call;
mod connection;
mod desk;
mod record;
mod settings;
mod stream;
mod tally;
mod worker;

pub(crate) use settings::{IN_FLIGHT_DEFAULT, RecordsError, Settings};
pub(crate) use tally::{Tally, Totals};
pub(crate) use worker::{RecordStart, run};
