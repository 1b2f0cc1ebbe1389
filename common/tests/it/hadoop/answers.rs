//! What a stream of a client is answered, field by field.

use super::kit::{ID, SIMPLE, Server, call, context, replies};
use echo_common::wire::hadoop::conversation::Ending;
use echo_common::wire::hadoop::header::CallHeader;
use echo_common::wire::hadoop::reply::{ErrorCode, Status};

/// What an answer must be: call id, retry count, client id, kind of failure, class and text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) call_id: i32,
    pub(crate) retry_count: i32,
    pub(crate) client_id: Vec<u8>,
    pub(crate) status: Status,
    pub(crate) code: Option<ErrorCode>,
    pub(crate) class: String,
    pub(crate) text: String,
}

pub(crate) fn answers(server: &Server) -> Vec<Answer> {
    let text = |bytes: Option<&[u8]>| String::from_utf8(bytes.unwrap_or(b"").to_vec()).unwrap();
    let seen = replies(&server.answers).expect("the answers are packets");
    seen.iter()
        .map(|(header, _)| Answer {
            call_id: header.call_id,
            retry_count: header.retry_count,
            client_id: header.client_id.to_vec(),
            status: header.status,
            code: header.failure.code,
            class: text(header.failure.class),
            text: text(header.failure.text),
        })
        .collect()
}

/// The stream, then a good call: one FATAL answer, then nothing.
pub(crate) fn fatal(
    stream: &[u8],
    call_id: i32,
    retry_count: i32,
    code: ErrorCode,
    class: &str,
    text: &str,
) {
    let server = Server::fed([stream, &call(77, b"late"), &context()]);
    let expected = Answer {
        call_id,
        retry_count,
        client_id: vec![],
        status: Status::Fatal,
        code: Some(code),
        class: class.to_owned(),
        text: text.to_owned(),
    };
    assert_eq!(answers(&server), [expected]);
    assert_eq!(server.ending, Some(Ending::Fatal));
}

pub(crate) fn invalid_header(stream: &[u8], call_id: i32, retry_count: i32, text: &str) {
    let class = "org.apache.hadoop.ipc.RpcServerException";
    fatal(stream, call_id, retry_count, ErrorCode::FatalInvalidRpcHeader, class, text);
}

/// The one kind of trouble for which the Java runtime has a class of its own.
pub(crate) const WIRE_TYPE: &str = "Protocol message tag had invalid wire type.";

pub(crate) fn undecodable(stream: &[u8], call_id: i32, message: &str, error: &str) {
    let class = "org.apache.hadoop.ipc.RpcServerException";
    let inner = if error == WIRE_TYPE { "$InvalidWireTypeException" } else { "" };
    let text = format!(
        "Error decoding {message}: \
         org.apache.hadoop.thirdparty.protobuf.InvalidProtocolBufferException{inner}: {error}"
    );
    fatal(stream, call_id, -1, ErrorCode::FatalDeserializingRequest, class, &text);
}

pub(crate) fn opened(rest: &[&[u8]]) -> Vec<u8> {
    [SIMPLE, &context(), &rest.concat()].concat()
}

pub(crate) fn header(call_id: i32) -> CallHeader<'static> {
    CallHeader::new(call_id, &ID, 3)
}
