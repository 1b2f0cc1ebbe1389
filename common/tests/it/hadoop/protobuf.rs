//! The hand-written decoders against a decoder that was written by others.
//!
//! Both refuse, or both accept with the same fields, but for what the Java runtime takes and
//! the other does not: those kinds are listed in [`Difference`] and looked for.

use super::schema;
use echo_common::wire::hadoop::context::Context;
use echo_common::wire::hadoop::header::CallHeader;
use echo_common::wire::hadoop::method::MethodHeader;
use echo_common::wire::hadoop::om::{OmCall, OmReply, Payload};
use echo_common::wire::hadoop::reply::ReplyHeader;
use echo_common::wire::hadoop::sasl::Sasl;
use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message;

/// What the Java runtime, and so ours, takes though the other decoder does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Difference {
    /// A known field of another wire type counts as not known.
    OtherWireType,
    /// Bits of a varint that do not fit its width are dropped.
    SurplusBits,
    /// Of an enum's values only those that are known are looked at; the last of them counts.
    UnknownEnumValue,
    /// The other one stops a level or two earlier.
    DeepGroups,
}

/// A field of a schema: its number, and what is known of it.
type Known = (u32, Kind);
#[derive(Clone, Copy)]
enum Kind {
    Varint,
    Enum(u64),
    Bytes,
    Message(&'static [Known]),
}

use Kind::{Bytes, Enum, Message as Inner, Varint};

const TRACE: &[Known] = &[(1, Varint), (2, Varint), (3, Bytes)];
const TWO_STRINGS: &[Known] = &[(1, Bytes), (2, Bytes)];
const ONE_NUMBER: &[Known] = &[(1, Varint)];
const ECHO: &[Known] = &[(1, Bytes), (2, Varint), (3, Varint)];
const CALL_HEADER: &[Known] = &[
    (1, Enum(3)),
    (2, Enum(3)),
    (3, Varint),
    (4, Bytes),
    (5, Varint),
    (6, Inner(TRACE)),
    (7, Inner(TWO_STRINGS)),
    (8, Varint),
];
const METHOD_HEADER: &[Known] = &[(1, Bytes), (2, Bytes), (3, Varint)];
const CONTEXT: &[Known] = &[(2, Inner(TWO_STRINGS)), (3, Bytes)];
const SASL: &[Known] = &[(1, Varint), (2, Enum(6)), (3, Bytes), (4, Inner(TWO_STRINGS))];
const REPLY_HEADER: &[Known] = &[
    (1, Varint),
    (2, Enum(3)),
    (3, Varint),
    (4, Bytes),
    (5, Bytes),
    (6, Enum(16)),
    (7, Bytes),
    (8, Varint),
];
const OM_CALL: &[Known] = &[
    (1, Varint),
    (2, Bytes),
    (3, Bytes),
    (4, Inner(TWO_STRINGS)),
    (5, Varint),
    (6, Inner(ONE_NUMBER)),
    (7, Inner(ONE_NUMBER)),
    (110, Inner(ECHO)),
];
const OM_REPLY: &[Known] = &[
    (1, Varint),
    (2, Bytes),
    (3, Varint),
    (4, Bytes),
    (5, Varint),
    (6, Bytes),
    (110, Inner(ECHO)),
];

/// Goes through a message on its own terms and notes every kind of difference in it.
struct Scan<'a> {
    rest: &'a [u8],
    found: Vec<Difference>,
}

impl Scan<'_> {
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for index in 0..10 {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << (7 * index);
            if index == 9 && byte > 1 {
                self.found.push(Difference::SurplusBits);
            }
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn narrow(&mut self) -> Option<u32> {
        let value = self.varint()?;
        if value > u64::from(u32::MAX) {
            self.found.push(Difference::SurplusBits);
        }
        Some(value as u32)
    }

    fn message(&mut self, known: &[Known]) -> Option<()> {
        while !self.rest.is_empty() {
            let tag = self.narrow()?;
            let (number, wire_type) = (tag >> 3, tag & 7);
            let kind = known.iter().find(|(known, _)| *known == number).map(|(_, kind)| *kind);
            if kind.is_some_and(|kind| {
                wire_type != if matches!(kind, Varint | Enum(_)) { 0 } else { 2 }
            }) {
                self.found.push(Difference::OtherWireType);
            }
            match wire_type {
                0 => {
                    let value = self.varint()?;
                    if matches!(kind, Some(Enum(count)) if value >= count) {
                        self.found.push(Difference::UnknownEnumValue);
                    }
                }
                2 => {
                    let len = self.narrow()? as usize;
                    let inside = self.rest.get(..len)?;
                    let behind = &self.rest[len..];
                    if let Some(Inner(known)) = kind {
                        self.rest = inside;
                        self.message(known)?;
                    }
                    self.rest = behind;
                }
                _ => self.skip(wire_type, 1)?,
            }
        }
        Some(())
    }

    fn skip(&mut self, wire_type: u32, depth: u32) -> Option<()> {
        match wire_type {
            0 => self.varint().map(drop),
            1 => self.rest.get(8..).map(|rest| self.rest = rest),
            2 => {
                let len = self.narrow()? as usize;
                self.rest.get(len..).map(|rest| self.rest = rest)
            }
            3 => {
                if depth > 90 {
                    self.found.push(Difference::DeepGroups);
                }
                loop {
                    let wire_type = self.narrow()? & 7;
                    if wire_type == 4 {
                        return Some(());
                    }
                    self.skip(wire_type, depth + 1)?;
                }
            }
            5 => self.rest.get(4..).map(|rest| self.rest = rest),
            _ => None,
        }
    }
}

