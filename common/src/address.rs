//! `HOST:PORT` as people type it, to socket addresses.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs};
use thiserror::Error;

/// Why a text gives no address. One line; the text is in it, escaped and cut.
#[derive(Debug, Error)]
pub enum AddressError {
    /// Nothing was given.
    #[error("the address is empty; allowed: {FORMS}")]
    Empty,
    /// The text has no known form.
    #[error("`{text}` is not an address: {why}; allowed: {FORMS}")]
    Malformed {
        /// What was given.
        text: String,
        /// The part that is wrong.
        why: &'static str,
    },
    /// The port is not one.
    #[error("`{text}` has the port `{port}`; allowed: 0 to 65535")]
    Port {
        /// What was given.
        text: String,
        /// Its port.
        port: String,
    },
    /// The scope behind `%` names no interface of this host.
    #[error("`{text}`: this host has no network interface `{scope}`")]
    Scope {
        /// What was given.
        text: String,
        /// The name behind `%`.
        scope: String,
    },
    /// The name was looked up without success.
    #[error("`{host}` cannot be resolved: {source}")]
    Lookup {
        /// The name.
        host: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// The name has no address.
    #[error("`{host}` has no address")]
    NoAddress {
        /// The name.
        host: String,
    },
}

const FORMS: &str =
    "127.0.0.1:7000, [::1]:7000, [fe80::1%eth0]:7000, localhost:7000, :7000 or 7000";

/// The addresses behind `text`, in the resolver's order, at least one.
///
/// A missing port is `default_port`; a missing host (`:7000`, `7000`) is 127.0.0.1. An IPv6
/// address with a port needs brackets. Only names are looked up, which may take as long as the
/// system's resolver takes.
pub fn resolve(text: &str, default_port: u16) -> Result<Vec<SocketAddr>, AddressError> {
    let text = text.trim();
    match parse(text, default_port, interface_index)? {
        Place::Address(address) => Ok(vec![address]),
        Place::Name(host, port) => look_up(host, port),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Place<'a> {
    Address(SocketAddr),
    Name(&'a str, u16),
}

fn parse(
    text: &str,
    default_port: u16,
    interface: impl Fn(&str) -> Option<u32>,
) -> Result<Place<'_>, AddressError> {
    if text.is_empty() {
        return Err(AddressError::Empty);
    }
    let malformed = |why| AddressError::Malformed { text: shown(text), why };
    let port_of = |port: &str| read_port(port, text);
    if let Some(inside) = text.strip_prefix('[') {
        let (literal, behind) =
            inside.split_once(']').ok_or_else(|| malformed("the bracket is not closed"))?;
        let port = match behind.strip_prefix(':') {
            Some(port) => port_of(port)?,
            None if behind.is_empty() => default_port,
            None => return Err(malformed("only :PORT can follow the bracket")),
        };
        return read_v6(literal, port, text, interface).map(Place::Address);
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(Place::Address(SocketAddr::from((Ipv4Addr::LOCALHOST, port_of(text)?))));
    }
    let (host, port) = match text.split_once(':') {
        Some((_, behind)) if behind.contains(':') => {
            return read_v6(text, default_port, text, interface).map(Place::Address);
        }
        Some((host, port)) => (host, port_of(port)?),
        None => (text, default_port),
    };
    if host.is_empty() {
        return Ok(Place::Address(SocketAddr::from((Ipv4Addr::LOCALHOST, port))));
    }
    if let Ok(v4) = host.parse::<Ipv4Addr>() {
        return Ok(Place::Address(SocketAddr::from((v4, port))));
    }
    check_name(host).map_err(malformed)?;
    Ok(Place::Name(host, port))
}

fn read_port(port: &str, text: &str) -> Result<u16, AddressError> {
    // `parse` alone would take a plus sign.
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    let value = port.parse().ok().filter(|_| digits);
    value.ok_or_else(|| AddressError::Port { text: shown(text), port: shown(port) })
}

fn read_v6(
    literal: &str,
    port: u16,
    text: &str,
    interface: impl Fn(&str) -> Option<u32>,
) -> Result<SocketAddr, AddressError> {
    let (ip, scope) = match literal.split_once('%') {
        Some((ip, scope)) => (ip, Some(scope)),
        None => (literal, None),
    };
    let ip: Ipv6Addr = ip.parse().map_err(|_| AddressError::Malformed {
        text: shown(text),
        why: "it has the colons or brackets of an IPv6 address and is none",
    })?;
    let scope_id = match scope {
        None => 0,
        Some(scope) => interface(scope)
            .ok_or_else(|| AddressError::Scope { text: shown(text), scope: shown(scope) })?,
    };
    Ok(SocketAddr::V6(SocketAddrV6::new(ip, port, 0, scope_id)))
}

/// A scope is an interface's number or name. Zero is no interface.
fn interface_index(scope: &str) -> Option<u32> {
    if scope.bytes().all(|byte| byte.is_ascii_digit()) {
        return scope.parse().ok().filter(|&index| index != 0);
    }
    // The kernel's own rule for names; it also keeps the path inside its folder.
    let is_name = scope.len() < 16 && scope != "." && scope != "..";
    if !is_name || scope.contains(|c: char| c == '/' || c.is_whitespace() || c == '\0') {
        return None;
    }
    let index = std::fs::read_to_string(format!("/sys/class/net/{scope}/ifindex")).ok()?;
    index.trim().parse().ok()
}

fn check_name(host: &str) -> Result<(), &'static str> {
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    if !host.bytes().all(is_name_byte) {
        return Err("the host has characters that no host name has");
    }
    if host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Err("the host is not a complete IPv4 address");
    }
    let labels = host.strip_suffix('.').unwrap_or(host);
    if host.len() > 253 || labels.split('.').any(|label| label.is_empty() || label.len() > 63) {
        return Err("the host has an empty or too long part");
    }
    Ok(())
}

