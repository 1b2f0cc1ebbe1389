//! How to repeat a report's runs by hand.

use crate::folder::Content;
use crate::run::{Followers, Record};
use anyhow::Result;
use echo_common::quantity::format_duration;
use std::fmt::Write;

/// Ports of followers that are started by hand, the first one's; the server has its default.
const FOLLOWER_PORT: u16 = 9871;

/// How to repeat each point by hand.
pub(super) fn commands(content: &Content) -> Result<String> {
    let mut out = String::from(
        "#!/bin/sh\n# How to repeat each point by hand, in a terminal for each program: followers, \
         then the server,\n# then the client.\n",
    );
    let mut seen: Vec<&Record> = Vec::new();
    for run in content.runs.iter().filter(|run| run.is_measured()) {
        if seen.iter().any(|other| is_same(run, other)) {
            continue;
        }
        seen.push(run);
        write!(out, "\n# {}, {}, {}\n", run.group, run.line, run.at)?;
        if let Some(matched) = &run.matched {
            writeln!(out, "# rate: {}", matched.words())?;
        }
        let Followers { count, options } = &run.followers;
        let addresses: Vec<String> =
            (0..*count).map(|n| format!("127.0.0.1:{}", u32::from(FOLLOWER_PORT) + n)).collect();
        for address in &addresses {
            writeln!(out, "# {}", words("echo-server --listen", &[address], options))?;
        }
        let own = match addresses.is_empty() {
            true => String::new(),
            false => format!("--followers={}", addresses.join(",")),
        };
        writeln!(out, "# {}", words(run.peer.program(), &[&own], &run.server))?;
        writeln!(out, "# echo-client {}", run.client.join(" "))?;
        if let Some(pause) = run.pause {
            let [at, length] = [pause.at, pause.length].map(format_duration);
            let number = pause.follower;
            writeln!(
                out,
                "# {at} into the measured part: kill -STOP follower {number}, and kill -CONT it \
                 {length} later"
            )?;
        }
    }
    Ok(out)
}

fn words(program: &str, own: &[&String], options: &[String]) -> String {
    let own = own.iter().copied().filter(|word| !word.is_empty());
    let words = own.chain(options).map(String::as_str);
    [program].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

/// Whether the same commands make both.
fn is_same(a: &Record, b: &Record) -> bool {
    let of = |run: &Record| {
        (run.peer, run.server.clone(), run.client.clone(), run.followers.clone(), run.pause)
    };
    of(a) == of(b)
}
