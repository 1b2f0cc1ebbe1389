//! Our own framing (DESIGN: "Wire"), big-endian.
//!
//! A connection opens with [`PREAMBLE_LEN`] bytes of the client: `ECHO`, version, flags, u16 zero.
//! Then frames in both directions: a u32 length of what follows, u8 kind, u8 flags, u16 status,
//! u64 call id, the extensions that the flags announce, and the payload.

use thiserror::Error;

/// Bytes of the connection preamble.
pub const PREAMBLE_LEN: usize = 8;
/// What a native client sends first: `ECHO`, version 1, no flags.
pub const PREAMBLE: [u8; PREAMBLE_LEN] = *b"ECHO\x01\0\0\0";
/// Bytes of the length word.
pub const LENGTH_LEN: usize = 4;
/// Bytes of a frame before extensions and payload, the length word included.
pub const HEADER_LEN: usize = 16;
/// The least legal value of the length word: kind, flags, status and call id.
pub const BODY_MIN: usize = HEADER_LEN - LENGTH_LEN;
/// Default limit of the length word: a payload of 16 MiB with its header and every extension.
pub const FRAME_MAX_DEFAULT: usize = (16 << 20) + 64;

/// Flag: the call counts as done when enough followers hold it.
pub const FLAG_ACKS_ALL: u8 = 0x01;
/// Flag: a u64 key and a u64 key sequence follow the header.
pub const FLAG_HAS_KEY: u8 = 0x02;
/// Flag: the call asks for stage durations and has [`STAGES_LEN`] bytes of room for them, whatever
/// is in these; the reply carries them.
pub const FLAG_WANT_STAGES: u8 = 0x04;
/// Flag: a u32 follows the header, the payload length that the reply shall have.
pub const FLAG_RESP_SIZE: u8 = 0x08;

/// Flag: the call asks which handler executed it and as which one, the reply says so.
pub const FLAG_WANT_EXECUTION: u8 = 0x10;
/// Flag: the call is served and not answered, not even with an error (acks=0).
pub const FLAG_NO_REPLY: u8 = 0x20;
/// Flag: the call asks how many hold it, the reply says so.
pub const FLAG_WANT_HELD: u8 = 0x40;

/// Bytes of the extension that [`FLAG_HAS_KEY`] announces. Extensions follow one another in the
/// order of their flags' bits.
pub const KEY_LEN: usize = 16;
/// Bytes of the extension that [`FLAG_RESP_SIZE`] announces.
pub const RESP_SIZE_LEN: usize = 4;
/// Bytes of the block that a reply with [`FLAG_WANT_EXECUTION`] carries, behind its stages if it
/// has those, too.
pub const EXECUTION_LEN: usize = 12;
/// Bytes of the block that a reply with [`FLAG_WANT_HELD`] carries, the last of the blocks.
pub const HELD_LEN: usize = 12;
/// Bytes of the epoch behind the header of a [`Kind::Replica`] or [`Kind::Join`] frame.
pub const EPOCH_LEN: usize = 8;
/// Bytes of the `since` behind the epoch of a [`Kind::Join`] frame.
pub const SINCE_LEN: usize = 8;
/// The id of a [`Kind::Join`] frame that only asks who is there.
pub const WHO_ID: u64 = 0;

/// Bytes of the block that a reply with [`FLAG_WANT_STAGES`] carries behind its header, and of the
/// room for it in the call: a call that asks for nothing else is as long as its reply, and becomes
/// it where it is.
pub const STAGES_LEN: usize = 20;

/// How long a call spent in each stage of the server, in nanoseconds (at most 4.29 s each).
///
/// Durations and not clock times, because client and server share no clock. They follow one
/// another without gaps: their sum runs from the readiness of the call's bytes to the write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    /// From the readiness of the bytes to the decoded call: the reader, with its cost.
    pub decoded_ns: u32,
    /// From there to the call queue.
    pub queued_ns: u32,
    /// In the call queue, until a handler took the call.
    pub taken_ns: u32,
    /// At the handler until the service was done, calls before it in the batch included.
    pub served_ns: u32,
    /// From there to the beginning of the write that carried the reply.
    pub written_ns: u32,
}

