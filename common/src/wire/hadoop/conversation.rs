//! The server's side of one connection: bytes in, events out.
//!
//! Whoever owns the connection keeps the bytes that came, asks [`Conversation::advance`] for the
//! next event at their front, does what the event says and drops what it consumed. The events of
//! a stream of bytes are the same however it is cut.
//!
//! What is always true: no call comes out before the connection context; at most one answer is
//! FATAL; behind it comes [`Event::Close`] and nothing else, whatever bytes follow.

use super::call::{Call, split_header};
use super::context::Context;
use super::fault::{Fault, Package};
use super::fields;
use super::header::{
    CONTEXT_CALL_ID, CallHeader, NO_CALL_ID, NO_RETRY_COUNT, PING_CALL_ID, RpcKind, RpcOp,
    SASL_CALL_ID,
};
use super::packet::{self, LENGTH_LEN, LengthError, PACKET_MAX_DEFAULT, Split};
use super::preamble::{self, Auth, Opening, PREAMBLE_LEN, Preamble, Refusal};
use super::reply::{ReplyTo, put_success};
use super::sasl::{Sasl, SaslState};
use std::fmt;

/// What the server decides for all its connections.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Longest packet taken, without its length word.
    pub packet_max: u32,
    /// Where the clients look for the classes of failures.
    pub package: Package,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { packet_max: PACKET_MAX_DEFAULT, package: Package::Ipc }
    }
}

/// See the module's text.
#[derive(Clone, Debug)]
pub struct Conversation {
    rules: Rules,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Before the seventh byte.
    Opening,
    /// Packets.
    Open { sasl: Negotiation, has_context: bool },
    /// Nothing comes any more.
    Over(Ending),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Negotiation {
    /// The client did not ask for it.
    NotAsked,
    /// It asked, and has to be told how to go on before its context.
    Pending,
    /// It asked and was told to go on as a simple client.
    Settled,
}

/// One event, and how many bytes at the front it has used up.
#[derive(Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// To be dropped from the front before the next step; nothing but `NeedMore` and `Close`
    /// leaves it 0.
    pub consumed: usize,
    /// What there is to do.
    pub event: Event<'a>,
}

/// What there is to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// Nothing, until at least `total` bytes are there.
    NeedMore {
        /// Bytes from the front of what was given.
        total: usize,
    },
    /// The client was let in.
    Opened(Preamble),
    /// The client has said who it is. Nothing is answered.
    Context(Context<'a>),
    /// A call to serve.
    Call(Call<'a>),
    /// The client is still there. Nothing is answered.
    Ping,
    /// Something to send. Unless it ends the connection, the conversation goes on.
    Answer {
        /// What to send, a whole packet or an answer of an older kind.
        bytes: Vec<u8>,
        /// What it is about.
        cause: Cause<'a>,
    },
    /// Send what is owed, then close.
    Close(Ending),
}

/// What an answer that is no reply to a call's service is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause<'a> {
    /// The client was told to go on without SASL.
    Negotiated,
    /// The client is not let in.
    Refused(Refusal),
    /// A packet that cannot be served.
    Fault(Fault<'a>),
}

/// Why a conversation is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The client was not let in; its version may have no form for an answer.
    Refused(Refusal),
    /// The length word was no length. Nothing is answered.
    Length(LengthError),
    /// A FATAL answer went out.
    Fatal,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Refused(refusal) => refusal.fmt(f),
            Ending::Length(error) => error.fmt(f),
            Ending::Fatal => f.write_str("behind a FATAL answer nothing is taken"),
        }
    }
}

impl Conversation {
    /// The conversation of a fresh connection.
    pub fn new(rules: Rules) -> Conversation {
        Conversation { rules, phase: Phase::Opening }
    }

    /// Whether a connection context has come, so that calls are taken.
    pub fn has_context(&self) -> bool {
        matches!(self.phase, Phase::Open { has_context: true, .. })
    }

    /// Why nothing more is taken, once that is so.
    pub fn ending(&self) -> Option<Ending> {
        match self.phase {
            Phase::Over(ending) => Some(ending),
            _ => None,
        }
    }

