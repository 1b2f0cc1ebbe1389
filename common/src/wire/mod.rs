//! Bytes to frames and back: same bytes, same answer. No socket, no thread and no clock in here.

pub mod detect;
pub mod digest;
pub mod hadoop;
pub mod native;
pub mod split;
