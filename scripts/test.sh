#!/usr/bin/env bash
# Builds and runs all tests: plain, under AddressSanitizer and UndefinedBehaviorSanitizer, and the concurrent ones under
# ThreadSanitizer. Recorded cases beside the repository (../shared/data) are used when they are there.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
data=${GRAFT_DATA:-../shared/data}
started=$SECONDS
export CTEST_OUTPUT_ON_FAILURE=1

step() { printf '\n== %s (%d s so far)\n' "$1" $((SECONDS - started)); }

step "release build"
cmake --preset release -DGRAFT_TESTS=ON -DGRAFT_DATA="$data" >/dev/null
cmake --build --preset release -j "$jobs" | tail -n 1
step "tests"
# Tests compile extensions, in temporary folders of other names each time: ccache knows them by what is in them.
(
  if [[ -d /usr/lib/ccache ]]; then export PATH=/usr/lib/ccache:$PATH CCACHE_BASEDIR=/ CCACHE_NOHASHDIR=1; fi
  ctest --test-dir build -j "$jobs" --timeout "$(scripts/patience.py 900)"
)

# Drivers of OpenCL are not ours to check, and leak.
export OCL_ICD_VENDORS=/nowhere
step "address and undefined behaviour sanitizers"
cmake --preset sanitize -DGRAFT_DATA="$data" >/dev/null
cmake --build --preset sanitize -j "$jobs" | tail -n 1
# intercept_tls_get_addr=0: gcc 12's leak checker guesses the size of a dlopened library's thread-local block from the bytes
# before it, and now and then reads far outside of it ("Tracer caught signal 11").
ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1:intercept_tls_get_addr=0 \
  UBSAN_OPTIONS=print_stacktrace=1 ctest --test-dir build/sanitize -j "$jobs" --timeout "$(scripts/patience.py 1200)"

step "thread sanitizer"
cmake --preset tsan -DGRAFT_DATA="$data" >/dev/null
cmake --build --preset tsan -j "$jobs" --target graft_unit | tail -n 1
# The test left out runs out of memory on purpose, where this sanitizer ends the program.
TSAN_OPTIONS=allocator_may_return_null=1 build/tsan/bin/graft_unit --gtest_brief=1 \
  --gtest_filter='Requests.*:Threads.*:Toolkit.*:Hetero.*-Requests.GoOnAfterRunningOutOfMemory'

# The short part of `make oracle`.
step "OpenVINO and ONNX Runtime"
scripts/setup.sh oracle
scripts/oracle.sh --only networks,recorded --groups real-onnx

step "done"
