//! Why a connection is ended by us, and what its peer is told.

use echo_common::wire::detect::Detected;
use echo_common::wire::native::{self, HeaderError, Status};
use echo_common::wire::split::LengthError;

/// Why a connection is ended by us, and what the peer is told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// For the counters.
    pub(crate) status: Status,
    /// What the peer is sent: a native error frame, an HTTP answer, or nothing.
    pub(crate) frame: Vec<u8>,
    /// For the log.
    pub(crate) why: String,
    /// It is the last that the peer is told, behind the replies to calls that were read before;
    /// else it leaves at once.
    pub(crate) is_last: bool,
}

/// What an HTTP client is told where Hadoop RPC is switched off, which has its own words for it.
const HTTP_ANSWER: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n\
    Connection: close\r\n\r\nThis is the RPC port of an echo-server, not an HTTP port.\r\n";

impl Refusal {
    pub(crate) fn new(status: Status, why: String) -> Refusal {
        let frame = native::error_frame(native::CONNECTION_ID, status, &why);
        Refusal { status, frame, why, is_last: false }
    }

    pub(crate) fn malformed(why: String) -> Refusal {
        Refusal::new(Status::Malformed, why)
    }

    pub(crate) fn length(error: &LengthError) -> Refusal {
        match error {
            LengthError::TooLong { .. } => Refusal::new(Status::FrameTooLarge, error.to_string()),
            LengthError::TooShort(_) => Refusal::malformed(error.to_string()),
        }
    }

    pub(crate) fn header(error: &HeaderError) -> Refusal {
        Refusal::malformed(error.to_string())
    }

    /// A peer that opened with something that is not spoken here.
    pub(crate) fn opening(detected: Detected) -> Refusal {
        match detected {
            Detected::HttpGet => Refusal {
                status: Status::Malformed,
                frame: HTTP_ANSWER.to_vec(),
                why: "an HTTP GET came to the RPC port".into(),
                is_last: false,
            },
            Detected::NativeUnsupported { version, flags } => Refusal::malformed(format!(
                "native framing version {version} with flags {flags:#04x} is not spoken here, \
                 version 1 without flags is"
            )),
            Detected::Hadoop => Refusal::unanswered("Hadoop RPC is switched off (--hadoop off)"),
            _ => Refusal::unanswered("the opening bytes belong to no protocol spoken here"),
        }
    }

    fn unanswered(why: &str) -> Refusal {
        let (status, frame) = (Status::Malformed, Vec::new());
        Refusal { status, frame, why: why.to_owned(), is_last: false }
    }

    /// A frame that stayed incomplete too long.
    pub(crate) fn frame_timeout() -> Refusal {
        Refusal::new(Status::TimedOut, "a frame stayed incomplete for too long".into())
    }
}
