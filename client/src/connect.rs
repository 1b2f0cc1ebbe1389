//! Setting connections up: many at once, each within its time, before the clock of the run starts.

use crate::control::Control;
use crate::latency::Latency;
use echo_common::clock::{self, elapsed_ns, now_ns};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::time::Duration;

/// Connections of one worker that are being set up at the same time.
const PENDING_MAX: usize = 128;
/// How often the time limit of pending connections is looked at.
const SCAN: Duration = Duration::from_millis(20);
/// The poll token of a worker's waker; connections count up from 0.
pub(crate) const WAKER: Token = Token(usize::MAX);

/// A connection that is set up and has sent its opening.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) stream: TcpStream,
    /// Its readable edge came already, so that nobody will announce these bytes again.
    pub(crate) readable: bool,
}

/// Why a connection could not be set up.
#[derive(Debug)]
pub(crate) struct ConnectFailure {
    pub(crate) address: SocketAddr,
    pub(crate) error: io::Error,
}

/// What became of a worker's share of the connections.
#[derive(Debug)]
pub(crate) struct ConnectPhase {
    pub(crate) connected: Vec<Connected>,
    pub(crate) failures: Vec<ConnectFailure>,
    /// How long each successful connect took.
    pub(crate) latency: Latency,
}

/// What to connect to, and how long a try may take.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    /// The addresses of one server; the next is tried when one fails.
    pub(crate) addresses: &'a [SocketAddr],
    pub(crate) timeout: Duration,
    /// What a connection sends first, by its index.
    pub(crate) opening: &'a dyn Fn(usize) -> Vec<u8>,
}

struct Pending {
    index: usize,
    stream: TcpStream,
    address: usize,
    since_ns: u64,
    readable: bool,
}

/// Sets up `count` connections, registered with `poll` under the tokens `0..count`. After a
/// failure, here or at another worker, no further connection is begun.
pub(crate) fn connect_all(
    poll: &mut Poll,
    target: Target<'_>,
    count: usize,
    control: &Control,
) -> io::Result<ConnectPhase> {
    let mut connector = Connector {
        target,
        timeout_ns: clock::ns(target.timeout),
        preferred: 0,
        waiting: (0..count).collect(),
        pending: Vec::new(),
        done: (0..count).map(|_| None).collect(),
        failures: Vec::new(),
        latency: Latency::new(),
    };
    let mut events = Events::with_capacity(2 * PENDING_MAX);
    loop {
        if control.connecting_failed() || control.is_stopped() || !connector.failures.is_empty() {
            connector.waiting.clear();
        }
        connector.begin_some(poll);
        if connector.pending.is_empty() && connector.waiting.is_empty() {
            break;
        }
        match poll.poll(&mut events, Some(SCAN)) {
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        for event in &events {
            connector.event(event, poll);
        }
        connector.expire();
        if control.is_stopped() {
            break;
        }
    }
    connector.latency.settle();
    Ok(ConnectPhase {
        connected: connector.done.into_iter().flatten().collect(),
        failures: connector.failures,
        latency: connector.latency,
    })
}

struct Connector<'a> {
    target: Target<'a>,
    timeout_ns: u64,
    /// The address that worked last; the next connections begin there.
    preferred: usize,
    waiting: VecDeque<usize>,
    pending: Vec<Pending>,
    done: Vec<Option<Connected>>,
    failures: Vec<ConnectFailure>,
    latency: Latency,
}

