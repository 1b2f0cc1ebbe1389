//! Every started call ends in exactly one outcome, and the sums prove it.

use crate::call_table::EndedCall;
use crate::edges::Edges;
use crate::faulty::{FaultyCalls, RecordName, Wrong};
use crate::intervals::Part;
use crate::keys::{KeyFindings, Keys};
use crate::latency::Latency;
use crate::reason::Reason;
use crate::records::Tally;
use crate::reply_reader::printable;
use crate::stages::StageTimes;
use echo_common::wire::native::{Execution, Held, Stages};
use std::collections::BTreeMap;

mod failure;
pub(crate) use failure::{Failure, LostKind};

/// What one worker counted. A call of the warm-up appears only in the `warmup_` fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcomes {
    pub(crate) started: u64,
    pub(crate) ok: u64,
    pub(crate) mismatch: u64,
    /// By the reason that the server gave.
    pub(crate) error_replies: BTreeMap<Reason, u64>,
    pub(crate) timed_out: u64,
    pub(crate) lost: BTreeMap<LostKind, u64>,
    pub(crate) abandoned: u64,
    pub(crate) warmup_calls: u64,
    pub(crate) warmup_ok: u64,
    pub(crate) warmup_failed: u64,
    /// Replies to calls that had timed out; not outcomes.
    pub(crate) late_replies: u64,
    /// Replies to calls that were never made or had been answered; not outcomes.
    pub(crate) unexpected_replies: u64,
    /// Right replies that said themselves that too few held the call; not outcomes.
    pub(crate) early_acks: u64,
    /// Replies behind that of a later call, where the server promises order; not outcomes.
    pub(crate) overtaken: u64,
    /// Executions out of their key's order, or by another handler; not outcomes.
    pub(crate) key_violations: u64,
    /// Connections that were lost, by cause.
    pub(crate) connections_lost: BTreeMap<LostKind, u64>,
}

impl Outcomes {
    /// Calls that the server answered with an error.
    pub(crate) fn error_reply(&self) -> u64 {
        self.error_replies.values().sum()
    }

    /// Calls that the server refused because it was too busy.
    pub(crate) fn rejected(&self) -> u64 {
        let busy = self.error_replies.iter().filter(|(reason, _)| reason.is_too_busy());
        busy.map(|(_, calls)| calls).sum()
    }

    /// Calls that were in flight on a connection when it was lost.
    pub(crate) fn connection_lost(&self) -> u64 {
        self.lost.values().sum()
    }

    /// Measured calls that ended in any way but `ok`.
    pub(crate) fn not_ok(&self) -> u64 {
        self.mismatch
            + self.error_reply()
            + self.timed_out
            + self.connection_lost()
            + self.abandoned
    }

    /// Measured calls that have ended. Equal to `started` when none is in flight.
    pub(crate) fn ended(&self) -> u64 {
        self.ok + self.not_ok()
    }

    /// Whether anything at all went wrong, in the warm-up too.
    pub(crate) fn all_well(&self) -> bool {
        self.not_ok() == 0
            && self.warmup_failed == 0
            && self.unexpected_replies == 0
            && self.key_violations == 0
            && self.early_acks == 0
            && self.overtaken == 0
            && self.connections_lost.is_empty()
    }

    fn count_error_reply(&mut self, reason: Reason, calls: u64) {
        let replies = &mut self.error_replies;
        let is_new = replies.len() >= REASONS_MAX && !replies.contains_key(&reason);
        *replies.entry(if is_new { Reason::Other } else { reason }).or_default() += calls;
    }

