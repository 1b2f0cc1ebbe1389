//! The lab as a program, with the real pair.

mod kit;
mod running;
mod usage;
