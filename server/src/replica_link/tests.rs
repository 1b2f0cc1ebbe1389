//! The pauses between connections.

use super::*;

/// Whatever ends a connection at once, a follower that joins and gets nothing done among them.
#[test]
fn pauses_grow_until_a_connection_gets_something_done_or_lasts() {
    let address = "127.0.0.1:1".parse().expect("an address");
    let config = LinkConfig { epoch: 1, window: 1, timeout_ns: 1 };
    let mut link = Link::new(address, Token(0), config);
    let mut now_ns = 1;
    let mut pause = |link: &mut Link, joined: bool, gained: bool, lasts: Duration| {
        if joined {
            link.phase = Phase::InSync { since: 1, next: 1 };
            link.in_sync_ns = now_ns;
            link.gained = gained;
        }
        now_ns += clock::ns(lasts);
        link.leave(now_ns);
        match link.phase() {
            Phase::Down { retry_ns } => Duration::from_nanos(retry_ns - now_ns),
            other => panic!("{other:?}"),
        }
    };
    let short = Duration::from_millis(1);
    for at in 0..12 {
        let expected = (BACKOFF_MIN * (1 << at.min(10))).min(BACKOFF_MAX);
        let took = pause(&mut link, at % 2 == 1, false, short);
        assert!((expected / 2..=expected * 3 / 2).contains(&took), "{at}: {took:?}");
    }
    assert!(pause(&mut link, true, true, short) <= BACKOFF_MIN * 3 / 2);
    link.gained = false;
    for _ in 0..5 {
        pause(&mut link, true, false, short);
    }
    assert!(pause(&mut link, true, false, BACKOFF_MAX) <= BACKOFF_MIN * 3 / 2);
}
