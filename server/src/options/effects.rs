//! Options that can have no effect beside another one: given all the same, they are refused. What
//! belongs to `--dispatch keyed` and `--followers` is refused where those are read.

use super::{Options, Pin};
use crate::call_queue::WhenFull;
use crate::fault_injection::{Fault, FaultKind};

/// An option that is given, and what takes its effect away.
struct Rule {
    option: &'static str,
    is_given: bool,
    is_idle: bool,
    /// What stands behind the option's name.
    why: &'static str,
}

impl Options {
    /// Refuses the first option that cannot do anything with so many handlers and the others.
    pub(super) fn check_effects(&self, handlers: usize) -> Result<(), String> {
        let rules = self.of_queue(handlers).into_iter().chain(self.of_pins(handlers));
        let mut rules = rules.chain(self.of_hadoop()).chain(self.of_the_rest());
        match rules.find(|rule| rule.is_given && rule.is_idle) {
            Some(Rule { option, why, .. }) => Err(format!("{option} {why}")),
            None => Ok(()),
        }
    }

    fn of_queue(&self, handlers: usize) -> [Rule; 2] {
        let rule = |option, is_given| Rule {
            option,
            is_given,
            is_idle: handlers == 0,
            why: "with --handlers 0: calls wait in no queue",
        };
        [
            rule("--queue-capacity", self.queue_capacity.is_some()),
            rule("--when-full", self.when_full.is_some()),
        ]
    }

    fn of_pins(&self, handlers: usize) -> [Rule; 5] {
        let none = self.pin() == Pin::None;
        let nobody = self.pin() == Pin::Handlers && handlers == 0;
        let rule = |option, is_given, is_idle, why| Rule { option, is_given, is_idle, why };
        let unpinned = "with --pin none: no thread is pinned";
        let unmanned = "with --handlers 0: only --pin all pins a thread then";
        [
            rule("--pin handlers", self.pin.is_some(), nobody, unmanned),
            rule("--cpus", self.cpus.is_some(), none, unpinned),
            rule("--cpus", self.cpus.is_some(), nobody, unmanned),
            rule("--strict-pin", self.strict_pin, none, unpinned),
            rule("--strict-pin", self.strict_pin, nobody, unmanned),
        ]
    }

    fn of_hadoop(&self) -> [Rule; 5] {
        let hadoop = &self.hadoop;
        let rule = |option, is_given| Rule {
            option,
            is_given,
            is_idle: !hadoop.is_on(),
            why: "with --hadoop off: Hadoop RPC is not spoken",
        };
        [
            rule("--hadoop-package", hadoop.hadoop_package.is_some()),
            rule("--hadoop-protocol", !hadoop.hadoop_protocol.is_empty()),
            rule("--hadoop-echo", hadoop.hadoop_echo.is_some()),
            rule("--hadoop-busy", hadoop.hadoop_busy.is_some()),
            Rule {
                option: "--hadoop-busy",
                is_given: hadoop.hadoop_busy.is_some(),
                is_idle: self.when_full() != WhenFull::Reject,
                why: "needs --when-full reject, which is not given",
            },
        ]
    }

    fn of_the_rest(&self) -> [Rule; 4] {
        let replication = &self.replication;
        let early_ack = |fault: &Fault| fault.kind == FaultKind::EarlyAck;
        [
            Rule {
                option: "--strict-limits",
                is_given: self.strict_limits,
                is_idle: self.max_connections.is_none(),
                why: "needs --max-connections, which is not given",
            },
            Rule {
                option: "--ack-timeout",
                is_given: replication.ack_timeout.is_some(),
                is_idle: replication.min_insync == Some(1),
                why: "with --min-insync 1: no call waits",
            },
            Rule {
                option: "--inject early-ack",
                is_given: replication.inject.iter().any(early_ack),
                is_idle: replication.followers.is_empty(),
                why: "needs --followers, which are not given",
            },
            Rule {
                option: "--test-faults",
                is_given: replication.test_faults,
                is_idle: replication.inject.is_empty(),
                why: "needs --inject, which is not given",
            },
        ]
    }
}

#[cfg(test)]
mod tests {
    use crate::options::Options;
    use clap::Parser;

    fn check(arguments: &str) -> Result<(), String> {
        let arguments = ["echo-server"].into_iter().chain(arguments.split_whitespace());
        let options = Options::try_parse_from(arguments).map_err(|error| error.to_string())?;
        options.plan(&[0, 1]).map(|_| ())
    }

    /// The option, what takes its effect away, beside what it has one.
    const PAIRS: &[(&str, &str, &str)] = &[
        ("--queue-capacity 5", "--handlers 0", "--handlers 1"),
        ("--when-full wait", "--handlers 0", "--handlers 1"),
        ("--when-full reject", "--handlers 0", ""),
        ("--pin handlers", "--handlers 0", "--handlers 1"),
        ("--cpus 1", "--handlers 0", "--handlers 0 --pin all"),
        ("--cpus 1", "--pin none", "--pin handlers"),
        ("--strict-pin", "--handlers 0", "--handlers 0 --pin"),
        ("--strict-pin", "--pin none", ""),
        ("--hadoop-package ipc", "--hadoop off", ""),
        ("--hadoop-protocol a.B:1", "--hadoop off", "--hadoop on"),
        ("--hadoop-echo size", "--hadoop off", ""),
        ("--hadoop-busy error --when-full reject", "--hadoop off", ""),
        ("--hadoop-busy fatal", "--when-full wait", "--when-full reject"),
        ("--hadoop-busy error", "", "--when-full reject"),
        ("--strict-limits", "", "--max-connections 10"),
        ("--ack-timeout 1s --followers 127.0.0.1:1", "--min-insync 1", "--min-insync 2"),
        ("--inject early-ack:1 --test-faults", "", "--followers 127.0.0.1:1"),
        ("--test-faults", "", "--inject drop:1"),
    ];

    #[test]
    fn an_option_that_can_do_nothing_beside_another_one_is_refused_in_a_line_that_names_both() {
        for (option, without, with) in PAIRS {
            let why = check(&format!("{option} {without}")).expect_err(option);
            let name = option.split(' ').next().expect("a name");
            assert!(why.starts_with(name) && why.lines().count() == 1, "{option}: {why}");
            let other = match without.split(' ').next().filter(|other| !other.is_empty()) {
                Some("--when-full") => "--when-full reject",
                Some(_) => without,
                None => with.split(' ').next().expect("a name"),
            };
            assert!(why.contains(other), "{option} {without}: {why}");
            assert_eq!(check(&format!("{option} {with}")), Ok(()), "{option} {with}");
        }
    }
}
