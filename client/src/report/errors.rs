//! What went wrong, by kind, with the words of the operating system or of the server.

use crate::outcome::{Ledger, LostKind};
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
    /// The server's own number for it.
    pub(crate) status: Option<u32>,
    /// In words.
    pub(crate) text: Option<String>,
    pub(crate) calls: u64,
    /// Connections that were lost in this way.
    pub(crate) connections: u64,
}

/// All kinds that occurred. Calls that are not `answered` are late when they are not written.
pub(crate) fn errors(ledger: &Ledger, timeout: &str, answered: bool) -> Vec<ErrorKind> {
    let what = if answered { "no reply" } else { "not written" };
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
        plain("timed_out", "timeout", format!("{what} within {timeout}"), outcomes.timed_out),
        plain(
            "abandoned",
            "abandoned",
            format!("{what} before the run was over"),
            outcomes.abandoned,
        ),
    ];
    all.retain(|kind| kind.calls > 0);
    all.extend(outcomes.error_replies.iter().map(|(reason, &calls)| ErrorKind {
        outcome: "error_reply",
        cause: reason.to_string(),
        errno: None,
        status: reason.number(),
        text: ledger.error_texts.get(reason).cloned(),
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

fn lost_words(kind: LostKind) -> (String, Option<i32>, Option<u32>, String) {
    let plain = |cause: &str, text: &str| (cause.to_owned(), None, None, text.to_owned());
    match kind {
        LostKind::Eof => plain("eof", "the server closed the connection"),
        LostKind::Protocol => plain("protocol", "the server sent what cannot be read as replies"),
        LostKind::Refused(reason) => {
            let text = format!("the server refused the connection: {reason}");
            ("refused".to_owned(), None, reason.number(), text)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_table::EndedCall;
    use crate::keys::NO_KEY;
    use crate::outcome::{Extras, Failure};
    use crate::reason::{ClassName, Reason};

    #[test]
    fn each_way_to_fail_has_a_line_of_its_own_and_the_calls_add_up() {
        let ways = [
            Failure::Mismatch,
            Failure::TimedOut,
            Failure::Abandoned,
            Failure::ErrorReply(Reason::Status(3)),
            Failure::ErrorReply(Reason::Status(999)),
            Failure::ErrorReply(Reason::Class(ClassName::new(b"a.BusyException"))),
            Failure::ErrorReply(Reason::OmStatus(3)),
            Failure::Lost(LostKind::Eof),
            Failure::Lost(LostKind::Protocol),
            Failure::Lost(LostKind::Refused(Reason::Status(5))),
            Failure::Lost(LostKind::Os(104)),
            Failure::Lost(LostKind::Os(32)),
            Failure::Lost(LostKind::Os(110)),
        ];
        let mut ledger = Ledger::new(Extras::default());
        ledger.started(ways.len() as u64, true, 0);
        for way in ways {
            ledger.failed(EndedCall { due_ns: 0, sent_ns: 0, measured: true, key: NO_KEY }, way, 1);
        }
        ledger.connection_lost(LostKind::Os(104));
        ledger.connection_lost(LostKind::Os(111));
        ledger.error_text(Reason::Status(3), b"queue full\x1b[2J");
        let errors = errors(&ledger, "30s", true);
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
