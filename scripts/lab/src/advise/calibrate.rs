//! Measuring what each stage takes: one reader, at light load and saturated.

use super::demands::{Demands, Observation, Origin, StageDemand};
use super::options::AdviseOptions;
use crate::process::{Programs, Server, client};
use crate::simulate::options::CallerOrder;
use anyhow::{Context, Result};
use echo_common::growing_time::GrowingTime;
use echo_common::quantity::format_duration;
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;

/// A measured run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Run {
    /// How many readers, connections and callers.
    pub(super) readers: u64,
    pub(super) clients: u64,
    pub(super) callers: u64,
    pub(super) calls_per_s: f64,
    pub(super) mean_us: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    /// The busiest reader, on a CPU or ready to run.
    pub(super) reader_busy_share: Option<f64>,
    pub(super) reader: Observation,
    /// None without handlers.
    pub(super) handler: Option<Observation>,
    pub(super) client: Observation,
    pub(super) handlers: u64,
    pub(super) workers: u64,
    /// What other processes, and the hypervisor, took of all CPUs.
    pub(super) others_share: Option<f64>,
    /// What the server says of its synthetic costs.
    pub(super) costs: Option<String>,
    /// Bytes of payload in a call.
    pub(super) payload: f64,
}

impl Run {
    /// Whether the host was busy with something else: then rates are too low, though CPU times
    /// are not.
    pub(super) fn is_disturbed(&self) -> bool {
        self.others_share.is_some_and(|share| share > OTHERS_MAX)
    }
}

/// What others may take of all CPUs.
const OTHERS_MAX: f64 = 0.05;

/// Runs the pair at three loads with one reader; gives the runs, light load first.
pub(super) fn calibrate(programs: &Programs, options: &AdviseOptions) -> Result<Vec<Run>> {
    let (clients, callers) = (options.clients, options.threads);
    let mut loads = vec![(1, 1), (clients.min(callers), clients.min(callers)), (clients, callers)];
    loads.dedup();
    let server = start(programs, options, 1)?;
    let runs = loads
        .into_iter()
        .map(|(clients, callers)| measure(programs, &server, options, 1, clients, callers))
        .collect::<Result<Vec<Run>>>()?;
    server.stop()?;
    Ok(runs)
}

/// Runs the pair once, with all callers.
pub(super) fn run_with(programs: &Programs, options: &AdviseOptions, readers: u64) -> Result<Run> {
    let server = start(programs, options, readers)?;
    let run = measure(programs, &server, options, readers, options.clients, options.threads)?;
    server.stop()?;
    Ok(run)
}

fn start(programs: &Programs, options: &AdviseOptions, readers: u64) -> Result<Server> {
    let own = ["--readers".to_owned(), readers.to_string()];
    Ok(Server::start(programs, own.iter().chain(&options.server_options))?)
}

fn measure(
    programs: &Programs,
    server: &Server,
    options: &AdviseOptions,
    readers: u64,
    clients: u64,
    callers: u64,
) -> Result<Run> {
    let mut words = vec![
        format!("--clients={clients}"),
        format!("--threads={callers}"),
        format!("--payload={}", options.payload),
        format!("--duration={}", format_duration(options.duration)),
        format!("--warmup={}", format_duration(WARMUP)),
    ];
    if options.callers == CallerOrder::Turns {
        words.push("--callers=turns".to_owned());
    }
    let report = client(programs, server.address(), words)?;
    let run = read(&report, readers, clients, callers);
    run.map_err(anyhow::Error::msg).context("a demand cannot be told")
}

const WARMUP: Duration = Duration::from_millis(300);

/// What a client's report says of a run; the error names what is missing.
fn read(
    report: &Value,
    readers: u64,
    clients: u64,
    callers: u64,
) -> std::result::Result<Run, String> {
    let number =
        |path: &str| report.pointer(path).and_then(Value::as_f64).ok_or_else(|| missing(path));
    let threads =
        |path: &str| report.pointer(path).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let reader_threads = threads("/server/readers");
    let handler_threads = threads("/server/handlers");
    let worker_threads = threads("/workers");
    let busiest = reader_threads.iter().filter_map(|thread| thread["busy_share"].as_f64());
    Ok(Run {
        readers,
        clients,
        callers,
        calls_per_s: number("/calls_per_s")?,
        mean_us: number("/latency_us/mean")?,
        p50_us: number("/latency_us/p50")?,
        p99_us: number("/latency_us/p99")?,
        reader_busy_share: busiest.max_by(f64::total_cmp),
        reader: observe(reader_threads).ok_or_else(|| missing("/server/readers"))?,
        handler: observe(handler_threads),
        client: Observation {
            calls_per_pass: calls_per_turn(worker_threads),
            cpu_us_per_call: number("/cpu_us_per_call/client")?,
        },
        handlers: handler_threads.len() as u64,
        workers: worker_threads.len() as u64,
        others_share: number("/verdict/others_cpu_share")
            .ok()
            .map(|others| others + number("/verdict/steal_share").unwrap_or(0.0)),
        costs: report.pointer("/server/costs").and_then(Value::as_str).map(str::to_owned),
        payload: number("/settings/payload_bytes").unwrap_or(0.0),
    })
}

