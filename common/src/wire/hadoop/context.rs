//! Who is connected and for what: IpcConnectionContextProto, the connection context.
//!
//! 2 userInfo {1 effectiveUser (string), 2 realUser (string)}, 3 protocol (string), all optional;
//! there is no field 1. A simple client sends the effective user, and the real user only for a
//! proxy user. Source: IpcConnectionContext.proto of Hadoop 3.3.4.

use super::fields::{self, Fields, ProtoError, Value};

/// The fields of IpcConnectionContextProto.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context<'a> {
    /// On whose behalf the calls are made.
    pub effective_user: Option<&'a [u8]>,
    /// Who makes them, if that is somebody else.
    pub real_user: Option<&'a [u8]>,
    /// The protocol that the connection was opened for; calls may name others.
    pub protocol: Option<&'a [u8]>,
}

impl<'a> Context<'a> {
    /// Reads the message that `bytes` are.
    pub fn decode(bytes: &'a [u8]) -> Result<Context<'a>, ProtoError> {
        let mut context = Context::default();
        let mut fields = Fields::new(bytes);
        while let Some(field) = fields.advance()? {
            match (field.number, field.value) {
                (2, Value::Bytes(user)) => context.merge_user(user)?,
                (3, Value::Bytes(value)) => context.protocol = Some(value),
                _ => {}
            }
        }
        fields.finish()?;
        Ok(context)
    }

    fn merge_user(&mut self, bytes: &'a [u8]) -> Result<(), ProtoError> {
        let mut fields = Fields::new(bytes);
        while let Some(field) = fields.advance()? {
            match (field.number, field.value) {
                (1, Value::Bytes(value)) => self.effective_user = Some(value),
                (2, Value::Bytes(value)) => self.real_user = Some(value),
                _ => {}
            }
        }
        fields.finish()
    }

    fn user_len(&self) -> usize {
        let effective = self.effective_user.map_or(0, |user| fields::bytes_len(1, user.len()));
        effective + self.real_user.map_or(0, |user| fields::bytes_len(2, user.len()))
    }

    fn has_user(&self) -> bool {
        self.effective_user.is_some() || self.real_user.is_some()
    }

    /// Bytes that [`Context::encode`] appends.
    pub fn encoded_len(&self) -> usize {
        let user = if self.has_user() { fields::bytes_len(2, self.user_len()) } else { 0 };
        user + self.protocol.map_or(0, |protocol| fields::bytes_len(3, protocol.len()))
    }

    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        if self.has_user() {
            fields::put_len(out, 2, self.user_len());
        }
        if let Some(user) = self.effective_user {
            fields::put_bytes(out, 1, user);
        }
        if let Some(user) = self.real_user {
            fields::put_bytes(out, 2, user);
        }
        if let Some(protocol) = self.protocol {
            fields::put_bytes(out, 3, protocol);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(context: Context, expected: &[u8]) {
        let mut out = Vec::new();
        context.encode(&mut out);
        assert_eq!(out, expected);
        assert_eq!((out.len(), Context::decode(&out)), (context.encoded_len(), Ok(context)));
    }

    #[test]
    fn contexts_are_written_as_java_writes_them_and_read_back() {
        let (alice, bob) = (Some(&b"alice"[..]), Some(&b"bob"[..]));
        let protocol = Some(&b"p"[..]);
        let simple = Context { effective_user: alice, real_user: None, protocol };
        check(simple, b"\x12\x07\x0a\x05alice\x1a\x01p");
        let proxy = Context { real_user: bob, ..simple };
        check(proxy, b"\x12\x0c\x0a\x05alice\x12\x03bob\x1a\x01p");
        check(Context { protocol, ..Context::default() }, b"\x1a\x01p");
        check(Context::default(), b"");
    }

    #[test]
    fn a_user_in_two_parts_is_one_user() {
        let context = Context::decode(b"\x12\x03\x0a\x01a\x12\x03\x12\x01b").unwrap();
        assert_eq!((context.effective_user, context.real_user), (Some(&b"a"[..]), Some(&b"b"[..])));
        assert_eq!(Context::decode(b"\x12\x02\x0a\x05"), Err(ProtoError::Truncated));
    }
}
