//! The client of a Hadoop server: a peer that speaks bytes, and the real echo-server.

mod faults;
mod pair;
mod peer;
mod usage;
mod wire;