    /// Adds another worker's counts.
    pub(crate) fn add(&mut self, other: &Outcomes) {
        self.started += other.started;
        self.ok += other.ok;
        self.mismatch += other.mismatch;
        self.timed_out += other.timed_out;
        self.abandoned += other.abandoned;
        self.warmup_calls += other.warmup_calls;
        self.warmup_ok += other.warmup_ok;
        self.warmup_failed += other.warmup_failed;
        self.late_replies += other.late_replies;
        self.unexpected_replies += other.unexpected_replies;
        self.key_violations += other.key_violations;
        self.early_acks += other.early_acks;
        self.overtaken += other.overtaken;
        for (&reason, &count) in &other.error_replies {
            self.count_error_reply(reason, count);
        }
        add_each(&mut self.lost, &other.lost);
        add_each(&mut self.connections_lost, &other.connections_lost);
    }
}

fn add_each<K: Ord + Copy>(into: &mut BTreeMap<K, u64>, from: &BTreeMap<K, u64>) {
    for (&key, count) in from {
        *into.entry(key).or_default() += count;
    }
}

/// What a ledger keeps beyond outcomes and latency.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extras {
    /// Stage times of sampled calls.
    pub(crate) stages: bool,
    /// The two parts of an open loop's latency.
    pub(crate) open_loop: bool,
}

/// The parts of an open loop's latency, of calls that ended `ok`.
#[derive(Clone, Debug)]
pub(crate) struct OpenTimes {
    /// From the sending of a call to the reading of its reply.
    pub(crate) service: Latency,
    /// From when a call was due to its sending.
    pub(crate) delay: Latency,
}

/// Outcomes and latencies of one worker. Every call passes `started` once and one of the others
/// once.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    pub(crate) outcomes: Outcomes,
    /// What calls do at the ends of the window; the worker shows it the window.
    pub(crate) edges: Edges,
    /// Latency of calls that ended `ok`, in an open loop from when they were due; since the last
    /// part was taken.
    pub(crate) latency: Latency,
    /// Its parts, in an open loop.
    pub(crate) open_times: Option<Box<OpenTimes>>,
    /// Time to the failure of calls that ended otherwise; never mixed with the former.
    pub(crate) failure_latency: Latency,
    /// Where sampled calls spent their time, if any were to be sampled.
    pub(crate) stage_times: Option<Box<StageTimes>>,
    /// The first reply that came too early, in words.
    pub(crate) early_ack: Option<String>,
    /// What became of records, if calls carried some; set when the worker has ended.
    pub(crate) records: Option<Box<Tally>>,
    /// The first words that came with each reason of an error reply, safe to print.
    pub(crate) error_texts: BTreeMap<Reason, String>,
    /// The keys of the worker's calls, if calls have keys.
    pub(crate) keys: Option<Box<Keys>>,
    /// What other workers' keys came to.
    pub(crate) key_findings: KeyFindings,
    /// Which calls went wrong.
    pub(crate) faulty: FaultyCalls,
    /// Calls ended `ok` and otherwise that are in parts already.
    given: (u64, u64),
    /// When the first measured call was started.
    pub(crate) first_start_ns: Option<u64>,
    /// When the last measured call ended, and when the last one ended `ok`.
    pub(crate) last_end_ns: Option<u64>,
    pub(crate) last_ok_ns: Option<u64>,
}

impl Ledger {
    /// A ledger of a worker that has started nothing.
    pub(crate) fn new(extras: Extras) -> Ledger {
        Ledger {
            outcomes: Outcomes::default(),
            edges: Edges::new(),
            latency: Latency::new(),
            open_times: extras
                .open_loop
                .then(|| Box::new(OpenTimes { service: Latency::new(), delay: Latency::new() })),
            failure_latency: Latency::new(),
            stage_times: extras.stages.then(|| Box::new(StageTimes::new())),
            early_ack: None,
            records: None,
            error_texts: BTreeMap::new(),
            keys: None,
            key_findings: KeyFindings::default(),
            faulty: FaultyCalls::default(),
            given: (0, 0),
            first_start_ns: None,
            last_end_ns: None,
            last_ok_ns: None,
        }
    }

    /// Counts calls that are started now.
    #[inline]
    pub(crate) fn started(&mut self, calls: u64, measured: bool, now_ns: u64) {
        if measured {
            self.outcomes.started += calls;
            self.first_start_ns.get_or_insert(now_ns);
        } else {
            self.outcomes.warmup_calls += calls;
        }
    }

