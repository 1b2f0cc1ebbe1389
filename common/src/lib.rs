//! What echo-server and echo-client agree on. Names neither program.

pub mod clock;
pub mod wire;
