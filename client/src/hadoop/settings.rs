//! What the options of Hadoop RPC come to, and which of them do not go together.

use super::service::Service;
use super::user::login_name;
use crate::options::{Acks, ClientIds, HadoopEcho, Options, Protocol, Verify};
use echo_common::quantity::format_size;
use echo_common::wire::hadoop::packet::PACKET_MAX_DEFAULT;
use thiserror::Error;

/// What a run was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) service: Service,
    pub(crate) user: String,
    /// Whether all connections have one client id and one counter of calls.
    pub(crate) shares_client_id: bool,
    /// Whether the bytes of replies are compared; their length always is.
    pub(crate) compares: bool,
    /// The longest packet that is taken, by its length word; 0 is no limit.
    pub(crate) reply_max: u32,
}

/// Why options are refused. Each is one line.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum HadoopError {
    #[error("{0} is for --protocol hadoop; with --protocol native it means nothing")]
    NotNative(&'static str),
    #[error("--stages is for --protocol native: a reply of Hadoop RPC has no room for stage times")]
    Stages,
    #[error("--keys is for --protocol native: calls of Hadoop RPC have no keys")]
    Keys,
    #[error("--acks is for --protocol native: calls of Hadoop RPC cannot ask for it")]
    Acks,
    #[error("--hadoop-echo is for --service om; allowed with --service {0}: not given")]
    NoEcho(Service),
    #[error(
        "--payload-resp {reply_len}: {service} returns the payload of the call; allowed: \
         {payload_len}, the --payload"
    )]
    Echoes { service: String, payload_len: u64, reply_len: u64 },
    #[error("{0} {1}: allowed with --protocol hadoop: at most {PAYLOAD_MAX} bytes")]
    Payload(&'static str, u64),
    #[error(
        "--payload-resp {}: with their headers such replies are longer than --max-reply-size {}; \
         allowed: a larger one, or 0 for no limit",
        format_size(*.reply_len), format_size(*.reply_max)
    )]
    Reply { reply_len: u64, reply_max: u64 },
}

/// What a packet's length word leaves beside headers.
const PAYLOAD_MAX: u64 = i32::MAX as u64 - (4 << 10);
/// Bytes of a reply beside its payload; servers may send more.
const REPLY_HEAD: u64 = 64;

impl Settings {
    /// Those of a run in Hadoop's framing; none if it speaks the native one.
    pub(crate) fn of(options: &Options) -> Result<Option<Settings>, HadoopError> {
        if options.protocol == Protocol::Native {
            return refuse_all(options).map(|()| None);
        }
        if options.stages.is_some() {
            return Err(HadoopError::Stages);
        }
        if options.keys.is_some() {
            return Err(HadoopError::Keys);
        }
        if options.acks != Acks::One {
            return Err(HadoopError::Acks);
        }
        let service = options.service.clone().unwrap_or(Service::Om);
        if service != Service::Om && options.hadoop_echo.is_some() {
            return Err(HadoopError::NoEcho(service));
        }
        let reply_max = options.max_reply_size.unwrap_or(u64::from(PACKET_MAX_DEFAULT));
        let echoes = service != Service::Om || options.hadoop_echo == Some(HadoopEcho::Payload);
        check_lengths(options, &service, echoes, reply_max)?;
        Ok(Some(Settings {
            service,
            user: options.user.clone().unwrap_or_else(login_name),
            shares_client_id: options.client_id == Some(ClientIds::Shared),
            compares: echoes && options.verify == Verify::Full,
            reply_max: reply_max as u32,
        }))
    }
}

fn refuse_all(options: &Options) -> Result<(), HadoopError> {
    let given = [
        ("--service", options.service.is_some()),
        ("--user", options.user.is_some()),
        ("--client-id", options.client_id.is_some()),
        ("--hadoop-echo", options.hadoop_echo.is_some()),
        ("--max-reply-size", options.max_reply_size.is_some()),
    ];
    match given.into_iter().find(|&(_, is_given)| is_given) {
        Some((name, _)) => Err(HadoopError::NotNative(name)),
        None => Ok(()),
    }
}

fn check_lengths(
    options: &Options,
    service: &Service,
    echoes: bool,
    reply_max: u64,
) -> Result<(), HadoopError> {
    let payload_len = options.payload;
    let reply_len = options.payload_resp.unwrap_or(payload_len);
    if echoes && reply_len != payload_len {
        let service = match service {
            Service::Om => "--hadoop-echo payload".to_owned(),
            other => format!("--service {other}"),
        };
        return Err(HadoopError::Echoes { service, payload_len, reply_len });
    }
    for (name, len) in [("--payload", payload_len), ("--payload-resp", reply_len)] {
        if len > PAYLOAD_MAX {
            return Err(HadoopError::Payload(name, len));
        }
    }
    if reply_max > 0 && reply_len + REPLY_HEAD > reply_max {
        return Err(HadoopError::Reply { reply_len, reply_max });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn of(arguments: &str) -> Result<Option<Settings>, HadoopError> {
        let words = std::iter::once("echo-client").chain(arguments.split_whitespace());
        Settings::of(&Options::parse_from(words))
    }

    fn hadoop(arguments: &str) -> Settings {
        of(&format!("--protocol hadoop {arguments}")).unwrap().unwrap()
    }

    #[test]
    fn bytes_are_compared_where_the_service_returns_them() {
        for (arguments, compares) in [
            ("", false),
            ("--hadoop-echo size", false),
            ("--hadoop-echo payload", true),
            ("--service test", true),
            ("--service my.Echo:1", true),
            ("--service test --verify none", false),
        ] {
            assert_eq!(hadoop(arguments).compares, compares, "{arguments}");
        }
    }

    #[test]
    fn what_is_not_said_is_as_freon_and_java_have_it() {
        assert_eq!(of(""), Ok(None));
        let settings = hadoop("");
        assert_eq!((&settings.service, settings.shares_client_id), (&Service::Om, false));
        assert_eq!((settings.reply_max, settings.user), (128 << 20, login_name()));
        let settings = hadoop("--user alice --client-id shared --max-reply-size 0");
        assert_eq!((&*settings.user, settings.shares_client_id), ("alice", true));
        assert_eq!(settings.reply_max, 0);
    }

    #[test]
    fn what_does_not_go_together_is_refused_with_what_is_allowed() {
        for (arguments, expected) in [
            ("--user alice", "--user is for --protocol hadoop"),
            ("--max-reply-size 1k", "--max-reply-size is for --protocol hadoop"),
            ("--protocol hadoop --stages 5", "--stages is for --protocol native"),
            ("--protocol hadoop --keys 500", "--keys is for --protocol native"),
            ("--protocol hadoop --service test --hadoop-echo size", "--hadoop-echo is for"),
            ("--protocol hadoop --service test --payload-resp 5", "allowed: 128, the --payload"),
            ("--protocol hadoop --hadoop-echo payload --payload-resp 5", "allowed: 128"),
            ("--protocol hadoop --payload 2GiB", "at most 2147479551"),
            ("--protocol hadoop --payload-resp 128MiB", "--max-reply-size 128MiB"),
            ("--protocol hadoop --max-reply-size 4", "--max-reply-size 4B"),
            (
                "--protocol hadoop --payload-resp 3GiB --max-reply-size 0",
                "--payload-resp 3221225472: allowed",
            ),
        ] {
            let text = of(arguments).unwrap_err().to_string();
            assert!(text.contains(expected) && !text.contains("  "), "{arguments}: {text}");
        }
        assert_eq!(hadoop("--payload-resp 1GiB --max-reply-size 0").reply_max, 0);
    }
}
