#!/usr/bin/env bash
# MXNet 1.9.1, the last release, and the last Model Optimizer, which needs it to read MXNet files, from PyPI in one
# environment under build/oracle. MXNet needs a NumPy before 1.24. Status 1 when the registry does not answer.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/oracle
venv=build/oracle/mxnet
"$venv/bin/python" -c "import mxnet, openvino.tools.mo" >/dev/null 2>&1 && exit 0
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --timeout 20 --retries 1 \
  'mxnet==1.9.1' 'numpy==1.23.5' 'openvino-dev[kaldi,mxnet]==2023.3.0' >>build/oracle/pip.log 2>&1
