//! What was called, how, and over which connections.

use crate::options::{ClientIds, Verify};
use crate::report::page::Page;
use crate::report::{EndedBy, Report};
use echo_common::quantity::{format_duration, format_size, grouped};
use std::time::Duration;

const CLOSED_LOOP: &str = "; latency is from the sending of a call to the reading of its reply; \
    min, max and mean are exact, percentiles to 0.1 %";
const OPEN_LOOP: &str = "open: calls are sent by a schedule, whether earlier ones were answered or \
    not; latency is the response time, from when a call was due to the reading of its reply; min, \
    max and mean are exact, percentiles to 0.1 %";
const WRITTEN: &str = "nothing is answered, so that a call is done, and latency ends, when its \
    last byte has been written; min, max and mean are exact, percentiles to 0.1 %";
const UNANSWERED: &str = "a call is done when its last byte has been written, so that the rate is \
    that at which sockets take them; nothing is answered, and there is no latency";

pub(super) fn load(page: &mut Page, report: &Report) {
    let settings = &report.settings;
    page.section("Load");
    page.field("loop", loop_words(report));
    if let Some(delay) = &report.net_delay {
        page.field("network", delay.words());
    }
    let connect = &report.connect_us;
    let ms = |us: Option<f64>| us.map_or("n/a".to_owned(), |us| format!("{:.3}", us / 1e3));
    page.field(
        "connections",
        format!(
            "{}, set up before the clock started; each took {} ms on average, 99% {} ms, max {} ms",
            grouped(settings.connections as u64),
            ms(connect.mean),
            ms(connect.p99),
            ms(connect.max)
        ),
    );
    page.field("callers", callers_words(report));
    if let Some(hadoop) = &settings.hadoop {
        let ids = match hadoop.client_id {
            ClientIds::Own => "each connection has a client id of its own",
            ClientIds::Shared => "all connections have one client id",
        };
        let (service, user) = (&hadoop.service, hadoop.user.escape_debug());
        let text = format!("Hadoop RPC version 9, service {service}, user {user}; {ids}");
        page.field("protocol", text);
    }
    let check = match settings.verify {
        _ if !report.options.are_answered() => "nothing is answered, and nothing checked",
        Verify::Full => "every byte compared",
        Verify::None => "only id and length checked",
    };
    let payload = match (settings.payload_bytes, settings.reply_payload_bytes) {
        (Some(out), None) => format!("{} out; {check} (--verify is off)", format_size(out)),
        (Some(out), Some(back)) => {
            format!("{} out, {} back, {check}", format_size(out), format_size(back))
        }
        _ => format!("records, {check}"),
    };
    page.field("payload", payload);
    let little = &report.little;
    let number = |value: Option<f64>| value.map_or("n/a".to_owned(), |v| format!("{v:.3}"));
    if report.unanswered {
        let on_average = number(little.mean_in_flight);
        return page.field("in flight", format!("{on_average} begun and not written, on average"));
    }
    page.field(
        "in flight",
        format!(
            "{} on average, measured; rate x mean latency = {}, ratio {}",
            number(little.mean_in_flight),
            number(little.x_times_r),
            number(little.ratio)
        ),
    );
}

/// What is to be known of the window that the mean rate is of, and why it ended early.
pub(super) fn ending(page: &mut Page, report: &Report) {
    let window = &report.window;
    let seconds = window.seconds;
    let is_schedule = report.options.has_rate();
    let early = match (window.ended_by, report.signal) {
        (EndedBy::Signal, Some(signal)) => Some(format!("Interrupted by {signal}")),
        (EndedBy::ConnectionsLost, _) => Some("Ended early by the loss of connections".to_owned()),
        (EndedBy::Failure, _) => Some("Ended early by a failure (--fail-fast)".to_owned()),
        _ => None,
    };
    if let Some(early) = early {
        page.line(format!("{early}: this is what was done until then"));
        if is_schedule {
            page.line("Calls that were not due by then count neither as made nor as missed");
        }
    }
    let what = if report.options.are_answered() { "right replies" } else { "calls written" };
    if window.ok_replies_after + window.warmup_replies > 0 {
        page.line(format!(
            "Mean rate: {} {what} in {seconds:.3} s; {} more came behind it",
            grouped(window.ok_replies),
            grouped(window.ok_replies_after)
        ));
    }
    if window.warmup_replies > 0 {
        page.line(format!(
            "Of them, of the warm-up: {}, begun before the window",
            grouped(window.warmup_replies)
        ));
    }
}

fn loop_words(report: &Report) -> String {
    match (report.unanswered, &report.open_loop) {
        (true, None) => format!("none: sockets are given as much as they take; {UNANSWERED}"),
        (true, Some(_)) => format!("open: calls are sent by a schedule; {UNANSWERED}"),
        _ if !report.options.are_answered() => format!("calls with records; {WRITTEN}"),
        (false, Some(_)) => OPEN_LOOP.to_owned(),
        (false, None) => {
            let think_us = report.settings.think_time_us;
            let think = format_duration(Duration::from_micros(think_us));
            let when = match think_us {
                0 => "as soon as its call has ended (think time 0)".to_owned(),
                _ => format!("{think} after the end of its call (think time)"),
            };
            format!("closed: a caller calls again {when}{CLOSED_LOOP}")
        }
    }
}

fn callers_words(report: &Report) -> String {
    let settings = &report.settings;
    let workers = settings.workers;
    let (Some(callers), Some(in_flight)) = (settings.callers, settings.in_flight_per_connection)
    else {
        return format!(
            "none: nobody waits for an answer, and -t and --in-flight mean nothing; worker \
             threads: {workers}"
        );
    };
    let how = if settings.callers_rotate {
        "going from connection to connection".to_owned()
    } else {
        format!("at most {in_flight} in flight on a connection")
    };
    let at_most = if report.open_loop.is_some() { "at most " } else { "" };
    format!("{at_most}{}, {how}; worker threads: {workers}", grouped(callers as u64))
}
