//! Starting threads so that nothing about them is lost: where they run, how they end, why they die.

use crate::meters::ThreadMeter;
use crate::server::ServerError;
use echo_common::pinning;
use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// What threads say to whoever joins the server.
pub(crate) enum Report {
    /// It runs; or it runs unpinned, for a reason.
    Started(Result<(), String>),
    /// A reader or a handler has done its work.
    Ended,
    /// The others cannot make up for it.
    Died(ServerError),
    /// Somebody asked the server to stop.
    Stop,
}

/// Starts a thread whose end by panic or error is reported.
pub(crate) fn spawn(
    name: String,
    reports: mpsc::Sender<Report>,
    body: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.clone()).spawn(move || {
        let why = match catch_unwind(AssertUnwindSafe(body)) {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(panic) => last_words(&*panic),
        };
        tell(&reports, Report::Died(ServerError::ThreadDied { name, why }));
    })
}

/// Pins the calling thread if it has a CPU, and says how that went.
pub(crate) fn settle(meter: &ThreadMeter, cpu: Option<usize>, reports: &mpsc::Sender<Report>) {
    let pinned = cpu.map_or(Ok(()), pinning::pin_current_thread);
    meter.started(if pinned.is_ok() { cpu } else { None });
    let pinned = pinned.map_err(|error| format!("{} runs unpinned: {error}", meter.name));
    tell(reports, Report::Started(pinned));
}

/// Reports to whoever joins the server. Nobody listens any more once it has given up on draining.
pub(crate) fn tell(reports: &mpsc::Sender<Report>, report: Report) {
    let _ = reports.send(report);
}

/// Waits for a thread that has ended or is about to; its death was reported by itself.
pub(crate) fn join(thread: JoinHandle<()>) {
    let _ = thread.join();
}

fn last_words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "it panicked without a message".into())
}
