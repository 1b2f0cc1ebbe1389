//! How many readers does it take? From what each stage takes of a call, measured or given, to the
//! number of readers for a target, the stage that binds next, what one more reader buys, or why no
//! number works.
//!
//! The rules are those of operational analysis: the busiest reader no busier than [`BUSY_MAX`] at
//! the target, the 99 % latency within its bound, the CPU time of all calls within [`CORES_MAX`] of
//! the cores, callers enough. Rates of each number of readers come from
//! [`crate::model::readers`].

mod answer;
mod calibrate;
mod check;
pub mod command;
mod demands;
pub mod options;
mod text;

pub use answer::{Advice, Answer, Question, Row, answer};
pub use demands::{Demands, Origin, StageDemand};

/// A reader, or a handler, that is busier than this at the target queues too much.
pub const BUSY_MAX: f64 = 0.7;
/// What calls may use of all cores at the target.
pub const CORES_MAX: f64 = 0.85;
