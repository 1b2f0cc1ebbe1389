//! Hadoop RPC version 9 as bytes, both sides.
//!
//! ```text
//! client: preamble | packet, packet, ...      packet: i32 length | what follows
//!   context  call header (-3)  | IpcConnectionContextProto
//!   call     call header (>=0) | method header | message
//!   ping     call header (-4)
//!   SASL     call header (-33) | RpcSaslProto
//! server: packet, packet, ...
//!   reply    reply header | message, when it is a SUCCESS
//! ```
//! Headers and messages each stand behind their own length, a varint. Numbers outside of them are
//! big-endian.
//!
//! A server follows [`conversation`] and answers by [`reply`] and [`fault`]; a client writes and
//! reads by [`client`]. [`service`] has what is served, message by message in [`om`], [`testrpc`]
//! and [`echo`].
//!
//! Where ours is meant to differ from the original:
//! - A SASL client that chooses a method which is not to be had is refused as unauthorized. The
//!   original tells it SUCCESS, and then refuses its context; or, behind a negotiation, that
//!   nobody asked for SASL. One that chooses SIMPLE is told SUCCESS and may go on.
//! - A SASL token out of turn is refused; the original closes without a word.
//! - An empty user name and a proxy user are taken; the original closes without a word, or
//!   refuses who is not configured.
//! - Texts have no stack trace, and repeat at most 1 KiB of a name from the wire.
//! - An Ozone Manager's commands other than EchoRPC are answered as not supported. Numbers of
//!   commands and states that its enums do not list are taken; a length that a call asks for
//!   is bounded.

pub mod call;
pub mod client;
pub mod context;
pub mod conversation;
pub mod echo;
pub mod fault;
pub mod fields;
pub mod header;
pub mod method;
pub mod om;
pub mod packet;
pub mod preamble;
pub mod reply;
pub mod sasl;
pub mod service;
pub mod testrpc;
pub mod varint;
