//! What a run of records came to: counted by record and by call, and where their time went.

use super::open_loop::{Answered, OpenLoopFigures, Rounds};
use super::{Figures, Window, ratio};
use crate::plan::Plan;
use crate::records::{Tally, Totals};
use crate::run::RunResult;
use serde::Serialize;

/// The figures; none of a run of plain calls.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RecordFigures {
    pub(crate) streams: usize,
    pub(crate) record_bytes: usize,
    pub(crate) batch_bytes_max: u64,
    pub(crate) call_bytes_max: u64,
    pub(crate) buffer_bytes: u64,
    /// "open": records come into being by a schedule; "closed": there is always one more.
    #[serde(rename = "loop")]
    pub(crate) loop_type: &'static str,
    pub(crate) outcomes: Totals,
    pub(crate) warmup_records: u64,
    /// Came back more often than once in their reply.
    pub(crate) duplicates: u64,
    /// Came back in a reply to a call that did not have them.
    pub(crate) foreign: u64,
    /// Came back behind a later record of their stream.
    pub(crate) out_of_order: u64,
    /// Records that came back rightly in the window, and their bytes (MB are 1,000,000 bytes).
    pub(crate) records_per_s: Option<f64>,
    pub(crate) mb_per_s: Option<f64>,
    /// Of calls that were sent.
    pub(crate) bytes_per_call: Option<f64>,
    pub(crate) records_per_call: Option<f64>,
    pub(crate) records_per_batch: Option<f64>,
    pub(crate) batches_per_call: Option<f64>,
    /// From when a record was due (open) or came into being (closed) to the reading of its reply.
    pub(crate) latency_us: Figures,
    /// From then to the sending of its call; the rest is the call's.
    pub(crate) accumulator_us: Figures,
    /// How the schedule was kept.
    pub(crate) open_loop: Option<OpenLoopFigures>,
}

impl RecordFigures {
    /// How the schedule was kept, if there was one.
    pub(super) fn schedule(&self) -> Option<&OpenLoopFigures> {
        self.open_loop.as_ref()
    }

    /// Those of a run with this window.
    pub(super) fn of(plan: &Plan, run: &mut RunResult, window: &Window) -> Option<RecordFigures> {
        let settings = plan.records?;
        let workers = run.workers.iter().filter_map(|worker| worker.result.schedule);
        let schedules: Vec<_> = workers.collect();
        // Records of calls that were refused are counted with those of all error replies.
        let is_busy = run.ledger.outcomes.rejected() > 0;
        let room = settings.room_for_records(plan.connections, plan.in_flight_per_connection());
        let rounds = run
            .ledger
            .latency
            .summary()
            .map(|calls| Rounds { call_s: calls.min / 1e6, room: room as f64 });
        let tally: &mut Tally = run.ledger.records.as_mut()?;
        let totals = tally.totals;
        let rejected = if is_busy { totals.error_reply } else { 0 };
        let counted = if window.cut { tally.ok_in_window } else { totals.ok };
        let records_per_s = ratio(counted as f64, window.seconds);
        let latency = tally.latency.summary();
        let open_loop = settings.pace.map(|pace| {
            let answered = Answered {
                due: totals.created,
                seconds: window.seconds,
                ok: counted,
                mean_s: latency.map(|latency| latency.mean / 1e6),
                rejected,
                timed_out: totals.timed_out,
                rounds,
            };
            let mut figures = OpenLoopFigures::of(&pace, schedules.into_iter(), &answered);
            figures.unsent += totals.unsent;
            figures
        });
        let record_bytes = settings.record_len as f64;
        let of_calls = |sum: u64| ratio(sum as f64, tally.calls as f64);
        Some(RecordFigures {
            streams: settings.streams,
            record_bytes: settings.record_len,
            batch_bytes_max: settings.batch_bytes,
            call_bytes_max: settings.call_bytes_max,
            buffer_bytes: settings.buffer_bytes,
            loop_type: if open_loop.is_some() { "open" } else { "closed" },
            outcomes: totals,
            warmup_records: tally.warmup_records,
            duplicates: tally.duplicates,
            foreign: tally.foreign,
            out_of_order: tally.out_of_order,
            records_per_s,
            mb_per_s: records_per_s.map(|rate| rate * record_bytes / 1e6),
            bytes_per_call: of_calls(tally.sent_records).map(|records| records * record_bytes),
            records_per_call: of_calls(tally.sent_records),
            records_per_batch: ratio(tally.sent_records as f64, tally.batches as f64),
            batches_per_call: of_calls(tally.batches),
            latency_us: latency.into(),
            accumulator_us: tally.accumulator.summary().into(),
            open_loop,
        })
    }
}
