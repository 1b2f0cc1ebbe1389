//! The followers of a measured server: started before it, ended after it, and asked at the end
//! whether they hold what it says that they hold.

use crate::experiment::{Point, Side};
use crate::process::{ProcessError, Programs, Server, stats};
use echo_common::clock::now_ns;
use serde::Serialize;
use serde_json::Value;

/// How long followers may take to join, and to catch up at the end.
const LIMIT_NS: u64 = 5_000_000_000;
/// Between two looks at them.
const LOOK_NS: u64 = 20_000_000;

/// What followers hold that agree with their leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Held {
    followers: usize,
    /// Calls of the leader that each of them holds.
    calls_held: u64,
}

/// Running followers; dropping them kills them.
pub(super) struct Replicas(Vec<Server>);

impl Replicas {
    /// Starts those of a point.
    pub(super) fn start(programs: &Programs, point: &Point) -> Result<Replicas, ProcessError> {
        let options = point.options.arguments(Side::Follower);
        let one = |_| Server::start(programs, &options);
        Ok(Replicas((0..point.followers).map(one).collect::<Result<_, _>>()?))
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        self.0.iter().map(Server::pid).collect()
    }

    /// The how-manieth, from 1.
    pub(super) fn get(&self, number: u32) -> Option<&Server> {
        self.0.get(number.checked_sub(1)? as usize)
    }

    /// The option of the server that they follow, if there are any.
    pub(super) fn option(&self) -> Option<String> {
        let addresses: Vec<&str> = self.0.iter().map(Server::address).collect();
        (!addresses.is_empty()).then(|| format!("--followers={}", addresses.join(",")))
    }

    /// Waits until all of them have joined `leader`, a bounded time. What is missing then.
    pub(super) fn joined(
        &self,
        programs: &Programs,
        leader: &Server,
    ) -> Result<Option<String>, ProcessError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let joined = wait(programs, || {
            let leader = stats(leader.address())?;
            Ok(all_in_sync(&leader, self.0.len()))
        });
        Ok(joined?.err())
    }

    /// Waits until all of them hold what `leader` says that they hold, a bounded time. What that
    /// is, or what they differ by then; none without followers.
    pub(super) fn agree(
        &self,
        programs: &Programs,
        leader: &Server,
    ) -> Result<Option<Result<Held, String>>, ProcessError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let agreed = wait(programs, || {
            let leader = stats(leader.address())?;
            let held = self.0.iter().map(|follower| stats(follower.address()));
            Ok(compare(&leader, &held.collect::<Result<Vec<_>, _>>()?))
        });
        agreed.map(Some)
    }

    /// Lets them end. The first that did not end well.
    pub(super) fn stop(self) -> Option<String> {
        // All of them are ended, whatever becomes of one.
        let ended: Vec<_> = self.0.into_iter().map(Server::stop).collect();
        let wrong = ended.into_iter().find_map(Result::err);
        wrong.map(|wrong| format!("a follower: {wrong}"))
    }
}

/// Looks again and again, a bounded time, until all is well.
fn wait<T>(
    programs: &Programs,
    look: impl Fn() -> Result<Result<T, String>, ProcessError>,
) -> Result<Result<T, String>, ProcessError> {
    let until_ns = now_ns().saturating_add(LIMIT_NS);
    loop {
        let wrong = match look() {
            Ok(Ok(well)) => return Ok(Ok(well)),
            Ok(Err(wrong)) => wrong,
            // A server that does not answer is the run's fault, not the lab's.
            Err(error @ ProcessError::NoStats(..)) => error.to_string(),
            Err(error) => return Err(error),
        };
        let now = now_ns();
        if now >= until_ns {
            return Ok(Err(wrong));
        }
        programs.rest(now.saturating_add(LOOK_NS).min(until_ns))?;
    }
}

/// The followers that a leader names, if there are so many.
fn followers_of(leader: &Value, count: usize) -> Result<&[Value], String> {
    let named = leader["replication"]["followers"].as_array();
    match named.filter(|named| named.len() == count) {
        Some(named) => Ok(named),
        None => Err("the server does not say what its followers hold".to_owned()),
    }
}

