//! What a connection needs of a socket, so that tests can put a faulty one in its place.

use echo_common::socket_io;
use mio::net::TcpStream;
use rustix::buffer::spare_capacity;
use std::io::{self, IoSlice};
use std::net::Shutdown;

/// A non-blocking byte stream that several threads may use at once.
pub trait Transport: Send + Sync + 'static {
    /// Reads once into the spare capacity of `buffer`, whose length grows by what came; 0 is the
    /// end of the stream.
    fn read(&self, buffer: &mut Vec<u8>) -> io::Result<usize>;

    /// Writes once, as much as the socket takes.
    fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Ends one or both directions. A peer that has gone already is no error.
    fn shutdown(&self, how: Shutdown);
}

impl Transport for TcpStream {
    #[inline]
    fn read(&self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        socket_io::receive(self, spare_capacity(buffer))
    }

    #[inline]
    fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match pieces {
            [piece] => socket_io::send(self, piece),
            _ => socket_io::send_vectored(self, pieces),
        }
    }

    fn shutdown(&self, how: Shutdown) {
        // The only failure is "not connected": the peer has reset, and the next read says so.
        let _ = TcpStream::shutdown(self, how);
    }
}
