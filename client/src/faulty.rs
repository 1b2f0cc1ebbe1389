//! Which calls went wrong, by name: the first few of each kind, so that one can be looked for in a
//! capture of the connection. How many there were is counted elsewhere.

use crate::outcome::Failure;
use serde::Serialize;
use std::fmt;

/// Calls of one kind that are kept.
const KEPT_MAX: u8 = 10;
const KINDS: usize = 8;

/// What was wrong with a call, or with its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Wrong {
    /// Its reply had wrong bytes or a wrong length.
    Mismatch,
    /// No reply came in time.
    TimedOut,
    /// Its reply was an error.
    ErrorReply,
    /// It was under way when its connection was lost.
    ConnectionLost,
    /// It was under way when the run ended.
    Abandoned,
    /// A reply came to a call that did not wait for one.
    UnexpectedReply,
    /// It was acknowledged before enough servers held it.
    EarlyAck,
    /// Its reply came behind that of a later call, where the server promises order.
    Overtaken,
}

impl Wrong {
    const ALL: [Wrong; KINDS] = [
        Wrong::Mismatch,
        Wrong::TimedOut,
        Wrong::ErrorReply,
        Wrong::ConnectionLost,
        Wrong::Abandoned,
        Wrong::UnexpectedReply,
        Wrong::EarlyAck,
        Wrong::Overtaken,
    ];

    /// What is wrong with a call that ended so.
    pub(crate) fn by(failure: Failure) -> Wrong {
        match failure {
            Failure::Mismatch => Wrong::Mismatch,
            Failure::ErrorReply(_) => Wrong::ErrorReply,
            Failure::TimedOut => Wrong::TimedOut,
            Failure::Lost(_) => Wrong::ConnectionLost,
            Failure::Abandoned => Wrong::Abandoned,
        }
    }

    /// In words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Wrong::Mismatch => "mismatch",
            Wrong::TimedOut => "timed out",
            Wrong::ErrorReply => "error reply",
            Wrong::ConnectionLost => "connection lost",
            Wrong::Abandoned => "abandoned",
            Wrong::UnexpectedReply => "unexpected reply",
            Wrong::EarlyAck => "early ack",
            Wrong::Overtaken => "overtaken",
        }
    }
}

/// A record by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordName {
    pub(crate) stream: u64,
    /// Its sequence in the stream.
    pub(crate) sequence: u64,
}

/// A call by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FaultyCall {
    pub(crate) what: Wrong,
    /// Whose connection it was on.
    pub(crate) worker: u64,
    /// Which of the worker's connections that was.
    pub(crate) connection: u64,
    /// Its id on the wire.
    pub(crate) id: u64,
    /// The record that went wrong, of a call that carries some; the call's first one where all of
    /// them did.
    pub(crate) stream: Option<u64>,
    pub(crate) record: Option<u64>,
}

impl fmt::Display for FaultyCall {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FaultyCall { worker, connection, id, .. } = self;
        write!(to, "call {id:#x} on connection {connection} of worker-{worker:02}")?;
        match (self.stream, self.record) {
            (Some(stream), Some(record)) => write!(to, ", record {record} of stream {stream}"),
            _ => Ok(()),
        }
    }
}

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaultyCalls {
    calls: Vec<FaultyCall>,
    /// How many of each kind are kept: a server that fails every call costs no search for each.
    kept: [u8; KINDS],
    /// The connection that is being served, see [`crate::conversation::number`].
    connection: u64,
}

impl FaultyCalls {
    /// What is named next is on this connection.
    #[inline]
    pub(crate) fn on(&mut self, connection: u64) {
        self.connection = connection;
    }

    /// Names a call, and one of its records if it carries some.
    #[cold]
    pub(crate) fn name(&mut self, what: Wrong, id: u64, record: Option<RecordName>) {
        let (worker, connection) = (self.connection >> 32, self.connection & u64::from(u32::MAX));
        let stream = record.map(|record| record.stream);
        let record = record.map(|record| record.sequence);
        self.keep(FaultyCall { what, worker, connection, id, stream, record });
    }

    /// Adds another worker's.
    pub(crate) fn add(&mut self, other: &FaultyCalls) {
        other.calls.iter().for_each(|call| self.keep(*call));
    }

    /// By kind, in the order in which they were found.
    pub(crate) fn all(&self) -> Vec<FaultyCall> {
        let of = |what| self.calls.iter().filter(move |call| call.what == what).copied();
        Wrong::ALL.into_iter().flat_map(of).collect()
    }

    fn keep(&mut self, call: FaultyCall) {
        let kept = &mut self.kept[call.what as usize];
        if *kept < KEPT_MAX {
            *kept += 1;
            self.calls.push(call);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_each_kind_are_kept_with_their_connection() {
        let mut calls = FaultyCalls::default();
        calls.on(3 << 32 | 7);
        (0..100).for_each(|id| calls.name(Wrong::TimedOut, id, None));
        calls.name(Wrong::Mismatch, 5, Some(RecordName { stream: 2, sequence: 9 }));
        let mut all = FaultyCalls::default();
        all.add(&calls);
        all.add(&calls);
        let all = all.all();
        assert_eq!(all.len(), usize::from(KEPT_MAX) + 2);
        let first = FaultyCall {
            what: Wrong::Mismatch,
            worker: 3,
            connection: 7,
            id: 5,
            stream: Some(2),
            record: Some(9),
        };
        assert_eq!(all[0], first);
        let text = "call 0x5 on connection 7 of worker-03, record 9 of stream 2";
        assert_eq!(first.to_string(), text);
        assert_eq!(all[2].to_string(), "call 0x0 on connection 7 of worker-03");
    }
}