    /// The event at the front of `bytes`.
    ///
    /// Allocates only for an answer. A `NeedMore` says how much is missing, so that whoever
    /// reads can make room as the bytes come.
    #[inline]
    pub fn advance<'a>(&mut self, bytes: &'a [u8]) -> Step<'a> {
        match self.phase {
            Phase::Open { .. } => {}
            Phase::Opening => return self.open(bytes),
            Phase::Over(ending) => return Step { consumed: 0, event: Event::Close(ending) },
        }
        match packet::split(bytes, self.rules.packet_max) {
            Ok(Split::NeedMore { total }) => Step { consumed: 0, event: Event::NeedMore { total } },
            Ok(Split::Packet(packet)) => {
                Step { consumed: LENGTH_LEN + packet.len(), event: self.on_packet(packet) }
            }
            Err(error) => self.end(Ending::Length(error)),
        }
    }

    /// Appends the answer to what the server itself refuses: a call that finds the queue full, a
    /// user who may not connect. A FATAL ends the conversation; behind one nothing is appended.
    pub fn refuse(&mut self, fault: &Fault, to: ReplyTo, out: &mut Vec<u8>) {
        if self.ending().is_some() {
            return;
        }
        fault.answer(to, self.rules.package, out);
        if fault.closes() {
            self.phase = Phase::Over(Ending::Fatal);
        }
    }

    fn open<'a>(&mut self, bytes: &'a [u8]) -> Step<'a> {
        let refusal = match preamble::read(bytes) {
            Opening::NeedMore => {
                return Step { consumed: 0, event: Event::NeedMore { total: PREAMBLE_LEN } };
            }
            Opening::Accepted(preamble) => {
                let sasl = match preamble.auth {
                    Auth::Simple => Negotiation::NotAsked,
                    Auth::Sasl => Negotiation::Pending,
                };
                self.phase = Phase::Open { sasl, has_context: false };
                return Step { consumed: PREAMBLE_LEN, event: Event::Opened(preamble) };
            }
            Opening::Refused(refusal) => refusal,
        };
        let close = self.end(Ending::Refused(refusal));
        let mut answer = Vec::new();
        refusal.answer(self.rules.package, &mut answer);
        if answer.is_empty() {
            return close;
        }
        let event = Event::Answer { bytes: answer, cause: Cause::Refused(refusal) };
        Step { consumed: PREAMBLE_LEN, event }
    }

    fn end<'a>(&mut self, ending: Ending) -> Step<'a> {
        self.phase = Phase::Over(ending);
        Step { consumed: 0, event: Event::Close(ending) }
    }

    #[inline]
    fn on_packet<'a>(&mut self, packet: &'a [u8]) -> Event<'a> {
        let nothing_known =
            ReplyTo { call_id: NO_CALL_ID, client_id: &[], retry_count: NO_RETRY_COUNT };
        let (header, rest) = match split_header(packet) {
            Ok(split) => split,
            Err(fault) => return self.fail(fault, nothing_known),
        };
        let event = match check(&header) {
            Ok(()) if header.call_id >= 0 => self.on_call(header, rest),
            Ok(()) => self.out_of_band(header.call_id, rest),
            Err(fault) => Err(fault),
        };
        event.unwrap_or_else(|fault| self.fail(fault, ReplyTo::from(&header)))
    }

    fn fail<'a>(&mut self, fault: Fault<'a>, to: ReplyTo) -> Event<'a> {
        let mut bytes = Vec::new();
        self.refuse(&fault, to, &mut bytes);
        Event::Answer { bytes, cause: Cause::Fault(fault) }
    }

    #[inline]
    fn on_call<'a>(&self, header: CallHeader<'a>, rest: &'a [u8]) -> Result<Event<'a>, Fault<'a>> {
        if !self.has_context() {
            return Err(Fault::NoContext);
        }
        match header.kind {
            Some(kind) if kind != RpcKind::ProtocolBuffer => Err(Fault::Kind(kind)),
            _ => Call::behind(header, rest).map(Event::Call),
        }
    }

    fn out_of_band<'a>(&mut self, call_id: i32, rest: &'a [u8]) -> Result<Event<'a>, Fault<'a>> {
        match call_id {
            PING_CALL_ID => Ok(Event::Ping),
            CONTEXT_CALL_ID => self.on_context(rest),
            SASL_CALL_ID => self.on_sasl(rest),
            other => Err(Fault::OutOfBand(other)),
        }
    }

    fn on_context<'a>(&mut self, rest: &'a [u8]) -> Result<Event<'a>, Fault<'a>> {
        let Phase::Open { sasl, has_context } = &mut self.phase else {
            return Err(Fault::NoContext);
        };
        if *sasl == Negotiation::Pending {
            return Err(Fault::ContextDuringSasl);
        }
        if *has_context {
            return Err(Fault::SecondContext);
        }
        let context = fields::delimited(rest)
            .and_then(|(message, _)| Context::decode(message))
            .map_err(|error| Fault::Undecodable("IpcConnectionContextProto", error))?;
        *has_context = true;
        Ok(Event::Context(context))
    }

    /// A server that has only SIMPLE answers the first question with SUCCESS, and the client
    /// goes on without SASL.
    fn on_sasl<'a>(&mut self, rest: &'a [u8]) -> Result<Event<'a>, Fault<'a>> {
        let Phase::Open { sasl, .. } = &mut self.phase else {
            return Err(Fault::SaslNotRequested);
        };
        if *sasl == Negotiation::NotAsked {
            return Err(Fault::SaslNotRequested);
        }
        let message = fields::delimited(rest)
            .and_then(|(message, _)| Sasl::decode(message))
            .map_err(|error| Fault::Undecodable("RpcSaslProto", error))?;
        match (message.state, message.auth_count, message.auth_method) {
            // Also behind a settled negotiation, where the original only says that nobody had
            // asked: the client is to learn that its method is not to be had.
            (SaslState::Initiate, 1, Some(method)) if method != b"SIMPLE" => {
                return Err(Fault::SaslMethod(method));
            }
            _ if *sasl == Negotiation::Settled => return Err(Fault::SaslNotRequested),
            (SaslState::Negotiate, ..) | (SaslState::Initiate, 1, _) => {}
            (SaslState::Initiate, ..) => return Err(Fault::SaslChoice),
            (SaslState::Wrap, ..) => return Err(Fault::SaslWrap),
            (state, ..) => return Err(Fault::SaslState(state)),
        }
        *sasl = Negotiation::Settled;
        let to = ReplyTo { call_id: SASL_CALL_ID, client_id: &[], retry_count: NO_RETRY_COUNT };
        let mut bytes = Vec::new();
        put_success(&mut bytes, to, SaslState::ENCODED_LEN);
        SaslState::Success.encode(&mut bytes);
        Ok(Event::Answer { bytes, cause: Cause::Negotiated })
    }
}

/// What must be so whatever the packet is.
#[inline]
fn check<'a>(header: &CallHeader) -> Result<(), Fault<'a>> {
    match (header.op, header.kind) {
        (None, _) => Err(Fault::NoOp),
        (Some(RpcOp::FinalPacket), None) => Err(Fault::NoKind),
        (Some(RpcOp::FinalPacket), Some(_)) => Ok(()),
        (Some(op), _) => Err(Fault::Op(op)),
    }
}
