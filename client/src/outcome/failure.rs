//! How a call ends when not with the right reply.

use crate::reason::Reason;

/// How a call ended, when not with the right reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The reply had wrong bytes or a wrong length.
    Mismatch,
    /// The server answered with an error, for this reason.
    ErrorReply(Reason),
    /// No answer within the call's time limit.
    TimedOut,
    /// Its connection was lost.
    Lost(LostKind),
    /// The run ended before its answer came.
    Abandoned,
}

/// Why a connection, and with it every call in flight on it, was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LostKind {
    /// The peer closed it in good order.
    Eof,
    /// The server said that it does not want the connection, and why.
    Refused(Reason),
    /// What came was not in the framing that the run speaks.
    Protocol,
    /// The operating system's error number.
    Os(i32),
}
