//! Every kind of trouble that a server answers, and the words it uses.
//!
//! Clients decide by the name of the Java class whether to give up, to try again or to go
//! elsewhere, so the class must be exactly the original's; its package depends on what kind of
//! client is expected. The text is the first line of what the original sends, without its stack
//! trace. Source: what Hadoop 3.3.4 and 3.4.1 answered, and Hadoop's and Ozone's `Server.java`.

use super::fields::ProtoError;
use super::header::{NO_CALL_ID, NO_RETRY_COUNT, RpcKind, RpcOp};
use super::preamble::VERSION;
use super::reply::{ErrorCode, Failure, ReplyTo, Status, put_failure};
use super::sasl::SaslState;
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// In which Java package the client's RPC classes are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Package {
    /// `org.apache.hadoop.ipc`: Hadoop, and Ozone up to 2.1.
    #[default]
    Ipc,
    /// `org.apache.hadoop.ipc_`: Ozone from 2.2 on, which has its own copy.
    IpcUnderscore,
}

/// A name that is not one of the two.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a package of Hadoop RPC: `ipc` (Hadoop, Ozone up to 2.1) or `ipc_` (Ozone from \
     2.2 on)"
)]
pub struct UnknownPackage(String);

impl FromStr for Package {
    type Err = UnknownPackage;

    fn from_str(text: &str) -> Result<Package, UnknownPackage> {
        match text {
            "ipc" => Ok(Package::Ipc),
            "ipc_" => Ok(Package::IpcUnderscore),
            other => Err(UnknownPackage(other.to_owned())),
        }
    }
}

