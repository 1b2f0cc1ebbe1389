//! `TestRpcService`, the service of Hadoop's own RPC benchmark: ping, echo, sleep, add.
//!
//! EchoRequestProto and EchoResponseProto {1 message, string, required}, SleepRequestProto
//! {1 milliSeconds, int32, required}, AddRequestProto {1 param1, 2 param2, int32, required},
//! AddResponseProto {1 result, int32, required}; ping's both messages and the answer to a sleep
//! are empty. Source: test.proto and test_rpc_service.proto of Hadoop's tests.

use super::fields::{self, Fields, Missing, ProtoError, Value};

/// The protocol's name.
pub const PROTOCOL: &[u8] = b"org.apache.hadoop.ipc.TestRpcBase$TestRpcService";
/// The protocol's version.
pub const VERSION: u64 = 1;

/// The methods that are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Answers with nothing.
    Ping,
    /// Answers with what came.
    Echo,
    /// Answers with nothing, later.
    Sleep,
    /// Answers with a sum.
    Add,
}

impl Method {
    /// The method of that name.
    pub fn from_name(name: &[u8]) -> Option<Method> {
        Some(match name {
            b"ping" => Method::Ping,
            b"echo" => Method::Echo,
            b"sleep" => Method::Sleep,
            b"add" => Method::Add,
            _ => return None,
        })
    }

    /// Its name on the wire.
    pub fn name(self) -> &'static [u8] {
        match self {
            Method::Ping => b"ping",
            Method::Echo => b"echo",
            Method::Sleep => b"sleep",
            Method::Add => b"add",
        }
    }
}

/// Field `number` of the message that `bytes` are, an int32.
fn int32(bytes: &[u8], number: u32) -> Result<Option<i32>, ProtoError> {
    let mut found = None;
    let mut fields = Fields::new(bytes);
    while let Some(field) = fields.advance()? {
        if let (n, Value::Varint(value)) = (field.number, field.value)
            && n == number
        {
            found = Some(value as u32 as i32);
        }
    }
    fields.finish().map(|()| found)
}

/// The string of an EchoRequestProto or EchoResponseProto.
pub fn decode_echo(bytes: &[u8]) -> Result<&[u8], ProtoError> {
    let message = super::echo::decode(bytes)?;
    Missing::check([(message.is_some(), "message"), Missing::NONE, Missing::NONE])?;
    Ok(message.unwrap_or_default())
}

/// The milliseconds of a SleepRequestProto.
pub fn decode_sleep(bytes: &[u8]) -> Result<i32, ProtoError> {
    let milliseconds = int32(bytes, 1)?;
    Missing::check([(milliseconds.is_some(), "milliSeconds"), Missing::NONE, Missing::NONE])?;
    Ok(milliseconds.unwrap_or_default())
}

/// The sum of an AddRequestProto's two numbers, which wraps around as Java's does.
pub fn decode_add(bytes: &[u8]) -> Result<i32, ProtoError> {
    let (one, two) = (int32(bytes, 1)?, int32(bytes, 2)?);
    Missing::check([(one.is_some(), "param1"), (two.is_some(), "param2"), Missing::NONE])?;
    Ok(one.unwrap_or_default().wrapping_add(two.unwrap_or_default()))
}

/// The result of an AddResponseProto.
pub fn decode_sum(bytes: &[u8]) -> Result<i32, ProtoError> {
    let result = int32(bytes, 1)?;
    Missing::check([(result.is_some(), "result"), Missing::NONE, Missing::NONE])?;
    Ok(result.unwrap_or_default())
}

/// Bytes that [`put_int32`] appends.
pub fn int32_len(number: u32, value: i32) -> usize {
    fields::varint_len(number, i64::from(value) as u64)
}

/// Appends field `number` as an int32, which takes ten bytes when it is negative.
pub fn put_int32(out: &mut Vec<u8>, number: u32, value: i32) {
    fields::put_varint(out, number, i64::from(value) as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_keep_their_names() {
        for method in [Method::Ping, Method::Echo, Method::Sleep, Method::Add] {
            assert_eq!(Method::from_name(method.name()), Some(method));
        }
        assert_eq!(Method::from_name(b"Ping"), None);
    }

    #[test]
    fn sums_wrap_around_and_negative_numbers_are_read_back() {
        for (one, two, sum) in [(1, 2, 3), (-1, -2, -3), (i32::MAX, 1, i32::MIN)] {
            let mut out = Vec::new();
            put_int32(&mut out, 1, one);
            put_int32(&mut out, 2, two);
            assert_eq!(out.len(), int32_len(1, one) + int32_len(2, two));
            assert_eq!((decode_add(&out), decode_sum(&out)), (Ok(sum), Ok(one)));
        }
    }

    #[test]
    fn missing_fields_are_named() {
        let check = |error: ProtoError, names: &str| {
            let text = format!("Message missing required fields: {names}");
            assert_eq!(error.to_string(), text);
        };
        check(decode_echo(b"").unwrap_err(), "message");
        check(decode_sleep(b"\x10\x05").unwrap_err(), "milliSeconds");
        check(decode_add(b"").unwrap_err(), "param1, param2");
        check(decode_add(b"\x08\x05").unwrap_err(), "param2");
        check(decode_sum(b"").unwrap_err(), "result");
        assert_eq!(decode_echo(b"\x0a\x00"), Ok(&b""[..]));
    }
}
