//! Plain calls that nobody answers (`--acks 0`): a call is done when its last byte has been
//! written.
//!
//! ```text
//!  sockets that take more, or the schedule -> a batch of calls -> one_way -> socket
//! ```
//!
//! - `one_way`: a connection whose calls are done when they are written.
//! - `worker`: the event loop. The one of answered calls (`crate::worker`) knows nothing of this.
//!
//! No callers and no table of calls: what bounds a connection is what its socket takes. Calls are
//! started on it only while nothing is owed there, so that at most a batch of them waits, as ids.

mod one_way;
mod worker;

pub(crate) use worker::UnansweredWorker;
