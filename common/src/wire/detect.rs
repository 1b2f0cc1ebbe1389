//! The first bytes of a connection choose the conversation.

use super::{hadoop, native};

/// What the first bytes of a connection ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detected {
    /// Too few bytes to tell; what came so far fits at least one conversation.
    NeedMore,
    /// The native framing; its preamble of [`native::PREAMBLE_LEN`] bytes is complete.
    Native,
    /// The native magic with a version or flags that this side does not speak.
    NativeUnsupported {
        /// The version byte that came.
        version: u8,
        /// The flags byte that came.
        flags: u8,
    },
    /// `hrpc`: Hadoop RPC, of whatever version. Its preamble, which may not be complete yet, is
    /// for [`hadoop::conversation`].
    Hadoop,
    /// `GET `: somebody points a browser or a health check at the port.
    HttpGet,
    /// Nothing that is spoken here.
    Unknown,
}

const MAGIC: &[u8; 4] = b"ECHO";
const HTTP_GET: &[u8; 4] = b"GET ";

/// Looks at the first bytes of a connection; never needs more than [`native::PREAMBLE_LEN`].
pub fn detect(bytes: &[u8]) -> Detected {
    let head = &bytes[..bytes.len().min(4)];
    if head == HTTP_GET {
        return Detected::HttpGet;
    }
    if head == hadoop::preamble::MAGIC {
        return Detected::Hadoop;
    }
    if !MAGIC.starts_with(head) {
        let begun = [HTTP_GET, hadoop::preamble::MAGIC].iter().any(|one| one.starts_with(head));
        return if begun { Detected::NeedMore } else { Detected::Unknown };
    }
    let Some(&[_, _, _, _, version, flags, zero0, zero1]) = bytes.first_chunk() else {
        return Detected::NeedMore;
    };
    if bytes[..native::PREAMBLE_LEN] == native::PREAMBLE {
        return Detected::Native;
    }
    if zero0 != 0 || zero1 != 0 {
        return Detected::Unknown;
    }
    Detected::NativeUnsupported { version, flags }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: Detected) {
        assert_eq!(detect(bytes), expected, "{bytes:?}");
    }

    #[test]
    fn every_prefix_of_a_good_opening_waits_for_more() {
        for n in 0..native::PREAMBLE_LEN {
            check(&native::PREAMBLE[..n], Detected::NeedMore);
        }
        check(b"GE", Detected::NeedMore);
        for n in 0..4 {
            check(&b"hrpc"[..n], Detected::NeedMore);
        }
    }

    #[test]
    fn openings_are_told_apart() {
        check(&native::PREAMBLE, Detected::Native);
        check(b"ECHO\x01\0\0\0\0\0", Detected::Native);
        check(b"GET / HTTP/1.0\r\n", Detected::HttpGet);
        check(b"hrpc", Detected::Hadoop);
        check(b"hrpc\x08\0\xdf", Detected::Hadoop);
        check(b"hrpx", Detected::Unknown);
        check(b"ECHO\x02\0\0\0", Detected::NativeUnsupported { version: 2, flags: 0 });
        check(b"ECHO\x01\x80\0\0", Detected::NativeUnsupported { version: 1, flags: 0x80 });
        check(b"ECHO\x01\0\0\x01", Detected::Unknown);
        check(b"ECHx", Detected::Unknown);
        check(b"x", Detected::Unknown);
        check(b"GEX", Detected::Unknown);
        check(b"\0\0\0\0", Detected::Unknown);
    }
}
