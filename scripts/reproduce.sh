#!/usr/bin/env bash
# Builds the programs and runs the quick forms of the three reference experiments, readers
# (HDDS-11225), in-flight (Kafka's max.in.flight.requests.per.connection and acks) and read-batch
# (Pulsar's dispatcherMaxReadBatchSize), in about four minutes after the build: prints what holds
# and where the reports are. --out FOLDER puts them there; other options are those of
# `cargo lab run`. Exit code: the first that is not 0.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v cargo >/dev/null && [ -f "${HOME:-}/.cargo/env" ]; then
    # shellcheck source=/dev/null
    . "$HOME/.cargo/env"
fi
if ! command -v cargo >/dev/null; then
    echo "reproduce: cargo is not installed; see https://rustup.rs" >&2
    exit 69
fi
out=
options=()
while [ $# -gt 0 ]; do
    case $1 in
    --out=*) out=${1#--out=} ;;
    --out)
        if [ $# -lt 2 ]; then
            echo "reproduce: --out: the folder is missing" >&2
            exit 2
        fi
        out=$2
        shift
        ;;
    *) options+=("$1") ;;
    esac
    shift
done
echo "reproduce: building (cargo build --release)" >&2
cargo build --release --locked -q -p echo-server -p echo-client -p echo-lab
code=0
for experiment in readers in-flight read-batch; do
    folder=()
    if [ -n "$out" ]; then folder=(--out "$out/$experiment"); fi
    one=0
    cargo lab run "$experiment" --quick "${folder[@]}" "${options[@]}" || one=$?
    if [ "$code" -eq 0 ]; then code=$one; fi
    # 1 is a claim that does not hold; anything above ends it, an interrupt above all.
    if [ "$one" -gt 1 ]; then break; fi
done
exit "$code"
