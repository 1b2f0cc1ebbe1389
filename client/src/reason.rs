//! Why a server refused a call or a connection: by a status number or by a Java class.

use echo_common::wire::native::Status;
use std::fmt;

/// What a server gave as its reason; what refusals are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// The status of a native error frame.
    Status(u16),
    /// The exception of a Hadoop server.
    Class(ClassName),
    /// The status of an Ozone Manager's reply, which is not OK.
    OmStatus(u32),
    /// Any other, when as many have been seen as are told apart.
    Other,
}

impl Reason {
    /// Whether the server had no room for the call.
    pub(crate) fn is_too_busy(&self) -> bool {
        match self {
            Reason::Status(status) => *status == Status::TooBusy as u16,
            Reason::Class(name) => name.as_str() == "RetriableException",
            Reason::OmStatus(_) | Reason::Other => false,
        }
    }

    /// The number, if the reason is one.
    pub(crate) fn number(self) -> Option<u32> {
        match self {
            Reason::Status(status) => Some(u32::from(status)),
            Reason::OmStatus(status) => Some(status),
            Reason::Class(_) | Reason::Other => None,
        }
    }
}

impl From<Status> for Reason {
    fn from(status: Status) -> Reason {
        Reason::Status(status as u16)
    }
}

/// In one word.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Reason::Status(status) => match Status::from_wire(status) {
                Some(known) => f.write_str(known.name()),
                None => write!(f, "status_{status}"),
            },
            Reason::Class(name) => f.write_str(name.as_str()),
            Reason::OmStatus(status) => write!(f, "om_status_{status}"),
            Reason::Other => f.write_str("other"),
        }
    }
}

/// The name of a Java class without its package, cut to what fits, safe to print.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClassName {
    /// ASCII; zero bytes behind the name.
    bytes: [u8; ClassName::LEN_MAX],
}

impl ClassName {
    const LEN_MAX: usize = 60;

    /// From the full name.
    pub(crate) fn new(full: &[u8]) -> ClassName {
        let short = full.rsplit(|&byte| byte == b'.').next().unwrap_or(full);
        let mut bytes = [0; ClassName::LEN_MAX];
        for (to, &from) in bytes.iter_mut().zip(short) {
            *to = if from.is_ascii_graphic() { from } else { b'?' };
        }
        ClassName { bytes }
    }

    /// The name.
    pub(crate) fn as_str(&self) -> &str {
        let len = self.bytes.iter().position(|&byte| byte == 0).unwrap_or(self.bytes.len());
        str::from_utf8(&self.bytes[..len]).unwrap_or("?")
    }
}

impl fmt::Debug for ClassName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_one_word_that_is_safe_to_print() {
        let check = |reason: Reason, expected: &str| assert_eq!(reason.to_string(), expected);
        check(Status::TooBusy.into(), "too_busy");
        check(Reason::Status(999), "status_999");
        check(Reason::OmStatus(64), "om_status_64");
        let class = |full: &[u8]| Reason::Class(ClassName::new(full));
        check(class(b"org.apache.hadoop.ipc.RetriableException"), "RetriableException");
        check(class(b"org.apache.hadoop.ipc.RPC$VersionMismatch"), "RPC$VersionMismatch");
        check(class(b"NoPackage"), "NoPackage");
        check(class(b"a.b\x1b[2J\xffz y"), "b?[2J?z?y");
        check(class(&[b'x'; 500]), &"x".repeat(ClassName::LEN_MAX));
    }
}
