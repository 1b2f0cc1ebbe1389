//! Options of the dispatch by key, checked together.

use crate::cost::{Cost, StageCosts};
use crate::keyed::KeyedDispatch;
use crate::ordered_log::ReadLimit;
use crate::stage_clock::Stall;
use clap::{Args, ValueEnum};
use echo_common::quantity::{
    count_in, counted, duration_in, format_duration, format_size, size_in,
};
use std::time::Duration;

/// How calls come from the readers to the handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Dispatch {
    /// All handlers take from one queue.
    Shared,
    /// One thread confirms calls in the order of their arrival, one deals them out by key.
    Keyed,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Do it.
    On,
    /// Leave it.
    Off,
}

/// The most that a batch may hold, calls and bytes, as it is by default.
const BATCH: u64 = 500;
const BATCH_BYTES: u64 = 5 << 20;
/// Several of the largest batches that pay.
const LOG_CAPACITY: u64 = 10_000;
/// As many as a Pulsar consumer's receiver queue.
const HANDLER_QUEUE: u64 = 1000;
const STALL_MIN: Duration = Duration::from_millis(1);
const STALL_MAX: Duration = Duration::from_secs(3600);

/// See the module's text. All but `--dispatch` need `--dispatch keyed`.
#[derive(Debug, Args)]
pub struct KeyedOptions {
    /// How calls reach the handlers: `shared` is one queue for all of them; `keyed` sends calls
    /// through a serial stage and a dispatcher, and executes those of one key in order on one
    /// handler.
    #[arg(long, env = "ECHO_SERVER_DISPATCH", default_value = "shared", help_heading = KEYED)]
    pub dispatch: Dispatch,
    /// Most calls that the dispatcher reads at once (Pulsar's dispatcherMaxReadBatchSize)
    /// [default: 500].
    #[arg(long, env = "ECHO_SERVER_DISPATCH_BATCH", value_parser = count_in(1..=1_000_000))]
    #[arg(allow_hyphen_values = true, help_heading = KEYED)]
    pub dispatch_batch: Option<u64>,
    /// Most bytes that it reads at once, but at least one call [default: 5MiB].
    #[arg(long, env = "ECHO_SERVER_DISPATCH_MAX_BYTES", value_parser = size_in(1..=1 << 40))]
    #[arg(allow_hyphen_values = true, help_heading = KEYED)]
    pub dispatch_max_bytes: Option<u64>,
    /// Confirmed calls that may wait for the dispatcher; then the serial stage waits
    /// [default: 10000].
    #[arg(long, env = "ECHO_SERVER_LOG_CAPACITY", value_parser = count_in(1..=100_000_000))]
    #[arg(allow_hyphen_values = true, help_heading = KEYED)]
    pub log_capacity: Option<u64>,
    /// Calls that may wait for each handler; a full one holds the dispatcher back [default: 1000].
    #[arg(long, env = "ECHO_SERVER_HANDLER_QUEUE", value_parser = count_in(1..=100_000_000))]
    #[arg(allow_hyphen_values = true, help_heading = KEYED)]
    pub handler_queue: Option<u64>,
    /// Whether a read that came out short goes on at the serial stage, and its dispatch there, too
    /// [default: off].
    #[arg(long, env = "ECHO_SERVER_EXTEND_READS", value_name = "ON|OFF", help_heading = KEYED)]
    pub extend_reads: Option<Switch>,
    /// What the serial stage pays for each call [default: nothing].
    #[arg(long, env = "ECHO_SERVER_SERIAL_COST", value_name = "COST", help_heading = KEYED)]
    #[arg(value_parser = Cost::without_payload)]
    pub serial_cost: Option<Cost>,
    /// What each read of the ordered log costs [default: nothing].
    #[arg(long, env = "ECHO_SERVER_LOG_READ_COST", value_name = "COST", help_heading = KEYED)]
    #[arg(value_parser = Cost::without_payload)]
    pub log_read_cost: Option<Cost>,
    /// What each call costs that is read from it [default: nothing].
    #[arg(long, env = "ECHO_SERVER_LOG_CALL_COST", value_name = "COST", help_heading = KEYED)]
    #[arg(value_parser = Cost::without_payload)]
    pub log_call_cost: Option<Cost>,
    /// What each call costs that is dispatched [default: nothing].
    #[arg(long, env = "ECHO_SERVER_DISPATCH_COST", value_name = "COST", help_heading = KEYED)]
    #[arg(value_parser = Cost::without_payload)]
    pub dispatch_cost: Option<Cost>,
    /// What lies between a dispatch and the next read, beside handing the calls out
    /// [default: nothing].
    #[arg(long, env = "ECHO_SERVER_DISPATCH_GAP", value_name = "COST", help_heading = KEYED)]
    #[arg(value_parser = Cost::without_payload)]
    pub dispatch_gap: Option<Cost>,
    /// The serial stage does nothing for --stall so often [default: never].
    #[arg(long, env = "ECHO_SERVER_STALL_EVERY", value_name = "TIME", help_heading = KEYED)]
    #[arg(value_parser = duration_in(STALL_MIN..=STALL_MAX), allow_hyphen_values = true)]
    #[arg(requires = "stall")]
    pub stall_every: Option<Duration>,
    /// How long such a stall lasts, less than --stall-every.
    #[arg(long, env = "ECHO_SERVER_STALL", value_name = "TIME", help_heading = KEYED)]
    #[arg(value_parser = duration_in(STALL_MIN..=STALL_MAX), allow_hyphen_values = true)]
    #[arg(requires = "stall_every")]
    pub stall: Option<Duration>,
}

