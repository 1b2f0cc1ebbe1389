//! Options of replication and of faults made on purpose, checked together.

use super::{PORT, first_address};
use crate::fault_injection::Fault;
use crate::replication::Replication;
use clap::Args;
use clap::builder::BoolishValueParser;
use echo_common::quantity::{count_in, duration_in, size_in};
use std::net::SocketAddr;
use std::time::Duration;

const TIME_MIN: Duration = Duration::from_millis(1);
const TIME_MAX: Duration = Duration::from_secs(24 * 3600);
/// More would be a mistake: each gets every call.
const FOLLOWERS_MAX: usize = 16;
const ACK_TIMEOUT: Duration = Duration::from_secs(30);
const FOLLOWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Several thousand small calls: more than a follower's handlers have at once.
const WINDOW: u64 = 1 << 20;
const BACKLOG: u64 = 64 << 20;

/// See the module's text. All but `--followers`, `--inject` and `--test-faults` need `--followers`.
#[derive(Debug, Args)]
pub struct ReplicationOptions {
    /// echo-servers that calls with acks=all are forwarded to, HOST:PORT each, divided by commas
    /// [default: none, then acks=all is acks=1].
    #[arg(long, env = "ECHO_SERVER_FOLLOWERS", value_name = "ADDRESSES", value_delimiter = ',')]
    #[arg(help_heading = REPLICATION)]
    pub followers: Vec<String>,
    /// How many must hold a call with acks=all before it is answered, this server included
    /// [default: 2].
    #[arg(long, env = "ECHO_SERVER_MIN_INSYNC", value_parser = count_in(1..=17))]
    #[arg(allow_hyphen_values = true, help_heading = REPLICATION)]
    pub min_insync: Option<u64>,
    /// How long a call with acks=all may wait for that; then it is answered with an error, though
    /// followers may hold it [default: 30s].
    #[arg(long, env = "ECHO_SERVER_ACK_TIMEOUT", value_name = "TIME")]
    #[arg(value_parser = duration_in(TIME_MIN..=TIME_MAX), allow_hyphen_values = true)]
    #[arg(help_heading = REPLICATION)]
    pub ack_timeout: Option<Duration>,
    /// How long a follower may owe an answer; then its connection is given up and made anew
    /// [default: 10s].
    #[arg(long, env = "ECHO_SERVER_FOLLOWER_TIMEOUT", value_name = "TIME")]
    #[arg(value_parser = duration_in(TIME_MIN..=TIME_MAX), allow_hyphen_values = true)]
    #[arg(help_heading = REPLICATION)]
    pub follower_timeout: Option<Duration>,
    /// Bytes sent to one follower and not acknowledged, at most; but at least one call
    /// [default: 1MiB].
    #[arg(long, env = "ECHO_SERVER_REPLICA_WINDOW", value_parser = size_in(1..=1 << 30))]
    #[arg(allow_hyphen_values = true, help_heading = REPLICATION)]
    pub replica_window: Option<u64>,
    /// Bytes of calls that wait for followers, at most: more are answered "too busy", and at half
    /// of it followers that are behind while others are not are let go [default: 64MiB].
    #[arg(long, env = "ECHO_SERVER_REPLICA_BACKLOG", value_parser = size_in(1..=1 << 40))]
    #[arg(allow_hyphen_values = true, help_heading = REPLICATION)]
    pub replica_backlog: Option<u64>,
    /// For tests of clients: do something wrong to this share of the replies on native
    /// connections, KIND:RATE with the kinds drop, dup, swap, corrupt and early-ack; repeatable.
    /// Needs --test-faults.
    #[arg(long, env = "ECHO_SERVER_INJECT", value_name = "FAULT", value_delimiter = ',')]
    #[arg(allow_hyphen_values = true, help_heading = FAULTS)]
    pub inject: Vec<Fault>,
    /// Confirm that this server may do wrong (--inject).
    #[arg(long, env = "ECHO_SERVER_TEST_FAULTS", value_parser = BoolishValueParser::new())]
    #[arg(help_heading = FAULTS)]
    pub test_faults: bool,
}

const REPLICATION: &str = "Replication";
const FAULTS: &str = "Faults";

