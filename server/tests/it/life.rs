//! The life of the process: start, stop, drain, and the ends in between.

use crate::kit::{Inside, Peer, Server, Tricky, call_frame, config, timed, until};
use std::time::Duration;

#[test]
fn l11_a48_a_stop_at_any_moment_after_the_listening_line_ends_well_and_soon() {
    for readers in ["1", "2", "10"].iter().cycle().take(30) {
        let server = Server::start(&[("--readers", readers)]);
        let (ended, took) = timed(|| server.stop());
        assert!(took < Duration::from_secs(5), "an idle server took {took:?} to end");
        ended.check(&[("calls", 0), ("drain_cut", 0)]);
    }
}

/// The listener waited to hand a connection to a reader that waited for the call queue, and the
/// drain waited for the listener, without a limit.
#[test]
fn the_drain_limit_holds_while_the_listener_waits_for_a_reader() {
    let tricky = Tricky::new();
    let mut config = config(tricky.clone());
    (config.readers, config.handlers) = (1, 1);
    config.limits.queue_capacity = 1;
    config.limits.reader_inbox = 1;
    config.limits.drain_timeout = Some(Duration::from_millis(300));
    let server = Inside::start(config);
    let mut blocker = Peer::open(server.address);
    blocker.send(&[call_frame(1, b"hold"), call_frame(2, b"b"), call_frame(3, b"c")].concat());
    tricky.await_held(1);
    let _waiting: Vec<Peer> = (0..4).map(|_| Peer::open(server.address)).collect();
    until("the listener is stuck", || server.snapshots.take().connections_open >= 3);
    let (last, took) = timed(|| server.stop());
    assert!(took < Duration::from_secs(5), "the drain took {took:?}");
    assert!(last.limits["drain_cut"] >= 1);
    tricky.open_gate();
}
