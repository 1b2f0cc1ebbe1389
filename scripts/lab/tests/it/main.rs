//! The lab as a program, with the real pair.

mod hadoop;
mod kit;
mod running;
mod usage;
