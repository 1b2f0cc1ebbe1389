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