fn differences(bytes: &[u8], known: &[Known]) -> Vec<Difference> {
    let mut scan = Scan { rest: bytes, found: Vec::new() };
    // That the message is broken is what the two decoders are asked.
    let _ = scan.message(known);
    scan.found
}

/// What ours and the other one make of `bytes`; `None` is a refusal.
fn check<T: std::fmt::Debug + PartialEq>(
    bytes: &[u8],
    known: &[Known],
    ours: Option<T>,
    other: Option<T>,
) -> Result<(), TestCaseError> {
    let found = differences(bytes, known);
    if found.is_empty() {
        prop_assert_eq!(&ours, &other, "{:02x?}", bytes);
    } else if other.is_some() && !found.contains(&Difference::UnknownEnumValue) {
        prop_assert_eq!(&ours, &other, "{:02x?} {:?}", bytes, &found);
    }
    Ok(())
}

fn known_value(value: Option<i32>, count: i32) -> Option<i32> {
    value.filter(|value| (0..count).contains(value))
}

fn check_call_header(bytes: &[u8]) -> Result<(), TestCaseError> {
    let ours = CallHeader::decode(bytes).ok().map(|header| {
        let (kind, op) = (header.kind.map(|kind| kind as i32), header.op.map(|op| op as i32));
        (kind, op, header.call_id, header.client_id.to_vec(), header.retry_count)
    });
    let other = schema::CallHeader::decode(bytes).ok().and_then(|header| {
        if header.caller_context.is_some_and(|caller| caller.context.is_none()) {
            return None;
        }
        let (kind, op) = (known_value(header.rpc_kind, 3), known_value(header.rpc_op, 3));
        Some((kind, op, header.call_id?, header.client_id?, header.retry_count.unwrap_or(-1)))
    });
    check(bytes, CALL_HEADER, ours, other)
}

fn check_method_header(bytes: &[u8]) -> Result<(), TestCaseError> {
    let ours = MethodHeader::decode(bytes)
        .ok()
        .map(|header| (header.method.to_vec(), header.protocol.to_vec(), header.version));
    let other = schema::MethodHeader::decode(bytes).ok().and_then(|header| {
        Some((header.method_name?, header.protocol_name?, header.client_protocol_version?))
    });
    check(bytes, METHOD_HEADER, ours, other)
}

fn check_context(bytes: &[u8]) -> Result<(), TestCaseError> {
    let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
    let ours = Context::decode(bytes).ok().map(|context| {
        let users = (owned(context.effective_user), owned(context.real_user));
        (users.0, users.1, owned(context.protocol))
    });
    let other = schema::Context::decode(bytes).ok().map(|context| {
        let user = context.user.unwrap_or_default();
        (user.effective_user, user.real_user, context.protocol)
    });
    check(bytes, CONTEXT, ours, other)
}

fn check_sasl(bytes: &[u8]) -> Result<(), TestCaseError> {
    let ours = Sasl::decode(bytes).ok().map(|sasl| {
        let method = sasl.auth_method.map(<[u8]>::to_vec);
        (sasl.state as i32, sasl.token.map(<[u8]>::to_vec), sasl.auth_count, method)
    });
    let other = schema::Sasl::decode(bytes).ok().and_then(|sasl| {
        if sasl.auths.iter().any(|auth| auth.method.is_none() || auth.mechanism.is_none()) {
            return None;
        }
        let method = sasl.auths.first().and_then(|auth| auth.method.clone());
        Some((known_value(sasl.state, 6)?, sasl.token, sasl.auths.len(), method))
    });
    check(bytes, SASL, ours, other)
}

fn check_reply_header(bytes: &[u8]) -> Result<(), TestCaseError> {
    let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
    let ours = ReplyHeader::decode(bytes).ok().map(|header| {
        let failure = header.failure;
        let told = (owned(failure.class), owned(failure.text), failure.code.map(|c| c as i32));
        let back = (header.client_id.to_vec(), header.retry_count);
        (header.call_id, header.status as i32, header.server_version, told, back)
    });
    let other = schema::ReplyHeader::decode(bytes).ok().and_then(|header| {
        let code =
            known_value(header.code, 16).filter(|code| !(*code == 0 || (7..10).contains(code)));
        let told = (header.class, header.text, code);
        let back = (header.client_id.unwrap_or_default(), header.retry_count.unwrap_or(-1));
        let status = known_value(header.status, 3)?;
        Some((header.call_id? as i32, status, header.server_version, told, back))
    });
    check(bytes, REPLY_HEADER, ours, other)
}

