//! Options about Hadoop RPC.

use crate::hadoop::{Busy, Hadoop};
use clap::{Args, ValueEnum};
use echo_common::wire::hadoop::fault::Package;
use echo_common::wire::hadoop::service::{EchoProtocol, OmPayload, Services};

/// Whether Hadoop RPC is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// It is spoken.
    On,
    /// It is not: its clients are closed without a word.
    Off,
}

/// What an Ozone Manager's echo returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HadoopEcho {
    /// As many bytes as the call asks for.
    Size,
    /// The call's payload.
    Payload,
}

/// How Hadoop RPC is served.
#[derive(Debug, Args)]
#[command(next_help_heading = "Hadoop RPC")]
pub struct HadoopOptions {
    /// Whether Hadoop RPC is spoken besides the native framing, on the same port.
    #[arg(long, env = "ECHO_SERVER_HADOOP", default_value = "on", allow_hyphen_values = true)]
    pub hadoop: Switch,
    /// Package in which Hadoop clients look for the classes of failures: `ipc` for Hadoop and
    /// Ozone up to 2.1, `ipc_` for Ozone from 2.2 on [default: ipc].
    #[arg(long, env = "ECHO_SERVER_HADOOP_PACKAGE", allow_hyphen_values = true)]
    pub hadoop_package: Option<Package>,
    /// A further protocol whose method `echo` is served: one bytes or string field numbered 1, both
    /// ways; repeatable [default: none].
    #[arg(
        long,
        env = "ECHO_SERVER_HADOOP_PROTOCOL",
        value_name = "NAME:VERSION",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub hadoop_protocol: Vec<EchoProtocol>,
    /// What an Ozone Manager's echo returns: `size` the bytes that the call asks for, as the
    /// original, `payload` the call's payload [default: size].
    #[arg(long, env = "ECHO_SERVER_HADOOP_ECHO", allow_hyphen_values = true)]
    pub hadoop_echo: Option<HadoopEcho>,
    /// A Hadoop call that finds the queue full and is rejected: `error` fails the call, `fatal`
    /// ends its connection, too [default: error].
    #[arg(long, env = "ECHO_SERVER_HADOOP_BUSY", allow_hyphen_values = true)]
    pub hadoop_busy: Option<Busy>,
}

impl HadoopOptions {
    /// Whether it is spoken at all.
    pub fn is_on(&self) -> bool {
        self.hadoop == Switch::On
    }

    /// What is served; no reply is made longer than `reply_len_max` because a call asks for it.
    pub fn served(&self, reply_len_max: usize) -> Hadoop {
        Hadoop {
            package: self.hadoop_package.unwrap_or(Package::Ipc),
            services: Services {
                echo: self.hadoop_protocol.clone(),
                om_payload: match self.hadoop_echo.unwrap_or(HadoopEcho::Size) {
                    HadoopEcho::Size => OmPayload::AsAsked,
                    HadoopEcho::Payload => OmPayload::Echoed,
                },
                reply_len_max,
            },
            busy: self.hadoop_busy.unwrap_or(Busy::Error),
        }
    }
}
