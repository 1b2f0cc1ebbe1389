//! What lies between a connection and its server: the socket, or the socket behind an emulated
//! network that holds every byte for a while on both ways (`--net-delay`).
//!
//! - `line`: bytes under way in one direction.
//! - `delayed`: a socket behind two lines.
//! - `delays`: what the delayed connections of a worker share: who is due next, and the timer.

mod delayed;
mod delays;
mod line;

pub(crate) use delayed::DelayedLink;
pub(crate) use delays::{DELAY_TIMER, Delays, Way};

use echo_common::socket_io;
use mio::net::TcpStream;
use std::io::{self, IoSlice, Read, Write};
use std::net::Shutdown;

/// A connection's way to its server and back; never blocks.
#[derive(Debug)]
pub(crate) enum Link {
    Direct(TcpStream),
    Delayed(Box<DelayedLink<TcpStream>>),
}

/// What a run emulates between client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NetDelay {
    /// How long each byte is held, on its way out as on its way back.
    pub(crate) one_way_ns: u64,
    /// Bytes of one connection that are held on one way at most.
    pub(crate) held_max: usize,
}

impl Link {
    /// The link of the connection with this index; behind a delay if the worker has one.
    pub(crate) fn new(stream: TcpStream, index: usize, delays: Option<&Delays>) -> Link {
        match delays {
            None => Link::Direct(stream),
            Some(delays) => Link::Delayed(Box::new(DelayedLink::new(stream, index, delays))),
        }
    }

    /// The socket has bytes, or its end.
    #[inline]
    pub(crate) fn note_readable(&mut self) {
        if let Link::Delayed(link) = self {
            link.note_readable();
        }
    }

    /// Gives the socket what has been held long enough.
    pub(crate) fn deliver(&mut self) -> io::Result<()> {
        match self {
            Link::Direct(_) => Ok(()),
            Link::Delayed(link) => link.deliver(),
        }
    }

    /// Nothing more is written, and nothing is held: the server sees an end.
    pub(crate) fn end_writing(&self) -> io::Result<()> {
        match self {
            Link::Direct(stream) => stream.shutdown(Shutdown::Write),
            Link::Delayed(link) => link.socket().shutdown(Shutdown::Write),
        }
    }

    /// Whether bytes that were written are still held.
    pub(crate) fn holds(&self) -> bool {
        match self {
            Link::Direct(_) => false,
            Link::Delayed(link) => link.holds(),
        }
    }
}

impl Read for Link {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Link::Direct(stream) => socket_io::receive(stream, buffer),
            Link::Delayed(link) => link.read(buffer),
        }
    }
}

impl Write for Link {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Link::Direct(stream) => socket_io::send(stream, bytes),
            Link::Delayed(link) => link.write(bytes),
        }
    }

    #[inline]
    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Link::Direct(stream) => socket_io::send_vectored(stream, slices),
            Link::Delayed(link) => link.write_vectored(slices),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
