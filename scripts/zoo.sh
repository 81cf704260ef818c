#!/usr/bin/env bash
# PyTorch with torchvision, timm and transformers, and ONNX Runtime, from PyPI in build/oracle/zoo/venv. PyTorch's own
# index has a build without CUDA, a tenth the size; the one on PyPI will do. Status 1 when the registry does not answer.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/oracle/zoo/venv
"$venv/bin/python" -c 'import torch, torchvision, timm, transformers, onnx, onnxruntime, onnxscript' >/dev/null 2>&1 && exit 0
mkdir -p build/oracle/zoo
python3 -m venv "$venv" || exit 1
install() {
  "$venv/bin/pip" install --quiet --disable-pip-version-check --timeout 20 --retries 1 "$@" >>build/oracle/pip.log 2>&1
}
install --index-url https://download.pytorch.org/whl/cpu 'torch==2.15.*' 'torchvision==0.29.*' || true
install 'torch==2.15.*' 'torchvision==0.29.*' 'timm==1.0.30' 'transformers==5.22.*' 'onnx==1.23.*' 'onnxruntime==1.31.*' 'onnxscript==0.7.*' 'sympy>=1.14' || exit 1
