//! The first seven bytes of a connection, client to server.
//!
//! `hrpc`, the version (9), a service class that nothing uses, and the auth byte: 0 for simple
//! clients, -33 for those that want to negotiate. The server answers only if it refuses, and then
//! in the form that the client's version understands. Source: Hadoop's RpcConstants and Server.

use super::fault::{Fault, Package};
use std::fmt;

/// Bytes of the preamble.
pub const PREAMBLE_LEN: usize = 7;
/// What a connection begins with.
pub const MAGIC: &[u8; 4] = b"hrpc";
/// The version spoken here.
pub const VERSION: u8 = 9;

const AUTH_NONE: i8 = 0;
const AUTH_SASL: i8 = super::header::SASL_CALL_ID as i8;

/// What somebody is told who points an HTTP client at the port; word for word Hadoop's.
pub const HTTP_ANSWER: &[u8; 187] = b"HTTP/1.1 404 Not Found\r\nContent-type: text/plain\r\n\r\n\
    It looks like you are making an HTTP request to a Hadoop IPC port. \
    This is not the correct port for the web interface on this daemon.\r\n";

/// What a client that is let in has said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preamble {
    /// Kept by the server, used by nothing.
    pub service_class: i8,
    /// How the client means to say who it is.
    pub auth: Auth,
}

/// The auth byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// It says so and is believed.
    Simple,
    /// It wants to negotiate first.
    Sasl,
}

/// Why a client is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// An HTTP GET.
    HttpGet,
    /// Anything else but `hrpc`, with what stands where the version should be.
    Magic(i8),
    /// Another version.
    Version(i8),
    /// An auth byte that is neither of the two.
    Auth(i8),
}

/// The first bytes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Fewer than [`PREAMBLE_LEN`] bytes: the form of a refusal depends on the fifth.
    NeedMore,
    /// The client is let in.
    Accepted(Preamble),
    /// The client is answered, where its version has a form for it, and the connection closed.
    Refused(Refusal),
}

/// Looks at the first bytes of a connection; never at more than [`PREAMBLE_LEN`].
pub fn read(bytes: &[u8]) -> Opening {
    let Some(&[m0, m1, m2, m3, version, service_class, auth]) = bytes.first_chunk() else {
        return Opening::NeedMore;
    };
    let (magic, version, auth) = ([m0, m1, m2, m3], version as i8, auth as i8);
    if magic == *b"GET " {
        return Opening::Refused(Refusal::HttpGet);
    }
    if magic != *MAGIC {
        return Opening::Refused(Refusal::Magic(version));
    }
    if version != VERSION as i8 {
        return Opening::Refused(Refusal::Version(version));
    }
    let auth = match auth {
        AUTH_NONE => Auth::Simple,
        AUTH_SASL => Auth::Sasl,
        other => return Opening::Refused(Refusal::Auth(other)),
    };
    Opening::Accepted(Preamble { service_class: service_class as i8, auth })
}

impl Preamble {
    /// The bytes on the wire.
    pub fn encode(&self) -> [u8; PREAMBLE_LEN] {
        let auth = match self.auth {
            Auth::Simple => AUTH_NONE,
            Auth::Sasl => AUTH_SASL,
        };
        let [m0, m1, m2, m3] = *MAGIC;
        [m0, m1, m2, m3, VERSION, self.service_class as u8, auth as u8]
    }
}

