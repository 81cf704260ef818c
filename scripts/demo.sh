#!/usr/bin/env bash
# The main job, end to end: a model with an unknown layer, the extension that teaches it, a picture in, a picture out.
set -euo pipefail
cd "$(dirname "$0")/.."
graft=build/bin/graft
out=build/demo
rm -rf "$out"
mkdir -p "$out"
width=384 height=256

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }

say "1. A model with layers of the domain acme, and a picture"
python3 examples/edges/picture.py draw "$out/picture.png" $width $height
run python3 examples/edges/make_model.py "$out/edges.onnx" $height $width

say "2. Without help, all that is missing is said at once, and nothing is written"
run $graft convert "$out/edges.onnx" -o "$out" || true

say "3. The extension: one source file, five lines of CMake, no Graft library linked"
cmake -S examples/extension-cosh -B "$out/extension" -DGraft_DIR="$PWD/build/cmake" >/dev/null
cmake --build "$out/extension" >/dev/null
extension="$out/extension/libcosh.so"
run $graft ops CoshC --extensions "$extension"

say "4. With it the model becomes an IR"
run $graft convert "$out/edges.onnx" -o "$out" --extensions "$extension"

say "5. The IR runs; what runs where"
run $graft run "$out/edges.xml" --extensions "$extension" --input picture="$out/picture.png" --output-dir "$out/result"
run $graft explain "$out/edges.xml" --extensions "$extension" | sed -n '/^Kernels/,$p'

python3 examples/edges/picture.py join "$out/demo.png" "$out/picture.png" "$out/result/0.npy"
say "The picture and its edges, side by side: $out/demo.png"
