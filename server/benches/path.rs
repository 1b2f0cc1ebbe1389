//! What one batch of calls costs at each step of its path, without the kernel: checked, queued,
//! encoded, written. `cargo bench -p echo-server` takes about half a minute.

use bytes::BytesMut;
use criterion::{BatchSize, Criterion, Throughput};
use echo_common::wire::native::{HEADER_LEN, Header, Kind};
use echo_server::bench::{Replies, check_frames};
use echo_server::call_queue::{CallQueue, Run, WhenFull};
use echo_server::mailbox::{ConnectionId, Mailbox, Wake};
use echo_server::outbox::{FlowLimits, Outbox};
use echo_server::transport::Transport;
use std::collections::VecDeque;
use std::hint::black_box;
use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;

/// Calls of one connection in a pass, and the payload of each: S3 of the design.
const CALLS: u32 = 32;
const PAYLOAD: usize = 128;
/// Connections in a pass.
const CONNECTIONS: usize = 30;
/// Calls that a handler takes at once.
const TAKEN: u32 = 256;

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    check(&mut criterion);
    queue(&mut criterion, 1);
    queue(&mut criterion, CALLS);
    encode(&mut criterion);
    outbox(&mut criterion, 1);
    outbox(&mut criterion, CALLS);
    criterion.final_summary();
}

/// `count` frames of `kind`, side by side.
fn frames(kind: Kind, count: u32) -> Vec<u8> {
    let mut out = Vec::new();
    for id in 0..count {
        out.extend_from_slice(&Header::new(kind, 0, id.into(), 0, PAYLOAD).encode());
        out.extend_from_slice(&[0x5a; PAYLOAD]);
    }
    out
}

fn check(criterion: &mut Criterion) {
    let calls = frames(Kind::Call, CALLS);
    assert_eq!(check_frames(&calls), (CALLS, calls.len()));
    let mut group = criterion.benchmark_group("check");
    group.throughput(Throughput::Elements(CALLS.into()));
    group.bench_function("32_calls", |bench| bench.iter(|| check_frames(black_box(&calls))));
    group.finish();
}

/// A run that weighs what the real one does to move, and takes no bytes apart.
struct Counted {
    count: u32,
    _rest: [u64; 10],
}

impl Run for Counted {
    fn count(&self) -> u32 {
        self.count
    }

    fn split_front(&mut self, count: u32) -> Counted {
        self.count -= count;
        Counted { count, _rest: [0; 10] }
    }
}

/// One thread puts a pass of 30 runs in and takes them out again; nobody sleeps or is woken.
fn queue(criterion: &mut Criterion, calls: u32) {
    let total = CONNECTIONS * calls as usize;
    let queue = CallQueue::new(total, 1, 1, WhenFull::Wait, 0);
    let run = |_| Counted { count: calls, _rest: [0; 10] };
    let mut pass: VecDeque<_> = (0..CONNECTIONS).map(run).collect();
    let mut batch = Vec::new();
    let mut group = criterion.benchmark_group("queue");
    group.throughput(Throughput::Elements(CONNECTIONS as u64));
    group.bench_function(format!("30_runs_of_{calls}"), |bench| {
        bench.iter(|| {
            queue.put(0, &mut pass);
            while pass.len() < CONNECTIONS {
                queue.take(0, TAKEN, &mut batch);
                pass.extend(batch.drain(..));
            }
        });
    });
    group.finish();
}

fn encode(criterion: &mut Criterion) {
    let calls = frames(Kind::Call, CALLS);
    let mut replies = Replies::default();
    let mut group = criterion.benchmark_group("encode");
    group.throughput(Throughput::Elements(CALLS.into()));
    group.bench_function("32_copied", |bench| {
        bench.iter(|| {
            for frame in calls.chunks(HEADER_LEN + PAYLOAD) {
                let id = frame[HEADER_LEN - 1].into();
                let header = Header::new(Kind::Reply, 0, id, 0, PAYLOAD);
                replies.push(&header.encode(), black_box(&frame[HEADER_LEN..]));
            }
            assert_eq!(replies.bytes(), calls.len());
            replies.clear();
        });
    });
    group.bench_function("32_in_place", |bench| {
        let own = || BytesMut::from(&calls[..]);
        let encode = |frames| {
            replies.push_in_place(frames);
            assert_eq!(replies.bytes(), calls.len());
            replies.clear();
        };
        // Few at a time: a reader hands over bytes that it has just written, in a warm cache.
        bench.iter_batched(own, encode, BatchSize::NumIterations(8));
    });
    group.finish();
}

/// Takes everything at once.
struct Sink;

impl Transport for Sink {
    fn read(&self, _: &mut Vec<u8>) -> io::Result<usize> {
        Ok(0)
    }

    fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(black_box(pieces).iter().map(|piece| piece.len()).sum())
    }

    fn shutdown(&self, _: Shutdown) {}
}

struct Nobody;

impl Wake for Nobody {
    fn wake(&self) {}
}

/// Calls begin, their replies are appended and written, all by one thread.
fn outbox(criterion: &mut Criterion, calls: u32) {
    let limits = FlowLimits { calls_max: 1024, owed_bytes_max: 4 << 20, notes_idle: false };
    let mailbox = Arc::new(Mailbox::new(1, Box::new(Nobody)));
    let outbox = Outbox::new(Box::new(Sink), ConnectionId(0), mailbox, limits);
    let bytes = frames(Kind::Reply, calls);
    let mut replies = Replies::default();
    let mut group = criterion.benchmark_group("outbox");
    group.throughput(Throughput::Elements(calls.into()));
    group.bench_function(format!("{calls}_replies"), |bench| {
        bench.iter(|| {
            outbox.begin(calls, bytes.len());
            for frame in bytes.chunks(HEADER_LEN + PAYLOAD) {
                replies.push(&frame[..HEADER_LEN], &frame[HEADER_LEN..]);
            }
            let flushed = replies.leave(&outbox, calls, bytes.len());
            assert_eq!(flushed.replies, u64::from(calls));
        });
    });
    group.finish();
}
