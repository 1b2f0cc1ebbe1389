#!/usr/bin/env python3
"""Builds echo-server and echo-client and runs the readers experiment of Ozone's HDDS-11225.

Each round runs the server with 1 reader, with 1 reader once more (what two equal runs differ by is
the noise of this host) and with 10 readers, each as a new process on a free port, in an order that
rotates from round to round. The client is that of the ticket: 30 connections, 100 callers. Before
that, a short run of each checks that client and server count the same calls; after it, one run of
each with emulated slow readers shows what a host with CPUs to spare would show.

The table goes to standard output, progress to standard error; the client's JSON reports, the
servers' logs and the table stay in target/reproduce/<date>. Ctrl-C ends the programs and prints
what was finished. Exit codes: 0 done; 1 something failed, in one line; 2 usage; 130, 143 signals.
"""

import argparse
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time

import reproduce_report

# Label, readers. The second is the first once more.
ROWS = [("1", 1), ("1 again", 1), ("10", 10)]
CLIENT = ["--clients", "30", "-t", "100"]
CALLS = 1_000_000
# Divisible by neither the connections nor the callers.
GATE_CALLS = 100_003
# The default count of calls is lowered on a host on which a run would take longer than this.
RUN_SECONDS_MAX = 4.0
# Emulated: a reader lets a call go every 200 us and uses no CPU for that. Counts of about 2 s.
COST = "paced:200us"
EMULATED = {1: 10_000, 10: 100_000}
START_SECONDS = 10
CLIENT_SECONDS = 600
STOP_SECONDS = 15


class Failed(Exception):
    """Ends the script with exit code 1; its text is the one line that is printed."""


class Interrupted(Exception):
    """A signal asked for the end; its text is the signal's number."""


class Children:
    """The running programs. A signal ends them by id; the wait for them then returns."""

    def __init__(self):
        self.running = []
        self.signal = None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # What nohup or a background shell has switched off stays off.
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self.on_signal)

    def on_signal(self, number, _frame):
        self.signal = self.signal or number
        for child in self.running:
            child.terminate()

    def check(self):
        if self.signal:
            raise Interrupted(self.signal)

    def start(self, command, **streams):
        """In a session of its own: a Ctrl-C comes to this script only, which passes it on."""
        # The programs' options may also stand in the environment and would change the run.
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ECHO_SERVER_", "ECHO_CLIENT_"))
        }
        self.check()
        child = subprocess.Popen(command, start_new_session=True, env=environment, **streams)
        self.running.append(child)
        if self.signal:
            child.terminate()
        return child

    def output(self, command):
        """Runs a program to its end; returns its exit code and standard output."""
        child = self.start(command, stdout=subprocess.PIPE)
        output, _ = child.communicate()
        self.running.remove(child)
        self.check()
        return child.returncode, output.decode()

    def end(self, child):
        """Asks a child to end, waits, and kills it if it does not."""
        if child.poll() is None and not self.signal:
            child.terminate()
        try:
            child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        self.running.remove(child)


def build(children):
    """Builds; returns the paths of the programs, and cargo's target directory."""
    if not shutil.which("cargo"):
        raise Failed("cargo is not installed; see https://rustup.rs")
    build_command = "cargo build --release --locked -p echo-server -p echo-client"
    say(f"building: {build_command}")
    code, lines = children.output(
        [*build_command.split(), "--message-format=json-render-diagnostics"]
    )
    if code != 0:
        raise Failed(f"the build failed with {code}; cargo says why above")
    messages = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
    programs = {
        message["target"]["name"]: message["executable"]
        for message in messages
        if message.get("executable")
    }
    code, metadata = children.output(
        "cargo metadata --locked --no-deps --format-version 1".split()
    )
    if code != 0:
        raise Failed(f"cargo metadata failed with {code}; it says why above")
    return programs, json.loads(metadata)["target_directory"]


class Bench:
    """Runs pairs of server and client, and keeps what they wrote in a folder."""

    def __init__(self, children, programs, folder):
        self.children, self.programs, self.folder = children, programs, folder

    def run(self, name, readers, calls, cost=None):
        """One server, one client. Returns the client's report; fails unless every call is counted
        by both and was answered rightly."""
        log = os.path.join(self.folder, f"{name}.server.log")
        command = [self.programs["echo-server"], "--listen", "127.0.0.1:0"]
        command += ["--readers", str(readers)]
        command += ["--reader-cost", cost] if cost else []
        with open(log, "w") as stderr:
            server = self.children.start(command, stdout=subprocess.PIPE, stderr=stderr)
        try:
            report = self.call(name, self.address(server, log), calls)
        finally:
            self.children.end(server)
            server.stdout.close()
        self.children.check()
        counted = final_counters(log).get("calls")
        ok, started = report["outcomes"]["ok"], report["outcomes"]["started"]
        if not ok == started == counted == calls:
            raise Failed(
                f"{name}: the counts differ: asked {calls}, client started {started}, client ok "
                f"{ok}, server {counted}; see {self.folder}"
            )
        return report

    def address(self, server, log):
        """Reads where the server listens from its first line."""
        readable, _, _ = select.select([server.stdout], [], [], START_SECONDS)
        self.children.check()
        line = server.stdout.readline().decode() if readable else ""
        found = re.match(r"listening on (\S+)", line)
        if not found:
            why = last_line(log) or f"it said nothing within {START_SECONDS} s"
            raise Failed(f"the server did not start: {why}")
        return found.group(1)

    def call(self, name, address, calls):
        out = os.path.join(self.folder, f"{name}.json")
        log = os.path.join(self.folder, f"{name}.client.log")
        command = [self.programs["echo-client"], "--server", address, *CLIENT, "-n", str(calls)]
        command += ["--format", "json", "-o", out, "--progress", "none"]
        with open(log, "w") as stderr:
            client = self.children.start(command, stdout=stderr, stderr=stderr)
        try:
            code = client.wait(CLIENT_SECONDS)
        except subprocess.TimeoutExpired:
            raise Failed(f"{name}: the client did not end within {CLIENT_SECONDS} s") from None
        finally:
            self.children.end(client)
        self.children.check()
        if code != 0:
            why = last_line(log)
            raise Failed(f"{name}: the client ended with {code}: {why}; see {self.folder}")
        with open(out) as report:
            return json.load(report)


