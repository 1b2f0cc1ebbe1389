//! echo-client: a load client that keeps calls in flight, checks every reply and says what it saw.
//!
//! ```text
//!  options -> plan -> run ---- control (phase, window, budget) ----+
//!                      |                                           |
//!                      |          worker 1..W, one event loop each v
//!                      |   connect -> barrier -> connection 1..C/W
//!                      |                 call_table: who waits      outbox: what is owed
//!                      |                 reply_reader: what came -> ledger (outcome, latency)
//!                      |          (or records/: the same loop with records, many to a call,
//!                      |           or unanswered/: calls that are done when they are written)
//!                      v
//!                    report -> text | json          progress (main reads the workers' counters)
//! ```

mod budget;
mod call_frames;
mod call_table;
mod callers;
mod connect;
mod connect_error;
mod connection;
mod control;
mod conversation;
mod crew;
mod deliveries;
mod edges;
mod event_loop;
mod farewell;
mod faulty;
mod flow;
mod followers;
mod hadoop;
mod histogram_log;
mod interval_clock;
mod intervals;
mod keys;
mod latency;
mod link;
mod load;
mod notice;
pub mod options;
mod outbox;
mod outcome;
mod output;
mod pacing;
mod payload;
mod plan;
mod program;
mod progress;
mod read_pass;
mod reason;
mod records;
mod remote_stats;
mod reply_reader;
mod report;
mod run;
mod stages;
mod timeline;
mod unanswered;
mod worker;

pub use program::program;
