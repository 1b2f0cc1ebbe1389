//! Hadoop RPC as this server speaks it: what is decided for all its connections, and what is
//! remembered of each.

use echo_common::wire::hadoop::context::Context;
use echo_common::wire::hadoop::fault::{NAME_MAX, Package};
use echo_common::wire::hadoop::service::Services;

/// What is decided for all connections of Hadoop RPC.
#[derive(Clone, Debug)]
pub struct Hadoop {
    /// Where clients look for the classes of failures.
    pub package: Package,
    /// What is served.
    pub services: Services,
    /// What becomes of a call that is rejected because the call queue is full.
    pub busy: Busy,
}

/// What becomes of a call that finds the call queue full, where it is rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Busy {
    /// It fails, the connection stays.
    #[default]
    Error,
    /// The connection ends, as Hadoop's back-off has it.
    Fatal,
}

/// A client as its connection context describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    protocol: Option<Box<[u8]>>,
}

impl Client {
    /// What answers may need of a context.
    pub fn of(context: &Context) -> Client {
        let protocol = context.protocol.map(|name| name[..name.len().min(NAME_MAX)].into());
        Client { protocol }
    }

    /// The protocol that the connection was opened for, at most [`NAME_MAX`] bytes of its name.
    pub fn protocol(&self) -> Option<&[u8]> {
        self.protocol.as_deref()
    }
}
