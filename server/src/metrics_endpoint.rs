//! Answers `GET /metrics` over HTTP/1.1, one scraper at a time, on a thread of its own.
//!
//! A scraper has two seconds and 8 KiB for its request; whoever is slower costs itself the answer
//! and others at most that time. Every answer closes its connection.

use crate::complaints::say;
use crate::metrics_text::{CONTENT_TYPE, MetricsText};
use crate::snapshot::Snapshots;
use echo_common::clock;
use mio::{Events, Interest, Poll, Token, Waker};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

const LISTENER: Token = Token(0);
const STOP: Token = Token(1);
/// For one scraper, from accept to the end of its request, and again for each write.
const SCRAPE_TIMEOUT: Duration = Duration::from_secs(2);
const REQUEST_MAX: usize = 8 << 10;
/// After a failed accept, such as for want of descriptors: no new edge comes for who still waits.
const RETRY: Duration = Duration::from_millis(100);

/// A running endpoint; dropping it ends its thread.
pub struct MetricsEndpoint {
    address: SocketAddr,
    stop: Waker,
    thread: Option<JoinHandle<()>>,
}

impl MetricsEndpoint {
    /// Listens on `address` (port 0 takes any free port); only `allow`ed networks are answered,
    /// all if it is empty.
    pub fn start(
        address: SocketAddr,
        allow: Vec<ipnet::IpNet>,
        snapshots: Arc<Snapshots>,
    ) -> io::Result<MetricsEndpoint> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let poll = Poll::new()?;
        let stop = Waker::new(poll.registry(), STOP)?;
        let mut listener = mio::net::TcpListener::from_std(listener);
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let text = MetricsText::new(snapshots);
        let named = std::thread::Builder::new().name("metrics".into());
        let thread = named.spawn(move || {
            if let Err(error) = serve(poll, &listener, &allow, &text) {
                say(format!("metrics: the endpoint ended: {error}"));
            }
        })?;
        Ok(MetricsEndpoint { address, stop, thread: Some(thread) })
    }

    /// Where it listens, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsEndpoint {
    fn drop(&mut self) {
        let woken = self.stop.wake();
        if let Some(thread) = self.thread.take().filter(|_| woken.is_ok()) {
            // Its panic would change nothing any more.
            let _ = thread.join();
        }
    }
}

fn serve(
    mut poll: Poll,
    listener: &mio::net::TcpListener,
    allow: &[ipnet::IpNet],
    text: &MetricsText,
) -> io::Result<()> {
    let mut events = Events::with_capacity(2);
    let mut retry = None;
    loop {
        match poll.poll(&mut events, retry.take()) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            Err(_) => continue,
            Ok(()) => {}
        }
        if events.iter().any(|event| event.token() == STOP) {
            return Ok(());
        }
        loop {
            match listener.accept() {
                Ok((stream, peer)) => {
                    let ip = peer.ip().to_canonical();
                    if allow.is_empty() || allow.iter().any(|net| net.contains(&ip)) {
                        // A scraper that went away, or was too slow, has only itself to blame.
                        let _ = answer(TcpStream::from(stream), text);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    retry = Some(RETRY);
                    break;
                }
            }
        }
    }
}

fn answer(mut stream: TcpStream, text: &MetricsText) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(SCRAPE_TIMEOUT))?;
    let request = read_request(&mut stream)?;
    let (status, kind, body) = match asked(&request) {
        Asked::Metrics => ("200 OK", CONTENT_TYPE, text.page()),
        Asked::Elsewhere => ("404 Not Found", PLAIN, "only /metrics is here\n".to_owned()),
        Asked::Otherwise => ("405 Method Not Allowed", PLAIN, "only GET is allowed\n".to_owned()),
        Asked::Nonsense => ("400 Bad Request", PLAIN, "this is no HTTP request\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

const PLAIN: &str = "text/plain; charset=utf-8";

/// What came until the empty line that ends a request's head, or until the peer's end.
fn read_request(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let until_ns = clock::now_ns().saturating_add(clock::ns(SCRAPE_TIMEOUT));
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while request.len() < REQUEST_MAX && !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let left_ns = clock::elapsed_ns(clock::now_ns(), until_ns);
        if left_ns == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(Duration::from_nanos(left_ns)))?;
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => request.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(request)
}

#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Metrics,
    Elsewhere,
    Otherwise,
    Nonsense,
}

/// What the first line of a request asks for.
fn asked(request: &[u8]) -> Asked {
    let line = request.split(|byte| *byte == b'\r' || *byte == b'\n').next().unwrap_or_default();
    let Ok(line) = std::str::from_utf8(line) else { return Asked::Nonsense };
    let mut words = line.split(' ');
    match (words.next(), words.next(), words.next()) {
        (Some("GET"), Some(path), Some(version)) if version.starts_with("HTTP/1.") => {
            let path = path.split('?').next().unwrap_or_default();
            if path == "/metrics" { Asked::Metrics } else { Asked::Elsewhere }
        }
        (Some(_), Some(_), Some(version)) if version.starts_with("HTTP/1.") => Asked::Otherwise,
        _ => Asked::Nonsense,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_says_what_is_asked() {
        let check = |line: &[u8], expected| {
            assert_eq!(asked(line), expected, "{}", line.escape_ascii());
        };
        check(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", Asked::Metrics);
        check(b"GET /metrics?name=x HTTP/1.0\r\n\r\n", Asked::Metrics);
        check(b"GET / HTTP/1.1\r\n\r\n", Asked::Elsewhere);
        check(b"GET /metricsx HTTP/1.1\r\n\r\n", Asked::Elsewhere);
        check(b"POST /metrics HTTP/1.1\r\n\r\n", Asked::Otherwise);
        check(b"GET /metrics\r\n\r\n", Asked::Nonsense);
        check(b"GET /metrics HTTP/2\r\n\r\n", Asked::Nonsense);
        check(b"", Asked::Nonsense);
        check(b"ECHO\x01\0\0\0", Asked::Nonsense);
        check(&[0xff; 40], Asked::Nonsense);
    }
}
