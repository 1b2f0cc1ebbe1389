//! `lab simulate`: a row for each number of cores and readers.

use super::options::{Format, SimulateOptions};
use super::pipeline::{self, Load, Outcome, Setup, StageCost};
use crate::output;
use crate::usage::Usage;
use echo_common::quantity::grouped;
use serde::Serialize;
use std::fmt::Write as _;

/// One row: what was asked for and what came out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What was simulated.
    pub setup: Setup,
    /// What it did.
    pub outcome: Outcome,
}

/// Everything that is printed as JSON.
#[derive(Debug, Serialize)]
struct Page<'a> {
    /// Says what kind of numbers these are.
    kind: &'static str,
    rows: &'a [Row],
}

/// Runs every setup and prints what came out; gives the exit code.
pub fn run(options: &SimulateOptions) -> anyhow::Result<u8> {
    let page = simulate(options).map_err(Usage)?;
    output::print(&page)?;
    Ok(0)
}

/// Runs every setup and gives what is to be printed. The error is one line.
pub fn simulate(options: &SimulateOptions) -> Result<String, String> {
    let rows = options
        .setups()?
        .into_iter()
        .map(|setup| Ok(Row { setup, outcome: pipeline::run(&setup)? }))
        .collect::<Result<Vec<Row>, String>>()?;
    match options.format {
        Format::Text => Ok(text(&rows)),
        Format::Json => {
            let page = Page { kind: "simulated", rows: &rows };
            let json = serde_json::to_string_pretty(&page);
            Ok(json.expect("rows have only string keys and numbers") + "\n")
        }
    }
}

/// The table for people.
pub fn text(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let mut out = head(&first.setup);
    out += "\n cores  readers    calls/s   mean us    99% us  readers busy  busiest  calls/pass  \
            handlers busy  client busy  cores busy\n";
    for Row { setup, outcome } in rows {
        let cores = setup.cores.map_or("enough".to_owned(), |cores| cores.to_string());
        let response = outcome.response_us;
        let readers = outcome.readers;
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{cores:>6}  {:>7}  {:>9}  {:>8}  {:>8}  {:>12}  {:>7}  {:>10}  {:>13}  {:>11}  {:>10}",
            setup.readers,
            grouped(outcome.calls_per_s.round() as u64),
            number(response.map(|times| times.mean), 1),
            number(response.map(|times| times.p99), 1),
            percent(readers.busy_share),
            percent(readers.busiest_share),
            number(readers.calls_per_pass, 1),
            percent(outcome.handlers.busy_share),
            percent(outcome.client.busy_share),
            percent(outcome.cores_busy_share),
        );
    }
    out
}

/// What all rows have in common.
fn head(setup: &Setup) -> String {
    let mut out = format!("simulated, seed {}: {} connections, ", setup.seed, setup.clients);
    let _ = match setup.load {
        Load::Closed { callers, think_us, turns } => {
            let order = if turns { "in turn over connections" } else { "fixed to connections" };
            write!(out, "{callers} callers {order}, think {think_us} us")
        }
        Load::Open { calls_per_s, poisson } => {
            let how = if poisson { "Poisson" } else { "uniform" };
            write!(out, "open loop of {calls_per_s} calls/s, {how} arrivals")
        }
    };
    let _ = write!(
        out,
        "; {} handlers, {} client worker{}\n{}{}{}{:<9}{} us, {}\n",
        setup.handlers,
        setup.workers,
        if setup.workers == 1 { "" } else { "s" },
        stage("reader", setup.reader),
        stage("handler", setup.handler),
        stage("client", setup.client),
        "delay",
        setup.delay_us,
        setup.delay_spread,
    );
    out
}

fn stage(name: &str, cost: StageCost) -> String {
    let mut out = format!("{name:<9}{} us a call, {} us a pass", cost.call_us, cost.pass_us);
    if cost.paced_us > 0.0 {
        let _ = write!(out, ", paced {} us (emulated)", cost.paced_us);
    }
    let _ = writeln!(out, ", {}", cost.spread);
    out
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.0} %", 100.0 * share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, FromArgMatches};

    fn options(words: &[&str]) -> Result<SimulateOptions, String> {
        let command = SimulateOptions::augment_args(clap::Command::new("simulate"));
        let words = std::iter::once("simulate").chain(words.iter().copied());
        let matches = command.try_get_matches_from(words).map_err(|error| error.to_string())?;
        SimulateOptions::from_arg_matches(&matches).map_err(|error| error.to_string())
    }

    #[test]
    fn every_number_of_cores_and_readers_has_its_row() {
        let words = ["--cores", "2,8", "--readers", "1-3", "--reader-us", "28.4", "-t", "40"];
        let options = options(&[&words[..], &["--duration", "50ms"]].concat()).unwrap();
        let rows: Vec<(Option<u32>, u32)> =
            options.setups().unwrap().iter().map(|setup| (setup.cores, setup.readers)).collect();
        let expected = [2, 8].map(|cores| [1, 2, 3].map(|readers| (Some(cores), readers)));
        assert_eq!(rows, expected.concat());
        let page = simulate(&options).unwrap();
        assert!(page.starts_with("simulated, seed 1: 10 connections, 40 callers fixed"), "{page}");
        assert_eq!(page.lines().count(), 5 + 2 + 6, "{page}");
    }

    #[test]
    fn json_says_what_kind_of_numbers_these_are() {
        let options =
            options(&["--reader-us", "10", "--format", "json", "--duration", "20ms"]).unwrap();
        let page: serde_json::Value = serde_json::from_str(&simulate(&options).unwrap()).unwrap();
        assert_eq!(page["kind"], "simulated");
        let row = &page["rows"][0];
        assert!((row["outcome"]["calls_per_s"].as_f64().unwrap() - 1e5).abs() < 1e3, "{row}");
        assert!(row["outcome"]["cores_busy_share"].is_null());
        assert_eq!(row["setup"]["reader"]["call_us"], 10.0);
    }

    #[test]
    fn nonsense_is_refused_in_words() {
        assert!(options(&["--reader-us", "-3"]).is_err());
        assert!(options(&["--readers", "0"]).is_err());
        assert!(options(&["--rate", "1k", "-t", "3"]).is_err());
        let nothing = options(&[]).unwrap();
        assert!(simulate(&nothing).unwrap_err().contains("nothing takes any time"));
        let paced = options(&["--handlers", "0", "--handler-paced-us", "5"]).unwrap();
        assert!(simulate(&paced).unwrap_err().contains("paced handlers without handlers"));
    }
}