fn missing(path: &str) -> String {
    format!("the client's report has no {}", path[1..].replace('/', "."))
}

/// All threads of a stage together; none if they served nothing or cannot be told.
fn observe(threads: &[Value]) -> Option<Observation> {
    let (mut calls, mut cpu_us, mut passes) = (0.0, 0.0, 0.0);
    for thread in threads {
        let own = thread["calls"].as_f64()?;
        if own > 0.0 {
            calls += own;
            cpu_us += own * thread["cpu_us_per_call"].as_f64()?;
            passes += own / thread["calls_per_batch"].as_f64()?;
        }
    }
    (calls > 0.0)
        .then(|| Observation { calls_per_pass: calls / passes, cpu_us_per_call: cpu_us / calls })
}

/// Calls in one turn of a worker's loop, on average; 1 where it cannot be told.
fn calls_per_turn(workers: &[Value]) -> f64 {
    let per_turn = |worker: &Value| {
        Some(worker["calls_per_pass"].as_f64()? * worker["passes_per_turn"].as_f64()?)
    };
    let known: Vec<f64> = workers.iter().filter_map(per_turn).collect();
    crate::stats::mean(&known).map_or(1.0, |calls| calls.max(1.0))
}

/// The demands behind some runs, light load first; none without runs.
pub(super) fn demands(runs: &[Run]) -> Option<Demands> {
    let (light, busy) = (runs.first()?, runs.last()?);
    let paced_us = |role| paced_us(busy.costs.as_deref().unwrap_or(""), role, busy.payload);
    let of = |seen: fn(&Run) -> Option<Observation>| -> Vec<Observation> {
        runs.iter().filter_map(seen).collect()
    };
    let reader = StageDemand::seen(&of(|run| Some(run.reader)), paced_us("reader"));
    let handler = StageDemand::seen(&of(|run| run.handler), paced_us("handler"));
    let client = StageDemand::seen(&of(|run| Some(run.client)), 0.0);
    // A call that meets nobody: what is left of its latency is nobody's work.
    let work_us: f64 = [Some(light.reader), light.handler, Some(light.client)]
        .into_iter()
        .flatten()
        .map(|seen| seen.cpu_us_per_call)
        .sum();
    // A busy host delays some calls by much: the median does not follow them, and the 99 % latency
    // is theirs alone.
    let alone_us = if light.is_disturbed() { light.p50_us } else { light.mean_us };
    let delay_us = alone_us - work_us - reader.paced_us - handler.paced_us;
    Some(Demands {
        origin: Origin::Measured,
        handlers: busy.handlers,
        workers: busy.workers,
        delay_us: delay_us.max(0.0),
        light_p99_us: (!light.is_disturbed()).then_some(light.p99_us),
        reader,
        handler,
        client,
    })
}

