//! A server inside this process, with a service that tests can hold and poison.

use super::PATIENCE;
use bytes::Bytes;
use echo_common::wire::hadoop::fault::Package;
use echo_common::wire::hadoop::service::{OmPayload, Services};
use echo_common::wire::native::Status;
use echo_server::call_queue::WhenFull;
use echo_server::cost::StageCosts;
use echo_server::hadoop::{Busy, Hadoop};
use echo_server::limits::Limits;
use echo_server::listener::{Assign, SocketBuffers};
use echo_server::server::{Config, Server, ServerError, Stopper};
use echo_server::service::{Call, Reply, Service};
use echo_server::snapshot::{Snapshot, Snapshots};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, Once};
use std::thread;
use std::time::Duration;

/// What a service does is told by the first bytes of a call: `hold` waits at the gate, `poison`
/// panics, `bomb` panics with something that panics again when it is dropped, `fail` is answered
/// with an error. Everything else is echoed.
pub(crate) struct Tricky {
    /// Calls that were let in, and how many are at the gate.
    gate: Mutex<Gate>,
    moved: Condvar,
    batch_max: u32,
}

#[derive(Default)]
struct Gate {
    open: bool,
    waiting: usize,
    served: u64,
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("poison: dropped");
    }
}

impl Tricky {
    /// Calls are taken one by one, so that one that is held holds no other.
    pub(crate) fn new() -> Arc<Tricky> {
        Tricky::with_batch(1)
    }

    pub(crate) fn with_batch(batch_max: u32) -> Arc<Tricky> {
        silence_poison();
        Arc::new(Tricky { gate: Mutex::default(), moved: Condvar::new(), batch_max })
    }

    /// Lets every call through from now on.
    pub(crate) fn open_gate(&self) {
        self.gate.lock().unwrap().open = true;
        self.moved.notify_all();
    }

    pub(crate) fn close_gate(&self) {
        self.gate.lock().unwrap().open = false;
    }

    /// Waits until `count` calls are held.
    #[track_caller]
    pub(crate) fn await_held(&self, count: usize) {
        let gate = self.gate.lock().unwrap();
        let (gate, _) = self
            .moved
            .wait_timeout_while(gate, PATIENCE, |gate| gate.waiting < count)
            .expect("no poison here");
        assert_eq!(gate.waiting, count, "calls at the gate");
    }

    /// Calls that reached the service, held ones included.
    pub(crate) fn served(&self) -> u64 {
        self.gate.lock().unwrap().served
    }

    fn hold(&self) {
        let mut gate = self.gate.lock().unwrap();
        gate.waiting += 1;
        self.moved.notify_all();
        while !gate.open {
            gate = self.moved.wait(gate).expect("no poison here");
        }
        gate.waiting -= 1;
    }
}

impl Service for Tricky {
    fn serve<'a>(&self, call: Call<'a>) -> Reply<'a> {
        self.gate.lock().unwrap().served += 1;
        match call.body {
            [b'h', b'o', b'l', b'd', ..] => self.hold(),
            [b'p', b'o', b'i', b's', b'o', b'n', ..] => panic!("poison: served"),
            [b'b', b'o', b'm', b'b', ..] => std::panic::panic_any(Bomb),
            [b'f', b'a', b'i', b'l', ..] => {
                return Reply::Failed(Status::Refused, "as asked".into());
            }
            [b'o', b'w', b'n', ..] => return Reply::Owned(Bytes::copy_from_slice(call.body)),
            _ => {}
        }
        match call.reply_len {
            None => Reply::Echo(call.body),
            Some(length) => Reply::Repeated(call.body, length),
        }
    }

    fn batch_max(&self) -> u32 {
        self.batch_max
    }
}

/// Panics that tests ask for need no line on stderr.
fn silence_poison() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let wanted = match panic.payload().downcast_ref::<&str>() {
                Some(text) => text.starts_with("poison: "),
                None => panic.payload().is::<Bomb>(),
            };
            if !wanted {
                before(panic);
            }
        }));
    });
}

/// The standard server as a value.
pub(crate) fn config(service: Arc<dyn Service>) -> Config {
    Config {
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        readers: 2,
        handlers: 2,
        reader_cpus: Vec::new(),
        handler_cpus: Vec::new(),
        strict_pin: false,
        assign: Assign::RoundRobin,
        limits: Limits {
            max_connections: 256,
            max_connections_per_peer: None,
            max_frame_size: 1 << 20,
            max_packet_size: Some(1 << 20),
            calls_per_connection: 128,
            max_owed_bytes: 2 << 20,
            reader_batch: 1024,
            queue_capacity: 1024,
            when_full: WhenFull::Wait,
            log_capacity: 1024,
            handler_queue: 1024,
            reader_inbox: 100,
            backlog: 1024,
            handshake_timeout: Some(Duration::from_secs(30)),
            frame_timeout: Some(Duration::from_secs(30)),
            idle_timeout: Some(Duration::from_secs(60)),
            write_stall_timeout: Some(Duration::from_secs(30)),
            drain_timeout: Some(Duration::from_secs(10)),
        },
        allow: Vec::new(),
        buffers: SocketBuffers::default(),
        remote_stats: true,
        service,
        hadoop: Arc::new(hadoop()),
        costs: StageCosts::default(),
        time_calls: true,
        keyed: None,
        replication: None,
        faults: Vec::new(),
    }
}

/// How that serves Hadoop RPC.
pub(crate) fn hadoop() -> Hadoop {
    Hadoop {
        package: Package::Ipc,
        services: Services {
            echo: vec!["bench.EchoProtocol:1".parse().expect("a protocol")],
            om_payload: OmPayload::AsAsked,
            reply_len_max: 1 << 20,
        },
        busy: Busy::Error,
    }
}

/// A server that runs inside the test.
pub(crate) struct Inside {
    pub(crate) address: SocketAddr,
    pub(crate) snapshots: Arc<Snapshots>,
    stopper: Stopper,
    end: Receiver<Result<Snapshot, ServerError>>,
}

impl Inside {
    pub(crate) fn start(config: Config) -> Inside {
        let server = Server::start(config).expect("a server");
        let (address, snapshots, stopper) =
            (server.address(), server.snapshots(), server.stopper());
        let (tell, end) = channel();
        thread::spawn(move || {
            // A test that failed does not listen.
            let _ = tell.send(server.join());
        });
        Inside { address, snapshots, stopper, end }
    }

    /// A counter of a limit, now.
    #[track_caller]
    pub(crate) fn limit(&self, name: &str) -> u64 {
        self.snapshots.take().limits[name]
    }

    /// Starts the drain.
    pub(crate) fn begin_stop(&self) {
        self.stopper.stop();
    }

    /// Stops it, and waits for the end.
    #[track_caller]
    pub(crate) fn stop(self) -> Snapshot {
        self.begin_stop();
        self.end().expect("a good end")
    }

    /// Waits for an end that comes by itself.
    #[track_caller]
    pub(crate) fn end(self) -> Result<Snapshot, ServerError> {
        self.end.recv_timeout(PATIENCE).expect("the server does not end")
    }
}
