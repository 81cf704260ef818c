#!/usr/bin/env bash
# Checks all built-in kernels thoroughly and runs the enumerations, then each fuzz target for SECONDS_EACH (60), from the seeds that the tests hold and those
# kept in tests/fuzz/corpus. Says how long each ran, with how many inputs. Findings stay in build/fuzz/findings. TARGETS selects targets; "check" and
# "enumerate" are among them.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${SECONDS_EACH:-60}
jobs=$(nproc)
cmake --preset release -DGRAFT_TESTS=ON >/dev/null
cmake --build --preset release -j "$jobs" --target graft graft_tests | tail -n 1
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz -j "$jobs" | tail -n 1
mkdir -p build/fuzz/corpus build/fuzz/findings
build/bin/graft_tests --write-corpus build/fuzz/corpus tests/readers tests/ops
# Nets of Caffe are seeds for the text format too.
mkdir -p build/fuzz/corpus/proto_text && cp build/fuzz/corpus/caffe/* build/fuzz/corpus/proto_text/
# Descriptions of kernels, as the generator writes them.
made=build/fuzz/kernel_files
mkdir -p build/fuzz/corpus/kernel_xml $made
echo '{"ie_op": {"op": "Twist", "plugin": ["cldnn", "vpu"], "params": [{"name": "a", "type": "int", "default": 1}, {"name": "b", "type": "float"}]}}' >$made/config.json
build/bin/graft extgen $made/config.json --force -o $made >/dev/null
for device in gpu vpu; do
  for kind in xml cl; do cp "$made/user_ie_extensions/$device/twist_kernel.$kind" "build/fuzz/corpus/kernel_xml/$device.$kind"; done
done
cp examples/vpu/*.xml examples/vpu/*.cl build/fuzz/corpus/kernel_xml/
python3 scripts/bundle_seeds.py build/fuzz/corpus/tensor_bundle
python3 tests/fuzz/pytorch_seeds.py build/fuzz/corpus/pytorch
python3 tests/fuzz/onnx_seeds.py build/fuzz/corpus/onnx/layers
python3 tests/fuzz/kaldi_seeds.py build/fuzz/corpus/kaldi
python3 tests/fuzz/image_seeds.py build/fuzz/corpus/image
# Inputs that were findings once.
for kept in tests/fuzz/corpus/*/; do mkdir -p "build/fuzz/corpus/$(basename "$kept")" && cp "$kept"* "build/fuzz/corpus/$(basename "$kept")/"; done
failed=0
summary=build/fuzz/summary.txt
: >$summary
for target in ${TARGETS:-check enumerate pytorch onnx onnx_value caffe kaldi mxnet tensorflow tflite proto_text ir text mapping replacement tensor_bundle kernel_xml image \
                         execute_onnx execute_ir execute_tensorflow execute_caffe execute_mxnet execute_kaldi}; do
  started=$SECONDS
  if [ "$target" = check ]; then
    echo "== every kernel on generated cases"
    python3 tests/cli/test_check.py --build build --only built-ins --thorough || failed=1
    echo "check: $((SECONDS - started)) s" >>$summary
    continue
  fi
  if [ "$target" = enumerate ]; then
    for format in onnx ir tensorflow caffe mxnet kaldi; do
      for what in ranks attributes lengths inputs; do
        if [ $what = inputs ] && [[ $format =~ caffe|mxnet|kaldi ]]; then continue; fi
        echo "== every layer of $format: $what"
        build/fuzz/bin/graft_execute --format $format --corpus build/fuzz/corpus/$format --enumerate $what --jobs "$jobs" \
          --findings build/fuzz/findings | tee build/fuzz/enumerate.log || failed=1
        echo "enumerate $what of $(tail -n 1 build/fuzz/enumerate.log)" >>$summary
      done
    done
    continue
  fi
  echo "== $target: $seconds s"
  corpus=build/fuzz/corpus/${target#execute_}
  limits="-timeout=5 -rss_limit_mb=1024"
  case $target in execute_*) limits="-timeout=30 -rss_limit_mb=3072 -malloc_limit_mb=1024" ;; esac
  mkdir -p "build/fuzz/grown/$target" "$corpus"
  # shellcheck disable=SC2086
  build/fuzz/bin/fuzz_$target -max_total_time="$seconds" $limits -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/findings/$target-" "build/fuzz/grown/$target" "$corpus" 2>"build/fuzz/$target.log" || failed=1
  grep -E 'stat::number_of_executed_units|stat::peak_rss_mb|ERROR|SUMMARY|DEADLYSIGNAL' "build/fuzz/$target.log" || true
  echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "build/fuzz/$target.log") inputs in $((SECONDS - started)) s" >>$summary
done
echo "== what ran" && cat $summary
[ "$failed" -eq 0 ] && echo "no findings" || { echo "findings are in build/fuzz/findings" >&2; exit 1; }