impl Connector<'_> {
    fn begin_some(&mut self, poll: &Poll) {
        while self.pending.len() < PENDING_MAX && self.failures.is_empty() {
            let Some(index) = self.waiting.pop_front() else {
                return;
            };
            self.begin(index, self.preferred, now_ns(), poll);
        }
    }

    /// Tries the addresses from `address` on. The time limit runs over all of them.
    fn begin(&mut self, index: usize, mut address: usize, since_ns: u64, poll: &Poll) {
        loop {
            match start_connect(self.target.addresses[address], index, poll) {
                Ok(stream) => {
                    let pending = Pending { index, stream, address, since_ns, readable: false };
                    return self.pending.push(pending);
                }
                Err(error) => match self.next_address(address, &error) {
                    Some(next) => address = next,
                    None => return self.fail(address, error),
                },
            }
        }
    }

    fn event(&mut self, event: &mio::event::Event, poll: &Poll) {
        let index = event.token().0;
        let Some(at) = self.pending.iter().position(|pending| pending.index == index) else {
            // A connection that is set up: keep its edge for the run.
            if let Some(connected) = self.done.get_mut(index).and_then(Option::as_mut) {
                connected.readable |= event.is_readable() || event.is_read_closed();
            }
            return;
        };
        self.pending[at].readable |= event.is_readable() || event.is_read_closed();
        match finish_connect(&mut self.pending[at].stream, || (self.target.opening)(index)) {
            Ok(false) => {}
            Ok(true) => {
                let pending = self.pending.swap_remove(at);
                self.preferred = pending.address;
                self.latency.record(elapsed_ns(pending.since_ns, now_ns()));
                let Pending { stream, readable, .. } = pending;
                self.done[pending.index] = Some(Connected { stream, readable });
            }
            Err(error) => self.retry(at, error, poll),
        }
    }

    /// Goes on with the next address, or gives the connection up.
    fn retry(&mut self, at: usize, error: io::Error, poll: &Poll) {
        let Pending { index, address, since_ns, stream, .. } = self.pending.swap_remove(at);
        drop(stream);
        match self.next_address(address, &error) {
            Some(next) => self.begin(index, next, since_ns, poll),
            None => self.fail(address, error),
        }
    }

    fn next_address(&self, address: usize, error: &io::Error) -> Option<usize> {
        let next = (address + 1) % self.target.addresses.len();
        // No other address helps against a lack of descriptors.
        (next != 0 && !is_out_of_descriptors(error)).then_some(next)
    }

    fn expire(&mut self) {
        let now = now_ns();
        while let Some(at) = self
            .pending
            .iter()
            .position(|pending| elapsed_ns(pending.since_ns, now) >= self.timeout_ns)
        {
            let text = format!("no answer within {:?}", self.target.timeout);
            let error = io::Error::new(ErrorKind::TimedOut, text);
            let pending = self.pending.swap_remove(at);
            self.fail(pending.address, error);
        }
    }

    fn fail(&mut self, address: usize, error: io::Error) {
        self.failures.push(ConnectFailure { address: self.target.addresses[address], error });
    }
}

fn start_connect(address: SocketAddr, index: usize, poll: &Poll) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    match socket.connect(&address.into()) {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error()) => {}
        Err(error) => return Err(error),
    }
    let mut stream = TcpStream::from_std(socket.into());
    // Once and for good: every event of this connection is an edge of this registration.
    let both = Interest::READABLE | Interest::WRITABLE;
    poll.registry().register(&mut stream, Token(index), both)?;
    Ok(stream)
}

/// Whether the connection stands. A readiness event alone does not say so.
fn finish_connect(stream: &mut TcpStream, opening: impl FnOnce() -> Vec<u8>) -> io::Result<bool> {
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    match stream.peer_addr() {
        Ok(peer) if stream.local_addr()? == peer => {
            // The kernel picked the port we asked for as our own: nobody listens there.
            return Err(Errno::CONNREFUSED.into());
        }
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotConnected => return Ok(false),
        Err(error) => return Err(error),
    }
    let opening = opening();
    // A fresh socket has room for some thousand bytes.
    match stream.write(&opening) {
        Ok(written) if written == opening.len() => Ok(true),
        Ok(_) => Err(io::Error::new(ErrorKind::WriteZero, "the opening could not be sent")),
        Err(error) => Err(error),
    }
}

/// Whether this process or the system has no file descriptors left.
pub(crate) fn is_out_of_descriptors(error: &io::Error) -> bool {
    let errno = error.raw_os_error();
    [Errno::MFILE, Errno::NFILE].iter().any(|e| errno == Some(e.raw_os_error()))
}
