//! What a server has for replication: what it holds as a follower, always; and as a leader, with
//! `--followers`, the `replicator` and the door to it.

use crate::complaints::Complaints;
use crate::config::Config;
use crate::fault_injection::Injector;
use crate::handler::Acking;
use crate::holdings::Holdings;
use crate::meters::Meters;
use crate::replica_inbox::ReplicaInbox;
use crate::replication::Replication;
use crate::replicator::{HeldCall, INBOX, Replicator};
use crate::threads::{Report, settle, spawn, tell};
use echo_common::clock;
use echo_common::wire::native::BODY_MIN;
use mio::{Poll, Waker};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// See the module's text.
pub(crate) struct ReplicaRooms {
    pub(crate) holdings: Arc<Holdings>,
    leader: Option<Leader>,
}

struct Leader {
    plan: Replication,
    inbox: Arc<ReplicaInbox<HeldCall>>,
    /// Until the replicator starts.
    poll: Option<Poll>,
}

impl ReplicaRooms {
    pub(crate) fn new(plan: Option<&Replication>) -> io::Result<ReplicaRooms> {
        let leader = plan.map(|plan| {
            let poll = Poll::new()?;
            let waker = Box::new(Waker::new(poll.registry(), INBOX)?);
            let inbox = Arc::new(ReplicaInbox::new(plan.backlog, waker));
            io::Result::Ok(Leader { plan: plan.clone(), inbox, poll: Some(poll) })
        });
        let holdings = Arc::new(Holdings::new(drawn_epoch()));
        Ok(ReplicaRooms { holdings, leader: leader.transpose()? })
    }

    /// How many must hold a call with acks=all, on a server with followers.
    pub(crate) fn min_insync(&self) -> Option<u16> {
        self.leader.as_ref().map(|leader| leader.plan.min_insync)
    }

    /// What an executor needs.
    pub(crate) fn acking(&self, meters: &Arc<Meters>, config: &Config) -> Acking {
        let inbox = self.leader.as_ref().map(|leader| Arc::clone(&leader.inbox));
        let needed = self.min_insync().unwrap_or(1);
        let payload_max = config.limits.max_frame_size - BODY_MIN;
        let holdings = (Arc::clone(&self.holdings), payload_max);
        Acking::new(inbox, needed, holdings, Arc::clone(meters), Injector::new(config))
    }

    /// Starts the replicator, if there are followers.
    pub(crate) fn start(
        &mut self,
        config: &Config,
        meters: &Arc<Meters>,
        complaints: &Arc<Complaints>,
        reports: &mpsc::Sender<Report>,
    ) -> io::Result<Option<JoinHandle<()>>> {
        let Some(leader) = &mut self.leader else { return Ok(None) };
        let Some(poll) = leader.poll.take() else { return Ok(None) };
        let replicator = Replicator::new(
            poll,
            Arc::clone(&leader.inbox),
            leader.plan.clone(),
            self.holdings.own_epoch(),
            Arc::clone(meters),
            Arc::clone(complaints),
            config.time_calls,
        )
        .with_faults(Injector::new(config));
        let (meters, reports) = (Arc::clone(meters), reports.clone());
        let name = meters.replicator.thread.name.clone();
        let thread = spawn(name, reports.clone(), move || {
            settle(&meters.replicator.thread, None, &reports);
            replicator.run()?;
            meters.replicator.thread.ended();
            tell(&reports, Report::Ended);
            Ok(())
        })?;
        Ok(Some(thread))
    }

    /// The server stops: calls that too few followers can acknowledge wait no more.
    pub(crate) fn drain(&self) {
        if let Some(leader) = &self.leader {
            leader.inbox.drain();
        }
    }

    /// Ends the replicator. Calls that still wait are answered with an error.
    pub(crate) fn stop(&self) {
        if let Some(leader) = &self.leader {
            leader.inbox.stop();
        }
    }
}

/// A number that no other start of a server has drawn, as far as the system's randomness goes;
/// never 0.
fn drawn_epoch() -> u64 {
    RandomState::new().hash_one(clock::now_ns()).max(1)
}