impl Stages {
    /// The stages in order.
    pub fn all(&self) -> [u32; 5] {
        [self.decoded_ns, self.queued_ns, self.taken_ns, self.served_ns, self.written_ns]
    }

    /// The bytes on the wire.
    pub fn encode(&self) -> [u8; STAGES_LEN] {
        let mut out = [0; STAGES_LEN];
        for (word, value) in out.chunks_exact_mut(4).zip(self.all()) {
            word.copy_from_slice(&value.to_be_bytes());
        }
        out
    }

    /// Reads the block.
    pub fn decode(bytes: &[u8; STAGES_LEN]) -> Stages {
        let word = |at: usize| {
            u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        Stages {
            decoded_ns: word(0),
            queued_ns: word(4),
            taken_ns: word(8),
            served_ns: word(12),
            written_ns: word(16),
        }
    }
}

/// What a call with [`FLAG_HAS_KEY`] belongs to: calls of one key are executed in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    /// The key.
    pub key: u64,
    /// The client's count of the calls of this key; the server passes it by.
    pub sequence: u64,
}

impl Key {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; KEY_LEN] {
        let mut out = [0; KEY_LEN];
        out[..8].copy_from_slice(&self.key.to_be_bytes());
        out[8..].copy_from_slice(&self.sequence.to_be_bytes());
        out
    }

    /// Reads the extension.
    #[inline]
    pub fn decode(bytes: &[u8; KEY_LEN]) -> Key {
        let [k0, k1, k2, k3, k4, k5, k6, k7, sequence @ ..] = *bytes;
        let key = u64::from_be_bytes([k0, k1, k2, k3, k4, k5, k6, k7]);
        Key { key, sequence: u64::from_be_bytes(sequence) }
    }
}

/// Who executed a call with [`FLAG_WANT_EXECUTION`], and when among the calls that asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Execution {
    /// The handler's number; the reader's on a server without handlers.
    pub handler: u32,
    /// This handler's count of the calls that asked, from 1, in the order of their execution.
    pub number: u64,
}

impl Execution {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; EXECUTION_LEN] {
        let mut out = [0; EXECUTION_LEN];
        out[..4].copy_from_slice(&self.handler.to_be_bytes());
        out[4..].copy_from_slice(&self.number.to_be_bytes());
        out
    }

    /// Reads the block.
    #[inline]
    pub fn decode(bytes: &[u8; EXECUTION_LEN]) -> Execution {
        let [h0, h1, h2, h3, number @ ..] = *bytes;
        let handler = u32::from_be_bytes([h0, h1, h2, h3]);
        Execution { handler, number: u64::from_be_bytes(number) }
    }
}

/// How safe a call with [`FLAG_WANT_HELD`] was when it was answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// The leader's number of the call, from 1; 0 if it was not replicated.
    pub sequence: u64,
    /// How many held the call, the leader included.
    pub holders: u16,
    /// How many had to.
    pub needed: u16,
}

impl Held {
    /// The bytes on the wire.
    pub fn encode(&self) -> [u8; HELD_LEN] {
        let mut out = [0; HELD_LEN];
        out[..8].copy_from_slice(&self.sequence.to_be_bytes());
        out[8..10].copy_from_slice(&self.holders.to_be_bytes());
        out[10..].copy_from_slice(&self.needed.to_be_bytes());
        out
    }

    /// Reads the block.
    pub fn decode(bytes: &[u8; HELD_LEN]) -> Held {
        let [s0, s1, s2, s3, s4, s5, s6, s7, h0, h1, n0, n1] = *bytes;
        Held {
            sequence: u64::from_be_bytes([s0, s1, s2, s3, s4, s5, s6, s7]),
            holders: u16::from_be_bytes([h0, h1]),
            needed: u16::from_be_bytes([n0, n1]),
        }
    }
}

