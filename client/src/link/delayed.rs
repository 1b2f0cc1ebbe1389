//! A socket behind an emulated network.

use super::delays::{Delays, Shared, Way};
use super::line::Line;
use echo_common::clock::now_ns;
use std::io::{self, ErrorKind, Read, Write};
use std::rc::Rc;

/// A socket whose bytes are held on both ways. It reads and writes as the socket would, later; its
/// end, too, comes only behind the bytes before it.
#[derive(Debug)]
pub(crate) struct DelayedLink<S> {
    socket: S,
    /// The connection's index, for the queue of what is due.
    index: usize,
    out: Line,
    back: Line,
    /// The socket may have bytes that no further edge announces.
    may_read: bool,
    /// How the socket's bytes ended, and when that is known here.
    end: Option<(u64, io::Result<()>)>,
    shared: Rc<Shared>,
}

impl<S: Read + Write> DelayedLink<S> {
    /// The link of the connection with this index.
    pub(crate) fn new(socket: S, index: usize, delays: &Delays) -> DelayedLink<S> {
        DelayedLink::with(socket, index, delays.shared())
    }

    fn with(socket: S, index: usize, shared: Rc<Shared>) -> DelayedLink<S> {
        let held_max = shared.delay.held_max;
        DelayedLink {
            socket,
            index,
            out: Line::new(held_max),
            back: Line::new(held_max),
            may_read: true,
            end: None,
            shared,
        }
    }

    pub(super) fn note_readable(&mut self) {
        self.may_read = true;
    }

    pub(super) fn socket(&self) -> &S {
        &self.socket
    }

    pub(super) fn holds(&self) -> bool {
        !self.out.is_empty()
    }

    /// Gives the socket what is due, as far as it takes it; its next writable edge goes on.
    pub(super) fn deliver(&mut self) -> io::Result<()> {
        self.out.ripen(now_ns());
        while !self.out.front().is_empty() {
            match self.socket.write(self.out.front()) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => self.out.consume(written),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes from the socket what it has, as far as there is room.
    fn fill(&mut self, now_ns: u64) {
        let shared = Rc::clone(&self.shared);
        let mut scratch = shared.scratch.borrow_mut();
        while self.may_read && self.end.is_none() {
            let room = self.back.room().min(scratch.len());
            if room == 0 {
                // Goes on when what is held has been read.
                return shared.note_full();
            }
            let end = match self.socket.read(&mut scratch[..room]) {
                Ok(0) => Ok(()),
                Ok(read) => {
                    let due_ns = shared.enter(self.index, Way::Back, now_ns);
                    self.back.put(&scratch[..read], due_ns);
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.may_read = false;
                    return;
                }
                Err(error) => Err(error),
            };
            self.end = Some((shared.enter(self.index, Way::Back, now_ns), end));
        }
    }

    fn take_due(&mut self, buffer: &mut [u8]) -> usize {
        let mut taken = 0;
        while taken < buffer.len() && !self.back.front().is_empty() {
            let front = self.back.front();
            let count = front.len().min(buffer.len() - taken);
            buffer[taken..taken + count].copy_from_slice(&front[..count]);
            self.back.consume(count);
            taken += count;
        }
        taken
    }
}

impl<S: Read + Write> Read for DelayedLink<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let now = now_ns();
        self.fill(now);
        self.back.ripen(now);
        let taken = self.take_due(buffer);
        if taken > 0 {
            // There may be room now for what there was none before.
            self.fill(now);
            return Ok(taken);
        }
        if !self.back.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        match self.end.take_if(|(due_ns, _)| *due_ns <= now) {
            Some((due_ns, Ok(()))) => {
                self.end = Some((due_ns, Ok(())));
                Ok(0)
            }
            Some((due_ns, Err(error))) => {
                // An end is an end, however often it is asked for.
                self.end = Some((due_ns, Err(error.kind().into())));
                Err(error)
            }
            None => Err(ErrorKind::WouldBlock.into()),
        }
    }
}

impl<S: Read + Write> Write for DelayedLink<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.out.room());
        if count == 0 {
            self.shared.note_full();
            return Err(ErrorKind::WouldBlock.into());
        }
        let due_ns = self.shared.enter(self.index, Way::Out, now_ns());
        self.out.put(&bytes[..count], due_ns);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::NetDelay;

    /// Has these bytes to read and then its end; takes what is written, a few bytes at a time.
    struct Socket {
        has: Vec<u8>,
        ended: bool,
        taken: Vec<u8>,
        most: usize,
    }

    impl Read for Socket {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.has.is_empty() {
                return if self.ended { Ok(0) } else { Err(ErrorKind::WouldBlock.into()) };
            }
            let count = buffer.len().min(self.has.len()).min(self.most);
            buffer[..count].copy_from_slice(&self.has[..count]);
            self.has.drain(..count);
            Ok(count)
        }
    }

    impl Write for Socket {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.most);
            self.taken.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn link(has: &[u8], one_way_ns: u64, held_max: usize) -> DelayedLink<Socket> {
        let shared = Rc::new(Shared::new(NetDelay { one_way_ns, held_max }));
        let socket = Socket { has: has.to_vec(), ended: true, taken: Vec::new(), most: 3 };
        DelayedLink::with(socket, 0, shared)
    }

    #[test]
    fn bytes_come_whole_before_the_end_whatever_the_room() {
        let sent: Vec<u8> = (0..100).collect();
        for held_max in [1, 2, 7, 1000] {
            let mut link = link(&sent, 0, held_max);
            let (mut got, mut buffer) = (Vec::new(), [0; 10]);
            loop {
                match link.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => got.extend_from_slice(&buffer[..count]),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                }
            }
            assert_eq!(got, sent, "{held_max}");
            assert_eq!(link.read(&mut buffer).unwrap(), 0, "the end stays the end");
        }
    }

    #[test]
    fn nothing_and_no_end_comes_before_its_time() {
        let mut link = link(b"abc", 3_600_000_000_000, 100);
        assert_eq!(link.read(&mut [0; 10]).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(link.write(b"xyz").unwrap(), 3);
        link.deliver().unwrap();
        assert!(link.socket.taken.is_empty());
    }

    #[test]
    fn a_full_line_takes_no_more_until_it_has_delivered() {
        let mut link = link(b"", 0, 5);
        assert_eq!(link.write(b"abcdefgh").unwrap(), 5);
        assert_eq!(link.write(b"fgh").unwrap_err().kind(), ErrorKind::WouldBlock);
        link.deliver().unwrap();
        assert_eq!(link.write(b"fgh").unwrap(), 3);
        link.deliver().unwrap();
        assert_eq!(link.socket.taken, b"abcdefgh");
    }
}
