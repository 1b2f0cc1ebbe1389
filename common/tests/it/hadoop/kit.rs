//! A server and a client's bytes without a socket, and the recordings of real ones.

pub(crate) use crate::wire::pieces;
use echo_common::wire::hadoop::call::Call;
use echo_common::wire::hadoop::client::{self, CallTemplate, ClientId};
use echo_common::wire::hadoop::context::Context;
use echo_common::wire::hadoop::conversation::{Conversation, Ending, Event, Rules, Step};
use echo_common::wire::hadoop::fault::{Fault, Package};
use echo_common::wire::hadoop::header::CallHeader;
use echo_common::wire::hadoop::method::MethodHeader;
use echo_common::wire::hadoop::packet::{PACKET_MAX_DEFAULT, Split, split};
use echo_common::wire::hadoop::reply::ReplyHeader;
use echo_common::wire::hadoop::service::{EchoProtocol, OmPayload, Operation, Services};
use echo_common::wire::hadoop::{echo, fields, varint};
use std::path::PathBuf;

pub(crate) const BENCH: &[u8] = b"bench.EchoProtocol";
pub(crate) const SIMPLE: &[u8] = b"hrpc\x09\x00\x00";
pub(crate) const SASL: &[u8] = b"hrpc\x09\x00\xdf";
pub(crate) const ID: ClientId = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// What a server that serves the recorded sessions answers, and what it went through.
pub(crate) struct Server {
    pub(crate) conversation: Conversation,
    pub(crate) services: Services,
    pub(crate) package: Package,
    pub(crate) rest: Vec<u8>,
    pub(crate) answers: Vec<u8>,
    pub(crate) events: Vec<String>,
    pub(crate) ending: Option<Ending>,
}

impl Server {
    pub(crate) fn new() -> Server {
        Server::with(Rules::default())
    }

    pub(crate) fn with(rules: Rules) -> Server {
        let bench = EchoProtocol { name: "bench.EchoProtocol".to_owned(), version: 1 };
        Server {
            conversation: Conversation::new(rules),
            services: Services {
                echo: vec![bench],
                om_payload: OmPayload::AsAsked,
                reply_len_max: 1 << 20,
            },
            package: rules.package,
            rest: Vec::new(),
            answers: Vec::new(),
            events: Vec::new(),
            ending: None,
        }
    }

    /// A server that has been given these pieces.
    pub(crate) fn fed<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Server {
        let mut server = Server::new();
        pieces.into_iter().for_each(|piece| server.feed(piece));
        server
    }

    pub(crate) fn feed(&mut self, piece: &[u8]) {
        self.rest.extend_from_slice(piece);
        let bytes = std::mem::take(&mut self.rest);
        let mut at = 0;
        loop {
            let Step { consumed, event } = self.conversation.advance(&bytes[at..]);
            match event {
                Event::NeedMore { total } => {
                    assert_eq!(consumed, 0);
                    assert!(total > bytes.len() - at, "{total} bytes asked for are there");
                    break;
                }
                Event::Close(ending) => {
                    assert_eq!(consumed, 0);
                    assert_eq!(self.conversation.ending(), Some(ending));
                    self.ending = Some(ending);
                    break;
                }
                ref other => {
                    assert!(consumed > 0, "{other:?} consumed nothing");
                    self.events.push(format!("{other:?}"));
                }
            }
            match event {
                Event::Answer { bytes, .. } => self.answers.extend_from_slice(&bytes),
                Event::Call(call) => {
                    let whole = &bytes[at + 4..at + consumed];
                    assert_eq!(Call::decode(whole), Ok(call), "read again");
                    serve(&self.services, self.package, &call, &mut self.answers);
                }
                _ => {}
            }
            at += consumed;
        }
        self.rest = bytes[at..].to_vec();
    }
}

