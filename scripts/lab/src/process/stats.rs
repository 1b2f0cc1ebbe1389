//! What a server says of itself while it runs: its counters, and what it holds.

use super::ProcessError;
use echo_common::clock::now_ns;
use echo_common::wire::native::{HEADER_LEN, Header, Kind, PREAMBLE};
use serde_json::Value;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Each step may take this long, and all of it that long.
const STEP_LIMIT: Duration = Duration::from_secs(1);
const LIMIT_NS: u64 = 3_000_000_000;
/// A snapshot of some thousand threads.
const SNAPSHOT_MAX: usize = 4 << 20;

/// Asks the server at `address` by a stats call, on a connection of its own.
pub fn stats(address: &str) -> Result<Value, ProcessError> {
    ask(address).map_err(|error| ProcessError::NoStats(address.to_owned(), error))
}

fn ask(address: &str) -> io::Result<Value> {
    let until_ns = now_ns().saturating_add(LIMIT_NS);
    let address: SocketAddr = address.parse().map_err(io::Error::other)?;
    let mut stream = TcpStream::connect_timeout(&address, STEP_LIMIT)?;
    stream.set_read_timeout(Some(STEP_LIMIT))?;
    stream.set_write_timeout(Some(STEP_LIMIT))?;
    let mut question = PREAMBLE.to_vec();
    question.extend_from_slice(&Header::new(Kind::Stats, 0, 0, 0, 0).encode());
    stream.write_all(&question)?;
    let mut head = [0; HEADER_LEN];
    fill(&mut stream, &mut head, until_ns)?;
    let header = Header::decode(&head).map_err(io::Error::other)?;
    if header.kind != Kind::Stats || header.rest_len() > SNAPSHOT_MAX {
        return Err(io::Error::other("it refuses (--no-remote-stats)"));
    }
    let mut body = vec![0; header.rest_len()];
    fill(&mut stream, &mut body, until_ns)?;
    Ok(serde_json::from_slice(&body)?)
}

/// Fills `buffer`, unless the time is over first.
fn fill(stream: &mut impl Read, buffer: &mut [u8], until_ns: u64) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        if now_ns() >= until_ns {
            return Err(ErrorKind::TimedOut.into());
        }
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
