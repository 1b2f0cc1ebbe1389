//! The Ozone Manager's service as far as `freon ome` uses it: `submitRequest` with an EchoRPC.
//!
//! OMRequest: 1 cmdType (enum, required, EchoRPC is 110), 2 traceID (string), 3 clientId (string,
//! required), 4 userInfo {1, 3, 4 strings}, 5 version (uint32), 6 layoutVersion {1 version (uint64,
//! required)}, 7 readConsistencyHint {1 enum, 2 message} from 2.2 on, 110 EchoRPCRequest
//! {1 payloadReq (bytes), 2 payloadSizeResp (int32), 3 readOnly (bool, true when absent)}.
//!
//! OMResponse: 1 cmdType (enum, required), 2 traceID (string), 3 success (bool, true when absent),
//! 4 message (string), 5 status (enum, required, OK is 1), 6 leaderOMNodeId (string),
//! 110 EchoRPCResponse {1 payload (bytes)}.
//!
//! Source: OmClientProtocol.proto of Ozone, the same in 1.4 to 2.1 except for the hint. Numbers
//! of commands and states are not checked against its enums, whose list grows.

use super::fields::{self, Fields, Missing, ProtoError, Value};

/// The protocol's name; client and server of every release use version 1.
pub const PROTOCOL: &[u8; 56] = b"org.apache.hadoop.ozone.om.protocol.OzoneManagerProtocol";
/// The protocol's version.
pub const VERSION: u64 = 1;
/// The only method that is called: every command goes through it.
pub const METHOD: &[u8] = b"submitRequest";
/// The command that echoes.
pub const COMMAND_ECHO: u32 = 110;
/// The version of the client that is written into calls.
pub const CLIENT_VERSION: u32 = 3;
/// The status of a command that was carried out.
pub const STATUS_OK: u32 = 1;
/// The status of a command that is not served.
pub const STATUS_NOT_SUPPORTED: u32 = 64;
/// The class with which an Ozone Manager that does not lead refuses a call; the text names the
/// one that does, if it is known.
pub const NOT_LEADER_CLASS: &[u8] = b"org.apache.hadoop.ozone.om.exceptions.OMNotLeaderException";
/// Longest payload that an Ozone Manager makes up, in bytes.
pub const REPLY_LEN_MAX: usize = 2_097_151 * 1024;

/// What a call asks to be echoed: EchoRPCRequest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo<'a> {
    /// What is sent along.
    pub payload: &'a [u8],
    /// How long the payload of the reply shall be.
    pub reply_len: i32,
    /// Whether the call may be served without the Ozone Manager's log.
    pub read_only: bool,
}

impl Echo<'_> {
    /// An EchoRPCRequest of which nothing is set.
    pub const DEFAULT: Echo<'static> = Echo { payload: &[], reply_len: 0, read_only: true };

    /// The length that is asked for, within what an Ozone Manager makes up and `max`.
    pub fn reply_len(&self, max: usize) -> usize {
        usize::try_from(self.reply_len).unwrap_or(0).min(REPLY_LEN_MAX).min(max)
    }

    fn encoded_len(&self) -> usize {
        fields::bytes_len(1, self.payload.len())
            + fields::varint_len(2, i64::from(self.reply_len) as u64)
            + fields::varint_len(3, u64::from(self.read_only))
    }
}

/// The fields of OMRequest that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OmCall<'a> {
    /// What is to be done.
    pub command: u32,
    /// Returned as it came.
    pub trace_id: Option<&'a [u8]>,
    /// The client's own name for itself.
    pub client_id: &'a [u8],
    /// The client's version.
    pub version: Option<u32>,
    /// Only clients from 2.2 on send one, which look for failures in the package `ipc_`.
    pub has_consistency_hint: bool,
    /// Set by a [`COMMAND_ECHO`].
    pub echo: Option<Echo<'a>>,
}

/// readConsistencyHint {DEFAULT}, as clients from 2.2 on write it.
const HINT_DEFAULT: &[u8] = &[0x08, 0x01];

