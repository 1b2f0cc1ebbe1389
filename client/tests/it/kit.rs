//! A client that is run to its end, and a peer that does what a test tells it.

use serde_json::Value;
use socket2::{Domain, SockRef, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// No test waits longer for anything: after this something hangs.
pub(crate) const HANG: Duration = Duration::from_secs(60);

pub(crate) const CALL: u8 = 1;
pub(crate) const REPLY: u8 = 2;
pub(crate) const ERROR: u8 = 3;
pub(crate) const STATS: u8 = 4;

/// What a client that has ended left behind.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// The report, checked for what holds for every report.
    pub(crate) fn json(&self) -> Value {
        let json: Value =
            serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        check_sums(&json);
        json
    }
}

/// Every started call has one outcome; workers and intervals add up to the totals.
pub(crate) fn check_sums(json: &Value) {
    let outcomes = json["outcomes"].as_object().unwrap();
    let count = |name: &str| outcomes[name].as_u64().unwrap();
    let sum: u64 = outcomes.keys().filter(|name| *name != "started").map(|name| count(name)).sum();
    assert_eq!(count("started"), sum, "{outcomes:?}");
    let add = |list: &str, field: &str| -> u64 {
        json[list].as_array().unwrap().iter().map(|row| row[field].as_u64().unwrap()).sum()
    };
    assert_eq!(add("workers", "started"), count("started"));
    assert_eq!(add("workers", "ok"), count("ok"));
    assert_eq!(add("intervals", "calls"), count("ok"), "{}", json["intervals"]);
    assert_eq!(add("intervals", "errors"), count("started") - count("ok"));
    let histogram: u64 =
        json["histogram"].as_array().unwrap().iter().map(|b| b[1].as_u64().unwrap()).sum();
    // What nobody answers has no latency.
    let timed = json["options"]["acks"] != "0" || !json["options"]["streams"].is_null();
    assert_eq!(histogram, if timed { count("ok") } else { 0 });
    assert_eq!(add("errors", "calls"), count("started") - count("ok"));
}

/// One outcome's count.
pub(crate) fn outcome(json: &Value, name: &str) -> u64 {
    json["outcomes"][name].as_u64().unwrap_or_else(|| panic!("no outcome {name}: {json}"))
}

/// A started client.
pub(crate) struct Client {
    child: Child,
    output: Receiver<(String, String)>,
}

/// The client's program, for tests that start it in their own way.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_echo-client");

impl Client {
    /// Starts the client with arguments divided by blanks, without progress.
    pub(crate) fn start(arguments: &str) -> Client {
        let mut command = Command::new(PROGRAM);
        command.args(["--progress", "none"]).args(arguments.split_whitespace());
        Client::spawn(&mut command)
    }

    /// Starts any command, in an environment that sets no options.
    pub(crate) fn spawn(command: &mut Command) -> Client {
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("ECHO_CLIENT_")) {
            command.env_remove(name);
        }
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (sender, output) = mpsc::channel();
        thread::spawn(move || {
            let errors = thread::spawn(move || text_of(&mut stderr));
            let text = text_of(&mut stdout);
            let _ = sender.send((text, errors.join().unwrap()));
        });
        Client { child, output }
    }

    /// Sends it a signal by number.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        let Ok((stdout, stderr)) = self.output.recv_timeout(HANG) else {
            let _ = self.child.kill();
            panic!("the client hangs");
        };
        Ended { code: self.child.wait().unwrap().code(), stdout, stderr }
    }
}

fn text_of(from: &mut impl Read) -> String {
    let mut text = Vec::new();
    from.read_to_end(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Runs the client against `peer` with JSON as its report.
pub(crate) fn run(peer: &Peer, arguments: &str) -> Ended {
    Client::start(&with_peer(peer, arguments)).end()
}

/// The arguments of a run against `peer`.
pub(crate) fn with_peer(peer: &Peer, arguments: &str) -> String {
    format!("--server {} --server-stats off --format json {arguments}", peer.address)
}

/// A server that behaves as its test says.
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// Calls that were read.
    pub(crate) calls: Arc<AtomicU64>,
    /// Connections that were accepted.
    pub(crate) connections: Arc<AtomicUsize>,
}

/// A call as it was read.
pub(crate) struct Call {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) id: u64,
    /// The length that the reply shall have.
    pub(crate) reply_len: Option<usize>,
    /// The key and its sequence.
    pub(crate) key: Option<(u64, u64)>,
    pub(crate) payload: Vec<u8>,
}

/// One connection of a peer.
pub(crate) struct Talk {
    pub(crate) stream: TcpStream,
    /// Counted from 0 in the order of accepting.
    pub(crate) number: usize,
    calls: Arc<AtomicU64>,
}

