//! The report for people: freon's block first, in freon's layout, then what freon leaves out.

mod keyed;
mod load;
mod records;
mod tables;

use super::page::{NAME_WIDTH, Page, WIDTH};
use super::server::{ServerFigures, ThreadFigures};
use super::verdict::percent;
use super::{Figures, Report};
use echo_common::quantity::{counted, grouped};
use std::fmt::Write;

/// Rows of a table of threads; the busiest are shown.
const ROWS_MAX: usize = 32;

/// The report as text of at most 80 columns.
pub(crate) fn text(report: &Report) -> String {
    let mut page = Page { out: String::new() };
    freon_block(&mut page, report);
    outcomes(&mut page, report);
    load::load(&mut page, report);
    if let Some(open) = &report.open_loop {
        tables::open_loop(&mut page, report, open);
    }
    if let Some(figures) = &report.records {
        records::records(&mut page, report, figures);
    }
    if let Some(stages) = &report.stages_us {
        tables::stages(&mut page, stages);
    }
    if let Some(keys) = &report.keys {
        keyed::keys(&mut page, keys);
    }
    cpu(&mut page, report);
    if let Some(server) = &report.server {
        self::server(&mut page, server);
    }
    if let Some(why) = &report.server_missing {
        page.section("Server");
        page.field("no counters", why);
    }
    host(&mut page, report);
    tables::checks(&mut page, &report.checks);
    page.section("Verdict");
    let verdict = &report.verdict;
    page.field(verdict.bound.words(), &verdict.reason);
    page.out
}

fn freon_block(page: &mut Page, report: &Report) {
    page.line(format!("{} {}", report.date, "=".repeat(WIDTH - report.date.len() - 1)));
    page.line("");
    if report.emulated == Some(true) {
        page.line(match report.net_delay {
            Some(_) => "emulated network delay: rates and times are not real",
            None => {
                "emulated: a stage of the server has a paced cost; rates and times are not real"
            }
        });
        page.line("");
    }
    tables::schedule_first(page, report);
    page.rule("Timers");
    page.line("rpc-payload");
    page.field("count", report.outcomes.ok);
    let per_second = |rate: f64| format!("{rate:.2} calls/second");
    page.field("mean rate", per_second(report.calls_per_s.unwrap_or(0.0)));
    let rates = [
        ("1-minute rate", report.rates.m1),
        ("5-minute rate", report.rates.m5),
        ("15-minute rate", report.rates.m15),
    ];
    for (name, rate) in rates {
        if let Some(rate) = rate {
            page.field(name, per_second(rate));
        }
    }
    match report.unanswered {
        true => page.field("latency", "none: nothing is answered (--acks 0)"),
        false => latencies(page, &report.latency_us),
    }
    page.line("");
    page.line("");
    page.line(format!("Total execution time (sec): {}", report.elapsed_s.round()));
    page.line(format!("Failures: {}", report.outcomes.not_ok()));
    page.line(format!("Successful executions: {}", report.outcomes.ok));
    if let Some(expected) = report.options.calls().filter(|_| report.outcomes.not_ok() > 0) {
        page.line(format!(
            "Expected {expected} executions, {} were successful",
            report.outcomes.ok
        ));
    }
    load::ending(page, report);
}

fn latencies(page: &mut Page, latency: &Figures) {
    let ms = |us: Option<f64>| match us {
        Some(us) => format!("{:.3} milliseconds", us / 1e3),
        None => "n/a".to_owned(),
    };
    page.field("min", ms(latency.min));
    page.field("max", ms(latency.max));
    page.field("mean", ms(latency.mean));
    page.field("stddev", ms(latency.stddev));
    page.field("median", ms(latency.p50));
    let shares = [
        ("75%", latency.p75),
        ("95%", latency.p95),
        ("98%", latency.p98),
        ("99%", latency.p99),
        ("99.9%", latency.p999),
    ];
    for (name, us) in shares {
        page.line(format!("{name:>NAME_WIDTH$} <= {}", ms(us)));
    }
}

fn outcomes(page: &mut Page, report: &Report) {
    let counts = &report.outcomes;
    page.section("Outcomes");
    page.field("started", grouped(counts.started));
    let parts = [
        ("ok", counts.ok),
        ("mismatch", counts.mismatch),
        ("error reply", counts.error_reply),
        ("timed out", counts.timed_out),
        ("connection lost", counts.connection_lost),
        ("abandoned", counts.abandoned),
    ];
    for (name, calls) in parts {
        page.field(name, grouped(calls));
    }
    let sum: u64 = parts.iter().map(|part| part.1).sum();
    page.field("sum", format!("{} of {} started", grouped(sum), grouped(counts.started)));
    let apart = format!(
        "late replies {}, unexpected replies {}, warm-up calls {}",
        grouped(report.late_replies),
        grouped(report.unexpected_replies),
        grouped(report.warmup_calls)
    );
    page.field("apart", apart);
    if report.warmup_failed > 0 {
        page.field("warm-up failed", grouped(report.warmup_failed));
    }
    for error in &report.errors {
        let mut text = counted(error.calls, "call");
        if error.connections > 0 {
            let _ = write!(text, ", {}", counted(error.connections, "connection"));
        }
        if let Some(words) = &error.text {
            let _ = write!(text, ": {words}");
        }
        page.field(&error.cause, text);
    }
    for call in &report.faulty_calls {
        page.field(call.what.words(), call);
    }
    for note in &report.notes {
        page.field("note", note);
    }
}

