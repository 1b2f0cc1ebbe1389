//! echo-server: an RPC echo server with a threaded reader pool and pinned handlers.
//!
//! ```text
//! clients -> listener -> reader 1..R -> call queue -> handler 1..H -> responder -> clients
//! ```
//!
//! With `--dispatch keyed` the rooms of [`keyed`] stand between the call queue and the handlers.
//!
//! A call's life can be read from the file names: [`listener`] accepts, a reader ([`mailbox`] is
//! its door) reads frames into [`call::Calls`], the [`call_queue`] bounds them, a handler runs the
//! [`service`], and the responder writes the replies through the connection's [`outbox`]. Only
//! [`server`] knows all threads.

pub mod admission;
#[doc(hidden)]
pub mod bench;
pub mod call;
pub mod call_queue;
pub mod call_times;
pub mod complaints;
pub mod config;
mod connection;
mod conversation;
pub mod cost;
mod deadlines;
mod dispatcher;
#[cfg(test)]
mod fake;
pub mod fault_injection;
mod frame_check;
pub mod hadoop;
mod handler;
mod handler_cost;
mod handler_shares;
pub mod holdings;
mod intake;
pub mod key_slots;
pub mod keyed;
pub mod keyed_meters;
pub mod limits;
pub mod listener;
pub mod mailbox;
pub mod meters;
pub mod metrics_endpoint;
mod metrics_text;
#[cfg(all(test, loom))]
mod models;
mod mutant;
pub mod options;
pub mod ordered_log;
pub mod outbox;
mod owed;
mod pass_buffer;
mod reader;
mod reader_cost;
mod refusal;
mod replica_inbox;
mod replica_link;
mod replica_log;
mod replicas;
pub mod replication;
mod replicator;
mod reply_head;
mod responder;
mod serial_stage;
pub mod server;
pub mod service;
pub mod snapshot;
pub mod stage_clock;
pub mod stats_line;
mod sync;
mod threads;
pub mod transport;
