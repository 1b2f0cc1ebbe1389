//! What must hold for any bytes at all. Each check panics where it does not.

use super::kit::{ID, SIMPLE, Server, context, packet, pieces, replies};
use echo_common::wire::hadoop::call::Call;
use echo_common::wire::hadoop::client::{Received, Replies, ReplyError};
use echo_common::wire::hadoop::context::Context;
use echo_common::wire::hadoop::conversation::Ending;
use echo_common::wire::hadoop::fields;
use echo_common::wire::hadoop::header::CallHeader;
use echo_common::wire::hadoop::method::MethodHeader;
use echo_common::wire::hadoop::om::{OmCall, OmReply};
use echo_common::wire::hadoop::preamble::{Opening, PREAMBLE_LEN, read};
use echo_common::wire::hadoop::reply::{ReplyHeader, Status};
use echo_common::wire::hadoop::sasl::Sasl;

/// A preamble needs seven bytes and looks at no more; what is let in is written back.
pub(crate) fn check_preamble(bytes: &[u8]) {
    let opening = read(bytes);
    assert_eq!(opening == Opening::NeedMore, bytes.len() < PREAMBLE_LEN, "{bytes:02x?}");
    if let Some(head) = bytes.first_chunk::<PREAMBLE_LEN>() {
        assert_eq!(read(head), opening);
        if let Opening::Accepted(preamble) = opening {
            assert_eq!(preamble.encode(), *head);
        }
    }
}

/// A packet's inside: every decoder ends, what it reads it writes and reads again, and the
/// conversation answers at most once.
pub(crate) fn check_packet(bytes: &[u8]) {
    let _ = fields::check(bytes);
    let _ = Call::decode(bytes);
    let _ = Sasl::decode(bytes);
    let mut out = Vec::new();
    if let Ok(header) = CallHeader::decode(bytes) {
        header.encode(&mut out);
        assert_eq!((CallHeader::decode(&out), out.len()), (Ok(header), header.encoded_len()));
    }
    out.clear();
    if let Ok(header) = MethodHeader::decode(bytes) {
        header.encode(&mut out);
        assert_eq!((MethodHeader::decode(&out), out.len()), (Ok(header), header.encoded_len()));
    }
    out.clear();
    if let Ok(context) = Context::decode(bytes) {
        context.encode(&mut out);
        assert_eq!((Context::decode(&out), out.len()), (Ok(context), context.encoded_len()));
    }
    out.clear();
    if let Ok(call) = OmCall::decode(bytes) {
        call.encode(&mut out);
        assert_eq!((OmCall::decode(&out), out.len()), (Ok(call), call.encoded_len()));
    }
    let server = Server::fed([SIMPLE, &context(), &packet(bytes)]);
    assert!(replies(&server.answers).is_some_and(|seen| seen.len() <= 1));
    assert_eq!(server.events.len(), 3, "{:?}", server.events);
}

/// As [`check_conversation`], of an input that begins with the sizes of the pieces.
pub(crate) fn check_cut_conversation(bytes: &[u8]) {
    let (sizes, stream) = sizes_and_stream(bytes);
    check_conversation(stream, &sizes);
}

/// As [`check_replies`], of an input that begins with the sizes of the pieces.
pub(crate) fn check_cut_replies(bytes: &[u8]) {
    let (sizes, stream) = sizes_and_stream(bytes);
    check_replies(stream, &sizes);
}

/// A count of at most 15, so many sizes, and the stream.
fn sizes_and_stream(bytes: &[u8]) -> (Vec<usize>, &[u8]) {
    let Some((&count, rest)) = bytes.split_first() else { return (Vec::new(), bytes) };
    let (sizes, stream) = rest.split_at(rest.len().min(usize::from(count & 15)));
    (sizes.iter().copied().map(usize::from).collect(), stream)
}

/// A client's stream: the same events however it is cut, and the promises are kept.
pub(crate) fn check_conversation(stream: &[u8], sizes: &[usize]) {
    let whole = Server::fed([stream]);
    let cut = Server::fed(pieces(stream, sizes));
    assert_eq!(cut.events, whole.events);
    assert_eq!(cut.answers, whole.answers);
    assert_eq!(cut.ending, whole.ending);
    check_promises(&whole);
}

fn check_promises(server: &Server) {
    let at = |kind: &str| server.events.iter().position(|event| event.starts_with(kind));
    if let Some(call) = at("Call") {
        let context = at("Context");
        assert!(context.is_some_and(|context| context < call), "{:?}", server.events);
    }
    if at("Opened").is_none() {
        assert!(server.events.len() <= 1, "{:?} without a preamble", server.events);
        return;
    }
    let answers = replies(&server.answers).expect("every answer is a packet");
    let statuses: Vec<Status> = answers.iter().map(|(header, _)| header.status).collect();
    let fatal = statuses.iter().position(|&status| status == Status::Fatal);
    assert!(fatal.is_none_or(|at| at + 1 == statuses.len()), "{statuses:?}");
    assert_eq!(fatal.is_some(), server.ending == Some(Ending::Fatal));
    for (header, body) in answers {
        let has_failed = header.status != Status::Success;
        assert_eq!(has_failed, header.failure.code.is_some());
        assert!(!has_failed || body.is_empty());
        assert_eq!(header.server_version, Some(9));
    }
}

/// A server's stream: the same replies and the same end however it is cut.
pub(crate) fn check_replies(stream: &[u8], sizes: &[usize]) {
    assert_eq!(received(&[stream]), received(&pieces(stream, sizes)));
    let _ = ReplyHeader::decode(stream);
    let _ = OmReply::decode(stream);
}

fn received(pieces: &[&[u8]]) -> (Vec<String>, Option<ReplyError>) {
    let mut replies = Replies::new(ID);
    let (mut rest, mut seen) = (Vec::new(), Vec::new());
    for piece in pieces {
        rest.extend_from_slice(piece);
        loop {
            let consumed = match replies.receive(&rest) {
                Ok(Received::NeedMore { total }) => {
                    assert!(total > rest.len(), "{total} bytes asked for are there");
                    break;
                }
                Ok(Received::Reply(consumed, reply)) => {
                    check_reply(&reply.header);
                    seen.push(format!("{reply:?}"));
                    consumed
                }
                Ok(refused @ Received::OldRefusal { .. }) => {
                    seen.push(format!("{refused:?}"));
                    return (seen, None);
                }
                Err(error) => return (seen, Some(error)),
            };
            rest.drain(..consumed);
        }
    }
    (seen, None)
}

fn check_reply(header: &ReplyHeader) {
    let mut out = Vec::new();
    header.encode(&mut out);
    assert_eq!((ReplyHeader::decode(&out), out.len()), (Ok(*header), header.encoded_len()));
}