fn check_om_call(bytes: &[u8]) -> Result<(), TestCaseError> {
    let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
    let ours = OmCall::decode(bytes).ok().map(|call| {
        let echo = call.echo.map(|echo| (echo.payload.to_vec(), echo.reply_len, echo.read_only));
        let ids = (owned(call.trace_id), call.client_id.to_vec());
        (call.command, ids, call.version, call.has_consistency_hint, echo)
    });
    let other = schema::OmCall::decode(bytes).ok().and_then(|call| {
        if call.layout.is_some_and(|layout| layout.version.is_none()) {
            return None;
        }
        let echo = call.echo.map(|echo| {
            let payload = echo.payload.unwrap_or_default();
            (payload, echo.reply_len.unwrap_or(0), echo.read_only.unwrap_or(true))
        });
        let ids = (call.trace_id, call.client_id?);
        Some((call.command?, ids, call.version, call.hint.is_some(), echo))
    });
    check(bytes, OM_CALL, ours, other)
}

fn check_om_reply(bytes: &[u8]) -> Result<(), TestCaseError> {
    let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
    let ours = OmReply::decode(bytes).ok().map(|reply| {
        let payload = reply.payload.map(|payload| match payload {
            Payload::Bytes(bytes) => bytes.to_vec(),
            Payload::Fill(len) => panic!("a fill of {len} bytes was read"),
        });
        let told = (owned(reply.trace_id), owned(reply.message), owned(reply.leader));
        (reply.command, reply.success, reply.status, told, payload)
    });
    let other = schema::OmReply::decode(bytes).ok().and_then(|reply| {
        let payload = reply.echo.map(|echo| echo.payload.unwrap_or_default());
        let told = (reply.trace_id, reply.message, reply.leader);
        Some((reply.command?, reply.success.unwrap_or(true), reply.status?, told, payload))
    });
    check(bytes, OM_REPLY, ours, other)
}

fn check_all(bytes: &[u8]) -> Result<(), TestCaseError> {
    check_call_header(bytes)?;
    check_method_header(bytes)?;
    check_context(bytes)?;
    check_sasl(bytes)?;
    check_reply_header(bytes)?;
    check_om_call(bytes)?;
    check_om_reply(bytes)
}

fn any_varint() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![0..20u64, any::<u64>(), any::<i32>().prop_map(|value| i64::from(value) as u64)]
        .prop_map(|value| {
            let mut out = Vec::new();
            prost::encoding::encode_varint(value, &mut out);
            out
        })
}

/// One field, mostly of a number and a wire type that some schema knows.
fn any_field(inner: BoxedStrategy<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![8 => 1..9u32, 2 => Just(110u32), 1 => 0..1_000_000u32];
    let wire_type = prop_oneof![5 => Just(0u32), 8 => Just(2u32), 1 => 0..8u32];
    (number, wire_type, any_varint(), inner, any::<[u8; 8]>()).prop_map(
        |(number, wire_type, value, inner, fixed)| {
            let mut out = Vec::new();
            prost::encoding::encode_varint(u64::from(number << 3 | wire_type), &mut out);
            match wire_type {
                0 => out.extend(value),
                1 => out.extend(fixed),
                2 => {
                    prost::encoding::encode_varint(inner.len() as u64, &mut out);
                    out.extend(inner);
                }
                3 => {
                    out.extend(value.first().filter(|&&byte| byte < 8).map(|_| 0x08));
                    out.extend(inner);
                    prost::encoding::encode_varint(u64::from(number << 3 | 4), &mut out);
                }
                5 => out.extend(&fixed[..4]),
                _ => {}
            }
            out
        },
    )
}

/// Fields as any schema might have them, two levels deep.
fn any_message() -> impl Strategy<Value = Vec<u8>> {
    let leaf = vec(any::<u8>(), 0..6).boxed();
    let small = vec(any_field(leaf.clone()), 0..3).prop_map(|fields| fields.concat());
    let inner = prop_oneof![3 => leaf, 5 => small].boxed();
    vec(any_field(inner), 0..10).prop_map(|fields| fields.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn two_decoders_agree_on_messages_of_any_fields(bytes in any_message()) {
        check_all(&bytes)?;
    }

    #[test]
    fn two_decoders_agree_on_messages_that_are_cut_or_spoilt(
        bytes in any_message(),
        at in any::<prop::sample::Index>(),
        byte: u8,
        cut: bool,
    ) {
        let mut bytes = bytes;
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.truncate(if cut { at } else { bytes.len() });
        }
        check_all(&bytes)?;
    }

    #[test]
    fn two_decoders_agree_on_any_bytes(bytes in vec(any::<u8>(), 0..30)) {
        check_all(&bytes)?;
    }
}
