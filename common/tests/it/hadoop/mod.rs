//! Hadoop RPC version 9: what the wire promises, and what real peers said.

mod answers;
mod client;
mod conversation;
mod corpus;
mod faults;
mod golden;
mod kit;
mod negotiation;
mod promises;
mod protobuf;
mod replay;
mod schema;
mod services;
mod streams;
