#!/usr/bin/env bash
# Every test of the workspace. A debug build, because only there mio refuses a socket that is
# registered with two polls. Arguments go to cargo: scripts/test.sh -p echo-common
set -euo pipefail
cd "$(dirname "$0")/.."
exec cargo test --workspace --locked --no-fail-fast "$@"
