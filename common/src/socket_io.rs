//! Bytes to and from a socket by the socket calls themselves.
//!
//! `std` and `mio` go through libc, whose `send` and `recv` are cancellation points: in a process
//! of several threads each call pays for two atomic operations more. `read` and `writev` on a
//! socket find it through the file layer of the kernel first. Neither is paid here: it made the
//! server x 1.033 as fast with one call of 128 bytes in a read, and x 1.02 to 1.035 with 32.

use rustix::buffer::Buffer;
use rustix::fd::AsFd;
use rustix::net::{self, RecvFlags, SendAncillaryBuffer, SendFlags};
use std::io::{self, IoSlice};

/// Reads once. Gives what `buffer` makes of what came: for a slice how many bytes, 0 at the end of
/// the stream; for [`rustix::buffer::spare_capacity`] the same, and the vector has grown by them.
///
/// # Errors
/// Those of recv(2); `WouldBlock` if nothing has come.
#[inline]
pub fn receive<B: Buffer<u8>>(socket: impl AsFd, buffer: B) -> io::Result<B::Output> {
    let (taken, _) = net::recv(socket, buffer, RecvFlags::empty())?;
    Ok(taken)
}

/// Writes once, and returns how many bytes the socket took.
///
/// # Errors
/// Those of send(2); `WouldBlock` if the socket is full. A peer that has gone is an error and no
/// signal.
#[inline]
pub fn send(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    Ok(net::send(socket, bytes, SendFlags::NOSIGNAL)?)
}

/// The same for bytes in pieces, at most 1024 (the kernel's UIO_MAXIOV).
///
/// # Errors
/// As [`send`].
#[inline]
pub fn send_vectored(socket: impl AsFd, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
    let mut nothing = SendAncillaryBuffer::default();
    Ok(net::sendmsg(socket, pieces, &mut nothing, SendFlags::NOSIGNAL)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::buffer::spare_capacity;
    use std::io::ErrorKind;
    use std::net::{Shutdown, TcpListener, TcpStream};

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let ours = TcpStream::connect(listener.local_addr().expect("its address"));
        let theirs = listener.accept().expect("the connection").0;
        (ours.expect("a connection"), theirs)
    }

    #[test]
    fn what_is_sent_whole_or_in_pieces_is_received_in_order_and_then_the_end() {
        let (ours, theirs) = pair();
        assert_eq!(send(&ours, b"abc").expect("room"), 3);
        let pieces = [IoSlice::new(b"de"), IoSlice::new(b""), IoSlice::new(b"fgh")];
        assert_eq!(send_vectored(&ours, &pieces).expect("room"), 5);
        ours.shutdown(Shutdown::Write).expect("still open");
        let mut came = Vec::with_capacity(2);
        loop {
            let before = came.len();
            came.reserve(2);
            let taken = receive(&theirs, spare_capacity(&mut came)).expect("bytes or the end");
            assert_eq!(came.len(), before + taken);
            if taken == 0 {
                break;
            }
        }
        assert_eq!(came, b"abcdefgh");
        assert_eq!(receive(&theirs, &mut [0; 4][..]).expect("the end stays the end"), 0);
    }

    #[test]
    fn a_full_or_empty_socket_would_block_and_a_peer_that_has_gone_is_an_error() {
        let (ours, theirs) = pair();
        ours.set_nonblocking(true).expect("a socket");
        let nothing = receive(&ours, &mut [0; 4][..]).expect_err("nothing was sent");
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        let block = vec![1; 1 << 20];
        let full = (0..1000).find_map(|_| send(&ours, &block).err()).expect("a bound");
        assert_eq!(full.kind(), ErrorKind::WouldBlock);
        let full = send_vectored(&ours, &[IoSlice::new(&block)]).expect_err("still full");
        assert_eq!(full.kind(), ErrorKind::WouldBlock);
        // With bytes unread this is a reset.
        drop(theirs);
        let gone = (0..1000).find_map(|_| {
            std::thread::yield_now();
            send(&ours, b"x").err().filter(|error| error.kind() != ErrorKind::WouldBlock)
        });
        let gone = gone.expect("an error, and this process lives").kind();
        assert!(matches!(gone, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{gone}");
    }
}
