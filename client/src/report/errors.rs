//! What went wrong, by kind, with the words of the operating system or of the server.

use crate::outcome::{Ledger, LostKind};
use echo_common::wire::native::Status;
use serde::Serialize;
use std::io;

/// Calls that failed in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ErrorKind {
    /// The outcome they are counted under.
    pub(crate) outcome: &'static str,
    /// What it was, in one word.
    pub(crate) cause: String,
    /// The operating system's number.
    pub(crate) errno: Option<i32>,
    /// The status of the server's error frame.
    pub(crate) status: Option<u16>,
    /// In words.
    pub(crate) text: Option<String>,
    pub(crate) calls: u64,
    /// Connections that were lost in this way.
    pub(crate) connections: u64,
}

/// All kinds that occurred.
pub(crate) fn errors(ledger: &Ledger, timeout: &str) -> Vec<ErrorKind> {
    let outcomes = &ledger.outcomes;
    let plain = |outcome: &'static str, cause: &str, text: String, calls: u64| ErrorKind {
        outcome,
        cause: cause.to_owned(),
        errno: None,
        status: None,
        text: Some(text),
        calls,
        connections: 0,
    };
    let mut all = vec![
        plain(
            "mismatch",
            "mismatch",
            "reply with wrong bytes or length".to_owned(),
            outcomes.mismatch,
        ),
        plain("timed_out", "timeout", format!("no reply within {timeout}"), outcomes.timed_out),
        plain(
            "abandoned",
            "abandoned",
            "no reply before the run was over".to_owned(),
            outcomes.abandoned,
        ),
    ];
    all.retain(|kind| kind.calls > 0);
    all.extend(outcomes.error_replies.iter().map(|(&status, &calls)| ErrorKind {
        outcome: "error_reply",
        cause: status_word(status),
        errno: None,
        status: Some(status),
        text: ledger.error_texts.get(&status).cloned(),
        calls,
        connections: 0,
    }));
    // A connection can be lost with calls in flight or without.
    let kinds = outcomes.lost.keys().chain(outcomes.connections_lost.keys());
    let kinds: std::collections::BTreeSet<LostKind> = kinds.copied().collect();
    all.extend(kinds.into_iter().map(|kind| {
        let (cause, errno, status, text) = lost_words(kind);
        ErrorKind {
            outcome: "connection_lost",
            cause,
            errno,
            status,
            text: Some(text),
            calls: outcomes.lost.get(&kind).copied().unwrap_or(0),
            connections: outcomes.connections_lost.get(&kind).copied().unwrap_or(0),
        }
    }));
    all
}

fn lost_words(kind: LostKind) -> (String, Option<i32>, Option<u16>, String) {
    let plain = |cause: &str, text: &str| (cause.to_owned(), None, None, text.to_owned());
    match kind {
        LostKind::Eof => plain("eof", "the server closed the connection"),
        LostKind::Protocol => plain("protocol", "the server sent what is not our framing"),
        LostKind::Refused(status) => {
            let text = format!("the server refused the connection: {}", status_word(status));
            ("refused".to_owned(), None, Some(status), text)
        }
        LostKind::Os(errno) => {
            let error = io::Error::from_raw_os_error(errno);
            let cause = match error.kind() {
                io::ErrorKind::ConnectionReset => "reset",
                io::ErrorKind::BrokenPipe => "broken_pipe",
                io::ErrorKind::TimedOut => "peer_unreachable",
                io::ErrorKind::ConnectionAborted => "aborted",
                _ => "os",
            };
            (cause.to_owned(), Some(errno), None, error.to_string())
        }
    }
}

/// The name of an error frame's status.
fn status_word(status: u16) -> String {
    let word = match Status::from_wire(status) {
        Some(Status::Malformed) => "malformed",
        Some(Status::FrameTooLarge) => "frame_too_large",
        Some(Status::TooBusy) => "too_busy",
        Some(Status::Internal) => "internal",
        Some(Status::Stopping) => "stopping",
        Some(Status::Refused) => "refused",
        Some(Status::TimedOut) => "timed_out",
        None => return format!("status_{status}"),
    };
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_table::EndedCall;
    use crate::outcome::{Extras, Failure};

    #[test]
    fn each_way_to_fail_has_a_line_of_its_own_and_the_calls_add_up() {
        let ways = [
            Failure::Mismatch,
            Failure::TimedOut,
            Failure::Abandoned,
            Failure::ErrorReply(3),
            Failure::ErrorReply(999),
            Failure::Lost(LostKind::Eof),
            Failure::Lost(LostKind::Protocol),
            Failure::Lost(LostKind::Refused(5)),
            Failure::Lost(LostKind::Os(104)),
            Failure::Lost(LostKind::Os(32)),
            Failure::Lost(LostKind::Os(110)),
        ];
        let mut ledger = Ledger::new(Extras::default());
        ledger.started(ways.len() as u64, true, 0);
        for way in ways {
            ledger.failed(EndedCall { due_ns: 0, sent_ns: 0, measured: true }, way, 1);
        }
        ledger.connection_lost(LostKind::Os(104));
        ledger.connection_lost(LostKind::Os(111));
        ledger.error_text(3, b"queue full\x1b[2J");
        let errors = errors(&ledger, "30s");
        assert_eq!(errors.len(), ways.len() + 1, "and a connection without calls");
        assert_eq!(errors.iter().map(|e| e.calls).sum::<u64>(), ledger.outcomes.not_ok());
        let causes: std::collections::BTreeSet<_> =
            errors.iter().map(|e| (e.outcome, &e.cause, e.errno)).collect();
        assert_eq!(causes.len(), errors.len());
        let reset = errors.iter().find(|e| e.cause == "reset").unwrap();
        assert_eq!((reset.errno, reset.connections), (Some(104), 1));
        assert!(reset.text.as_ref().unwrap().contains("reset by peer"));
        let busy = errors.iter().find(|e| e.cause == "too_busy").unwrap();
        assert_eq!(busy.text.as_deref(), Some("queue full\\u{1b}[2J"));
    }
}