const KEYED: &str = "Dispatch by key";

impl KeyedOptions {
    /// The dispatch by key, if that was chosen; an option without it is an error.
    pub(super) fn dispatch(&self, handlers: usize) -> Result<Option<KeyedDispatch>, String> {
        if self.dispatch == Dispatch::Shared {
            return match self.given() {
                Some(option) => Err(format!("{option} needs --dispatch keyed, which is not given")),
                None => Ok(None),
            };
        }
        if handlers == 0 {
            return Err("--dispatch keyed with --handlers 0: nobody to dispatch to; allowed are \
                 1 to 4,096 handlers"
                .into());
        }
        let limit = ReadLimit {
            calls: self.dispatch_batch.unwrap_or(BATCH) as u32,
            bytes: self.dispatch_max_bytes.unwrap_or(BATCH_BYTES) as usize,
        };
        let extend_reads = self.extend_reads == Some(Switch::On);
        Ok(Some(KeyedDispatch { limit, extend_reads }))
    }

    /// An option that has no meaning without the dispatch by key.
    fn given(&self) -> Option<&'static str> {
        let given = [
            ("--dispatch-batch", self.dispatch_batch.is_some()),
            ("--dispatch-max-bytes", self.dispatch_max_bytes.is_some()),
            ("--log-capacity", self.log_capacity.is_some()),
            ("--handler-queue", self.handler_queue.is_some()),
            ("--extend-reads", self.extend_reads.is_some()),
            ("--serial-cost", self.serial_cost.is_some()),
            ("--log-read-cost", self.log_read_cost.is_some()),
            ("--log-call-cost", self.log_call_cost.is_some()),
            ("--dispatch-cost", self.dispatch_cost.is_some()),
            ("--dispatch-gap", self.dispatch_gap.is_some()),
            ("--stall-every", self.stall_every.is_some()),
        ];
        given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
    }

    /// The costs of these stages beside `others`.
    pub(super) fn costs(&self, others: StageCosts) -> Result<StageCosts, String> {
        let stall = match (self.stall_every, self.stall) {
            (Some(every), Some(length)) if length < every => Some(Stall { every, length }),
            (Some(every), Some(length)) => {
                let [length, every] = [length, every].map(format_duration);
                return Err(format!(
                    "--stall {length}: allowed is less than --stall-every {every}"
                ));
            }
            _ => None,
        };
        Ok(StageCosts {
            serial: self.serial_cost,
            log_read: self.log_read_cost,
            log_call: self.log_call_cost,
            dispatch: self.dispatch_cost,
            gap: self.dispatch_gap,
            stall,
            ..others
        })
    }

    pub(super) fn log_capacity(&self) -> usize {
        self.log_capacity.unwrap_or(LOG_CAPACITY) as usize
    }

    pub(super) fn handler_queue(&self) -> usize {
        self.handler_queue.unwrap_or(HANDLER_QUEUE) as usize
    }
}

