"""What the rounds of the readers experiment say: a table, and in words what this host can show.

Pure functions of the client's JSON reports: a round is a report by label ("1", "1 again", "10").
"""

import os
from statistics import median

FIRST, AGAIN, MANY = "1", "1 again", "10"
# A thread that is busy, or CPUs that are used, this share of the time have nothing left to give.
SATURATED = 0.90
CPUS_USED_UP = 0.85
# Other work on the CPUs from which on the figures say more about that.
OTHERS_MAX = 0.05


def text(rounds, emulated, cost, client):
    """The whole summary, at most 100 columns. `emulated` are reports by number of readers, of
    servers with this `cost`; it may be incomplete."""
    any_report = rounds[0][FIRST]
    calls = any_report["outcomes"]["started"]
    lines = [
        "",
        f"echo-client {client} -n {calls} against --readers 1, 1 again and 10",
        f"medians; rounds: {len(rounds)}",
        "",
        *table(rounds),
        "",
        *reader_shares(rounds),
        "",
        *(line for paragraph in words(rounds) for line in wrapped(paragraph)),
        *(line for paragraph in emulation(emulated, cost) for line in wrapped(paragraph)),
    ]
    return "\n".join(lines)


def table(rounds):
    form = "{:<8} {:>9}  {:>19}  {:>19} {:>8} {:>8} {:>8} {:>8}"
    yield form.format("readers", "calls/s", "min - max", "x readers 1", "mean us", "p99 us",
                      "server", "client")
    yield form.format("", "", "over rounds", "(min - max)", "", "", "CPU us", "per call")
    for label in (FIRST, AGAIN, MANY):
        rates = values(rounds, label, calls_per_s)
        times = ratios(rounds, label)
        ratio = f"{median(times):.2f} ({min(times):.2f} - {max(times):.2f})"
        yield form.format(
            label,
            f"{median(rates):,.0f}",
            f"{min(rates):,.0f} - {max(rates):,.0f}",
            "1" if label == FIRST else ratio,
            *(
                shown(middle(rounds, label, part))
                for part in (
                    lambda report: report["latency_us"]["mean"],
                    lambda report: report["latency_us"]["p99"],
                    cpu_server,
                    cpu_client,
                )
            ),
        )


def reader_shares(rounds):
    yield "busy = on a CPU, or ready and waiting for one; in brackets: on a CPU (medians)"
    for label in (FIRST, AGAIN, MANY):
        readers = [
            f"{percent(busy)} ({percent(on_cpu)})"
            for busy, on_cpu in zip(
                by_reader(rounds, label, "busy_share"), by_reader(rounds, label, "cpu_share")
            )
        ]
        for at in range(0, len(readers), 5):
            name = f"readers {label}, busy:" if at == 0 else ""
            row = " ".join(f"{reader:<13}" for reader in readers[at : at + 5])
            yield f"{name:<24}{row}".rstrip()


def words(rounds):
    """Paragraphs."""
    cpus = cpus_of(rounds[0][FIRST])
    client, server = middle(rounds, FIRST, cpu_client), middle(rounds, FIRST, cpu_server)
    yield result(rounds)
    if client is None or server is None:
        yield "The CPU time per call is not known, so nothing can be said about this host's bound."
        return
    yield (
        f"This host: {cpus:g} CPUs for both programs. With one reader a call takes {client:.2f} us "
        f"of CPU in the client and {server:.2f} us in the server, so no more than {cpus:g} / "
        f"({client:.2f} us + {server:.2f} us) = {fits(rounds, FIRST, cpus)} calls/s fit on them. "
        f"One reader reached {percent(used(rounds, FIRST))} of that, ten readers "
        f"{percent(used(rounds, MANY))} of what fits at their own CPU time per call "
        f"({fits(rounds, MANY, cpus)} calls/s)."
    )
    yield from others(rounds)
    yield limit(rounds, cpus)
    yield ticket(rounds, client + server)


def fits(rounds, label, cpus):
    """Calls per second that all CPUs allow at this CPU time per call."""
    client, server = middle(rounds, label, cpu_client), middle(rounds, label, cpu_server)
    return "n/a" if None in (client, server) else f"{cpus / (client + server) * 1e6:,.0f}"


def result(rounds):
    """Ten readers against one, judged by what two equal runs differ by, in either direction."""
    ratio = median(ratios(rounds, MANY))
    noise = max(max(times, 1 / times) for times in ratios(rounds, AGAIN))
    twins = f"two equal runs of one reader differed by up to x {noise:.2f}"
    if 1 / noise <= ratio <= noise:
        return (
            f"Result: no difference beyond the noise. Ten readers did {ratio:.2f} x the calls/s of "
            f"one; {twins}."
        )
    how = "more" if ratio > 1 else "less"
    return f"Result: ten readers did {how}, {ratio:.2f} x the calls/s of one; {twins}."


def others(rounds):
    taken = [
        share
        for round in rounds
        for share in map(other_work, round.values())
        if share is not None
    ]
    if taken and median(taken) > OTHERS_MAX:
        yield (
            f"Other work (other programs, the hypervisor, interrupts) took {percent(median(taken))}"
            " of the CPUs meanwhile. Run this again on a quiet host before believing the figures."
        )


