//! Hadoop RPC version 9: what the wire promises, and what real peers said.

mod client;
mod conversation;
mod golden;
mod kit;
mod protobuf;
mod replay;
mod schema;
mod services;
mod streams;
