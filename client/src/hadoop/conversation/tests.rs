//! Streams of replies, right and wrong, whole and in pieces.

use super::*;
use crate::call_table::CallTable;
use crate::hadoop::Settings;
use crate::outcome::{Extras, Ledger, Outcomes};
use echo_common::wire::hadoop::call::Call;
use echo_common::wire::hadoop::om::{OmReply, STATUS_OK};
use echo_common::wire::hadoop::reply::{ErrorCode, ReplyTo, put_failure, put_success};
use proptest::prelude::*;

const CALLS: usize = 6;
const BUSY: &str = "org.apache.hadoop.ipc.RetriableException";

/// What a server may send about one of the calls, or about none.
#[derive(Clone, Debug)]
enum Answer {
    Right(usize),
    /// The same without the client's id, as from before a call is known.
    Anonymous(usize),
    WrongByte(usize, usize),
    WrongLength(usize, usize),
    Unreadable(usize),
    Error(usize, String),
    Fatal(i32, String),
    Unknown(u32),
    OldRefusal,
}

fn calls(service: &str, payload_len: usize) -> Calls {
    let settings = Settings {
        service: service.parse().unwrap(),
        user: "alice".to_owned(),
        shares_client_id: false,
        compares: service != "om",
        reply_max: 1 << 20,
    };
    Calls::new(settings, payload_len, payload_len)
}

fn success(id: i32, client_id: &[u8], message: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_success(&mut out, ReplyTo { call_id: id, client_id, retry_count: 0 }, message.len());
    out.extend_from_slice(message);
    out
}

fn failure(id: i32, status: Status, class: Option<&str>, text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let to = ReplyTo { call_id: id, client_id: &[], retry_count: -1 };
    let (class, text) = (class.map(str::as_bytes), Some(text.as_bytes()));
    put_failure(&mut out, to, status, Refusal { class, text, code: Some(ErrorCode::RpcServer) });
    out
}

/// The message of the call `id`, which is also the message of its reply where calls are echoed.
fn message(calls: &Calls, id: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    Conversation::new(calls, 0).encode(id, None, &mut bytes);
    let call = Call::decode(&bytes[4..]).unwrap();
    assert_eq!(call.header.call_id as u64, id);
    assert_eq!((call.header.retry_count, call.header.client_id), (0, &calls.client_id(0)[..]));
    call.message().unwrap().to_vec()
}

fn bytes_of(answer: &Answer, calls: &Calls) -> Vec<u8> {
    let client_id = calls.client_id(0);
    match answer {
        Answer::Right(call) => success(*call as i32, &client_id, &message(calls, *call as u64)),
        Answer::Anonymous(call) => success(*call as i32, &[], &message(calls, *call as u64)),
        Answer::WrongByte(call, at) => {
            let mut message = message(calls, *call as u64);
            let payload = calls.payload().len();
            let first = message.len() - payload;
            message[first + at % payload] ^= 1;
            success(*call as i32, &client_id, &message)
        }
        Answer::WrongLength(call, len) => {
            let mut message = vec![0x0a, *len as u8];
            message.resize(2 + len, b'x');
            success(*call as i32, &client_id, &message)
        }
        Answer::Unreadable(call) => success(*call as i32, &client_id, b"\x0a\x7f"),
        Answer::Error(call, text) => failure(*call as i32, Status::Error, Some(BUSY), text),
        Answer::Fatal(id, text) => failure(*id, Status::Fatal, Some(BUSY), text),
        Answer::Unknown(id) => success(*id as i32, &client_id, b""),
        Answer::OldRefusal => [&[0xff; 8][..], b"\0\0\0\x03a.B\0\0\0\x05no, 9"].concat(),
    }
}

fn answers() -> impl Strategy<Value = Answer> {
    let call = 0..CALLS;
    prop_oneof![
        8 => call.clone().prop_map(Answer::Right),
        1 => call.clone().prop_map(Answer::Anonymous),
        1 => (call.clone(), 0usize..1000).prop_map(|(c, at)| Answer::WrongByte(c, at)),
        1 => (call.clone(), 0usize..100).prop_map(|(c, len)| Answer::WrongLength(c, len)),
        1 => call.clone().prop_map(Answer::Unreadable),
        2 => (call, ".{0,40}").prop_map(|(c, text)| Answer::Error(c, text)),
        1 => (-4i32..6, ".{0,40}").prop_map(|(id, text)| Answer::Fatal(id, text)),
        1 => (CALLS as u32..).prop_map(Answer::Unknown),
        1 => Just(Answer::OldRefusal),
    ]
}

