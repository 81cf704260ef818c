#!/usr/bin/env bash
# Memory and time of convert, and speed beside ONNX Runtime and OpenVINO where PyPI gives them.
set -euo pipefail
cd "$(dirname "$0")/.."
peers=""
if scripts/peers.sh; then peers=build/oracle/venv/bin/python; else echo "without other engines: the package registry does not answer"; fi
python3 bench/convert.py --graft build/bin/graft ${peers:+--peers "$peers"}
[ -z "$peers" ] || "$peers" bench/speed.py --graft build/bin/graft "$@"
