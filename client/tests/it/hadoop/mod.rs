//! The client of a Hadoop server, which is a peer that speaks bytes.

mod faults;
mod peer;
mod usage;
mod wire;
