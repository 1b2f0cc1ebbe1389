//! The life of the process: start, stop, drain, and the ends in between.

use crate::kit::{Server, timed};
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