impl<'a> OmCall<'a> {
    /// Reads the message that `bytes` are.
    pub fn decode(bytes: &'a [u8]) -> Result<OmCall<'a>, ProtoError> {
        let (mut command, mut client_id, mut layout_has_version) = (None, None, None);
        let (mut trace_id, mut version, mut echo) = (None, None, None);
        let mut has_consistency_hint = false;
        let mut fields = Fields::new(bytes);
        while let Some(field) = fields.advance()? {
            match (field.number, field.value) {
                (1, Value::Varint(value)) => command = Some(value as u32),
                (2, Value::Bytes(value)) => trace_id = Some(value),
                (3, Value::Bytes(value)) => client_id = Some(value),
                (4, Value::Bytes(value)) => fields::check(value)?,
                (5, Value::Varint(value)) => version = Some(value as u32),
                (6, Value::Bytes(value)) => {
                    *layout_has_version.get_or_insert(false) |= has_varint_1(value)?;
                }
                (7, Value::Bytes(value)) => {
                    fields::check(value)?;
                    has_consistency_hint = true;
                }
                (COMMAND_ECHO, Value::Bytes(value)) => {
                    merge_echo(echo.get_or_insert(Echo::DEFAULT), value)?;
                }
                _ => {}
            }
        }
        Missing::check([
            (command.is_some(), "cmdType"),
            (client_id.is_some(), "clientId"),
            (layout_has_version != Some(false), "layoutVersion.version"),
        ])?;
        fields.finish()?;
        let (command, client_id) = (command.unwrap_or(0), client_id.unwrap_or_default());
        Ok(OmCall { command, trace_id, client_id, version, has_consistency_hint, echo })
    }

    /// Bytes that [`OmCall::encode`] appends.
    pub fn encoded_len(&self) -> usize {
        fields::varint_len(1, u64::from(self.command))
            + self.trace_id.map_or(0, |id| fields::bytes_len(2, id.len()))
            + fields::bytes_len(3, self.client_id.len())
            + self.version.map_or(0, |version| fields::varint_len(5, u64::from(version)))
            + if self.has_consistency_hint { fields::bytes_len(7, HINT_DEFAULT.len()) } else { 0 }
            + self.echo.map_or(0, |echo| fields::bytes_len(COMMAND_ECHO, echo.encoded_len()))
    }

    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        fields::put_varint(out, 1, u64::from(self.command));
        if let Some(trace_id) = self.trace_id {
            fields::put_bytes(out, 2, trace_id);
        }
        fields::put_bytes(out, 3, self.client_id);
        if let Some(version) = self.version {
            fields::put_varint(out, 5, u64::from(version));
        }
        if self.has_consistency_hint {
            fields::put_bytes(out, 7, HINT_DEFAULT);
        }
        if let Some(echo) = &self.echo {
            fields::put_len(out, COMMAND_ECHO, echo.encoded_len());
            fields::put_bytes(out, 1, echo.payload);
            fields::put_varint(out, 2, i64::from(echo.reply_len) as u64);
            fields::put_varint(out, 3, u64::from(echo.read_only));
        }
    }
}

fn has_varint_1(bytes: &[u8]) -> Result<bool, ProtoError> {
    let mut found = false;
    let mut fields = Fields::new(bytes);
    while let Some(field) = fields.advance()? {
        found |= matches!((field.number, field.value), (1, Value::Varint(_)));
    }
    fields.finish().map(|()| found)
}

fn merge_echo<'a>(echo: &mut Echo<'a>, bytes: &'a [u8]) -> Result<(), ProtoError> {
    let mut fields = Fields::new(bytes);
    while let Some(field) = fields.advance()? {
        match (field.number, field.value) {
            (1, Value::Bytes(value)) => echo.payload = value,
            (2, Value::Varint(value)) => echo.reply_len = value as u32 as i32,
            (3, Value::Varint(value)) => echo.read_only = value != 0,
            _ => {}
        }
    }
    fields.finish()
}

/// The fields of OMResponse that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OmReply<'a> {
    /// What was to be done.
    pub command: u32,
    /// The call's.
    pub trace_id: Option<&'a [u8]>,
    /// Whether it was done.
    pub success: bool,
    /// Why not.
    pub message: Option<&'a [u8]>,
    /// [`STATUS_OK`], or what was wrong.
    pub status: u32,
    /// The Ozone Manager that leads.
    pub leader: Option<&'a [u8]>,
    /// What was echoed; set in every reply to a [`COMMAND_ECHO`].
    pub payload: Option<Payload<'a>>,
}

