//! Every measured record ends in exactly one outcome, and the sums prove it.

use super::call::{Content, Fate, Findings};
use super::stream::Run;
use crate::latency::Latency;
use crate::outcome::Failure;
use serde::Serialize;

/// Measured records by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Totals {
    /// They came into being; each is in one of the others when the run is over.
    pub(crate) created: u64,
    /// They came back as they were sent.
    pub(crate) ok: u64,
    /// They came back with other bytes.
    pub(crate) wrong_bytes: u64,
    /// Their call was answered without them.
    pub(crate) missing: u64,
    pub(crate) error_reply: u64,
    pub(crate) timed_out: u64,
    pub(crate) connection_lost: u64,
    pub(crate) abandoned: u64,
    /// They waited when the run ended, or when their connection was lost.
    pub(crate) unsent: u64,
}

/// What a worker counted of its records.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(crate) totals: Totals,
    /// Came back more often than once in their reply.
    pub(crate) duplicates: u64,
    /// Came back in a reply to a call that did not have them.
    pub(crate) foreign: u64,
    /// Came back behind a later record of their stream.
    pub(crate) out_of_order: u64,
    pub(crate) warmup_records: u64,
    /// Right records that came back inside the window, whenever they were sent.
    pub(crate) ok_in_window: u64,
    /// Of records that are ok: from when they were due or came into being to the reading of their
    /// reply, and to the sending of their call.
    pub(crate) latency: Latency,
    pub(crate) accumulator: Latency,
    /// Measured calls that were sent, and what they held.
    pub(crate) calls: u64,
    pub(crate) batches: u64,
    pub(crate) sent_records: u64,
}

impl Tally {
    pub(super) fn new() -> Tally {
        Tally {
            totals: Totals::default(),
            duplicates: 0,
            foreign: 0,
            out_of_order: 0,
            warmup_records: 0,
            ok_in_window: 0,
            latency: Latency::new(),
            accumulator: Latency::new(),
            calls: 0,
            batches: 0,
            sent_records: 0,
        }
    }

    pub(super) fn created(&mut self, records: u64, measured: bool) {
        match measured {
            true => self.totals.created += records,
            false => self.warmup_records += records,
        }
    }

    pub(super) fn sent(&mut self, call: &Content) {
        if call.is_measured() {
            self.calls += 1;
            self.batches += call.batches.len() as u64;
            self.sent_records += call.records as u64;
        }
    }

    /// All records of a call are right.
    pub(super) fn ok(&mut self, call: &Content, sent_ns: u64, now_ns: u64, in_window: bool) {
        for run in &call.runs {
            self.right(*run, sent_ns, now_ns, in_window);
        }
    }

    /// Some are not.
    pub(super) fn damaged(
        &mut self,
        call: &Content,
        found: &Findings,
        sent_ns: u64,
        now_ns: u64,
        in_window: bool,
    ) {
        let runs = call.runs.iter().flat_map(|run| std::iter::repeat_n(*run, run.records));
        for (run, fate) in runs.zip(&found.fates) {
            let measured = u64::from(run.measured);
            match fate {
                Fate::Right => {
                    self.right(Run { records: 1, ..run }, sent_ns, now_ns, in_window);
                }
                Fate::WrongBytes => self.totals.wrong_bytes += measured,
                Fate::Missing => self.totals.missing += measured,
            }
        }
        self.duplicates += found.duplicates;
        self.foreign += found.foreign;
        self.out_of_order += found.out_of_order;
    }

    /// The call ended otherwise, and all its records with it.
    pub(super) fn failed(&mut self, call: &Content, failure: Failure) {
        let records = call.measured_records();
        let totals = &mut self.totals;
        *match failure {
            Failure::Mismatch => &mut totals.missing,
            Failure::ErrorReply(_) => &mut totals.error_reply,
            Failure::TimedOut => &mut totals.timed_out,
            Failure::Lost(_) => &mut totals.connection_lost,
            Failure::Abandoned => &mut totals.abandoned,
        } += records;
    }

    fn right(&mut self, run: Run, sent_ns: u64, now_ns: u64, in_window: bool) {
        let records = run.records as u64;
        if in_window {
            self.ok_in_window += records;
        }
        if run.measured {
            self.totals.ok += records;
            self.latency.record_all(now_ns.saturating_sub(run.due_ns), records);
            self.accumulator.record_all(sent_ns.saturating_sub(run.due_ns), records);
        }
    }

    /// Completes the recorders; done once, when the worker has ended.
    pub(super) fn settle(&mut self) {
        self.latency.settle();
        self.accumulator.settle();
        let totals = &self.totals;
        assert_eq!(totals.created, totals.ended(), "every record has one outcome: {totals:?}");
    }

    /// Adds another worker's, which is settled.
    pub(crate) fn add(&mut self, other: &Tally) {
        self.totals.add(&other.totals);
        self.duplicates += other.duplicates;
        self.foreign += other.foreign;
        self.out_of_order += other.out_of_order;
        self.warmup_records += other.warmup_records;
        self.ok_in_window += other.ok_in_window;
        self.latency.add(&other.latency);
        self.accumulator.add(&other.accumulator);
        self.calls += other.calls;
        self.batches += other.batches;
        self.sent_records += other.sent_records;
    }
}

impl Totals {
    /// Records that have an outcome.
    pub(crate) fn ended(&self) -> u64 {
        self.ok + self.failed() + self.unsent
    }

    /// Records that were sent and did not come back rightly.
    pub(crate) fn failed(&self) -> u64 {
        self.wrong_bytes
            + self.missing
            + self.error_reply
            + self.timed_out
            + self.connection_lost
            + self.abandoned
    }

    fn add(&mut self, other: &Totals) {
        self.created += other.created;
        self.ok += other.ok;
        self.wrong_bytes += other.wrong_bytes;
        self.missing += other.missing;
        self.error_reply += other.error_reply;
        self.timed_out += other.timed_out;
        self.connection_lost += other.connection_lost;
        self.abandoned += other.abandoned;
        self.unsent += other.unsent;
    }
}
