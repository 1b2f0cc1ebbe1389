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
}

/// What an HTTP client is told, on whatever path it asked for.
const HTTP_ANSWER: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n\
    Connection: close\r\n\r\nThis is the RPC port of an echo-server, not an HTTP port.\r\n";

impl Refusal {
    pub(crate) fn new(status: Status, why: String) -> Refusal {
        Refusal { status, frame: native::error_frame(native::CONNECTION_ID, status, &why), why }
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

    /// A peer that opened with something else than the native preamble.
    pub(crate) fn opening(detected: Detected) -> Refusal {
        match detected {
            Detected::HttpGet => Refusal {
                status: Status::Malformed,
                frame: HTTP_ANSWER.to_vec(),
                why: "an HTTP GET came to the RPC port".into(),
            },
            Detected::NativeUnsupported { version, flags } => Refusal::malformed(format!(
                "native framing version {version} with flags {flags:#04x} is not spoken here, \
                 version 1 without flags is"
            )),
            _ => Refusal {
                status: Status::Malformed,
                frame: Vec::new(),
                why: "the opening bytes belong to no protocol spoken here".into(),
            },
        }
    }

    /// A frame that stayed incomplete too long.
    pub(crate) fn frame_timeout() -> Refusal {
        Refusal::new(Status::TimedOut, "a frame stayed incomplete for too long".into())
    }
}
