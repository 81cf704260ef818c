#!/usr/bin/env bash
# Speed, start and memory beside OpenVINO, ONNX Runtime and OpenCV; the real-time factor of a Kaldi model; memory and time of convert; the cost of a call of custom operations
# in C++ beside ONNX Runtime and in Python beside OpenCV and OpenVINO, where PyPI gives them. Options are those of bench/speed.py;
# with --quick, nothing but the first.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${GRAFT_BUILD:-build}
peers="" status=0
if scripts/peers.sh; then peers=build/oracle/venv/bin/python; else echo "without other engines: the package registry does not answer"; fi
if [ ! -e "$build/python/interpreter" ]; then
  echo "without the table of models: the package for Python was not built (NumPy or pybind11 is missing)"
elif [ -n "$peers" ]; then
  "$peers" -c 'import cv2, onnxruntime_extensions' 2>/dev/null ||
    "$peers" -m pip install --quiet --disable-pip-version-check --timeout 20 --retries 1 onnxruntime-extensions opencv-python-headless || true
  mkdir -p build/bench
  rm -f build/bench/speed.json
  cmake -S bench/custom -B build/bench/custom -DGraft_DIR="$("$build/bin/graft" --cmake-dir)" >/dev/null
  cmake --build build/bench/custom >/dev/null
  native=build/bench/openvino/libcustom_openvino.so  # OpenVINO's package may lack headers, or its compiler may be another
  directory=$("$peers" -c 'import openvino, os; print(os.path.join(os.path.dirname(openvino.__file__), "cmake"))')
  { cmake -S bench/custom/openvino -B build/bench/openvino -DOpenVINO_DIR="$directory" && cmake --build build/bench/openvino; } >build/bench/openvino.log 2>&1 ||
    { echo "without OpenVINO's operations in C++: they do not build (build/bench/openvino.log)"; native=""; }
  "$peers" bench/speed.py --graft "$(cat "$build/python/interpreter")" --build "$build" --extension build/bench/custom/libcustom.so \
    ${native:+--openvino-extension "$native"} --json build/bench/speed.json "$@" || status=$?
  [ ! -e build/bench/speed.json ] || "$peers" bench/draw.py build/bench/speed.json -o build/bench/speed.svg || status=1
fi
[[ " $* " = *" --quick "* ]] && exit $status
if [ -e "$build/python/interpreter" ] && [ -n "$peers" ]; then
  "$peers" bench/realtime.py --graft "$(cat "$build/python/interpreter")" --build "$build" || status=1
fi
python3 bench/convert.py --graft "$build/bin/graft" ${peers:+--peers "$peers"}
python3 bench/native_chain.py --build "$build" ${peers:+--onnxruntime "$peers"}
if [ -e "$build/python/interpreter" ]; then
  opencv=""
  if scripts/frameworks.sh opencv; then opencv=build/oracle/opencv/bin/python; fi
  PYTHONPATH=$build/python python3 bench/python_chain.py --graft "$(cat "$build/python/interpreter")" ${opencv:+--opencv "$opencv"} ${peers:+--openvino "$peers"}
fi
exit $status