/// Says how calls are dispatched, if not as usual.
pub(super) fn note(keyed: &KeyedDispatch, handlers: usize) -> String {
    format!(
        "dispatch by key: batches of at most {} calls and {}, over {}; \
         reads are {}extended",
        keyed.limit.calls,
        format_size(keyed.limit.bytes as u64),
        counted(handlers as u64, "handler"),
        if keyed.extend_reads { "" } else { "not " },
    )
}

#[cfg(test)]
mod tests {
    use crate::options::{Options, Plan};
    use clap::Parser;

    fn plan(arguments: &str) -> Result<Plan, String> {
        let arguments = ["echo-server"].into_iter().chain(arguments.split_whitespace());
        let options = Options::try_parse_from(arguments).map_err(|error| error.to_string())?;
        options.plan(&[0, 1])
    }

    #[test]
    fn calls_are_dispatched_by_key_only_where_that_is_asked() {
        assert_eq!(plan("").unwrap().config.keyed, None);
        let plan = plan("--dispatch keyed --handlers 20").unwrap();
        let keyed = plan.config.keyed.unwrap();
        assert_eq!((keyed.limit.calls, keyed.limit.bytes), (500, 5 << 20));
        assert!(!keyed.extend_reads);
        assert_eq!(plan.config.limits.log_capacity, 10_000);
        assert_eq!(plan.config.limits.handler_queue, 1000);
        assert!(plan.notes.iter().any(|note| note.contains("dispatch by key")), "{:?}", plan.notes);
    }

    #[test]
    fn options_of_the_dispatch_by_key_are_refused_without_it() {
        for option in [
            "--dispatch-batch=9",
            "--dispatch-max-bytes=1k",
            "--log-capacity=9",
            "--handler-queue=9",
            "--extend-reads=off",
            "--serial-cost=spin:1us",
            "--log-read-cost=spin:1us",
            "--log-call-cost=spin:1us",
            "--dispatch-cost=spin:1us",
            "--dispatch-gap=paced:1us",
            "--stall-every=1s --stall=20ms",
        ] {
            let why = plan(option).err().expect("a refusal");
            let name = option.split('=').next().unwrap();
            assert!(why.starts_with(name) && why.contains("--dispatch keyed"), "{why}");
            assert!(plan(&format!("--dispatch keyed {option}")).is_ok(), "{option}");
        }
    }

    #[test]
    fn what_cannot_work_together_is_said_in_one_line() {
        for (arguments, names) in [
            ("--handlers 0", "--handlers 0"),
            ("--stall-every 1s --stall 1s", "less than --stall-every 1s"),
            ("--stall-every 1s", "--stall"),
            ("--stall 1s", "--stall-every"),
            ("--dispatch-batch 0", "1 to 1,000,000"),
            ("--stall-every 1s --stall 0", "1ms to"),
        ] {
            let why = plan(&format!("--dispatch keyed {arguments}")).err().expect("a refusal");
            assert!(why.contains(names), "{arguments}: {why}");
        }
    }

    #[test]
    fn every_cost_is_described_and_a_paced_one_is_emulated() {
        let costs =
            |arguments: &str| plan(&format!("--dispatch keyed {arguments}")).unwrap().config.costs;
        let all = costs(
            "--serial-cost spin:1us --log-read-cost spin:2us --log-call-cost spin:3us \
             --dispatch-cost spin:4us --dispatch-gap spin:5us --stall-every 1s --stall 20ms",
        );
        assert!(!all.are_emulated());
        assert_eq!(
            all.describe().unwrap(),
            "serial spin:1us, log read spin:2us, log call spin:3us, dispatch spin:4us, \
             gap spin:5us, serial stalls 20ms every 1s"
        );
        assert!(costs("--dispatch-gap paced:100us").are_emulated());
    }
}
