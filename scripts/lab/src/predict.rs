//! What the models say of an experiment's points. Written before the measurement, and printed
//! beside it.

mod keyed;
mod window;

use crate::experiment::{Experiment, Group, Mode, OptionSet, Point, Scalar, Side};
use crate::model::readers::{CallerOrder, Demand, System, Times};
use echo_common::quantity::duration;
use serde::{Deserialize, Serialize};

/// Models that a group may name: the pair with readers; the dispatch by key, as the law of its
/// cycle and in virtual time; the law of a window of calls in flight.
pub const MODELS: [&str; 4] = ["readers", "cycle", "keyed", "window"];

/// One point predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// Its group.
    pub group: String,
    /// Its line.
    pub line: String,
    /// The knob's value.
    pub at: Scalar,
    /// Calls per second.
    pub calls_per_s: f64,
    /// Mean response time, where the model knows it.
    pub response_us: Option<f64>,
    /// What limits.
    pub binds: String,
    /// Where the curve along the knob bends, if the model's curve has such a place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<Knee>,
}

/// Where a law stops to rise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// The knob's value; the knob may have none such.
    pub at: f64,
    /// Calls per second there.
    pub calls_per_s: f64,
}

/// What a call takes of each stage on this host, from a run with one reader that keeps it busy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// CPU time of the readers per call.
    pub reader_us: f64,
    /// Of everything else in the server.
    pub handler_us: f64,
    /// Of the client.
    pub client_us: f64,
}

/// Predicts every point of every group that names a model, as far as it can be told.
pub fn predict(
    experiment: &Experiment,
    calibration: Option<&Calibration>,
    cores: u64,
) -> Vec<Predicted> {
    let modelled = experiment.groups.iter().filter(|group| group.model.is_some());
    let of_group = |group: &Group| {
        let points = group.points().into_iter().filter(|point| !point.twin);
        let one = |point: Point| {
            match group.model.as_deref() {
                Some("cycle") => return keyed::cycle(group.mode, &point),
                Some("keyed") => return keyed::simulated(group.mode, &point),
                Some("window") => return window::law(group, &point),
                _ => {}
            }
            let system = system(group.mode, &point.options, calibration, cores)?;
            let predicted = system.predict();
            Some(Predicted {
                group: point.group,
                line: point.line,
                at: point.at,
                calls_per_s: predicted.calls_per_s,
                response_us: Some(predicted.response_s * 1e6),
                binds: word(predicted.binds()),
                knee: None,
            })
        };
        points.filter_map(one).collect::<Vec<_>>()
    };
    modelled.flat_map(of_group).collect()
}

/// The model's pair for these options; none without what it needs to know.
fn system(
    mode: Mode,
    options: &OptionSet,
    calibration: Option<&Calibration>,
    cores: u64,
) -> Option<System> {
    if mode == Mode::Simulated {
        return simulated_system(options, calibration);
    }
    let count = |side, option: &str| {
        options.get(side, option).and_then(Scalar::number).map(|number| number as u64)
    };
    let clients = count(Side::Client, "clients").unwrap_or(10);
    let callers = count(Side::Client, "threads")
        .or_else(|| Some(count(Side::Client, "in-flight")? * clients))
        .unwrap_or(clients);
    let turns = options.get(Side::Client, "callers").is_some_and(|how| how.to_string() == "turns");
    let pair = System {
        readers: count(Side::Server, "readers").unwrap_or(1),
        handlers: count(Side::Server, "handlers").unwrap_or(cores),
        workers: count(Side::Client, "workers").unwrap_or((cores / 2).max(1)),
        clients,
        callers,
        caller_order: if turns { CallerOrder::Turns } else { CallerOrder::Fixed },
        think_s: seconds(options, Side::Client, "think").unwrap_or(0.0),
        ..System::ticket(1, 1)
    };
    if mode == Mode::Paced {
        let cost = options.get(Side::Server, "reader-cost")?.to_string();
        let mut parts = cost.split(':');
        let paced = parts.next() == Some("paced");
        let mean_s = duration(parts.next()?).ok().filter(|_| paced)?.as_secs_f64();
        let times = match parts.next() {
            None | Some("det") => Times::Constant,
            Some(_) => Times::Exponential,
        };
        let reader = Demand::paced(mean_s, 0.0);
        return Some(System { reader, delay_s: 0.0, times, cores: None, ..pair });
    }
    let calibration = calibration?;
    // Calibrated without it.
    let spin_s = spin_s(options).unwrap_or(0.0);
    Some(System {
        reader: Demand::cpu(calibration.reader_us / 1e6 + spin_s),
        handler: Demand::cpu(calibration.handler_us / 1e6),
        client: Demand::cpu(calibration.client_us / 1e6),
        delay_s: 0.0,
        cores: Some(cores),
        times: Times::Exponential,
        ..pair
    })
}

/// What a reader burns by option.
fn spin_s(options: &OptionSet) -> Option<f64> {
    let cost = options.get(Side::Server, "reader-cost")?.to_string();
    let time = cost.strip_prefix("spin:")?.split(':').next()?;
    duration(time).ok().map(|time| time.as_secs_f64())
}

/// The pair that the simulator is told to be.
pub fn simulated_system(options: &OptionSet, calibration: Option<&Calibration>) -> Option<System> {
    let get = |name: &str| options.get(Side::Simulate, name);
    let count = |name: &str, otherwise: u64| match get(name) {
        Some(value) => value.number().map(|number| number as u64),
        None => Some(otherwise),
    };
    let demand = |name: &str, measured: fn(&Calibration) -> f64| match get(name) {
        Some(value) => value.number(),
        None => calibration.map(measured),
    };
    let ticket = System::ticket(count("readers", 1)?, count("clients", 10)?);
    let turns = get("callers-turn").is_none_or(|how| how.to_string() != "false");
    Some(System {
        handlers: count("handlers", ticket.handlers)?,
        workers: count("workers", ticket.workers)?,
        callers: count("callers", ticket.callers)?,
        caller_order: if turns { CallerOrder::Turns } else { CallerOrder::Fixed },
        think_s: seconds(options, Side::Simulate, "think").unwrap_or(0.0),
        reader: Demand::cpu(demand("reader-us", |c| c.reader_us)? / 1e6),
        handler: Demand::cpu(demand("handler-us", |c| c.handler_us)? / 1e6),
        client: Demand::cpu(demand("client-us", |c| c.client_us)? / 1e6),
        delay_s: get("delay-us").and_then(Scalar::number).unwrap_or(0.0) / 1e6,
        cores: get("cores").and_then(Scalar::number).map(|cores| cores as u64),
        ..ticket
    })
}

fn seconds(options: &OptionSet, side: Side, option: &str) -> Option<f64> {
    let text = options.get(side, option)?.to_string();
    duration(&text).ok().map(|time| time.as_secs_f64())
}

/// The name that an enumeration has in JSON.
fn word(stage: impl Serialize) -> String {
    match serde_json::to_value(stage) {
        Ok(serde_json::Value::String(word)) => word.replace('_', " "),
        _ => String::new(),
    }
}
