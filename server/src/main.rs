//! Thin: options, one server, stats lines, the final summary, the exit code.

use clap::Parser;
use echo_common::{pinning, signals};
use echo_server::complaints::say;
use echo_server::metrics_endpoint::MetricsEndpoint;
use echo_server::options::{Options, Plan};
use echo_server::server::{Server, ServerError};
use echo_server::snapshot::Snapshots;
use echo_server::stats_line;
use std::io::Write;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::time::Duration;

const USAGE: u8 = 2;
const CANNOT_LISTEN: u8 = 69;
const INTERNAL: u8 = 70;

fn main() -> ExitCode {
    let options = Options::parse();
    let plan = match options.plan(&pinning::allowed_cpus()) {
        Ok(plan) => plan,
        Err(why) => return fail(USAGE, &why),
    };
    if options.show_limits {
        print(&plan.config.limits_table());
        return ExitCode::SUCCESS;
    }
    match run(plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error @ ServerError::Listen { .. }) => fail(CANNOT_LISTEN, &error.to_string()),
        Err(error) => fail(INTERNAL, &error.to_string()),
    }
}

fn fail(code: u8, why: &str) -> ExitCode {
    say(why);
    ExitCode::from(code)
}

/// Writes to stdout and flushes. Nobody may be reading: a closed stdout is no reason to stop.
fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

fn run(plan: Plan) -> Result<(), ServerError> {
    let server = Server::start(plan.config)?;
    // First of all: whoever reads that we listen may stop us at once.
    let stopper = server.stopper();
    signals::on_termination(move |_| stopper.stop())?;
    let metrics = plan.metrics.map(|(address, allow)| {
        let started = MetricsEndpoint::start(address, allow, server.snapshots());
        started.map_err(|source| ServerError::Listen { address, source })
    });
    let metrics = metrics.transpose()?;
    print(&format!("listening on {}\n", server.address()));
    for note in plan.notes {
        say(note);
    }
    if let Some(metrics) = &metrics {
        say(format!("metrics on http://{}/metrics", metrics.address()));
    }
    let (stop_lines, stopped) = mpsc::channel::<()>();
    let lines = plan.stats.map(|every| {
        let snapshots = server.snapshots();
        let named = std::thread::Builder::new().name("stats".into());
        named.spawn(move || print_lines(&snapshots, every, &stopped))
    });
    let lines = lines.transpose()?;
    let last = server.join()?;
    drop(stop_lines);
    if let Some(lines) = lines {
        // It ends at the next look at the channel, and its panic would change nothing.
        let _ = lines.join();
    }
    say(stats_line::summary(&last));
    Ok(())
}

/// A line of counters every `every`, until the other end of `stopped` is dropped.
fn print_lines(snapshots: &Arc<Snapshots>, every: Duration, stopped: &mpsc::Receiver<()>) {
    let mut before = snapshots.take();
    while stopped.recv_timeout(every) == Err(mpsc::RecvTimeoutError::Timeout) {
        let now = snapshots.take();
        say(stats_line::line(&before, &now));
        before = now;
    }
}