/// What the recorded server did: `slow` echoes, `fail` fails.
fn serve(services: &Services, package: Package, call: &Call, answers: &mut Vec<u8>) {
    let to = call.reply_to();
    let done = match call.method {
        MethodHeader { method: b"slow", protocol: BENCH, version: 1 } => {
            call.message().and_then(echo::decode).map(Operation::Echo).map_err(Fault::Message)
        }
        MethodHeader { method: b"fail", protocol: BENCH, version: 1 } => {
            Err(Fault::Application { class: "java.io.IOException", text: "echo refused" })
        }
        _ => services.operation(call, None),
    };
    match done {
        Ok(operation) => {
            let before = answers.len();
            services.put_reply(&operation, to, answers);
            assert_eq!(answers.len() - before, services.reply_len(&operation, to));
        }
        Err(fault) => {
            assert!(!fault.closes(), "{fault}");
            fault.answer(to, package, answers);
        }
    }
}

/// One packet, and what its header says; `None` for bytes that are no reply.
pub(crate) fn replies(mut bytes: &[u8]) -> Option<Vec<(ReplyHeader<'_>, &[u8])>> {
    let mut seen = Vec::new();
    while !bytes.is_empty() {
        let Ok(Split::Packet(packet)) = split(bytes, PACKET_MAX_DEFAULT) else { return None };
        let (message, body) = fields::delimited(packet).ok()?;
        seen.push((ReplyHeader::decode(message).ok()?, body));
        bytes = &bytes[4 + packet.len()..];
    }
    Some(seen)
}

pub(crate) fn context() -> Vec<u8> {
    let mut out = Vec::new();
    let (effective_user, protocol) = (Some(&b"alice"[..]), Some(BENCH));
    client::put_context(&mut out, &ID, &Context { effective_user, real_user: None, protocol });
    out
}

pub(crate) fn ping() -> Vec<u8> {
    let mut out = Vec::new();
    client::put_ping(&mut out, &ID);
    out
}

/// A call of `bench.EchoProtocol`'s echo.
pub(crate) fn call(call_id: i32, payload: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    echo::encode((!payload.is_empty()).then_some(payload), &mut message);
    let method = MethodHeader { method: echo::METHOD, protocol: BENCH, version: 1 };
    call_of(&method, call_id, &message)
}

pub(crate) fn call_of(method: &MethodHeader, call_id: i32, message: &[u8]) -> Vec<u8> {
    let template = CallTemplate::new(ID, method);
    let mut out = Vec::new();
    template.put(&mut out, call_id, 0, message.len());
    out.extend_from_slice(message);
    assert_eq!(out.len(), template.call_len(call_id, 0, message.len()));
    out
}

/// A packet of any header, and whatever is behind it.
pub(crate) fn packet_of(header: &CallHeader, rest: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    header.encode(&mut encoded);
    packet(&[delimited(&encoded), rest.to_vec()].concat())
}

pub(crate) fn packet(inside: &[u8]) -> Vec<u8> {
    [&(inside.len() as u32).to_be_bytes()[..], inside].concat()
}

pub(crate) fn delimited(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint::put(&mut out, message.len() as u64);
    out.extend_from_slice(message);
    out
}

/// A recording: what was sent and what came back, each in the pieces in which it came.
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) to_server: Vec<Vec<u8>>,
    pub(crate) to_client: Vec<Vec<u8>>,
    /// Whether the server closed the connection; unknown of the sessions.
    pub(crate) closed: Option<bool>,
}

impl Recording {
    pub(crate) fn named(name: &str) -> Recording {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hadoop");
        let text = std::fs::read_to_string(folder.join(name).with_extension("hex")).unwrap();
        let of = |mark: &str| {
            text.lines().filter_map(|line| line.strip_prefix(mark)).map(from_hex).collect()
        };
        let end = text.lines().find_map(|line| line.strip_prefix("# then: "));
        let closed = end.map(|end| match end {
            "closed with FIN" => true,
            "left open" => false,
            other => panic!("{name}: an end that is not known: {other}"),
        });
        Recording { name: name.to_owned(), to_server: of("> "), to_client: of("< "), closed }
    }

    pub(crate) fn all() -> Vec<Recording> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hadoop");
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| {
                entry.unwrap().file_name().to_str().unwrap().strip_suffix(".hex").map(str::to_owned)
            })
            .collect();
        names.sort();
        names.iter().map(|name| Recording::named(name)).collect()
    }
}

pub(crate) fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap() as u8;
    digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}
