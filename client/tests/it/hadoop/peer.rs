//! A Hadoop server that behaves as its test says.

use crate::kit::{Client, Ended};
use echo_common::wire::hadoop::call::Call;
use echo_common::wire::hadoop::reply::{Failure, ReplyTo, Status, put_failure, put_success};
use socket2::{Domain, Socket, Type};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;

/// A server of one behaviour for all its connections.
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// What each connection sent before its first call.
    pub(crate) openings: Receiver<Vec<u8>>,
}

/// One connection.
pub(crate) struct Talk {
    pub(crate) stream: TcpStream,
}

/// A call, whole.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    /// Without the length word.
    pub(crate) bytes: Vec<u8>,
}

impl Packet {
    pub(crate) fn call(&self) -> Call<'_> {
        Call::decode(&self.bytes).unwrap_or_else(|fault| panic!("{fault:?}: {self:?}"))
    }

    pub(crate) fn id(&self) -> i32 {
        self.call().header.call_id
    }
}

impl Peer {
    /// Runs `behaviour` on a thread for each connection, behind its opening.
    pub(crate) fn start(behaviour: impl Fn(Talk) + Send + Sync + 'static) -> Peer {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        socket.listen(1024).unwrap();
        let listener = TcpListener::from(socket);
        let address = listener.local_addr().unwrap();
        let (sender, openings) = mpsc::channel();
        let behaviour = Arc::new(behaviour);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                stream.set_nodelay(true).unwrap();
                let (behaviour, sender) = (Arc::clone(&behaviour), sender.clone());
                thread::spawn(move || {
                    let mut talk = Talk { stream };
                    let mut opening = vec![0; 11];
                    if talk.stream.read_exact(&mut opening).is_err() {
                        return;
                    }
                    let length = u32::from_be_bytes(opening[7..].try_into().unwrap()) as usize;
                    opening.resize(11 + length, 0);
                    talk.stream.read_exact(&mut opening[11..]).unwrap();
                    let _ = sender.send(opening);
                    behaviour(talk);
                });
            }
        });
        Peer { address, openings }
    }

    /// A server that answers every call with its message, and what it read.
    pub(crate) fn echo() -> (Peer, Arc<Mutex<Vec<Packet>>>) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&seen);
        let peer = Peer::start(move |mut talk| {
            while let Some(packet) = talk.next() {
                record.lock().unwrap().push(packet.clone());
                if !talk.send(&right(&packet)) {
                    return;
                }
            }
        });
        (peer, seen)
    }

    /// Runs the client against it, with JSON as its report.
    pub(crate) fn run(&self, arguments: &str) -> Ended {
        let address = self.address;
        Client::start(&format!(
            "--server {address} --server-stats off --format json --protocol hadoop {arguments}"
        ))
        .end()
    }
}

impl Talk {
    /// The next call; none at the end of the connection.
    pub(crate) fn next(&mut self) -> Option<Packet> {
        let mut word = [0; 4];
        self.stream.read_exact(&mut word).ok()?;
        let mut bytes = vec![0; u32::from_be_bytes(word) as usize];
        self.stream.read_exact(&mut bytes).ok()?;
        Some(Packet { bytes })
    }

    /// Whether the bytes could be sent.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Answers the rest of the calls.
    pub(crate) fn answer_all(mut self) {
        while let Some(packet) = self.next() {
            if !self.send(&right(&packet)) {
                return;
            }
        }
    }
}

/// The reply that holds the call's message.
pub(crate) fn right(packet: &Packet) -> Vec<u8> {
    let call = packet.call();
    success(call.reply_to(), call.message().unwrap())
}

/// A reply with this message.
pub(crate) fn success(to: ReplyTo<'_>, message: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_success(&mut out, to, message.len());
    out.extend_from_slice(message);
    out
}

/// A reply that says that the call, or the connection, failed.
pub(crate) fn failure(to: ReplyTo<'_>, status: Status, class: &str, text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let (class, text) = (Some(class.as_bytes()), Some(text.as_bytes()));
    put_failure(&mut out, to, status, Failure { class, text, code: None });
    out
}