    /// Ends `calls` calls that were sent together with their right replies.
    pub(crate) fn ok(&mut self, call: EndedCall, calls: u64, now_ns: u64) {
        if call.measured {
            self.outcomes.ok += calls;
            self.edges.ok(call.sent_ns, calls, now_ns);
            self.latency.record_all(now_ns.saturating_sub(call.due_ns), calls);
            if let Some(times) = &mut self.open_times {
                times.service.record_all(now_ns.saturating_sub(call.sent_ns), calls);
                times.delay.record_all(call.sent_ns.saturating_sub(call.due_ns), calls);
            }
        } else {
            self.outcomes.warmup_ok += calls;
            self.edges.other(call.sent_ns, calls, now_ns);
        }
    }

    /// Ends calls that nobody answers: their last bytes were written until `now_ns`.
    pub(crate) fn written(&mut self, measured: u64, warmup: u64, now_ns: u64) {
        self.outcomes.ok += measured;
        self.outcomes.warmup_ok += warmup;
        self.edges.written(measured, now_ns);
        if measured > 0 {
            self.last_ok_ns = Some(now_ns);
            self.last_end_ns = Some(now_ns);
        }
    }

    /// Ends a call with the right reply, which says who executed it.
    #[inline]
    pub(crate) fn executed(&mut self, call: EndedCall, id: u64, by: Execution, now_ns: u64) {
        self.ok(call, 1, now_ns);
        if let Some(keys) = &mut self.keys {
            self.outcomes.key_violations += u64::from(!keys.executed(call.key, id, by));
        }
    }

    /// Counts a second reply to one call.
    pub(crate) fn duplicate(&mut self) {
        if let Some(keys) = &mut self.keys {
            keys.findings.duplicates += 1;
        }
    }

    /// The reply to the call `id` came behind that of a later one.
    #[cold]
    pub(crate) fn overtaken(&mut self, id: u64, record: Option<RecordName>) {
        self.outcomes.overtaken += 1;
        self.faulty.name(Wrong::Overtaken, id, record);
    }

    /// Notes how many held the call `id`, with its first record, when it was answered.
    pub(crate) fn held(&mut self, id: u64, record: Option<RecordName>, held: Held) {
        if held.holders < held.needed {
            self.outcomes.early_acks += 1;
            self.faulty.name(Wrong::EarlyAck, id, record);
            self.early_ack.get_or_insert_with(|| {
                let Held { holders, needed, .. } = held;
                format!("call {id:#x} was answered when {holders} held it, and {needed} had to")
            });
        }
    }

    /// Notes where a call that has ended `ok` spent its time.
    pub(crate) fn staged(&mut self, call: EndedCall, stages: &Stages, now_ns: u64) {
        if let Some(times) = self.stage_times.as_mut().filter(|_| call.measured) {
            times.record(stages, now_ns.saturating_sub(call.sent_ns));
        }
    }

    /// Right replies so far, as (measured, all).
    #[inline]
    pub(crate) fn answered(&self) -> (u64, u64) {
        (self.outcomes.ok, self.outcomes.ok + self.outcomes.warmup_ok)
    }

    /// After a pass of reading that ended at `now_ns`: notes when measured calls last ended, and
    /// returns how many right replies there were since `before`.
    #[inline]
    pub(crate) fn note_answers(&mut self, before: (u64, u64), now_ns: u64) -> u64 {
        let after = self.answered();
        if after.0 > before.0 {
            self.last_ok_ns = Some(now_ns);
            self.last_end_ns = Some(now_ns);
        }
        after.1 - before.1
    }

