//! What a handler does with a call: the service itself. It never sees a socket or a poll.

use crate::call::{asked_reply_len, extensions_len};
use bytes::Bytes;
use echo_common::wire::native::{Header, Status};

/// One call as a service sees it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The fixed part of the frame.
    pub header: Header,
    /// The payload.
    pub body: &'a [u8],
    /// The payload length that the reply shall have, if the call says so.
    pub reply_len: Option<usize>,
}

impl<'a> Call<'a> {
    /// Takes a checked frame apart.
    #[inline]
    pub(crate) fn new(header: Header, rest: &'a [u8]) -> Call<'a> {
        let reply_len = asked_reply_len(&header, rest);
        Call { header, body: &rest[extensions_len(&header)..], reply_len }
    }
}

/// The body of a reply.
#[derive(Debug)]
pub enum Reply<'a> {
    /// These bytes of the call, which are passed on without a copy where that pays.
    Echo(&'a [u8]),
    /// These bytes, repeated and cut to a length; zeros if there are none.
    Repeated(&'a [u8], usize),
    /// Bytes of the service's own.
    Owned(Bytes),
    /// The call failed.
    Failed(Status, String),
}

/// Serves calls, on any handler, several at a time.
pub trait Service: Send + Sync + 'static {
    /// Serves one call. A panic fails this call and no other.
    fn serve<'a>(&self, call: Call<'a>) -> Reply<'a>;

    /// Whether a call without flags is answered by its own payload, whatever is in it, and nothing
    /// else happens. Such calls are not shown to [`Service::serve`] one by one.
    fn only_echoes(&self) -> bool {
        false
    }

    /// How many calls a handler may take at once. Services whose calls take long say 1, so that
    /// no call waits behind another while a handler is free.
    fn batch_max(&self) -> u32;
}

/// Calls a handler takes at once when each costs far less than a wake-up: enough to make the
/// hand-off cheap, few enough to keep the last one's wait in the tens of microseconds.
const CHEAP_BATCH: u32 = 256;

/// Returns the payload as it came, or as long as the call asks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Echo;

impl Service for Echo {
    #[inline]
    fn serve<'a>(&self, call: Call<'a>) -> Reply<'a> {
        match call.reply_len {
            None => Reply::Echo(call.body),
            Some(length) if length <= call.body.len() => Reply::Echo(&call.body[..length]),
            Some(length) => Reply::Repeated(call.body, length),
        }
    }

    fn only_echoes(&self) -> bool {
        true
    }

    fn batch_max(&self) -> u32 {
        CHEAP_BATCH
    }
}
