#!/usr/bin/env bash
# Builds both programs and runs the readers experiment (HDDS-11225): scripts/reproduce.sh --help
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v python3 >/dev/null; then
    echo "reproduce: python3 is not installed; any version from 3.8 on will do" >&2
    exit 1
fi
if ! command -v cargo >/dev/null && [ -f "${HOME:-}/.cargo/env" ]; then
    # shellcheck source=/dev/null
    . "$HOME/.cargo/env"
fi
# -B: no cache folder between the sources.
exec python3 -B scripts/reproduce.py "$@"