    /// Ends a call in any other way.
    pub(crate) fn failed(&mut self, call: EndedCall, failure: Failure, now_ns: u64) {
        if let Some(keys) = &mut self.keys {
            keys.give_back(call.key);
        }
        self.edges.other(call.sent_ns, 1, now_ns);
        if !call.measured {
            // The end of the run is no fault of the warm-up's last calls.
            if failure != Failure::Abandoned {
                self.outcomes.warmup_failed += 1;
            }
            return;
        }
        let outcomes = &mut self.outcomes;
        match failure {
            Failure::Mismatch => outcomes.mismatch += 1,
            Failure::ErrorReply(reason) => outcomes.count_error_reply(reason, 1),
            Failure::TimedOut => outcomes.timed_out += 1,
            Failure::Lost(kind) => *outcomes.lost.entry(kind).or_default() += 1,
            Failure::Abandoned => outcomes.abandoned += 1,
        }
        self.last_end_ns = Some(now_ns);
        if failure != Failure::Abandoned {
            self.failure_latency.record(now_ns.saturating_sub(call.due_ns));
        }
    }

    /// Keeps the words of the first error reply with each reason.
    pub(crate) fn error_text(&mut self, reason: Reason, text: &[u8]) {
        if self.error_texts.len() < ERROR_TEXTS_MAX {
            self.error_texts.entry(reason).or_insert_with(|| printable(text));
        }
    }

    /// Counts a lost connection.
    pub(crate) fn connection_lost(&mut self, kind: LostKind) {
        *self.outcomes.connections_lost.entry(kind).or_default() += 1;
    }

    /// Takes out what was recorded since the last time, for interval `index`.
    pub(crate) fn take_part(&mut self, index: u64, is_last: bool) -> Part {
        let (ok, failed) = (self.outcomes.ok, self.outcomes.not_ok());
        let part = Part {
            index,
            is_last,
            latency: self.latency.take(),
            ok: ok - self.given.0,
            errors: failed - self.given.1,
        };
        self.given = (ok, failed);
        part
    }

    /// So many calls asked for their stage times.
    pub(crate) fn asked_stages(&mut self, calls: u64) {
        if let Some(times) = &mut self.stage_times {
            times.asked = calls;
        }
    }

    /// Completes the recorders; done once, when the worker has ended.
    pub(crate) fn settle(&mut self) {
        self.latency.settle();
        self.failure_latency.settle();
        if let Some(times) = &mut self.stage_times {
            times.settle();
        }
        if let Some(times) = &mut self.open_times {
            times.service.settle();
            times.delay.settle();
        }
    }

    /// Adds another worker's ledger.
    pub(crate) fn add(&mut self, other: &Ledger) {
        self.outcomes.add(&other.outcomes);
        self.edges.add(&other.edges);
        self.latency.add(&other.latency);
        self.failure_latency.add(&other.failure_latency);
        if let (Some(times), Some(more)) = (&mut self.stage_times, &other.stage_times) {
            times.add(more);
        }
        if let (Some(times), Some(more)) = (&mut self.open_times, &other.open_times) {
            times.service.add(&more.service);
            times.delay.add(&more.delay);
        }
        self.early_ack = self.early_ack.take().or_else(|| other.early_ack.clone());
        match (&mut self.records, &other.records) {
            (Some(records), Some(more)) => records.add(more),
            (records @ None, Some(more)) => *records = Some(more.clone()),
            (_, None) => {}
        }
        self.faulty.add(&other.faulty);
        for (&reason, text) in &other.error_texts {
            self.error_texts.entry(reason).or_insert_with(|| text.clone());
        }
        if let Some(keys) = &other.keys {
            self.key_findings.add(&keys.findings);
        }
        self.first_start_ns = earliest(self.first_start_ns, other.first_start_ns);
        self.last_end_ns = self.last_end_ns.max(other.last_end_ns);
        self.last_ok_ns = self.last_ok_ns.max(other.last_ok_ns);
    }
}

fn earliest(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.into_iter().chain(b).min()
}

/// Reasons of error replies that are told apart; a server that invents more gets one count for
/// all others.
const REASONS_MAX: usize = 64;
/// Reasons whose words are kept.
const ERROR_TEXTS_MAX: usize = 32;

#[cfg(test)]
mod tests;
