//! What to expect before anything is measured: operational laws, queueing formulas, mean value
//! analysis, and the models of the three reference experiments made of them.
//!
//! Times are in seconds and rates in calls per second, as the names say. A model's numbers are
//! predictions: whoever prints them says so.

pub mod batch;
pub mod laws;
pub mod mva;
pub mod queues;
pub mod readers;
pub mod usl;
