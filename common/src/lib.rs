//! What echo-server and echo-client agree on. Names neither program.

pub mod address;
pub mod cgroup;
pub mod clock;
pub mod cpu_time;
pub mod date;
pub mod growing_time;
pub mod host;
pub mod open_files;
pub mod pinning;
pub mod quantity;
pub mod signals;
pub mod socket_io;
pub mod timer;
pub mod wire;
