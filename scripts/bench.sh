#!/usr/bin/env bash
# Memory and time of convert, speed beside ONNX Runtime and OpenVINO, and the cost of a call of custom operations in C++ beside ONNX
# Runtime and in Python beside OpenCV and OpenVINO, where PyPI gives them.
set -euo pipefail
cd "$(dirname "$0")/.."
peers=""
if scripts/peers.sh; then peers=build/oracle/venv/bin/python; else echo "without other engines: the package registry does not answer"; fi
python3 bench/convert.py --graft build/bin/graft ${peers:+--peers "$peers"}
[ -z "$peers" ] || "$peers" bench/speed.py --graft build/bin/graft "$@"
[ -z "$peers" ] || "$peers" -m pip install --quiet --disable-pip-version-check --timeout 20 --retries 1 onnxruntime-extensions || true
python3 bench/native_chain.py --build build ${peers:+--onnxruntime "$peers"}
if [ -e build/python/interpreter ]; then
  opencv=""
  if scripts/frameworks.sh opencv; then opencv=build/oracle/opencv/bin/python; fi
  PYTHONPATH=build/python python3 bench/python_chain.py --graft "$(cat build/python/interpreter)" ${opencv:+--opencv "$opencv"} ${peers:+--openvino "$peers"}
fi
