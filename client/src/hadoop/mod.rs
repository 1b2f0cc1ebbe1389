//! Hadoop RPC version 9 from the side of a client that makes many calls. The bytes are those of
//! `echo_common::wire::hadoop`; here is what a run makes of them.
//!
//! - `service`: what can be called, and how a call's message and its reply's look.
//! - `settings`: what the options come to, and which do not go together.
//! - `calls`: what all calls of a run have in common: payload, message, user, client ids.
//! - `conversation`: one connection, from the preamble to the replies.
//! - `user`: whose name it is done in.
//!
//! As Hadoop's own client it opens a connection with preamble and context, which are not answered,
//! counts its calls from 0 on, takes replies in any order, ends one call with an ERROR and all of
//! a connection with a FATAL. Unlike that client it sends no pings, does not repeat a call (the
//! retry count is always 0) or open a lost connection again, and a reply to a call that was never
//! made is counted, where the original gives up the connection.

mod calls;
mod conversation;
mod service;
mod settings;
mod user;

pub(crate) use calls::Calls;
pub(crate) use conversation::{Conversation, Ending};
pub(crate) use service::Service;
pub(crate) use settings::{HadoopError, Settings};