impl Package {
    fn prefix(self) -> &'static str {
        match self {
            Package::Ipc => "org.apache.hadoop.ipc.",
            Package::IpcUnderscore => "org.apache.hadoop.ipc_.",
        }
    }

    /// The class for messages that cannot be read; Hadoop has its own copy of the runtime, and the
    /// runtime a class of its own for one kind of trouble.
    fn unreadable(self, error: ProtoError) -> String {
        let runtime = match self {
            Package::Ipc => "org.apache.hadoop.thirdparty.protobuf",
            Package::IpcUnderscore => "com.google.protobuf",
        };
        let inner = match error {
            ProtoError::WireType => "$InvalidWireTypeException",
            _ => "",
        };
        format!("{runtime}.InvalidProtocolBufferException{inner}")
    }
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault<'a> {
    /// The client speaks another version of the RPC itself.
    ClientVersion(i8),
    /// The auth byte is none that is known.
    UnknownAuth(i8),
    /// A simple client at a server that wants proof; with the methods that it takes.
    SimpleNotEnabled(&'a str),
    /// What a packet must begin with cannot be read; with the message's name in the schema.
    Undecodable(&'static str, ProtoError),
    /// The call header has no rpcOp, or one that the schema does not know.
    NoOp,
    /// An rpcOp that no server implements.
    Op(RpcOp),
    /// The call header has no rpcKind, or one that the schema does not know.
    NoKind,
    /// An rpcKind that is not served.
    Kind(RpcKind),
    /// A call came before the connection context.
    NoContext,
    /// The connection context came again.
    SecondContext,
    /// The connection context came while SASL was asked for and not settled.
    ContextDuringSasl,
    /// A SASL packet on a connection that goes on without.
    SaslNotRequested,
    /// A negative call id that means nothing.
    OutOfBand(i32),
    /// The client chooses a way of authentication that the server does not have.
    SaslMethod(&'a [u8]),
    /// The client chooses none, or several.
    SaslChoice,
    /// The client is at something that a client is not at, or not yet.
    SaslState(SaslState),
    /// Wrapped packets, though wrapping was not negotiated.
    SaslWrap,
    /// The user may not connect; with the reason.
    NotAuthorized(&'a str),
    /// The call queue is full.
    TooBusy {
        /// Whether the client is also to be rid of.
        disconnect: bool,
    },
    /// The server has no such protocol.
    UnknownProtocol(&'a [u8]),
    /// The server has the protocol in another version.
    ProtocolVersion {
        /// Its name.
        protocol: &'a [u8],
        /// What the client was built for.
        client: u64,
        /// What the server has.
        server: u64,
    },
    /// The protocol has no such method.
    UnknownMethod {
        /// The method's name.
        method: &'a [u8],
        /// The protocol that the connection was opened for, as the original says.
        protocol: &'a [u8],
    },
    /// The method header or the call's message cannot be read.
    Message(ProtoError),
    /// The service failed with an exception of its own.
    Application {
        /// The exception's class.
        class: &'a str,
        /// What it says.
        text: &'a str,
    },
    /// The server itself failed at this call.
    Server(&'a str),
    /// The answer could not be written.
    Unwritable {
        /// The exception's class.
        class: &'a str,
        /// What it says.
        text: &'a str,
    },
}

/// A class by its place: one of the RPC's own, or a full name.
enum Class<'a> {
    Ipc(&'static str),
    Full(&'a str),
    Unreadable(ProtoError),
}

const VERSION_MISMATCH: Class = Class::Ipc("RPC$VersionMismatch");
const RPC_SERVER: Class = Class::Ipc("RpcServerException");
const ACCESS_CONTROL: Class = Class::Full("org.apache.hadoop.security.AccessControlException");
const SASL: Class = Class::Full("javax.security.sasl.SaslException");

impl<'a> Fault<'a> {
    /// One row of the table: what kind of failure, and which class.
    fn row(&self) -> (ErrorCode, Class<'a>) {
        match *self {
            Fault::ClientVersion(_) => (ErrorCode::FatalVersionMismatch, VERSION_MISMATCH),
            Fault::UnknownAuth(_) => (ErrorCode::FatalUnauthorized, Class::Ipc("IpcException")),
            Fault::SimpleNotEnabled(_) | Fault::SaslMethod(_) => {
                (ErrorCode::FatalUnauthorized, ACCESS_CONTROL)
            }
            Fault::Undecodable(..) => (ErrorCode::FatalDeserializingRequest, RPC_SERVER),
            Fault::NoOp
            | Fault::Op(_)
            | Fault::NoKind
            | Fault::Kind(_)
            | Fault::NoContext
            | Fault::SecondContext
            | Fault::ContextDuringSasl
            | Fault::SaslNotRequested
            | Fault::OutOfBand(_) => (ErrorCode::FatalInvalidRpcHeader, RPC_SERVER),
            Fault::SaslChoice | Fault::SaslState(_) => (ErrorCode::FatalUnauthorized, SASL),
            Fault::SaslWrap => (ErrorCode::FatalInvalidRpcHeader, SASL),
            Fault::NotAuthorized(_) => {
                let class = "org.apache.hadoop.security.authorize.AuthorizationException";
                (ErrorCode::FatalUnauthorized, Class::Full(class))
            }
            Fault::TooBusy { .. } => (ErrorCode::RpcServer, Class::Ipc("RetriableException")),
            Fault::UnknownProtocol(_) => {
                (ErrorCode::NoSuchProtocol, Class::Ipc("RpcNoSuchProtocolException"))
            }
            Fault::ProtocolVersion { .. } => (ErrorCode::RpcVersionMismatch, VERSION_MISMATCH),
            Fault::UnknownMethod { .. } => {
                (ErrorCode::NoSuchMethod, Class::Ipc("RpcNoSuchMethodException"))
            }
            Fault::Message(error) => (ErrorCode::Application, Class::Unreadable(error)),
            Fault::Application { class, .. } => (ErrorCode::Application, Class::Full(class)),
            Fault::Server(_) => (ErrorCode::RpcServer, RPC_SERVER),
            Fault::Unwritable { class, .. } => (ErrorCode::SerializingResponse, Class::Full(class)),
        }
    }

    /// The value of errorDetail.
    pub fn code(&self) -> ErrorCode {
        self.row().0
    }

    /// Whether the call or the connection has failed.
    pub fn status(&self) -> Status {
        let disconnects = matches!(self, Fault::TooBusy { disconnect: true });
        if disconnects || self.code() >= ErrorCode::FatalUnknown {
            Status::Fatal
        } else {
            Status::Error
        }
    }

    /// Whether the connection is closed behind the answer.
    pub fn closes(&self) -> bool {
        self.status() == Status::Fatal
    }

    /// The full name of the Java class.
    pub fn class(&self, package: Package) -> Cow<'a, str> {
        match self.row().1 {
            Class::Ipc(name) => Cow::Owned([package.prefix(), name].concat()),
            Class::Full(name) => Cow::Borrowed(name),
            Class::Unreadable(error) => Cow::Owned(package.unreadable(error)),
        }
    }

    /// What people read. Names that the client chose are cut to [`NAME_MAX`] bytes.
    pub fn text(&self, package: Package) -> Cow<'a, str> {
        Cow::Borrowed(match *self {
            Fault::NoOp => " IPC Server: No rpc op in rpcRequestHeader",
            Fault::NoKind => " IPC Server: No rpc kind in rpcRequestHeader",
            Fault::NoContext => "Connection context not established",
            Fault::SecondContext => "Connection context already processed",
            Fault::ContextDuringSasl => "Connection header sent during SASL negotiation",
            Fault::SaslNotRequested => "SASL protocol not requested by client",
            Fault::SaslChoice => "Client mechanism is malformed",
            Fault::SaslWrap => "Server is not wrapping data",
            Fault::TooBusy { disconnect: true } => "Server too busy - disconnecting",
            Fault::TooBusy { disconnect: false } => "Server too busy",
            Fault::NotAuthorized(text)
            | Fault::Server(text)
            | Fault::Application { text, .. }
            | Fault::Unwritable { text, .. } => text,
            _ => return Cow::Owned(self.composed_text(package)),
        })
    }

    fn composed_text(&self, package: Package) -> String {
        match *self {
            Fault::ClientVersion(version) => format!(
                "Server IPC version {VERSION} cannot communicate with client version {version}"
            ),
            Fault::UnknownAuth(auth) => format!("Unknown auth protocol:{auth}"),
            Fault::SimpleNotEnabled(available) => {
                format!("SIMPLE authentication is not enabled.  Available:{available}")
            }
            Fault::Undecodable(message, error) => {
                format!("Error decoding {message}: {}: {error}", package.unreadable(error))
            }
            Fault::Op(op) => {
                format!("IPC Server does not implement rpc header operation{}", op.name())
            }
            Fault::Kind(kind) => format!("Unknown rpc kind in rpc header{}", kind.name()),
            Fault::OutOfBand(call_id) => format!("Unknown out of band call #{call_id}"),
            Fault::SaslMethod(method) => {
                let method = readable(method);
                format!("{method} authentication is not enabled.  Available:[SIMPLE]")
            }
            Fault::SaslState(state) => format!("Client sent unsupported state {}", state.name()),
            Fault::UnknownProtocol(protocol) => format!("Unknown protocol: {}", readable(protocol)),
            // Java has no unsigned numbers: a version with the top bit set is printed negative.
            Fault::ProtocolVersion { protocol, client, server } => format!(
                "Protocol {} version mismatch. (client = {}, server = {})",
                readable(protocol),
                client as i64,
                server as i64
            ),
            Fault::UnknownMethod { method, protocol } => format!(
                "Unknown method {} called on {} protocol.",
                readable(method),
                readable(protocol)
            ),
            Fault::Message(error) => error.to_string(),
            _ => String::new(),
        }
    }

    /// Whether the original raises this in a handler, which knows the client's id. What its
    /// readers raise is answered with an empty client id, which every client accepts.
    fn is_raised_by_a_handler(&self) -> bool {
        matches!(
            self,
            Fault::UnknownProtocol(_)
                | Fault::ProtocolVersion { .. }
                | Fault::UnknownMethod { .. }
                | Fault::Message(_)
                | Fault::Application { .. }
                | Fault::Server(_)
                | Fault::Unwritable { .. }
        )
    }

    /// Appends the whole answer to the packet of call id and retry count `to`.
    pub fn answer(&self, to: ReplyTo, package: Package, out: &mut Vec<u8>) {
        let client_id = if self.is_raised_by_a_handler() { to.client_id } else { &[] };
        let (class, text) = (self.class(package), self.text(package));
        let failure = Failure {
            class: Some(class.as_bytes()),
            text: Some(text.as_bytes()),
            code: Some(self.code()),
        };
        put_failure(out, ReplyTo { client_id, ..to }, self.status(), failure);
    }

    /// Appends the whole answer where there is no packet whose id could be given.
    pub fn answer_outside_calls(&self, package: Package, out: &mut Vec<u8>) {
        let to = ReplyTo { call_id: NO_CALL_ID, client_id: &[], retry_count: NO_RETRY_COUNT };
        self.answer(to, package, out);
    }
}

/// For logs: one line, with nothing in it that a client could use to forge another.
impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text(Package::Ipc);
        write!(f, "{}: {}", self.code().name(), text.trim_start().escape_debug())
    }
}

/// Most bytes of a name from the wire that a text repeats.
pub const NAME_MAX: usize = 1024;

/// A name from the wire as text; what is no UTF-8 is replaced, as the Java runtime does.
fn readable(name: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(&name[..name.len().min(NAME_MAX)])
}
