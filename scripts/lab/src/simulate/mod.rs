//! The pair in virtual time, for cores that this host does not have: discrete events on one
//! agenda, seeded, so that the same setup always gives the same figures.
//!
//! Three pipelines share the event core: [`pipeline`] is the server's own topology, [`keyed`] the
//! serial dispatcher of the read-batch experiment, [`window`] one muted connection of the in-flight
//! experiment. Whoever prints their figures says "simulated".

pub mod agenda;
pub mod command;
mod cores;
pub mod keyed;
pub mod law;
pub mod numbers;
pub mod options;
pub mod pipeline;
mod tally;
pub mod window;

pub use tally::ResponseTimes;