/// What a follower says in its replies: it holds every call of the epoch from `since` up to, and
/// without, `next`. A reply to [`Kind::Replica`] has `next` alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// The first call held.
    pub since: u64,
    /// The first call that may be missing.
    pub next: u64,
}

/// Bytes of a [`Holding`] in a [`Kind::Join`] reply.
pub const HOLDING_LEN: usize = 16;

impl Holding {
    /// The bytes on the wire.
    pub fn encode(&self) -> [u8; HOLDING_LEN] {
        let mut out = [0; HOLDING_LEN];
        out[..8].copy_from_slice(&self.since.to_be_bytes());
        out[8..].copy_from_slice(&self.next.to_be_bytes());
        out
    }

    /// Reads the payload.
    pub fn decode(bytes: &[u8; HOLDING_LEN]) -> Holding {
        let [s0, s1, s2, s3, s4, s5, s6, s7, next @ ..] = *bytes;
        let since = u64::from_be_bytes([s0, s1, s2, s3, s4, s5, s6, s7]);
        Holding { since, next: u64::from_be_bytes(next) }
    }
}

/// What a server says of itself to a leader that asks ([`WHO_ID`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Introduction {
    /// Drawn at its start: whatever the address, it is this server.
    pub server: u64,
    /// Bytes of the longest payload that it holds.
    pub payload_max: u64,
}

impl Introduction {
    /// The bytes on the wire, as many as those of a [`Holding`].
    pub fn encode(&self) -> [u8; HOLDING_LEN] {
        Holding { since: self.server, next: self.payload_max }.encode()
    }

    /// Reads the payload.
    pub fn decode(bytes: &[u8; HOLDING_LEN]) -> Introduction {
        let Holding { since: server, next: payload_max } = Holding::decode(bytes);
        Introduction { server, payload_max }
    }
}

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A call, client to server.
    Call = 1,
    /// The answer to a call.
    Reply = 2,
    /// A refusal of one call (its id) or of the connection (id [`CONNECTION_ID`]); payload is text.
    Error = 3,
    /// Asks for the server's counters; answered by the same kind with JSON as payload.
    Stats = 4,
    /// A call on its way from a leader to a follower: the id is its sequence, the leader's epoch
    /// comes first. Answered by a reply whose payload is a u64, the `next` of [`Holding`].
    Replica = 5,
    /// A leader asks a follower to hold its calls from the id on. Behind its epoch comes a u64: the
    /// `since` that it knows of the follower, or 0. Answered by the same kind with a [`Holding`];
    /// if the id is [`WHO_ID`], with an [`Introduction`], and nothing is held for it.
    Join = 6,
}

/// The call id of an error that concerns the whole connection.
pub const CONNECTION_ID: u64 = u64::MAX;

/// Why the server refused, in the status field of an error frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u16)]
pub enum Status {
    /// The preamble, kind, flags or an extension was not understood. The connection is closed.
    Malformed = 1,
    /// The length word is above the server's frame limit. The connection is closed.
    FrameTooLarge = 2,
    /// The call queue was full and the policy is `reject`. Only this call failed.
    TooBusy = 3,
    /// The handler failed on this call. Only this call failed.
    Internal = 4,
    /// The server is stopping and did not take this call.
    Stopping = 5,
    /// The server was told not to answer this kind of call.
    Refused = 6,
    /// A time limit of the server ended the connection.
    TimedOut = 7,
    /// Too few followers held the call within the server's time for it. Some may hold it.
    TooFewHolders = 8,
}

