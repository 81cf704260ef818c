#!/usr/bin/env bash
# OpenVINO and ONNX Runtime from PyPI in build/oracle/venv. Status 1 when the registry does not answer.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/oracle/venv
"$venv/bin/python" -c 'import openvino, onnxruntime, onnx, numpy' 2>/dev/null && exit 0
mkdir -p build/oracle
python3 -m venv "$venv" || exit 1
"$venv/bin/pip" install --quiet --disable-pip-version-check --timeout 20 --retries 1 openvino onnxruntime onnx numpy >build/oracle/pip.log 2>&1 || exit 1
