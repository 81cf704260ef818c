#!/usr/bin/env bash
# Proves against OpenVINO, ONNX Runtime, OpenCV, TensorFlow, MXNet, PyTorch and the last Model Optimizer from PyPI, in virtual
# environments under build/: what we write loads there and gives the same numbers, what they write loads here. Ends with
# status 0 and a note when the registry does not answer. The stage `zoo` has a program and options of its own:
# --only zoo --filter 'hf_*' --limit 20. The stage `python` is scripts/python_oracle.sh, `extensions` is
# scripts/mo_extensions.py, `compilers` is scripts/compilers.py.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/oracle/venv
graft() {
  cmake --preset release -DGRAFT_TESTS=ON >/dev/null
  cmake --build --preset release -j "$(nproc)" --target graft graft_tests graft_cases api_tour | tail -n 1
}
zoo() {
  if ! scripts/zoo.sh; then
    echo "oracle: without the zoo, the package registry does not answer (build/oracle/pip.log)"
    return 0
  fi
  build/oracle/zoo/venv/bin/python tests/oracle/zoo/main.py --graft build/bin/graft --models build/oracle/zoo/models "$@"
}
extensions() {
  if ! scripts/mo.sh; then
    echo "oracle: without published extensions, the package registry does not answer (build/oracle/pip.log)"
    return 0
  fi
  cmake --build --preset release -j "$(nproc)" --target graft_python graft_bridge | tail -n 1
  "$(cat build/python/interpreter)" scripts/mo_extensions.py "$@"
}
if [[ ${1:-} = --only && ${2:-} = extensions ]]; then
  graft
  extensions "${@:3}"
  exit
fi
compilers() {
  scripts/setup.sh compilers
  scripts/compilers.py --bin build/bin "$@"
}
if [[ ${1:-} = --only && ${2:-} = zoo ]]; then
  graft
  zoo "${@:3}"
  exit
fi
if [[ ${1:-} = --only && ${2:-} = compilers ]]; then
  graft
  compilers "${@:3}"
  exit
fi
if [[ ${1:-} = --only && ${2:-} = python ]]; then
  graft
  scripts/python_oracle.sh
  exit
fi
status=0
if [[ $# = 0 ]]; then
  graft
  compilers || status=$?
fi
if ! scripts/peers.sh; then
  echo "oracle: skipped, the package registry does not answer (build/oracle/pip.log)"
  exit $status
fi
if [[ $# = 0 || "$*" =~ architectures|operations|keras ]]; then
  scripts/frameworks.sh || echo "oracle: without OpenCV or TensorFlow, the package registry does not answer (build/oracle/pip.log)"
fi
if [[ $# = 0 || "$*" =~ --only.*mxnet ]]; then
  scripts/mxnet.sh || echo "oracle: without MXNet, the package registry does not answer (build/oracle/pip.log)"
fi
if [[ $# = 0 || "$*" =~ --only.*mo ]]; then
  scripts/mo.sh || echo "oracle: without the Model Optimizer, the package registry does not answer (build/oracle/pip.log)"
fi
graft
rm -rf build/oracle/models
build/bin/graft_tests --write-models build/oracle/models tests/ops
"$venv/bin/python" tests/oracle/main.py --graft build/bin/graft --models build/oracle/models --data "${GRAFT_DATA:-../shared/data}" "$@" || status=$?
if [[ $# = 0 ]]; then
  extensions || status=$?
  zoo || status=$?
  scripts/python_oracle.sh || status=$?
fi
exit $status
