//! The first signal stops, the second leaves.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

/// A signal that asks this process to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT, the terminal's Ctrl-C.
    Interrupt,
    /// SIGTERM, what service managers send.
    Terminate,
}

impl Signal {
    /// The exit code by convention, 128 + the signal's number: 130 or 143.
    pub fn exit_code(self) -> u8 {
        match self {
            Signal::Interrupt => 130,
            Signal::Terminate => 143,
        }
    }
}

/// Ends the process as a second signal does; for `first`, when nothing is left that it could stop.
pub fn leave(signal: Signal) {
    let number = match signal {
        Signal::Interrupt => SIGINT,
        Signal::Terminate => SIGTERM,
    };
    // It is a signal that this process handles: raising it does not fail.
    let _ = low_level::raise(number);
}

/// Calls `first` at the first SIGINT or SIGTERM, on a thread named `signals`.
///
/// A second signal of either kind ends the process at once with 130 or 143. This is the one exit
/// outside `main`, and it is taken inside the signal handler itself, so that it works whatever
/// every thread is doing, `first` included: nothing is flushed, drained or reported any more.
pub fn on_termination(first: impl FnOnce(Signal) + Send + 'static) -> io::Result<()> {
    let came_before = Arc::new(AtomicBool::new(false));
    for (number, signal) in [(SIGINT, Signal::Interrupt), (SIGTERM, Signal::Terminate)] {
        // Actions run in the order of registration: look at the flag, then raise it.
        let code = i32::from(signal.exit_code());
        flag::register_conditional_shutdown(number, code, Arc::clone(&came_before))?;
        flag::register(number, Arc::clone(&came_before))?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::Builder::new().name("signals".to_string()).spawn(move || {
        if let Some(number) = signals.forever().next() {
            first(if number == SIGINT { Signal::Interrupt } else { Signal::Terminate });
        }
    })?;
    Ok(())
}
