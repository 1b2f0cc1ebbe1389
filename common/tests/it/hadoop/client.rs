//! The client's side of a connection, case by case.

use super::kit::{ID, delimited, packet};
use echo_common::wire::hadoop::client::{Received, Replies, ReplyError};
use echo_common::wire::hadoop::fault::{Fault, Package};
use echo_common::wire::hadoop::fields::ProtoError;
use echo_common::wire::hadoop::om;
use echo_common::wire::hadoop::preamble::Refusal;
use echo_common::wire::hadoop::reply::{ErrorCode, ReplyTo, Status, put_failure, put_success};

const TO: ReplyTo = ReplyTo { call_id: 7, client_id: &ID, retry_count: 0 };

fn success(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_success(&mut out, TO, message.len());
    out.extend_from_slice(message);
    out
}

fn check_error(bytes: &[u8], expected: ReplyError) {
    assert_eq!(Replies::new(ID).receive(bytes), Err(expected), "{bytes:02x?}");
}

#[test]
fn every_prefix_of_a_reply_waits_for_more() {
    let whole = success(b"message");
    for n in 0..whole.len() {
        let total = if n < 4 { 4 } else { whole.len() };
        let received = Replies::new(ID).receive(&whole[..n]);
        assert_eq!(received, Ok(Received::NeedMore { total }));
    }
    let Ok(Received::Reply(consumed, reply)) = Replies::new(ID).receive(&whole) else {
        panic!("a whole reply is not read");
    };
    assert_eq!((consumed, reply.header.call_id), (whole.len(), 7));
    assert_eq!(reply.message(), Ok(&b"message"[..]));
}

#[test]
fn lengths_that_are_none_end_the_connection() {
    check_error(&[0; 4], ReplyError::Length(0));
    check_error(&[0xff, 0xff, 0xff, 0xfe], ReplyError::Length(-2));
    check_error(&[0x80, 0, 0, 0], ReplyError::Length(i32::MIN));
    let length = (128 << 20) + 1u32;
    check_error(&length.to_be_bytes(), ReplyError::TooLong { length, limit: 128 << 20 });
    let mut replies = Replies::new(ID);
    replies.receive(&success(b"")).unwrap();
    let mut old = Vec::new();
    Refusal::Version(8).answer(Package::Ipc, &mut old);
    assert_eq!(replies.receive(&old), Err(ReplyError::Length(-1)), "behind a reply");
}

#[test]
fn the_limit_of_a_reply_is_the_last_length_taken_and_zero_is_none() {
    let whole = success(b"message");
    let len = whole.len() as u32 - 4;
    let with = |limit| Replies::new(ID).with_reply_max(limit);
    assert!(matches!(with(len).receive(&whole), Ok(Received::Reply(..))));
    assert!(matches!(with(0).receive(&whole), Ok(Received::Reply(..))));
    let expected = ReplyError::TooLong { length: len, limit: len - 1 };
    assert_eq!(with(len - 1).receive(&whole), Err(expected));
    let huge = i32::MAX.to_be_bytes();
    let total = (1 << 31) + 3;
    assert_eq!(with(0).receive(&huge), Ok(Received::NeedMore { total }));
}

#[test]
fn a_reply_for_another_client_is_refused_and_one_for_nobody_is_taken() {
    for (client_id, is_taken) in [(&ID[..], true), (&[], true), (b"abc", false), (&[9; 16], false)]
    {
        let mut out = Vec::new();
        put_success(&mut out, ReplyTo { client_id, ..TO }, 0);
        match Replies::new(ID).receive(&out) {
            Ok(Received::Reply(..)) => assert!(is_taken, "{client_id:?}"),
            other => assert_eq!((other, is_taken), (Err(ReplyError::ForeignClientId), false)),
        }
    }
}

#[test]
fn failures_tell_class_text_and_code_and_nothing_may_follow_them() {
    let fault = Fault::TooBusy { disconnect: true };
    let mut out = Vec::new();
    fault.answer(TO, Package::Ipc, &mut out);
    let Ok(Received::Reply(consumed, reply)) = Replies::new(ID).receive(&out) else {
        panic!("a failure is not read");
    };
    assert_eq!(consumed, out.len());
    let failure = reply.header.failure;
    assert_eq!((reply.header.status, failure.code), (Status::Fatal, Some(ErrorCode::RpcServer)));
    assert_eq!(failure.class, Some(&b"org.apache.hadoop.ipc.RetriableException"[..]));
    assert_eq!(failure.text, Some(&b"Server too busy - disconnecting"[..]));

    let longer = packet(&[&out[4..], b"xyz"].concat());
    check_error(&longer, ReplyError::TrailingBytes(3));
}

#[test]
fn an_ozone_manager_that_does_not_lead_is_known_by_its_class() {
    let fault = Fault::Application {
        class: std::str::from_utf8(om::NOT_LEADER_CLASS).unwrap(),
        text: "OM:om1 is not the leader. Suggested leader is OM:om2.",
    };
    let mut out = Vec::new();
    fault.answer(TO, Package::Ipc, &mut out);
    let Ok(Received::Reply(_, reply)) = Replies::new(ID).receive(&out) else {
        panic!("a failure is not read");
    };
    assert_eq!(reply.header.status, Status::Error);
    assert_eq!(reply.header.failure.class, Some(om::NOT_LEADER_CLASS));
}

#[test]
fn an_answer_in_the_form_of_old_versions_is_read_once_it_is_whole() {
    let mut out = Vec::new();
    Refusal::Version(8).answer(Package::Ipc, &mut out);
    for n in 0..out.len() {
        let Ok(Received::NeedMore { total }) = Replies::new(ID).receive(&out[..n]) else {
            panic!("{n} bytes are taken for an answer");
        };
        assert!(n < total && total <= out.len());
    }
    let class = b"org.apache.hadoop.ipc.RPC$VersionMismatch";
    let text = b"Server IPC version 9 cannot communicate with client version 8";
    assert_eq!(Replies::new(ID).receive(&out), Ok(Received::OldRefusal { class, text }));
    let mut endless = [0xff; 12];
    check_error(&endless, ReplyError::Length(-1));
    endless[8] = 0x7f;
    let (length, limit) = (0x7fff_ffff, 128 << 20);
    check_error(&endless, ReplyError::TooLong { length, limit });
}

#[test]
fn headers_that_cannot_be_read_are_named() {
    check_error(&packet(b"\x05\x08"), ReplyError::Header(ProtoError::Truncated));
    let text = "the reply header cannot be read: Message missing required fields: callId, status";
    let error = Replies::new(ID).receive(&packet(&delimited(b""))).unwrap_err();
    assert_eq!(error.to_string(), text);
    let mut out = Vec::new();
    put_failure(&mut out, TO, Status::Error, Default::default());
    assert!(matches!(Replies::new(ID).receive(&out), Ok(Received::Reply(..))));
}
