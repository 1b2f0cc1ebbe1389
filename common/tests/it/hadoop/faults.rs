//! Every kind of trouble: status, code, class, text, and whether the connection is closed.

use super::kit::{ID, replies};
use echo_common::wire::hadoop::fault::{Fault, Package};
use echo_common::wire::hadoop::fields::ProtoError;
use echo_common::wire::hadoop::header::{RpcKind, RpcOp};
use echo_common::wire::hadoop::reply::{ErrorCode, ReplyTo, Status};
use echo_common::wire::hadoop::sasl::SaslState;

const TO: ReplyTo = ReplyTo { call_id: 9, client_id: &ID, retry_count: 2 };

/// `class` without a dot is one of the RPC's own, which moves with the package.
fn check(fault: Fault, status: Status, code: ErrorCode, class: &str, text: &str, knows_id: bool) {
    for (package, prefix) in [
        (Package::Ipc, "org.apache.hadoop.ipc."),
        (Package::IpcUnderscore, "org.apache.hadoop.ipc_."),
    ] {
        let full = if class.contains('.') { class.to_owned() } else { [prefix, class].concat() };
        assert_eq!((fault.status(), fault.code()), (status, code), "{fault:?}");
        assert_eq!(fault.closes(), status == Status::Fatal, "{fault:?}");
        let mut out = Vec::new();
        fault.answer(TO, package, &mut out);
        let seen = replies(&out).unwrap();
        let (header, body) = seen[0];
        assert_eq!((seen.len(), body), (1, &b""[..]));
        assert_eq!((header.call_id, header.retry_count), (9, 2));
        assert_eq!(header.client_id, if knows_id { &ID[..] } else { &[] }, "{fault:?}");
        assert_eq!((header.status, header.failure.code), (status, Some(code)));
        assert_eq!(header.failure.class, Some(full.as_bytes()), "{fault:?}");
        assert_eq!(header.failure.text.map(String::from_utf8_lossy).unwrap(), text);
    }
}

fn fatal(fault: Fault, code: ErrorCode, class: &str, text: &str) {
    check(fault, Status::Fatal, code, class, text, false);
}

fn error(fault: Fault, code: ErrorCode, class: &str, text: &str) {
    check(fault, Status::Error, code, class, text, true);
}

#[test]
fn what_is_wrong_with_a_connection_is_fatal() {
    use ErrorCode::{FatalUnauthorized, FatalVersionMismatch, RpcServer};
    let access = "org.apache.hadoop.security.AccessControlException";
    let authorization = "org.apache.hadoop.security.authorize.AuthorizationException";
    let sasl = "javax.security.sasl.SaslException";
    let text = "Server IPC version 9 cannot communicate with client version -1";
    fatal(Fault::ClientVersion(-1), FatalVersionMismatch, "RPC$VersionMismatch", text);
    let text = "Unknown auth protocol:-34";
    fatal(Fault::UnknownAuth(-34), FatalUnauthorized, "IpcException", text);
    let text = "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]";
    fatal(Fault::SimpleNotEnabled("[TOKEN, KERBEROS]"), FatalUnauthorized, access, text);
    let text = "TOKEN authentication is not enabled.  Available:[SIMPLE]";
    fatal(Fault::SaslMethod(b"TOKEN"), FatalUnauthorized, access, text);
    fatal(Fault::SaslChoice, FatalUnauthorized, sasl, "Client mechanism is malformed");
    let text = "Client sent unsupported state CHALLENGE";
    fatal(Fault::SaslState(SaslState::Challenge), FatalUnauthorized, sasl, text);
    let text = "User: bob is not allowed to impersonate alice";
    fatal(Fault::NotAuthorized(text), FatalUnauthorized, authorization, text);
    let text = "Server too busy - disconnecting";
    fatal(Fault::TooBusy { disconnect: true }, RpcServer, "RetriableException", text);
}

#[test]
fn what_is_wrong_with_a_packet_is_fatal() {
    use ErrorCode::FatalInvalidRpcHeader;
    let sasl = "javax.security.sasl.SaslException";
    fatal(Fault::SaslWrap, FatalInvalidRpcHeader, sasl, "Server is not wrapping data");
    for (fault, text) in [
        (Fault::NoOp, " IPC Server: No rpc op in rpcRequestHeader"),
        (
            Fault::Op(RpcOp::CloseConnection),
            "IPC Server does not implement rpc header operationRPC_CLOSE_CONNECTION",
        ),
        (Fault::NoKind, " IPC Server: No rpc kind in rpcRequestHeader"),
        (Fault::Kind(RpcKind::Builtin), "Unknown rpc kind in rpc headerRPC_BUILTIN"),
        (Fault::NoContext, "Connection context not established"),
        (Fault::SecondContext, "Connection context already processed"),
        (Fault::ContextDuringSasl, "Connection header sent during SASL negotiation"),
        (Fault::SaslNotRequested, "SASL protocol not requested by client"),
        (Fault::OutOfBand(-7), "Unknown out of band call #-7"),
    ] {
        fatal(fault, FatalInvalidRpcHeader, "RpcServerException", text);
    }
    for (package, runtime) in [
        (Package::Ipc, "org.apache.hadoop.thirdparty.protobuf"),
        (Package::IpcUnderscore, "com.google.protobuf"),
    ] {
        let fault = Fault::Undecodable("RpcSaslProto", ProtoError::WireType);
        let expected = format!(
            "Error decoding RpcSaslProto: {runtime}.InvalidProtocolBufferException\
             $InvalidWireTypeException: Protocol message tag had invalid wire type."
        );
        assert_eq!(fault.text(package), expected);
        assert_eq!(fault.class(package).rsplit('.').next(), Some("RpcServerException"));
        assert_eq!(fault.code(), ErrorCode::FatalDeserializingRequest);
        assert!(fault.closes());
    }
}

#[test]
fn what_is_wrong_with_a_call_is_this_calls_error() {
    use ErrorCode::{
        Application, NoSuchMethod, NoSuchProtocol, RpcServer, RpcVersionMismatch,
        SerializingResponse,
    };
    let text = "Unknown protocol: p";
    error(Fault::UnknownProtocol(b"p"), NoSuchProtocol, "RpcNoSuchProtocolException", text);
    let fault = Fault::ProtocolVersion { protocol: b"p", client: 2, server: 1 };
    let text = "Protocol p version mismatch. (client = 2, server = 1)";
    error(fault, RpcVersionMismatch, "RPC$VersionMismatch", text);
    let fault = Fault::UnknownMethod { method: b"m", protocol: b"p" };
    let text = "Unknown method m called on p protocol.";
    error(fault, NoSuchMethod, "RpcNoSuchMethodException", text);
    let (class, text) = ("java.io.IOException", "echo refused");
    error(Fault::Application { class, text }, Application, class, text);
    error(Fault::Unwritable { class, text }, SerializingResponse, class, text);
    error(Fault::Server(text), RpcServer, "RpcServerException", text);
    let fault = Fault::TooBusy { disconnect: false };
    check(fault, Status::Error, RpcServer, "RetriableException", "Server too busy", false);
    let fault = Fault::Message(ProtoError::ZeroTag);
    assert_eq!(fault.text(Package::Ipc), "Protocol message contained an invalid tag (zero).");
    assert_eq!((fault.status(), fault.code()), (Status::Error, Application));
}
