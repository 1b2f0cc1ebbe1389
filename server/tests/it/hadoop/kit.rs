//! A client of Hadoop RPC that speaks bytes, and the recordings of real ones.

use crate::kit::{Peer, Server};
use echo_common::wire::hadoop::client::{self, CallTemplate, ClientId};
use echo_common::wire::hadoop::context::Context;
use echo_common::wire::hadoop::header::CallHeader;
use echo_common::wire::hadoop::method::MethodHeader;
use echo_common::wire::hadoop::reply::{ErrorCode, ReplyHeader, Status};
use echo_common::wire::hadoop::{echo, fields, testrpc, varint};
use std::io::{ErrorKind, Read};
use std::net::SocketAddr;
use std::path::PathBuf;

pub(crate) const BENCH: &[u8] = b"bench.EchoProtocol";
pub(crate) const SIMPLE: &[u8] = b"hrpc\x09\x00\x00";
pub(crate) const SASL: &[u8] = b"hrpc\x09\x00\xdf";
pub(crate) const ID: ClientId = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// The program, with the protocol of the recordings; what a test sets comes first.
pub(crate) fn start(changes: &[(&str, &str)]) -> Server {
    Server::start(&[changes, &[("--hadoop-protocol", "bench.EchoProtocol:1")]].concat())
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
    let method = MethodHeader { method: echo::METHOD, protocol: BENCH, version: 1 };
    call_of(&method, call_id, &message(payload))
}

/// A call of `TestRpcService`.
pub(crate) fn test_call(method: &[u8], call_id: i32, message: &[u8]) -> Vec<u8> {
    let method = MethodHeader { method, protocol: testrpc::PROTOCOL, version: testrpc::VERSION };
    call_of(&method, call_id, message)
}

/// A call that lasts so long.
pub(crate) fn sleep_call(call_id: i32, milliseconds: i32) -> Vec<u8> {
    let mut message = Vec::new();
    testrpc::put_int32(&mut message, 1, milliseconds);
    test_call(b"sleep", call_id, &message)
}

/// A message of one field, as both ways of an echo have it.
pub(crate) fn message(payload: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    echo::encode((!payload.is_empty()).then_some(payload), &mut message);
    message
}

pub(crate) fn call_of(method: &MethodHeader, call_id: i32, message: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    CallTemplate::new(ID, method).put(&mut out, call_id, 0, message.len());
    out.extend_from_slice(message);
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

/// One answer of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) call_id: i32,
    pub(crate) retry_count: i32,
    pub(crate) client_id: Vec<u8>,
    pub(crate) status: Status,
    pub(crate) code: Option<ErrorCode>,
    pub(crate) class: String,
    pub(crate) text: String,
    /// The message, without its length.
    pub(crate) message: Vec<u8>,
}

impl Answer {
    fn of(packet: &[u8]) -> Answer {
        let (header, body) = fields::delimited(packet).expect("a reply header");
        let header = ReplyHeader::decode(header).expect("a reply header");
        assert_eq!(header.server_version, Some(9));
        let message = match header.status {
            Status::Success => {
                let (message, rest) = fields::delimited(body).expect("a message");
                assert_eq!(rest, b"", "bytes behind the message");
                message.to_vec()
            }
            _ => {
                assert_eq!(body, b"", "bytes behind a failure");
                Vec::new()
            }
        };
        let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or(b"")).into();
        Answer {
            call_id: header.call_id,
            retry_count: header.retry_count,
            client_id: header.client_id.to_vec(),
            status: header.status,
            code: header.failure.code,
            class: text(header.failure.class),
            text: text(header.failure.text),
            message,
        }
    }

    /// All answers in `bytes`, which must be whole packets.
    pub(crate) fn all(mut bytes: &[u8]) -> Vec<Answer> {
        let mut answers = Vec::new();
        while let Some((length, rest)) = bytes.split_first_chunk() {
            let (packet, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
            answers.push(Answer::of(packet));
            bytes = rest;
        }
        assert_eq!(bytes, b"", "a part of an answer");
        answers
    }
}

/// A connection whose client has said who it is.
pub(crate) fn open(to: SocketAddr) -> Peer {
    let mut peer = Peer::silent(to);
    peer.send(&[SIMPLE, &context()].concat());
    peer
}

impl Peer {
    /// The next packet of a server of Hadoop RPC with its length word, or `None` at the end.
    #[track_caller]
    pub(crate) fn packet(&mut self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; 4];
        match self.stream.read_exact(&mut bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                panic!("the server neither answers nor closes")
            }
            Err(_) => return None,
        }
        let length = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
        bytes.resize(4 + length, 0);
        self.stream.read_exact(&mut bytes[4..]).expect("the rest of a packet");
        Some(bytes)
    }

    /// The next answer.
    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        Answer::of(&self.packet().expect("an answer, not an end")[4..])
    }

    /// The next answer is the echo of this call.
    #[track_caller]
    pub(crate) fn expect_payload(&mut self, call_id: i32, payload: &[u8]) {
        let answer = self.answer();
        assert_eq!((answer.call_id, answer.status), (call_id, Status::Success), "{answer:?}");
        assert!(answer.message == message(payload), "call {call_id} came back with other bytes");
    }

    /// One call of Hadoop RPC and its reply.
    #[track_caller]
    pub(crate) fn hadoop_echo(&mut self, call_id: i32, payload: &[u8]) {
        self.send(&call(call_id, payload));
        self.expect_payload(call_id, payload);
    }

    /// The next answer is a failure of this kind; returns its text.
    #[track_caller]
    pub(crate) fn expect_failure(
        &mut self,
        call_id: i32,
        status: Status,
        code: ErrorCode,
    ) -> Answer {
        let answer = self.answer();
        let seen = (answer.call_id, answer.status, answer.code);
        assert_eq!(seen, (call_id, status, Some(code)), "{answer:?}");
        answer
    }
}

/// A recording: what was sent and what came back, each in the pieces in which it came.
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) to_server: Vec<Vec<u8>>,
    pub(crate) to_client: Vec<u8>,
    /// Whether the server closed the connection.
    pub(crate) closed: bool,
}

impl Recording {
    fn read(name: &str) -> Recording {
        let text = std::fs::read_to_string(folder().join(name).with_extension("hex")).unwrap();
        let of = |mark: &str| -> Vec<Vec<u8>> {
            text.lines().filter_map(|line| line.strip_prefix(mark)).map(from_hex).collect()
        };
        let closed = text.lines().any(|line| line == "# then: closed with FIN");
        let (to_server, to_client) = (of("> "), of("< ").concat());
        Recording { name: name.to_owned(), to_server, to_client, closed }
    }

    pub(crate) fn all() -> Vec<Recording> {
        let files = std::fs::read_dir(folder()).unwrap();
        let mut names: Vec<String> = files
            .filter_map(|file| {
                let name = file.unwrap().file_name();
                name.to_str().unwrap().strip_suffix(".hex").map(str::to_owned)
            })
            .collect();
        names.sort();
        names.iter().map(|name| Recording::read(name)).collect()
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../common/tests/fixtures/hadoop")
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap() as u8;
    digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}
