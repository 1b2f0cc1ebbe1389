//! SASL packets: RpcSaslProto, as far as a server that has only SIMPLE needs it.
//!
//! 1 version (uint32), 2 state (enum, required), 3 token (bytes), 4 auths (repeated {1 method,
//! 2 mechanism, both required strings, 3 protocol, 4 serverId, 5 challenge}). A client whose
//! security is on, or that holds a token, asks first (NEGOTIATE); a server that answers SUCCESS
//! without any auths has told it to go on as a simple client.
//! Source: RpcHeader.proto of Hadoop 3.3.4.

use super::fields::{self, Fields, Missing, ProtoError, Value};

/// Where the negotiation stands, for the one who sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SaslState {
    /// It is over.
    Success = 0,
    /// The client asks what there is; the server lists it.
    Negotiate = 1,
    /// The client has chosen.
    Initiate = 2,
    /// The server wants something more.
    Challenge = 3,
    /// The client's answer to a challenge.
    Response = 4,
    /// Encrypted or signed packets.
    Wrap = 5,
}

impl SaslState {
    /// The name in the schema.
    pub fn name(self) -> &'static str {
        match self {
            SaslState::Success => "SUCCESS",
            SaslState::Negotiate => "NEGOTIATE",
            SaslState::Initiate => "INITIATE",
            SaslState::Challenge => "CHALLENGE",
            SaslState::Response => "RESPONSE",
            SaslState::Wrap => "WRAP",
        }
    }

    fn from_wire(value: u64) -> Option<SaslState> {
        Some(match value as u32 {
            0 => SaslState::Success,
            1 => SaslState::Negotiate,
            2 => SaslState::Initiate,
            3 => SaslState::Challenge,
            4 => SaslState::Response,
            5 => SaslState::Wrap,
            _ => return None,
        })
    }

    /// Bytes that [`SaslState::encode`] appends.
    pub const ENCODED_LEN: usize = 2;

    /// Appends a message that holds this state and nothing else.
    pub fn encode(self, out: &mut Vec<u8>) {
        fields::put_varint(out, 2, self as u64);
    }
}

/// The fields of RpcSaslProto that decide what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sasl<'a> {
    /// What the sender is at.
    pub state: SaslState,
    /// What the mechanism has to say.
    pub token: Option<&'a [u8]>,
    /// How many ways of authentication are listed.
    pub auth_count: usize,
    /// The method of the first of them: SIMPLE, TOKEN, KERBEROS.
    pub auth_method: Option<&'a [u8]>,
}

impl<'a> Sasl<'a> {
    /// Reads the message that `bytes` are.
    pub fn decode(bytes: &'a [u8]) -> Result<Sasl<'a>, ProtoError> {
        let (mut state, mut token, mut auth_method) = (None, None, None);
        let mut auth_count = 0;
        let mut auths_lack = [Missing::NONE; 2];
        let mut fields = Fields::new(bytes);
        while let Some(field) = fields.advance()? {
            match (field.number, field.value) {
                (2, Value::Varint(value)) => state = SaslState::from_wire(value).or(state),
                (3, Value::Bytes(value)) => token = Some(value),
                (4, Value::Bytes(auth)) => {
                    let (method, has_mechanism) = decode_auth(auth)?;
                    auths_lack[0].0 &= method.is_some();
                    auths_lack[1].0 &= has_mechanism;
                    auth_method = if auth_count == 0 { method } else { auth_method };
                    auth_count += 1;
                }
                _ => {}
            }
        }
        Missing::check([
            (state.is_some(), "state"),
            (auths_lack[0].0, "auths.method"),
            (auths_lack[1].0, "auths.mechanism"),
        ])?;
        fields.finish()?;
        let state = state.unwrap_or(SaslState::Success);
        Ok(Sasl { state, token, auth_count, auth_method })
    }
}

/// The method, and whether there is a mechanism.
fn decode_auth(bytes: &[u8]) -> Result<(Option<&[u8]>, bool), ProtoError> {
    let (mut method, mut has_mechanism) = (None, false);
    let mut fields = Fields::new(bytes);
    while let Some(field) = fields.advance()? {
        match (field.number, field.value) {
            (1, Value::Bytes(value)) => method = Some(value),
            (2, Value::Bytes(_)) => has_mechanism = true,
            _ => {}
        }
    }
    fields.finish()?;
    Ok((method, has_mechanism))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_written_and_read_back() {
        for value in 0..6 {
            let state = SaslState::from_wire(value).unwrap();
            let mut out = Vec::new();
            state.encode(&mut out);
            assert_eq!(out, [0x10, value as u8]);
            assert_eq!(out.len(), SaslState::ENCODED_LEN);
            let expected = Sasl { state, token: None, auth_count: 0, auth_method: None };
            assert_eq!(Sasl::decode(&out), Ok(expected));
        }
    }

    #[test]
    fn the_first_of_the_auths_is_the_choice() {
        let bytes = b"\x10\x02\x1a\x01t\x22\x06\x0a\x01K\x12\x01g\x22\x06\x0a\x01S\x12\x01h";
        let sasl = Sasl::decode(bytes).unwrap();
        assert_eq!((sasl.state, sasl.token), (SaslState::Initiate, Some(&b"t"[..])));
        assert_eq!((sasl.auth_count, sasl.auth_method), (2, Some(&b"K"[..])));
    }

    #[test]
    fn missing_fields_are_named() {
        let check = |bytes: &[u8], names: &str| {
            let text = format!("Message missing required fields: {names}");
            assert_eq!(Sasl::decode(bytes).unwrap_err().to_string(), text);
        };
        check(b"", "state");
        check(b"\x10\x09", "state");
        check(b"\x10\x02\x22\x00", "auths.method, auths.mechanism");
        check(b"\x22\x03\x0a\x01K", "state, auths.mechanism");
    }
}