/// The payload of an echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// So many bytes of [`FILL`], over and over; only when written.
    Fill(usize),
}

impl Payload<'_> {
    /// Its length in bytes.
    pub fn len(&self) -> usize {
        match *self {
            Payload::Bytes(bytes) => bytes.len(),
            Payload::Fill(len) => len,
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends it.
    pub fn put(&self, out: &mut Vec<u8>) {
        match *self {
            Payload::Bytes(bytes) => out.extend_from_slice(bytes),
            Payload::Fill(len) => {
                for _ in 0..len / FILL.len() {
                    out.extend_from_slice(&FILL);
                }
                out.extend_from_slice(&FILL[..len % FILL.len()]);
            }
        }
    }
}

impl<'a> OmReply<'a> {
    /// Reads the message that `bytes` are.
    pub fn decode(bytes: &'a [u8]) -> Result<OmReply<'a>, ProtoError> {
        let (mut command, mut status) = (None, None);
        let mut reply = OmReply {
            command: 0,
            trace_id: None,
            success: true,
            message: None,
            status: 0,
            leader: None,
            payload: None,
        };
        let mut fields = Fields::new(bytes);
        while let Some(field) = fields.advance()? {
            match (field.number, field.value) {
                (1, Value::Varint(value)) => command = Some(value as u32),
                (2, Value::Bytes(value)) => reply.trace_id = Some(value),
                (3, Value::Varint(value)) => reply.success = value != 0,
                (4, Value::Bytes(value)) => reply.message = Some(value),
                (5, Value::Varint(value)) => status = Some(value as u32),
                (6, Value::Bytes(value)) => reply.leader = Some(value),
                (COMMAND_ECHO, Value::Bytes(value)) => {
                    let payload = super::echo::decode(value)?.map(Payload::Bytes);
                    reply.payload = payload.or(reply.payload).or(Some(Payload::Bytes(&[])));
                }
                _ => {}
            }
        }
        let present = [(command.is_some(), "cmdType"), (status.is_some(), "status"), Missing::NONE];
        Missing::check(present)?;
        fields.finish()?;
        reply.command = command.unwrap_or(0);
        reply.status = status.unwrap_or(0);
        Ok(reply)
    }

    /// Bytes that [`OmReply::encode`] appends.
    pub fn encoded_len(&self) -> usize {
        fields::varint_len(1, u64::from(self.command))
            + self.trace_id.map_or(0, |id| fields::bytes_len(2, id.len()))
            + fields::varint_len(3, u64::from(self.success))
            + self.message.map_or(0, |message| fields::bytes_len(4, message.len()))
            + fields::varint_len(5, u64::from(self.status))
            + self.leader.map_or(0, |leader| fields::bytes_len(6, leader.len()))
            + self.payload.map_or(0, |payload| {
                fields::bytes_len(COMMAND_ECHO, fields::bytes_len(1, payload.len()))
            })
    }

    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.encode_head(out);
        if let Some(payload) = self.payload {
            payload.put(out);
        }
    }

    /// Appends the message up to its payload, which is what it ends in.
    pub fn encode_head(&self, out: &mut Vec<u8>) {
        fields::put_varint(out, 1, u64::from(self.command));
        if let Some(trace_id) = self.trace_id {
            fields::put_bytes(out, 2, trace_id);
        }
        fields::put_varint(out, 3, u64::from(self.success));
        if let Some(message) = self.message {
            fields::put_bytes(out, 4, message);
        }
        fields::put_varint(out, 5, u64::from(self.status));
        if let Some(leader) = self.leader {
            fields::put_bytes(out, 6, leader);
        }
        if let Some(payload) = self.payload {
            fields::put_len(out, COMMAND_ECHO, fields::bytes_len(1, payload.len()));
            fields::put_len(out, 1, payload.len());
        }
    }
}

/// A kibibyte that does not compress. The original draws one at random when it starts.
pub static FILL: [u8; 1024] = noise();

const fn noise() -> [u8; 1024] {
    let mut bytes = [0; 1024];
    let mut state: u32 = 0x9e37_79b9;
    let mut at = 0;
    while at < bytes.len() {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        bytes[at] = (state >> 24) as u8;
        at += 1;
    }
    bytes
}