fn look_up(host: &str, port: u16) -> Result<Vec<SocketAddr>, AddressError> {
    let found = (host, port)
        .to_socket_addrs()
        .map_err(|source| AddressError::Lookup { host: shown(host), source })?;
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in found {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        return Err(AddressError::NoAddress { host: shown(host) });
    }
    Ok(addresses)
}

/// Whether only this host can reach, or be reached at, the address.
pub fn is_loopback(address: &SocketAddr) -> bool {
    match address.ip() {
        IpAddr::V4(v4) => v4.is_loopback(),
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(v6.is_loopback(), |v4| v4.is_loopback()),
    }
}

fn shown(text: &str) -> String {
    text.chars().take(64).collect::<String>().escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT: u16 = 9862;

    fn interfaces(scope: &str) -> Option<u32> {
        match scope {
            "lo" => Some(1),
            "7" => Some(7),
            _ => None,
        }
    }

    fn check(text: &str, expected: &str) {
        let place = match parse(text, DEFAULT, interfaces) {
            Ok(Place::Address(address)) => address.to_string(),
            Ok(Place::Name(host, port)) => format!("name {host} {port}"),
            Err(error) => error.to_string(),
        };
        assert!(place.contains(expected), "{text:?} gave {place:?}, not {expected:?}");
        assert!(!place.contains('\n'), "{text:?} gave {place:?}");
    }

    #[test]
    fn every_form_of_an_address_is_read() {
        check("127.0.0.1:7000", "127.0.0.1:7000");
        check("0.0.0.0:0", "0.0.0.0:0");
        check("127.0.0.1", "127.0.0.1:9862");
        check("[::1]:7000", "[::1]:7000");
        check("[::]:0", "[::]:0");
        check("[::1]", "[::1]:9862");
        check("::1", "[::1]:9862");
        check("::", "[::]:9862");
        check("fe80::1%lo", "[fe80::1%1]:9862");
        check("[fe80::1%lo]:7000", "[fe80::1%1]:7000");
        check("[fe80::1%7]:7000", "[fe80::1%7]:7000");
        check("[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:1");
        check(":7000", "127.0.0.1:7000");
        check("7000", "127.0.0.1:7000");
        check("localhost:7000", "name localhost 7000");
        check("om-1.example.com.", "name om-1.example.com. 9862");
        check("host_name", "name host_name 9862");
    }

    #[test]
    fn every_bad_address_is_named_and_told_what_is_allowed() {
        check("", "empty");
        check("[::1", "not closed");
        check("[::1]7000", "only :PORT");
        check("[127.0.0.1]:7000", "is none");
        check("[localhost]:7000", "is none");
        check("[]:7000", "is none");
        check("1:2:3", "is none");
        check("localhost:7000:7000", "is none");
        check("http://localhost:7000", "is none");
        check("[fe80::1%nope]:7000", "no network interface `nope`");
        check("[fe80::1%]:7000", "no network interface ``");
        check("127.0.0.1:", "the port ``");
        check("127.0.0.1:65536", "allowed: 0 to 65535");
        check("127.0.0.1:-1", "the port `-1`");
        check("127.0.0.1:+1", "the port `+1`");
        check("99999999999", "allowed: 0 to 65535");
        check("127.0.0:7000", "complete IPv4");
        check("256.0.0.1:7000", "complete IPv4");
        check("a b:7000", "no host name");
        check("a..b:7000", "empty or too long");
        check(&"x".repeat(300), "empty or too long");
        check("\u{1b}[31m\n", "\\u{1b}[31m\\n");
        check("é:1", "no host name");
    }

    #[test]
    fn loopback_is_found_by_every_name_it_has() {
        let addresses = resolve("localhost:7000", DEFAULT).unwrap();
        assert!(addresses.iter().all(|a| is_loopback(a) && a.port() == 7000), "{addresses:?}");
        assert!(is_loopback(&"[::ffff:127.0.0.1]:1".parse().unwrap()));
        assert!(!is_loopback(&"0.0.0.0:1".parse().unwrap()));
    }

    #[test]
    fn a_scope_cannot_name_a_path() {
        for scope in ["", "0", ".", "..", "../lo", "a/b", "99999999999", "sixteen-letters-"] {
            assert_eq!(interface_index(scope), None, "{scope:?}");
        }
        assert_eq!(interface_index("12"), Some(12));
    }
}
