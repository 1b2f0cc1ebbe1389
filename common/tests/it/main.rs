//! What the shared parts promise, seen from outside.

mod cpu_time;
mod hadoop;
mod host;
mod open_files;
mod pinning;
mod quantities;
mod signals;
mod wire;