def final_counters(log):
    """The numbers of the server's last line."""
    with open(log) as lines:
        found = [line for line in lines if line.startswith("counters:")]
    if not found:
        return {}
    return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", found[-1])}


def last_line(path):
    with open(path) as lines:
        return ([line.strip() for line in lines if line.strip()] or [""])[-1]


def gate(bench):
    """Both counts right with either number of readers, or nothing is measured. Returns the higher
    rate: a busy host slows a short run down more than a long one."""
    rates = []
    for readers in (1, 10):
        report = bench.run(f"gate-readers-{readers}", readers, GATE_CALLS)
        rates.append(report["calls_per_s"])
        say(
            f"check: readers {readers:<3} client ok {GATE_CALLS:,} = server's own count "
            f"{GATE_CALLS:,}, every byte compared"
        )
    return max(rates)


def measure(bench, rounds, calls, results):
    """Fills `results`: a list for each round, of reports by label."""
    for number in range(rounds):
        results.append({})
        first = number % len(ROWS)
        for label, readers in ROWS[first:] + ROWS[:first]:
            name = f"round-{number + 1:02}-readers-{label.replace(' ', '-')}"
            report = bench.run(name, readers, calls)
            results[-1][label] = report
            rate = f"{report['calls_per_s']:>11,.0f} calls/s"
            say(f"round {number + 1} of {rounds}: readers {label:<8}{rate}")


def emulate(bench, emulated):
    """Fills `emulated`: a report by number of readers."""
    for readers, calls in EMULATED.items():
        report = bench.run(f"emulated-readers-{readers}", readers, calls, COST)
        emulated[readers] = report
        say(f"emulated: readers {readers:<8}{report['calls_per_s']:>11,.0f} calls/s")


def say(text):
    print(text, file=sys.stderr, flush=True)


def count(text):
    """5000000, 5_000_000, 500k or 5m."""
    found = re.fullmatch(r"(\d[\d_]*)([kKmM]?)", text)
    units = {"": 1, "k": 1000, "m": 10**6}
    number = int(found.group(1)) * units[found.group(2).lower()] if found else 0
    if not 1000 <= number <= 10**9:
        raise argparse.ArgumentTypeError(f"`{text}`; allowed: 1000 to 1000m, such as 500k or 1m")
    return number


def rounds(text):
    if not re.fullmatch(r"\d{1,3}", text) or not 1 <= int(text) <= 100:
        raise argparse.ArgumentTypeError(f"`{text}`; allowed: 1 to 100")
    return int(text)


def options():
    parser = argparse.ArgumentParser(
        prog="scripts/reproduce.sh",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--rounds", type=rounds, default=5, metavar="N", help="rounds [5]")
    parser.add_argument(
        "--calls",
        type=count,
        metavar="N",
        help="calls of each run [1m, fewer on a host where that takes more than "
        f"{RUN_SECONDS_MAX:.0f} s]",
    )
    return parser.parse_args()


def new_folder(target):
    """A folder named by the date; two starts within a second get one each."""
    stamp = time.strftime("%Y-%m-%dT%H%M%SZ", time.gmtime())
    parent = os.path.join(target, "reproduce")
    os.makedirs(parent, exist_ok=True)
    for name in [stamp] + [f"{stamp}-{number}" for number in range(2, 100)]:
        try:
            os.mkdir(os.path.join(parent, name))
            return os.path.join(parent, name)
        except FileExistsError:
            continue
    raise Failed(f"{parent} has too many folders of {stamp}")


def calls_of_a_run(asked, rate):
    """The count that was asked for, or the default unless it takes too long here."""
    if asked or CALLS / rate <= RUN_SECONDS_MAX:
        return asked or CALLS
    two_seconds = int(2 * rate)
    digits = 10 ** (len(str(two_seconds)) - 1)
    return max(two_seconds // digits * digits, 1000)


def main():
    asked = options()
    children = Children()
    results, emulated, folder, code = [], {}, None, 0
    try:
        programs, target = build(children)
        folder = new_folder(target)
        bench = Bench(children, programs, folder)
        calls = calls_of_a_run(asked.calls, gate(bench))
        fewer = "" if calls == (asked.calls or CALLS) else f" ({CALLS:,} would take long here)"
        say(f"{asked.rounds * len(ROWS)} runs of {calls:,} calls{fewer}; reports in {folder}")
        measure(bench, asked.rounds, calls, results)
        emulate(bench, emulated)
    except (Failed, OSError) as why:
        say(f"reproduce: {why}")
        code = 1
    except Interrupted as why:
        code = 128 + why.args[0]
        done = sum(len(reports) for reports in [*results, emulated])
        say(f"reproduce: interrupted; {done} runs were finished")
    finished = [reports for reports in results if len(reports) == len(ROWS)]
    if finished:
        text = reproduce_report.text(finished, emulated, COST, " ".join(CLIENT))
        print(text, flush=True)
        with open(os.path.join(folder, "summary.txt"), "w") as summary:
            summary.write(text + "\n")
        say(f"reports: {folder}")
    return code


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.exit(main())
