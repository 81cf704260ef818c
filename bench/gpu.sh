#!/usr/bin/env bash
# Latency on a GPU beside PyTorch, with the machine's own Python (torch, torchvision, transformers, onnx): bench/gpu.sh [--only bert]
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${PYTHON:-python3}" bench/gpu.py "$@"