def limit(rounds, cpus):
    """What kept one reader from more."""
    reader = max(by_reader(rounds, FIRST, "busy_share"), default=None)
    worker = middle(rounds, FIRST, busiest_worker)
    other = max(middle(rounds, FIRST, other_work) or 0.0, 0.0)
    if used(rounds, FIRST) >= CPUS_USED_UP:
        return (
            f"Host-bound: one reader, the handlers and the client use up {cpus:g} CPUs by "
            "themselves. More readers only share out the same CPU time: on this host the number of "
            "readers cannot show."
        )
    if used(rounds, FIRST) + other >= CPUS_USED_UP:
        return (
            "Host-bound: with the other work the CPUs were used up. What the number of readers "
            "does here cannot be told from this run."
        )
    if reader is not None and reader >= SATURATED:
        return (
            f"Reader-bound with one reader: it was busy {percent(reader)} of the time while CPUs "
            "were free. On this host more readers can help."
        )
    if worker is not None and worker >= SATURATED:
        return (
            f"Client-bound with one reader: the client's busiest worker was busy {percent(worker)} "
            "of the time, the reader was not. More readers cannot show before the client does more."
        )
    return (
        f"Nobody was the limit with one reader: it was busy {percent(reader)} of the time, the "
        f"client's busiest worker {percent(worker)}, and CPUs were free. 100 calls in flight are "
        "too few to fill this host."
    )


def ticket(rounds, both):
    theirs = (
        "HDDS-11225 itself saw 35,200 -> 133,983 calls/s (x 3.81) with 1 -> 10 readers in Ozone's "
        "OM: a Java server in which one reader costs up to 1 / 35,200 = 28 us a call and was the "
        "limit. Between its two runs the connections went from 10 to 30, too."
    )
    calls = values(rounds, FIRST, readers_cpu_us)
    if not calls:
        return theirs
    reader = median(calls)
    return (
        f"{theirs} A reader here took {reader:.2f} us of CPU a call: alone on a CPU it could carry "
        f"about {1e6 / reader:,.0f} calls/s, and to need a second one takes a host of more than "
        f"{both / reader:.0f} CPUs. That is an estimate from this run: what a reader costs depends "
        "on how often it sleeps and wakes."
    )


def emulation(emulated, cost):
    if not {1, 10} <= emulated.keys():
        return
    one, ten = (calls_per_s(emulated[readers]) for readers in (1, 10))
    yield (
        f"Emulated, with --reader-cost {cost} (a reader lets one call go in that time and uses no "
        "CPU for it, so that ten are no more work for the CPUs than one; 7 x slower than the "
        f"ticket's): 1 reader {one:,.0f} calls/s, 10 readers {ten:,.0f}, x {ten / one:.2f}, one "
        "run each. It shows the serial stage, not the speed of this host or of these programs."
    )


def values(rounds, label, part):
    """`part` of each round's report, where it is known."""
    found = (part(round[label]) for round in rounds)
    return [value for value in found if value is not None]


def middle(rounds, label, part):
    found = values(rounds, label, part)
    return median(found) if found else None


def ratios(rounds, label):
    """Calls per second in relation to one reader in the same round."""
    return [calls_per_s(round[label]) / calls_per_s(round[FIRST]) for round in rounds]


def by_reader(rounds, label, field):
    """The median over rounds for each reader; empty without the server's counters."""
    shares = [
        [reader[field] for reader in round[label]["server"]["readers"]]
        for round in rounds
        if round[label]["server"]
    ]
    return [median(share) for share in zip(*shares) if None not in share]


def used(rounds, label):
    """Share of the CPUs that both programs used."""

    def share(report):
        both = cpu_client(report), cpu_server(report)
        if None in both:
            return None
        return calls_per_s(report) * sum(both) / 1e6 / cpus_of(report)

    return middle(rounds, label, share)


def cpus_of(report):
    """CPUs' worth of time that this script and its children can get."""
    return min(len(os.sched_getaffinity(0)), report["host"]["cgroup_cpu_quota"] or float("inf"))


def calls_per_s(report):
    return report["calls_per_s"]


def cpu_server(report):
    return report["cpu_us_per_call"]["server"]


def cpu_client(report):
    return report["cpu_us_per_call"]["client"]


def readers_cpu_us(report):
    server = report["server"]
    if not server or not server["calls"]:
        return None
    shares = [reader["cpu_share"] for reader in server["readers"]]
    return None if None in shares else sum(shares) * server["window_s"] * 1e6 / server["calls"]


def busiest_worker(report):
    shares = [worker["busy_share"] for worker in report["workers"]]
    return None if None in shares else max(shares)


def other_work(report):
    """Share of the CPUs that went to neither program, stolen time included."""
    host, load = report["host"], report["host"]["load"] or {}
    parts = (host["client_cpu_share"], host["server_cpu_share"])
    if load.get("busy_share") is None or None in parts:
        return None
    return load["busy_share"] + (load["steal_share"] or 0.0) - sum(parts)


def shown(value):
    return "n/a" if value is None else f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


def percent(share):
    return "n/a" if share is None else f"{100 * share:.0f} %"


def wrapped(paragraph, width=98):
    line = ""
    for word in paragraph.split():
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = "  " + word
        else:
            line = f"{line} {word}" if line else word
    yield line
