#!/usr/bin/env bash
# Frameworks from PyPI, each in an environment of its own under build/oracle: OpenCV of the last series that is sure to
# read Caffe, and TensorFlow with the Keras of both generations. Status 1 when the registry does not answer.
# scripts/frameworks.sh opencv installs OpenCV alone.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/oracle
ready() {  # environment, modules, packages...
  local venv=build/oracle/$1 modules=$2
  shift 2
  "$venv/bin/python" -c "import $modules" >/dev/null 2>&1 && return 0
  python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check --timeout 20 --retries 1 "$@" >>build/oracle/pip.log 2>&1
}
ready opencv cv2,numpy 'opencv-python-headless==4.10.0.84' 'numpy<2' || exit 1
[ "${1:-}" = opencv ] && exit 0
ready tensorflow tensorflow,tf_keras,numpy 'tensorflow-cpu==2.21.*' 'tf_keras==2.21.*' || exit 1
