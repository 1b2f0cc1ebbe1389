//! A client that speaks bytes, and may misbehave.

use super::{PATIENCE, pass};
use echo_common::wire::native::{
    BODY_MIN, FLAG_RESP_SIZE, HEADER_LEN, Header, Kind, PREAMBLE, RESP_SIZE_LEN, Status,
};
use socket2::{Domain, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// A whole call.
pub(crate) fn call_frame(id: u64, payload: &[u8]) -> Vec<u8> {
    let mut out = Header::new(Kind::Call, 0, id, 0, payload.len()).encode().to_vec();
    out.extend_from_slice(payload);
    out
}

/// A whole call that asks for a reply of another length.
pub(crate) fn resp_size_frame(id: u64, payload: &[u8], reply_len: u32) -> Vec<u8> {
    let header = Header::new(Kind::Call, FLAG_RESP_SIZE, id, RESP_SIZE_LEN, payload.len());
    let mut out = header.encode().to_vec();
    out.extend_from_slice(&reply_len.to_be_bytes());
    out.extend_from_slice(payload);
    out
}

/// A whole stats call.
pub(crate) fn stats_frame(id: u64) -> Vec<u8> {
    Header::new(Kind::Stats, 0, id, 0, 0).encode().to_vec()
}

/// Bytes that tell calls apart: each depends on the id and on its place.
pub(crate) fn payload(id: u64, length: usize) -> Vec<u8> {
    (0..length as u64).map(|i| (id.wrapping_mul(31) ^ i ^ (i >> 8)) as u8).collect()
}

/// A frame from the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: Kind,
    pub(crate) flags: u8,
    pub(crate) status: u16,
    pub(crate) id: u64,
    pub(crate) payload: Vec<u8>,
}

/// One connection.
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
}

/// Connects from a given local address.
pub(crate) fn connect_from(local: IpAddr, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
    socket.bind(&SocketAddr::new(local, 0).into())?;
    socket.connect(&to.into())?;
    Ok(socket.into())
}

impl Peer {
    /// Connects and says nothing.
    #[track_caller]
    pub(crate) fn silent(to: SocketAddr) -> Peer {
        Peer::over(TcpStream::connect_timeout(&to, PATIENCE).expect("a connection"))
    }

    /// Connects and sends the preamble.
    #[track_caller]
    pub(crate) fn open(to: SocketAddr) -> Peer {
        let mut peer = Peer::silent(to);
        peer.send(&PREAMBLE);
        peer
    }

    /// Connects with a small receive buffer and sends the preamble.
    #[track_caller]
    pub(crate) fn narrow(to: SocketAddr, receive_buffer: usize) -> Peer {
        Peer::narrow_with(to, receive_buffer, &PREAMBLE)
    }

    /// Connects with a small receive buffer and sends `opening`.
    #[track_caller]
    pub(crate) fn narrow_with(to: SocketAddr, receive_buffer: usize, opening: &[u8]) -> Peer {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None).expect("a socket");
        socket.set_recv_buffer_size(receive_buffer).expect("a buffer");
        socket.connect(&to.into()).expect("a connection");
        let mut peer = Peer::over(socket.into());
        peer.send(opening);
        peer
    }

    pub(crate) fn over(stream: TcpStream) -> Peer {
        stream.set_nodelay(true).expect("an open socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("an open socket");
        stream.set_write_timeout(Some(PATIENCE)).expect("an open socket");
        Peer { stream }
    }

    /// A second handle, for another thread.
    pub(crate) fn share(&self) -> Peer {
        Peer { stream: self.stream.try_clone().expect("a descriptor") }
    }

    #[track_caller]
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server takes bytes");
    }

    /// Sends in pieces, `gap` apart.
    #[track_caller]
    pub(crate) fn trickle(&mut self, bytes: &[u8], piece: usize, gap: Duration) {
        for piece in bytes.chunks(piece) {
            self.send(piece);
            if !gap.is_zero() {
                pass(gap);
            }
        }
    }

    /// Sends until the socket has been full for `patience`, or all is sent; returns how much was.
    pub(crate) fn send_until_full(&mut self, bytes: &[u8], patience: Duration) -> usize {
        self.stream.set_write_timeout(Some(patience)).expect("an open socket");
        let mut sent = 0;
        while sent < bytes.len() {
            match self.stream.write(&bytes[sent..]) {
                Ok(n) if n > 0 => sent += n,
                _ => break,
            }
        }
        self.stream.set_write_timeout(Some(PATIENCE)).expect("an open socket");
        sent
    }

    /// The next frame, or `None` when the server has ended the connection, by close or reset.
    #[track_caller]
    pub(crate) fn frame(&mut self) -> Option<Frame> {
        let mut head = [0; HEADER_LEN];
        if !self.fill(&mut head) {
            return None;
        }
        let header = Header::decode(&head).expect("a header");
        let mut payload = vec![0; header.length as usize - BODY_MIN];
        if !self.fill(&mut payload) {
            return None;
        }
        let Header { kind, flags, status, id, .. } = header;
        Some(Frame { kind, flags, status, id, payload })
    }

    #[track_caller]
    fn fill(&mut self, buffer: &mut [u8]) -> bool {
        match self.stream.read_exact(buffer) {
            Ok(()) => true,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock) => {
                panic!("the server neither answers nor closes")
            }
            Err(_) => false,
        }
    }

    /// The next frame must be the echo of this call.
    #[track_caller]
    pub(crate) fn expect_echo(&mut self, id: u64, payload: &[u8]) {
        let frame = self.frame().expect("a reply, not an end");
        assert_eq!((frame.kind, frame.status, frame.id), (Kind::Reply, 0, id));
        assert!(frame.payload == payload, "call {id} came back with other bytes");
    }

    /// One call and its reply.
    #[track_caller]
    pub(crate) fn echo(&mut self, id: u64, length: usize) {
        let body = payload(id, length);
        self.send(&call_frame(id, &body));
        self.expect_echo(id, &body);
    }

    /// The next frame must be an error about `id`.
    #[track_caller]
    pub(crate) fn expect_error(&mut self, id: u64, status: Status) -> String {
        let frame = self.frame().expect("an error frame, not an end");
        assert_eq!((frame.kind, frame.status, frame.id), (Kind::Error, status as u16, id));
        String::from_utf8(frame.payload).expect("text")
    }

    /// The server's counters now.
    #[track_caller]
    pub(crate) fn stats(&mut self) -> serde_json::Value {
        self.send(&stats_frame(u64::MAX - 1));
        let frame = self.frame().expect("an answer to a stats call");
        serde_json::from_slice(&frame.payload).expect("JSON")
    }

    /// Reads up to the end of the connection; returns what came.
    #[track_caller]
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        match self.stream.read_to_end(&mut out) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                panic!("the server does not end the connection")
            }
            // A reset is an end too.
            _ => out,
        }
    }

    /// The server must end the connection without another byte.
    #[track_caller]
    pub(crate) fn expect_end(&mut self) {
        assert_eq!(self.rest(), b"", "bytes before the end");
    }

    pub(crate) fn half_close(&self) {
        self.stream.shutdown(Shutdown::Write).expect("an open socket");
    }

    /// Ends the connection with a reset.
    pub(crate) fn reset(self) {
        let socket = socket2::SockRef::from(&self.stream);
        socket.set_linger(Some(Duration::ZERO)).expect("an open socket");
    }
}
