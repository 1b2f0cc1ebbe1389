//! The first signal stops, the second leaves. Signals are sent to a copy of this test program.

use echo_common::signals::on_termination;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, stdin};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

const ROLE: &str = "ECHO_COMMON_TEST_SIGNALS";

/// Runs in the copy only: waits for the end of its input. When it is told to be `stuck`, its
/// reaction to the first signal never returns.
#[test]
fn copy_that_is_sent_signals() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    on_termination(move |signal| {
        eprintln!("first {signal:?} on {}", thread::current().name().unwrap_or("?"));
        if role == "stuck" {
            loop {
                thread::park();
            }
        }
    })
    .unwrap();
    eprintln!("ready");
    stdin().read_to_end(&mut Vec::new()).unwrap();
}

struct Copy {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStderr>>,
}

impl Copy {
    fn start(role: &str) -> Copy {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "signals::copy_that_is_sent_signals", "--nocapture"])
            .env(ROLE, role)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut copy = Copy { child, lines };
        copy.expect_line("ready");
        copy
    }

    fn expect_line(&mut self, expected: &str) {
        let line = self.lines.next().expect("the copy ended early").unwrap();
        assert_eq!(line, expected);
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn send(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Its exit code. The bound is for a hang only; the copy's input stays open until it ends.
    fn exit_code(mut self) -> Option<i32> {
        let pid = self.pid();
        let input = self.child.stdin.take();
        let (tell, told) = channel();
        let waiter = thread::spawn(move || tell.send(self.child.wait().unwrap().code()));
        let code = told.recv_timeout(Duration::from_secs(20));
        if code.is_err() {
            kill_process(pid, Signal::KILL).unwrap();
        }
        waiter.join().unwrap().unwrap();
        drop(input);
        code.expect("the copy did not end")
    }
}

#[test]
fn a_first_signal_is_only_told_and_the_process_goes_on() {
    for (signal, name) in [(Signal::INT, "Interrupt"), (Signal::TERM, "Terminate")] {
        let mut copy = Copy::start("free");
        copy.send(signal);
        copy.expect_line(&format!("first {name} on signals"));
        drop(copy.child.stdin.take());
        assert_eq!(copy.exit_code(), Some(0), "{name}");
    }
}

#[test]
fn a_second_signal_leaves_at_once_even_while_the_first_ones_reaction_is_stuck() {
    let pairs = [
        (Signal::INT, Signal::INT, 130),
        (Signal::TERM, Signal::TERM, 143),
        (Signal::INT, Signal::TERM, 143),
        (Signal::TERM, Signal::INT, 130),
    ];
    for (first, second, code) in pairs {
        let mut copy = Copy::start("stuck");
        copy.send(first);
        copy.lines.next().expect("the copy ended early").unwrap();
        copy.send(second);
        assert_eq!(copy.exit_code(), Some(code), "{first:?} then {second:?}");
    }
}
