//! The listener: accepts until nothing waits or a budget is used up, admits or refuses, and gives
//! each connection to a reader for its whole life.

use crate::admission::{Admission, Refusal};
use crate::complaints::Complaints;
use crate::mailbox::{Fresh, Mailbox};
use crate::meters::Meters;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How connections are dealt to readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assign {
    /// In turn, as Hadoop does: the spread is at most one while no connection ends.
    RoundRobin,
    /// To the reader with the fewest connections.
    LeastConnections,
}

const LISTENER: Token = Token(0);
/// The token of the waker that stops the listener.
pub(crate) const STOP: Token = Token(1);
/// Accepts between two looks at the stop flag.
const ACCEPT_BUDGET: usize = 256;
/// How long accepting pauses after it failed for want of something, or again and again. No event
/// will announce the connections that wait meanwhile, so the listener comes back by itself.
const PAUSE: Duration = Duration::from_millis(100);

/// See the module's text.
pub(crate) struct Listener {
    pub(crate) poll: Poll,
    pub(crate) socket: TcpListener,
    pub(crate) admission: Arc<Admission>,
    pub(crate) readers: Vec<Arc<Mailbox>>,
    pub(crate) assign: Assign,
    pub(crate) meters: Arc<Meters>,
    pub(crate) complaints: Arc<Complaints>,
    /// Set by whoever stops the server, before it wakes the poll.
    pub(crate) stopping: Arc<AtomicBool>,
    /// Connections handed to each reader so far.
    pub(crate) handed: Vec<u64>,
    pub(crate) next_reader: usize,
}

/// Sizes of the kernel's socket buffers, in bytes; the kernel's own where absent.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct SocketBuffers {
    /// `SO_SNDBUF`.
    pub send: Option<usize>,
    /// `SO_RCVBUF`.
    pub receive: Option<usize>,
}

/// Opens the listening socket. `[::]` also takes IPv4 connections; every other address only its
/// own kind.
pub(crate) fn open(
    address: SocketAddr,
    backlog: u32,
    buffers: SocketBuffers,
) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if let SocketAddr::V6(v6) = address {
        socket.set_only_v6(!v6.ip().is_unspecified())?;
    }
    if let Some(size) = buffers.send {
        socket.set_send_buffer_size(size)?;
    }
    if let Some(size) = buffers.receive {
        socket.set_recv_buffer_size(size)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(TcpListener::from_std(socket.into()))
}

/// What a round of accepts ended with.
enum Round {
    /// Nothing waits any more.
    Dry,
    /// The budget is used up.
    Budget,
    /// The process has no more descriptors or memory, or the socket only fails.
    Exhausted,
}

impl Listener {
    /// Runs until the server stops; dropping the socket then refuses new connects.
    pub(crate) fn run(mut self) -> io::Result<()> {
        self.poll.registry().register(&mut self.socket, LISTENER, Interest::READABLE)?;
        let mut events = Events::with_capacity(8);
        let mut timeout = Some(Duration::ZERO);
        while !self.stopping.load(Ordering::Acquire) {
            match self.poll.poll(&mut events, timeout) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            timeout = match self.accept_round() {
                Round::Dry => None,
                Round::Budget => Some(Duration::ZERO),
                Round::Exhausted => Some(PAUSE),
            };
        }
        Ok(())
    }

    fn accept_round(&mut self) -> Round {
        let mut failure = None;
        let mut failures = 0;
        for _ in 0..ACCEPT_BUDGET {
            match self.socket.accept() {
                Ok((stream, peer)) => self.admit(stream, peer),
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return Round::Dry,
                    io::ErrorKind::Interrupted => {}
                    _ if is_exhaustion(&error) => return self.pause(&error),
                    // The peer was gone before it was accepted; the next one may wait already.
                    _ => {
                        self.meters.limits.accept_failures.add(1);
                        failures += 1;
                        failure = Some(error);
                    }
                },
            }
        }
        match failure {
            // So many peers do not go at once: this fails for a reason of its own.
            Some(error) if failures == ACCEPT_BUDGET => self.pause(&error),
            _ => Round::Budget,
        }
    }

    fn pause(&self, error: &io::Error) -> Round {
        self.meters.limits.accept_pauses.add(1);
        let what = format_args!("accepting pauses for {PAUSE:?}: {error}");
        self.complaints.write("accept pause", what);
        Round::Exhausted
    }

    fn admit(&mut self, stream: TcpStream, peer: SocketAddr) {
        let limits = &self.meters.limits;
        let slot = match self.admission.admit(peer.ip()) {
            Ok(slot) => slot,
            Err(refusal) => {
                let (counter, why) = match refusal {
                    Refusal::Full => (&limits.connections_refused, "--max-connections are open"),
                    Refusal::PeerFull => {
                        (&limits.peer_connections_refused, "--max-connections-per-peer are open")
                    }
                    Refusal::NotAllowed => (&limits.not_allowed, "no --allow network holds it"),
                };
                counter.add(1);
                self.complaints.write(why, format_args!("connection from {peer} refused: {why}"));
                return;
            }
        };
        if stream.set_nodelay(true).is_err() {
            limits.accept_failures.add(1);
            return;
        }
        let reader = self.choose();
        let limits = &self.meters.limits;
        self.handed[reader] += 1;
        match self.readers[reader].deliver(Fresh { stream, peer, slot }) {
            Ok(waited) => limits.inbox_waits.add(u64::from(waited)),
            // The server stops: the connection is closed unserved, like those still in the backlog.
            Err(_) => self.handed[reader] -= 1,
        }
    }

    fn choose(&mut self) -> usize {
        match self.assign {
            Assign::RoundRobin => {
                let reader = self.next_reader;
                self.next_reader = (reader + 1) % self.readers.len();
                reader
            }
            Assign::LeastConnections => {
                let open = |reader: &usize| {
                    let closed = self.meters.readers[*reader].connections_closed.get();
                    self.handed[*reader].saturating_sub(closed)
                };
                (0..self.readers.len()).min_by_key(open).unwrap_or(0)
            }
        }
    }
}

/// Whether an accept failed for want of something that others will give back.
fn is_exhaustion(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(code, Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    /// A socket that does not listen fails every accept, and says that it is ready all the time.
    #[test]
    fn accepts_that_only_fail_do_not_spin() {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap();
        socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
        socket.set_nonblocking(true).unwrap();
        let meters = Arc::new(Meters::new(1, 1));
        let poll = Poll::new().unwrap();
        let stop = mio::Waker::new(poll.registry(), STOP).unwrap();
        let stopping = Arc::new(AtomicBool::new(false));
        let listener = Listener {
            poll,
            socket: TcpListener::from_std(socket.into()),
            admission: Admission::new(1, None, Vec::new()),
            readers: Vec::new(),
            assign: Assign::RoundRobin,
            meters: Arc::clone(&meters),
            complaints: Complaints::new(Arc::clone(&meters)),
            stopping: Arc::clone(&stopping),
            handed: Vec::new(),
            next_reader: 0,
        };
        let thread = std::thread::spawn(move || listener.run());
        while meters.limits.accept_pauses.get() < 3 {
            std::thread::yield_now();
        }
        stopping.store(true, Ordering::Release);
        stop.wake().unwrap();
        thread.join().unwrap().unwrap();
        let (failures, pauses) =
            (meters.limits.accept_failures.get(), meters.limits.accept_pauses.get());
        assert_eq!(failures, pauses * ACCEPT_BUDGET as u64, "{pauses} pauses");
    }
}