fn all_in_sync(leader: &Value, count: usize) -> Result<(), String> {
    let mut followers = followers_of(leader, count)?.iter();
    match followers.find(|follower| follower["in_sync"] != Value::Bool(true)) {
        Some(follower) => {
            Err(format!("the follower {} is not in sync", text(&follower["address"])))
        }
        None => Ok(()),
    }
}

/// What a leader says of its followers, beside what those say; `held` are their snapshots in the
/// leader's order.
fn compare(leader: &Value, held: &[Value]) -> Result<Held, String> {
    all_in_sync(leader, held.len())?;
    let next = leader["replication"]["next"].as_u64().unwrap_or(0);
    let mut calls_held = next.saturating_sub(1);
    for (said, snapshot) in followers_of(leader, held.len())?.iter().zip(held) {
        let address = text(&said["address"]);
        let holdings = snapshot["holdings"].as_array().into_iter().flatten();
        let epoch = &leader["replication"]["epoch"];
        let Some(holds) = holdings.into_iter().find(|of| of["epoch"] == *epoch) else {
            return Err(format!("the follower {address} holds nothing of this server"));
        };
        let number = |of: &Value, name: &str| of[name].as_u64();
        if number(said, "next") != Some(next) || number(holds, "next") != Some(next) {
            let has = number(holds, "next").map_or("none".to_owned(), |next| next.to_string());
            return Err(format!("the follower {address} holds calls below {has} of {next}"));
        }
        let since = number(holds, "since");
        let count = since.map(|since| next.saturating_sub(since));
        calls_held = calls_held.min(count.unwrap_or(0));
        let all_there = since == number(said, "since") && count == number(holds, "count");
        if !all_there || said["digest"].is_null() || said["digest"] != holds["digest"] {
            return Err(format!("the digests of the server and its follower {address} differ"));
        }
    }
    Ok(Held { followers: held.len(), calls_held })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn leader() -> Value {
        let one = json!({"address": "a:1", "in_sync": true, "since": 1, "next": 11,
            "digest": "00000000000000aa"});
        json!({"replication": {"epoch": "e1", "next": 11, "followers": [one]}})
    }

    fn follower() -> Value {
        let old = json!({"epoch": "e0", "since": 1, "next": 3, "count": 2, "digest": "07"});
        let held = json!({"epoch": "e1", "since": 1, "next": 11, "count": 10,
            "digest": "00000000000000aa"});
        json!({"holdings": [old, held]})
    }

    #[test]
    fn followers_agree_if_they_hold_every_call_with_the_same_digest() {
        let held = Held { followers: 1, calls_held: 10 };
        assert_eq!(compare(&leader(), &[follower()]), Ok(held));
    }

    /// Each way in which a follower may lack something is told by its own words.
    #[test]
    fn what_a_follower_lacks_is_said() {
        let check = |pointer: &str, value: Value, wrong: &str| {
            let (mut leader, mut follower) = (leader(), follower());
            let of = if pointer.starts_with("/replication") { &mut leader } else { &mut follower };
            *of.pointer_mut(pointer).unwrap() = value;
            let found = compare(&leader, &[follower]).unwrap_err();
            assert!(found.contains(wrong), "{pointer}: {found}");
        };
        check("/replication/followers/0/in_sync", json!(false), "a:1 is not in sync");
        check("/replication/followers/0/digest", json!(null), "a:1 differ");
        check("/replication/followers/0/since", json!(2), "a:1 differ");
        check("/replication/next", json!(12), "holds calls below 11 of 12");
        check("/replication/followers", json!([]), "does not say");
        check("/holdings/1/next", json!(9), "holds calls below 9 of 11");
        check("/holdings/1/count", json!(9), "a:1 differ");
        check("/holdings/1/digest", json!("00000000000000ab"), "a:1 differ");
        check("/holdings/1/epoch", json!("e2"), "holds nothing");
        check("/holdings", json!(null), "holds nothing");
    }
}