fn cpu(page: &mut Page, report: &Report) {
    page.section("CPU");
    let us = |value: Option<f64>| value.map_or("n/a".to_owned(), |us| format!("{us:.2} us"));
    page.field("client per call", us(report.cpu_us_per_call.client));
    page.field("server per call", us(report.cpu_us_per_call.server));
    if let (Some(ceiling), Some(used), Some(cpus)) = (
        report.host.cpu_ceiling_calls_per_s,
        report.host.pair_share(),
        report.host.host.cpus_online,
    ) {
        page.field(
            "ceiling",
            format!(
                "{} calls/second if all {cpus} CPUs did nothing else; this run used {} of them",
                grouped(ceiling as u64),
                percent(used)
            ),
        );
    }
    page.line("");
    page.line(format!(
        "{:<16}{:>16}{:>10}{:>10}{:>10}{:>14}",
        "client thread", "calls", "busy", "on CPU", "waiting", "calls/pass"
    ));
    for worker in report.workers.iter().take(ROWS_MAX) {
        page.line(format!(
            "{:<16}{:>16}{:>10}{:>10}{:>10}{:>14}",
            worker.name,
            grouped(worker.started),
            share(worker.busy_share),
            share(worker.cpu_share),
            share(worker.wait_share),
            decimal(worker.calls_per_pass)
        ));
    }
}

fn server(page: &mut Page, server: &ServerFigures) {
    page.section("Server");
    if let Some(faults) = &server.faults {
        page.field("faults injected", faults.escape_debug());
    }
    if let Some(costs) = &server.costs {
        page.field("stage costs", costs.escape_debug());
        page.line("");
    }
    thread_table(page, "reader", "connections", &server.readers, |thread| {
        thread.connections.map_or("n/a".to_owned(), grouped)
    });
    if !server.handlers.is_empty() {
        page.line("");
        thread_table(page, "handler", "pinned to", &server.handlers, |thread| {
            thread.pinned_cpu.map_or("-".to_owned(), |cpu| format!("CPU {cpu}"))
        });
        page.line("");
        page.field(
            "handlers",
            format!(
                "{} of their time busy on average",
                share(server.handlers_mean(|handler| handler.busy_share))
            ),
        );
    }
    if let Some(queue) = &server.queue {
        page.field(
            "call queue",
            format!(
                "at most {} of {} places used since the server's start; full {}, {} rejected",
                grouped(queue.depth_max),
                grouped(queue.capacity),
                counted(queue.full_waits, "time"),
                counted(queue.rejected, "call")
            ),
        );
    }
    if let Some(dispatch) = &server.dispatch {
        keyed::dispatch(page, dispatch);
    }
    page.field(
        "per call",
        format!(
            "{} wake-ups, {} context switches, {} system calls (reads, writes and polls)",
            decimal(server.wakeups_per_call),
            decimal(server.context_switches_per_call),
            decimal(server.system_calls_per_call)
        ),
    );
    for (limit, acted) in &server.limits {
        let limit = printable(limit, 40);
        page.field("limit", format!("{limit} acted {}", counted(*acted, "time")));
    }
}

fn thread_table(
    page: &mut Page,
    role: &str,
    last_column: &str,
    threads: &[ThreadFigures],
    last: impl Fn(&ThreadFigures) -> String,
) {
    page.line(format!(
        "{role:<16}{:>16}{:>10}{:>10}{:>14}{last_column:>14}",
        "calls", "busy", "on CPU", "calls/wake-up"
    ));
    for thread in threads.iter().take(ROWS_MAX) {
        page.line(format!(
            "{:<16}{:>16}{:>10}{:>10}{:>14}{:>14}",
            printable(&thread.name, 15),
            grouped(thread.calls),
            share(thread.busy_share),
            share(thread.cpu_share),
            decimal(thread.calls_per_wakeup),
            last(thread)
        ));
    }
    if threads.len() > ROWS_MAX {
        page.line(format!("... and {} more", threads.len() - ROWS_MAX));
    }
}

fn host(page: &mut Page, report: &Report) {
    page.section("Host");
    let host = &report.host.host;
    let unknown = || "unknown".to_owned();
    page.field(
        "machine",
        format!(
            "{}, {} CPUs online, allowed {}, kernel {}",
            host.cpu_model.clone().unwrap_or_else(unknown),
            host.cpus_online.map_or_else(unknown, |cpus| cpus.to_string()),
            host.cpus_allowed,
            host.kernel.clone().unwrap_or_else(unknown)
        ),
    );
    let load = report.host.load.as_ref();
    page.field(
        "CPUs",
        format!(
            "busy {} (client {}, server {}, others {}), stolen {}",
            share(load.and_then(|load| load.busy_share)),
            share(report.host.client_cpu_share),
            share(report.host.server_cpu_share),
            share(report.host.others_share()),
            share(load.and_then(|load| load.steal_share))
        ),
    );
    if let Some(switches) = report.host.client_involuntary_switches {
        page.field("workers", format!("put aside for others {}", counted(switches, "time")));
    }
}

fn share(share: Option<f64>) -> String {
    share.map_or("n/a".to_owned(), percent)
}

fn decimal(value: Option<f64>) -> String {
    value.map_or("n/a".to_owned(), |value| format!("{value:.2}"))
}

/// A name as the server sent it, safe to print and short.
fn printable(name: &str, most: usize) -> String {
    name.escape_debug().take(most).collect()
}