impl ReplicationOptions {
    /// How calls are replicated; an option without followers is an error.
    pub(super) fn replication(&self) -> Result<Option<Replication>, String> {
        if self.followers.is_empty() {
            return match self.given() {
                Some(option) => Err(format!("{option} needs --followers, which are not given")),
                None => Ok(None),
            };
        }
        if self.followers.len() > FOLLOWERS_MAX {
            let count = self.followers.len();
            return Err(format!("--followers: {count} of them; allowed are 1 to {FOLLOWERS_MAX}"));
        }
        let mut followers: Vec<SocketAddr> = Vec::new();
        for text in &self.followers {
            let address = first_address("--followers", text, PORT)?;
            if address.port() == 0 {
                let allowed = "allowed are 1 to 65535";
                return Err(format!("--followers {text}: no server has port 0; {allowed}"));
            }
            if followers.contains(&address) {
                return Err(format!("--followers: {address} is there twice"));
            }
            followers.push(address);
        }
        let min_insync = self.min_insync.unwrap_or(2);
        let holders = followers.len() as u64 + 1;
        if min_insync > holders {
            let followers = followers.len();
            return Err(format!(
                "--min-insync {min_insync} with {followers} followers: never reached; allowed are \
                 1 to {holders}"
            ));
        }
        Ok(Some(Replication {
            followers,
            min_insync: min_insync as u16,
            ack_timeout: self.ack_timeout.unwrap_or(ACK_TIMEOUT),
            follower_timeout: self.follower_timeout.unwrap_or(FOLLOWER_TIMEOUT),
            window: self.replica_window.unwrap_or(WINDOW) as usize,
            backlog: self.replica_backlog.unwrap_or(BACKLOG) as usize,
        }))
    }

    /// An option that has no meaning without followers.
    fn given(&self) -> Option<&'static str> {
        let given = [
            ("--min-insync", self.min_insync.is_some()),
            ("--ack-timeout", self.ack_timeout.is_some()),
            ("--follower-timeout", self.follower_timeout.is_some()),
            ("--replica-window", self.replica_window.is_some()),
            ("--replica-backlog", self.replica_backlog.is_some()),
        ];
        given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
    }

    /// The faults that are to be made.
    pub(super) fn faults(&self) -> Result<Vec<Fault>, String> {
        for (at, fault) in self.inject.iter().enumerate() {
            if self.inject[..at].iter().any(|other| other.kind == fault.kind) {
                return Err(format!("--inject {fault}: this kind is there twice"));
            }
        }
        match (self.inject.first(), self.test_faults) {
            (Some(fault), false) => Err(format!(
                "--inject {fault} makes this server do wrong; if that is wanted, add --test-faults"
            )),
            _ => Ok(self.inject.clone()),
        }
    }
}

/// Says how calls are replicated, and what is done wrong.
pub(super) fn notes(replication: Option<&Replication>, faults: &[Fault]) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(plan) = replication {
        let followers: Vec<String> = plan.followers.iter().map(SocketAddr::to_string).collect();
        notes.push(format!(
            "acks=all: answered when {} of {} hold the call; followers {}",
            plan.min_insync,
            plan.followers.len() + 1,
            followers.join(", "),
        ));
    }
    if !faults.is_empty() {
        let faults: Vec<String> = faults.iter().map(Fault::to_string).collect();
        notes.push(format!("warning: faults are injected: {}", faults.join(", ")));
    }
    notes
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
    fn two_must_hold_a_call_unless_other_is_said() {
        assert_eq!(plan("").unwrap().config.replication, None);
        for (arguments, followers, min_insync) in [
            ("--followers 127.0.0.1:1", 1, 2),
            ("--followers 127.0.0.1:1,127.0.0.1:2", 2, 2),
            ("--followers 127.0.0.1:1 --min-insync 1", 1, 1),
            ("--followers 127.0.0.1:1 --followers 127.0.0.1:2 --min-insync 3", 2, 3),
        ] {
            let replication = plan(arguments).unwrap().config.replication.unwrap();
            assert_eq!(replication.followers.len(), followers, "{arguments}");
            assert_eq!(replication.min_insync, min_insync, "{arguments}");
        }
    }

    #[test]
    fn what_cannot_work_is_said_in_one_line() {
        for (arguments, names) in [
            ("--min-insync 2", "--min-insync needs --followers"),
            ("--ack-timeout 1s", "--ack-timeout needs --followers"),
            ("--follower-timeout 1s", "--follower-timeout needs --followers"),
            ("--replica-window 1k", "--replica-window needs --followers"),
            ("--replica-backlog 1k", "--replica-backlog needs --followers"),
            ("--followers 127.0.0.1:1 --min-insync 3", "allowed are 1 to 2"),
            ("--followers 127.0.0.1:1,127.0.0.1:1", "127.0.0.1:1 is there twice"),
            ("--followers 127.0.0.1:no", "--followers 127.0.0.1:no"),
            (
                "--followers 127.0.0.1:1,127.0.0.1:0",
                "--followers 127.0.0.1:0: no server has port 0",
            ),
            ("--inject drop:0.1", "add --test-faults"),
            ("--inject drop:2 --test-faults", "a rate is above 0 and at most 1"),
            ("--inject drop:0.1,drop:0.2 --test-faults", "drop:0.2: this kind is there twice"),
        ] {
            let why = plan(arguments).err().expect("a refusal");
            assert!(why.contains(names), "{arguments}: {why}");
        }
    }

    #[test]
    fn faults_are_announced() {
        let plan = plan("--test-faults --inject drop:0.1 --inject dup:1").unwrap();
        assert_eq!(plan.config.faults.len(), 2);
        let note = "warning: faults are injected: drop:0.1, dup:1";
        assert!(plan.notes.iter().any(|said| said == note), "{:?}", plan.notes);
    }
}
