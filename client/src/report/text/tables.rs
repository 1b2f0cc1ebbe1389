//! Tables of latencies: of an open loop, and of the server's stages.

use crate::options::Arrivals;
use crate::report::Report;
use crate::report::checks::Check;
use crate::report::open_loop::OpenLoopFigures;
use crate::report::page::Page;
use crate::report::stages::StageFigures;
use echo_common::quantity::grouped;

/// The head of a table of latencies.
pub(super) const TABLE_HEAD: &str =
    "us                          mean      median         95%         99%         max";

/// Whether a schedule was kept, which comes before everything else.
pub(super) fn schedule_first(page: &mut Page, report: &Report) {
    let of_records = report.records.as_ref();
    let (open, what, reached) = match (&report.open_loop, of_records) {
        (Some(open), _) => (open, "calls", report.calls_per_s),
        (None, Some(records)) => match &records.open_loop {
            Some(open) => (open, "records", records.records_per_s),
            None => return,
        },
        (None, None) => return,
    };
    let how = match open.is_reached() {
        _ if open.overloaded => ": overloaded",
        Some(false) => ": not as asked",
        Some(true) | None => "",
    };
    page.line(format!(
        "open loop: target {} {what}/s, achieved {} ({}){how}",
        rate(Some(open.target_per_s)),
        rate(reached),
        super::share(open.achieved_share)
    ));
    if of_records.is_none() && !report.unanswered {
        page.line("response times below, from when each call was due to its reply");
    }
    page.line("");
}

/// How the schedule was kept, and what latency is made of.
pub(super) fn open_loop(page: &mut Page, report: &Report, open: &OpenLoopFigures) {
    page.section("Open loop");
    if !report.unanswered {
        page.line(TABLE_HEAD);
        let rows = [
            ("response", report.response_us),
            ("= delay", report.delay_us),
            ("+ service", report.service_us),
        ];
        for (name, figures) in rows {
            let f = figures.unwrap_or_default();
            page.line(row(name, [f.mean, f.p50, f.p95, f.p99, f.max]));
        }
        page.line("");
    }
    let arrivals = match open.arrivals {
        Arrivals::Uniform => "evenly spaced".to_owned(),
        Arrivals::Poisson => format!("at random (Poisson, --seed {})", report.options.seed()),
    };
    page.field(
        "schedule",
        format!(
            "{} calls due, {arrivals}; {} of them never sent",
            grouped(open.scheduled),
            grouped(open.unsent)
        ),
    );
    let by = match report.settings.callers {
        Some(callers) => format!("the bound of {} in flight", grouped(callers as u64)),
        None => "sockets that took no more".to_owned(),
    };
    page.field(
        "held back",
        format!(
            "{} times by {by}, worst lag {:.3} ms",
            grouped(open.held_back),
            open.worst_lag_us / 1e3
        ),
    );
    page.field(
        "backlog",
        format!(
            "{} calls due and not {} at two thirds of the schedule, {} at its end",
            grouped(open.backlog_at_two_thirds),
            if report.unanswered { "written" } else { "answered" },
            grouped(open.backlog_at_end)
        ),
    );
}

/// Whether the report believes itself.
pub(super) fn checks(page: &mut Page, checks: &[Check]) {
    page.section("Checks");
    for check in checks {
        let sign = match check.ok {
            Some(true) => "ok",
            Some(false) => "NO",
            None => "unknown",
        };
        page.field(&check.name.replace('_', " "), format!("{sign}: {}", check.text));
    }
}

/// A row of figures in microseconds.
pub(super) fn row(name: &str, figures: [Option<f64>; 5]) -> String {
    figures.iter().fold(format!("{name:<20}"), |row, &us| format!("{row}{:>12}", tenths(us)))
}

fn tenths(us: Option<f64>) -> String {
    us.map_or("n/a".to_owned(), |us| format!("{us:.1}"))
}

/// A rate, with decimals where they matter.
pub(super) fn rate(rate: Option<f64>) -> String {
    match rate {
        None => "n/a".to_owned(),
        Some(rate) if rate < 1000.0 => format!("{rate:.2}"),
        Some(rate) => grouped(rate.round() as u64),
    }
}

/// Where the sampled calls spent their time.
pub(super) fn stages(page: &mut Page, stages: &StageFigures) {
    page.section("Stages");
    if stages.count == 0 {
        let why = match stages.asked {
            0 => "none: no call was picked to ask for its stage times".to_owned(),
            asked => format!("none of {} that asked brought stage times", grouped(asked)),
        };
        return page.field("sampled calls", why);
    }
    page.line(TABLE_HEAD);
    for (name, part) in stages.parts() {
        page.line(row(name, part.figures()));
    }
    page.line(row("total", stages.total.figures()));
    page.line("");
    page.field(
        "sampled calls",
        format!(
            "{}; mean of the parts {} us together, mean latency of these calls {} us, which is \
             {} of that of all calls; rest is the client and the network",
            grouped(stages.count),
            tenths(stages.sum_of_means_us()),
            tenths(stages.total.mean),
            super::share(stages.total_to_all_calls)
        ),
    );
    let lines = [
        ("overruns", stages.overruns, "whose stages were longer than they took"),
        ("late", stages.late, "that came while they were read: decoded counts from their sending"),
        ("cut", stages.cut, "with a stage above 4.29 s, which replies cannot say: see rest"),
    ];
    for (name, calls, what) in lines.into_iter().filter(|(_, calls, _)| *calls > 0) {
        page.field(name, format!("{} calls {what}", grouped(calls)));
    }
}
