//! The page for scrapers.

use crate::kit::{PATIENCE, Peer, Server, run, stats_frame, until};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

const ANYWHERE: (&str, &str) = ("--metrics", "127.0.0.1:0");

/// Where the page is, from the server's own words.
#[track_caller]
fn endpoint(server: &mut Server) -> SocketAddr {
    let mut found = None;
    until("the address of the metrics", || {
        let said = server.said().iter().find_map(|line| line.split_once("metrics on http://"));
        found =
            said.map(|(_, rest)| rest.trim_end_matches("/metrics").parse().expect("an address"));
        found.is_some()
    });
    found.expect("until it was found")
}

fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect_timeout(&to, PATIENCE).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    stream
}

/// Everything that comes back for these bytes.
fn ask(to: SocketAddr, request: &[u8]) -> String {
    let mut stream = connect(to);
    stream.write_all(request).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

fn scrape(to: SocketAddr) -> String {
    let answer = ask(to, b"GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n");
    let (head, page) = answer.split_once("\r\n\r\n").expect("a head and a page");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    let length = format!("Content-Length: {}", page.len());
    assert!(head.lines().any(|line| line == length), "{head}");
    page.to_owned()
}

/// The value of the one sample with this name and labels.
#[track_caller]
fn value(page: &str, sample: &str) -> f64 {
    let samples: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix(sample)?.strip_prefix(' ')).collect();
    assert_eq!(samples.len(), 1, "{sample} in {page}");
    samples[0].parse().expect("a number")
}

#[test]
fn the_page_has_what_was_counted_and_every_call_in_its_histogram() {
    for handlers in ["2", "0"] {
        let mut server = Server::start(&[ANYWHERE, ("--readers", "2"), ("--handlers", handlers)]);
        let page_at = endpoint(&mut server);
        let mut peers: Vec<Peer> = (0..3).map(|_| Peer::open(server.address)).collect();
        for id in 0..300 {
            peers[id as usize % 3].echo(id, 100);
        }
        peers[0].send(&stats_frame(7));
        assert!(peers[0].frame().is_some());
        // Times are counted after the write, so that a client can be faster.
        let mut page = String::new();
        until("the last call's time", || {
            page = scrape(page_at);
            value(&page, "echo_server_call_seconds_count") == 301.0
        });
        assert_eq!(value(&page, "echo_server_calls_total"), 300.0);
        assert_eq!(value(&page, "echo_server_stats_calls_total"), 1.0);
        assert_eq!(value(&page, "echo_server_replies_total"), 301.0);
        assert_eq!(value(&page, "echo_server_connections_open"), 3.0);
        assert_eq!(value(&page, "echo_server_emulated"), 0.0);
        let limit = "echo_server_limit_acted_total{limit=\"connections_refused\"}";
        assert_eq!(value(&page, limit), 0.0);
        let last = "echo_server_call_seconds_bucket{le=\"+Inf\"}";
        assert_eq!(value(&page, last), 301.0);
        let sum = value(&page, "echo_server_call_seconds_sum");
        assert!(sum > 0.0 && sum < 301.0 * PATIENCE.as_secs_f64(), "{sum}");
        let read: f64 = (0..2)
            .map(|i| format!("echo_server_thread_calls_total{{thread=\"reader-{i:02}\"}}"))
            .map(|sample| value(&page, &sample))
            .sum();
        assert_eq!(read, 300.0);
        let queue = page.lines().filter(|line| line.starts_with("echo_server_queue_depth "));
        assert_eq!(queue.count(), usize::from(handlers != "0"));
        assert!(page.ends_with("# EOF\n"), "{page}");
        server.stop();
    }
}

#[test]
fn the_page_has_the_stages_of_a_dispatch_by_key() {
    let mut server = Server::start(&[ANYWHERE, ("--dispatch", "keyed")]);
    let page_at = endpoint(&mut server);
    let mut peer = Peer::open(server.address);
    (0..50).for_each(|id| peer.echo(id, 10));
    let page = scrape(page_at);
    for thread in ["serial", "dispatcher"] {
        let calls = format!("echo_server_thread_calls_total{{thread=\"{thread}\"}}");
        assert_eq!(value(&page, &calls), 50.0);
    }
    assert_eq!(value(&page, "echo_server_dispatch_batches_total"), 50.0, "one call at a time");
    assert_eq!(value(&page, "echo_server_log_depth"), 0.0);
    server.stop();
}

#[test]
fn only_get_metrics_is_answered_and_everything_else_is_told_so() {
    let mut server = Server::start(&[ANYWHERE]);
    let page_at = endpoint(&mut server);
    let check = |request: &[u8], expected: &str| {
        let answer = ask(page_at, request);
        assert!(answer.starts_with(expected), "{}: {answer}", request.escape_ascii());
    };
    check(b"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404 ");
    check(b"POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 ");
    check(b"ECHO\x01\0\0\0\r\n\r\n", "HTTP/1.1 400 ");
    scrape(page_at);
    server.stop();
}

#[test]
fn scrapers_that_break_off_or_talk_too_much_keep_nobody_from_the_page() {
    let mut server = Server::start(&[ANYWHERE]);
    let page_at = endpoint(&mut server);
    drop(connect(page_at));
    let mut half = connect(page_at);
    half.write_all(b"GET /metr").expect("half a request");
    half.shutdown(Shutdown::Write).expect("half a connection");
    let mut endless = connect(page_at);
    // It is cut off somewhere in between.
    let _ = endless.write_all(&[b'a'; 1 << 20]);
    let silent = connect(page_at);
    scrape(page_at);
    drop(silent);
    Peer::open(server.address).echo(1, 10);
    server.stop();
}

#[test]
fn a_silent_scraper_does_not_keep_the_server_from_ending() {
    let mut server = Server::start(&[ANYWHERE]);
    let _silent = connect(endpoint(&mut server));
    server.stop();
}

#[test]
fn metrics_addresses_that_cannot_be_are_refused_before_anything_runs() {
    let check = |address: &str, code: i32, words: &str| {
        let (ended, stdout, stderr, _) = run(&["--listen", "127.0.0.1:0", "--metrics", address]);
        assert_eq!(ended, Some(code), "{stdout}{stderr}");
        assert!(stderr.contains(words), "{stderr}");
    };
    check("nowhere at all", 2, "--metrics");
    check("127.0.0.1:99999", 2, "allowed: 0 to 65535");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    check(&taken.local_addr().expect("its address").to_string(), 69, "cannot listen on");
}