/// Feeds `stream` cut at `cuts`, as a connection would: until it ends.
fn read(calls: &Calls, stream: &[u8], mut cuts: Vec<usize>) -> (Ledger, Option<Ending>, usize) {
    let mut table = CallTable::counted(CALLS, false, calls.sequence());
    let mut ledger = Ledger::new(Extras::default());
    (0..CALLS).for_each(|id| assert_eq!(table.start(0, true, false), id as u64));
    ledger.started(CALLS as u64, true, 0);
    let mut conversation = Conversation::new(calls, 0);
    let mut ending = None;
    cuts.push(stream.len());
    cuts.sort_unstable();
    let mut at = 0;
    for cut in cuts {
        let piece = &stream[at..cut];
        at = cut;
        let mut to = Reading { table: &mut table, ledger: &mut ledger, now_ns: 1 };
        if let Err(end) = conversation.feed(piece, &mut to) {
            ending = Some(end);
            break;
        }
    }
    (ledger, ending, table.open())
}

fn check_one(service: &str, answer: &Answer, expected: fn(&Outcomes) -> u64) -> Ledger {
    let calls = calls(service, 90);
    let (ledger, ending, open) = read(&calls, &bytes_of(answer, &calls), vec![]);
    assert_eq!(ending, None, "{answer:?}");
    assert_eq!(expected(&ledger.outcomes), 1, "{answer:?}: {:?}", ledger.outcomes);
    assert_eq!(ledger.outcomes.ended() + open as u64, CALLS as u64);
    ledger
}

#[test]
fn each_reply_ends_its_call_in_its_outcome() {
    for service in ["test", "my.Echo:1"] {
        check_one(service, &Answer::Right(2), |o| o.ok);
        check_one(service, &Answer::Anonymous(2), |o| o.ok);
        check_one(service, &Answer::WrongByte(2, 89), |o| o.mismatch);
        check_one(service, &Answer::WrongLength(2, 89), |o| o.mismatch);
        check_one(service, &Answer::WrongLength(2, 0), |o| o.mismatch);
        check_one(service, &Answer::Unreadable(2), |o| o.mismatch);
        check_one(service, &Answer::Unknown(7), |o| o.unexpected_replies);
        check_one(service, &Answer::Unknown(u32::MAX), |o| o.unexpected_replies);
    }
}

#[test]
fn an_error_costs_its_call_and_is_counted_by_its_class() {
    let text = "Server too busy\n\tat org.apache.hadoop.ipc.Server(Server.java:1)";
    let ledger = check_one("test", &Answer::Error(3, text.to_owned()), Outcomes::error_reply);
    let (reason, words) = ledger.error_texts.first_key_value().unwrap();
    assert_eq!((&*reason.to_string(), &**words), ("RetriableException", "Server too busy"));
}

#[test]
fn a_fatal_ends_the_connection_with_its_words() {
    let calls = calls("test", 5);
    for id in [-1, -3, 2, 5000] {
        let answer = Answer::Fatal(id, "Unauthorized\x1b[2J\nstack".to_owned());
        let (ledger, ending, open) = read(&calls, &bytes_of(&answer, &calls), vec![]);
        let text = ending.unwrap().to_string();
        let expected = "the server refused the connection: RetriableException: ";
        assert_eq!(text, format!("{expected}Unauthorized\\u{{1b}}[2J"));
        assert_eq!((ledger.outcomes.ended(), open), (0, CALLS), "the connection ends them all");
    }
    let (_, ending, _) = read(&calls, &bytes_of(&Answer::OldRefusal, &calls), vec![]);
    assert_eq!(ending.unwrap().to_string(), "the server refused the connection: B: no, 9");
}

#[test]
fn a_failure_without_a_class_is_known_by_its_code() {
    let calls = calls("test", 5);
    let (ledger, _, _) = read(&calls, &failure(0, Status::Error, None, ""), vec![]);
    let reason = ledger.outcomes.error_replies.keys().next().unwrap();
    assert_eq!(reason.to_string(), "ERROR_RPC_SERVER");
}

#[test]
fn an_ozone_manager_that_does_not_lead_is_told_as_such() {
    let calls = calls("om", 5);
    let class = str::from_utf8(om::NOT_LEADER_CLASS).unwrap();
    let hint = "OM:om1 is not the leader. Suggested leader is OM:om2[om2:9862].\nstack";
    let (ledger, _, _) = read(&calls, &failure(4, Status::Error, Some(class), hint), vec![]);
    let (reason, words) = ledger.error_texts.first_key_value().unwrap();
    assert_eq!(reason.to_string(), "OMNotLeaderException");
    assert!(words.contains("does not lead") && words.ends_with("OM:om2[om2:9862]."), "{words}");
}