impl Refusal {
    /// Appends what the client is told before the connection is closed; nothing for versions
    /// that have no form for it.
    pub fn answer(&self, package: Package, out: &mut Vec<u8>) {
        match *self {
            Refusal::HttpGet => out.extend_from_slice(HTTP_ANSWER),
            Refusal::Auth(auth) => Fault::UnknownAuth(auth).answer_outside_calls(package, out),
            Refusal::Magic(version) | Refusal::Version(version) => {
                let fault = Fault::ClientVersion(version);
                match version {
                    9.. => fault.answer_outside_calls(package, out),
                    3..=8 => {
                        // Call id and status, both -1.
                        out.extend_from_slice(&[0xff; 8]);
                        put_old_failure(&fault, package, out);
                    }
                    2 => {
                        // Call id 0, and a flag for an error.
                        out.extend_from_slice(&[0, 0, 0, 0, 1]);
                        put_old_failure(&fault, package, out);
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Class and text as versions before 9 write strings: a 32-bit length, then the bytes.
fn put_old_failure(fault: &Fault, package: Package, out: &mut Vec<u8>) {
    for string in [&*fault.class(package), &*fault.text(package)] {
        out.extend_from_slice(&(string.len() as u32).to_be_bytes());
        out.extend_from_slice(string.as_bytes());
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::HttpGet => f.write_str("an HTTP request instead of Hadoop RPC"),
            Refusal::Magic(_) => f.write_str("the first bytes are not `hrpc`"),
            Refusal::Version(version) => {
                write!(f, "Hadoop RPC version {version}, only {VERSION} is spoken")
            }
            Refusal::Auth(auth) => {
                write!(f, "auth byte {auth} is unknown (0 for none, -33 for SASL)")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: Opening) {
        assert_eq!(read(bytes), expected, "{bytes:02x?}");
    }

    fn answer(refusal: Refusal) -> Vec<u8> {
        let mut out = Vec::new();
        refusal.answer(Package::Ipc, &mut out);
        out
    }

    #[test]
    fn both_kinds_of_client_are_let_in_with_any_service_class() {
        for service_class in i8::MIN..=i8::MAX {
            for auth in [Auth::Simple, Auth::Sasl] {
                let preamble = Preamble { service_class, auth };
                check(&preamble.encode(), Opening::Accepted(preamble));
            }
        }
        check(
            b"hrpc\x09\x00\xdf and what follows",
            Opening::Accepted(Preamble { service_class: 0, auth: Auth::Sasl }),
        );
    }

    #[test]
    fn nothing_is_decided_before_the_seventh_byte() {
        for opening in [&b"hrpc\x09\0\0"[..], b"GET / H", b"xrpc\x09\0\0", b"\0\0\0\0\0\0\0"] {
            for n in 0..PREAMBLE_LEN {
                check(&opening[..n], Opening::NeedMore);
            }
            assert_ne!(read(opening), Opening::NeedMore);
        }
    }

    #[test]
    fn refusals_are_named() {
        check(b"GET /ab", Opening::Refused(Refusal::HttpGet));
        check(b"xrpc\x09\0\0", Opening::Refused(Refusal::Magic(9)));
        check(b"hrpc\x08\0\0", Opening::Refused(Refusal::Version(8)));
        check(b"hrpc\xff\0\0", Opening::Refused(Refusal::Version(-1)));
        check(b"hrpc\x09\0\x55", Opening::Refused(Refusal::Auth(85)));
        check(b"hrpc\x09\0\x50", Opening::Refused(Refusal::Auth(80)));
    }

    #[test]
    fn each_version_is_answered_in_its_own_form_or_not_at_all() {
        for version in i8::MIN..2 {
            assert_eq!(answer(Refusal::Version(version)), b"", "{version}");
            assert_eq!(answer(Refusal::Magic(version)), b"", "{version}");
        }
        let text = |version| {
            format!("Server IPC version 9 cannot communicate with client version {version}")
        };
        let strings = |version| {
            let text = text(version);
            [
                &b"\0\0\0\x29org.apache.hadoop.ipc.RPC$VersionMismatch\0\0\0"[..],
                &[text.len() as u8],
                text.as_bytes(),
            ]
            .concat()
        };
        assert_eq!(answer(Refusal::Version(2)), [b"\0\0\0\0\x01", &strings(2)[..]].concat());
        for version in 3..9 {
            let expected = [&[0xff; 8], &strings(version)[..]].concat();
            assert_eq!(answer(Refusal::Version(version)), expected);
            assert_eq!(answer(Refusal::Magic(version)), expected);
        }
        for version in 10..=i8::MAX {
            let answer = answer(Refusal::Version(version));
            assert!(answer.windows(65).any(|part| part.starts_with(text(version).as_bytes())));
        }
        assert_eq!(answer(Refusal::HttpGet).len(), 187);
    }
}
