//! Every bound of the server, in one place. Each has an option, and a counter in
//! [`crate::meters::LimitMeters`] that shows when it acted.

use crate::call_queue::WhenFull;
use crate::holdings::EPOCHS_MAX;
use crate::outbox::FlowLimits;
use echo_common::wire::hadoop::conversation::Rules;
use echo_common::wire::hadoop::fault::Package;
use echo_common::{clock, quantity};
use serde::Serialize;
use std::time::Duration;

/// The bounds in force, resolved.
#[derive(Clone, Debug, Serialize)]
pub struct Limits {
    /// Connections open at once.
    pub max_connections: usize,
    /// Connections open at once from one address; none without a bound.
    pub max_connections_per_peer: Option<usize>,
    /// Greatest value of a frame's length word, in bytes.
    pub max_frame_size: usize,
    /// The same for packets of Hadoop RPC; none where it is switched off.
    pub max_packet_size: Option<u32>,
    /// Calls of one connection in the server at once.
    pub calls_per_connection: u32,
    /// Bytes of one connection in the server at once: calls in flight and replies not taken.
    pub max_owed_bytes: usize,
    /// Calls taken from one connection per pass.
    pub reader_batch: u32,
    /// Calls waiting for a handler.
    pub queue_capacity: usize,
    /// What happens to the call that finds the queue full.
    pub when_full: WhenFull,
    /// Confirmed calls waiting for the dispatcher, with `--dispatch keyed`.
    pub log_capacity: usize,
    /// Calls waiting for each handler, with `--dispatch keyed`.
    pub handler_queue: usize,
    /// Accepted connections waiting for one reader.
    pub reader_inbox: usize,
    /// Connections that the kernel may hold for us before they are accepted.
    pub backlog: u32,
    /// From accept to the first whole frame.
    #[serde(serialize_with = "as_text")]
    pub handshake_timeout: Option<Duration>,
    /// For a frame to become whole.
    #[serde(serialize_with = "as_text")]
    pub frame_timeout: Option<Duration>,
    /// Without a call, nothing in flight, nothing owed.
    #[serde(serialize_with = "as_text")]
    pub idle_timeout: Option<Duration>,
    /// Bytes owed and the peer takes none.
    #[serde(serialize_with = "as_text")]
    pub write_stall_timeout: Option<Duration>,
    /// From the signal to the end, whatever is still owed.
    #[serde(serialize_with = "as_text")]
    pub drain_timeout: Option<Duration>,
}

fn as_text<S: serde::Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&shown(*time))
}

fn shown(time: Option<Duration>) -> String {
    time.map_or_else(|| "off".into(), quantity::format_duration)
}

/// The bounds that act while reading, as the reader wants them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadLimits {
    pub(crate) frame_size_max: usize,
    /// Absent where Hadoop RPC is switched off.
    pub(crate) hadoop: Option<Rules>,
    pub(crate) reader_batch: u32,
    /// Nanoseconds; `u64::MAX` when off. So are the following.
    pub(crate) handshake_timeout_ns: u64,
    pub(crate) frame_timeout_ns: u64,
    pub(crate) idle_timeout_ns: u64,
    pub(crate) write_stall_timeout_ns: u64,
}

impl ReadLimits {
    /// Nothing but a bound for native frames.
    pub(crate) fn of_frames(frame_size_max: usize) -> ReadLimits {
        ReadLimits {
            frame_size_max,
            hadoop: None,
            reader_batch: u32::MAX,
            handshake_timeout_ns: u64::MAX,
            frame_timeout_ns: u64::MAX,
            idle_timeout_ns: u64::MAX,
            write_stall_timeout_ns: u64::MAX,
        }
    }
}

impl Limits {
    /// `package` is where Hadoop's clients look for the classes of failures.
    pub(crate) fn read(&self, package: Package) -> ReadLimits {
        let ns = |time: Option<Duration>| time.map_or(u64::MAX, clock::ns);
        ReadLimits {
            frame_size_max: self.max_frame_size,
            hadoop: self.max_packet_size.map(|packet_max| Rules { packet_max, package }),
            reader_batch: self.reader_batch,
            handshake_timeout_ns: ns(self.handshake_timeout),
            frame_timeout_ns: ns(self.frame_timeout),
            idle_timeout_ns: ns(self.idle_timeout),
            write_stall_timeout_ns: ns(self.write_stall_timeout),
        }
    }

    pub(crate) fn flow(&self) -> FlowLimits {
        FlowLimits {
            calls_max: self.calls_per_connection,
            owed_bytes_max: self.max_owed_bytes,
            notes_idle: self.idle_timeout.is_some(),
        }
    }

    /// One line per bound: option, value, counter (for `--show-limits`). Queues that nothing goes
    /// through have no value.
    pub(crate) fn table(&self, handlers: usize, keyed: bool) -> String {
        let used = |is_used: bool, size: usize| match is_used {
            true => size.to_string(),
            false => "not used".to_owned(),
        };
        let per_peer =
            self.max_connections_per_peer.map_or_else(|| "off".into(), |max| max.to_string());
        let when_full = match self.when_full {
            WhenFull::Wait => "queue_full_waits",
            WhenFull::Reject => "calls_rejected",
        };
        let packet_size = self
            .max_packet_size
            .map_or_else(|| "off".into(), |max| quantity::format_size(u64::from(max)));
        let rows: [(&str, String, &str); 18] = [
            ("--max-connections", self.max_connections.to_string(), "connections_refused"),
            ("--max-connections-per-peer", per_peer, "peer_connections_refused"),
            (
                "--max-frame-size",
                quantity::format_size(self.max_frame_size as u64),
                "frames_oversize",
            ),
            ("  the same for Hadoop RPC", packet_size, "frames_oversize"),
            ("--calls-per-connection", self.calls_per_connection.to_string(), "reading_paused"),
            (
                "--max-owed-bytes",
                quantity::format_size(self.max_owed_bytes as u64),
                "reading_paused",
            ),
            ("--queue-capacity", used(handlers > 0, self.queue_capacity), when_full),
            ("--log-capacity", used(keyed, self.log_capacity), "log_full_waits"),
            ("--handler-queue", used(keyed, self.handler_queue), "handler_queue_waits"),
            ("--reader-inbox", self.reader_inbox.to_string(), "inbox_waits"),
            ("  leaders that are followed", EPOCHS_MAX.to_string(), "leaders_refused"),
            ("  leaders remembered", EPOCHS_MAX.to_string(), "leaders_forgotten"),
            ("--backlog", self.backlog.to_string(), "(kernel: ListenOverflows)"),
            ("--handshake-timeout", shown(self.handshake_timeout), "handshake_timeouts"),
            ("--frame-timeout", shown(self.frame_timeout), "frame_timeouts"),
            ("--idle-timeout", shown(self.idle_timeout), "idle_closed"),
            ("--write-stall-timeout", shown(self.write_stall_timeout), "write_stalls"),
            ("--drain-timeout", shown(self.drain_timeout), "drain_cut"),
        ];
        let mut out = String::from("limit                         value         counter\n");
        for (option, value, counter) in rows {
            out += &format!("{option:<28}  {value:<12}  {counter}\n");
        }
        out
    }
}

#[cfg(test)]
mod tests;
