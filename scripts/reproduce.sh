#!/usr/bin/env bash
# Builds the programs and runs the quick form of the readers experiment (HDDS-11225), in under two
# minutes after the build: prints what holds and where the report is. Options are those of
# `cargo lab run`, such as --out FOLDER.
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
echo "reproduce: building (cargo build --release)" >&2
cargo build --release --locked -q -p echo-server -p echo-client -p echo-lab
exec cargo lab run readers --quick "$@"