impl Status {
    /// The name under which reports and logs count this status.
    pub fn name(self) -> &'static str {
        match self {
            Status::Malformed => "malformed",
            Status::FrameTooLarge => "frame_too_large",
            Status::TooBusy => "too_busy",
            Status::Internal => "internal",
            Status::Stopping => "stopping",
            Status::Refused => "refused",
            Status::TimedOut => "timed_out",
            Status::TooFewHolders => "too_few_holders",
        }
    }

    /// The status for a wire value, if it is one that this version knows.
    pub fn from_wire(value: u16) -> Option<Status> {
        Some(match value {
            1 => Status::Malformed,
            2 => Status::FrameTooLarge,
            3 => Status::TooBusy,
            4 => Status::Internal,
            5 => Status::Stopping,
            6 => Status::Refused,
            7 => Status::TimedOut,
            8 => Status::TooFewHolders,
            _ => return None,
        })
    }
}

/// A frame's first [`HEADER_LEN`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Value of the length word: bytes that follow it, at least [`BODY_MIN`].
    pub length: u32,
    /// What the frame is.
    pub kind: Kind,
    /// The `FLAG_*` bits.
    pub flags: u8,
    /// A [`Status`] in error frames, else 0.
    pub status: u16,
    /// Chosen by the client, returned as it came.
    pub id: u64,
}

/// What is wrong with a frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// The length word cannot hold the fixed header.
    #[error("frame length {0} is below the {BODY_MIN} bytes of a header")]
    TooShort(u32),
    /// The kind byte is none of [`Kind`].
    #[error("frame kind {0} is unknown (1 call, 2 reply, 3 error, 4 stats, 5 replica, 6 join)")]
    UnknownKind(u8),
}

impl Header {
    /// A header for `payload` bytes behind extensions of `extensions` bytes.
    ///
    /// The sum must fit the u32 length word, which frame limits guarantee.
    #[inline]
    pub fn new(kind: Kind, flags: u8, id: u64, extensions: usize, payload: usize) -> Header {
        let length = (BODY_MIN + extensions + payload) as u32;
        Header { length, kind, flags, status: 0, id }
    }

    /// Reads the fixed part of a frame. Total: any bytes give a header or a named error.
    #[inline]
    pub fn decode(bytes: &[u8; HEADER_LEN]) -> Result<Header, HeaderError> {
        let [l0, l1, l2, l3, kind, flags, s0, s1, id @ ..] = *bytes;
        let length = u32::from_be_bytes([l0, l1, l2, l3]);
        if (length as usize) < BODY_MIN {
            return Err(HeaderError::TooShort(length));
        }
        let kind = match kind {
            1 => Kind::Call,
            2 => Kind::Reply,
            3 => Kind::Error,
            4 => Kind::Stats,
            5 => Kind::Replica,
            6 => Kind::Join,
            other => return Err(HeaderError::UnknownKind(other)),
        };
        let status = u16::from_be_bytes([s0, s1]);
        Ok(Header { length, kind, flags, status, id: u64::from_be_bytes(id) })
    }

    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        out[..4].copy_from_slice(&self.length.to_be_bytes());
        out[4] = self.kind as u8;
        out[5] = self.flags;
        out[6..8].copy_from_slice(&self.status.to_be_bytes());
        out[8..].copy_from_slice(&self.id.to_be_bytes());
        out
    }

    /// Bytes behind the fixed header: extensions and payload.
    #[inline]
    pub fn rest_len(&self) -> usize {
        self.length as usize - BODY_MIN
    }

    /// Bytes of the whole frame on the wire, the length word included.
    #[inline]
    pub fn frame_len(&self) -> usize {
        self.length as usize + LENGTH_LEN
    }
}

/// A whole error frame. `text` is cut to 1 KiB: it is for people.
pub fn error_frame(id: u64, status: Status, text: &str) -> Vec<u8> {
    let text = &text.as_bytes()[..text.len().min(1024)];
    let mut header = Header::new(Kind::Error, 0, id, 0, text.len());
    header.status = status as u16;
    let mut out = Vec::with_capacity(header.frame_len());
    out.extend_from_slice(&header.encode());
    out.extend_from_slice(text);
    out
}
