//! echo-client as a process, against servers that answer rightly, wrongly, late or not at all.

mod acks;
mod connecting;
mod counts;
mod endings;
mod faults;
mod followers;
mod hadoop;
mod injected;
mod keys;
mod kit;
mod named;
mod net_delay;
mod open_loop;
mod order;
mod outputs;
mod pair;
mod readme;
mod records;
mod reports;
mod unanswered;
mod usage;
