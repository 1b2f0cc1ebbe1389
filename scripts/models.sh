#!/usr/bin/env bash
# The models of the wake-up protocols (server/src/models) under the model checker loom: every model
# must hold, and every mutant, a fault switched on in the code itself, must be caught.
#
# usage: scripts/models.sh [FILTER]      e.g. scripts/models.sh call_queue
# LOOM_MAX_PREEMPTIONS=N looks further than the models ask for (3 takes some minutes).
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -gt 1 ] || [[ ${1:-} == -* ]]; then
    echo "models: \"$*\" is not known; allowed: none, or the beginning of a model's name" >&2
    exit 2
fi

# A build of its own: with this flag every crate is built anew. Optimized, because the checker runs
# some hundred thousand interleavings; with debug assertions, because they are part of the models.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/models"
export RUSTFLAGS="--cfg loom"
export CARGO_PROFILE_RELEASE_LTO=off
export CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
export CARGO_PROFILE_RELEASE_DEBUG=0
export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true
export RUST_BACKTRACE=0

log=$(mktemp)
trap 'rm -f "$log"' EXIT
code=0
cargo test --release --locked -p echo-server --lib -- "models::${1:-}" --show-output \
    >"$log" || code=$?

count() {
    grep -acE "^test models::[a-z_]+::$1 \.\.\. $2\$" "$log" || true
}
passed=$(count '[a-z0-9_]+' ok)
caught=$(count 'mutant_[a-z0-9_]+' ok)
failed=$(count '[a-z0-9_]+' FAILED)
held=$((passed - caught))

if [ "$code" -ne 0 ] || [ "$failed" -ne 0 ]; then
    cat "$log" >&2
fi
interleavings=$(awk '/^[0-9]+ interleavings$/ { sum += $1 } END { print sum + 0 }' "$log")
echo "models: $held passed ($interleavings interleavings), $caught mutants caught, $failed failed"
# A filter may pick models only, or mutants only; that nothing ran is a failure.
if [ "$code" -ne 0 ] || [ "$failed" -ne 0 ] || [ "$passed" -eq 0 ]; then
    exit 1
fi
if [ $# -eq 0 ] && { [ "$held" -eq 0 ] || [ "$caught" -eq 0 ]; }; then
    exit 1
fi
