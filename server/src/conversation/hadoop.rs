//! A connection of Hadoop RPC: its events become runs of calls, answers and refusals.
//!
//! The reader decodes what stands first in each packet and finds the method's name; a call's
//! message is for the handler. Answers that are no reply to a call leave at once, but the one that
//! ends the connection only behind the replies that it is owed: a client drops what follows it.

use super::Parsed;
use crate::hadoop::Client;
use crate::limits::ReadLimits;
use crate::outbox::Allowance;
use crate::refusal::Refusal;
use echo_common::wire::hadoop::call::Call;
use echo_common::wire::hadoop::conversation::{Cause, Conversation, Ending, Event, Rules, Step};
use echo_common::wire::hadoop::packet::{self, LengthError};
use echo_common::wire::hadoop::preamble::{self, PREAMBLE_LEN};
use echo_common::wire::hadoop::testrpc;
use echo_common::wire::native::Status;
use std::sync::Arc;

/// See the module's text.
pub(crate) struct Session {
    conversation: Conversation,
    packet_max: u32,
    /// Behind the preamble.
    is_open: bool,
    /// Known from the connection context on.
    client: Option<Arc<Client>>,
}

impl Session {
    pub(super) fn new(rules: Rules) -> Session {
        Session {
            conversation: Conversation::new(rules),
            packet_max: rules.packet_max,
            is_open: false,
            client: None,
        }
    }

    pub(super) fn client(&self) -> Option<Arc<Client>> {
        self.client.clone()
    }

    pub(super) fn has_front(&self, held: &[u8]) -> bool {
        if !self.is_open {
            return held.len() >= PREAMBLE_LEN;
        }
        !matches!(packet::split(held, self.packet_max), Ok(packet::Split::NeedMore { .. }))
    }

    pub(super) fn packet_len(&self, held: &[u8]) -> Option<usize> {
        match packet::split(held, self.packet_max) {
            Ok(packet::Split::NeedMore { total }) if self.is_open => Some(total),
            _ => None,
        }
    }

    /// A run is charged what its packets are long, and whatever came between them. Replies that a
    /// call asks to be longer are not copied, so that they need no memory of their own.
    pub(super) fn parse(
        &mut self,
        bytes: &[u8],
        allowance: Allowance,
        limits: &ReadLimits,
        parsed: &mut Parsed,
    ) {
        let count_max = allowance.calls.min(limits.reader_batch);
        while parsed.count < count_max && parsed.weight + parsed.answers.len() < allowance.bytes {
            let Step { consumed, event } = self.conversation.advance(&bytes[parsed.end..]);
            match event {
                Event::NeedMore { .. } => break,
                Event::Opened(_) => self.is_open = true,
                Event::Context(context) => {
                    self.client = Some(Arc::new(Client::of(&context)));
                    parsed.is_alive = true;
                }
                Event::Ping => parsed.is_alive = true,
                Event::Call(call) => {
                    let is_slow = takes_long(&call);
                    if is_slow && parsed.count > 0 {
                        // Left where it is, for a run of its own.
                        break;
                    }
                    if parsed.count == 0 {
                        parsed.start = parsed.end;
                    }
                    parsed.count += 1;
                    parsed.is_slow = is_slow;
                }
                Event::Answer { bytes: answer, cause } => self.answer(answer, cause, parsed),
                Event::Close(ending) => parsed.refusal = Some(refusal(ending, Vec::new())),
            }
            if parsed.refusal.is_some() {
                // What was refused may look like a call: it must not end up in the run.
                break;
            }
            parsed.end += consumed;
            if parsed.count > 0 {
                parsed.weight = parsed.end - parsed.start;
            }
            if parsed.is_slow {
                break;
            }
        }
    }

    fn answer(&self, answer: Vec<u8>, cause: Cause, parsed: &mut Parsed) {
        if let Some(ending) = self.conversation.ending() {
            let mut refusal = refusal(ending, answer);
            if let Cause::Fault(fault) = cause {
                // A method's name may come from the wire.
                refusal.why = fault.to_string().escape_default().to_string();
            }
            parsed.refusal = Some(refusal);
            return;
        }
        parsed.malformed += u32::from(matches!(cause, Cause::Fault(_)));
        parsed.answers.extend_from_slice(&answer);
    }
}

/// A call that waits on purpose. Handlers take it alone.
fn takes_long(call: &Call) -> bool {
    call.method.method == testrpc::Method::Sleep.name() && call.method.protocol == testrpc::PROTOCOL
}

fn refusal(ending: Ending, frame: Vec<u8>) -> Refusal {
    let status = match ending {
        Ending::Length(LengthError::TooLong { .. }) => Status::FrameTooLarge,
        _ => Status::Malformed,
    };
    let why = match ending {
        Ending::Refused(preamble::Refusal::Magic(_)) => {
            "the opening bytes belong to no protocol spoken here".into()
        }
        other => other.to_string(),
    };
    Refusal { status, frame, why, is_last: true }
}
