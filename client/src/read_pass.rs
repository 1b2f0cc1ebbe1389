//! One pass of reading a connection, whatever its bytes mean.

use crate::connection::{Lost, ReadEnd};
use crate::outcome::LostKind;
use echo_common::clock::now_ns;
use std::io::{ErrorKind, Read};

/// Reads of a full buffer in one pass; what is left is remembered by the worker.
const READS_PER_PASS: usize = 4;
/// Bytes of one read at most; shared by the connections of a worker.
const READ_BUFFER_LEN: usize = 256 << 10;

/// A buffer for the reads of a worker.
pub(crate) fn buffer() -> Box<[u8]> {
    vec![0; READ_BUFFER_LEN].into_boxed_slice()
}

/// Reads what has come on the `link` of a connection and gives it to `feed`, with the time of its
/// reading. A short read means that the socket is empty, unless the peer has `closed`: then only
/// the end of the stream is the end. Returns the time of the last read.
#[inline(always)]
pub(crate) fn read_pass<C, L: Read>(
    connection: &mut C,
    link: impl Fn(&mut C) -> &mut L,
    buffer: &mut [u8],
    closed: bool,
    mut feed: impl FnMut(&mut C, &[u8], u64) -> Result<(), Lost>,
) -> (ReadEnd, u64) {
    let mut now = 0;
    for _ in 0..READS_PER_PASS {
        let read = link(connection).read(buffer);
        now = now_ns();
        let bytes = match read {
            Ok(0) => return (ReadEnd::Lost(Lost { kind: LostKind::Eof, text: None }), now),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return (ReadEnd::Drained, now),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return (ReadEnd::Lost(Lost::by(&error)), now),
        };
        if let Err(lost) = feed(connection, &buffer[..bytes], now) {
            return (ReadEnd::Lost(lost), now);
        }
        if bytes < buffer.len() && !closed {
            return (ReadEnd::Drained, now);
        }
    }
    (ReadEnd::More, now)
}

impl ReadEnd {
    /// Says that a stream which has ended did so within a reply, if it did.
    #[inline]
    pub(crate) fn in_mid_reply(mut self, is_so: bool) -> ReadEnd {
        if let ReadEnd::Lost(lost) = &mut self
            && lost.kind == LostKind::Eof
            && is_so
        {
            lost.text = Some("the server closed in mid-reply".to_owned());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::io;

    /// Gives what the script says: so many bytes, or an error.
    struct Script(VecDeque<Result<usize, ErrorKind>>);

    impl Read for Script {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.pop_front() {
                Some(Ok(bytes)) => Ok(bytes.min(buffer.len())),
                Some(Err(kind)) => Err(kind.into()),
                None => Err(ErrorKind::WouldBlock.into()),
            }
        }
    }

    /// The bytes that were fed, and how the pass ended.
    fn check(script: &[Result<usize, ErrorKind>], closed: bool) -> (usize, String) {
        let mut fed = 0;
        let mut script = Script(script.iter().copied().collect());
        let (end, _) = read_pass(
            &mut script,
            |s| s,
            &mut [0; 10],
            closed,
            |_, bytes, _| {
                fed += bytes.len();
                Ok(())
            },
        );
        (fed, format!("{end:?}").split(['(', ' ']).next().unwrap().to_owned())
    }

    #[test]
    fn a_pass_ends_when_the_socket_is_empty_its_budget_is_used_up_or_the_stream_ends() {
        use ErrorKind::{ConnectionReset, Interrupted, WouldBlock};
        let (full, none) = (Ok(10), Err(WouldBlock));
        assert_eq!(check(&[Ok(3), Ok(10)], false), (3, "Drained".to_owned()));
        assert_eq!(check(&[full, none], false), (10, "Drained".to_owned()));
        assert_eq!(check(&[full; 9], false), (40, "More".to_owned()));
        assert_eq!(check(&[Ok(3), Ok(2), Ok(0)], true), (5, "Lost".to_owned()));
        assert_eq!(check(&[Ok(3), none], true), (3, "Drained".to_owned()));
        assert_eq!(check(&[Err(Interrupted), Ok(1)], false), (1, "Drained".to_owned()));
        assert_eq!(check(&[full, Err(ConnectionReset)], false), (10, "Lost".to_owned()));
    }
}
