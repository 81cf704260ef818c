#!/usr/bin/env bash
# Proves against OpenVINO, ONNX Runtime, OpenCV, TensorFlow and the last Model Optimizer from PyPI, in virtual environments under build/: what we
# write loads there and gives the same numbers, what they write loads here. Ends with status 0 and a note when the
# registry does not answer.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/oracle/venv
if ! scripts/peers.sh; then
  echo "oracle: skipped, the package registry does not answer (build/oracle/pip.log)"
  exit 0
fi
if [[ $# = 0 || "$*" =~ architectures|keras ]]; then
  scripts/frameworks.sh || echo "oracle: without OpenCV or TensorFlow, the package registry does not answer (build/oracle/pip.log)"
fi
if [[ $# = 0 || "$*" =~ --only.*mo ]]; then
  scripts/mo.sh || echo "oracle: without the Model Optimizer, the package registry does not answer (build/oracle/pip.log)"
fi
cmake --preset release -DGRAFT_TESTS=ON >/dev/null
cmake --build --preset release -j "$(nproc)" --target graft graft_tests | tail -n 1
rm -rf build/oracle/models
build/bin/graft_tests --write-models build/oracle/models tests/ops
exec "$venv/bin/python" tests/oracle/main.py --graft build/bin/graft --models build/oracle/models --data "${GRAFT_DATA:-../shared/data}" "$@"