#[test]
fn of_an_ozone_managers_payload_only_the_length_counts() {
    let calls = calls("om", 5);
    let reply = |payload: &[u8], status| {
        let mut message = Vec::new();
        let payload = Some(om::Payload::Bytes(payload));
        let (command, message_text) = (om::COMMAND_ECHO, Some(&b"why"[..]));
        OmReply {
            command,
            trace_id: Some(b""),
            success: status == STATUS_OK,
            message: message_text,
            status,
            leader: None,
            payload,
        }
        .encode(&mut message);
        success(1, &calls.client_id(0), &message)
    };
    let outcomes = |bytes: &[u8]| read(&calls, bytes, vec![]).0.outcomes;
    assert_eq!(outcomes(&reply(b"12345", STATUS_OK)).ok, 1);
    assert_eq!(outcomes(&reply(b"1234", STATUS_OK)).mismatch, 1);
    assert_eq!(outcomes(&reply(b"123456", STATUS_OK)).mismatch, 1);
    let refused = outcomes(&reply(b"12345", 5)).error_replies;
    assert_eq!(refused.into_keys().collect::<Vec<_>>(), [Reason::OmStatus(5)]);
}

#[test]
fn what_is_no_reply_ends_the_connection() {
    let calls = calls("test", 5);
    let check = |stream: &[u8], expected: &str| {
        let (_, ending, open) = read(&calls, stream, vec![]);
        let text = ending.expect("an ending").to_string();
        assert!(text.contains(expected), "{text}");
        assert_eq!(open, CALLS);
    };
    check(&[0; 4], "0 bytes announced");
    check(&[0xff, 0xff, 0xff, 0xfe], "-2 bytes announced");
    check(b"\0\x10\0\x01", "1048577 bytes announced, the limit is 1048576");
    check(b"HTTP/1.1 404 Not Found\r\n", "bytes announced");
    check(b"\0\0\0\x03\x02\x08\x01", "the reply header cannot be read");
    check(&success(0, &[1; 16], b""), "for another client");
    let mut trailing = failure(0, Status::Error, None, "");
    trailing.push(7);
    trailing[3] += 1;
    check(&trailing, "1 bytes follow");
}

#[test]
fn what_is_kept_of_a_packet_grows_by_what_comes() {
    let calls = calls("test", 500_000);
    let stream = bytes_of(&Answer::Right(0), &calls);
    let (mut table, mut ledger) =
        (CallTable::counted(1, false, calls.sequence()), Ledger::new(Extras::default()));
    table.start(0, true, false);
    let mut conversation = Conversation::new(&calls, 0);
    for (at, piece) in stream.chunks(10_000).enumerate() {
        let mut to = Reading { table: &mut table, ledger: &mut ledger, now_ns: 1 };
        conversation.feed(piece, &mut to).unwrap();
        assert!(conversation.partial.capacity() <= 2 * (at + 1) * 10_000, "after {at}");
    }
    assert_eq!((ledger.outcomes.ok, conversation.in_mid_packet()), (1, false));
    assert!(conversation.partial.capacity() <= KEPT_MAX);
}

proptest! {
    #[test]
    fn any_split_of_the_stream_gives_the_same_outcomes(
        payload in 1usize..100,
        answers in prop::collection::vec(answers(), 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let calls = calls("my.Echo:1", payload);
        let stream: Vec<u8> = answers.iter().flat_map(|one| bytes_of(one, &calls)).collect();
        let seen = |cuts| {
            let (ledger, ending, open) = read(&calls, &stream, cuts);
            (ledger.outcomes, ledger.error_texts, ending, open)
        };
        let whole = seen(vec![]);
        prop_assert_eq!(&seen(cuts.iter().map(|c| c.index(stream.len() + 1)).collect()), &whole);
        prop_assert_eq!(&seen((0..stream.len()).collect()), &whole);
    }

    #[test]
    fn any_bytes_at_all_end_in_outcomes_or_an_ending(
        stream in prop::collection::vec(any::<u8>(), 0..400),
        small in prop::collection::vec(prop_oneof![Just(0u8), 0u8..30], 0..400),
    ) {
        let calls = calls("om", 8);
        for stream in [stream, small] {
            let (ledger, _, open) = read(&calls, &stream, vec![]);
            prop_assert_eq!(ledger.outcomes.ended() + open as u64, CALLS as u64);
        }
    }

    #[test]
    fn a_call_has_the_length_that_its_head_says(id in 0u64..1 << 31, payload in 0usize..300) {
        for service in ["om", "test", "my.Echo:1"] {
            let calls = calls(service, payload);
            let conversation = Conversation::new(&calls, 3);
            let (mut whole, mut head) = (Vec::new(), Vec::new());
            conversation.encode(id, None, &mut whole);
            conversation.put_head(id, None, &mut head);
            prop_assert_eq!(whole.len(), conversation.call_len(id));
            prop_assert_eq!(head.len(), conversation.head_len(id));
            prop_assert_eq!(&whole[..head.len()], &head[..]);
        }
    }
}
