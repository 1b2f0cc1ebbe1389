//! The lab as a program, with the real pair.

mod fields;
mod followers;
mod hadoop;
mod kit;
mod running;
mod usage;
