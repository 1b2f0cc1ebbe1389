//! Words of `--help` that are about more than one option.

pub(super) const THREADS: &str = "Threads and hand-over";
pub(super) const CONNECTIONS: &str = "Connections";
pub(super) const TIME: &str = "Time limits";
pub(super) const TOLD: &str = "What is told";
pub(super) const COSTS: &str = "Costs";

pub(super) const EXIT_CODES: &str = "\
Counts: 5000000, 5_000_000, 5m (millions), 1e6. Sizes: 128, 4k = 4KiB, 1MiB.
Times: 500us, 30s, 1m30s; off or 0 switches a time limit off.
Every option but --show-limits can be given as an environment variable ECHO_SERVER_..., as shown.

Exit codes: 0 ended by SIGINT or SIGTERM, and drained; 2 usage; 69 cannot listen; 70 internal
error, or a thread could not be pinned (--strict-pin); 130, 143 a second SIGINT, SIGTERM.";
