//! What the run was asked to do: the options with their defaults, and what they came to.

use crate::hadoop::{self, Service};
use crate::options::{
    Acks, Arrivals, CallerOrder, ClientIds, Format, HadoopEcho, Progress, Protocol, Switch, Verify,
};
use crate::plan::Plan;
use echo_common::clock;
use echo_common::pinning::format_cpu_list;
use echo_common::quantity::format_duration;
use serde::Serialize;
use std::path::PathBuf;

/// What the options came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Settings {
    pub(crate) addresses: Vec<String>,
    pub(crate) connections: usize,
    /// Calls in flight over all connections at most; none of plain calls that nobody answers.
    pub(crate) callers: Option<usize>,
    /// Calls in flight on one connection at most; none of those, too.
    pub(crate) in_flight_per_connection: Option<usize>,
    /// Whether callers go from connection to connection.
    pub(crate) callers_rotate: bool,
    /// Between the end of a call and its caller's next one.
    pub(crate) think_time_us: u64,
    pub(crate) workers: usize,
    pub(crate) worker_cpus: Option<String>,
    /// None of calls with records, which differ.
    pub(crate) payload_bytes: Option<u64>,
    /// None of those, and of calls that nobody answers.
    pub(crate) reply_payload_bytes: Option<u64>,
    /// What is in force: bytes that need not be those of the call are not compared.
    pub(crate) verify: Verify,
    /// Under --protocol hadoop.
    pub(crate) hadoop: Option<HadoopSettings>,
    /// The limit on open files in force.
    pub(crate) open_files: u64,
}

/// What the options of Hadoop RPC came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct HadoopSettings {
    pub(crate) service: String,
    pub(crate) user: String,
    pub(crate) client_id: ClientIds,
    /// 0 for no limit.
    pub(crate) max_reply_bytes: u32,
}

/// All options as they were given or by default.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct OptionValues {
    server: String,
    clients: u64,
    threads: Option<u64>,
    in_flight: Option<u64>,
    calls: Option<u64>,
    callers: CallerOrder,
    think: String,
    rate: Option<f64>,
    arrivals: Option<Arrivals>,
    seed: u64,
    /// What of them belongs to records is none without --streams.
    streams: Option<u64>,
    record_size: Option<u64>,
    batch_bytes: Option<u64>,
    max_call_bytes: Option<u64>,
    buffer_bytes: Option<u64>,
    acks: Acks,
    net_delay: String,
    net_delay_buffer: u64,
    duration: Option<String>,
    warmup: String,
    payload: Option<u64>,
    payload_resp: Option<u64>,
    verify: Verify,
    protocol: Protocol,
    service: Option<String>,
    user: Option<String>,
    client_id: Option<ClientIds>,
    hadoop_echo: Option<HadoopEcho>,
    max_reply_size: Option<u64>,
    stages: Option<u64>,
    keys: Option<u64>,
    timeout: String,
    connect_timeout: String,
    fail_at_end: bool,
    fail_fast: bool,
    workers: Option<u64>,
    pin: Option<String>,
    format: Format,
    output: Option<String>,
    hgrm: Option<String>,
    hlog: Option<String>,
    progress: Progress,
    interval: String,
    server_stats: Switch,
}

impl OptionValues {
    /// Whether calls, or records in calls, are answered.
    pub(crate) fn are_answered(&self) -> bool {
        self.acks != Acks::None
    }

    /// What was drawn at random follows from it.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether there is a schedule.
    pub(crate) fn has_rate(&self) -> bool {
        self.rate.is_some()
    }

    /// The calls that were asked for.
    pub(crate) fn calls(&self) -> Option<u64> {
        self.calls.filter(|_| self.streams.is_none())
    }
}

pub(crate) fn settings(plan: &Plan, open_files: u64) -> Settings {
    let options = &plan.options;
    let plain = plan.records.is_none();
    let answered = !plan.is_unanswered();
    let reply_bytes = options.payload_resp.unwrap_or(options.payload);
    Settings {
        addresses: plan.addresses.iter().map(ToString::to_string).collect(),
        connections: plan.connections,
        callers: answered.then_some(plan.callers),
        in_flight_per_connection: answered.then(|| plan.in_flight_per_connection()),
        callers_rotate: plan.callers_rotate(),
        think_time_us: clock::ns(options.think) / 1000,
        workers: plan.workers,
        worker_cpus: (!plan.pins.is_empty()).then(|| format_cpu_list(&plan.pins)),
        payload_bytes: plain.then_some(options.payload),
        reply_payload_bytes: (plain && answered).then_some(reply_bytes),
        verify: if plan.verify() { Verify::Full } else { Verify::None },
        hadoop: plan.hadoop.as_ref().map(|settings| HadoopSettings {
            service: settings.service.to_string(),
            user: settings.user.clone(),
            client_id: client_ids(settings),
            max_reply_bytes: settings.reply_max,
        }),
        open_files,
    }
}

fn client_ids(settings: &hadoop::Settings) -> ClientIds {
    if settings.shares_client_id { ClientIds::Shared } else { ClientIds::Own }
}

fn shown(path: &Option<PathBuf>) -> Option<String> {
    path.as_ref().map(|path| path.display().to_string())
}

pub(crate) fn option_values(plan: &Plan) -> OptionValues {
    let options = &plan.options;
    let (hadoop, records) = (plan.hadoop.as_ref(), &options.records);
    let is_om = hadoop.is_some_and(|settings| settings.service == Service::Om);
    OptionValues {
        server: options.server.clone(),
        clients: options.clients,
        threads: options.threads,
        // Its default depends on the loop.
        in_flight: match options.threads {
            None if !plan.is_unanswered() => Some((plan.callers / plan.connections) as u64),
            _ => options.in_flight,
        },
        // freon's default is in force if nothing else ends the run.
        calls: plan.count(),
        callers: options.callers,
        think: format_duration(options.think),
        rate: options.rate,
        arrivals: options.rate.map(|_| options.arrivals),
        seed: options.seed,
        streams: records.streams,
        record_size: records.streams.map(|_| records.record_size),
        batch_bytes: records.streams.map(|_| records.batch_bytes),
        max_call_bytes: records.streams.map(|_| records.max_call_bytes),
        buffer_bytes: records.streams.map(|_| records.buffer_bytes),
        acks: options.acks,
        net_delay: format_duration(options.net_delay),
        net_delay_buffer: options.net_delay_buffer,
        duration: options.duration.map(format_duration),
        warmup: format_duration(options.warmup),
        payload: records.streams.is_none().then_some(options.payload),
        payload_resp: options.payload_resp,
        verify: options.verify,
        protocol: options.protocol,
        service: hadoop.map(|settings| settings.service.to_string()),
        user: hadoop.map(|settings| settings.user.clone()),
        client_id: hadoop.map(client_ids),
        hadoop_echo: is_om.then(|| options.hadoop_echo.unwrap_or(HadoopEcho::Size)),
        max_reply_size: hadoop.map(|settings| u64::from(settings.reply_max)),
        stages: options.stages,
        keys: options.keys,
        timeout: format_duration(options.timeout),
        connect_timeout: format_duration(options.connect_timeout),
        fail_at_end: !options.fail_fast,
        fail_fast: options.fail_fast,
        workers: options.workers,
        pin: options.pin.clone(),
        format: options.format,
        output: shown(&options.output),
        hgrm: shown(&options.hgrm),
        hlog: shown(&options.hlog),
        progress: options.progress,
        interval: format_duration(options.interval),
        server_stats: options.server_stats,
    }
}