/// The mean of a paced cost in what the server says of its costs, in microseconds, for calls with
/// so many bytes: `reader spin:28us, handler paced:1ms+8us/KiB:exp (emulated)`. 0 if there is none.
fn paced_us(costs: &str, role: &str, payload: f64) -> f64 {
    let cost = costs.split(", ").find_map(|cost| cost.strip_prefix(role));
    let time = cost.and_then(|cost| cost.trim_start().strip_prefix("paced:"));
    let time = time.and_then(|rest| rest.split([':', ' ']).next());
    let mean = time.and_then(|time| time.parse::<GrowingTime>().ok());
    mean.map_or(0.0, |mean| mean.of_ns(payload) / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A report of echo-client, as far as it is looked at.
    fn report(calls_per_s: f64, reader: (f64, f64), costs: &str) -> Value {
        json!({
            "calls_per_s": calls_per_s,
            "latency_us": {"mean": 100.0, "p50": 90.0, "p99": 300.0},
            "cpu_us_per_call": {"client": 6.0, "server": 40.0},
            "workers": [{"calls_per_pass": 1.5, "passes_per_turn": 2.0}],
            "verdict": {"others_cpu_share": 0.01, "steal_share": 0.02},
            "server": {
                "costs": costs,
                "readers": [{
                    "calls": 1000, "cpu_us_per_call": reader.0, "calls_per_batch": reader.1,
                    "busy_share": 0.7
                }],
                "handlers": [
                    {"calls": 900, "cpu_us_per_call": 4.0, "calls_per_batch": 3.0},
                    {"calls": 100, "cpu_us_per_call": 14.0, "calls_per_batch": 1.0},
                    {"calls": 0, "cpu_us_per_call": null, "calls_per_batch": null}
                ]
            }
        })
    }

    #[test]
    fn a_stages_threads_count_together() {
        let run = read(&report(5000.0, (30.0, 2.0), ""), 1, 10, 20).unwrap();
        assert_eq!(run.reader, Observation { calls_per_pass: 2.0, cpu_us_per_call: 30.0 });
        let handler = Observation { calls_per_pass: 2.5, cpu_us_per_call: 5.0 };
        assert_eq!(run.handler, Some(handler));
        assert_eq!(run.client, Observation { calls_per_pass: 3.0, cpu_us_per_call: 6.0 });
        assert_eq!((run.handlers, run.workers), (3, 1));
        assert_eq!(run.reader_busy_share, Some(0.7));
        assert!(!run.is_disturbed());
    }

    #[test]
    fn a_figure_that_is_missing_is_named() {
        let mut without = report(5000.0, (30.0, 2.0), "");
        without["server"] = Value::Null;
        let error = read(&without, 1, 10, 20).unwrap_err();
        assert_eq!(error, "the client's report has no server.readers");
        let mut without = report(5000.0, (30.0, 2.0), "");
        without["latency_us"]["p99"] = Value::Null;
        let error = read(&without, 1, 10, 20).unwrap_err();
        assert_eq!(error, "the client's report has no latency_us.p99");
        assert_eq!(observe(&[]), None);
    }

    #[test]
    fn demands_come_from_the_busiest_runs_and_the_delay_from_the_lightest() {
        let light = read(&report(5000.0, (50.0, 1.0), ""), 1, 1, 1).unwrap();
        let middle = read(&report(9000.0, (34.0, 1.0), ""), 1, 10, 10).unwrap();
        let busy = read(&report(20_000.0, (30.0, 3.0), ""), 1, 10, 100).unwrap();
        let demands = demands(&[light.clone(), middle, busy]).unwrap();
        assert!((demands.reader.call_us - 28.0).abs() < 1e-9, "{:?}", demands.reader);
        assert!((demands.reader.pass_us - 6.0).abs() < 1e-9);
        assert_eq!(demands.handler.call_us, 5.0);
        assert_eq!(demands.delay_us, 100.0 - 50.0 - 5.0 - 6.0);
        assert_eq!(demands.light_p99_us, Some(300.0));
        let light = Run { others_share: Some(0.5), ..light };
        let disturbed = super::demands(&[light]).unwrap();
        assert_eq!(disturbed.delay_us, 90.0 - 50.0 - 5.0 - 6.0);
        assert_eq!(disturbed.light_p99_us, None);
        assert!(!demands.are_emulated());
        assert_eq!(super::demands(&[]), None);
    }

    #[test]
    fn emulated_costs_are_read_from_what_the_server_says() {
        let costs = "reader spin:28us, handler paced:1ms:exp (emulated)";
        let paced_us = |costs, role| paced_us(costs, role, 2048.0);
        assert_eq!((paced_us(costs, "reader"), paced_us(costs, "handler")), (0.0, 1000.0));
        assert_eq!(paced_us("handler paced:400us+8us/KiB:exp (emulated)", "handler"), 416.0);
        let costs = "reader paced:200us (emulated)";
        assert_eq!((paced_us(costs, "reader"), paced_us(costs, "handler")), (200.0, 0.0));
        assert_eq!(paced_us("reader paced:nonsense", "reader"), 0.0);
        let run = read(&report(5000.0, (3.0, 1.0), costs), 1, 10, 100).unwrap();
        let demands = demands(&[run]).unwrap();
        assert!(demands.are_emulated());
        assert_eq!(demands.delay_us, 0.0, "the emulated time is no delay");
    }
}
