#!/usr/bin/env bash
# The last Model Optimizer, of openvino-dev 2023.3, from PyPI in an environment of its own under build/oracle. It needs a
# Python that its wheels are made for (3.8 to 3.11). Status 1 when the registry does not answer.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/oracle
venv=build/oracle/mo
"$venv/bin/python" -c "import openvino.tools.mo, tensorflow, onnx" >/dev/null 2>&1 && exit 0
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --timeout 20 --retries 1 \
  'openvino-dev[onnx,tensorflow2]==2023.3.0' 'numpy<1.27' >>build/oracle/pip.log 2>&1