impl Peer {
    /// Listens, and runs `behaviour` on a thread for each connection, after its preamble.
    pub(crate) fn start(behaviour: impl Fn(Talk) + Send + Sync + 'static) -> Peer {
        // A backlog for hundreds of connects at once, which std's is not.
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        socket.listen(4096).unwrap();
        let listener = TcpListener::from(socket);
        let address = listener.local_addr().unwrap();
        let (calls, connections) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicUsize::new(0)));
        let (read, accepted) = (Arc::clone(&calls), Arc::clone(&connections));
        let behaviour = Arc::new(behaviour);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let number = accepted.fetch_add(1, Ordering::SeqCst);
                let (behaviour, calls) = (Arc::clone(&behaviour), Arc::clone(&read));
                thread::spawn(move || {
                    let mut preamble = [0; 8];
                    if stream.read_exact(&mut preamble).is_ok() {
                        assert_eq!(&preamble, b"ECHO\x01\0\0\0");
                        stream.set_nodelay(true).unwrap();
                        behaviour(Talk { stream, number, calls });
                    }
                });
            }
        });
        Peer { address, calls, connections }
    }

    /// Answers every call rightly.
    pub(crate) fn echo() -> Peer {
        Peer::start(|mut talk| {
            while let Some(call) = talk.next() {
                if talk.answer(&call).is_err() {
                    return;
                }
            }
        })
    }

    /// How many calls were read.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Talk {
    /// The next call; none at the end of the connection.
    pub(crate) fn next(&mut self) -> Option<Call> {
        let mut head = [0; 16];
        self.stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes(head[..4].try_into().unwrap()) as usize;
        let mut rest = vec![0; length - 12];
        self.stream.read_exact(&mut rest).ok()?;
        let key = (head[5] & 0x02 != 0).then(|| {
            let mut word =
                || u64::from_be_bytes(rest.drain(..8).collect::<Vec<_>>().try_into().unwrap());
            (word(), word())
        });
        let asks_length = head[5] & 0x08 != 0;
        let reply_len = asks_length.then(|| {
            let size: Vec<u8> = rest.drain(..4).collect();
            u32::from_be_bytes(size.try_into().unwrap()) as usize
        });
        self.calls.fetch_add(1, Ordering::SeqCst);
        let id = u64::from_be_bytes(head[8..].try_into().unwrap());
        Some(Call { kind: head[4], flags: head[5], id, reply_len, key, payload: rest })
    }

    /// The same connection for another thread.
    pub(crate) fn twin(&self) -> Talk {
        let stream = self.stream.try_clone().unwrap();
        Talk { stream, number: self.number, calls: Arc::clone(&self.calls) }
    }

    /// The right reply.
    pub(crate) fn answer(&mut self, call: &Call) -> io::Result<()> {
        let bytes = right_reply(call);
        self.stream.write_all(&bytes)
    }

    /// A frame of any kind.
    pub(crate) fn frame(&mut self, kind: u8, status: u16, id: u64, payload: &[u8]) -> bool {
        self.stream.write_all(&frame(kind, status, id, payload)).is_ok()
    }

    /// Ends the connection with a reset.
    pub(crate) fn reset(self) {
        SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)).unwrap();
    }

    /// Reads until the client ends the connection.
    pub(crate) fn read_to_end(&mut self) {
        let _ = io::copy(&mut self.stream, &mut io::sink());
    }

    /// Closes in good order, reading first what is there so that no reset overtakes the end.
    pub(crate) fn close(mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
        self.read_to_end();
    }
}

/// The bytes of the right reply to `call`.
pub(crate) fn right_reply(call: &Call) -> Vec<u8> {
    let length = call.reply_len.unwrap_or(call.payload.len());
    let payload: Vec<u8> = if call.payload.is_empty() {
        vec![0; length]
    } else {
        call.payload.iter().copied().cycle().take(length).collect()
    };
    frame(REPLY, 0, call.id, &payload)
}

/// The right reply to a call that asks for its execution.
pub(crate) fn executed_reply(call: &Call, handler: u32, number: u64) -> Vec<u8> {
    let mut bytes = right_reply(call);
    let length = bytes.len() as u32 - 4 + 12;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    bytes[5] = 0x10;
    let block = [&handler.to_be_bytes()[..], &number.to_be_bytes()[..]].concat();
    bytes.splice(16..16, block);
    bytes
}

/// A frame's bytes.
pub(crate) fn frame(kind: u8, status: u16, id: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32 + 12).to_be_bytes().to_vec();
    bytes.extend_from_slice(&[kind, 0]);
    bytes.extend_from_slice(&status.to_be_bytes());
    bytes.extend_from_slice(&id.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}
